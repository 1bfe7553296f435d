//! Builds the component from `guest/`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The memory limit is part of the module, so a guest that needs more fails in every host.
const MAX_MEMORY: u64 = 256 << 20;

/// Parsers are recursive; the default of 1 MiB is too small for them.
const STACK: u64 = 4 << 20;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    // Read at run time, because the target folder may have been copied from another work tree.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?);
    let repository = manifest.ancestors().nth(2).ok_or("host-test/component/ is in the repository")?;
    for part in ["guest/src", "guest/build.rs", "guest/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", repository.join(part).display());
    }
    let component = build(repository, &out)?;
    fs::copy(&component, out.join("tollgate.wasm")).map_err(|why| format!("cannot copy {}: {why}", component.display()))?;
    Ok(())
}

/// Runs cargo for the guest with its own target folder, because the outer cargo holds the lock of the default one. The folder is
/// shared between profiles, so the component is built only once.
fn build(repository: &Path, out: &Path) -> Result<PathBuf> {
    let target = out.ancestors().nth(4).ok_or("OUT_DIR is in the target folder")?.join("component");
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
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("cargo sets CARGO")?);
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
    let status = cargo.status().map_err(|why| format!("cannot run cargo for the guest: {why}"))?;
    if !status.success() {
        return Err("building the guest failed; if the target is missing: rustup target add wasm32-wasip2".into());
    }
    let component = target.join("wasm32-wasip2/component/tollgate_guest.wasm");
    if !component.exists() {
        return Err(format!("cargo created no component at {}", component.display()).into());
    }
    Ok(component)
}

fn home() -> PathBuf {
    env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from).unwrap_or_default()
}
