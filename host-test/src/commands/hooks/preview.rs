//! Shows what a hook would do, for review before approval.

use serde_json::Value;
use tollgate_guest::wiring::difference::difference;

use crate::cli::client::{list, text, texts};
use crate::cli::output::{Output, Style, escape};

/// At most this many lines of a script are shown.
const MAX_LINES: usize = 20;

/// At most this many other files are listed; `--json` lists all.
const MAX_FILES: usize = 20;

/// The hook, what it runs, and what has changed since it was approved, as lines.
pub(super) fn render(hook: &Value, output: &Output<'_>) -> Vec<String> {
    let nothing = Value::Null;
    let shows = hook.get("shows").unwrap_or(&nothing);
    let mut shown = vec![title(hook, output)];
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            shown.push(format!("  {name:<12} {}", escape(value)));
        }
    };
    row("trigger", text(hook, "/trigger"));
    row("pattern", text(hook, "/pattern"));
    row("runs", &command(&texts(shows, "runs")));
    row("prompt", text(hook, "/prompt"));
    row("component", text(hook, "/component"));
    let component = shows.get("component").filter(|shown| shown.is_object());
    if let Some(component) = component {
        let manifest = component.get("manifest").unwrap_or(&nothing);
        row("is", format!("{} {}", text(manifest, "/name"), text(manifest, "/version")).trim());
        row("says", text(manifest, "/description"));
        row("contract", text(component, "/contract"));
        row("called for", &texts(component, "exports").join(", "));
        texts(component, "grants").iter().for_each(|grant| row("gets", grant));
        row("size", &component.get("bytes").map(|bytes| format!("{bytes} bytes")).unwrap_or_default());
        row("bytes", text(component, "/digest"));
        row(
            "checked",
            "it can object, comment and add notes, and nothing else: it runs in a sandbox, from a copy of these bytes",
        );
    }
    if let Some(settings) = hook.get("settings") {
        row("settings", &settings.to_string());
    }
    row("interpreter", text(shows, "/interpreter"));
    let script = script(shows);
    row("script", &script.join(" "));
    for (name, label) in [("files", "file"), ("in_place", "in workspace")] {
        let files = list(shows, name);
        for file in files.iter().take(MAX_FILES) {
            let file: Vec<&str> = file.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            row(label, &file.join(" "));
        }
        if files.len() > MAX_FILES {
            row(label, &format!("… {} more; `--json` lists all", files.len() - MAX_FILES));
        }
    }
    let is_unchecked = shows.get("unchecked") == Some(&Value::Bool(true));
    row(if is_unchecked { "not checked" } else { "checked" }, text(shows, "/note"));
    row("digest", text(hook, "/digest"));
    row("problem", text(hook, "/problem"));
    row("disabled", text(hook, "/disabled_reason"));
    let hidden = texts(shows, "not_shown");
    row("not shown", &hidden.iter().take(MAX_FILES).copied().collect::<Vec<_>>().join(" "));
    let now = text(shows, "/script_text");
    match hook.get("before").filter(|before| !before.is_null()) {
        Some(before) => {
            shown.push("  since it was approved:".to_owned());
            shown.extend(differences(&comparable_text(before), &comparable_text(shows), output));
        }
        None if !now.is_empty() => {
            let count = now.lines().count();
            shown.extend(now.lines().take(MAX_LINES).map(|line| format!("  | {}", escape(line))));
            if count > MAX_LINES {
                shown.push(format!("  | … {} more lines", count - MAX_LINES));
            }
        }
        None => {}
    }
    shown
}

fn title(hook: &Value, output: &Output<'_>) -> String {
    let trust = match text(hook, "/trust") {
        _ if !text(hook, "/notice").is_empty() => text(hook, "/notice"),
        "new" => "not approved yet",
        "changed" => "changed since it was approved",
        "approved" => "approved",
        _ => "it needs no approval",
    };
    let (id, source, file) = (text(hook, "/id"), text(hook, "/source"), text(hook, "/file"));
    let file = if file.is_empty() { String::new() } else { format!(", {}", escape(file)) };
    format!("{} ({} hook{file}): {}", output.paint(Style::Bold, &escape(id)), escape(source), escape(trust))
}

/// The path of the script, and its digest if known.
fn script(shows: &Value) -> Vec<&str> {
    match shows.get("script") {
        Some(Value::String(path)) => vec![path],
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A command line as it would be typed.
fn command(words: &[&str]) -> String {
    let harmless = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-./:=,@%+".contains(c));
    let quoted = |word: &&str| if harmless(word) { (*word).to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Everything that determines what runs, with the texts of the checked files, in a form that can be compared by line.
fn comparable_text(shows: &Value) -> String {
    let mut decides = shows.as_object().cloned().unwrap_or_default();
    decides.retain(|name, _| !matches!(name.as_str(), "script_text" | "texts" | "not_shown" | "note" | "format" | "before"));
    let mut text_form = format!("{:#}\n{}", Value::Object(decides), text(shows, "/script_text"));
    for file in list(shows, "texts") {
        let part = |at: usize| file.get(at).and_then(Value::as_str).unwrap_or_default();
        text_form.push_str(&format!("\n{}:\n{}", part(0), part(1)));
    }
    text_form
}

fn differences(before: &str, now: &str, output: &Output<'_>) -> Vec<String> {
    let paint = |line: &String| {
        let style = match line.chars().next() {
            Some('-') => Style::Red,
            Some('+') => Style::Green,
            Some('…') => return format!("    {line}"),
            _ => Style::Plain,
        };
        output.paint(style, &format!("  {}", escape(line)))
    };
    difference(before, now).iter().map(paint).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::output::tests::capture;

    fn render_text(hook: &Value) -> String {
        capture(|output| render(hook, output)).0.join("\n")
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
lint (workspace hook, .tollgate/hooks.json): not approved yet
  trigger      t
  runs         /bin/sh a.sh 'it'\\''s'
  interpreter  /bin/dash
  script       a.sh sha256:2
  file         b sha256:3
  in workspace c sha256:4
  not checked  a reason
  digest       sha256:1
  not shown    b
  | #!/bin/sh
  | echo \\u{1b}[2J
";
        let shown = render_text(&hook);
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
        let shown = render_text(&hook);
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
