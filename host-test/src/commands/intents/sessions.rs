//! `tollgate intents sessions`: lists sessions with their intents.

use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, list, text};
use crate::cli::output::{Cell, Output, Style, escape};
use crate::cli::{CommandResult, Outcome};

/// Lists the sessions, the most recently active first.
pub(super) fn show(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "list-sessions"}))?;
    if json {
        output.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let sessions = list(&answer, "sessions");
    if !sessions.is_empty() {
        let titles = ["SESSION", "INTENT", "PROGRAM", "LAST ACTIVE", "LAST CALL"].map(|title| Cell::styled(title, Style::Bold));
        let rows: Vec<Vec<Cell>> = std::iter::once(titles.into_iter().collect()).chain(sessions.iter().map(row)).collect();
        output.rows(&rows).iter().try_for_each(|row| output.line(row))?;
        output.out.flush()?;
    }
    match text(&answer, "/default") {
        "" if sessions.is_empty() => output.note("no session has selected an intent or changed anything yet"),
        "" => {}
        intent => output.note(&format!("new sessions work for {}", escape(intent))),
    }
    Ok(Outcome::Done)
}

fn row(session: &Value) -> Vec<Cell> {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let intent = match (text(session, "/intent"), text(session, "/parent"), text(session, "/by")) {
        ("", "", _) => "-".to_owned(),
        ("", parent, _) => format!("inherited from {parent}"),
        (intent, _, "") => intent.to_owned(),
        (intent, _, by) => format!("{intent} ({by})"),
    };
    let denied = session.pointer("/last/denied") == Some(&Value::Bool(true));
    let last = or_dash(text(session, "/last/tool"));
    let at = Some(text(session, "/last/at")).filter(|at| !at.is_empty()).unwrap_or(text(session, "/since"));
    vec![
        Cell::new(text(session, "/session")),
        Cell::new(intent),
        Cell::new(or_dash(text(session, "/program"))),
        Cell::new(or_dash(at)),
        Cell::styled(if denied { format!("{last}, denied") } else { last }, if denied { Style::Yellow } else { Style::Plain }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    #[test]
    fn sessions_are_a_table() {
        let at = "2026-11-16T09:30:00.000Z";
        let last = |tool: &str, denied: bool| json!({"tool": tool, "at": at, "denied": denied});
        let sessions = json!([
            {"session": "s1", "intent": null, "parent": null, "by": null, "since": null, "program": "codex", "last": last("shell", true)},
            {"session": "s2", "intent": "INT-1", "parent": null, "by": "default", "since": at, "program": "gemini", "last": last("replace", false)},
            {"session": "s3", "intent": null, "parent": "s2", "by": null, "since": null, "program": null, "last": null},
        ]);
        let answer = json!({"default": "INT-1", "sessions": sessions});
        let question = json!({"op": "list-sessions"});
        let (came_to, out, err) = capture(|output| show(&mut Script::new([(question.clone(), answer.clone())]), false, output));
        assert_eq!(came_to.unwrap(), Outcome::Done);
        let expected = "\
SESSION  INTENT             PROGRAM  LAST ACTIVE               LAST CALL
s1       -                  codex    2026-11-16T09:30:00.000Z  shell, denied
s2       INT-1 (default)    gemini   2026-11-16T09:30:00.000Z  replace
s3       inherited from s2  -        -                         -
";
        assert_eq!((out.as_str(), err.as_str()), (expected, "tollgate: new sessions work for INT-1\n"));
        let (_, out, _) = capture(|output| show(&mut Script::new([(question.clone(), answer.clone())]), true, output));
        assert_eq!(out, format!("{answer}\n"));
        let nobody = json!({"default": null, "sessions": []});
        let (_, out, err) = capture(|output| show(&mut Script::new([(question, nobody)]), false, output));
        assert!(out.is_empty() && err.contains("no session"), "{err}");
    }
}
