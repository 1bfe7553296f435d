//! Programs that the gate has run confined, started without the command that does it for others: this host restricts processes itself.

use std::ffi::OsString;
use std::path::Path;

use tollgate_guest::confine::evidence::Key;
use tollgate_guest::confine::wrapping::{self, Launched};

use super::{Plan, Prepared};

/// What the gate ordered: the words to run, and what they may change where that is not everything.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// What it is held to.
    pub(crate) plan: Option<Plan>,
}

impl Launch {
    /// Takes words that start a program confined for what they mean; others are run as they are. A text says why it cannot be done.
    pub(crate) fn read(argv: Vec<String>) -> Result<Self, String> {
        let Some(Launched { workspace, state, run, program }) = wrapping::launched(&argv) else {
            return Ok(Self { argv, plan: None });
        };
        let words: Vec<OsString> = program.iter().map(OsString::from).collect();
        let root = Path::new(workspace);
        let prepared = Prepared::of(root, None, state.map(Path::new), &Key::of_program(run), &words);
        let plan = prepared.and_then(|prepared| Plan::read(&prepared.answer, root));
        let plan = plan.ok_or("it is to run confined, and what it may change is not to be found in the state folder")?;
        Ok(Self { argv: program.to_vec(), plan: Some(plan) })
    }
}
