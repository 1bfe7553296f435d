//! What operating systems do differently: ending a program with its children, and learning that it has ended.

#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

#[cfg(unix)]
pub(super) fn pid(child: &Child) -> Option<rustix::process::Pid> {
    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
}

#[cfg(unix)]
pub(super) fn own_group(command: &mut Command) {
    command.process_group(0);
}

#[cfg(unix)]
pub(super) fn kill_group(child: &mut Child) {
    if let Some(pid) = pid(child) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// A signal says it.
#[cfg(unix)]
pub(super) fn over(_child: &mut Child) -> bool {
    false
}

#[cfg(unix)]
pub(super) fn poll(left: Option<Duration>) -> Option<Duration> {
    left
}

#[cfg(not(unix))]
pub(super) fn own_group(_command: &mut Command) {}

#[cfg(not(unix))]
pub(super) fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

#[cfg(not(unix))]
pub(super) fn over(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

#[cfg(not(unix))]
pub(super) fn poll(left: Option<Duration>) -> Option<Duration> {
    let often = Duration::from_millis(5);
    Some(left.map_or(often, |left| left.min(often)))
}

/// Ends a group by the id of the program that it was made for.
#[cfg(unix)]
pub(crate) fn kill(program: u32) {
    if let Some(pid) = i32::try_from(program).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Elsewhere the system's own command knows what a program has started.
#[cfg(not(unix))]
pub(crate) fn kill(program: u32) {
    let words = ["/T", "/F", "/PID", &program.to_string()];
    let _ = Command::new("taskkill").args(words).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status();
}
