//! What a tool call means: whatever the host calls its tools, every call becomes a set of paths and what is done to them.

pub mod effect;
pub mod path;
pub mod shell;
mod tool;

use serde_json::{Map, Value};

use crate::ports::{Facts, Kind, Question, Root};
use effect::{Deed, Effect, Footprint, Operation, Touch};
use path::{Location, PathFault};

/// One tool call, as the agent proposed it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The agent session that makes the call.
    pub session: String,
    /// The sub-agent within the session.
    pub agent: Option<String>,
    /// The call's id, unique within its session.
    pub call: String,
    /// The host whose tool names are meant.
    pub host: Option<String>,
    /// The tool, as the host spells it.
    pub tool: String,
    /// The arguments, or what came in their place.
    pub args: Value,
    /// The call's working directory.
    pub cwd: Option<String>,
}

/// Why a call cannot be understood. A call that cannot be understood is denied, never guessed at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// Arguments that are no object.
    #[error("the arguments of `{tool}` are {found}, not a JSON object; pass them by name")]
    NoObject {
        /// The tool.
        tool: String,
        /// What came instead.
        found: &'static str,
    },
    /// An argument of the wrong type.
    #[error("the argument `{name}` must be {expected}")]
    Argument {
        /// The argument.
        name: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A tool that writes, told to write nowhere.
    #[error("`{tool}` was called without a path; name the file")]
    NoPath {
        /// The tool.
        tool: String,
    },
    /// A path that is refused.
    #[error(transparent)]
    Path(#[from] PathFault),
}

impl CallFault {
    /// The stable code of a ruling that rests on this.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Path(_) => "invalid_path",
            _ => "invalid_arguments",
        }
    }
}

/// What the call does, as far as its arguments tell.
pub fn footprint(call: &ToolCall) -> Result<Footprint, CallFault> {
    tool::footprint(&call.tool, arguments(call)?, call.cwd.as_deref())
}

fn arguments(call: &ToolCall) -> Result<&Map<String, Value>, CallFault> {
    let found = match &call.args {
        Value::Object(args) => return Ok(args),
        Value::Null => "missing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(CallFault::NoObject { tool: call.tool.clone(), found })
}

/// What to ask the host about a path that a call touches. Only what will change is hashed.
pub fn question(touch: &Touch) -> Question {
    Question { root: Root::Project, path: touch.path.clone(), digest: touch.deed == Deed::Write }
}

/// What a touch comes to, now that the host has looked. None where the path leads nowhere.
pub fn effect(touch: &Touch, facts: &Facts) -> Option<Effect> {
    let exists = facts.kind != Kind::Missing;
    let (operation, path) = match touch.deed {
        Deed::Read => (Operation::Read, &facts.real_path),
        Deed::Write | Deed::WriteTree | Deed::MakeFolder if !exists => (Operation::Create, &facts.real_path),
        Deed::Write | Deed::WriteTree | Deed::MakeFolder | Deed::Touch | Deed::Alias => (Operation::Modify, &facts.real_path),
        Deed::Execute => (Operation::Execute, &facts.real_path),
        Deed::Delete | Deed::DeleteTree => (Operation::Delete, &facts.entry_path),
    };
    let location = Location::reported(path.as_deref()?);
    Some(Effect { location, operation, pre_hash: facts.digest })
}
