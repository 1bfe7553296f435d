//! The files of integration tests: each is part of its package's `tests/suite.rs`, or a program of its own.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::repository::root;

/// Packages whose manifests list their test programs, so that cargo does not look for them by itself.
const PACKAGES: &[&str] = &["guest", "host-test"];

/// Checks that no file of tests is left out. Cargo would neither run it nor say so.
pub(crate) fn check() -> Result<()> {
    let mut files = 0;
    for package in PACKAGES {
        let folder = root().join(package);
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let tests = folder.join("tests");
        let suite = fs::read_to_string(tests.join("suite.rs")).with_context(|| format!("reading {package}/tests/suite.rs"))?;
        for entry in fs::read_dir(&tests)? {
            let file = entry?.file_name().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix(".rs") else { continue };
            let is_part = suite.contains(&format!("\nmod {name};\n"));
            let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            ensure!(
                is_part != is_program,
                "`{package}/tests/{file}` must be either a module of `suite.rs` or a `[[test]]` of `{package}/Cargo.toml`"
            );
            files += 1;
        }
    }
    ensure!(files > 10, "only {files} files of tests were found; this check would pass anything");
    println!("tests: {files} files, each in a program");
    check_fuzz_targets()
}

/// Checks that every fuzz target is a program, and is left out of a plain `cargo build`: without the fuzzer, it does not link.
fn check_fuzz_targets() -> Result<()> {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml"))?;
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".rs") else { continue };
        let section = format!("[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{file}\"\nrequired-features = [\"compile\"]\n");
        ensure!(manifest.contains(&section), "`fuzz/Cargo.toml` lacks this section:\n{section}");
    }
    Ok(())
}
