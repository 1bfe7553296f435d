//! The adapters inside the real programs that they are made for.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::house::{house, run, tollgate};
use crate::npm;

/// Gives the command after it a network of its own, with nothing on it but loopback. The first works for root, the second for
/// everybody whom the system lets.
const ALONE: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];

/// Loopback is down in a fresh network.
const LOOPBACK: &str = r#"ip link set lo up && exec "$@""#;

/// Plays sessions in the real programs. What cannot be played here is said.
pub(crate) fn e2e() -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("skipped: the sessions in OpenCode and Claude Code are played on Linux on x86-64 only");
        return Ok(());
    }
    let programs = npm::pinned("e2e")?.canonicalize()?;
    println!("\nOpenCode: whole sessions with a scripted model");
    sessions(&programs, "e2e/opencode/opencode.test.js")?;
    // It is a package of its own that npm leaves out where it does not fit, such as where the C library is musl.
    let claude = "@anthropic-ai/claude-code-linux-x64";
    if !programs.join("node_modules").join(claude).join("claude").exists() {
        println!("skipped: npm did not install {claude}, so no session is played in Claude Code");
        return Ok(());
    }
    println!("\nClaude Code: a whole session with a scripted model");
    sessions(&programs, "e2e/claude/claude.test.js")
}

/// Runs a file of tests with the programs and the command.
fn sessions(programs: &Path, file: &str) -> Result<()> {
    let mut test = alone();
    test.args(["node", "--test", file]).current_dir(house().join("npm-wrapper"));
    twice_at_most(test.env("TOLLGATE_E2E", programs).env("TOLLGATE", tollgate().canonicalize()?))
}

/// Runs a command, and once more where it fails, which is said: other people's programs are slow at times for reasons of their
/// own. What fails twice has failed.
pub(crate) fn twice_at_most(command: &mut Command) -> Result<()> {
    run(command).or_else(|fault| {
        println!("\n{fault:#}; tried once more");
        run(command)
    })
}

/// A command that runs the command behind it without a network, where the system can do that.
pub(crate) fn alone() -> Command {
    let wrapped = |flags: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(flags).args(["--", "sh", "-c", LOOPBACK, "sh"]);
        unshare
    };
    for flags in ALONE {
        let tried = wrapped(flags).arg("true").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if tried.is_ok_and(|status| status.success()) {
            return wrapped(flags);
        }
    }
    println!("skipped: without `unshare` (util-linux) and `ip` (iproute2) the sessions are not cut off from the network");
    Command::new("env")
}
