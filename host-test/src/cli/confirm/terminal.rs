//! The controlling terminal of the process. Standard input does not count, because any program can write to it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use super::Confirmation;

/// The most bytes that are read of an answer. A longer answer does not confirm.
const MAX_ANSWER: u64 = 256;

/// An open terminal.
pub(crate) struct Terminal {
    input: File,
    output: File,
}

impl Terminal {
    /// Opens the controlling terminal, if there is one and this process may read from it.
    pub(crate) fn open() -> Option<Self> {
        #[cfg(windows)]
        let (input, output) = ("CONIN$", "CONOUT$");
        #[cfg(not(windows))]
        let (input, output) = ("/dev/tty", "/dev/tty");
        let input = OpenOptions::new().read(true).write(true).open(input).ok()?;
        let output = OpenOptions::new().read(true).write(true).open(output).ok()?;
        is_foreground(&input).then_some(Self { input, output })
    }

    /// Asks a question. Only `y` and `yes` confirm.
    pub(crate) fn ask(&self, question: &str) -> Confirmation {
        let asked = write!(&self.output, "{question} [y/N] ").and_then(|()| (&self.output).flush());
        let mut said = String::new();
        let read = asked.and_then(|()| BufReader::new((&self.input).take(MAX_ANSWER)).read_line(&mut said));
        match read {
            Ok(_) if matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Confirmation::Yes,
            _ => Confirmation::No,
        }
    }
}

/// A background process that reads from its terminal is suspended, possibly forever.
#[cfg(unix)]
fn is_foreground(terminal: &File) -> bool {
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_foreground(_: &File) -> bool {
    true
}
