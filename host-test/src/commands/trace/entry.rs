//! Formats ledger entries for people.

use serde_json::Value;

use crate::cli::client::{flag, list, text, texts};
use crate::cli::output::{Cell, Output, Style, escape};

/// At most this many line ranges are shown after a path.
const MAX_RANGES: usize = 4;

/// At most this many characters of an error are shown.
const MAX_ERROR_CHARS: usize = 200;

/// The entries as lines, each followed by the tool's error if it failed.
pub(super) fn lines(entries: &[Value], output: &Output<'_>) -> Vec<String> {
    let rows: Vec<Vec<Cell>> = entries.iter().map(row).collect();
    let errors = entries.iter().map(|entry| error(entry).map(|error| format!("    {}", output.paint(Style::Yellow, &error))));
    output.rows(&rows).into_iter().zip(errors).flat_map(|(line, error)| std::iter::once(line).chain(error)).collect()
}

fn row(entry: &Value) -> Vec<Cell> {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let file = entry.get("file").filter(|file| !file.is_null());
    vec![
        Cell::styled(short_id(text(entry, "/id")), Style::Yellow),
        Cell::new(text(entry, "/timestamp")),
        Cell::new(or_dash(text(entry, "/intent_id"))),
        Cell::new(text(entry, "/session_id")),
        Cell::new(text(entry, "/tool_name")),
        Cell::new(text(entry, "/mutation_class")),
        Cell::styled(file.map(path).or_else(|| person_command(entry)).unwrap_or_else(|| "-".to_owned()), Style::Bold),
        Cell::styled(file.map(hashes).unwrap_or_default(), Style::Dim),
        Cell::styled(if text(entry, "/scope_validation") == "FAIL" { "FAIL" } else { "" }, Style::Red),
        Cell::styled(if flag(entry, "success") { "" } else { "failed" }, Style::Yellow),
        Cell::styled(concurrent_note(entry).unwrap_or_default(), Style::Yellow),
        Cell::styled(late_note(entry).unwrap_or_default(), Style::Yellow),
    ]
}

/// The person who ran a command, and the command.
fn person_command(entry: &Value) -> Option<String> {
    let person = entry.get("person").filter(|person| !person.is_null())?;
    Some(format!("by {}: {}", text(person, "/user"), texts(person, "command").join(" ")))
}

/// The path, followed by the changed lines.
fn path(file: &Value) -> String {
    let ranges: Vec<String> = list(file, "line_ranges").iter().filter_map(range).collect();
    let mut path = text(file, "/relative_path").to_owned();
    if !ranges.is_empty() {
        path.push(':');
        path.push_str(&ranges.iter().take(MAX_RANGES).map(String::as_str).collect::<Vec<_>>().join(","));
    }
    if ranges.len() > MAX_RANGES {
        path.push_str(",…");
    }
    path
}

fn range(range: &Value) -> Option<String> {
    let (start, end) = (range.get("start")?.as_u64()?, range.get("end")?.as_u64()?);
    Some(if start == end { start.to_string() } else { format!("{start}-{end}") })
}

fn hashes(file: &Value) -> String {
    let hash = |pointer| Some(text(file, pointer)).filter(|hash| !hash.is_empty()).map_or_else(|| "-".to_owned(), short_id);
    format!("{}→{}", hash("/pre_hash"), hash("/post_hash"))
}

fn concurrent_note(entry: &Value) -> Option<String> {
    let other = entry.get("concurrent").filter(|other| !other.is_null())?;
    Some(format!("concurrent with {} of {}", short_id(text(other, "/entry_id")), text(other, "/session_id")))
}

fn late_note(entry: &Value) -> Option<String> {
    let late = entry.get("late").filter(|late| !late.is_null())?;
    let others = match late.get("others").and_then(Value::as_u64).unwrap_or_default() {
        0 => String::new(),
        others => format!(", or {others} others"),
    };
    Some(format!("late, from the call at {}{others}", text(late, "/began")))
}

/// The first line of the tool's error, with an ellipsis if there is more.
fn error(entry: &Value) -> Option<String> {
    let said = text(entry, "/error").trim();
    let first = said.lines().next()?;
    let mut shown = escape(&first.chars().take(MAX_ERROR_CHARS).collect::<String>());
    if first.len() < said.len() || first.chars().nth(MAX_ERROR_CHARS).is_some() {
        shown.push_str(" …");
    }
    Some(shown)
}

/// The first eight characters of a digest or id, which are usually unique.
pub(super) fn short_id(text: &str) -> String {
    text.strip_prefix("sha256:").unwrap_or(text).chars().take(8).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::output::tests::capture;

    /// An entry of the ledger.
    pub(crate) fn entry(id: &str, path: &str) -> Value {
        json!({
            "id": id, "timestamp": "2026-11-16T09:30:00.000Z", "intent_id": "INT-1", "session_id": "s1", "tool_name": "write",
            "mutation_class": "AST_REFACTOR",
            "file": {"relative_path": path, "pre_hash": "sha256:0123456789abcdef", "post_hash": "sha256:fedcba9876543210",
                     "line_ranges": [{"start": 3, "end": 9}, {"start": 12, "end": 12}]},
            "content_hash": "sha256:fedcba9876543210", "scope_validation": "PASS", "success": true, "error": null, "saw": [],
        })
    }

    #[test]
    fn an_entry_is_a_line() {
        let mut failed = entry("22222222-2222-4222-8222-222222222222", "src/a.ts");
        failed["success"] = false.into();
        failed["scope_validation"] = "FAIL".into();
        failed["error"] = "no room\u{1b}[2J\nat all".into();
        failed["file"]["pre_hash"] = Value::Null;
        failed["file"]["line_ranges"] = (1..7).map(|at| json!({"start": at * 2, "end": at * 2})).collect();
        let mut command = entry("33333333-3333-4333-8333-333333333333", "");
        command["file"] = Value::Null;
        command["intent_id"] = Value::Null;
        command["concurrent"] = json!({"session_id": "s2", "entry_id": "44444444-4444-4444-8444-444444444444"});
        let mut late = entry("55555555-5555-4555-8555-555555555555", "dev.log");
        late["late"] = json!({"call_id": "c1", "began": "2026-11-16T09:00:00.000Z", "others": 2});
        let entries = [entry("11111111-1111-4111-8111-111111111111", "README.md"), failed, command, late];
        let ((), out, _) = capture(|output| lines(&entries, output).iter().for_each(|line| output.line(line).unwrap()));
        let expected = "\
11111111  2026-11-16T09:30:00.000Z  INT-1  s1  write  AST_REFACTOR  README.md:3-9,12    01234567→fedcba98
22222222  2026-11-16T09:30:00.000Z  INT-1  s1  write  AST_REFACTOR  src/a.ts:2,4,6,8,…  -→fedcba98         FAIL  failed
    no room\\u{1b}[2J …
33333333  2026-11-16T09:30:00.000Z  -      s1  write  AST_REFACTOR  -                                                    concurrent with 44444444 of s2
55555555  2026-11-16T09:30:00.000Z  INT-1  s1  write  AST_REFACTOR  dev.log:3-9,12      01234567→fedcba98                                                late, from the call at 2026-11-16T09:00:00.000Z, or 2 others
";
        assert_eq!(out, expected);
    }

    #[test]
    fn a_persons_command_names_the_person() {
        let mut entry = entry("33333333-3333-4333-8333-333333333333", "");
        entry["file"] = Value::Null;
        entry["person"] = json!({"user": "ana", "command": ["hooks", "approve", "lint\u{7}"], "changed": []});
        let ((), out, _) = capture(|output| lines(&[entry], output).iter().for_each(|line| output.line(line).unwrap()));
        assert!(out.ends_with("AST_REFACTOR  by ana: hooks approve lint\\u{7}\n"), "{out}");
    }

    #[test]
    fn a_long_error_is_cut() {
        let mut entry = entry("1", "a");
        entry["error"] = "é".repeat(MAX_ERROR_CHARS).into();
        assert_eq!(error(&entry).unwrap(), "é".repeat(MAX_ERROR_CHARS));
        entry["error"] = "é".repeat(MAX_ERROR_CHARS + 1).into();
        assert_eq!(error(&entry).unwrap(), "é".repeat(MAX_ERROR_CHARS) + " …");
    }
}
