//! Whose hooks run unasked: built-in ones and the user's own. A workspace's run once a person has approved exactly them.
//!
//! The approval is a digest over everything that decides what runs: the declaration, the program behind its first word, the
//! bytes of the script. It is kept per workspace in the user's home folder, where no workspace can write.

use serde_json::Value;

use super::declaration::{Action, Hook};
use super::program::{self, Machine, Program};
use crate::digest::Digest;
use crate::json::{self, object};
use crate::ports::{Expectation, FileFault, Kind, Ports, Question, Root};

/// Where approvals are kept, below the home folder.
pub const PATH: &str = ".tollgate/trusted-hooks.json";

/// Held while they are changed.
const LOCK: &str = ".tollgate/trusted-hooks.lock";

/// Nobody holds it longer, unless they were killed.
const LOCK_MS: u64 = 10_000;

/// A larger file is a mistake.
const MOST_BYTES: u64 = 32 << 20;

/// What a hook would run, and the digest that stands for it.
#[derive(Debug, Clone)]
pub struct Deed {
    /// The program; none for prompts and components.
    pub program: Option<Program>,
    /// Of everything that decides what runs.
    pub digest: Digest,
    /// The same, to show.
    pub shows: Value,
}

/// Whether a hook may run.
#[derive(Debug, Clone, PartialEq)]
pub enum Trust {
    /// A person has approved exactly this.
    Approved,
    /// Nobody has approved it yet.
    New,
    /// It is no longer what was approved: that was shown then.
    Changed(Value),
}

impl Trust {
    /// What it is called.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::New => "new",
            Self::Changed(_) => "changed",
        }
    }
}

/// What a hook would run now; a text says why that cannot be told.
pub fn deed(hook: &Hook, machine: &Machine, ports: &Ports) -> Result<Deed, String> {
    let program = match &hook.action {
        Action::Command { words, shell } => Some(program::find(words, *shell, machine, ports)?),
        Action::Prompt(_) | Action::Component(_) => None,
    };
    let mut declaration = hook.written.clone();
    if let Some(fields) = declaration.as_object_mut() {
        // Neither decides what runs.
        fields.shift_remove("enabled");
        fields.shift_remove("metadata");
    }
    let mut shows = object(&mut [("declaration", declaration)]);
    if let (Some(shown), Some(fields)) = (program.as_ref().map(Program::shown), shows.as_object_mut()) {
        fields.extend(shown.as_object().cloned().unwrap_or_default());
    }
    let digest = Digest::of(shows.to_string().as_bytes());
    Ok(Deed { program, digest, shows })
}

/// The approvals, read once and kept until the file changes.
#[derive(Debug, Default)]
pub struct Approvals {
    stamp: u64,
    kept: Value,
}

impl Approvals {
    /// Whether exactly this was approved in this workspace.
    pub fn trust(&mut self, hook: &Hook, deed: &Deed, machine: &Machine, ports: &Ports) -> Trust {
        self.refresh(ports);
        match position(&self.kept, &hook.id, machine).and_then(|at| self.kept.get("approvals")?.get(at)) {
            Some(approval) if json::text(approval, "digest") == Some(&deed.digest.to_string()) => Trust::Approved,
            Some(approval) => Trust::Changed(approval.get("shows").cloned().unwrap_or_default()),
            None => Trust::New,
        }
    }

    fn refresh(&mut self, ports: &Ports) {
        let question = Question { root: Root::Home, path: PATH.to_owned(), digest: false };
        let facts = ports.workspace.inspect(&[question]);
        let stamp = facts.first().map_or(0, |facts| if facts.kind == Kind::Missing { 0 } else { facts.stamp });
        if stamp != self.stamp {
            self.stamp = stamp;
            let text = ports.workspace.read(Root::Home, PATH, MOST_BYTES).unwrap_or_default();
            self.kept = serde_json::from_slice(&text).unwrap_or_default();
            if self.kept.is_null() && stamp != 0 {
                ports.warn(&format!("`~/{PATH}` cannot be read, so no hook of a workspace is approved; mend or remove it"));
            }
        }
    }
}

fn position(kept: &Value, id: &str, machine: &Machine) -> Option<usize> {
    let approvals = kept.get("approvals")?.as_array()?;
    let is_it = |approval: &Value| {
        json::text(approval, "hook") == Some(id) && json::text(approval, "workspace") == Some(&machine.workspace)
    };
    approvals.iter().position(is_it)
}

/// Keeps an approval, or takes it back where there is no deed. Says whether there was anything to take back.
pub fn keep(id: &str, deed: Option<&Deed>, machine: &Machine, ports: &Ports) -> Result<bool, String> {
    lock(ports)?;
    let changed = change(id, deed, machine, ports);
    let _ = ports.records.remove(Root::Home, LOCK);
    changed
}

fn lock(ports: &Ports) -> Result<(), String> {
    let now = ports.clock.now().0;
    for _ in 0..2 {
        match ports.records.replace(Root::Home, LOCK, now.to_string().as_bytes(), Expectation::Absent) {
            Ok(()) => return Ok(()),
            Err(FileFault::Exists) => {}
            Err(fault) => return Err(format!("`~/{PATH}` cannot be written: {fault}")),
        }
        let held = ports.workspace.read(Root::Home, LOCK, 64).unwrap_or_default();
        let since: u64 = String::from_utf8(held).ok().and_then(|held| held.parse().ok()).unwrap_or(0);
        if now.abs_diff(since) < LOCK_MS {
            break;
        }
        let _ = ports.records.remove(Root::Home, LOCK);
    }
    Err(format!("`~/{PATH}` is being changed by somebody else; try again"))
}

fn change(id: &str, deed: Option<&Deed>, machine: &Machine, ports: &Ports) -> Result<bool, String> {
    let (mut kept, expected) = match ports.workspace.read(Root::Home, PATH, MOST_BYTES) {
        Ok(text) => {
            let kept: Value =
                serde_json::from_slice(&text).map_err(|fault| format!("`~/{PATH}` is no JSON, so it is left alone: {fault}"))?;
            (kept, Expectation::Digest(Digest::of(&text)))
        }
        Err(FileFault::Missing) => (Value::Null, Expectation::Absent),
        Err(fault) => return Err(format!("`~/{PATH}` cannot be read: {fault}")),
    };
    if !kept.get("approvals").is_some_and(Value::is_array) {
        kept = object(&mut [("schemaVersion", 1.into()), ("approvals", Value::Array(Vec::new()))]);
    }
    let at = position(&kept, id, machine);
    let Some(approvals) = kept.get_mut("approvals").and_then(Value::as_array_mut) else { return Ok(false) };
    if let Some(at) = at {
        approvals.remove(at);
    }
    if let Some(deed) = deed {
        let mut shows = deed.shows.clone();
        let script = deed.program.as_ref().and_then(|program| program.script.as_ref());
        let text = script.and_then(|(_, path, digest)| program::script_text(path, *digest, ports));
        if let (Some(text), Some(fields)) = (text, shows.as_object_mut()) {
            fields.insert("script_text".to_owned(), text.into());
        }
        approvals.push(object(&mut [
            ("workspace", machine.workspace.as_str().into()),
            ("hook", id.into()),
            ("digest", deed.digest.to_string().into()),
            ("approved", ports.clock.now().to_string().into()),
            ("shows", shows),
        ]));
    } else if at.is_none() {
        return Ok(false);
    }
    let text = format!("{kept:#}\n");
    match ports.records.replace(Root::Home, PATH, text.as_bytes(), expected) {
        Ok(()) => Ok(at.is_some()),
        Err(fault) => Err(format!("`~/{PATH}` cannot be written: {fault}")),
    }
}
