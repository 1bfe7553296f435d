//! The adapters inside the real programs that they are made for.

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
        println!("skipped: the sessions in OpenCode are played on Linux on x86-64 only");
        return Ok(());
    }
    let programs = npm::pinned("e2e")?.canonicalize()?;
    println!("\nOpenCode: whole sessions with a scripted model");
    let mut sessions = alone();
    sessions.args(["node", "--test", "e2e/opencode/opencode.test.js"]).current_dir(house().join("npm-wrapper"));
    run(sessions.env("TOLLGATE_E2E", programs).env("TOLLGATE", tollgate().canonicalize()?))
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
