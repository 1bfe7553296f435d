//! Builds the component from `guest/` and compiles it ahead of time, so that nothing is compiled when the host starts.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use sha2::{Digest as _, Sha256};

#[path = "src/engine_config.rs"]
mod engine_config;

/// The memory limit is part of the module, so a guest that needs more fails in every host.
const MAX_MEMORY: u64 = 256 << 20;

/// Parsers are recursive; the default of 1 MiB is too small for them.
const STACK: u64 = 4 << 20;

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    // Read at run time, because the target folder may have been copied from another work tree.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?);
    let repository = manifest.parent().context("host-test/ is in the repository")?;
    for part in ["guest/src", "guest/build.rs", "guest/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", repository.join(part).display());
    }

    let component = build(repository, &out)?;
    let bytes = fs::read(&component).with_context(|| format!("reading {}", component.display()))?;
    let digest = Sha256::digest(&bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    println!("cargo::rustc-env=TOLLGATE_DIGEST=sha256:{digest}");
    fs::write(out.join("tollgate.wasm"), &bytes)?;

    let compile =
        |bytes: &[u8]| compile(bytes, &env::var("TARGET")?).map_err(|error| anyhow!("compiling the component: {error:#}"));
    fs::write(out.join("tollgate.cwasm"), compile(&bytes)?)?;
    // For the test that components of released contracts still run.
    let witness = repository.join("wit/released/0.2.0/witness.wasm");
    let bytes = fs::read(&witness).with_context(|| format!("reading {}", witness.display()))?;
    fs::write(out.join("witness-0.2.0.cwasm"), compile(&bytes)?)?;
    Ok(())
}

fn compile(component: &[u8], target: &str) -> wasmtime::Result<Vec<u8>> {
    let mut config = engine_config::engine_config(target.contains("windows"));
    config.target(target)?;
    wasmtime::Engine::new(&config)?.precompile_component(component)
}

/// Runs cargo for the guest with its own target folder, because the outer cargo holds the lock of the default one. The folder is
/// shared between profiles, so the component is built only once.
fn build(repository: &Path, out: &Path) -> Result<PathBuf> {
    let target = out.ancestors().nth(4).context("OUT_DIR is in the target folder")?.join("component");
    let home = env::var_os("CARGO_HOME").map_or_else(|| home().join(".cargo"), PathBuf::from);
    // Reproducible builds: no local path may appear in a panic message.
    let flags = [
        format!("--remap-path-prefix={}=/tollgate", repository.display()),
        format!("--remap-path-prefix={}=/cargo", home.display()),
        format!("-Clink-arg=--max-memory={MAX_MEMORY}"),
        format!("-Clink-arg=-zstack-size={STACK}"),
        // Otherwise the linker reserves five bytes for every relocated number, a tenth of the component.
        "-Clink-arg=--compress-relocations".to_owned(),
    ];
    let mut cargo = Command::new(env::var_os("CARGO").context("cargo sets CARGO")?);
    cargo
        .current_dir(repository)
        // Only as a `cdylib`: if an `rlib` is built as well, cargo disables link-time optimization.
        .args(["rustc", "--locked", "--package", "tollgate-guest", "--lib", "--crate-type", "cdylib"])
        .args(["--profile", "component", "--target", "wasm32-wasip2"])
        .arg("--target-dir")
        .arg(&target)
        // A profile override for one package drops the profile's `strip` setting.
        .args(["--", "-C", "strip=symbols"])
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    // Wrappers of the outer compiler (clippy, coverage) must not apply to the guest.
    for name in [
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
        "CLIPPY_ARGS",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(name);
    }
    let status = cargo.status().context("running cargo for the guest")?;
    ensure!(status.success(), "building the guest failed; if the target is missing: rustup target add wasm32-wasip2");
    let component = target.join("wasm32-wasip2/component/tollgate_guest.wasm");
    if !component.exists() {
        bail!("cargo created no component at {}", component.display());
    }
    Ok(component)
}

fn home() -> PathBuf {
    env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from).unwrap_or_default()
}
