//! Every fixture, through the component in wasmtime, on real files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

#[path = "../../fixtures/fixture.rs"]
mod fixture;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fixture::{Fixture, Line, Row, Step, compare, kept, names};
use serde_json::json;
use tollgate::{Limits, Runtime, Tollgate};

#[test]
fn fixtures() {
    let runtime = Runtime::new(Limits::default()).unwrap();
    let faults: Vec<_> = names().iter().flat_map(|name| run(name, &runtime)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rows() {
    let runtime = Runtime::new(Limits::default()).unwrap();
    let fault = |(name, row): &(String, Row)| {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("repo");
        let home = root.with_file_name("home");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&home).unwrap();
        let shown = root.to_str().unwrap();
        row.setup(shown).iter().for_each(|step| carry_out(&root, step));
        let mut gate = Tollgate::builder().workspace(&root).home(&home).runtime(runtime.clone()).open().unwrap();
        let perform = |line: &[u8]| String::from_utf8(gate.perform(line).unwrap()).unwrap();
        row.fault(shown, perform).map(|fault| format!("{name}: {fault}"))
    };
    let faults: Vec<_> = fixture::rows().iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} rows fail\n{}", faults.len(), faults.join("\n"));
}

fn run(name: &str, runtime: &Runtime) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let (root, home) = (place.join("repo"), place.join("home"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&home).unwrap();
    let shown = root.to_str().unwrap();
    let fixture = Fixture::read(name, shown);
    fixture.setup.iter().for_each(|step| carry_out(&root, step));

    let (ticks, drawn) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut gate = Tollgate::builder()
        .workspace(&root)
        .home(&home)
        .runtime(runtime.clone())
        .clock(move || Duration::from_secs(1_767_225_600 + ticks.fetch_add(1, Ordering::Relaxed)))
        .random(move |bytes| bytes.fill_with(|| (drawn.fetch_add(1, Ordering::Relaxed) / 16) as u8))
        .open()
        .unwrap();
    let mut answers = String::new();
    for line in &fixture.lines {
        match line {
            Line::Do(step) => carry_out(&root, step),
            Line::Call(line) => {
                answers.push_str(std::str::from_utf8(&gate.perform(line).unwrap()).unwrap());
                answers.push('\n');
            }
            Line::Turn(now, inputs) => {
                let line = json!({"op": "step", "now_ms": now, "inputs": inputs}).to_string();
                answers.push_str(std::str::from_utf8(&gate.perform(line.as_bytes()).unwrap()).unwrap());
                answers.push('\n');
            }
        }
    }
    let ledger = fs::read_to_string(root.join(".orchestration/agent_trace.jsonl")).unwrap_or_default();
    let compared = [
        compare(name, "answers.jsonl", &fixture.answers, &kept(&answers, shown)),
        compare(name, "ledger.jsonl", &fixture.ledger, &kept(&ledger, shown)),
    ];
    compared.into_iter().flatten().collect()
}

fn carry_out(root: &Path, step: &Step) {
    let at = |path: &str| {
        let at = root.join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        at
    };
    match step {
        Step::Write(path, text) => fs::write(at(path), text).unwrap(),
        Step::Home(path, text) => fs::write(at(&format!("../home/{path}")), text).unwrap(),
        Step::Mkdir(path) => fs::create_dir_all(at(path)).unwrap(),
        Step::Symlink(target, path) => symlink(target, at(path)).unwrap(),
        Step::Hardlink(existing, path) => fs::hard_link(at(existing), at(path)).unwrap(),
        Step::Remove(path) if at(path).is_dir() => fs::remove_dir_all(at(path)).unwrap(),
        Step::Remove(path) => fs::remove_file(at(path)).unwrap(),
    }
}
