//! Every command of the fixtures and the attacks: where our reader reads all of it, brush-parser finds the same programs.

#[path = "../../../fixtures/ordinary.rs"]
mod ordinary;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Commands that the two read differently, and why ours is right. They are tried besides those of the files.
const KNOWN: &[(&str, &str)] =
    &[("( \\\n( rm a ) )", "parentheses in parentheses are taken for arithmetic, so that the command in them is not seen")];

/// Every command in `fixtures/rows`, `fixtures/ordinary_commands.txt` and `attack/attacks.jsonl`.
fn commands() -> BTreeSet<String> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut commands: BTreeSet<String> =
        ordinary::commands(&fs::read_to_string(top.join("fixtures/ordinary_commands.txt")).unwrap()).into_iter().collect();
    for entry in fs::read_dir(top.join("fixtures/rows")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in fs::read_to_string(&path).unwrap().lines() {
                let row: Value = serde_json::from_str(line).unwrap();
                commands.extend(row["args"]["command"].as_str().map(str::to_owned));
            }
        }
    }
    for line in fs::read_to_string(top.join("attack/attacks.jsonl")).unwrap().lines() {
        let attack: Value = serde_json::from_str(line).unwrap();
        commands.extend(attack["calls"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    commands.extend(KNOWN.iter().map(|(command, _)| (*command).to_owned()));
    commands
}

/// The word without its quotes, for words in which nothing is expanded.
fn unquoted(word: &str) -> String {
    brush_parser::unquote_str(word)
}

/// How the two differ about a command that ours reads to its end.
fn difference(ours: &[Option<String>], command: &str) -> Option<String> {
    let theirs = match tollgate_oracle::outline(command) {
        Ok(theirs) => theirs,
        Err(fault) => return Some(fault),
    };
    let is_same = |(ours, theirs): (&Option<String>, &String)| ours.as_ref().is_none_or(|ours| *ours == unquoted(theirs));
    let same = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(is_same);
    (!same).then(|| format!("ours {ours:?}, theirs {theirs:?}"))
}

#[test]
fn both_find_the_same_programs() {
    let commands = commands();
    let (mut compared, mut differences, mut agreed) = (0, Vec::new(), Vec::new());
    for command in &commands {
        let Some(ours) = tollgate_guest::call::shell::outline(command) else { continue };
        compared += 1;
        let is_known = KNOWN.iter().any(|(known, _)| known == command);
        match difference(&ours, command) {
            Some(difference) if !is_known => differences.push(format!("{command:?}\n  {difference}")),
            None if is_known => agreed.push(command),
            _ => {}
        }
    }
    println!("{compared} of {} commands are read to their end by ours", commands.len());
    assert!(differences.is_empty(), "{} of {compared} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(agreed.is_empty(), "these no longer differ; take them off the list: {agreed:?}");
    assert!(compared > 500, "only {compared} commands were compared");
}

#[test]
fn a_difference_is_noticed() {
    let word = |word: &str| Some(word.to_owned());
    assert_eq!(difference(&[word("rm"), word("ls")], "'rm' a && ls"), None);
    assert!(difference(&[word("ls")], "rm a && ls").is_some());
    assert!(difference(&[word("rm"), word("cat")], "rm a && ls").is_some());
    assert!(difference(&[word("ls")], "if ls").is_some());
}
