//! `tollgate tools`: declares what tools do that the gate does not know.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, text, unexpected_answer};
use crate::cli::confirm::{Confirmation, Person};
use crate::cli::file_change::{self, SettingsChange};
use crate::cli::output::{Output, Style, escape};
use crate::cli::workspace::WithSubcommand;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The workspace's settings.
const FILE: &str = ".tollgate/config.json";

/// The options of `tollgate tools`.
pub(crate) type Options = WithSubcommand<Command>;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Declare in .tollgate/config.json what a tool does, so that its calls can be checked
    Allow(Allow),
}

#[derive(Args)]
pub(crate) struct Allow {
    /// The tool as a refusal names it, or a pattern for several: 'mcp__github__*'
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// What it does: read, write, delete, move, execute, shell or unknown
    #[arg(value_name = "KIND")]
    kind: String,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
}

/// Changes the settings after a person has reviewed and confirmed the change.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    options.workspace.run(|opened, output| match &options.command {
        Command::Allow(wanted) => {
            let words = ["tools", "allow", &wanted.pattern, &wanted.kind];
            let person = Person::require(&mut opened.gate, &opened.root, &words, wanted.yes)?;
            let root = opened.root.clone();
            let outcome = allow(&mut opened.gate, &root, wanted, |question| person.ask(question), json, output)?;
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
    ask_person: impl FnOnce(&str) -> Confirmation,
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let path = root.join(FILE);
    let before = file_change::read(&path).map_err(|fault| CommandError::Failed(format!("`{FILE}` cannot be read: {fault}")))?;
    let question = json!({"op": "allow-tool", "pattern": wanted.pattern, "kind": wanted.kind, "settings": before});
    let answer = ask(gate, &question)?;
    let after = answer.get("settings").and_then(Value::as_str).ok_or_else(|| unexpected_answer(&question))?;
    let line = format!(
        "  {}",
        output.paint(Style::Green, &escape(&format!("+ {}: {}", quote_json(&wanted.pattern), quote_json(&wanted.kind))))
    );
    for line in [format!("{} (`tools`)", output.paint(Style::Bold, FILE)), line] {
        if json { drop(writeln!(output.err, "{line}")) } else { output.line(&line)? }
    }
    output.out.flush()?;
    let asked = format!("declare {} as `{}` in the settings?", escape(&wanted.pattern), escape(&wanted.kind));
    if let Some(outcome) = ask_person(&asked).refusal(output)? {
        return Ok(outcome);
    }
    let (named, after) = (path.display().to_string(), Some(after.to_owned()));
    file_change::write_all(&[SettingsChange { path, named, shown: FILE.to_owned(), before, after, diff: Vec::new() }])?;
    if json {
        output.json(&answer)?;
    } else {
        let (pattern, kind) = (escape(text(&answer, "/pattern")), escape(text(&answer, "/kind")));
        output.line(&format!("{pattern} counts as `{kind}` from the next call on"))?;
    }
    Ok(Outcome::Done)
}

fn quote_json(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    const AFTER: &str = "{\n  \"tools\": {\n    \"mcp__x__*\": \"read\"\n  }\n}\n";

    fn allow_exchange(before: Option<&str>) -> (Value, Value) {
        let question = json!({"op": "allow-tool", "pattern": "mcp__x__*", "kind": "read", "settings": before});
        (question, json!({"path": FILE, "pattern": "mcp__x__*", "kind": "read", "settings": AFTER}))
    }

    fn allow_options() -> Allow {
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
            let mut gate = Script::new([allow_exchange(before)]);
            let (came_to, out, _) =
                capture(|output| allow(&mut gate, temp.path(), &allow_options(), |_| Confirmation::Yes, false, output));
            assert_eq!(came_to.unwrap(), Outcome::Done);
            gate.assert_finished();
            assert_eq!(fs::read_to_string(temp.path().join(FILE)).unwrap(), AFTER);
            assert_eq!(fs::read_dir(temp.path().join(".tollgate")).unwrap().count(), 1);
            let expected = ".tollgate/config.json (`tools`)\n  + \"mcp__x__*\": \"read\"\nmcp__x__* counts as `read` from the next call on\n";
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn settings_that_changed_are_kept() {
        let temp = tempfile::tempdir().unwrap();
        let mut gate = Script::new([allow_exchange(None)]);
        let change = |_: &str| {
            fs::create_dir(temp.path().join(".tollgate")).unwrap();
            fs::write(temp.path().join(FILE), "{}").unwrap();
            Confirmation::Yes
        };
        let (came_to, _, _) = capture(|output| allow(&mut gate, temp.path(), &allow_options(), change, false, output));
        let Err(CommandError::Failed(why)) = came_to else { panic!() };
        assert!(why.contains("has changed"), "{why}");
        assert_eq!(fs::read_to_string(temp.path().join(FILE)).unwrap(), "{}");
    }

    #[test]
    fn nothing_is_written_without_a_yes() {
        let temp = tempfile::tempdir().unwrap();
        for (word, expected) in [(Confirmation::No, None), (Confirmation::NoTerminal, Some("--yes"))] {
            let mut gate = Script::new([allow_exchange(None)]);
            let (came_to, _, _) = capture(|output| allow(&mut gate, temp.path(), &allow_options(), |_| word, false, output));
            match (came_to, expected) {
                (Ok(Outcome::No), None) => {}
                (Err(CommandError::Failed(why)), Some(said)) => assert!(why.contains(said), "{why}"),
                (came_to, _) => panic!("{came_to:?}"),
            }
            assert!(!temp.path().join(FILE).exists());
        }
    }
}
