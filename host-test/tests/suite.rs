//! The tests of this package, in one program: a program for each file would link the whole gate into each of them, which takes minutes,
//! and would run them one file after the other.
//!
//! `cargo test -p tollgate --test suite -- hooks::` runs the tests of one file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod augment;
mod authoring;
mod bombs;
mod built;
mod commands;
mod confined;
mod confined_attacks;
mod confined_own_programs;
mod confined_programs;
mod confined_work;
mod doctor;
mod embedding;
mod eval;
mod extensions;
mod faults;
mod files;
mod hooks;
mod hooks_commands;
mod hosts;
mod init;
mod mcp_serve;
mod operations;
mod person;
mod place;
mod program_copy;
mod readme;
mod requirements;
mod skip;
mod terminal;
mod trace;
mod two_commands;
mod watch;
