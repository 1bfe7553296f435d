//! Programs that the gate runs confined, started directly rather than through the `tollgate confine` command: this host can
//! restrict processes itself.

use std::ffi::OsString;
use std::path::Path;

use tollgate_guest::confine::evidence::EvidenceKey;
use tollgate_guest::confine::wrapping::{self, Launched};

use super::{Plan, Prepared};

/// The command line to run, and what it may change if it is confined.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// What it may change; `None` if it is not confined.
    pub(crate) plan: Option<Plan>,
}

impl Launch {
    /// Reads a command line that starts a program confined; others are run unchanged. The error says why the program cannot be
    /// confined.
    pub(crate) fn read(argv: Vec<String>) -> Result<Self, String> {
        let Some(Launched { workspace, state, run, program }) = wrapping::parse_launch(&argv) else {
            return Ok(Self { argv, plan: None });
        };
        let words: Vec<OsString> = program.iter().map(OsString::from).collect();
        let root = Path::new(workspace);
        let prepared = Prepared::of(root, None, state.map(Path::new), &EvidenceKey::of_program(run), &words);
        let plan = prepared.and_then(|prepared| Plan::read(&prepared.answer, root));
        let plan = plan.ok_or("it must run confined, but its grants are not in the state folder")?;
        Ok(Self { argv: program.to_vec(), plan: Some(plan) })
    }
}
