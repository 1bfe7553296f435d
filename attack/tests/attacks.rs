//! Checks that nothing outside the scope changes without being reported: the known attacks, and two thousand deterministic
//! generated commands. Commands that the gate allows are executed in a namespace.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../../host-test/tests/skip/mod.rs"]
mod skip;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use skip::report_skip;
use tollgate_attack::campaign::{self, Tally};
use tollgate_attack::case::Case;
use tollgate_attack::generate::{self, GIVEN, Generator};
use tollgate_attack::sandbox::{self, Sandbox};
use tollgate_attack::trial::Severity;
use tollgate_attack::world::World;

const SEED: u64 = 12;
const COUNT: u64 = 2_000;

fn runner() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_attack"))
}

/// Whether commands can be executed here; if not, that is reported.
fn can_run() -> bool {
    let refusal = sandbox::refusal();
    if let Some(refusal) = &refusal {
        report_skip(&format!("attacks are not run: {refusal}"));
    }
    refusal.is_none()
}

fn assert_clean(tally: &Tally) {
    let _ = writeln!(std::io::stderr(), "{}", tally.summary());
    let rows = |severity| tally.render_findings(severity, None).unwrap();
    // Changes made by programs are detected afterwards and recorded in the ledger; they are listed here for information. A silent
    // change is a failure.
    let (silent, in_sight) = (rows(Severity::Silent), rows(Severity::InPlainSight));
    if !in_sight.is_empty() {
        let _ = writeln!(std::io::stderr(), "run as programs, with the change in plain sight:\n{in_sight}");
    }
    assert!(silent.is_empty(), "silent changes:\n{silent}");
}

#[test]
fn known_attacks_do_not_work() {
    if can_run() {
        let rows = generate::attacks();
        assert_clean(&campaign::run_table(runner(), &rows).unwrap());
    }
}

#[test]
fn generated_attacks_do_not_work() {
    if can_run() {
        let tally = campaign::run_generated(runner(), &Generator::default(), SEED, COUNT).unwrap();
        assert_eq!(tally.judged as u64, COUNT);
        // A campaign in which nothing runs, or in which nothing has an effect, would not find anything.
        assert!(tally.ran > 100 && tally.changed > 30, "{}", tally.summary());
        assert_clean(&tally);
    }
}

/// Checks that real changes are compared: runs commands that the gate would never allow directly in the sandbox.
#[test]
fn the_sandbox_sees_changes_and_takes_them_back() {
    if !can_run() {
        return;
    }
    let mut sandbox = Sandbox::start(runner()).unwrap();
    for (command, expected) in [
        ("rm src/billing/pay.ts", "/workspace/src/billing/pay.ts removed"),
        ("echo x > src/billing/pay.ts", "/workspace/src/billing/pay.ts changed"),
        ("touch src/billing/pay.ts", "/workspace/src/billing/pay.ts touched"),
        ("chmod 600 README.md", "/workspace/README.md mode changed"),
        ("echo x > ~/new", "/home/user/new created"),
        ("(sleep 0.05; rm ../sibling/notes.txt) &", "/sibling/notes.txt removed"),
        ("ln -sf x README.md", "/workspace/README.md replaced"),
        ("cat README.md; exit 3", ""),
    ] {
        sandbox.begin(World::Plain).unwrap();
        let changes = sandbox.run("/bin/bash", command).unwrap().changes;
        let descriptions: Vec<String> = changes.iter().map(|change| format!("{} {}", change.path, change.kind())).collect();
        assert_eq!(descriptions.join(", "), expected, "{command}");
    }
}

#[test]
fn the_table_and_the_repertoire_are_whole() {
    let rows: Vec<Case> = generate::ATTACKS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: BTreeSet<&String> = rows.iter().map(|row| &row.id).collect();
    assert_eq!(ids.len(), rows.len(), "two rows have the same id");
    assert!(rows.iter().all(|row| !row.calls.is_empty()));
    let generator = Generator::default();
    assert_eq!(generator.grammar().undefined_references(&[GIVEN.as_slice(), &["inner"]].concat()), Vec::<String>::new());
    assert_eq!(generator.case(SEED, 7), generator.case(SEED, 7));
    let different: BTreeSet<Vec<String>> = (0..COUNT).map(|number| generator.case(SEED, number).calls).collect();
    assert!(different.len() as u64 > COUNT * 9 / 10, "{} different cases", different.len());
}
