//! The gate that every tool call of an AI coding agent passes through.
//!
//! It checks each call against the intent that the agent works for, records what happened in a ledger, and adds what is known
//! about the concepts that the call names. All decisions are made here. Hosts only read and write files, run processes and keep
//! timers, so the same component gives the same answers in every host.
//!
//! # Modules
//!
//! A call flows from the top of this table to the bottom: a module uses those below it and never one above it, which
//! `cargo xtask check` enforces.
//!
//! | module | what it does |
//! | --- | --- |
//! | `component` | the WebAssembly exports and imports; the only module that touches generated bindings |
//! | [`operations`] | the gate's operations as JSON lines, the protocol of `tollgate eval` and of every command |
//! | [`exchange`] | one event of an agent program, from its payload to the answer in the program's own format |
//! | [`wiring`] | connecting agent programs to the gate: what `tollgate init` writes, what `tollgate doctor` finds |
//! | [`gate`] | rules on calls, settles them, and knows which intent each session works for |
//! | [`person`] | what only a person may do, and who counts as one |
//! | [`confine`] | what a shell command may change, for the kernel to enforce |
//! | [`ruling`] | the verdict, its code, its reason |
//! | [`call`] | what a tool call means: tools, arguments, patches and shell commands become effects on paths |
//! | [`extensions`] | folders that provide hooks, MCP servers, settings and skills: discovery, trust, enablement |
//! | [`servers`] | MCP servers: what a person says about their tools, and what the servers claim themselves |
//! | [`config`] | the settings of the workspace and of the user |
//! | [`hooks`] | user- and workspace-defined hooks: declarations, trust, scheduling |
//! | [`engine`] | inputs and commands exchanged between the gate and its host while something takes time |
//! | [`augment`] | what is known about the concepts that a call names |
//! | [`inflight`] | calls that are allowed but not yet settled: pending records, leases, snapshots |
//! | [`ledger`] | what happened, one line per changed file |
//! | [`intents`] | the intents of a workspace, which one a session works for, and what it owns |
//! | [`state`] | files that the gate keeps between calls |
//! | [`home`] | files of the user's home folder that the host exposes |
//! | [`ports`] | everything the gate needs from its host, as traits, with an in-memory implementation for tests |
//! | [`tool_call`] | a tool call as an agent proposed it |
//! | [`programs`] | what is known about each agent program: its tools, payloads and answers, settings files, processes |
//! | [`effects`] | paths and what is done to them |
//! | [`redact`] | removes secrets from text |
//! | [`json`] | JSON with positions and comments |
//! | [`yaml`] | YAML with positions |
//! | [`glob`] | path patterns |
//! | [`digest`] | SHA-256 digests |
//!
//! # What it does not do
//!
//! It opens no file, no socket and no process of its own, it never waits, and it stores nothing in memory that it could
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
pub mod effects;
pub mod engine;
pub mod exchange;
pub mod extensions;
pub mod gate;
pub mod glob;
pub mod home;
pub mod hooks;
pub mod inflight;
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
pub mod tool_call;
pub mod wiring;
pub mod yaml;
