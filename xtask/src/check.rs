//! `cargo xtask check`: static checks of the project.

use anyhow::Result;

use crate::build;
use crate::docs;
use crate::module_order;
use crate::npm::npm;
use crate::repository::{cargo, root, run, target};
use crate::test_files;

/// Format, links, order of modules, files of tests, licences, contract, lints, docs, fuzz targets, types, imports and size.
pub(crate) fn check() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    // The other shell parser brings fifty crates, so it has a workspace of its own.
    run(&mut cargo(&["fmt", "--check", "--manifest-path", "guest/oracle/Cargo.toml"]))?;
    // So has the gate in plain WASI.
    run(&mut cargo(&["fmt", "--all", "--check", "--manifest-path", "compose/Cargo.toml"]))?;
    docs::check()?;
    module_order::check()?;
    test_files::check()?;
    build::build()?;
    let checks = ["run", "--release", "--locked", "--package", "xtask-checks", "--"];
    run(cargo(&checks).arg(target()).args(["licences", "contract", "component"]))?;
    // With the same features for lints and docs, so that what they need to know of dependencies is found out once.
    let all = ["--release", "--locked", "--workspace", "--features", "tollgate-fuzz/compile"];
    run(cargo(&["clippy", "--all-targets"]).args(all).args(["--", "--deny", "warnings"]))?;
    run(cargo(&["doc", "--no-deps"]).args(all).env("RUSTDOCFLAGS", "--deny warnings"))?;
    run(npm(&["run", "--silent", "check"]).current_dir(root().join("npm-wrapper")))
}
