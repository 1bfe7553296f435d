//! Third-party hooks that are components: which are called with what, which answers count, what is recorded.
//!
//! | file | what |
//! | --- | --- |
//! | `binary` | the outer layer of a component's bytes: what it imports, what it exports, its manifest |
//! | `inspection` | whether a component can be a hook at all, and what it is |
//! | `manifest`, `schema` | what it asks for, and whether settings fit it |
//! | `features` | features of core modules that not every host runs alike |
//! | `grant` | what it is granted: what it asks for, as far as that is allowed |
//! | `files` | the files that it was granted |
//! | `approved` | the hook as a person approved it |
//! | `feedback` | collects the answers of all third-party hooks about one call |
//! | `faults` | hooks that fail repeatedly are no longer called |
//! | `sanitize` | sanitises what hooks say before models and people see it |
//!
//! A hook can object, remark and add. Nothing that it returns is executed, and it cannot allow a call.

pub mod approved;
pub mod binary;
pub mod faults;
pub mod features;
pub mod feedback;
pub mod files;
pub mod grant;
pub mod inspection;
pub mod manifest;
pub mod sanitize;
pub mod schema;

use crate::effects::Operation;

/// The version of the contract that hooks implement.
pub const CONTRACT: &str = "0.2.0";

/// The custom section that holds a hook's manifest.
pub const MANIFEST_SECTION: &str = "tollgate:hook";

/// Maximum size of a component.
pub const MAX_COMPONENT_BYTES: u64 = 32 << 20;

/// The folder in the home folder that holds the bytes of approved components.
pub const KEPT: &str = ".tollgate/components";

/// What a hook is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `augment.apply`.
    Augment,
    /// `pre-tool.check`.
    PreTool,
    /// `post-tool.settle`.
    PostTool,
    /// `events.handle`.
    Events,
}

impl Function {
    /// All of them, in the order in which they apply to a call.
    pub const ALL: [Self; 4] = [Self::Augment, Self::PreTool, Self::PostTool, Self::Events];

    /// The interface that exports it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Augment => "augment",
            Self::PreTool => "pre-tool",
            Self::PostTool => "post-tool",
            Self::Events => "events",
        }
    }

    /// The event at which it is called; `None` if it is called at any other event.
    pub fn trigger(self) -> Option<&'static str> {
        match self {
            Self::Augment | Self::PreTool => Some("before_tool"),
            Self::PostTool => Some("after_tool"),
            Self::Events => None,
        }
    }
}

/// A tool call as hooks see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The session that makes it.
    pub session: String,
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments: one JSON object.
    pub args: String,
    /// The effects that it would have.
    pub effects: Vec<(String, Operation)>,
    /// Whether `effects` is complete.
    pub complete: bool,
    /// What else is known, as one JSON object.
    pub facts: String,
}

/// How a call ended, as hooks see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// It ran; its result, if it is known.
    Done(Option<String>),
    /// It ran and failed.
    Failed(String),
    /// It did not run.
    Refused(String),
}

/// What hooks are called about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A call, before the gate rules on it.
    Augment(Call),
    /// A call that the gate has ruled on.
    PreTool(Call),
    /// A call that has ended.
    PostTool(Call, ToolOutcome),
    /// Any other event.
    Event {
        /// Its name.
        name: String,
        /// Its session.
        session: Option<String>,
        /// Its data, as one JSON object.
        data: String,
    },
}

impl Subject {
    /// The function that is called with it.
    pub fn function(&self) -> Function {
        match self {
            Self::Augment(_) => Function::Augment,
            Self::PreTool(_) => Function::PreTool,
            Self::PostTool(..) => Function::PostTool,
            Self::Event { .. } => Function::Events,
        }
    }
}

/// The limits of one call of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processor time of one call.
    pub cpu_ms: u32,
    /// Elapsed time of one call.
    pub wall_ms: u32,
    /// Elapsed time of starting an instance and its first call.
    pub start_ms: u32,
    /// All linear memories together.
    pub memory_bytes: u64,
    /// Bytes that cross to the host in one call.
    pub lifted_bytes: u64,
    /// Bytes read from files in one call.
    pub read_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_ms: 50, wall_ms: 250, start_ms: 400, memory_bytes: 64 << 20, lifted_bytes: 1 << 20, read_bytes: 4 << 20 }
    }
}

/// One hook to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentQuestion {
    /// The hook's id.
    pub hook: String,
    /// The digest of the approved component.
    pub component: String,
    /// The files that it may read: those that match a glob of every list.
    pub files: Vec<Vec<String>>,
    /// Its settings, as one JSON object.
    pub settings: String,
    /// The limits of the call.
    pub limits: Limits,
}

/// Hooks to call about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Unique within the instance.
    pub number: u64,
    /// What they are called about.
    pub subject: Subject,
    /// The hooks.
    pub questions: Vec<ComponentQuestion>,
}

/// How strongly a hook objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectionSeverity {
    /// A person should decide.
    Ask,
    /// The call must not run.
    Deny,
}

impl ObjectionSeverity {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The result of calling one hook, as the host reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComponentReply {
    /// It has nothing to say.
    Nothing,
    /// What it adds to a call.
    Advice {
        /// What the agent should be told.
        note: Option<String>,
        /// Other arguments, as JSON.
        args: Option<String>,
    },
    /// An objection to a call.
    Objection {
        /// How strongly.
        severity: ObjectionSeverity,
        /// The code, for programs.
        code: String,
        /// The reason, for people.
        reason: String,
    },
    /// A remark about a result.
    Remark {
        /// The code, for programs.
        code: String,
        /// The remark, for people.
        text: String,
        /// Whether the result should be withheld from the agent.
        withhold: bool,
    },
    /// A reaction to an event.
    Reaction {
        /// Whether what the event reports should not happen.
        stop: bool,
        /// The message that is shown.
        message: Option<String>,
    },
    /// Its settings cannot be used, in its own words.
    UnusableSettings(String),
    /// It failed, in its own words.
    Failed(String),
    /// It trapped, ran out of something or broke the contract.
    Broke(String),
    /// Its time was up.
    Late,
    /// It cannot be called yet, or not at all.
    Absent(String),
}

/// The answer of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentAnswer {
    /// The hook.
    pub hook: String,
    /// Its result.
    pub reply: ComponentReply,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// What it logged and printed: level and text.
    pub log: Vec<(String, String)>,
}
