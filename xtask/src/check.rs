//! `cargo xtask check`: static checks of the project.

use std::process::Command;

use anyhow::Result;

use crate::build;
use crate::docs;
use crate::module_order;
use crate::repository::{cargo, command, root, run, target};

/// Format, links, order of modules, licences, contract, lints, docs, fuzz targets, types, imports and size.
pub(crate) fn check() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    // The other shell parser brings fifty crates, so it has a workspace of its own.
    run(&mut cargo(&["fmt", "--check", "--manifest-path", "guest/oracle/Cargo.toml"]))?;
    // So has the gate in plain WASI.
    run(&mut cargo(&["fmt", "--all", "--check", "--manifest-path", "compose/Cargo.toml"]))?;
    docs::check()?;
    module_order::check()?;
    build::build()?;
    let checks = ["run", "--release", "--locked", "--package", "xtask-checks", "--"];
    run(cargo(&checks).arg(target()).args(["licences", "contract", "component"]))?;
    // Everything is compiled in the release profile, so that every dependency is compiled once. The fuzz targets are checked apart:
    // what they depend on would have wasmtime compiled with other features.
    let rest = ["--workspace", "--exclude", "tollgate-fuzz"];
    let deny = ["--", "--deny", "warnings"];
    run(clippy().args(rest).args(["--features", "tollgate/native"]).args(deny))?;
    run(clippy().args(["--package", "tollgate-fuzz", "--features", "compile"]).args(deny))?;
    run(cargo(&["doc", "--release", "--locked", "--no-deps"]).args(rest).env("RUSTDOCFLAGS", "--deny warnings"))?;
    run(command("npm", &["run", "--silent", "check"]).current_dir(root().join("npm-wrapper")))
}

fn clippy() -> Command {
    cargo(&["clippy", "--release", "--locked", "--all-targets"])
}
