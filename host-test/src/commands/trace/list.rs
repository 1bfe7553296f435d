//! `tollgate trace list`: the latest entries, oldest first.

use std::path::Path;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde_json::{Map, Value, json};

use super::filters::Filters;
use super::pages::Pages;
use super::{entry, filters};
use crate::cli::client::{Gate, is, list, number, text, texts};
use crate::cli::output::Screen;
use crate::cli::workspace::Opened;
use crate::cli::{Outcome, Stop};

/// Entries shown where nobody says how many.
const USUAL: usize = 20;

/// What stands in a line of the list.
pub(super) const MARKS: &str = "\
Each line is an entry: the beginning of its id, the time, the intent, the session, the tool, the kind of change, the file
with the lines that changed, and the beginning of its hash before→after. Behind it stands FAIL if the change was out of
scope, failed if the tool failed, concurrent if another session changed the file meanwhile, late if the change was found
after its call had ended.";

/// The options of `tollgate trace list`.
#[derive(Args, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    #[command(flatten)]
    filters: Filters,
    /// At most so many entries, the latest ones [default: 20]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    limit: Option<usize>,
}

pub(super) fn run(opened: &mut Opened, options: &Options, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let here = std::env::current_dir().unwrap_or_else(|_| opened.root.clone());
    show(&mut opened.gate, options, (&opened.root, &here), json, screen)
}

fn show(
    gate: &mut dyn Gate,
    options: &Options,
    (root, here): (&Path, &Path),
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Outcome, Stop> {
    let question = options.filters.question("trace", root, here)?;
    let answer = latest(gate, question, options.limit.unwrap_or(USUAL))?;
    if json {
        screen.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let entries = list(&answer, "entries");
    for line in entry::lines(entries, screen) {
        screen.line(&line)?;
    }
    // What was asked for comes first, also where both go to one terminal.
    screen.out.flush()?;
    for note in texts(&answer, "notes") {
        screen.note(note);
    }
    if entries.is_empty() {
        screen.note(&nothing(&options.filters, root, here));
    } else if options.limit.is_none() && entries.len() >= USUAL && !answer.get("before").is_none_or(Value::is_null) {
        screen.note(&format!("these are the latest {USUAL}; --limit N shows more"));
    }
    if is(&answer, "archive_suggested") {
        let grown = megabytes(number(&answer, "bytes"));
        screen.note(&format!("the ledger has grown to {grown}; a person can move it aside with `tollgate trace archive`"));
    }
    Ok(Outcome::Done)
}

/// The latest entries as one answer, however many it takes.
fn latest(gate: &mut dyn Gate, question: Map<String, Value>, limit: usize) -> Result<Value, Stop> {
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
    // Every page is older than the one before.
    let in_order = |pages: Vec<Vec<Value>>| pages.into_iter().rev().flatten().collect::<Vec<_>>();
    Ok(json!({
        "entries": in_order(found),
        "before": pages.before(),
        "bytes": number(&newest, "bytes"),
        "archive_suggested": is(&newest, "archive_suggested"),
        "notes": in_order(notes),
    }))
}

fn nothing(filters: &Filters, root: &Path, here: &Path) -> String {
    match filters.file.as_deref() {
        None if *filters == Filters::default() => "nothing has been entered in the ledger yet".to_owned(),
        // Somebody below the workspace's top may have meant a file beside him.
        Some(file) if filters::from_workspace(file) && here != root && here.starts_with(root) => {
            format!("no entry matches; `{file}` was looked for from `{}`, and `./{file}` would be here", root.display())
        }
        _ => "no entry matches".to_owned(),
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000) / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// The id of the one entry that begins so. Who reads the list has eight characters of it.
pub(super) fn full_id(gate: &mut dyn Gate, given: &str) -> Result<String, Stop> {
    const WHOLE: usize = 36;
    const FEWEST: usize = 4;
    const PAGE: usize = 500;
    if given.len() >= WHOLE {
        return Ok(given.to_owned());
    }
    if given.len() < FEWEST {
        return Err(Stop::Fault(format!("`{given}` is too short for an entry; give at least {FEWEST} characters of its id")));
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
        [] => Err(Stop::Fault(format!("no entry's id begins with `{given}`; `tollgate trace` lists the entries"))),
        several => {
            Err(Stop::Fault(format!("`{given}` is the beginning of several entries: {}; give more of it", several.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

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
        let (came_to, out, err) = printed(|screen| show(&mut gate, &options, at, false, screen));
        assert_eq!(came_to.unwrap(), Outcome::Done);
        gate.end();
        let paths: Vec<_> = out.lines().map(|line| line.split_whitespace().nth(6).unwrap()).collect();
        assert_eq!(paths, ["a:3-9,12", "b:3-9,12", "c:3-9,12"]);
        assert_eq!(
            err,
            "tollgate: line 1 is no entry: y\ntollgate: line 9 is no entry: x\n\
             tollgate: the ledger has grown to 12.3 MB; a person can move it aside with `tollgate trace archive`\n"
        );
        let mut gate = Script::new(exchanges());
        let (_, out, err) = printed(|screen| show(&mut gate, &options, at, true, screen));
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
            (None, "/w/src", "nothing has been entered in the ledger yet"),
            (Some("a.ts"), "/w", "no entry matches"),
            (Some("a.ts"), "/w/src", "no entry matches; `a.ts` was looked for from `/w`, and `./a.ts` would be here"),
            (Some("./a.ts"), "/w/src", "no entry matches"),
        ] {
            let mut filters = Filters::default();
            filters.file = file.map(str::to_owned);
            let options = Options { filters, limit: None };
            let asked = Value::Object(options.filters.question("trace", Path::new("/w"), Path::new(here)).unwrap());
            let mut question = asked.clone();
            question["limit"] = USUAL.into();
            let mut gate = Script::new([(question, none.clone())]);
            let at = (Path::new("/w"), Path::new(here));
            let (_, _, err) = printed(|screen| show(&mut gate, &options, at, false, screen));
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
                (Err(Stop::Fault(why)), Err(expected)) => assert!(why.contains(expected), "{why}"),
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
