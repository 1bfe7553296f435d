//! What is known about each agent program: one file and one record per program.
//!
//! A record says which tools a program has and what they do, which protocol its hooks use, how it is wired to the gate and how
//! that is proven, and how its processes are recognised. Everything that reads calls, answers hooks, writes settings or examines
//! them uses these records. Nothing in this module reads a file or decides about a call.
//!
//! | file | what |
//! | --- | --- |
//! | `claude_code`, `codex`, … | one program each |
//! | [`tool`] | the description of a tool: its names, what it does, what each argument means |
//! | [`table`] | which tools a name may mean |
//! | [`hook_protocol`] | the hook protocol: events, payloads and answers |
//! | [`wiring`] | settings files, what is written to them, and what proves that it works |
//! | [`trust`] | whether a program would run the installed hooks |
//! | [`permissions`] | what a person lets a program do with MCP tools |
//! | [`process`] | recognising a program by its process or its variables |
//! | [`own_tools`] | Tollgate's own tools, the same in every program |
//!
//! To add a program, write its file and name it in [`PROGRAMS`].

mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod generic;
pub mod hook_protocol;
mod hook_specific;
mod limit;
mod opencode;
pub mod own_tools;
mod payload;
pub mod permissions;
pub mod process;
mod qwen;
mod roo;
mod salvage;
pub mod shell_prefix;
pub mod table;
#[cfg(test)]
mod tests;
pub mod tool;
pub mod trust;
pub mod wiring;

pub use hook_protocol::{CallEnding, EventKind, HookAnswer, HookProtocol, ProgramEvent, ReportedCall};
pub use limit::{Limit, cut};
pub(crate) use payload::{NO_REASON_GIVEN, derived_id};
use permissions::Permissions;
pub use salvage::recover_event;
pub use table::{act, dialect, tools};
pub use tool::{Act, ArgumentMeaning, PatchDialect, Tool};
use wiring::SettingsPlace;
pub use wiring::Wiring;

/// The folders in which agent programs keep skills, in the workspace and in the home folder.
pub const SKILL_FOLDERS: [&str; 4] = [".claude/skills", ".codex/skills", ".gemini/skills", ".agents/skills"];

/// The known programs, in the order in which they are listed.
pub static PROGRAMS: &[&AgentProgram] = &[
    &claude_code::PROGRAM,
    &codex::PROGRAM,
    &gemini::PROGRAM,
    &cursor::PROGRAM,
    &copilot::PROGRAM,
    &opencode::PROGRAM,
    &roo::PROGRAM,
    &cline::PROGRAM,
    &qwen::PROGRAM,
    &generic::PROGRAM,
];

/// Finds a program by a name or an alias, ignoring case.
pub fn find(name: &str) -> Option<&'static AgentProgram> {
    PROGRAMS.iter().copied().find(|program| program.has_name(name))
}

/// What is known about an agent program.
#[derive(Debug)]
pub struct AgentProgram {
    /// Its names in hosts and settings; the first is the one that `tollgate hook` takes.
    pub names: &'static [&'static str],
    /// Its name for people.
    pub title: &'static str,
    /// Which parser reads the patches that its tools are given.
    pub dialect: PatchDialect,
    /// Its own tools, without those of MCP servers.
    pub tools: &'static [Tool],
    /// How the names of MCP tools are spelled, with `SERVER` and `TOOL` for their names.
    pub mcp_prefixes: &'static [&'static str],
    /// Where it stores which MCP tools a person lets it call without asking; `None` if it does not store that, or not in a known
    /// format.
    pub permissions: Option<Permissions>,
    /// Its hook payloads and answers; `None` for a program without hooks.
    pub speech: Option<HookProtocol>,
    /// How it is wired to the gate; `None` if that cannot be done by writing files.
    pub wiring: Option<Wiring>,
    /// Files and folders that govern the program, and therefore whether it asks the gate: no agent may change them. Those of a
    /// workspace are in lower case, because they are compared in lower case.
    pub controls: &'static [SettingsPlace],
    /// The names of its process: of the program itself, or of the script that an interpreter runs for it.
    pub processes: &'static [&'static str],
    /// Variables that it sets for the commands it runs.
    pub variables: &'static [&'static str],
}

impl AgentProgram {
    /// A program without tools, hooks or files of its own.
    const BARE: Self = Self {
        names: &[],
        title: "",
        dialect: PatchDialect::Any,
        tools: &[],
        mcp_prefixes: &[],
        permissions: None,
        speech: None,
        wiring: None,
        controls: &[],
        processes: &[],
        variables: &[],
    };

    /// Its name for `tollgate hook`.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Whether a name refers to this program.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}
