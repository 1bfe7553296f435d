//! The standard input of a command.

/// What a command reads from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum StandardInput {
    /// Whatever the whole command was given.
    Inherited,
    /// Exactly this text.
    Text(String),
    /// Something that is only known when the command runs: a file, a pipe.
    Unknown,
}
