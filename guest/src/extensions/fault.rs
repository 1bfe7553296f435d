//! Something wrong with a file of an extension.

use serde_json::Value;

use crate::hooks::declaration;
use crate::json::object;
use crate::json::position::{PathStep, place};

/// A fault, with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFault {
    /// The file's path as shown to people.
    pub file: String,
    /// Where in it, as a path of keys.
    pub path: String,
    /// Line and column, from 1.
    pub place: (usize, usize),
    /// What is wrong, and the remedy.
    pub message: String,
}

impl ExtensionFault {
    /// A fault of a whole file.
    pub fn new(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), path: "$".to_owned(), place: (1, 1), message: message.into() }
    }

    /// A fault for a text that is not JSON.
    pub fn of_json(file: &str, why: &serde_json::Error) -> Self {
        let place = (why.line(), why.column().max(1));
        Self { place, ..Self::new(file, format!("is not valid JSON: {why}")) }
    }

    /// A fault that a reader found in a text.
    pub fn at(file: &str, text: &str, fault: &declaration::DeclarationFault) -> Self {
        let path: String = fault.path.iter().map(PathStep::to_string).collect();
        let message = fault.message.clone();
        Self { file: file.to_owned(), path: format!("${path}"), place: place(text, &fault.path), message }
    }

    /// The fault as JSON.
    pub fn to_json(&self) -> Value {
        object(&mut [
            ("file", self.file.as_str().into()),
            ("path", self.path.as_str().into()),
            ("line", self.place.0.into()),
            ("column", self.place.1.into()),
            ("message", self.message.as_str().into()),
        ])
    }
}

impl std::fmt::Display for ExtensionFault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (line, column) = self.place;
        write!(out, "`{}`, line {line}, column {column}: `{}` {}", self.file, self.path, self.message)
    }
}
