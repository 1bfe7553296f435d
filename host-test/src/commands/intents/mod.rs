//! `tollgate intents`: what the agents work for.

mod select;
mod sessions;

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, is, list, text, texts};
use crate::cli::output::{Cell, Screen, Style, count, plain};
use crate::cli::workspace::Place;
use crate::cli::{Outcome, Stop};

/// Where the intents stand in a workspace.
const FILE: &str = ".orchestration/active_intents.yaml";

/// The options of `tollgate intents`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    /// List the intents: their status, their names, what they own
    List,
    /// Check .orchestration/active_intents.yaml; exits with 1 if it has an error
    Check,
    /// List the sessions: their intents, their programs, when they were last active and with what
    Sessions,
    /// Make an intent the one that new sessions work for, or a session that is named
    Select(select::Options),
}

/// Asks the gate, and prints what it says.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.place.json;
    options.place.run(|opened, screen| match &options.command {
        Command::List => show(&mut opened.gate, json, screen),
        Command::Check => check(&mut opened.gate, json, screen),
        Command::Sessions => sessions::show(&mut opened.gate, json, screen),
        Command::Select(wanted) => {
            let root = opened.root.clone();
            select::run(&mut opened.gate, &root, wanted, json, screen)
        }
    })
}

fn show(gate: &mut dyn Gate, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask(gate, &json!({"op": "list-intents"}))?;
    let (errors, _) = severities(&answer);
    let intents = list(&answer, "intents");
    if json {
        screen.json(&answer)?;
    } else if !is(&answer, "governed") {
        screen.note(UNGOVERNED);
    } else if intents.is_empty() && errors == 0 {
        screen.note(&format!("`{FILE}` lists no intents"));
    } else if !intents.is_empty() {
        table(intents, screen)?;
    }
    if errors == 0 {
        return Ok(Outcome::Done);
    }
    let why = format!("`{FILE}` has {}; `tollgate intents check` shows what is wrong", count(errors, "error", "errors"));
    // Nothing could be read, which is not the same as nothing to read.
    if intents.is_empty() {
        return Err(Stop::Fault(why));
    }
    screen.note(&why);
    Ok(Outcome::Done)
}

const UNGOVERNED: &str = "there is no .orchestration/ in the workspace, so nothing is governed";

fn table(intents: &[Value], screen: &mut Screen<'_>) -> io::Result<()> {
    let mut rows = vec![["ID", "STATUS", "NAME", "SCOPE"].map(|title| Cell::styled(title, Style::Bold)).into_iter().collect()];
    for intent in intents {
        let style = if is(intent, "open") { Style::Plain } else { Style::Dim };
        let scope = texts(intent, "owned_scope").join(", ");
        let cells = [text(intent, "/id"), text(intent, "/status"), text(intent, "/name"), &scope];
        rows.push(cells.map(|cell| Cell::styled(cell, style)).into_iter().collect());
    }
    screen.rows(&rows).iter().try_for_each(|row| screen.line(row))
}

fn check(gate: &mut dyn Gate, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask(gate, &json!({"op": "list-intents"}))?;
    let (errors, _) = severities(&answer);
    let printed = if json { screen.json(&answer) } else { diagnostics(&answer, screen) };
    match printed.map_err(Stop::from) {
        Ok(()) | Err(Stop::Unread) => Ok(if errors == 0 { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn diagnostics(answer: &Value, screen: &mut Screen<'_>) -> io::Result<()> {
    if !is(answer, "governed") {
        screen.note(UNGOVERNED);
        return Ok(());
    }
    for found in list(answer, "diagnostics") {
        let place = |name| found.get(name).and_then(Value::as_u64).map(|number| format!(":{number}")).unwrap_or_default();
        let severity = text(found, "/severity");
        let severity = screen.paint(if severity == "error" { Style::Red } else { Style::Yellow }, severity);
        screen.line(&format!("{FILE}{}{}: {severity}: {}", place("line"), place("column"), plain(text(found, "/message"))))?;
    }
    let (errors, warnings) = severities(answer);
    let intents = list(answer, "intents").len() as u64;
    let (intents, errors, warnings) =
        (count(intents, "intent", "intents"), count(errors, "error", "errors"), count(warnings, "warning", "warnings"));
    screen.line(&format!("{intents}, {errors}, {warnings}"))
}

/// How many errors and how many warnings there are.
fn severities(answer: &Value) -> (u64, u64) {
    let all = list(answer, "diagnostics");
    let errors = all.iter().filter(|found| text(found, "/severity") == "error").count();
    (errors as u64, (all.len() - errors) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

    type Run = fn(&mut dyn Gate, bool, &mut Screen<'_>) -> Result<Outcome, Stop>;

    /// What a command makes of an answer: exit code, standard output, standard error.
    fn made(run: Run, json: bool, answer: &Value) -> (u8, String, String) {
        let mut gate = Script::new([(json!({"op": "list-intents"}), answer.clone())]);
        let (came_to, out, err) = printed(|screen| run(&mut gate, json, screen));
        gate.end();
        match came_to {
            Ok(Outcome::Done) => (0, out, err),
            Ok(Outcome::No) => (1, out, err),
            Err(Stop::Fault(why)) => (2, out, err + &why),
            Err(stop) => panic!("{stop:?}"),
        }
    }

    fn intent(id: &str, status: &str, name: &str, scope: &[&str]) -> Value {
        json!({"id": id, "name": name, "status": status, "open": status != "DONE", "description": null, "owned_scope": scope,
               "constraints": [], "acceptance_criteria": []})
    }

    #[test]
    fn intents_are_a_table() {
        let intents = [
            intent("INT-001", "IN_PROGRESS", "Login", &["src/auth/**", "docs/auth.md"]),
            intent("I2", "DONE", "Pay \u{1b}[2J", &[]),
        ];
        let (code, out, err) = made(show, false, &json!({"governed": true, "intents": intents, "diagnostics": []}));
        let expected = "\
ID       STATUS       NAME           SCOPE
INT-001  IN_PROGRESS  Login          src/auth/**, docs/auth.md
I2       DONE         Pay \\u{1b}[2J
";
        assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
    }

    #[test]
    fn a_list_that_cannot_be_made_is_not_an_empty_list() {
        let error = json!({"severity": "error", "line": 1, "column": 2, "message": "no"});
        let some = intent("A", "IN_PROGRESS", "a", &["a"]);
        for (answer, code, out_lines, said) in [
            (json!({"governed": false, "intents": [], "diagnostics": []}), 0, 0, "no .orchestration/"),
            (json!({"governed": true, "intents": [], "diagnostics": []}), 0, 0, "lists no intents"),
            (json!({"governed": true, "intents": [], "diagnostics": [error]}), 2, 0, "has 1 error; `tollgate intents check`"),
            (json!({"governed": true, "intents": [some], "diagnostics": [error, error]}), 0, 2, "has 2 errors"),
        ] {
            let (got, out, err) = made(show, false, &answer);
            assert_eq!((got, out.lines().count()), (code, out_lines), "{answer}");
            assert!(err.contains(said), "{err}");
        }
    }

    #[test]
    fn diagnostics_name_their_place() {
        let found = |severity: &str, line: Option<u64>, column: Option<u64>| json!({"severity": severity, "line": line, "column": column, "message": "it is so"});
        for (diagnostics, code, expected) in [
            (json!([]), 0, "0 intents, 0 errors, 0 warnings\n"),
            (
                json!([found("warning", Some(3), None)]),
                0,
                ".orchestration/active_intents.yaml:3: warning: it is so\n0 intents, 0 errors, 1 warning\n",
            ),
            (
                json!([found("error", Some(3), Some(5)), found("warning", None, None)]),
                1,
                ".orchestration/active_intents.yaml:3:5: error: it is so\n.orchestration/active_intents.yaml: warning: it is so\n0 intents, 1 error, 1 warning\n",
            ),
        ] {
            let answer = json!({"governed": true, "intents": [], "diagnostics": diagnostics});
            let (got, out, _) = made(check, false, &answer);
            assert_eq!((got, out.as_str()), (code, expected));
            assert_eq!(made(check, true, &answer), (code, format!("{answer}\n"), String::new()));
        }
    }
}
