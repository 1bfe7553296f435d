//! The checks of `cargo xtask check` that need libraries. `cargo xtask` calls it: `xtask-checks TARGET-FOLDER CHECK…`.

mod component;
mod contract;
mod licences;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("xtask-checks: {fault:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    let target = words.next().context("the target folder is missing")?;
    for check in words {
        match check.to_str() {
            Some("licences") => licences::check()?,
            Some("contract") => contract::check()?,
            Some("component") => component::check(&Path::new(&target).join("tollgate.wasm"))?,
            _ => bail!("`{}` is not a check; use licences, contract or component", check.display()),
        }
    }
    Ok(())
}

/// The repository.
fn root() -> &'static Path {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR"));
    checks.ancestors().nth(2).unwrap_or(checks)
}

/// A cargo command in the repository.
fn cargo(words: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).args(words);
    cargo
}
