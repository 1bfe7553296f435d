//! Describes an extension to a person, for example before approval.

use serde_json::Value;

use crate::cli::client::{flag, list, number, text, texts};
use crate::cli::output::{Output, Style, escape};

/// The maximum number of files listed; `--json` lists all.
const MAX_FILES: usize = 20;

/// The lines that describe an extension: everything that it provides, its settings and its files.
pub(super) fn render(extension: &Value, output: &Output<'_>) -> Vec<String> {
    let name = output.paint(Style::Bold, &escape(text(extension, "/name")));
    let (version, source, folder) = (text(extension, "/version"), text(extension, "/source"), text(extension, "/folder"));
    let mut shown = vec![format!(
        "{name} {} ({} extension, {}): {}",
        escape(version),
        escape(source),
        escape(folder),
        escape(text(extension, "/state"))
    )];
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            shown.push(format!("  {name:<12} {}", escape(value)));
        }
    };
    row("about", text(extension, "/description"));
    row("state", text(extension, "/why"));
    let nothing = Value::Null;
    let shows = extension.get("shows").unwrap_or(&nothing);
    for line in texts(shows, "brings") {
        row("provides", line);
    }
    for setting in list(extension, "settings").iter().filter(|setting| setting.is_object()) {
        let value = match setting.get("value") {
            Some(Value::String(value)) => value.clone(),
            Some(value) => value.to_string(),
            None if flag(setting, "required") => "not set, and required".to_owned(),
            None => "not set".to_owned(),
        };
        let from = match text(setting, "/from") {
            "" | "none" => String::new(),
            from => format!(" ({from})"),
        };
        row("set", &format!("{} = {value}{from}", text(setting, "/name")));
        row("problem", text(setting, "/fault"));
    }
    let files = list(shows, "files");
    for file in files.iter().take(MAX_FILES) {
        let file: Vec<&str> = file.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        row("file", &file.join(" "));
    }
    if files.len() > MAX_FILES {
        row("file", &format!("… {} more; `--json` lists all", files.len() - MAX_FILES));
    }
    row("digest", text(extension, "/digest"));
    row("problem", text(extension, "/problem"));
    for fault in list(extension, "faults") {
        let place = format!("{}:{}:{}", text(fault, "/file"), number(fault, "line"), number(fault, "column"));
        row("error", &format!("{place}: `{}` {}", text(fault, "/path"), text(fault, "/message")));
    }
    shown.extend(differences(extension, output));
    shown
}

/// What has changed since the extension was approved.
fn differences(extension: &Value, output: &Output<'_>) -> Vec<String> {
    let nothing = Value::Null;
    let (before, now) = (extension.get("before").unwrap_or(&nothing), extension.get("shows").unwrap_or(&nothing));
    if before.is_null() {
        return Vec::new();
    }
    let all = |shows: &Value| -> Vec<String> {
        let file = |file: &Value| file.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
        let files = list(shows, "files").iter().map(file).collect::<Vec<_>>();
        texts(shows, "brings").into_iter().map(str::to_owned).chain(files).collect()
    };
    let (before, now) = (all(before), all(now));
    let gone = before.iter().filter(|line| !now.contains(line)).map(|line| ('-', Style::Red, line));
    let new = now.iter().filter(|line| !before.contains(line)).map(|line| ('+', Style::Green, line));
    let lines: Vec<String> =
        gone.chain(new).map(|(mark, style, line)| output.paint(style, &format!("  {mark} {}", escape(line)))).collect();
    if lines.is_empty() { lines } else { [vec!["  since it was approved:".to_owned()], lines].concat() }
}
