//! The standard input of a command.

/// The standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum StandardInput {
    /// The standard input of the whole command.
    Inherited,
    /// Exactly this text.
    Text(String),
    /// Something that is only known when the command runs: a file, a pipe.
    Unknown,
}
