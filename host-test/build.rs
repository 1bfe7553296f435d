//! Compiles the component ahead of time, so that nothing is compiled when the host starts.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};
use tollgate_component::COMPONENT;

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    // Read at run time, because the target folder may have been copied from another work tree.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?);
    let repository = manifest.parent().context("host-test/ is in the repository")?;
    let witness = "wit/released/0.2.0/witness.wasm";
    println!("cargo::rerun-if-changed=../{witness}");
    let witness = repository.join(witness);

    let digest = Sha256::digest(COMPONENT).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    println!("cargo::rustc-env=TOLLGATE_DIGEST=sha256:{digest}");
    let component = out.join("tollgate.wasm");
    fs::write(&component, COMPONENT)?;
    precompile(&component, &out.join("tollgate.cwasm"))?;
    // For the test that components of released contracts still run.
    precompile(&witness, &out.join("witness-0.2.0.cwasm"))
}

/// Compiles a component for the target of this build.
fn precompile(component: &Path, code: &Path) -> Result<()> {
    let program = tollgate_compiler_build::precompile()?;
    let mut command = Command::new(&program);
    command.arg(component).arg(code).arg(env::var("TARGET")?);
    // Cargo does not notice if only the compiler's folder is removed.
    let remedy = "if it is missing, `cargo clean --release --package tollgate-compiler-build` makes cargo build it again";
    let status = command.status().with_context(|| format!("cannot run `{}`; {remedy}", program.display()))?;
    ensure!(status.success(), "compiling `{}` failed ({status})", component.display());
    Ok(())
}
