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
    Ok(())
}
