//! Gives the code a number for its own sources, so that what one version has parsed and kept is not used by another.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    collect(&manifest.join("src"), &mut files);
    files.sort();
    files.extend(["build.rs", "Cargo.toml", "../Cargo.toml", "../Cargo.lock"].map(|file| manifest.join(file)));
    let mut mixed = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        // The same number on every machine: only names relative to the crate, and contents without carriage returns.
        let name = file.strip_prefix(&manifest).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let content = fs::read(file).unwrap_or_default();
        for byte in name.bytes().chain(content.into_iter().filter(|byte| *byte != b'\r')).chain([0]) {
            mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    println!("cargo::rerun-if-changed={}", manifest.join("src").display());
    println!("cargo::rustc-env=TOLLGATE_SOURCES={mixed:016x}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
