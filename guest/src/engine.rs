//! Inputs and commands exchanged between the gate and its host while something takes time.
//!
//! Mirrors `engine.wit`, for everything below the `component` module. Operations and tests write them as JSON: an input by its
//! `type` (`machine`, `event`, `ended`, `found`, `listening`, `cancel`, `reload`, `shutdown`), a command by the `type` of its
//! order.

use serde::Deserialize;
use serde_json::Value;

use crate::augment::{Lookup, LookupAnswer};
use crate::json::{self, object};

/// What the host reports about its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineReport {
    /// The workspace's absolute path.
    pub workspace: String,
    /// The absolute folders in which programs are searched for.
    pub search_path: Vec<String>,
    /// The folder for temporary files.
    pub temporary: Option<String>,
    /// Whether the host runs prompts itself.
    pub runs_prompts: bool,
    /// Whether the host can confine a command to what its intent owns.
    pub confines: bool,
}

/// How a program or a prompt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnding {
    /// It ran.
    Exited {
        /// The exit code; `None` if a signal ended the program.
        code: Option<i32>,
        /// What it wrote to standard output.
        stdout: String,
        /// What it wrote to standard error.
        stderr: String,
        /// Whether either was truncated.
        truncated: bool,
    },
    /// The program, or the prompt runner, is missing.
    Missing,
    /// This file is not the one that was approved.
    Changed(String),
    /// It was canceled.
    Canceled,
    /// It could not be run; the reason.
    Failed(String),
}

/// Something that the host observed.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// What this machine can do and where things are.
    Machine(MachineReport),
    /// An event that hooks may be declared for; no one waits for an answer.
    Event {
        /// Its name.
        name: String,
        /// The session that it belongs to.
        session: Option<String>,
        /// The event's data, one JSON object.
        data: Value,
    },
    /// A program or a prompt has ended.
    Ended {
        /// The command that started it.
        command: u64,
        /// How it ended.
        ending: RunEnding,
    },
    /// A lookup has ended.
    Found {
        /// The command that started it.
        command: u64,
        /// What came back.
        answer: LookupAnswer,
    },
    /// Whether a trigger is listened to.
    Listening {
        /// The trigger.
        trigger: String,
        /// Why it is not, if listening failed.
        failed: Option<String>,
    },
    /// A person cancels a run.
    Cancel(String),
    /// Declarations may have changed.
    Reload,
    /// Start nothing more; what is under way is waited for (true) or canceled.
    Shutdown(bool),
    /// An input of an unknown type.
    Unknown(String),
}

/// A script that runs from a private copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The files to copy, and the digest that each must have.
    pub files: Vec<(String, String)>,
    /// The arguments that are replaced by paths into the copy: the index of each, and the file.
    pub arguments: Vec<(usize, String)>,
    /// Folders in which a private folder may be created, best first.
    pub folders: Vec<String>,
}

/// The environment of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunEnvironment {
    /// The hook it runs for.
    pub hook: String,
    /// The id of the run's record.
    pub run: String,
    /// The working directory, relative to the workspace.
    pub cwd: String,
    /// The variables it inherits.
    pub inherit: Vec<String>,
    /// The variables it is given.
    pub set: Vec<(String, String)>,
    /// How much of each output stream is kept.
    pub output_bytes: u64,
}

/// Marks a program that is to run confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confine {
    /// The session whose intent says what the program may change, if it runs for one.
    pub session: Option<String>,
}

/// An instruction to the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Run a program.
    Run {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The program's standard input.
        stdin: String,
        /// The private copy that it runs from.
        copy: Option<Copy>,
        /// The environment that it runs in.
        surroundings: RunEnvironment,
        /// Whether it is to run confined. The gate writes that into `argv`, so no host is told of it.
        confine: Option<Confine>,
    },
    /// Have a prompt answered.
    Prompt {
        /// The prompt.
        text: String,
        /// The program that answers it if the host does not.
        argv: Vec<String>,
        /// The environment of that program.
        surroundings: RunEnvironment,
    },
    /// Look something up.
    LookUp(Lookup),
    /// Cancel what a command started.
    Cancel(u64),
    /// Answer a request.
    Reply {
        /// The number of the request.
        number: u64,
        /// The answer, to be passed on as it is.
        answer: Vec<u8>,
        /// Why a tool must not run, if it must not.
        refused: Option<String>,
    },
    /// Show the status of a run.
    Record(Value),
    /// Tell a person that a hook waits for approval.
    Approval {
        /// The hook.
        hook: String,
        /// The digest of what would run.
        digest: String,
        /// Its status.
        why: &'static str,
        /// What else a person should know.
        notice: Option<String>,
        /// What a person should see before deciding.
        shows: Value,
    },
    /// Listen to a trigger.
    Listen(String),
    /// Stop listening to it.
    Unlisten(String),
    /// The shutdown is complete.
    Stopped,
}

/// An order, with the number under which its result is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Unique within the instance.
    pub id: u64,
    /// What to do.
    pub order: Order,
}

/// The result of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// The commands to carry out, in this order.
    pub commands: Vec<Command>,
    /// When to step again even if nothing happens.
    pub next_deadline_ms: Option<u64>,
}

impl Input {
    /// Parses an input written as JSON.
    pub fn from_json(input: &Value) -> Self {
        let text = |key: &str| json::text(input, key).map(str::to_owned);
        let number = |key: &str| input.get(key).and_then(Value::as_u64).unwrap_or_default();
        let is = |key: &str| input.get(key) == Some(&Value::Bool(true));
        match json::text(input, "type").unwrap_or_default() {
            "machine" => {
                let folders = input.get("search_path").and_then(Value::as_array).into_iter().flatten();
                Self::Machine(MachineReport {
                    workspace: text("workspace").unwrap_or_default(),
                    search_path: folders.filter_map(|folder| folder.as_str().map(str::to_owned)).collect(),
                    temporary: text("temporary"),
                    runs_prompts: is("runs_prompts"),
                    confines: is("confines"),
                })
            }
            "event" => Self::Event {
                name: text("event").unwrap_or_default(),
                session: text("session"),
                data: input.get("data").cloned().unwrap_or_default(),
            },
            "ended" => Self::Ended { command: number("command"), ending: ending(input) },
            "found" => Self::Found {
                command: number("command"),
                answer: input
                    .get("answer")
                    .and_then(|answer| LookupAnswer::deserialize(answer).ok())
                    .unwrap_or(LookupAnswer::Unavailable),
            },
            "listening" => Self::Listening { trigger: text("trigger").unwrap_or_default(), failed: text("failed") },
            "cancel" => Self::Cancel(text("run").unwrap_or_default()),
            "reload" => Self::Reload,
            "shutdown" => Self::Shutdown(is("drain")),
            other => Self::Unknown(other.to_owned()),
        }
    }
}

fn ending(input: &Value) -> RunEnding {
    let text = |key: &str| json::text(input, key).unwrap_or_default().to_owned();
    match input.get("exit") {
        Some(exit) => RunEnding::Exited {
            code: exit.as_i64().and_then(|code| i32::try_from(code).ok()),
            stdout: text("stdout"),
            stderr: text("stderr"),
            truncated: input.get("truncated") == Some(&Value::Bool(true)),
        },
        None if input.get("changed").is_some() => RunEnding::Changed(text("changed")),
        None if input.get("missing").is_some() => RunEnding::Missing,
        None if input.get("canceled").is_some() => RunEnding::Canceled,
        None => RunEnding::Failed(text("failed")),
    }
}

impl Turn {
    /// The turn as JSON.
    pub fn to_json(&self) -> Value {
        let command = |command: &Command| Value::from(vec![command.id.into(), command.order.to_json()]);
        object(&mut [
            ("commands", self.commands.iter().map(command).collect()),
            ("next_deadline_ms", self.next_deadline_ms.map(Value::from).unwrap_or_default()),
        ])
    }
}

impl Order {
    /// The order as JSON, with its `type`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Run { argv, stdin, copy, surroundings, .. } => {
                let copy = copy.as_ref().map(Copy::to_json).unwrap_or_default();
                let mut fields = vec![("type", "run".into()), ("argv", argv.clone().into()), ("stdin", stdin.as_str().into())];
                fields.push(("copy", copy));
                fields.extend(surroundings.fields());
                object(&mut fields)
            }
            Self::Prompt { text, argv, surroundings } => {
                let mut fields = vec![("type", "prompt".into()), ("prompt", text.as_str().into()), ("argv", argv.clone().into())];
                fields.extend(surroundings.fields());
                object(&mut fields)
            }
            Self::LookUp(lookup) => object(&mut [
                ("type", "look_up".into()),
                ("concept", lookup.concept.as_str().into()),
                ("source", lookup.source.as_str().into()),
                ("request", lookup.request.to_json()),
            ]),
            Self::Cancel(command) => object(&mut [("type", "cancel".into()), ("id", (*command).into())]),
            Self::Reply { number, answer, refused } => object(&mut [
                ("type", "reply".into()),
                ("number", (*number).into()),
                ("answer", serde_json::from_slice(answer).unwrap_or_else(|_| String::from_utf8_lossy(answer).into())),
                ("refused", refused.clone().map(Value::from).unwrap_or_default()),
            ]),
            Self::Record(record) => object(&mut [("type", "record".into()), ("record", record.clone())]),
            Self::Approval { hook, digest, why, notice, shows } => {
                let mut fields = vec![("type", "approval".into()), ("hook", hook.as_str().into())];
                fields.extend([("digest", digest.as_str().into()), ("why", (*why).into()), ("shows", shows.clone())]);
                fields.extend(notice.as_deref().map(|notice| ("notice", notice.into())));
                object(&mut fields)
            }
            Self::Listen(trigger) => object(&mut [("type", "listen".into()), ("trigger", trigger.as_str().into())]),
            Self::Unlisten(trigger) => object(&mut [("type", "unlisten".into()), ("trigger", trigger.as_str().into())]),
            Self::Stopped => object(&mut [("type", "stopped".into())]),
        }
    }
}

impl Copy {
    fn to_json(&self) -> Value {
        let file =
            |(path, digest): &(String, String)| object(&mut [("path", path.as_str().into()), ("digest", digest.as_str().into())]);
        let argument = |(at, path): &(usize, String)| object(&mut [("index", (*at).into()), ("path", path.as_str().into())]);
        object(&mut [
            ("files", self.files.iter().map(file).collect()),
            ("arguments", self.arguments.iter().map(argument).collect()),
            ("folders", self.folders.clone().into()),
        ])
    }
}

impl RunEnvironment {
    fn fields(&self) -> [(&'static str, Value); 6] {
        let set = self.set.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        [
            ("run", self.run.as_str().into()),
            ("hook", self.hook.as_str().into()),
            ("cwd", self.cwd.as_str().into()),
            ("inherit", self.inherit.clone().into()),
            ("set", Value::Object(set)),
            ("output_bytes", self.output_bytes.into()),
        ]
    }
}
