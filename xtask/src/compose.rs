//! `cargo xtask compose`: `target/tollgate-wasi.wasm`, the whole gate for hosts that offer plain WASI.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;

use anyhow::Result;

use crate::build;
use crate::repository::{cargo, run, target};

fn folder() -> PathBuf {
    target().join("compose")
}

fn helper() -> PathBuf {
    folder().join("wasm32-wasip2/release/tollgate_wasi_helper.wasm")
}

fn build_helper() -> Result<()> {
    let words = ["build", "--release", "--locked", "--manifest-path", "compose/Cargo.toml", "--package", "tollgate-wasi-helper"];
    run(cargo(&words).args(["--target", "wasm32-wasip2", "--target-dir"]).arg(folder()))
}

/// Joins the built gate with its helper.
pub(crate) fn compose() -> Result<()> {
    build_helper()?;
    let words = ["run", "--locked", "--manifest-path", "compose/Cargo.toml", "--package", "tollgate-compose", "--target-dir"];
    let output = target().join("tollgate-wasi.wasm");
    run(cargo(&words).arg(folder()).arg("--").arg(target().join("tollgate.wasm")).arg(helper()).arg(&output))?;
    println!("`{}` is ready", output.display());
    Ok(())
}

/// Tests the composed gate in plain wasmtime, comparing it with the command.
pub(crate) fn test() -> Result<()> {
    build_helper()?;
    let words = ["test", "--locked", "--manifest-path", "compose/Cargo.toml", "--package", "tollgate-compose", "--target-dir"];
    let precompile = build::compiler_target()?.join("release").join(format!("precompile{EXE_SUFFIX}"));
    run(cargo(&words).arg(folder()).env("TOLLGATE_PRECOMPILE", precompile))
}
