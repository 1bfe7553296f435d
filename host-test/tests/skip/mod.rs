//! Tests, and parts of tests, that cannot run on this machine.
//!
//! The test harness hides what a passing test prints, so reasons are printed past it. If `TOLLGATE_SKIPS` names a file, they are also
//! added to that file, one line each; `cargo xtask test` counts them at its end.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use std::fs::File;
use std::io::Write as _;

/// Why tests that compare this host with the npm package do not run.
pub const WITHOUT_NODE: &str = "`cargo xtask test` compares this host with the npm package, and sets TOLLGATE_NODE for that";

/// Reports that the current test, or a part of it, does not run here.
pub fn report_skip(why: &str) {
    let why = why.trim().replace('\n', " ");
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "SKIPPED: {}: {why}", thread.name().unwrap_or("a test"));
    if let Some(path) = std::env::var_os("TOLLGATE_SKIPS") {
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        // In one piece, because other test programs write to the same file.
        file.write_all(format!("{why}\n").as_bytes()).unwrap();
    }
}

/// Reports that commands cannot be confined here. That is a failure where `TOLLGATE_CONFINE` says that they can be.
pub fn report_missing_confinement(why: &str) {
    assert!(std::env::var_os("TOLLGATE_CONFINE").is_none(), "TOLLGATE_CONFINE is set, and this system cannot confine: {why}");
    report_skip(&format!("this system cannot confine commands: {why}"));
}
