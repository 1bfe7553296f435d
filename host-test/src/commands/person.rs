//! Asking a person.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// What a person says to a question.
pub(super) enum Word {
    Yes,
    No,
    /// There is nobody to ask.
    Nobody,
}

pub(super) fn ask_on_terminal(question: &str) -> Word {
    let mut terminal = io::stderr();
    if !io::stdin().is_terminal() || !terminal.is_terminal() {
        return Word::Nobody;
    }
    let mut said = String::new();
    let asked = write!(terminal, "{question} [y/N] ").and_then(|()| terminal.flush());
    match asked.and_then(|()| io::stdin().lock().read_line(&mut said)) {
        Ok(_) if matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Word::Yes,
        _ => Word::No,
    }
}
