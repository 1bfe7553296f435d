//! `docs/requirements.md` lists tests for every requirement, and every listed test exists and can fail.

use std::fs;
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Checks that what a name in backticks refers to exists. The name is one of:
///
/// | name | what |
/// | --- | --- |
/// | `fixtures/NAME` | a fixture's folder |
/// | `rows/FILE`, `rows/FILE/ID` | the rows of a file, or one of them |
/// | `FILE.rs::NAME` | a function with `#[test]`, or a trial of that name in a file that names its own tests |
/// | `host-test/benches/FILE.rs::NAME` | a benchmark that fails beyond a limit |
/// | `FILE.js::TITLE` | a test of that title |
fn exists(name: &str) -> Result<(), String> {
    let read = |file: &str| fs::read_to_string(repository().join(file)).map_err(|fault| format!("`{file}`: {fault}"));
    let (is_there, what) = match name.split_once("::") {
        None if name.starts_with("rows/") => (has_row(name)?, "row"),
        None => (repository().join(name).join("calls.jsonl").exists(), "fixture"),
        Some((file, title)) if !file.ends_with(".rs") => {
            let text = read(file)?;
            (text.contains(&format!("\ntest('{title}'")), "test")
        }
        Some((file, function)) if file.starts_with("host-test/benches/") => {
            (has_limit(&read(file)?, function), "benchmark with a limit")
        }
        Some((file, function)) => {
            let text = read(file)?;
            let is_trial = text.contains("libtest_mimic::run(") && text.contains(&format!("\"{function}\""));
            (is_trial || is_test(&text, function), "test")
        }
    };
    is_there.then_some(()).ok_or(format!("there is no {what} `{name}`"))
}

/// Whether a row, or the file of rows, exists.
fn has_row(name: &str) -> Result<bool, String> {
    let mut parts = name.splitn(3, '/').skip(1);
    let file = repository().join("fixtures/rows").join(parts.next().unwrap_or_default()).with_extension("jsonl");
    let text = fs::read_to_string(&file).map_err(|fault| format!("`{}`: {fault}", file.display()))?;
    let id = parts.next().map(|id| format!("{{\"id\": \"{id}\","));
    Ok(text.lines().any(|line| id.as_ref().is_none_or(|id| line.starts_with(id))))
}

/// Whether a function is marked as a test: the attribute is above it, with only other attributes and comments in between.
fn is_test(text: &str, function: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(&format!("fn {function}("))) else { return false };
    let above = lines.iter().take(at).rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    above.into_iter().any(|line| *line == "#[test]")
}

/// Whether a benchmark's function calls `limit` of the module `comparison`, which fails beyond it.
fn has_limit(text: &str, function: &str) -> bool {
    let is_imported = text.lines().any(|line| line.starts_with("use comparison::{") && line.contains("{limit,"));
    let Some((_, body)) = text.split_once(&format!("\nfn {function}(")) else { return false };
    let mut lines = body.split("\n}\n").next().unwrap_or_default().lines().map(str::trim);
    is_imported && lines.any(|line| line.starts_with("limit("))
}

#[test]
fn every_requirement_has_a_test() {
    let text = fs::read_to_string(repository().join("docs/requirements.md")).unwrap();
    let mut wanted: Vec<String> = (1..=5).map(|number| format!("AC-{number}")).collect();
    wanted.extend((1..=15).map(|number| format!("FR-{number:03}")));
    wanted.extend(["a", "b", "c"].map(|part| format!("FR-001{part}")));
    wanted.extend((1..=10).map(|number| format!("SC-{number:03}")));
    for (requirement, criteria) in [(1, 9), (2, 5), (3, 7), (4, 7), (13, 5), (14, 5)] {
        wanted.extend((1..=criteria).map(|criterion| format!("H-{requirement}.{criterion}")));
    }
    for (requirement, criteria) in [(5, 7), (6, 6), (7, 5), (12, 5), (15, 5)] {
        wanted.extend((1..=criteria).map(|criterion| format!("E-{requirement}.{criterion}")));
    }
    for (requirement, criteria) in [(8, 7), (9, 5), (10, 5), (11, 5)] {
        wanted.extend((1..=criteria).map(|criterion| format!("M-{requirement}.{criterion}")));
    }
    wanted.extend((1..=4).map(|number| format!("REQ-{number}")));
    let mut faults = Vec::new();
    for id in wanted {
        let Some(row) = text.lines().find(|line| line.starts_with(&format!("| {id} |"))) else {
            faults.push(format!("{id} is not there"));
            continue;
        };
        let shown = row.rsplit('|').nth(1).unwrap();
        let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            faults.push(format!("{id} names no test"));
        }
        faults.extend(names.iter().filter_map(|name| exists(name).err()).map(|fault| format!("{id}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The word alone is no limit: it may be in a request, in a comment, or in the name of something else.
#[test]
fn only_a_call_of_limit_is_a_limit() {
    let file = |import: &str, line: &str| {
        format!("{import}\n\nfn rows() {{\n    {line}\n}}\n\nfn other() {{\n    limit(x, y, z);\n}}\n")
    };
    for (import, line, expected) in [
        ("use comparison::{limit, measure_alternately, row};", "limit(\"rows\", took, ROWS);", true),
        ("use comparison::{limit, measure_alternately, row};", "ask(r#\"{\"op\":\"trace\",\"limit\":20}\"#);", false),
        ("use comparison::{limit, measure_alternately, row};", "// limit(\"rows\", took, ROWS);", false),
        ("use comparison::{limit, measure_alternately, row};", "with_limit(\"rows\", took, ROWS);", false),
        ("use comparison::{limit, measure_alternately, row};", "row(limit, took);", false),
        ("use comparison::{measure_alternately, row};", "limit(\"rows\", took, ROWS);", false),
    ] {
        assert_eq!(has_limit(&file(import, line), "rows"), expected, "{import} {line}");
    }
}

#[test]
fn names_that_are_not_tests_are_reported() {
    for (name, is_there) in [
        ("fixtures/ledger", true),
        ("fixtures/no-such-case", false),
        ("rows/shell", true),
        ("rows/shell/none-write", true),
        ("rows/shell/no-such-row", false),
        ("rows/no-such-file", false),
        ("host-test/tests/requirements.rs::names_that_are_not_tests_are_reported", true),
        ("host-test/tests/requirements.rs::no_such_test", false),
        // A helper function is not a test.
        ("host-test/tests/requirements.rs::repository", false),
        ("host-test/tests/many_writers.rs::a_full_disk", true),
        ("host-test/tests/many_writers.rs::no_such_trial", false),
        ("host-test/benches/governance.rs::scopes", true),
        ("host-test/benches/governance.rs::appends", false),
        ("npm-wrapper/e2e/claude/claude.test.js::a session in Claude Code, and its continuation", true),
        ("npm-wrapper/e2e/claude/claude.test.js::no such session", false),
    ] {
        let found = exists(name);
        assert_eq!(found.is_ok(), is_there, "{name}: {found:?}");
    }
}
