//! `cargo xtask test`: runs all tests.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build;
use crate::check;
use crate::compose;
use crate::e2e;
use crate::fuzz;
use crate::guard;
use crate::jobs::{Job, run_jobs};
use crate::npm;
use crate::repository::{cargo, list_steps, root, run, run_beside_others, target, tollgate};

/// Runs the checks, then all tests: native, in wasmtime, in every JavaScript runtime, and in the real agent programs.
pub(crate) fn test() -> Result<()> {
    check::check()?;
    // Some tests run both hosts side by side; the checks have built the npm package.
    npm::mcp_servers()?;
    run(cargo(&["test", "--release", "--locked", "--package", "tollgate"]).env("TOLLGATE_NODE", "node"))?;
    guard::guard(false)?;
    run(&mut cargo(&["test", "--release", "--locked", "--package", "tollgate-guest", "--package", "tollgate-attack"]))?;
    fuzz::report_skipped()?;
    run(cargo(&["test", "--release", "--locked", "--package", "tollgate-compiler", "--target-dir"])
        .arg(build::compiler_target()?))?;
    run(&mut cargo(&["test", "--release", "--locked", "--package", "xtask-checks"]))?;
    run(&mut cargo(&["test", "--locked", "--package", "xtask"]))?;
    // Compares the shell parser with another one, whose dependencies are not part of the workspace.
    run(cargo(&["test", "--locked", "--manifest-path", "guest/oracle/Cargo.toml", "--target-dir"]).arg(target()))?;
    compose::test()?;
    npm::test()?;
    run_jobs(npm::runtimes()?.into_iter().map(|runtime| Box::new(move || test_runtime(&runtime)) as Job<_>).collect())?
        .into_iter()
        .collect::<Result<()>>()?;
    e2e::test(&[])?;
    println!("\nwhere the time went:\n{}\n\nall tests passed", list_steps());
    Ok(())
}

/// Runs every fixture in a JavaScript runtime.
fn test_runtime(runtime: &npm::Runtime) -> Result<()> {
    for cases in ["test/fixtures.mjs", "test/hosts.mjs", "test/third_party_records.mjs"] {
        run_beside_others(Command::new(&runtime.program).arg(cases).current_dir(root().join("npm-wrapper")))
            .with_context(|| format!("in {}", runtime.name))?;
    }
    same_digest(runtime)
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
