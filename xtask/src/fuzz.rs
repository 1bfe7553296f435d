//! `cargo xtask fuzz`: generated attacks on the gate, run for real where it allows them.

use anyhow::{Context as _, Result};

use crate::house::{cargo, command, run, target};

/// What the `attack` program exits with where the machine makes no namespace.
const REFUSED: i32 = 3;

/// A campaign; the words go to the `attack` program.
pub(crate) fn fuzz(words: &[&str]) -> Result<()> {
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate-attack"]))?;
    if let Some(refusal) = refusal()? {
        println!("\nSKIPPED: {refusal}");
        return Ok(());
    }
    run(command(attack(), &["fuzz"]).args(words))
}

/// The small campaign that is always the same, and the table of known attacks. Without a namespace only the tests that need none.
pub(crate) fn test() -> Result<()> {
    run(&mut cargo(&["test", "--release", "--locked", "--package", "tollgate-attack"]))?;
    if let Some(refusal) = refusal()? {
        println!("\nSKIPPED: attacks were not run: {refusal}");
    }
    Ok(())
}

fn attack() -> std::path::PathBuf {
    target().join("release/attack")
}

fn refusal() -> Result<Option<String>> {
    let probe = command(attack(), &["probe"]).output().context("running target/release/attack")?;
    let said = String::from_utf8_lossy(&probe.stdout).trim().to_owned();
    Ok((probe.status.code() == Some(REFUSED)).then_some(said))
}
