//! The target folder of the cargo process that builds the compiler.

/// Its name in the target folder.
pub(crate) const FOLDER: &str = "compiler";
