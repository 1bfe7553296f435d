//! The tests of this package, in one program: a program for each file would link the whole gate into each of them, which takes
//! minutes, and would run the files one after the other.
//!
//! `cargo test -p tollgate-guest --test suite -- hooks::` runs the tests of one file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod augmented_commands;
mod bombs;
mod claude_hooks;
mod confined_own_programs;
mod confined_programs;
mod confinement;
mod counting_host;
mod crossings;
mod dice;
mod extensions;
mod failing_writes;
mod governance;
mod hooks;
mod hooks_schedule;
mod interrupted_calls;
mod late_changes;
mod ledger;
mod mcp_servers;
mod mcp_words;
mod notes;
mod ordinary_commands;
mod program_changes;
mod program_tools;
mod project;
mod prompts;
mod properties;
mod refused_calls;
mod shell_differential;
mod stale_writes;
mod tampering;
mod third_party_hooks;
mod trusted_commands;
mod unwritable;
mod virtual_host;
