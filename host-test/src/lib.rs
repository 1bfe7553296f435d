//! The wasmtime host of Tollgate, the gate that every tool call of an AI coding agent passes.
//!
//! All decisions are made by one WebAssembly component, which this crate carries, compiled ahead of time. The host lends
//! it a workspace to look at, two folders of it and a state folder to write, a log, a clock and random bytes. Nothing else: no other file, no
//! process, no network, no environment.
//!
//! ```no_run
//! use tollgate::{Tollgate, ToolCall, Verdict};
//!
//! let mut gate = Tollgate::builder().workspace(".").open()?;
//! gate.select_intent("session-1", "INT-001")?;
//! let args = serde_json::json!({"path": "src/auth/login.ts", "content": "export {}"});
//! let ruling = gate.pre_tool(&ToolCall::new("session-1", "call-1", "write_to_file", &args)?)?;
//! match ruling.verdict {
//!     Verdict::Allow => println!("go on"),
//!     Verdict::Ask => println!("ask a person: {}", ruling.reason),
//!     Verdict::Deny => println!("no: {} ({})", ruling.reason, ruling.code),
//! }
//! # Ok::<(), tollgate::Error>(())
//! ```
//!
//! # What holds
//!
//! - A trap, an endless loop or a lack of memory in the guest fails the call, with a code. The next call runs in a fresh
//!   instance and finds the session's state where it was, in the state folder.
//! - Files are reached through capabilities of the workspace, the home and the state folder, so no path of a guest leads out of them.
//! - One [`Runtime`] serves any number of workspaces and can be shared between threads.
//!
//! # The house
//!
//! | module | what lives there |
//! | --- | --- |
//! | `compiled` | the component, compiled ahead of time |
//! | `runtime` | engine, linker, limits, the ticker that stops endless loops |
//! | `gate`, `call` | one workspace's instance, and the calls an embedder makes |
//! | `programs` | what must be known of agent programs before there is a gate, and where there is none |
//! | `files` | the workspace, the home and the state folder behind capabilities |
//! | `imports` | the contract's imports over `files`, clock, random bytes and log |
//! | [`hooks`] | programs and prompts that run when something happens, driven as the gate says |
//! | [`components`] | hooks of third parties in their sandbox: engine, limits, what they are lent, compiling |
//! | [`confine`] | commands that the kernel holds to what the gate grants |
//! | `lookups`, `process`, `mcp` | what the gate wants looked up, carried out: commands, functions and MCP servers, within bounds |
//! | `bindings` | generated from `wit/` |
//!
//! The decisions are documented in the crate `tollgate_guest`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod bindings;
mod builder;
mod call;
mod compiled;
pub mod components;
pub mod confine;
mod engine_config;
mod error;
mod files;
mod gate;
pub mod hooks;
mod imports;
mod lookups;
mod mcp;
#[cfg(feature = "native")]
pub mod native;
mod process;
mod programs;
mod runtime;

pub use bindings::exports::tollgate::hooks::augment::{Answer, Augmented, Finding, Lookup, McpTool, Plan, Program, Request};
pub use bindings::exports::tollgate::hooks::engine;
pub use bindings::exports::tollgate::hooks::post_tool::{Outcome, Settlement};
pub use bindings::exports::tollgate::hooks::programs::{Answer as Reply, Progress};
pub use bindings::exports::tollgate::hooks::sessions::Intent;
pub use bindings::tollgate::hooks::log::Level;
pub use bindings::tollgate::hooks::types::{Effect, Operation, PreHash, Ruling, Verdict};
pub use builder::Builder;
pub use call::ToolCall;
pub use error::Error;
pub use files::{make_state_of, state_of};
pub use gate::Tollgate;
pub use lookups::{CallMcpTool, Function, Lookups};
pub use programs::{MAX_PAYLOAD, fault_reply, governing_workspace, locate, program_names, silence_of, wired_program_names};
pub use runtime::{DIGEST, Limits, Runtime, VERSION};
