//! What `cargo xtask bench` compares whole hook processes with: the minimum for checking a write and recording it.
//!
//! `unavoidable FILE LEDGER` looks at a file, hashes it, and appends a line to another one.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::fs;
use std::io::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, ledger] = words.as_slice() else { panic!("unavoidable FILE LEDGER") };
    let size = fs::symlink_metadata(file).unwrap().len();
    let digest = Sha256::digest(fs::read(file).unwrap());
    let mut ledger = fs::OpenOptions::new().append(true).create(true).open(Path::new(ledger)).unwrap();
    ledger.write_all(format!("{:<600}\n", format!("{size} {digest:x}")).as_bytes()).unwrap();
}
