//! A program and its children, ended together: a process group on Unix, a job object on Windows.

use std::process::Command;
use std::time::Duration;

use process_wrap::std::{ChildWrapper, CommandWrap};

/// Starts the command in a process tree of its own.
pub(super) fn wrap(command: Command) -> CommandWrap {
    let mut command = CommandWrap::from(command);
    #[cfg(unix)]
    command.wrap(process_wrap::std::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::std::JobObject);
    command
}

/// The same for a command that is awaited.
pub(crate) fn in_tokio(command: Command) -> process_wrap::tokio::CommandWrap {
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    let mut command = process_wrap::tokio::CommandWrap::from(command);
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
    command
}

/// On Unix, a signal reports the exit.
#[cfg(unix)]
pub(super) fn has_exited(_child: &mut dyn ChildWrapper) -> bool {
    false
}

#[cfg(unix)]
pub(super) fn poll_interval(left: Option<Duration>) -> Option<Duration> {
    left
}

/// Whether the program itself has exited.
#[cfg(not(unix))]
pub(super) fn has_exited(child: &mut dyn ChildWrapper) -> bool {
    !matches!(child.inner_mut().try_wait(), Ok(None))
}

#[cfg(not(unix))]
pub(super) fn poll_interval(left: Option<Duration>) -> Option<Duration> {
    let interval = Duration::from_millis(5);
    Some(left.map_or(interval, |left| left.min(interval)))
}
