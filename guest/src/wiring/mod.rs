//! Wires agent programs to the gate: what `tollgate init` writes and removes, and what `tollgate doctor` finds.
//!
//! The facts about a program are in its record, [`crate::programs`]. This module decides what they mean for one workspace. It
//! never reads a file itself: a host is told what to read ([`files_to_read`]), passes on what it [read](files_read), and applies
//! the resulting changes.
//!
//! | module | what |
//! | --- | --- |
//! | [`layout`] | where the workspace, the home folder and the programs' own folders are |
//! | [`files_read`] | what a host found there |
//! | [`files_to_read`] | what a host should read |
//! | [`source`] | the files in which a program looks for its hooks, and which of them apply in the folder where it is started |
//! | [`difference`] | a change to a file as a diff, for a person |
//! | [`plan`] | what `tollgate init` changes |
//! | [`receipt`] | what `tollgate init` did in a workspace |
//! | [`undo`] | what `tollgate init --undo` changes |
//! | [`prefix`] | the setting for the program that runs all shell commands of an agent program |
//! | [`hook`] | Tollgate's hooks in settings, and whether the program would run them |
//! | [`matcher`] | which tools a matcher leaves out |
//! | [`trial`] | a call that must be denied, sent as the program would send it, and what the answer means |
//! | [`confinement`] | a command that must be restricted to its scope, run as the program would run it, and what that shows |
//! | [`complaint`] | the reason in the output of a failed command |
//! | [`finding`] | the summary of how a program is wired |

pub mod complaint;
pub mod confinement;
pub mod difference;
pub mod files_read;
pub mod files_to_read;
pub mod finding;
pub mod hook;
pub mod layout;
pub mod matcher;
pub mod plan;
pub mod prefix;
pub mod receipt;
pub mod source;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod undo;

use crate::programs::{AgentProgram, PROGRAMS, Wiring};

/// The programs that can be wired, in the order in which they are listed.
pub fn wired_programs() -> impl Iterator<Item = (&'static AgentProgram, &'static Wiring)> {
    PROGRAMS.iter().filter_map(|program| Some((*program, program.wiring.as_ref()?)))
}
