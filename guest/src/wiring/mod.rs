//! Wires agent programs to the gate: what `tollgate init` writes and removes, and what `tollgate doctor` finds.
//!
//! What is known about a program is in its record, [`crate::programs`]. Here it is decided what that means for one
//! workspace. Nothing here looks at a file: a host is told what to look at ([`look`]), hands over what it [saw](seen), and
//! carries out what comes back.
//!
//! | module | what |
//! | --- | --- |
//! | [`layout`] | where the workspace, the home folder and the programs' own folders are |
//! | [`seen`] | what a host saw there |
//! | [`look`] | what it should look at |
//! | [`source`] | the files in which a program looks for its hooks, and which of them count from where it is started |
//! | [`difference`] | what a change to a file looks like, for a person |
//! | [`plan`] | what `tollgate init` changes |
//! | [`receipt`] | what it did in a workspace |
//! | [`undo`] | what `tollgate init --undo` changes |
//! | [`prefix`] | the program to which an agent program gives its shell commands |
//! | [`hook`] | a hook of Tollgate that is written down, and whether the program would run it |
//! | [`matcher`] | which tools a matcher leaves out |
//! | [`trial`] | a call that must be denied, to be sent as the program would, and what the answer means |
//! | [`confinement`] | a command that must be held to its scope, to be run as the program would, and what that shows |
//! | [`complaint`] | the reason in what a failed command printed |
//! | [`finding`] | how a program is wired, all in all |

pub mod complaint;
pub mod confinement;
pub mod difference;
pub mod finding;
pub mod hook;
pub mod layout;
pub mod look;
pub mod matcher;
pub mod plan;
pub mod prefix;
pub mod receipt;
pub mod seen;
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
