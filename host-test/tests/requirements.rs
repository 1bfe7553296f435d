//! `docs/requirements.md` names a test for every requirement, and every test that it names exists.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs;
use std::path::Path;

fn house() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A name in backticks is a fixture's folder, or a file and a function in it.
fn exists(name: &str) -> Result<(), String> {
    match name.split_once("::") {
        None => house().join(name).join("calls.jsonl").exists().then_some(()).ok_or(format!("there is no fixture `{name}`")),
        Some((file, function)) => {
            let text = fs::read_to_string(house().join(file)).map_err(|fault| format!("`{file}`: {fault}"))?;
            text.contains(&format!("fn {function}(")).then_some(()).ok_or(format!("`{file}` has no function `{function}`"))
        }
    }
}

#[test]
fn every_requirement_has_a_test() {
    let text = fs::read_to_string(house().join("docs/requirements.md")).unwrap();
    let mut wanted: Vec<String> = (1..=5).map(|number| format!("AC-{number}")).collect();
    wanted.extend((1..=15).map(|number| format!("FR-{number:03}")));
    wanted.extend(["a", "b", "c"].map(|part| format!("FR-001{part}")));
    wanted.extend((1..=10).map(|number| format!("SC-{number:03}")));
    for (requirement, criteria) in [(1, 9), (2, 5), (3, 7), (4, 7), (13, 5), (14, 5)] {
        wanted.extend((1..=criteria).map(|criterion| format!("H-{requirement}.{criterion}")));
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

#[test]
fn a_name_that_does_not_exist_is_noticed() {
    assert!(exists("fixtures/no-such-case").is_err());
    assert!(exists("host-test/tests/requirements.rs::no_such_test").is_err());
    assert!(exists("host-test/tests/requirements.rs::a_name_that_does_not_exist_is_noticed").is_ok());
}
