//! `cargo xtask test`: every test there is.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::check;
use crate::e2e;
use crate::fuzz;
use crate::house::{cargo, house, run, target, tollgate};
use crate::npm;

/// Checks, then tests natively, in wasmtime, in every JavaScript runtime, and inside the real programs.
pub(crate) fn test() -> Result<()> {
    check::check()?;
    // Debug assertions and overflow checks on, for the gate's own logic.
    run(&mut cargo(&["test", "--locked", "--package", "tollgate-guest"]))?;
    // The shell reader against another one, whose dependencies stay out of the workspace.
    run(cargo(&["test", "--locked", "--manifest-path", "guest/oracle/Cargo.toml"])
        .arg("--target-dir")
        .arg(target().join("oracle")))?;
    fuzz::test()?;
    npm::mcp_servers()?;
    // Some tests run both hosts side by side; the package for Node has been built by the checks.
    let mut hosts = cargo(&["test", "--release", "--locked", "--package", "tollgate", "--package", "xtask"]);
    run(hosts.env("TOLLGATE_NODE", "node"))?;
    let wrapper = house().join("npm-wrapper");
    run(Command::new("npm").args(["run", "--silent", "test"]).current_dir(&wrapper))?;
    for runtime in npm::runtimes()? {
        println!("\n{}: every fixture", runtime.name);
        for cases in ["test/fixtures.mjs", "test/hosts.mjs"] {
            run(Command::new(&runtime.program).arg(cases).current_dir(&wrapper))?;
        }
        same_digest(&runtime)?;
    }
    e2e::test(&[])?;
    println!("\nall tests passed");
    Ok(())
}

/// The same bytes in every host.
fn same_digest(runtime: &npm::Runtime) -> Result<()> {
    let said = |command: &mut Command| -> Result<String> {
        let output = command.arg("--version").output().context("asking for the version")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let ours = said(&mut Command::new(tollgate()))?;
    let theirs = said(Command::new(&runtime.program).arg(house().join("npm-wrapper/dist/eval.js")))?;
    ensure!(ours == theirs && ours.contains("sha256:"), "{}: `{theirs}` where the command says `{ours}`", runtime.name);
    Ok(())
}
