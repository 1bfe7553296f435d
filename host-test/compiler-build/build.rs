//! Builds `tollgate-compiler` and `precompile`.

#[path = "../nested_cargo/mod.rs"]
mod nested_cargo;

#[path = "src/folder.rs"]
mod folder;

use folder::FOLDER;
use nested_cargo::Result;

const SOURCES: &[&str] = &[
    "host-test/compiler",
    "host-test/src/engine_config.rs",
    "host-test/src/components/compiler_limits.rs",
    "Cargo.toml",
    "Cargo.lock",
];

fn main() -> Result<()> {
    nested_cargo::run(&nested_cargo::repository()?, FOLDER, SOURCES, |cargo| {
        cargo.args(["build", "--release", "--locked", "--package", "tollgate-compiler", "--bins"]);
    })?;
    Ok(())
}
