//! `tollgate hooks list`: lists the declared hooks.

use std::io;

use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, flag, list, number, text};
use crate::cli::output::{Cell, Output, Style, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

pub(super) fn show(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "hooks", "do": "list"}))?;
    let (hooks, faults) = (list(&answer, "hooks"), list(&answer, "faults"));
    let printed = if json { output.json(&answer) } else { print(hooks, faults, output) };
    match printed.map_err(CommandError::from) {
        Ok(()) | Err(CommandError::OutputClosed) => Ok(if faults.is_empty() { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn print(hooks: &[Value], faults: &[Value], output: &mut Output<'_>) -> io::Result<()> {
    if hooks.is_empty() && faults.is_empty() {
        output.note("no hooks are declared; declare them in `.tollgate/hooks.json`, here or in your home folder");
        return Ok(());
    }
    if !hooks.is_empty() {
        let titles = ["ID", "TRIGGER", "RUNS", "TRUST", "FILE"].map(|title| Cell::styled(title, Style::Bold));
        let rows: Vec<Vec<Cell>> = std::iter::once(titles.into_iter().collect()).chain(hooks.iter().map(row)).collect();
        output.rows(&rows).iter().try_for_each(|row| output.line(row))?;
    }
    for hook in hooks {
        let off = text(hook, "/disabled_reason");
        let problem = if off.is_empty() { text(hook, "/problem") } else { off };
        if !problem.is_empty() {
            output.line(&format!("{}: {}", escape(text(hook, "/id")), escape(problem)))?;
        }
    }
    for fault in faults {
        let place = format!("{}:{}:{}", escape(text(fault, "/file")), number(fault, "line"), number(fault, "column"));
        let error = output.paint(Style::Red, "error");
        output.line(&format!("{place}: {error}: `{}` {}", escape(text(fault, "/path")), escape(text(fault, "/message"))))?;
    }
    Ok(())
}

fn row(hook: &Value) -> Vec<Cell> {
    let trigger = match text(hook, "/pattern") {
        "" => text(hook, "/trigger").to_owned(),
        pattern => format!("{} {pattern}", text(hook, "/trigger")),
    };
    let enabled = flag(hook, "enabled");
    let trust = if enabled { text(hook, "/trust") } else { "off" };
    let style = match trust {
        "new" | "changed" => Style::Yellow,
        "off" => Style::Dim,
        _ => Style::Plain,
    };
    let rest = if enabled { Style::Plain } else { Style::Dim };
    vec![
        Cell::styled(text(hook, "/id"), rest),
        Cell::styled(trigger, rest),
        Cell::styled(runs(hook), rest),
        Cell::styled(trust, style),
        Cell::styled(text(hook, "/file"), rest),
    ]
}

/// What a hook runs, as declared, in one line.
fn runs(hook: &Value) -> String {
    let words = |value: &Value| match value {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let field = |name: &str| hook.get(name).map(words).unwrap_or_default();
    let said = match text(hook, "/kind") {
        "prompt" => format!("prompt: {}", field("prompt")),
        "component" => field("component"),
        _ => [field("command"), field("args")].iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" "),
    };
    let mut characters = said.chars();
    let short: String = characters.by_ref().take(MAX_CELL_WIDTH).collect();
    if characters.next().is_some() { format!("{short}…") } else { short }
}

/// `tollgate hooks show` shows longer commands in full.
const MAX_CELL_WIDTH: usize = 44;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    fn hook(id: &str, extra: &Value) -> Value {
        let mut hook = json!({"id": id, "trigger": "onDidSaveTextDocument", "kind": "command", "source": "workspace",
                              "file": ".tollgate/hooks.json", "enabled": true, "trust": "approved"});
        if let (Some(hook), Some(extra)) = (hook.as_object_mut(), extra.as_object()) {
            hook.extend(extra.clone());
        }
        hook
    }

    #[test]
    fn hooks_are_a_table_and_faults_stand_below() {
        let hooks = [
            hook("lint", &json!({"pattern": "src/**", "command": ["eslint", "--fix"]})),
            hook(
                "fmt",
                &json!({"command": "prettier", "args": ["-w", "."], "trust": "new", "problem": "there is no program `prettier`"}),
            ),
            hook(
                "ask\u{1b}",
                &json!({"kind": "prompt", "prompt": "x".repeat(60), "enabled": false, "disabled_reason": "it was switched off"}),
            ),
        ];
        let fault = json!({"file": ".tollgate/hooks.json", "path": "$.hooks[2].id", "line": 7, "column": 3, "message": "must be a string"});
        for (faults, code) in [(vec![], Outcome::Done), (vec![fault], Outcome::No)] {
            let answer = json!({"hooks": hooks, "faults": faults});
            let mut gate = Script::new([(json!({"op": "hooks", "do": "list"}), answer)]);
            let (came_to, out, err) = capture(|output| show(&mut gate, false, output));
            gate.assert_finished();
            assert_eq!((came_to.unwrap(), err.as_str()), (code, ""));
            let long = format!("prompt: {}…", "x".repeat(36));
            let width = long.chars().count() + 2;
            let expected = format!(
                "ID         TRIGGER                       {:width$}TRUST     FILE\n\
                 lint       onDidSaveTextDocument src/**  {:width$}approved  .tollgate/hooks.json\n\
                 fmt        onDidSaveTextDocument         {:width$}new       .tollgate/hooks.json\n\
                 ask\\u{{1b}}  onDidSaveTextDocument         {:width$}off       .tollgate/hooks.json\n\
                 fmt: there is no program `prettier`\n\
                 ask\\u{{1b}}: it was switched off\n",
                "RUNS", "eslint --fix", "prettier -w .", long,
            );
            assert!(out.starts_with(&expected), "{out}\n{expected}");
            let rest = out.strip_prefix(&expected).unwrap();
            let said = ".tollgate/hooks.json:7:3: error: `$.hooks[2].id` must be a string\n";
            assert_eq!(rest, if faults.is_empty() { "" } else { said });
        }
    }

    #[test]
    fn nothing_to_list_is_said() {
        let mut gate = Script::new([(json!({"op": "hooks", "do": "list"}), json!({"hooks": [], "faults": []}))]);
        let (came_to, out, err) = capture(|output| show(&mut gate, false, output));
        assert_eq!((came_to.unwrap(), out.as_str()), (Outcome::Done, ""));
        assert!(err.contains("no hooks are declared"), "{err}");
    }
}
