//! `tollgate tools`: what tools do that the gate does not know.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, strange, text};
use crate::cli::confirm::{Person, Word};
use crate::cli::output::{Screen, Style, plain};
use crate::cli::workspace::Place;
use crate::cli::{Outcome, Stop};

/// The workspace's settings.
const FILE: &str = ".tollgate/config.json";

/// The options of `tollgate tools`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    /// Say what a tool does, so that its calls are judged by that, in .tollgate/config.json
    Allow(Allow),
}

#[derive(Args)]
struct Allow {
    /// The tool, as a refusal names it, or several of them: 'mcp__github__*'
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// What it does: read, write, delete, move, execute, shell or unknown
    #[arg(value_name = "KIND")]
    kind: String,
    /// Say yes beforehand; it takes a terminal even so
    #[arg(long, short)]
    yes: bool,
}

/// Changes the settings, once a person has seen how.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.place.json;
    options.place.run(|opened, screen| match &options.command {
        Command::Allow(wanted) => {
            let words = ["tools", "allow", &wanted.pattern, &wanted.kind];
            let person = Person::require(&mut opened.gate, &opened.root, &words, wanted.yes)?;
            let root = opened.root.clone();
            let outcome = allow(&mut opened.gate, &root, wanted, |question| person.ask(question), json, screen)?;
            if outcome == Outcome::Done {
                person.record(&mut opened.gate, &[FILE.to_owned()])?;
            }
            Ok(outcome)
        }
    })
}

fn allow(
    gate: &mut dyn Gate,
    root: &Path,
    wanted: &Allow,
    ask_person: impl FnOnce(&str) -> Word,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Outcome, Stop> {
    let path = root.join(FILE);
    let before = read(&path)?;
    let question = json!({"op": "allow-tool", "pattern": wanted.pattern, "kind": wanted.kind, "settings": before});
    let answer = ask(gate, &question)?;
    let after = answer.get("settings").and_then(Value::as_str).ok_or_else(|| strange(&question))?;
    let line =
        format!("  {}", screen.paint(Style::Green, &plain(&format!("+ {}: {}", quoted(&wanted.pattern), quoted(&wanted.kind)))));
    for line in [format!("{} (`tools`)", screen.paint(Style::Bold, FILE)), line] {
        if json { drop(writeln!(screen.err, "{line}")) } else { screen.line(&line)? }
    }
    screen.out.flush()?;
    let asked = format!("let the settings say that {} is `{}`?", plain(&wanted.pattern), plain(&wanted.kind));
    if let Some(outcome) = ask_person(&asked).refusal(screen)? {
        return Ok(outcome);
    }
    replace(&path, before.as_deref(), after)?;
    if json {
        screen.json(&answer)?;
    } else {
        let (pattern, kind) = (plain(text(&answer, "/pattern")), plain(text(&answer, "/kind")));
        screen.line(&format!("{pattern} counts as `{kind}` from the next call on"))?;
    }
    Ok(Outcome::Done)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What a file says; nothing where there is none.
fn read(path: &Path) -> Result<Option<String>, Stop> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(Stop::Fault(format!("`{FILE}` cannot be read: {fault}"))),
    }
}

/// Puts a file in the place of one that is still what it was.
fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<(), Stop> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut draft = tempfile::Builder::new().prefix(".tollgate-").tempfile_in(folder)?;
        draft.write_all(after.as_bytes())?;
        if let Ok(facts) = fs::metadata(path) {
            draft.as_file().set_permissions(facts.permissions())?;
        }
        draft.persist(path).map(drop).map_err(|fault| fault.error)
    };
    if read(path)?.as_deref() != before {
        return Err(Stop::Fault(format!("`{FILE}` has changed since it was shown; nothing was changed")));
    }
    write().map_err(|fault| Stop::Fault(format!("`{FILE}` cannot be written: {fault}; nothing was changed")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

    const AFTER: &str = "{\n  \"tools\": {\n    \"mcp__x__*\": \"read\"\n  }\n}\n";

    fn asked(before: Option<&str>) -> (Value, Value) {
        let question = json!({"op": "allow-tool", "pattern": "mcp__x__*", "kind": "read", "settings": before});
        (question, json!({"path": FILE, "pattern": "mcp__x__*", "kind": "read", "settings": AFTER}))
    }

    fn wanted() -> Allow {
        Allow { pattern: "mcp__x__*".to_owned(), kind: "read".to_owned(), yes: false }
    }

    #[test]
    fn the_gates_settings_are_written() {
        for before in [None, Some("{}"), Some(AFTER)] {
            let temp = tempfile::tempdir().unwrap();
            if let Some(before) = before {
                fs::create_dir(temp.path().join(".tollgate")).unwrap();
                fs::write(temp.path().join(FILE), before).unwrap();
            }
            let mut gate = Script::new([asked(before)]);
            let (came_to, out, _) = printed(|screen| allow(&mut gate, temp.path(), &wanted(), |_| Word::Yes, false, screen));
            assert_eq!(came_to.unwrap(), Outcome::Done);
            gate.end();
            assert_eq!(fs::read_to_string(temp.path().join(FILE)).unwrap(), AFTER);
            assert_eq!(fs::read_dir(temp.path().join(".tollgate")).unwrap().count(), 1);
            let expected = ".tollgate/config.json (`tools`)\n  + \"mcp__x__*\": \"read\"\nmcp__x__* counts as `read` from the next call on\n";
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn what_changed_meanwhile_stays() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("config.json");
        fs::write(&path, "{}").unwrap();
        for before in [None, Some("{ }")] {
            let Err(Stop::Fault(why)) = replace(&path, before, AFTER) else { panic!() };
            assert!(why.contains("has changed"), "{why}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    }

    #[test]
    fn nothing_is_written_without_a_yes() {
        let temp = tempfile::tempdir().unwrap();
        for (word, expected) in [(Word::No, None), (Word::Nobody, Some("--yes"))] {
            let mut gate = Script::new([asked(None)]);
            let (came_to, _, _) = printed(|screen| allow(&mut gate, temp.path(), &wanted(), |_| word, false, screen));
            match (came_to, expected) {
                (Ok(Outcome::No), None) => {}
                (Err(Stop::Fault(why)), Some(said)) => assert!(why.contains(said), "{why}"),
                (came_to, _) => panic!("{came_to:?}"),
            }
            assert!(!temp.path().join(FILE).exists());
        }
    }
}
