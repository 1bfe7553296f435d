//! Diagnostics for `active_intents.yaml`, for people and for editors.

use std::fmt;

use serde::Serialize;

use crate::yaml::Mark;

/// How severe a diagnosis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something in the file does not count.
    Error,
    /// Everything counts, but is probably not what was meant.
    Warning,
}

/// One problem in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// How severe it is.
    pub severity: Severity,
    /// The line, from 1; `None` if the whole file is meant.
    pub line: Option<u32>,
    /// The column, from 1, in characters.
    pub column: Option<u32>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// Maximum length of a message: it quotes what the file says, which may be long.
const LONGEST_MESSAGE: usize = 400;

impl Diagnosis {
    pub(super) fn new(severity: Severity, mark: Option<Mark>, message: &str) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let mut text: String = message.chars().take(LONGEST_MESSAGE).map(plain).collect();
        if text.len() < message.len() {
            text.push('…');
        }
        Self { severity, line: mark.map(|mark| mark.line), column: mark.map(|mark| mark.column), message: text }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(out, "line {line}, column {column}: ")?;
        }
        out.write_str(&self.message)
    }
}
