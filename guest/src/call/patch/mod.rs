//! Determines which files a patch would change, without applying it.
//!
//! | format | where it is read |
//! | --- | --- |
//! | `*** Begin Patch` … `*** End Patch` | [`envelope`] |
//! | unified and git diffs | [`unified`] |
//! | what `patch` and `git apply` make of a text | [`targets`] |
//! | `<<<<<<< SEARCH` … `>>>>>>> REPLACE` | [`unified`], which skips these blocks, because they name no file |
//!
//! Tools differ in what they accept. If two tools would read different paths in a text, all of these paths count: a path too many
//! costs a refusal with an explanation, a missing path is a way around the gate. That is why patches are not read by a library:
//! libraries accept well-formed patches, whereas `patch` and the tools of agents apply much that is malformed.

pub mod envelope;
mod quoted;
pub mod targets;
pub mod unified;

use std::collections::BTreeSet;

use crate::effects::Access;
pub use crate::programs::PatchDialect;
pub use targets::{Strip, every_target};

/// The most files of a patch; a larger patch is not the work of an agent.
pub const MAX_CHANGES: usize = 10_000;

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PatchedFile {
    /// The path as spelled in the patch, without prefixes such as `a/`.
    pub path: String,
    /// What the patch does to it.
    pub access: Access,
}

/// Why a patch cannot be read. Such a patch is denied; its meaning is never guessed. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchFault {
    /// The envelope is not opened.
    #[error("the patch has no line `*** Begin Patch`; begin with it")]
    NoBegin,
    /// The envelope is not closed.
    #[error("the patch begins on line {begun} and has no line `*** End Patch` after that; end with it")]
    NoEnd {
        /// The line on which it begins.
        begun: usize,
    },
    /// The patch would change nothing.
    #[error("the patch names no file; name one with `*** Update File: `, `*** Add File: ` or `*** Delete File: `")]
    NoFile,
    /// A header without its path.
    #[error("line {line} of the patch, `{header}`, names no file; write the path after the colon")]
    EmptyPath {
        /// The line.
        line: usize,
        /// The header.
        header: String,
    },
    /// A header that no tool understands.
    #[error(
        "line {line} of the patch, `{header}`, is not a header; use `*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** Move to: `, and begin added text with `+`"
    )]
    UnknownHeader {
        /// The number of the line.
        line: usize,
        /// The line.
        header: String,
    },
    /// A new name without a file to rename.
    #[error("line {line} of the patch, `{header}`, does not follow an `*** Update File: ` line; put it directly below one")]
    StrayMove {
        /// The line.
        line: usize,
        /// The header.
        header: String,
    },
    /// The text is neither a diff nor search/replace blocks.
    #[error(
        "the diff cannot be read: it has neither `--- ` and `+++ ` headers, nor `@@` hunks, nor `<<<<<<< SEARCH` blocks; send one of these"
    )]
    NoDiff,
    /// A search/replace block is not closed.
    #[error("the block on line {line} of the diff lacks its `=======` or its `>>>>>>> REPLACE`; close it")]
    OpenBlock {
        /// The line on which the block begins.
        line: usize,
    },
    /// A header whose names cannot be separated.
    #[error("line {line} of the diff, `{header}`, cannot be read; quote names as git does")]
    BadName {
        /// The line.
        line: usize,
        /// The header.
        header: String,
    },
    /// The diff is a context diff.
    #[error("line {line} of the diff begins a context diff, which is not supported; send a unified diff (`diff -u`)")]
    ContextDiff {
        /// The line.
        line: usize,
    },
    /// A hunk is longer or shorter than its header says.
    #[error("the hunk before line {line} of the diff is not as long as its `@@` line says; correct its counts")]
    BadHunk {
        /// The line where the hunk was expected to end.
        line: usize,
    },
    /// A format that is not supported.
    #[error("line {line} of the diff, `{header}`, has a format that is not supported; send a unified diff (`diff -u`) of files")]
    OtherForm {
        /// The number of the line.
        line: usize,
        /// The line.
        header: String,
    },
    /// The patch names more files than anyone would review.
    #[error("the patch names more than {MAX_CHANGES} files; split it")]
    TooMany,
}

/// The files of a patch in any format. If a text contains an envelope and a diff, the files of both count.
pub fn changes(text: &str, dialect: PatchDialect) -> Result<Vec<PatchedFile>, PatchFault> {
    match envelope::changes(text, dialect) {
        Err(PatchFault::NoBegin) if unified::is_likely(text) && !envelope::has_headers(text) => {
            unified::read(text).map(|diff| diff.changes)
        }
        Ok(found) => {
            let mut all = PatchedFiles::default();
            found.into_iter().chain(unified::headers(text)?).try_for_each(|change| all.add(change.path, change.access))?;
            Ok(all.ordered)
        }
        fault => fault,
    }
}

/// Changes in order, without duplicates.
#[derive(Debug, Default)]
struct PatchedFiles {
    ordered: Vec<PatchedFile>,
    seen: BTreeSet<(String, Access)>,
}

impl PatchedFiles {
    fn add(&mut self, path: impl Into<String>, access: Access) -> Result<(), PatchFault> {
        let path = path.into();
        if self.seen.insert((path.clone(), access)) {
            if self.ordered.len() == MAX_CHANGES {
                return Err(PatchFault::TooMany);
            }
            self.ordered.push(PatchedFile { path, access });
        }
        Ok(())
    }
}

/// A line for use in a message: short, and safe to print.
fn display_line(line: &str) -> String {
    let short: String = line.trim().chars().take(80).collect();
    short.escape_debug().to_string()
}

/// Helpers for the expected files in tests.
#[cfg(test)]
mod expected {
    use super::{Access, PatchedFile};

    pub(super) fn write(path: &str) -> PatchedFile {
        PatchedFile { path: path.to_owned(), access: Access::Write }
    }

    pub(super) fn delete(path: &str) -> PatchedFile {
        PatchedFile { path: path.to_owned(), access: Access::Delete }
    }
}
