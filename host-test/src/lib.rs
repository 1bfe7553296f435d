//! The wasmtime host of Tollgate, the gate that checks every tool call of an AI coding agent.
//!
//! All decisions are made by one WebAssembly component, which is compiled ahead of time and embedded in this crate. The host
//! lets it read a workspace and parts of the home folder (Tollgate's own folders, permissions and skills of agent programs), and
//! write to `.orchestration/` and `.tollgate/` of the workspace, to `~/.tollgate/` and to a state folder. It gets a log, a clock,
//! random bytes, and environment variables and keyring secrets that it asks for by name. It has no other access: no other files,
//! no processes, no network.
//!
//! ```no_run
//! use tollgate::{Tollgate, ToolCall, Verdict};
//!
//! let mut gate = Tollgate::builder().workspace(".").open()?;
//! gate.select_intent("session-1", "INT-001")?;
//! let args = serde_json::json!({"path": "src/auth/login.ts", "content": "export {}"});
//! let ruling = gate.pre_tool(&ToolCall::new("session-1", "call-1", "write_to_file", &args)?)?;
//! match ruling.verdict {
//!     Verdict::Allow => println!("allowed"),
//!     Verdict::Ask => println!("ask a person: {}", ruling.reason),
//!     Verdict::Deny => println!("no: {} ({})", ruling.reason, ruling.code),
//! }
//! # Ok::<(), tollgate::Error>(())
//! ```
//!
//! # Guarantees
//!
//! - If the guest traps, loops forever or runs out of memory, the call fails with an error code. The next call runs in a fresh
//!   instance, and the state of the session is still in the state folder.
//! - Files are accessed through capabilities of the workspace, the home and the state folder, so no path given by the guest leads
//!   out of them.
//! - One [`Runtime`] serves any number of workspaces and can be shared between threads.
//!
//! # Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `compiled` | the component, compiled ahead of time |
//! | `runtime` | engine, linker, limits, and the epoch thread that stops endless loops |
//! | `gate`, `call` | one workspace's instance, and the calls an embedder makes |
//! | `programs` | agent programs: finding the workspace, and answering when the gate cannot start |
//! | `files` | the workspace, the home and the state folder behind capabilities |
//! | `imports` | the imports of the contract: files, clock, random bytes, environment and log |
//! | [`keyring`] | stores secrets in the system's keyring |
//! | [`hooks`] | runs hook programs and prompts as the gate schedules them |
//! | [`components`] | calls third-party hooks in a sandbox: engine, limits, imports, compiling |
//! | [`confine`] | runs commands that the kernel restricts to what the gate grants |
//! | `lookups`, `process`, `mcp` | look up concepts for the gate: commands, functions and MCP servers, within limits |
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
pub mod keyring;
mod lookups;
mod mcp;
#[doc(hidden)]
pub mod native;
mod process;
mod programs;
mod runtime;
#[doc(hidden)]
pub mod temporary_file;

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
#[doc(hidden)]
pub use files::digest_of;
pub use files::{create_state_folder, state_folder};
pub use gate::Tollgate;
pub use lookups::{CallMcpTool, Function, Lookups};
#[doc(hidden)]
pub use process::retry_while_busy;
pub use programs::{
    MAX_PAYLOAD, command_workspace, empty_reply, fault_reply, governing_workspace, locate, program_names, wired_program_names,
};
pub use runtime::{DIGEST, Limits, Runtime, VERSION};
