//! What the `tollgate` command can do, a file each.
//!
//! The gate decides; a command carries the question, asks a person where one has to agree, does what the gate's own
//! folders are too small for, and prints.
//!
//! Exit codes: 0 done, 1 the answer is no, 2 it could not be done.

pub(crate) mod agent_event;
pub(crate) mod augment;
pub(crate) mod concepts;
pub(crate) mod confine;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod intents;
pub(crate) mod mcp_serve;
pub(crate) mod shell_prefix;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod watch;
