//! Patches: which files a patch would change, without applying it.
//!
//! | form | where it is read |
//! | --- | --- |
//! | `*** Begin Patch` … `*** End Patch` | [`envelope`] |
//! | unified and git diffs | [`unified`] |
//! | what `patch` and `git apply` make of a text | [`targets`] |
//! | `<<<<<<< SEARCH` … `>>>>>>> REPLACE` | [`unified`], which passes over them, since they name no file |
//!
//! Tools differ in what they accept. Where two would read different paths out of one text, all of them count: a path too
//! many costs a refusal that says so, a missing path is a way around the gate. That is why no library reads patches here:
//! libraries accept what is well formed, and `patch` and the tools of agents apply much that is not.

pub mod envelope;
mod quoted;
pub mod targets;
pub mod unified;

use std::collections::BTreeSet;

use crate::effects::Access;
pub use crate::programs::PatchDialect;
pub use targets::{Strip, every_target};

/// A patch that names more files is no work of an agent's.
pub const MAX_CHANGES: usize = 10_000;

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PatchedFile {
    /// As the patch spells it, prefixes such as `a/` taken off.
    pub path: String,
    /// What the patch does to it.
    pub access: Access,
}

/// Why a patch cannot be read. What cannot be read is denied, never guessed at. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchFault {
    /// The envelope is not opened.
    #[error("the patch has no line `*** Begin Patch`; begin with it")]
    NoBegin,
    /// The envelope is not closed.
    #[error("the patch begins on line {begun} and has no line `*** End Patch` after that; end with it")]
    NoEnd {
        /// Where it begins.
        begun: usize,
    },
    /// Nothing would change.
    #[error("the patch names no file; name one with `*** Update File: `, `*** Add File: ` or `*** Delete File: `")]
    NoFile,
    /// A header without its path.
    #[error("line {line} of the patch, `{header}`, names no file; write the path after the colon")]
    EmptyPath {
        /// Where.
        line: usize,
        /// The header.
        header: String,
    },
    /// A header that no tool knows.
    #[error(
        "line {line} of the patch, `{header}`, is not a header; use `*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** Move to: `, and begin added text with `+`"
    )]
    UnknownHeader {
        /// Where.
        line: usize,
        /// The line.
        header: String,
    },
    /// A new name for no file.
    #[error("line {line} of the patch, `{header}`, does not follow an `*** Update File: ` line; put it directly below one")]
    StrayMove {
        /// Where.
        line: usize,
        /// The header.
        header: String,
    },
    /// Neither a diff nor search/replace blocks.
    #[error(
        "the diff cannot be read: it has neither `--- ` and `+++ ` headers, nor `@@` hunks, nor `<<<<<<< SEARCH` blocks; send one of these"
    )]
    NoDiff,
    /// A search/replace block that does not end.
    #[error("the block on line {line} of the diff lacks its `=======` or its `>>>>>>> REPLACE`; close it")]
    OpenBlock {
        /// Where it begins.
        line: usize,
    },
    /// A header whose names cannot be told apart.
    #[error("line {line} of the diff, `{header}`, cannot be read; quote names as git does")]
    BadName {
        /// Where.
        line: usize,
        /// The header.
        header: String,
    },
    /// A context diff.
    #[error("line {line} of the diff begins a context diff, which is not supported; send a unified diff (`diff -u`)")]
    ContextDiff {
        /// Where.
        line: usize,
    },
    /// A hunk that is longer or shorter than it says.
    #[error("the hunk before line {line} of the diff is not as long as its `@@` line says; correct its counts")]
    BadHunk {
        /// Where its end was expected.
        line: usize,
    },
    /// A form that is not read.
    #[error("line {line} of the diff, `{header}`, has a format that is not supported; send a unified diff (`diff -u`) of files")]
    OtherForm {
        /// Where.
        line: usize,
        /// The line.
        header: String,
    },
    /// More files than anybody looks at.
    #[error("the patch names more than {MAX_CHANGES} files; split it")]
    TooMany,
}

/// The files of a patch in either form. Where a text holds an envelope and a diff, the files of both count.
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

/// Changes in order, each once.
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

/// A line for a message: short, and harmless to print.
fn display_line(line: &str) -> String {
    let short: String = line.trim().chars().take(80).collect();
    short.escape_debug().to_string()
}

/// Files of patches, as tests expect them.
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
