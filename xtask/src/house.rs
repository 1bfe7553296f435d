//! Where things stand, and how commands are run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The repository.
pub(crate) fn house() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The target folder, wherever the user put it.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| house().join("target"), PathBuf::from)
}

/// The built command.
pub(crate) fn tollgate() -> PathBuf {
    target().join("release/tollgate")
}

/// The built component.
pub(crate) fn component() -> PathBuf {
    target().join("tollgate.wasm")
}

/// A command in the repository.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(house()).args(words);
    command
}

/// The cargo that runs us.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), words);
    // What cargo told us about ourselves is nothing for the cargo that we start.
    for (name, _) in std::env::vars_os() {
        let own = name.to_string_lossy();
        if own.starts_with("CARGO_PKG_") || own.starts_with("CARGO_MANIFEST_") || own == "CARGO_PRIMARY_PACKAGE" {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs a command to its end. Its words are shown first, so that a reader of the output knows what is going on.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("\n\u{25b8} {shown}");
    let status = command.status().with_context(|| format!("cannot run `{shown}`; is the program installed?"))?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(())
}

/// A command as a reader would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_string_lossy();
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    format!("{program} {}", words.join(" ")).replace(&format!("{}/", house().display()), "")
}
