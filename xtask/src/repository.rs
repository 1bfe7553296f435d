//! Paths of the repository, and running commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The repository.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The target folder, which the user may have moved.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
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
    command.current_dir(root()).args(words);
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), words);
    // Variables that cargo set for this program must not reach the cargo that it starts.
    for (name, _) in std::env::vars_os() {
        let own = name.to_string_lossy();
        if own.starts_with("CARGO_PKG_") || own.starts_with("CARGO_MANIFEST_") || own == "CARGO_PRIMARY_PACKAGE" {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs a command and waits for it. The command line is printed first.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let command_line = command_line(command);
    println!("\n\u{25b8} {command_line}");
    let status = command.status().with_context(|| format!("cannot run `{command_line}`; is the program installed?"))?;
    ensure!(status.success(), "`{command_line}` failed ({status})");
    Ok(())
}

/// A command as a reader would type it.
pub(crate) fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_string_lossy();
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    format!("{program} {}", words.join(" ")).replace(&format!("{}/", root().display()), "")
}
