//! `tollgate tools`: what tools do that the gate does not know.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::ask::{Gate, ask, text};
use super::init::change::{Change, diff, read, write_all};
use super::init::json_text;
use super::person::{NOBODY, Person, Word};
use super::place::Place;
use super::screen::{Screen, Style, plain};
use super::{Outcome, Stop};

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
    /// Say yes beforehand; counts only where your own settings say that nobody is there ("unattended")
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
    let text_before = before.clone().filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}\n".to_owned());
    let after = json_text::set(&text_before, &["tools", &wanted.pattern], &Value::from(wanted.kind.as_str()))
        .map_err(|why| Stop::Fault(format!("`{FILE}` is left as it is: {why}")))?;
    let question = json!({"op": "allow-tool", "pattern": wanted.pattern, "kind": wanted.kind, "settings": after});
    let answer = ask(gate, &question)?;
    let change = Change { path, before, after };
    for line in diff(&change) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Green,
            Some(b'-') => Style::Red,
            _ => Style::Dim,
        };
        let line = format!("  {}", screen.paint(style, &plain(&line)));
        if json { drop(writeln!(screen.err, "{line}")) } else { screen.line(&line)? }
    }
    screen.out.flush()?;
    match ask_person(&format!("let the settings say that {} is `{}`?", plain(&wanted.pattern), plain(&wanted.kind))) {
        Word::Yes => {}
        Word::No => {
            screen.note("nothing was changed");
            return Ok(Outcome::No);
        }
        Word::Nobody => return Err(Stop::Fault(format!("nothing was changed: {NOBODY}"))),
    }
    write_all(&[change])?;
    if json {
        screen.json(&answer)?;
    } else {
        let (pattern, kind) = (plain(text(&answer, "/pattern")), plain(text(&answer, "/kind")));
        screen.line(&format!("{pattern} counts as `{kind}` from the next call on"))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::ask::tests::Script;
    use super::super::screen::tests::printed;
    use super::*;

    fn asked(settings: &str) -> (Value, Value) {
        let question = json!({"op": "allow-tool", "pattern": "mcp__x__*", "kind": "read", "settings": settings});
        (question, json!({"path": FILE, "pattern": "mcp__x__*", "kind": "read"}))
    }

    fn wanted() -> Allow {
        Allow { pattern: "mcp__x__*".to_owned(), kind: "read".to_owned(), yes: false }
    }

    #[test]
    fn the_line_is_written_and_the_rest_stays() {
        for (before, after) in [
            (None, "{\n  \"tools\": {\n    \"mcp__x__*\": \"read\"\n  }\n}\n"),
            (
                Some("{\n  \"strict\": true,\n  \"tools\": {\n    \"a\": \"write\"\n  }\n}\n"),
                "{\n  \"strict\": true,\n  \"tools\": {\n    \"a\": \"write\",\n    \"mcp__x__*\": \"read\"\n  }\n}\n",
            ),
        ] {
            let temp = tempfile::tempdir().unwrap();
            if let Some(before) = before {
                fs::create_dir(temp.path().join(".tollgate")).unwrap();
                fs::write(temp.path().join(FILE), before).unwrap();
            }
            let mut gate = Script::new([asked(after)]);
            let (came_to, out, _) = printed(|screen| allow(&mut gate, temp.path(), &wanted(), |_| Word::Yes, false, screen));
            assert_eq!(came_to.unwrap(), Outcome::Done);
            gate.end();
            assert_eq!(fs::read_to_string(temp.path().join(FILE)).unwrap(), after);
            assert!(out.contains("+") && out.ends_with("mcp__x__* counts as `read` from the next call on\n"), "{out}");
        }
    }

    #[test]
    fn nothing_is_written_without_a_yes() {
        let temp = tempfile::tempdir().unwrap();
        let after = "{\n  \"tools\": {\n    \"mcp__x__*\": \"read\"\n  }\n}\n";
        for (word, expected) in [(Word::No, None), (Word::Nobody, Some("--yes"))] {
            let mut gate = Script::new([asked(after)]);
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
