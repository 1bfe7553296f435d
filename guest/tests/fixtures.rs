//! Every fixture and every row as a test of its own, natively, on an in-memory host.
//!
//! `cargo test -p tollgate-guest --test fixtures -- rows/shell` runs the rows of one file.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../fixtures/fixture.rs"]
mod fixture;

use std::fs;
use std::rc::Rc;

use fixture::{Fixture, Line, Row, Step, compare, kept, names, rows, top};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{HOME, Memory, PROJECT};

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

fn main() {
    let fixtures = names().into_iter().map(|name| Trial::test(format!("fixtures/{name}"), move || check_fixture(&name)));
    let rows = rows().into_iter().map(|(name, row)| Trial::test(format!("rows/{name}"), move || check_row(&row)));
    libtest_mimic::run(&Arguments::from_args(), fixtures.chain(rows).collect()).exit();
}

fn check_fixture(name: &str) -> Result<(), Failed> {
    let fixture = Fixture::read(name, PROJECT);
    let (answers, ledger) = run(&fixture);
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        fs::write(top().join(name).join("answers.jsonl"), &answers)?;
        if !ledger.is_empty() {
            fs::write(top().join(name).join("ledger.jsonl"), &ledger)?;
        }
        return Ok(());
    }
    compare("answers.jsonl", &fixture.answers, &answers)?;
    Ok(compare("ledger.jsonl", &fixture.ledger, &ledger)?)
}

fn check_row(row: &Row) -> Result<(), Failed> {
    let world = Memory::new();
    row.setup(PROJECT).iter().for_each(|step| carry_out(&world, step));
    let mut gate = Gate::new(world.ports());
    Ok(row.check(PROJECT, |line| perform(&mut gate, line))?)
}

fn run(fixture: &Fixture) -> (String, String) {
    let world = Memory::new();
    fixture.setup.iter().for_each(|step| carry_out(&world, step));
    world.set_variable("TOLLGATE_FIXTURE", "from the environment");
    let mut gate = Gate::new(world.ports());
    let mut answers = String::new();
    for line in &fixture.lines {
        match line {
            Line::Do(step) => carry_out(&world, step),
            Line::Call(line) => answers.push_str(&format!("{}\n", perform(&mut gate, line))),
            Line::Turn(now, inputs) => {
                let line = json!({"op": "step", "now_ms": now, "inputs": inputs}).to_string();
                answers.push_str(&format!("{}\n", perform(&mut gate, line.as_bytes())));
            }
        }
    }
    let ledger = String::from_utf8(world.content(LEDGER).unwrap_or_default()).unwrap();
    (kept(&answers, PROJECT), kept(&ledger, PROJECT))
}

fn carry_out(world: &Rc<Memory>, step: &Step) {
    match step {
        Step::Write(path, text) => world.write(path, text),
        Step::Home(path, text) => world.write_home(path, text),
        Step::Mkdir(path) => world.mkdir(path),
        Step::Symlink(target, path) => match path.strip_prefix("../home/") {
            Some(at_home) => world.symlink(target, &format!("{HOME}/{at_home}")),
            None => world.symlink(target, path),
        },
        Step::Hardlink(existing, path) => world.hardlink(existing, path),
        Step::Remove(path) => world.delete(path),
    }
}
