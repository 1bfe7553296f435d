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
    let (errors, _) = severities(&answer);
    let intents = list(&answer, "intents");
    let is_governed = flag(&answer, "governed");
    if json {
        output.json(&answer)?;
    } else if !is_governed {
        output.note(UNGOVERNED);
    } else if intents.is_empty() && errors == 0 {
        output.note(&format!("`{FILE}` lists no intents"));
    } else if !intents.is_empty() {
        table(intents, output)?;
    }
    // Without a workspace that is governed, the file is missing, which is no error.
    if errors == 0 || !is_governed {
        return Ok(Outcome::Done);
    }
    let why = format!("`{FILE}` has {}; `tollgate intents check` shows what is wrong", count(errors, "error", "errors"));
    // Nothing could be read, which is different from an empty list.
    if intents.is_empty() {
        return Err(CommandError::Failed(why));
    }
    output.note(&why);
    Ok(Outcome::Done)
}

const UNGOVERNED: &str = "there is no .orchestration/ in the workspace, so nothing is governed; `tollgate init` creates one";

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
    let (errors, _) = severities(&answer);
    let printed = if json { output.json(&answer) } else { diagnostics(&answer, output) };
    match printed.map_err(CommandError::from) {
        Ok(()) | Err(CommandError::OutputClosed) => Ok(if errors == 0 { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn diagnostics(answer: &Value, output: &mut Output<'_>) -> io::Result<()> {
    if !flag(answer, "governed") {
        output.note(UNGOVERNED);
        return Ok(());
    }
    for found in list(answer, "diagnostics") {
        let place = |name| found.get(name).and_then(Value::as_u64).map(|number| format!(":{number}")).unwrap_or_default();
        let severity = text(found, "/severity");
        let severity = output.paint(if severity == "error" { Style::Red } else { Style::Yellow }, severity);
        output.line(&format!("{FILE}{}{}: {severity}: {}", place("line"), place("column"), escape(text(found, "/message"))))?;
    }
    let (errors, warnings) = severities(answer);
    let intents = list(answer, "intents").len() as u64;
    let (intents, errors, warnings) =
        (count(intents, "intent", "intents"), count(errors, "error", "errors"), count(warnings, "warning", "warnings"));
    output.line(&format!("{intents}, {errors}, {warnings}"))
}

/// The number of errors and of warnings.
fn severities(answer: &Value) -> (u64, u64) {
    let all = list(answer, "diagnostics");
    let errors = all.iter().filter(|found| text(found, "/severity") == "error").count();
    (errors as u64, (all.len() - errors) as u64)
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
        let (code, out, err) = run_on(show, false, &json!({"governed": true, "intents": intents, "diagnostics": []}));
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
            let (got, out, err) = run_on(show, false, &answer);
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
            let (got, out, _) = run_on(check, false, &answer);
            assert_eq!((got, out.as_str()), (code, expected));
            assert_eq!(run_on(check, true, &answer), (code, format!("{answer}\n"), String::new()));
        }
    }
}
