//! `cargo xtask test`: runs all tests.

use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::build;
use crate::check;
use crate::compose;
use crate::e2e;
use crate::fuzz;
use crate::guard;
use crate::jobs::{Job, run_jobs};
use crate::npm;
use crate::repository::{cargo, list_steps, root, run, run_beside_others, target, tollgate, with_low_priority};
use crate::skips;

/// Runs the checks, then all tests: native, in wasmtime, in every JavaScript runtime, and in the real agent programs.
pub(crate) fn test() -> Result<()> {
    let tested = run_checks_and_tests();
    println!("\nwhere the time went:\n{}", list_steps());
    tested?;
    println!("\n{}\n\nall tests passed", skips::list()?);
    Ok(())
}

fn run_checks_and_tests() -> Result<()> {
    // npm waits for the network while the checks compile. A package that cannot be installed is reported by the step that needs it.
    let installing = thread::spawn(|| e2e::install().and(npm::install_for_tests()));
    let checked = check::check();
    // Even if a check has failed, npm must not be left behind.
    let _ = installing.join();
    checked?;
    skips::forget()?;
    let confines = skips::must_confine()?;
    // Some tests run both hosts side by side; the checks have built the npm package.
    npm::mcp_servers()?;
    // In one command, so that all packages share what is compiled.
    let words =
        ["test", "--release", "--locked", "--package", "tollgate", "--package", "tollgate-guest", "--package", "tollgate-attack"];
    run(skips::tell_tests(cargo(&words).env("TOLLGATE_NODE", "node"), confines))?;
    fuzz::report_skipped()?;
    guard::guard(false)?;
    run(skips::tell_tests(&mut npm::test(), confines))?;
    let runtimes = npm::runtimes()?;
    if runtimes.len() == 1 {
        skips::report("Node 22, Node 24 and Bun come as packages for Linux on x86-64 only");
    }
    run_jobs(runtimes.into_iter().map(|runtime| Box::new(move || test_runtime(&runtime, confines)) as Job<_>).collect())?
        .into_iter()
        .collect::<Result<()>>()?;
    // The real programs wait more than half of the time: for each other's answers and for timers.
    thread::scope(|scope| {
        let tools = scope.spawn(test_tools);
        let sessions = e2e::test(&[]);
        tools.join().map_err(|_| anyhow!("a thread panicked"))??;
        sessions
    })
}

/// Tests what is not part of the product's own build: the compiler, the project's tools, the other shell parser, the composed gate.
fn test_tools() -> Result<()> {
    let run = |command: &mut Command| run_beside_others(&mut with_low_priority(command));
    run(cargo(&["test", "--release", "--locked", "--package", "tollgate-compiler", "--target-dir"])
        .arg(build::compiler_target()?))?;
    run(&mut cargo(&["test", "--release", "--locked", "--package", "xtask-checks"]))?;
    run(&mut cargo(&["test", "--locked", "--package", "xtask"]))?;
    // Compares the shell parser with another one, whose dependencies are not part of the workspace.
    run(cargo(&["test", "--locked", "--manifest-path", "guest/oracle/Cargo.toml", "--target-dir"]).arg(target()))?;
    compose::commands_of_test()?.iter_mut().try_for_each(run)
}

/// Runs every fixture in a JavaScript runtime.
fn test_runtime(runtime: &npm::Runtime, confines: bool) -> Result<()> {
    for cases in ["test/fixtures.mjs", "test/hosts.mjs", "test/third_party_records.mjs"] {
        let mut command = Command::new(&runtime.program);
        command.arg(cases).current_dir(root().join("npm-wrapper"));
        run_beside_others(skips::tell_tests(&mut command, confines)).with_context(|| format!("in {}", runtime.name))?;
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
