//! Builds the component from `guest/`.

use std::env;
use std::fs;
use std::path::PathBuf;

#[path = "../nested_cargo/mod.rs"]
mod nested_cargo;

use nested_cargo::Result;

/// The memory limit is part of the module, so a guest that needs more fails in every host.
const MAX_MEMORY: u64 = 256 << 20;

/// Parsers are recursive; the default of 1 MiB is too small for them.
const STACK: u64 = 4 << 20;

const SOURCES: &[&str] = &["guest/src", "guest/build.rs", "guest/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock"];

fn main() -> Result<()> {
    let repository = nested_cargo::repository()?;
    let home = env::var_os("CARGO_HOME").map_or_else(|| home().join(".cargo"), PathBuf::from);
    let flags = [
        // Reproducible builds: no local path may appear in a panic message.
        format!("--remap-path-prefix={}=/tollgate", repository.display()),
        format!("--remap-path-prefix={}=/cargo", home.display()),
        format!("-Clink-arg=--max-memory={MAX_MEMORY}"),
        format!("-Clink-arg=-zstack-size={STACK}"),
        // Otherwise the linker reserves five bytes for every relocated number, a tenth of the component.
        "-Clink-arg=--compress-relocations".to_owned(),
    ];
    let target = nested_cargo::run(&repository, "component", SOURCES, |cargo| {
        cargo
            // Only as a `cdylib`: if an `rlib` is built as well, cargo disables link-time optimization.
            .args(["rustc", "--locked", "--package", "tollgate-guest", "--lib", "--crate-type", "cdylib"])
            .args(["--profile", "component", "--target", "wasm32-wasip2"])
            // A profile override for one package drops the profile's `strip` setting.
            .args(["--", "-C", "strip=symbols"])
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    })
    .map_err(|why| format!("{why}; if the target is missing: rustup target add wasm32-wasip2"))?;
    let component = target.join("wasm32-wasip2/component/tollgate_guest.wasm");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::copy(&component, out.join("tollgate.wasm")).map_err(|why| format!("cannot copy {}: {why}", component.display()))?;
    Ok(())
}

fn home() -> PathBuf {
    env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from).unwrap_or_default()
}
