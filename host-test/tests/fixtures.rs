//! Runs every fixture and every row as a separate test, through the component in wasmtime, on real files.
//!
//! `cargo test -p tollgate --test fixtures -- rows/shell` runs the rows of one file.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../fixtures/fixture.rs"]
mod fixture;

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fixture::{Fixture, Line, Row, Step, compare, kept, names, rows};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;
use tollgate::{Limits, Runtime, Tollgate};

fn main() {
    let runtime = Runtime::new(Limits::default()).unwrap();
    let mut trials = Vec::new();
    for name in names() {
        let runtime = runtime.clone();
        trials.push(Trial::test(format!("fixtures/{name}"), move || check_fixture(&name, &runtime)));
    }
    for (name, row) in rows() {
        let runtime = runtime.clone();
        trials.push(Trial::test(format!("rows/{name}"), move || check_row(&row, &runtime)));
    }
    // The cases require symbolic links and `/` as separator.
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(!cfg!(unix))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn check_row(row: &Row, runtime: &Runtime) -> Result<(), Failed> {
    let place = tempfile::tempdir()?;
    let root = place.path().canonicalize()?.join("repo");
    let home = root.with_file_name("home");
    fs::create_dir(&root)?;
    fs::create_dir(&home)?;
    let shown = root.to_str().unwrap();
    row.setup(shown).iter().for_each(|step| carry_out(&root, step));
    let mut gate = Tollgate::builder().workspace(&root).home(&home).runtime(runtime.clone()).open().unwrap();
    Ok(row.check(shown, |line| String::from_utf8(gate.perform(line).unwrap()).unwrap())?)
}

fn check_fixture(name: &str, runtime: &Runtime) -> Result<(), Failed> {
    let place = tempfile::tempdir()?;
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
        .variables(|name| (name == "TOLLGATE_FIXTURE").then(|| "from the environment".to_owned()))
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
    compare("answers.jsonl", &fixture.answers, &kept(&answers, shown))?;
    Ok(compare("ledger.jsonl", &fixture.ledger, &kept(&ledger, shown))?)
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
