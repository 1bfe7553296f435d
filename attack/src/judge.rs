//! Checks a command with the native gate, on an in-memory copy of the world.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::json;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

use crate::tree::{Change, Node, Tree};

/// The gate's answer.
#[derive(Debug, Clone, Deserialize)]
pub struct Answer {
    /// `allow`, `ask` or `deny`.
    #[serde(default)]
    pub verdict: String,
    /// The code, for programs.
    #[serde(default)]
    pub code: String,
    /// The reason, for people.
    #[serde(default)]
    pub reason: String,
    /// The effects of the command.
    #[serde(default)]
    pub effects: Vec<Effect>,
}

/// One effect of a command, according to the gate.
#[derive(Debug, Clone, Deserialize)]
pub struct Effect {
    /// Relative inside the workspace, otherwise absolute.
    pub path: String,
    /// `read`, `create`, `modify`, `delete` or `execute`.
    pub operation: String,
}

impl Answer {
    /// Whether the command may run.
    pub fn allows(&self) -> bool {
        self.verdict == "allow"
    }

    /// Whether the gate reported a program with unknown effects.
    pub fn runs_a_program(&self) -> bool {
        self.effects.iter().any(|effect| effect.operation == "execute")
    }

    /// Whether a change to a path was reported.
    pub fn covers(&self, path: &str) -> bool {
        let below = |path: &str, folder: &str| {
            folder == "." && !path.starts_with('/') || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        self.effects.iter().filter(|effect| !matches!(effect.operation.as_str(), "read" | "execute")).any(|effect| {
            // A folder covers what is in it, and a new file covers the folders that it needs.
            effect.path == path || below(path, &effect.path) || (effect.operation == "create" && below(&effect.path, path))
        })
    }
}

/// A gate on an in-memory world, with INT-001 selected.
pub struct Judge {
    memory: Rc<Memory>,
    gate: Gate,
    calls: usize,
}

impl Judge {
    /// Creates a gate on a tree. `programs` are those of the machine; the ones that occur in `text` are added to the world.
    pub fn new(tree: &Tree, programs: &BTreeMap<String, String>, text: &str) -> Self {
        let memory = Memory::new();
        let mut names: BTreeMap<u64, &str> = BTreeMap::new();
        for (path, node) in &tree.0 {
            match node {
                Node::Folder { .. } => memory.mkdir(path),
                Node::Link { target } => memory.symlink(target, path),
                Node::File { content, identity, .. } => match names.get(identity) {
                    Some(first) if *identity != 0 => memory.hardlink(first, path),
                    _ => {
                        names.insert(*identity, path);
                        memory.write(path, content);
                    }
                },
                Node::Other => memory.hardlink("/nowhere", path),
            }
        }
        machine(&memory, programs, text);
        let mut gate = Gate::new(memory.ports());
        perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"INT-001"}"#);
        Self { memory, gate, calls: 0 }
    }

    /// Checks a command.
    pub fn rule(&mut self, command: &str) -> Answer {
        self.calls += 1;
        let line = self.request_line("pre-tool", command);
        let answer = perform(&mut self.gate, line.as_bytes());
        let unreadable = |_| Answer { verdict: String::new(), code: answer.clone(), reason: String::new(), effects: Vec::new() };
        serde_json::from_str(&answer).unwrap_or_else(unreadable)
    }

    /// Reports that the command has run, after applying its changes to the world.
    pub fn settle(&mut self, command: &str, changes: &[Change]) {
        for Change { path, after, .. } in changes {
            self.memory.delete(path);
            match after {
                None => {}
                Some(Node::Folder { .. }) => self.memory.mkdir(path),
                Some(Node::Link { target }) => self.memory.symlink(target, path),
                Some(Node::File { content, .. }) => self.memory.write(path, content),
                Some(Node::Other) => self.memory.hardlink("/nowhere", path),
            }
        }
        let line = self.request_line("post-tool", command);
        perform(&mut self.gate, line.as_bytes());
    }

    fn request_line(&self, operation: &str, command: &str) -> String {
        let call = format!("c{}", self.calls);
        let args = json!({"command": command});
        json!({"op": operation, "session": "s", "call": call, "tool": "bash", "args": args, "success": true}).to_string()
    }
}

/// The parts of the machine that a command may use: programs, devices, temporary folders.
fn machine(memory: &Memory, programs: &BTreeMap<String, String>, text: &str) {
    for (target, path) in [("usr/bin", "/bin"), ("usr/sbin", "/sbin"), ("usr/lib", "/lib"), ("usr/lib64", "/lib64")] {
        memory.symlink(target, path);
    }
    for (target, path) in [("/proc/self/fd", "/dev/fd"), ("/proc/self/fd/0", "/dev/stdin"), ("/proc/self/fd/1", "/dev/stdout")] {
        memory.symlink(target, path);
    }
    for folder in ["/tmp", "/var/tmp", "/usr/bin", "/proc/self/fd", "/root"] {
        memory.mkdir(folder);
    }
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
        memory.hardlink("/nowhere", device);
    }
    for name in text.split(|letter: char| !letter.is_alphanumeric() && !"-_.+".contains(letter)) {
        if let Some(path) = programs.get(name) {
            memory.write(path, "program");
        }
    }
}
