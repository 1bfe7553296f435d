//! Recognises copies of Tollgate's own program, under any name, by their digest.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports, Root, Workspace};

const FILE: &str = "program.json";

/// What is kept about the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProgram {
    /// In bytes.
    pub size: u64,
    /// Of its content.
    pub digest: Digest,
}

impl OwnProgram {
    /// No release is smaller, so that smaller files need not be looked at twice.
    pub const MIN_BYTES: u64 = 1 << 20;

    /// What was last kept.
    pub fn kept(workspace: &dyn Workspace) -> Option<Self> {
        json::parse(&workspace.read(Root::State, FILE, super::MAX_BYTES).ok()?).ok()
    }

    /// Keeps it.
    pub fn keep(&self, ports: &Ports) -> Result<(), FileFault> {
        super::replace(FILE, json::line(self).as_bytes(), Expectation::Anything, ports)
    }
}
