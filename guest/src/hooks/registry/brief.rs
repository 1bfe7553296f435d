//! A summary of a hooks file, cached so that a process that needs none of its hooks does not parse it.
//!
//! A process answers one event, and a file may declare a thousand hooks for others. What is kept are the events that hooks wait
//! for and whether a hook is a component, for the version of the file that was parsed ([`kept`]). A file with a fault is never
//! kept.

use crate::hooks::declaration::{Action, Hook};
use crate::ports::{Facts, Ports, Question};
use crate::state::kept::{self, KeptFile};
use crate::state::record::{RecordReader, RecordWriter};

/// What the hooks of one file wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Brief {
    /// The triggers of hooks that are enabled, each once.
    pub(super) triggers: Vec<String>,
    /// Whether one of the hooks is a component, which is called around every tool call.
    pub(super) has_components: bool,
}

impl Brief {
    /// What these hooks wait for.
    pub(super) fn of<'h>(hooks: impl Iterator<Item = &'h Hook> + Clone) -> Self {
        let mut triggers: Vec<String> = Vec::new();
        for hook in hooks.clone().filter(|hook| hook.enabled) {
            if !triggers.contains(&hook.trigger) {
                triggers.push(hook.trigger.clone());
            }
        }
        Self { triggers, has_components: hooks.clone().any(|hook| matches!(hook.action, Action::Component(_))) }
    }

    /// Reads the brief that was kept for this version of a file.
    pub(super) fn open(name: &str, file: &Facts, ports: &Ports) -> Option<Self> {
        let kept = KeptFile::open(name, file, ports)?;
        let mut front = RecordReader(kept.front());
        Some(Self { has_components: front.number()? == 1, triggers: front.texts()? })
    }

    /// Keeps the brief of a file that was read after the host reported these facts, unless the file changed since. When it was
    /// read, it could no longer [change unnoticed](kept::may_change_unnoticed).
    pub(super) fn keep(&self, name: &str, question: Question, file: &Facts, ports: &Ports) {
        let is_kept = Self::open(name, file, ports).as_ref() == Some(self);
        if is_kept || ports.workspace.inspect(&[question]).first() != Some(file) {
            return;
        }
        let mut front = RecordWriter::default();
        front.number(usize::from(self.has_components)).texts(self.triggers.iter().map(String::as_str));
        if let Err(fault) = kept::keep(name, file, &front.into_bytes(), &[], ports) {
            ports.warn(&format!("`kept/{name}` in the state folder cannot be written, so hooks are parsed again: {fault}"));
        }
    }
}
