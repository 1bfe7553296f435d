//! `tollgate extensions list` and `check`.

use std::io;

use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, list, number, text};
use crate::cli::output::{Cell, Screen, Style, plain};
use crate::cli::{Outcome, Stop};

pub(super) fn show(gate: &mut dyn Gate, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask(gate, &json!({"op": "extensions", "do": "list"}))?;
    let (extensions, faults) = (list(&answer, "extensions"), list(&answer, "faults"));
    let printed = if json { screen.json(&answer) } else { print(extensions, faults, screen) };
    outcome(printed, faults)
}

pub(super) fn check(gate: &mut dyn Gate, folder: Option<&str>, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask(gate, &json!({"op": "extensions", "do": "check", "path": folder}))?;
    let faults = list(&answer, "faults");
    let printed = if json { screen.json(&answer) } else { print_faults(faults, screen) };
    if printed.is_ok() && !json {
        let checked = number(&answer, "checked");
        let of = if checked == 1 { "1 extension".to_owned() } else { format!("{checked} extensions") };
        screen.line(&format!("{of}, {} faults", faults.len()))?;
    }
    outcome(printed, faults)
}

/// An answer holds, read or not.
fn outcome(printed: io::Result<()>, faults: &[Value]) -> Result<Outcome, Stop> {
    match printed.map_err(Stop::from) {
        Ok(()) | Err(Stop::Unread) => Ok(if faults.is_empty() { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn print(extensions: &[Value], faults: &[Value], screen: &mut Screen<'_>) -> io::Result<()> {
    if extensions.is_empty() && faults.is_empty() {
        screen
            .note("there are no extensions; `.tollgate/extensions/` is where they are looked for, here and in your home folder");
        return Ok(());
    }
    if !extensions.is_empty() {
        let titles = ["NAME", "VERSION", "STATE", "BRINGS", "FOLDER"].map(|title| Cell::styled(title, Style::Bold));
        let rows: Vec<Vec<Cell>> = std::iter::once(titles.into_iter().collect()).chain(extensions.iter().map(row)).collect();
        screen.rows(&rows).iter().try_for_each(|row| screen.line(row))?;
    }
    for extension in extensions.iter().filter(|extension| text(extension, "/state") != "invalid") {
        let why = text(extension, "/why");
        if !why.is_empty() {
            screen.line(&format!("{}: {}", plain(text(extension, "/name")), plain(why)))?;
        }
    }
    print_faults(faults, screen)
}

fn print_faults(faults: &[Value], screen: &mut Screen<'_>) -> io::Result<()> {
    for fault in faults {
        let place = format!("{}:{}:{}", plain(text(fault, "/file")), number(fault, "line"), number(fault, "column"));
        let error = screen.paint(Style::Red, "error");
        screen.line(&format!("{place}: {error}: `{}` {}", plain(text(fault, "/path")), plain(text(fault, "/message"))))?;
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
        Cell::new(brings(extension)),
        Cell::new(text(extension, "/folder")),
    ]
}

/// How much of everything an extension brings.
fn brings(extension: &Value) -> String {
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
    use crate::cli::output::tests::printed;

    #[test]
    fn extensions_are_a_table_and_faults_stand_below() {
        let extensions = json!([
            {"name": "a", "version": "1.0.0", "state": "active", "folder": "~/.tollgate/extensions/a", "hooks": ["a:h"], "servers": [], "skills": ["x", "y"]},
            {"name": "b\u{1b}", "version": "2", "state": "disabled", "why": "it is not enabled", "folder": ".tollgate/extensions/b"},
            {"name": "c", "state": "invalid", "why": "its manifest cannot be used", "folder": ".tollgate/extensions/c"},
        ]);
        let fault = json!({"file": ".tollgate/extensions/c/manifest.json", "path": "$.name", "line": 2, "column": 3, "message": "must be a text"});
        let answer = json!({"extensions": extensions, "faults": [fault]});
        let mut gate = Script::new([(json!({"op": "extensions", "do": "list"}), answer)]);
        let (came_to, out, _) = printed(|screen| show(&mut gate, false, screen));
        assert_eq!(came_to.unwrap(), Outcome::No);
        let expected = "\
NAME     VERSION  STATE     BRINGS            FOLDER
a        1.0.0    active    1 hook, 2 skills  ~/.tollgate/extensions/a
b\\u{1b}  2        disabled                    .tollgate/extensions/b
c                 invalid                     .tollgate/extensions/c
b\\u{1b}: it is not enabled
.tollgate/extensions/c/manifest.json:2:3: error: `$.name` must be a text
";
        assert_eq!(out, expected);
    }
}
