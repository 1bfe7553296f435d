//! Hooks in Claude Code's format: what people already have in `.claude/settings.json` and in plugins.
//!
//! Such a hook is declared with `"format": "claude-code"`, an event by Claude Code's name and a matcher. Whatever program the
//! event comes from, the hook reads the payload that Claude Code would give it, with Claude Code's names for tools and arguments,
//! and its answer is interpreted as Claude Code interprets it.
//!
//! | file | what |
//! | --- | --- |
//! | [`settings`] | declarations as Claude Code writes them, turned into ours |
//! | [`matcher`] | which tools a matcher selects |
//! | [`call`] | a call in Claude Code's terms |
//! | [`payload`] | what a hook reads |
//! | [`answer`] | what its answer means |
//! | [`installed`] | which of the hooks Claude Code runs itself |

pub mod answer;
pub mod call;
pub mod installed;
pub mod matcher;
pub mod payload;
pub mod settings;

use serde_json::Value;

use self::call::ClaudeCall;
use self::matcher::Matcher;
use super::event::Event;
use crate::json;

/// The value of `format` in a declaration.
pub const FORMAT: &str = "claude-code";

/// Claude Code's events that other programs report as well, and our names for them.
const EVENTS: &[(&str, &str)] = &[
    ("PreToolUse", "before_tool"),
    ("PostToolUse", "after_tool"),
    ("PostToolUseFailure", "after_tool"),
    ("UserPromptSubmit", "before_agent"),
    ("SessionStart", "session_start"),
    ("SessionEnd", "session_end"),
    ("Stop", "after_agent"),
];

/// The default timeout of a hook, in milliseconds: Claude Code gives hooks more time than we give our own.
pub const TIMEOUT_MS: u64 = 60_000;

/// What makes a hook one in Claude Code's format.
#[derive(Debug, Clone)]
pub struct Declared {
    /// The event, by Claude Code's name.
    pub event: &'static str,
    /// The tools, or the kinds of sessions, that it is about.
    pub matcher: Matcher,
    /// The file that it was taken over from, if Claude Code itself reads it.
    pub from: Option<String>,
    /// Whether the hook stops what was about to happen if it fails.
    pub blocks_on_failure: bool,
}

/// Claude Code's event of this name, and our name for it.
pub fn event(name: &str) -> Option<(&'static str, &'static str)> {
    EVENTS.iter().copied().find(|(known, _)| *known == name)
}

/// The names of the supported events, for messages.
pub fn events() -> String {
    EVENTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl Declared {
    /// Whether the hook waits for an event, given the event's calls.
    pub fn fits(&self, event: &Event, calls: &[ClaudeCall]) -> bool {
        let text = |key: &str| json::text(&event.data, key).unwrap_or_default();
        let status = text("status");
        match self.event {
            "PostToolUse" if status != "done" && event.data.get("success") != Some(&Value::Bool(true)) => false,
            "PostToolUseFailure" if status != "failed" => false,
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => self.parts(calls).next().is_some(),
            "SessionStart" => self.matcher.selects(text("source")),
            "SessionEnd" => self.matcher.selects(text("reason")),
            _ => true,
        }
    }

    /// Which calls of an event the hook is about, by index.
    pub fn parts(&self, calls: &[ClaudeCall]) -> impl Iterator<Item = usize> {
        calls.iter().enumerate().filter(|(_, call)| self.matcher.selects(&call.name)).map(|(at, _)| at)
    }

    /// Whether it is about tool calls.
    pub fn is_about_tools(&self) -> bool {
        matches!(self.event, "PreToolUse" | "PostToolUse" | "PostToolUseFailure")
    }
}
