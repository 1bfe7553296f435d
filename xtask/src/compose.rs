//! `cargo xtask compose`: `target/tollgate-wasi.wasm`, the whole gate for hosts that offer plain WASI.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::build;
use crate::repository::{cargo, component, run, target, tollgate};

fn folder() -> PathBuf {
    target().join("compose")
}

fn helper() -> PathBuf {
    folder().join("wasm32-wasip2/release/tollgate_wasi_helper.wasm")
}

/// The command that builds the helper.
fn build_helper() -> Command {
    let words = ["build", "--release", "--locked", "--manifest-path", "compose/Cargo.toml", "--package", "tollgate-wasi-helper"];
    let mut command = cargo(&words);
    command.args(["--target", "wasm32-wasip2", "--target-dir"]).arg(folder());
    command
}

/// Joins the built gate with its helper.
pub(crate) fn compose() -> Result<()> {
    run(&mut build_helper())?;
    let words = ["run", "--locked", "--manifest-path", "compose/Cargo.toml", "--package", "tollgate-compose", "--target-dir"];
    let output = target().join("tollgate-wasi.wasm");
    run(cargo(&words).arg(folder()).arg("--").arg(component()).arg(helper()).arg(&output))?;
    println!("`{}` is ready", output.display());
    Ok(())
}

/// Tests the composed gate in plain wasmtime, comparing it with the command.
pub(crate) fn test() -> Result<()> {
    commands_of_test()?.iter_mut().try_for_each(run)
}

/// The commands that test the composed gate, one after the other.
pub(crate) fn commands_of_test() -> Result<[Command; 2]> {
    let words = ["test", "--locked", "--manifest-path", "compose/Cargo.toml", "--package", "tollgate-compose", "--target-dir"];
    let precompile = build::compiler_target()?.join("release").join(format!("precompile{EXE_SUFFIX}"));
    let mut test = cargo(&words);
    test.arg(folder()).env("TOLLGATE_PRECOMPILE", precompile);
    test.env("TOLLGATE_GATE", component()).env("TOLLGATE_HELPER", helper()).env("TOLLGATE_COMMAND", tollgate());
    Ok([build_helper(), test])
}
