//! The terminal of the person who gives a command: not standard input, which anybody can fill, but the one that controls the
//! process.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use super::Word;

/// A longer answer is not a yes.
const MAX_ANSWER: u64 = 256;

/// An open terminal.
pub(crate) struct Terminal {
    input: File,
    output: File,
}

impl Terminal {
    /// The controlling terminal, where there is one and this process may read from it.
    pub(crate) fn open() -> Option<Self> {
        #[cfg(windows)]
        let (input, output) = ("CONIN$", "CONOUT$");
        #[cfg(not(windows))]
        let (input, output) = ("/dev/tty", "/dev/tty");
        let input = OpenOptions::new().read(true).write(true).open(input).ok()?;
        let output = OpenOptions::new().read(true).write(true).open(output).ok()?;
        is_in_front(&input).then_some(Self { input, output })
    }

    /// Asks a question. Only a yes is a yes.
    pub(crate) fn ask(&self, question: &str) -> Word {
        let asked = write!(&self.output, "{question} [y/N] ").and_then(|()| (&self.output).flush());
        let mut said = String::new();
        let read = asked.and_then(|()| BufReader::new((&self.input).take(MAX_ANSWER)).read_line(&mut said));
        match read {
            Ok(_) if matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Word::Yes,
            _ => Word::No,
        }
    }
}

/// A process in the background that reads from its terminal is stopped, for good where nobody brings it forward.
#[cfg(unix)]
fn is_in_front(terminal: &File) -> bool {
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_in_front(_: &File) -> bool {
    true
}
