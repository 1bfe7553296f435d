//! Runs cargo in a build script, for code that is compiled for another target or with other features than the rest. The build scripts
//! of `component/` and `compiler-build/` include this file.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

mod target_folder;

use target_folder::target_folder;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The repository.
pub(crate) fn repository() -> Result<PathBuf> {
    // Read at run time, because the target folder may have been copied from another work tree.
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?);
    Ok(manifest.ancestors().nth(2).ok_or("this package is two folders below the repository")?.to_owned())
}

/// Runs cargo with a target folder of its own, because the outer cargo holds the lock of the default one, and returns that folder. All
/// profiles share it, so what is in it is built only once. The build script runs again when one of `sources` changes.
pub(crate) fn run(repository: &Path, name: &str, sources: &[&str], set_up: impl FnOnce(&mut Command)) -> Result<PathBuf> {
    for source in sources {
        // Relative to the package: an absolute path would still name the old work tree in a copied target folder.
        println!("cargo::rerun-if-changed=../../{source}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let target = target_folder(&out).ok_or("OUT_DIR is in the target folder")?.join(name);
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("cargo sets CARGO")?);
    // The build folder may be elsewhere, and the outer cargo holds its lock, too.
    cargo.current_dir(repository).env("CARGO_TARGET_DIR", &target).env("CARGO_BUILD_BUILD_DIR", &target);
    // These are meant for the outer cargo only: clippy, coverage, another target.
    for variable in [
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CLIPPY_ARGS",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(variable);
    }
    set_up(&mut cargo);
    let status = cargo.status().map_err(|why| format!("cannot run cargo for `{name}`: {why}"))?;
    if !status.success() {
        return Err(format!("building `{name}` failed ({status}); what cargo printed above says why").into());
    }
    Ok(target)
}
