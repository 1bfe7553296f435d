//! Compiles the component ahead of time, so that nothing is compiled when the host starts.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use sha2::{Digest as _, Sha256};
use tollgate_component::COMPONENT;

#[path = "src/engine_config.rs"]
mod engine_config;

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    // Read at run time, because the target folder may have been copied from another work tree.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?);
    let repository = manifest.parent().context("host-test/ is in the repository")?;
    let witness = repository.join("wit/released/0.2.0/witness.wasm");
    println!("cargo::rerun-if-changed={}", witness.display());

    let digest = Sha256::digest(COMPONENT).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    println!("cargo::rustc-env=TOLLGATE_DIGEST=sha256:{digest}");
    fs::write(out.join("tollgate.wasm"), COMPONENT)?;

    let compile =
        |bytes: &[u8]| compile(bytes, &env::var("TARGET")?).map_err(|error| anyhow!("compiling the component: {error:#}"));
    fs::write(out.join("tollgate.cwasm"), compile(COMPONENT)?)?;
    // For the test that components of released contracts still run.
    let bytes = fs::read(&witness).with_context(|| format!("reading {}", witness.display()))?;
    fs::write(out.join("witness-0.2.0.cwasm"), compile(&bytes)?)?;
    Ok(())
}

fn compile(component: &[u8], target: &str) -> wasmtime::Result<Vec<u8>> {
    let mut config = engine_config::engine_config(target.contains("windows"));
    config.target(target)?;
    wasmtime::Engine::new(&config)?.precompile_component(component)
}
