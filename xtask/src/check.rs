//! `cargo xtask check`: static checks of the project.

use anyhow::Result;

use crate::build;
use crate::docs;
use crate::module_order;
use crate::repository::{cargo, command, root, run, target};

/// Crates with a workspace of their own: fuzz targets need a nightly compiler, and the other shell parser brings fifty crates.
const SEPARATE: [&str; 2] = ["fuzz/Cargo.toml", "guest/oracle/Cargo.toml"];

/// Format, links, order of modules, licences, contract, lints, docs, fuzz targets, types, imports and size.
pub(crate) fn check() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    for manifest in SEPARATE {
        run(&mut cargo(&["fmt", "--check", "--manifest-path", manifest]))?;
    }
    docs::check()?;
    module_order::check()?;
    build::build()?;
    let checks = ["run", "--release", "--locked", "--package", "xtask-checks", "--"];
    run(cargo(&checks).arg(target()).args(["licences", "contract", "component"]))?;
    // Everything is compiled in the release profile, so that every dependency is compiled once.
    let clippy = ["clippy", "--release", "--locked", "--workspace", "--all-targets", "--features", "tollgate/native"];
    run(cargo(&clippy).args(["--", "--deny", "warnings"]))?;
    run(cargo(&["doc", "--release", "--locked", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
    // The fuzz targets compile without the fuzzer, which cargo-fuzz links with a nightly compiler.
    run(cargo(&["check", "--release", "--locked", "--no-default-features", "--manifest-path", "fuzz/Cargo.toml"])
        .arg("--target-dir")
        .arg(target()))?;
    run(command("npm", &["run", "--silent", "check"]).current_dir(root().join("npm-wrapper")))
}
