//! Paths of the repository, and running commands.

use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// The commands that were run, with the time that each took.
static STEPS: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// Commands that took less are not listed one by one.
const MIN_LISTED: Duration = Duration::from_secs(10);

/// Runs a command and waits for it. The command line is printed first.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let (command_line, status) = run_timed(command, Command::status)?;
    ensure!(status.success(), "`{command_line}` failed ({status})");
    Ok(())
}

/// Like [`run`], for commands that run at the same time as others: the output is printed when the command has ended.
pub(crate) fn run_beside_others(command: &mut Command) -> Result<()> {
    // A file, because a pipe would not end as long as any program that the command has left running keeps it open.
    let mut output = tempfile::tempfile().context("creating a file for output")?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let (command_line, status) = run_timed(command, Command::status)?;
    let mut printed = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut printed)?;
    println!("\n\u{25b8} {command_line} ended ({status})\n{}", String::from_utf8_lossy(&printed));
    ensure!(status.success(), "`{command_line}` failed ({status})");
    Ok(())
}

/// The same command, for work that others should not have to wait for.
pub(crate) fn with_low_priority(command: &Command) -> Command {
    let mut low = if cfg!(unix) { Command::new("nice") } else { Command::new(command.get_program()) };
    if cfg!(unix) {
        low.args(["-n", "10"]).arg(command.get_program());
    }
    low.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => low.env(name, value),
            None => low.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        low.current_dir(folder);
    }
    low
}

/// Prints a command line, runs the command, and adds it to the steps.
fn run_timed<T>(command: &mut Command, run: impl FnOnce(&mut Command) -> io::Result<T>) -> Result<(String, T)> {
    let command_line = command_line(command);
    println!("\n\u{25b8} {command_line}");
    let begun = Instant::now();
    let ended = run(command).with_context(|| format!("cannot run `{command_line}`; is the program installed?"))?;
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).push((command_line.clone(), begun.elapsed()));
    Ok((command_line, ended))
}

/// Where the time went: the commands that were run, the slowest first. Those that ran at the same time are each listed with the whole
/// time that they took.
pub(crate) fn list_steps() -> String {
    let mut steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    steps.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    let (listed, short): (Vec<_>, Vec<_>) = steps.into_iter().partition(|(_, took)| *took >= MIN_LISTED);
    let mut lines: Vec<String> = listed.iter().map(|(step, took)| format!("{:>6} s  {step}", took.as_secs())).collect();
    let rest: Duration = short.iter().map(|(_, took)| *took).sum();
    lines.push(format!("{:>6} s  {} shorter steps", rest.as_secs(), short.len()));
    lines.join("\n")
}

/// A command as a reader would type it.
pub(crate) fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_string_lossy();
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    format!("{program} {}", words.join(" ")).replace(&format!("{}/", root().display()), "")
}
