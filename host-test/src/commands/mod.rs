//! The subcommands of `tollgate`, one file each.
//!
//! The gate decides. A command sends it the request, asks a person for confirmation where needed, makes the changes that the gate
//! itself has no access for, and prints the result.
//!
//! Exit codes: 0 success, 1 the answer is no, 2 failure.

pub(crate) mod agent_event;
pub(crate) mod augment;
pub(crate) mod concepts;
pub(crate) mod confine;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod extensions;
pub(crate) mod hook_runner;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod intents;
pub(crate) mod mcp;
pub(crate) mod mcp_proxy;
pub(crate) mod mcp_serve;
pub(crate) mod new_hook;
mod other_host;
pub(crate) mod shell_prefix;
pub(crate) mod skills;
pub(crate) mod test_hook;
pub(crate) mod tools;
pub(crate) mod trace;
pub(crate) mod watch;
