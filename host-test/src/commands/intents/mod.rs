//! `tollgate intents`: lists, checks and selects intents.

mod select;
mod sessions;

use std::io;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, flag, list, text, texts};
use crate::cli::output::{Cell, Output, Style, count, escape};
use crate::cli::workspace::WithSubcommand;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The intents file of a workspace.
const FILE: &str = ".orchestration/active_intents.yaml";

/// The options of `tollgate intents`.
pub(crate) type Options = WithSubcommand<Command>;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the intents with their status, name and scope
    List,
    /// Check .orchestration/active_intents.yaml; exits with 1 if it has an error
    Check,
    /// List the sessions with their intent, program, and last activity
    Sessions,
    /// Select an intent for new sessions or for a given session
    Select(select::Options),
}

/// Runs a subcommand.
pub(crate) fn run(options: &Options) -> ExitCode {
    let json = options.workspace.json;
    options.workspace.run(|opened, output| match &options.command {
        Command::List => show(&mut opened.gate, json, output),
        Command::Check => check(&mut opened.gate, json, output),
        Command::Sessions => sessions::show(&mut opened.gate, json, output),
        Command::Select(wanted) => {
            let root = opened.root.clone();
            select::run(&mut opened.gate, &root, wanted, json, output)
        }
    })
}

fn show(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "list-intents"}))?;
    let intents = list(&answer, "intents");
    if json {
        output.json(&answer)?;
    } else if !intents.is_empty() {
        table(intents, output)?;
    }
    let summary = text(&answer, "/summary");
    if !flag(&answer, "readable") {
        return Err(CommandError::Failed(summary.to_owned()));
    }
    // As JSON, it is part of the answer.
    if !json && !summary.is_empty() {
        output.note(summary);
    }
    Ok(Outcome::Done)
}

fn table(intents: &[Value], output: &mut Output<'_>) -> io::Result<()> {
    let mut rows = vec![["ID", "STATUS", "NAME", "SCOPE"].map(|title| Cell::styled(title, Style::Bold)).into_iter().collect()];
    for intent in intents {
        let style = if flag(intent, "open") { Style::Plain } else { Style::Dim };
        let scope = texts(intent, "owned_scope").join(", ");
        let cells = [text(intent, "/id"), text(intent, "/status"), text(intent, "/name"), &scope];
        rows.push(cells.map(|cell| Cell::styled(cell, style)).into_iter().collect());
    }
    output.rows(&rows).iter().try_for_each(|row| output.line(row))
}

fn check(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "list-intents"}))?;
    let printed = if json { output.json(&answer) } else { diagnostics(&answer, output) };
    match printed.map_err(CommandError::from) {
        Ok(()) | Err(CommandError::OutputClosed) => Ok(if flag(&answer, "valid") { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn diagnostics(answer: &Value, output: &mut Output<'_>) -> io::Result<()> {
    if !flag(answer, "governed") {
        output.note(text(answer, "/summary"));
        return Ok(());
    }
    for found in list(answer, "diagnostics") {
        let place = |name| found.get(name).and_then(Value::as_u64).map(|number| format!(":{number}")).unwrap_or_default();
        let severity = text(found, "/severity");
        let severity = output.paint(if severity == "error" { Style::Red } else { Style::Yellow }, severity);
        output.line(&format!("{FILE}{}{}: {severity}: {}", place("line"), place("column"), escape(text(found, "/message"))))?;
    }
    let number = |name| answer.get(name).and_then(Value::as_u64).unwrap_or_default();
    let intents = count(list(answer, "intents").len() as u64, "intent", "intents");
    let errors = count(number("errors"), "error", "errors");
    output.line(&format!("{intents}, {errors}, {}", count(number("warnings"), "warning", "warnings")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    type Run = fn(&mut dyn Gate, bool, &mut Output<'_>) -> CommandResult;

    /// Runs a command on an answer and returns exit code, standard output and standard error.
    fn run_on(run: Run, json: bool, answer: &Value) -> (u8, String, String) {
        let mut gate = Script::new([(json!({"op": "list-intents"}), answer.clone())]);
        let (came_to, out, err) = capture(|output| run(&mut gate, json, output));
        gate.assert_finished();
        match came_to {
            Ok(Outcome::Done) => (0, out, err),
            Ok(Outcome::No) => (1, out, err),
            Err(CommandError::Failed(why)) => (2, out, err + &why),
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
        let (code, out, err) = run_on(show, false, &listing(&json!(intents), &json!([]), 0, 0));
        let expected = "\
ID       STATUS       NAME           SCOPE
INT-001  IN_PROGRESS  Login          src/auth/**, docs/auth.md
I2       DONE         Pay \\u{1b}[2J
";
        assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
    }

    /// An answer of the gate for a governed workspace, without a summary.
    fn listing(intents: &Value, diagnostics: &Value, errors: u64, warnings: u64) -> Value {
        json!({"governed": true, "intents": intents, "diagnostics": diagnostics, "errors": errors, "warnings": warnings,
               "summary": null, "readable": true, "valid": errors == 0})
    }

    #[test]
    fn a_list_that_cannot_be_made_is_not_an_empty_list() {
        let mut answer = listing(&json!([]), &json!([]), 1, 0);
        answer["summary"] = json!("it has 1 error");
        assert_eq!(run_on(show, false, &answer), (0, String::new(), "tollgate: it has 1 error\n".to_owned()));
        answer["readable"] = json!(false);
        assert_eq!(run_on(show, false, &answer), (2, String::new(), "it has 1 error".to_owned()));
        assert_eq!(run_on(show, true, &answer), (2, format!("{answer}\n"), "it has 1 error".to_owned()));
    }

    #[test]
    fn without_governance_nothing_is_valid() {
        let answer = json!({"governed": false, "intents": [], "diagnostics": [], "errors": 1, "warnings": 0,
                            "summary": "nothing is governed", "readable": true, "valid": false});
        assert_eq!(run_on(show, false, &answer), (0, String::new(), "tollgate: nothing is governed\n".to_owned()));
        assert_eq!(run_on(show, true, &answer), (0, format!("{answer}\n"), String::new()));
        assert_eq!(run_on(check, false, &answer), (1, String::new(), "tollgate: nothing is governed\n".to_owned()));
    }

    #[test]
    fn diagnostics_name_their_place() {
        let found = |severity: &str, line: Option<u64>, column: Option<u64>| json!({"severity": severity, "line": line, "column": column, "message": "it is so"});
        for (diagnostics, errors, warnings, code, expected) in [
            (json!([]), 0, 0, 0, "0 intents, 0 errors, 0 warnings\n"),
            (
                json!([found("warning", Some(3), None)]),
                0,
                1,
                0,
                ".orchestration/active_intents.yaml:3: warning: it is so\n0 intents, 0 errors, 1 warning\n",
            ),
            (
                json!([found("error", Some(3), Some(5)), found("warning", None, None)]),
                1,
                1,
                1,
                ".orchestration/active_intents.yaml:3:5: error: it is so\n.orchestration/active_intents.yaml: warning: it is so\n0 intents, 1 error, 1 warning\n",
            ),
        ] {
            let answer = listing(&json!([]), &diagnostics, errors, warnings);
            let (got, out, _) = run_on(check, false, &answer);
            assert_eq!((got, out.as_str()), (code, expected));
            assert_eq!(run_on(check, true, &answer), (code, format!("{answer}\n"), String::new()));
        }
    }
}
