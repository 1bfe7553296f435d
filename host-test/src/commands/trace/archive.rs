//! `tollgate trace archive`: moves a long ledger to the archive and links the new one to it.

use std::io;
use std::path::{Component, Path};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clap::Args;
use serde_json::{Value, json};
use tollgate::temporary_file::rename_new;

use crate::cli::client::{Gate, ask, ask_until_done, number, text, texts, unexpected_answer};
use crate::cli::confirm::Person;
use crate::cli::output::{Output, count, escape};
use crate::cli::workspace::OpenGate;
use crate::cli::{CommandError, CommandResult, Outcome};

/// Ledgers are only moved within this folder.
const OWN: &str = ".orchestration";

/// The options of `tollgate trace archive`.
#[derive(Args)]
pub(super) struct Options {
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(opened: &mut OpenGate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let person = Person::require(&mut opened.gate, &opened.root, &["trace", "archive"], options.yes)?;
    if let Some(outcome) = person.ask("archive the ledger and start a new one?").refusal(output)? {
        return Ok(outcome);
    }
    let changed = archive(&mut opened.gate, &opened.root, json, output)?;
    if !changed.is_empty() {
        person.record(&mut opened.gate, &changed)?;
    }
    Ok(Outcome::Done)
}

/// Archives the ledger and returns the changed files.
fn archive(gate: &mut dyn Gate, root: &Path, json: bool, output: &mut Output<'_>) -> Result<Vec<String>, CommandError> {
    let question = json!({"op": "archive", "step": "plan"});
    let answer = ask(gate, &question)?;
    match answer.get("rename") {
        Some(Value::Null) => {
            // An earlier run may have been interrupted between moving and linking.
            let tied = ask_until_done(gate, &json!({"op": "archive", "step": "tie"}))?;
            if json {
                output.json(&add_linked(answer, &tied))?;
            } else {
                output.note(&format!("nothing was moved: {}", text(&answer, "/why")));
            }
            return Ok(texts(&tied, "tied").iter().map(|part| (*part).to_owned()).collect());
        }
        Some(Value::Object(_)) => {}
        _ => return Err(unexpected_answer(&question)),
    }
    let (from, to) = (text(&answer, "/rename/from").to_owned(), text(&answer, "/rename/to").to_owned());
    move_aside(root, &from, &to)?;
    let done = format!("`{from}` was moved to `{to}`, but the new ledger is not linked to it");
    let tied = ask_until_done(gate, &json!({"op": "archive", "step": "tie"})).map_err(|stop| stop.with_context(&done))?;
    if json {
        output.json(&add_linked(answer, &tied))?;
        return Ok(vec![from, to]);
    }
    let bytes = count(number(&answer, "bytes"), "byte", "bytes");
    output.line(&format!("moved {} to {} ({bytes}); the new ledger continues from there", escape(&from), escape(&to)))?;
    Ok(vec![from, to])
}

fn add_linked(mut answer: Value, tied: &Value) -> Value {
    if let (Some(answer), Some(tied)) = (answer.as_object_mut(), tied.get("tied")) {
        answer.insert("tied".to_owned(), tied.clone());
    }
    answer
}

/// Renames a ledger, creating the target folder if needed.
fn move_aside(root: &Path, from: &str, to: &str) -> Result<(), CommandError> {
    let fault = |why: io::Error| CommandError::Failed(format!("cannot move `{from}` to `{to}`: {why}"));
    let own = |path: &str| {
        let mut names = Path::new(path).components();
        names.next() == Some(Component::Normal(OWN.as_ref())) && names.all(|name| matches!(name, Component::Normal(_)))
    };
    if !own(from) || !own(to) {
        return Err(CommandError::Failed(format!("cannot move `{from}` to `{to}`: both must be below {OWN}/")));
    }
    let dir = Dir::open_ambient_dir(root, ambient_authority()).map_err(fault)?;
    // Moving a relative link could break it.
    if !dir.symlink_metadata(from).map_err(fault)?.is_file() {
        return Err(CommandError::Failed(format!("cannot move `{from}`: it is not a regular file; move it manually")));
    }
    if let Some(folder) = Path::new(to).parent() {
        dir.create_dir_all(folder).map_err(fault)?;
    }
    rename_new((&dir, Path::new(from)), (&dir, Path::new(to))).map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;
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
        let (came_to, out, _) = capture(|output| archive(&mut gate, folder.path(), true, output));
        assert_eq!(came_to.unwrap(), [FROM, TO]);
        gate.assert_finished();
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
        let (came_to, out, err) = capture(|output| archive(&mut gate, folder.path(), false, output));
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
        let (came_to, _, _) = capture(|output| archive(&mut gate, folder.path(), false, output));
        let Err(CommandError::Refused { message, .. }) = came_to else { panic!() };
        assert_eq!(message, format!("`{FROM}` was moved to `{TO}`, but the new ledger is not linked to it: the disk is full"));
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
            (".orchestration/archive", ".orchestration/x", "not a regular file"),
        ] {
            let Err(CommandError::Failed(said)) = move_aside(folder.path(), from, to) else { panic!("{from} {to}") };
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
