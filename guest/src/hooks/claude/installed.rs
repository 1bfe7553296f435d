//! Finds out which hooks Claude Code runs itself, so that they do not run twice there.

use serde_json::Value;

use super::settings;
use crate::hooks::declaration::Hook;
use crate::ports::{Facts, FileKind, Ports, Question, Root};

/// Maximum size of a file; a larger one is a mistake.
const MAX_BYTES: u64 = 4 << 20;

/// The files that Claude Code reads hooks from, as `from` names them.
pub const FILES: [&str; 3] = [".claude/settings.json", ".claude/settings.local.json", "~/.claude/settings.json"];

/// The content of those files, read once and kept until they change.
#[derive(Debug, Default)]
pub struct Installed {
    stamps: [u64; 3],
    declared: [Vec<Value>; 3],
}

/// The root and the path of a file.
pub fn place(file: &str) -> (Root, &str) {
    file.strip_prefix("~/").map_or((Root::Project, file), |path| (Root::Home, path))
}

impl Installed {
    /// Reads the files that have changed.
    pub fn refresh(&mut self, ports: &Ports) {
        let question = |file: &str| {
            let (root, path) = place(file);
            Question { root, path: path.to_owned(), digest: false }
        };
        let stamp = |facts: &Facts| if facts.kind == FileKind::File { facts.stamp } else { 0 };
        let looked_at = ports.workspace.inspect(&FILES.map(question));
        let slots = FILES.iter().zip(self.stamps.iter_mut().zip(&mut self.declared));
        for ((file, (kept, declared)), facts) in slots.zip(&looked_at) {
            if *kept == stamp(facts) {
                continue;
            }
            *kept = stamp(facts);
            let (root, path) = place(file);
            let text = ports.workspace.read(root, path, MAX_BYTES).unwrap_or_default();
            let handlers = settings::read(&text).unwrap_or_default();
            *declared = handlers.into_iter().filter_map(|handler| handler.taken.ok()).collect();
        }
    }

    /// Whether the file that a hook was taken over from still declares it.
    pub fn has(&self, hook: &Hook) -> bool {
        let Some(from) = hook.claude.as_ref().and_then(|claude| claude.from.as_deref()) else { return false };
        let Some(at) = FILES.iter().position(|file| *file == from) else { return false };
        let same = |declared: &Value| is_same(declared, &hook.written);
        self.declared.get(at).is_some_and(|declared| declared.iter().any(same))
    }
}

/// Whether two declarations have the same event, matcher and command.
pub fn is_same(one: &Value, other: &Value) -> bool {
    let event = |declared: &Value| declared.get("trigger").or_else(|| declared.get("event")).cloned();
    let matcher = |declared: &Value| declared.get("matcher").and_then(Value::as_str).unwrap_or_default().to_owned();
    event(one) == event(other) && matcher(one) == matcher(other) && one.get("command") == other.get("command")
}
