//! `cargo xtask test`: runs all tests.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::check;
use crate::compose;
use crate::e2e;
use crate::fuzz;
use crate::guard;
use crate::npm;
use crate::repository::{cargo, root, run, target, tollgate};

/// Runs the checks, then all tests: native, in wasmtime, in every JavaScript runtime, and in the real agent programs.
pub(crate) fn test() -> Result<()> {
    check::check()?;
    // Some tests run both hosts side by side; the checks have built the npm package.
    npm::mcp_servers()?;
    run(cargo(&["test", "--release", "--locked", "--package", "tollgate"]).env("TOLLGATE_NODE", "node"))?;
    guard::guard(false)?;
    run(&mut cargo(&["test", "--release", "--locked", "--package", "tollgate-guest", "--package", "tollgate-attack"]))?;
    fuzz::report_skipped()?;
    run(&mut cargo(&["test", "--release", "--locked", "--package", "tollgate-compiler"]))?;
    run(&mut cargo(&["test", "--release", "--locked", "--package", "xtask-checks"]))?;
    run(&mut cargo(&["test", "--locked", "--package", "xtask"]))?;
    // Compares the shell parser with another one, whose dependencies are not part of the workspace.
    run(cargo(&["test", "--release", "--locked", "--manifest-path", "guest/oracle/Cargo.toml"])
        .arg("--target-dir")
        .arg(target()))?;
    compose::test()?;
    let wrapper = root().join("npm-wrapper");
    run(Command::new("npm").args(["run", "--silent", "test"]).current_dir(&wrapper))?;
    for runtime in npm::runtimes()? {
        println!("\n{}: every fixture", runtime.name);
        for cases in ["test/fixtures.mjs", "test/hosts.mjs", "test/third_party_records.mjs"] {
            run(Command::new(&runtime.program).arg(cases).current_dir(&wrapper))?;
        }
        same_digest(&runtime)?;
    }
    e2e::test(&[])?;
    println!("\nall tests passed");
    Ok(())
}

/// Checks that every host runs the same component.
fn same_digest(runtime: &npm::Runtime) -> Result<()> {
    let version_of = |command: &mut Command| -> Result<String> {
        let output = command.arg("--version").output().context("asking for the version")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let ours = version_of(&mut Command::new(tollgate()))?;
    let theirs = version_of(Command::new(&runtime.program).arg(root().join("npm-wrapper/dist/eval.js")))?;
    ensure!(ours == theirs && ours.contains("sha256:"), "{}: `{theirs}` instead of `{ours}`", runtime.name);
    Ok(())
}
