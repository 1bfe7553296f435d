//! The gate that every tool call of an AI coding agent passes.
//!
//! It checks a call against the intent the agent works for, enters what happened in a ledger, and gives directions by
//! adding what is known about the concepts that the call names. All decisions are made here. Hosts only read and write
//! files, run processes and keep timers, so the same bytes give the same answers in every host.
//!
//! # The house
//!
//! A call flows one way; modules further down never look up.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `component` | the WebAssembly face, and the only file that touches generated bindings |
//! | [`exchange`] | one event of an agent program, from its payload to the answer in the program's own words |
//! | [`operations`] | the same gate as JSON lines, which is what `tollgate eval` speaks |
//! | [`wiring`] | how agent programs are wired to the gate: what `tollgate init` writes, what `tollgate doctor` finds |
//! | [`gate`] | the three questions: may it run, what happened, what is known |
//! | [`person`] | what only a person may do, and who counts as one |
//! | [`confine`] | what a command may change, for the kernel to hold it to |
//! | [`ruling`] | the verdict, its code, its reason |
//! | [`call`] | what a tool call means: tools and arguments become paths and what is done to them |
//! | [`config`] | the workspace's own settings |
//! | [`intents`] | what the work is for, who works for it, what it owns |
//! | [`ledger`] | what happened, one line per changed file |
//! | [`augment`] | what is known about the concepts that a call names |
//! | [`extensions`] | folders that bring hooks, MCP servers, settings and skills |
//! | [`hooks`] | user- and workspace-defined hooks: declarations, trust, scheduling |
//! | [`engine`] | what passes between the gate and its host while something takes time |
//! | [`programs`] | what is known about each agent program: its tools, payloads and answers, settings files, processes |
//! | [`redact`] | text without its secrets |
//! | [`state`] | the gate's memory between calls |
//! | [`ports`] | everything the gate needs from outside, as traits, with a world in memory |
//!
//! # What it does not do
//!
//! It opens no file, no socket and no process of its own, it never waits, and it keeps nothing in memory that it could
//! not read again: an instance that fails is thrown away and the next one carries on.
//!
//! # An example
//!
//! ```
//! use tollgate_guest::gate::Gate;
//! use tollgate_guest::operations::perform;
//! use tollgate_guest::ports::memory::Memory;
//!
//! let world = Memory::new();
//! world.write(".orchestration/active_intents.yaml", "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]");
//! let mut gate = Gate::new(world.ports());
//! perform(&mut gate, br#"{"op":"select-intent","session":"s1","intent":"INT-1"}"#);
//! let answer = perform(&mut gate, br#"{"op":"pre-tool","session":"s1","call":"c1","tool":"write","args":{"path":"README.md"}}"#);
//! assert!(answer.contains(r#""verdict":"deny","code":"out_of_scope""#));
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod augment;
pub mod call;
#[cfg(target_os = "wasi")]
mod component;
pub mod config;
pub mod confine;
pub mod digest;
pub mod engine;
pub mod exchange;
pub mod extensions;
pub mod gate;
pub mod glob;
pub mod home;
pub mod hooks;
pub mod intents;
pub mod json;
pub mod ledger;
pub mod operations;
pub mod person;
pub mod ports;
pub mod programs;
pub mod redact;
pub mod ruling;
pub mod servers;
pub mod state;
pub mod wiring;
