//! `tollgate extensions list` and `check`.

use std::io;

use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, list, number, text};
use crate::cli::output::{Cell, Output, Style, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

pub(super) fn show(gate: &mut dyn Gate, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "extensions", "do": "list"}))?;
    let (extensions, faults) = (list(&answer, "extensions"), list(&answer, "faults"));
    let printed = if json { output.json(&answer) } else { print(extensions, faults, output) };
    outcome(printed, faults)
}

pub(super) fn check(gate: &mut dyn Gate, folder: Option<&str>, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "extensions", "do": "check", "path": folder}))?;
    let faults = list(&answer, "faults");
    let printed = if json { output.json(&answer) } else { print_faults(faults, output) };
    if printed.is_ok() && !json {
        let checked = number(&answer, "checked");
        let of = if checked == 1 { "1 extension".to_owned() } else { format!("{checked} extensions") };
        let errors = if faults.len() == 1 { "1 error".to_owned() } else { format!("{} errors", faults.len()) };
        output.line(&format!("{of}, {errors}"))?;
    }
    outcome(printed, faults)
}

/// The exit status follows from the answer, even if the output is not read.
fn outcome(printed: io::Result<()>, faults: &[Value]) -> CommandResult {
    match printed.map_err(CommandError::from) {
        Ok(()) | Err(CommandError::OutputClosed) => Ok(if faults.is_empty() { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn print(extensions: &[Value], faults: &[Value], output: &mut Output<'_>) -> io::Result<()> {
    if extensions.is_empty() && faults.is_empty() {
        output.note("there are no extensions in `.tollgate/extensions/`, here or in your home folder");
        return Ok(());
    }
    if !extensions.is_empty() {
        let titles = ["NAME", "VERSION", "STATE", "PROVIDES", "FOLDER"].map(|title| Cell::styled(title, Style::Bold));
        let rows: Vec<Vec<Cell>> = std::iter::once(titles.into_iter().collect()).chain(extensions.iter().map(row)).collect();
        output.rows(&rows).iter().try_for_each(|row| output.line(row))?;
    }
    for extension in extensions.iter().filter(|extension| text(extension, "/state") != "invalid") {
        let why = text(extension, "/why");
        if !why.is_empty() {
            output.line(&format!("{}: {}", escape(text(extension, "/name")), escape(why)))?;
        }
    }
    print_faults(faults, output)
}

fn print_faults(faults: &[Value], output: &mut Output<'_>) -> io::Result<()> {
    for fault in faults {
        let place = format!("{}:{}:{}", escape(text(fault, "/file")), number(fault, "line"), number(fault, "column"));
        let error = output.paint(Style::Red, "error");
        output.line(&format!("{place}: {error}: `{}` {}", escape(text(fault, "/path")), escape(text(fault, "/message"))))?;
    }
    Ok(())
}

fn row(extension: &Value) -> Vec<Cell> {
    let state = text(extension, "/state");
    let style = match state {
        "active" => Style::Green,
        "disabled" => Style::Dim,
        "invalid" => Style::Red,
        _ => Style::Yellow,
    };
    vec![
        Cell::new(text(extension, "/name")),
        Cell::new(text(extension, "/version")),
        Cell::styled(state, style),
        Cell::new(count_contents(extension)),
        Cell::new(text(extension, "/folder")),
    ]
}

/// The number of hooks, servers, skills, settings and components.
fn count_contents(extension: &Value) -> String {
    let kinds =
        [("hooks", "hook"), ("servers", "server"), ("skills", "skill"), ("settings", "setting"), ("components", "component")];
    let counted = kinds.iter().filter_map(|(name, one)| match list(extension, name).len() {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    });
    counted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    #[test]
    fn extensions_are_listed_with_errors_below() {
        let extensions = json!([
            {"name": "a", "version": "1.0.0", "state": "active", "folder": "~/.tollgate/extensions/a", "hooks": ["a:h"], "servers": [], "skills": ["x", "y"]},
            {"name": "b\u{1b}", "version": "2", "state": "disabled", "why": "it is not enabled", "folder": ".tollgate/extensions/b"},
            {"name": "c", "state": "invalid", "why": "its manifest cannot be used", "folder": ".tollgate/extensions/c"},
        ]);
        let fault = json!({"file": ".tollgate/extensions/c/manifest.json", "path": "$.name", "line": 2, "column": 3, "message": "must be a string"});
        let answer = json!({"extensions": extensions, "faults": [fault]});
        let mut gate = Script::new([(json!({"op": "extensions", "do": "list"}), answer)]);
        let (came_to, out, _) = capture(|output| show(&mut gate, false, output));
        assert_eq!(came_to.unwrap(), Outcome::No);
        let expected = "\
NAME     VERSION  STATE     PROVIDES          FOLDER
a        1.0.0    active    1 hook, 2 skills  ~/.tollgate/extensions/a
b\\u{1b}  2        disabled                    .tollgate/extensions/b
c                 invalid                     .tollgate/extensions/c
b\\u{1b}: it is not enabled
.tollgate/extensions/c/manifest.json:2:3: error: `$.name` must be a string
";
        assert_eq!(out, expected);
    }
}
