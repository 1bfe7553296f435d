//! `cargo xtask fuzz`: generated attacks on the gate, executed for real if the gate allows them.

use anyhow::{Context as _, Result};

use crate::repository::{cargo, command, run, target};
use crate::skips;

/// The exit code of the `attack` program if namespaces are not available.
const REFUSED: i32 = 3;

/// Runs a campaign with these arguments for the `attack` program.
pub(crate) fn fuzz(words: &[&str]) -> Result<()> {
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate-attack"]))?;
    if let Some(refusal) = refusal()? {
        skips::report(&refusal);
        return Ok(());
    }
    run(command(attack(), &["fuzz"]).args(words))
}

/// Reports if the tests of the attacks could not run commands here. They run those that need no namespace.
pub(crate) fn report_skipped() -> Result<()> {
    if let Some(refusal) = refusal()? {
        // The tests have counted that themselves.
        println!("\nSKIPPED: attacks were not run: {refusal}");
    }
    Ok(())
}

fn attack() -> std::path::PathBuf {
    target().join("release/attack")
}

fn refusal() -> Result<Option<String>> {
    let probe = command(attack(), &["probe"]).output().context("running target/release/attack")?;
    let reason = String::from_utf8_lossy(&probe.stdout).trim().to_owned();
    Ok((probe.status.code() == Some(REFUSED)).then_some(reason))
}
