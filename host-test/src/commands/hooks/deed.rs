//! What a hook would do, as a person sees it before agreeing.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::cli::client::{list, text, texts};
use crate::cli::output::{Screen, Style, plain};

/// So many lines of a script are shown; the rest is in its file.
const MOST_LINES: usize = 20;

/// So many other files are named; `--json` names all.
const MOST_FILES: usize = 20;

/// Lines around a difference.
const AROUND: usize = 2;

/// The hook, what it runs and what was approved before, in lines.
pub(super) fn lines(hook: &Value, screen: &Screen<'_>) -> Vec<String> {
    let nothing = Value::Null;
    let shows = hook.get("shows").unwrap_or(&nothing);
    let mut shown = vec![title(hook, screen)];
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            shown.push(format!("  {name:<12} {}", plain(value)));
        }
    };
    row("trigger", text(hook, "/trigger"));
    row("pattern", text(hook, "/pattern"));
    row("runs", &command(&texts(shows, "runs")));
    row("prompt", text(hook, "/prompt"));
    row("component", text(hook, "/component"));
    row("interpreter", text(shows, "/interpreter"));
    let script = script(shows);
    row("script", &script.join(" "));
    for (name, label) in [("files", "file"), ("in_place", "in place")] {
        let files = list(shows, name);
        for file in files.iter().take(MOST_FILES) {
            let file: Vec<&str> = file.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            row(label, &file.join(" "));
        }
        if files.len() > MOST_FILES {
            row(label, &format!("… {} more; `--json` names all", files.len() - MOST_FILES));
        }
    }
    let is_unchecked = shows.get("unchecked") == Some(&Value::Bool(true));
    row(if is_unchecked { "not checked" } else { "checked" }, text(shows, "/note"));
    row("digest", text(hook, "/digest"));
    row("problem", text(hook, "/problem"));
    row("off", text(hook, "/disabled_reason"));
    let hidden = texts(shows, "not_shown");
    row("not shown", &hidden.iter().take(MOST_FILES).copied().collect::<Vec<_>>().join(" "));
    let now = text(shows, "/script_text");
    match hook.get("before").filter(|before| !before.is_null()) {
        Some(before) => {
            shown.push("  since it was approved:".to_owned());
            shown.extend(differences(&all(before), &all(shows), screen));
        }
        None if !now.is_empty() => {
            let count = now.lines().count();
            shown.extend(now.lines().take(MOST_LINES).map(|line| format!("  | {}", plain(line))));
            if count > MOST_LINES {
                shown.push(format!("  | … {} more lines", count - MOST_LINES));
            }
        }
        None => {}
    }
    shown
}

fn title(hook: &Value, screen: &Screen<'_>) -> String {
    let trust = match text(hook, "/trust") {
        _ if !text(hook, "/notice").is_empty() => text(hook, "/notice"),
        "new" => "nobody has approved it yet",
        "changed" => "it is no longer what was approved",
        "approved" => "approved",
        _ => "it needs no approval",
    };
    let (id, source, file) = (text(hook, "/id"), text(hook, "/source"), text(hook, "/file"));
    let file = if file.is_empty() { String::new() } else { format!(", {}", plain(file)) };
    format!("{} ({} hook{file}): {}", screen.paint(Style::Bold, &plain(id)), plain(source), plain(trust))
}

/// The script's path, and its digest where that is told.
fn script(shows: &Value) -> Vec<&str> {
    match shows.get("script") {
        Some(Value::String(path)) => vec![path],
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Words as somebody would type them.
fn command(words: &[&str]) -> String {
    let harmless = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-./:=,@%+".contains(c));
    let quoted = |word: &&str| if harmless(word) { (*word).to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Everything that decides what runs, a line each, and the texts of the files that were checked.
fn all(shows: &Value) -> String {
    let mut decides = shows.as_object().cloned().unwrap_or_default();
    decides.retain(|name, _| !matches!(name.as_str(), "script_text" | "texts" | "not_shown" | "note" | "format" | "before"));
    let mut all = format!("{:#}\n{}", Value::Object(decides), text(shows, "/script_text"));
    for file in list(shows, "texts") {
        let part = |at: usize| file.get(at).and_then(Value::as_str).unwrap_or_default();
        all.push_str(&format!("\n{}:\n{}", part(0), part(1)));
    }
    all
}

fn differences(before: &str, now: &str, screen: &Screen<'_>) -> Vec<String> {
    let diff = TextDiff::from_lines(before, now);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 {
            lines.push("    …".to_owned());
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let (mark, style) = match change.tag() {
                ChangeTag::Delete => ('-', Style::Red),
                ChangeTag::Insert => ('+', Style::Green),
                ChangeTag::Equal => (' ', Style::Plain),
            };
            let line = format!("  {mark} {}", plain(change.value().trim_end_matches(['\n', '\r'])));
            lines.push(screen.paint(style, &line));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::output::tests::printed;

    fn shown(hook: &Value) -> String {
        printed(|screen| lines(hook, screen)).0.join("\n")
    }

    #[test]
    fn what_would_run_is_shown_before_anybody_agrees() {
        let hook = json!({
            "id": "lint", "source": "workspace", "file": ".tollgate/hooks.json", "trigger": "t", "trust": "new", "digest": "sha256:1",
            "shows": {"declaration": {}, "runs": ["/bin/sh", "a.sh", "it's"], "interpreter": "/bin/dash", "script": ["a.sh", "sha256:2"],
                      "files": [["b", "sha256:3"]], "in_place": [["c", "sha256:4"]], "unchecked": true, "note": "a reason",
                      "script_text": format!("#!/bin/sh\necho \u{1b}[2J\n{}", "x\n".repeat(30)), "not_shown": ["b"]},
            "before": null,
        });
        let expected = "\
lint (workspace hook, .tollgate/hooks.json): nobody has approved it yet
  trigger      t
  runs         /bin/sh a.sh 'it'\\''s'
  interpreter  /bin/dash
  script       a.sh sha256:2
  file         b sha256:3
  in place     c sha256:4
  not checked  a reason
  digest       sha256:1
  not shown    b
  | #!/bin/sh
  | echo \\u{1b}[2J
";
        let shown = shown(&hook);
        assert!(shown.starts_with(expected), "{shown}");
        assert!(shown.ends_with("  | x\n  | … 12 more lines"), "{shown}");
    }

    #[test]
    fn what_has_changed_is_shown_as_differences() {
        let shows = |digest: &str, text: &str, beside: &str| {
            json!({"declaration": {"id": "a"}, "runs": ["a.sh"], "script": ["a.sh", digest], "script_text": text,
                   "texts": [["lib.sh", beside]], "note": digest})
        };
        let before = shows("sha256:old", "one\nTWO\nthree\nfour\nfive\nsix\n", "left");
        let now = shows("sha256:new", "one\ntwo\nthree\nfour\nfive\nsix\n", "right");
        let hook = json!({"id": "a", "source": "workspace", "trust": "changed", "notice": "why", "shows": now, "before": before});
        let shown = shown(&hook);
        for line in [
            "a (workspace hook): why",
            "  since it was approved:",
            "  -     \"sha256:old\"",
            "  +     \"sha256:new\"",
            "  - TWO",
            "  + two",
            "    one",
            "    lib.sh:",
            "  - left",
            "  + right",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
        assert!(!shown.contains("five"), "{shown}");
    }
}
