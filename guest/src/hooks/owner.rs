//! The extension that a hook comes with.

use crate::digest::Digest;

/// What the extension means for a run of its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The extension's name.
    pub extension: String,
    /// Its folder: relative to the workspace if it is inside it, else absolute.
    pub folder: String,
    /// The digest of all its files when a person approved it; `None` if it needs no approval, because it is the user's own.
    pub approved: Option<Digest>,
    /// The settings that a hook is given, as variables.
    pub variables: Vec<(String, String)>,
}
