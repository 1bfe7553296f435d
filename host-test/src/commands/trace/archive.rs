//! `tollgate trace archive`: a ledger that has grown long is moved aside, and the new one is tied to it.

use std::io;
use std::path::{Component, Path};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clap::Args;
use serde_json::{Value, json};

use super::rename::to_new_name;
use crate::cli::client::{Gate, ask, ask_until_done, number, strange, text, texts};
use crate::cli::confirm::Person;
use crate::cli::output::{Screen, count, plain};
use crate::cli::workspace::Opened;
use crate::cli::{Outcome, Stop};

/// The folder that ledgers are moved in, and never out of.
const OWN: &str = ".orchestration";

/// The options of `tollgate trace archive`.
#[derive(Args)]
pub(super) struct Options {
    /// Say yes beforehand; it takes a terminal even so
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(opened: &mut Opened, options: &Options, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let person = Person::require(&mut opened.gate, &opened.root, &["trace", "archive"], options.yes)?;
    if let Some(outcome) = person.ask("move the ledger aside and begin a new one?").refusal(screen)? {
        return Ok(outcome);
    }
    let changed = archive(&mut opened.gate, &opened.root, json, screen)?;
    if !changed.is_empty() {
        person.record(&mut opened.gate, &changed)?;
    }
    Ok(Outcome::Done)
}

/// Moves the ledger aside, and says which files that changed.
fn archive(gate: &mut dyn Gate, root: &Path, json: bool, screen: &mut Screen<'_>) -> Result<Vec<String>, Stop> {
    let question = json!({"op": "archive", "step": "plan"});
    let answer = ask(gate, &question)?;
    match answer.get("rename") {
        Some(Value::Null) => {
            // Somebody may have been stopped between moving and tying.
            let tied = ask_until_done(gate, &json!({"op": "archive", "step": "tie"}))?;
            if json {
                screen.json(&with_tied(answer, &tied))?;
            } else {
                screen.note(&format!("nothing was moved: {}", text(&answer, "/why")));
            }
            return Ok(texts(&tied, "tied").iter().map(|part| (*part).to_owned()).collect());
        }
        Some(Value::Object(_)) => {}
        _ => return Err(strange(&question)),
    }
    let (from, to) = (text(&answer, "/rename/from").to_owned(), text(&answer, "/rename/to").to_owned());
    move_aside(root, &from, &to)?;
    let done = format!("`{from}` was moved to `{to}`, but the new ledger is not tied to it");
    let tied = ask_until_done(gate, &json!({"op": "archive", "step": "tie"})).map_err(|stop| stop.after(&done))?;
    if json {
        screen.json(&with_tied(answer, &tied))?;
        return Ok(vec![from, to]);
    }
    let bytes = count(number(&answer, "bytes"), "byte", "bytes");
    screen.line(&format!("moved {} to {} ({bytes}); the new ledger goes on from there", plain(&from), plain(&to)))?;
    Ok(vec![from, to])
}

fn with_tied(mut answer: Value, tied: &Value) -> Value {
    if let (Some(answer), Some(tied)) = (answer.as_object_mut(), tied.get("tied")) {
        answer.insert("tied".to_owned(), tied.clone());
    }
    answer
}

/// Renames a ledger into a folder that is made where it is missing.
fn move_aside(root: &Path, from: &str, to: &str) -> Result<(), Stop> {
    let fault = |why: io::Error| Stop::Fault(format!("cannot move `{from}` to `{to}`: {why}"));
    let own = |path: &str| {
        let mut names = Path::new(path).components();
        names.next() == Some(Component::Normal(OWN.as_ref())) && names.all(|name| matches!(name, Component::Normal(_)))
    };
    if !own(from) || !own(to) {
        return Err(Stop::Fault(format!("cannot move `{from}` to `{to}`: both must be below {OWN}/")));
    }
    let dir = Dir::open_ambient_dir(root, ambient_authority()).map_err(fault)?;
    // A link that is moved may point nowhere afterwards.
    if !dir.symlink_metadata(from).map_err(fault)?.is_file() {
        return Err(Stop::Fault(format!("cannot move `{from}`: it is no regular file; move it by hand")));
    }
    if let Some(folder) = Path::new(to).parent() {
        dir.create_dir_all(folder).map_err(fault)?;
    }
    to_new_name((&dir, Path::new(from)), (&dir, Path::new(to))).map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;
    use std::fs;

    const FROM: &str = ".orchestration/agent_trace.jsonl";
    const TO: &str = ".orchestration/archive/agent_trace-0001.jsonl";

    fn workspace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".orchestration")).unwrap();
        fs::write(folder.path().join(FROM), "old\n").unwrap();
        folder
    }

    #[test]
    fn the_ledger_is_moved_and_tied() {
        let folder = workspace();
        let plan = json!({"rename": {"from": FROM, "to": TO}, "bytes": 4});
        let mut gate = Script::new([
            (json!({"op": "archive", "step": "plan"}), plan.clone()),
            (json!({"op": "archive", "step": "tie"}), json!({"done": false})),
            (json!({"op": "archive", "step": "tie", "more": true}), json!({"done": true, "tied": ["sha256:aa"]})),
        ]);
        let (came_to, out, _) = printed(|screen| archive(&mut gate, folder.path(), true, screen));
        assert_eq!(came_to.unwrap(), [FROM, TO]);
        gate.end();
        assert_eq!(out, format!("{}\n", json!({"rename": {"from": FROM, "to": TO}, "bytes": 4, "tied": ["sha256:aa"]})));
        assert!(!folder.path().join(FROM).exists());
        assert_eq!(fs::read_to_string(folder.path().join(TO)).unwrap(), "old\n");
    }

    #[test]
    fn nothing_to_move_is_no_failure() {
        let folder = workspace();
        let mut gate = Script::new([
            (json!({"op": "archive", "step": "plan"}), json!({"rename": null, "why": "the ledger is empty"})),
            (json!({"op": "archive", "step": "tie"}), json!({"done": true, "tied": []})),
        ]);
        let (came_to, out, err) = printed(|screen| archive(&mut gate, folder.path(), false, screen));
        assert_eq!(came_to.unwrap(), Vec::<String>::new());
        assert_eq!((out.as_str(), err.as_str()), ("", "tollgate: nothing was moved: the ledger is empty\n"));
    }

    #[test]
    fn a_tie_that_fails_says_what_was_done() {
        let folder = workspace();
        let mut gate = Script::new([
            (json!({"op": "archive", "step": "plan"}), json!({"rename": {"from": FROM, "to": TO}, "bytes": 4})),
            (json!({"op": "archive", "step": "tie"}), json!({"error": {"code": "x", "message": "the disk is full"}})),
        ]);
        let (came_to, _, _) = printed(|screen| archive(&mut gate, folder.path(), false, screen));
        let Err(Stop::Refused { message, .. }) = came_to else { panic!() };
        assert_eq!(message, format!("`{FROM}` was moved to `{TO}`, but the new ledger is not tied to it: the disk is full"));
    }

    #[test]
    fn nothing_else_is_moved_or_overwritten() {
        let folder = workspace();
        fs::write(folder.path().join("other"), "other").unwrap();
        fs::create_dir(folder.path().join(".orchestration/archive")).unwrap();
        fs::write(folder.path().join(TO), "earlier").unwrap();
        for (from, to, why) in [
            (FROM, TO, "exists"),
            ("other", ".orchestration/x", "below .orchestration/"),
            (FROM, ".orchestration/../x", "below .orchestration/"),
            (FROM, "/tmp/x", "below .orchestration/"),
            (".orchestration/none", ".orchestration/x", "No such file"),
            (".orchestration/archive", ".orchestration/x", "no regular file"),
        ] {
            let Err(Stop::Fault(said)) = move_aside(folder.path(), from, to) else { panic!("{from} {to}") };
            assert!(said.contains(why), "{said}");
        }
        assert_eq!(fs::read_to_string(folder.path().join(FROM)).unwrap(), "old\n");
        assert_eq!(fs::read_to_string(folder.path().join(TO)).unwrap(), "earlier");
    }

    #[test]
    #[cfg(unix)]
    fn an_archive_that_leads_out_is_refused() {
        let (folder, outside) = (workspace(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), folder.path().join(".orchestration/archive")).unwrap();
        assert!(move_aside(folder.path(), FROM, TO).is_err());
        assert_eq!((fs::read_dir(outside.path()).unwrap().count(), folder.path().join(FROM).exists()), (0, true));
    }
}
