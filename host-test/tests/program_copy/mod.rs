//! Programs that tests write and then run.
//!
//! `cp` and `install` write them, so that this process never has them open for writing: a process that another test is starting at
//! that moment would inherit the open file, and until it runs its own program, the system refuses to run the copy ("text file busy").

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a program.
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success(), "copying {} to {}", from.display(), to.display());
}

/// Writes a script that can be executed.
pub fn write_script(to: &Path, text: &str) {
    let mut install = Command::new("install").args(["-m", "755", "/dev/stdin"]).arg(to).stdin(Stdio::piped()).spawn().unwrap();
    install.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success(), "writing {}", to.display());
}
