//! Every fixture, natively, on a world in memory.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../fixtures/fixture.rs"]
mod fixture;

use std::fs;
use std::rc::Rc;

use fixture::{Fixture, Line, Row, Step, compare, kept, names, top};
use serde_json::json;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{HOME, Memory, PROJECT};

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

#[test]
fn fixtures() {
    let bless = std::env::var_os("TOLLGATE_BLESS").is_some();
    let mut faults = Vec::new();
    for name in names() {
        let fixture = Fixture::read(&name, PROJECT);
        let (answers, ledger) = run(&fixture);
        if bless {
            fs::write(top().join(&name).join("answers.jsonl"), &answers).unwrap();
            if !ledger.is_empty() {
                fs::write(top().join(&name).join("ledger.jsonl"), &ledger).unwrap();
            }
            continue;
        }
        faults.extend(compare(&name, "answers.jsonl", &fixture.answers, &answers));
        faults.extend(compare(&name, "ledger.jsonl", &fixture.ledger, &ledger));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rows() {
    let fault = |(name, row): &(String, Row)| {
        let world = Memory::new();
        row.setup(PROJECT).iter().for_each(|step| carry_out(&world, step));
        let mut gate = Gate::new(world.ports());
        row.fault(PROJECT, |line| perform(&mut gate, line)).map(|fault| format!("{name}: {fault}"))
    };
    let faults: Vec<_> = fixture::rows().iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} rows fail\n{}", faults.len(), faults.join("\n"));
}

fn run(fixture: &Fixture) -> (String, String) {
    let world = Memory::new();
    fixture.setup.iter().for_each(|step| carry_out(&world, step));
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
