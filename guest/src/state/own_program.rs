//! Recognises copies of Tollgate's own program, under any name, by their digest.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports, Root, Workspace};

const FILE: &str = "program.json";

/// What is kept about the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProgram {
    /// Its size in bytes.
    pub size: u64,
    /// The digest of its content.
    pub digest: Digest,
}

impl OwnProgram {
    /// Minimum size of a release, so that smaller files need not be looked at twice.
    pub const MIN_BYTES: u64 = 1 << 20;

    /// What was last stored.
    pub fn load(workspace: &dyn Workspace) -> Option<Self> {
        json::parse(&workspace.read(Root::State, FILE, super::MAX_BYTES).ok()?).ok()
    }

    /// Stores it.
    pub fn keep(&self, ports: &Ports) -> Result<(), FileFault> {
        super::replace(FILE, json::line(self).as_bytes(), Expectation::Anything, ports)
    }
}
