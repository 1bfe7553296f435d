//! `tollgate trace list`: lists the latest entries, oldest first.

use std::path::Path;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde_json::{Map, Value, json};

use super::filters::Filters;
use super::pages::Pages;
use super::{entry, filters};
use crate::cli::client::{Gate, flag, list, number, text, texts};
use crate::cli::output::Output;
use crate::cli::workspace::OpenGate;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The default number of entries.
const DEFAULT_LIMIT: usize = 20;

/// Explains the columns.
pub(super) const COLUMNS: &str = "\
Each line is an entry: the first characters of its id, the time, the intent, the session, the tool, the kind of change, the file
with the changed lines, and the first characters of its hashes before→after. FAIL means that the change was out of scope,
failed that the tool failed, concurrent that another session changed the file at the same time, late that the change was found
after its call had ended.";

/// The options of `tollgate trace list`.
#[derive(Args, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    #[command(flatten)]
    filters: Filters,
    /// Show at most N entries, the latest ones [default: 20]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: Option<usize>,
}

pub(super) fn run(opened: &mut OpenGate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let here = std::env::current_dir().unwrap_or_else(|_| opened.root.clone());
    show(&mut opened.gate, options, (&opened.root, &here), json, output)
}

fn show(
    gate: &mut dyn Gate,
    options: &Options,
    (root, here): (&Path, &Path),
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let question = options.filters.question("trace", root, here)?;
    let answer = fetch_latest(gate, question, options.limit.unwrap_or(DEFAULT_LIMIT))?;
    if json {
        output.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let entries = list(&answer, "entries");
    for line in entry::lines(entries, output) {
        output.line(&line)?;
    }
    // Entries come before notes, even if both go to the same terminal.
    output.out.flush()?;
    for note in texts(&answer, "notes") {
        output.note(note);
    }
    if entries.is_empty() {
        output.note(&empty_message(&options.filters, root, here));
    } else if options.limit.is_none() && entries.len() >= DEFAULT_LIMIT && !answer.get("before").is_none_or(Value::is_null) {
        output.note(&format!("these are the latest {DEFAULT_LIMIT}; --limit N shows more"));
    }
    if flag(&answer, "archive_suggested") {
        let grown = megabytes(number(&answer, "bytes"));
        output.note(&format!("the ledger has grown to {grown}; a person can archive it with `tollgate trace archive`"));
    }
    Ok(Outcome::Done)
}

/// The latest entries, merged from as many pages as necessary.
fn fetch_latest(gate: &mut dyn Gate, question: Map<String, Value>, limit: usize) -> Result<Value, CommandError> {
    let mut pages = Pages::new(question);
    let (mut newest, mut found, mut notes) = (None, Vec::new(), Vec::new());
    let mut missing = limit;
    while missing > 0
        && let Some(page) = pages.next(gate, missing)?
    {
        missing = missing.saturating_sub(list(&page, "entries").len());
        found.push(list(&page, "entries").to_vec());
        notes.push(list(&page, "notes").to_vec());
        newest.get_or_insert(page);
    }
    let newest = newest.unwrap_or_default();
    // Each page is older than the one before.
    let in_order = |pages: Vec<Vec<Value>>| pages.into_iter().rev().flatten().collect::<Vec<_>>();
    Ok(json!({
        "entries": in_order(found),
        "before": pages.before(),
        "bytes": number(&newest, "bytes"),
        "archive_suggested": flag(&newest, "archive_suggested"),
        "notes": in_order(notes),
    }))
}

fn empty_message(filters: &Filters, root: &Path, here: &Path) -> String {
    match filters.file.as_deref() {
        None if *filters == Filters::default() => "the ledger is empty".to_owned(),
        // In a subfolder, the person may have meant a path relative to it.
        Some(file) if filters::is_workspace_relative(file) && here != root && here.starts_with(root) => {
            format!("no entry matches; `{file}` is relative to `{}`; use `./{file}` for the current folder", root.display())
        }
        _ => "no entry matches".to_owned(),
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// Finds the one entry whose id starts with `given`; lists show only eight characters of an id.
pub(super) fn full_id(gate: &mut dyn Gate, given: &str) -> Result<String, CommandError> {
    const FULL_LENGTH: usize = 36;
    const MIN_LENGTH: usize = 4;
    const PAGE: usize = 500;
    if given.len() >= FULL_LENGTH {
        return Ok(given.to_owned());
    }
    if given.len() < MIN_LENGTH {
        return Err(CommandError::Failed(format!("`{given}` is too short; give at least {MIN_LENGTH} characters of its id")));
    }
    let mut pages = Pages::new(Map::from_iter([("op".to_owned(), "trace".into())]));
    let mut found: Vec<String> = Vec::new();
    while let Some(page) = pages.next(gate, PAGE)? {
        let ids = list(&page, "entries").iter().map(|entry| text(entry, "/id"));
        found.extend(ids.filter(|id| id.starts_with(given)).map(str::to_owned));
    }
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(CommandError::Failed(format!("no entry's id begins with `{given}`; `tollgate trace` lists the entries"))),
        several => {
            Err(CommandError::Failed(format!("`{given}` matches several entries: {}; give more characters", several.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    fn page(entries: &[Value], before: Option<u64>, notes: &[&str]) -> Value {
        json!({"entries": entries, "before": before, "bytes": 12_345_678, "archive_suggested": true, "notes": notes})
    }

    #[test]
    fn pages_become_one_list_oldest_first() {
        let exchanges = || {
            [
                (json!({"op": "trace", "limit": 3}), page(&[entry("c", "c")], Some(90), &["line 9 is no entry: x"])),
                (json!({"op": "trace", "limit": 2, "before": 90}), page(&[], Some(50), &[])),
                (
                    json!({"op": "trace", "limit": 2, "before": 50}),
                    page(&[entry("a", "a"), entry("b", "b")], Some(10), &["line 1 is no entry: y"]),
                ),
            ]
        };
        let options = Options { limit: Some(3), ..Options::default() };
        let at = (Path::new("/w"), Path::new("/w"));
        let mut gate = Script::new(exchanges());
        let (came_to, out, err) = capture(|output| show(&mut gate, &options, at, false, output));
        assert_eq!(came_to.unwrap(), Outcome::Done);
        gate.assert_finished();
        let paths: Vec<_> = out.lines().map(|line| line.split_whitespace().nth(6).unwrap()).collect();
        assert_eq!(paths, ["a:3-9,12", "b:3-9,12", "c:3-9,12"]);
        assert_eq!(
            err,
            "tollgate: line 1 is no entry: y\ntollgate: line 9 is no entry: x\n\
             tollgate: the ledger has grown to 12.3 MB; a person can archive it with `tollgate trace archive`\n"
        );
        let mut gate = Script::new(exchanges());
        let (_, out, err) = capture(|output| show(&mut gate, &options, at, true, output));
        let merged = page(
            &[entry("a", "a"), entry("b", "b"), entry("c", "c")],
            Some(10),
            &["line 1 is no entry: y", "line 9 is no entry: x"],
        );
        assert_eq!((out, err), (format!("{merged}\n"), String::new()));
    }

    #[test]
    fn who_finds_nothing_is_told_where_it_was_looked_for() {
        let none = json!({"entries": [], "before": null, "bytes": 0, "archive_suggested": false, "notes": []});
        for (file, here, said) in [
            (None, "/w/src", "the ledger is empty"),
            (Some("a.ts"), "/w", "no entry matches"),
            (Some("a.ts"), "/w/src", "no entry matches; `a.ts` is relative to `/w`; use `./a.ts` for the current folder"),
            (Some("./a.ts"), "/w/src", "no entry matches"),
        ] {
            let mut filters = Filters::default();
            filters.file = file.map(str::to_owned);
            let options = Options { filters, limit: None };
            let asked = Value::Object(options.filters.question("trace", Path::new("/w"), Path::new(here)).unwrap());
            let mut question = asked.clone();
            question["limit"] = DEFAULT_LIMIT.into();
            let mut gate = Script::new([(question, none.clone())]);
            let at = (Path::new("/w"), Path::new(here));
            let (_, _, err) = capture(|output| show(&mut gate, &options, at, false, output));
            assert_eq!(err, format!("tollgate: {said}\n"));
        }
    }

    #[test]
    fn the_beginning_of_an_id_is_enough() {
        let id = |last: &str| format!("1234abcd-0000-4000-8000-00000000000{last}");
        let pages = || {
            [
                (json!({"op": "trace", "limit": 500}), page(&[entry(&id("2"), "x")], Some(5), &[])),
                (
                    json!({"op": "trace", "limit": 500, "before": 5}),
                    page(&[entry("1234ffff", "x"), entry(&id("1"), "x")], None, &[]),
                ),
            ]
        };
        for (given, expected) in [
            ("1234f", Ok("1234ffff")),
            ("1234abcd", Err("several entries")),
            ("ffff", Err("no entry's id begins with `ffff`")),
            ("123", Err("too short")),
        ] {
            match (full_id(&mut Script::new(pages()), given), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(CommandError::Failed(why)), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (found, _) => panic!("{given}: {found:?}"),
            }
        }
        assert_eq!(full_id(&mut Script::new([]), &id("9")).unwrap(), id("9"));
    }

    #[test]
    fn sizes_are_rounded() {
        for (bytes, shown) in [(0, "0.0 MB"), (12_345_678, "12.3 MB"), (12_350_000, "12.4 MB"), (u64::MAX, "18446744073709.5 MB")]
        {
            assert_eq!(megabytes(bytes), shown);
        }
    }
}
