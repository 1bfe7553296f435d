//! Why a YAML document cannot be parsed.

use granit_parser::{ErrorKind, ScanError};

use super::mark::Mark;

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlFault {
    /// Where it is.
    pub mark: Mark,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl YamlFault {
    fn new(mark: Mark, message: &str) -> Self {
        Self { mark, message: message.to_owned() }
    }

    /// The bytes are valid UTF-8 only up to `valid`.
    pub(super) fn not_utf8(bytes: &[u8], valid: usize) -> Self {
        let before = bytes.get(..valid).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        let byte = bytes.get(valid).copied().unwrap_or_default();
        let message = format!("the byte 0x{byte:02X} is not valid UTF-8; save the file as UTF-8");
        Self { mark: Mark::after(before), message }
    }

    pub(super) fn second_document(mark: Mark) -> Self {
        Self::new(mark, "a second document begins here; remove everything from here on")
    }

    pub(super) fn too_deep(mark: Mark) -> Self {
        Self::new(mark, "lists and maps are nested too deeply here; put text that begins with brackets or dashes in quotes")
    }

    pub(super) fn too_large(mark: Mark) -> Self {
        Self::new(mark, "the file is too large at this point, with aliases expanded; use fewer aliases, or shorten the file")
    }

    pub(super) fn alias_in_itself(mark: Mark) -> Self {
        Self::new(mark, "this alias stands for the list or map that it is in; write out what is meant")
    }
}

impl From<&ScanError> for YamlFault {
    fn from(fault: &ScanError) -> Self {
        let mark = Mark::from(fault.marker());
        let why = match fault.kind() {
            ErrorKind::RecursionLimitExceeded => return Self::too_deep(mark),
            ErrorKind::UnclosedFlowCollection { open } => format!("this `{open}` is never closed; add `{}`", closing(*open)),
            ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
                format!("this `{open}` is closed by `{close}`; close it by `{}`", closing(*open))
            }
            ErrorKind::MisplacedFlowCollectionEnd => {
                "this bracket closes nothing; remove it, or put the text in quotes".to_owned()
            }
            ErrorKind::UnexpectedCharacter { character } if character.is_control() => {
                format!("the control character U+{:04X} is not allowed; remove it", u32::from(*character))
            }
            ErrorKind::UnexpectedCharacter { character } => {
                format!("text cannot begin with `{character}`; put it in quotes")
            }
            ErrorKind::UnknownAnchor => {
                "there is no anchor with this alias's name; put text that begins with `*` in quotes".to_owned()
            }
            ErrorKind::MappingValueNotAllowed => {
                "a `:` is not allowed here; check the indentation, or put text that contains `: ` in quotes".to_owned()
            }
            ErrorKind::SimpleKeyExpected => "this line has no `:`; write `key: value`".to_owned(),
            ErrorKind::TabInBlockIndentation | ErrorKind::TabAtBlockScalarStart => {
                "a tab cannot indent a line; use spaces".to_owned()
            }
            ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                "a quoted string continues here; close it, or indent its next line".to_owned()
            }
            _ => fault.info(),
        };
        Self { mark, message: format!("the YAML cannot be read: {why}") }
    }
}

fn closing(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}
