//! Hook declarations: one entry of `hooks.json`.

mod fields;
mod reader;

use std::rc::Rc;

use serde_json::Value;

use super::bundle;
use super::claude::Declared;
use super::claude::call::ClaudeCall;
use super::components::grant::Allowed;
use super::event;
use super::owner::Owner;
use super::settings::MAX_TIMEOUT_MS;
use crate::glob::Glob;
use crate::json::position::PathStep;
use crate::redact::Pattern;
pub(crate) use fields::FieldReader;
pub use reader::{read, read_one};

/// The trigger of a component that is called around every tool call.
pub const ANY_CALL: &str = "tool_call";

/// A hook.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Its id, by which people refer to it.
    pub id: String,
    /// The event that it waits for.
    pub trigger: String,
    /// The files, or the tools, that it is about.
    pattern: Option<Glob>,
    /// What it does.
    pub action: Action,
    /// Whether it is declared as enabled.
    pub enabled: bool,
    /// How many of its runs may be in progress at once.
    pub concurrency: usize,
    /// How long one run may take, if the declaration says so.
    pub timeout_ms: Option<u64>,
    /// What happens when it fails.
    pub retry: Retry,
    /// How long a file must stay unchanged before the hook runs.
    pub debounce_ms: u64,
    /// The repository whose commits it waits for.
    repo_root: Option<String>,
    /// Patterns of secrets that it must not reveal, besides common ones.
    pub secrets: Vec<Pattern>,
    /// The files that its script needs, if it names them.
    pub files: Option<Vec<bundle::FilePattern>>,
    /// How much its component may have of what it asks for.
    pub allowed: Allowed,
    /// The settings of its component.
    pub settings: Option<Value>,
    /// Whether its program is confined to the scope of the session's intent.
    pub confine: bool,
    /// What makes it a hook in Claude Code's format.
    pub claude: Option<Declared>,
    /// The extension that it comes with, if any.
    pub owner: Option<Rc<Owner>>,
    /// The declaration as it was written.
    pub written: Value,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Runs a program.
    Command {
        /// Its words; a shell command is a single one.
        words: Vec<String>,
        /// Whether a shell runs them.
        shell: bool,
    },
    /// Asks a model.
    Prompt(String),
    /// Calls a component.
    Component(String),
}

impl Action {
    /// Its name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::Prompt(_) => "prompt",
            Self::Component(_) => "component",
        }
    }
}

/// What happens when a hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often it is retried.
    pub count: u64,
    /// How long to wait before the first retry.
    pub backoff_ms: u64,
    /// The factor from one wait to the next, in thousandths.
    pub factor_thousandths: u64,
    /// Whether waits are shortened at random, so that not all hooks retry at the same time.
    pub jitter: bool,
}

impl Retry {
    /// How long to wait after this many attempts; `chance` decides how much of the wait is left out.
    pub fn wait_ms(&self, attempts: u64, chance: u64) -> u64 {
        let mut wait = self.backoff_ms;
        for _ in 1..attempts.min(64) {
            wait = wait.saturating_mul(self.factor_thousandths) / 1_000;
            if wait >= MAX_TIMEOUT_MS {
                break;
            }
        }
        let wait = wait.min(MAX_TIMEOUT_MS);
        if self.jitter { wait - chance % (wait / 2 + 1) } else { wait }
    }
}

/// Something wrong with a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclarationFault {
    /// Where in the declaration it is.
    pub path: Vec<PathStep>,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl Hook {
    /// Whether the hook waits for an event; `calls` are those of the event in Claude Code's terms, if they matter.
    pub fn fits(&self, event: &event::Event, calls: &[ClaudeCall]) -> bool {
        // Components are called about tool calls themselves, not about the events.
        let is_call = matches!(self.action, Action::Component(_)) && matches!(&*event.name, "before_tool" | "after_tool");
        if *self.trigger != *event.name || is_call {
            return false;
        }
        if let Some(claude) = &self.claude {
            return claude.fits(event, calls);
        }
        let selected = match (&self.pattern, event.subject()) {
            (Some(pattern), Some(subject)) => pattern.matches(subject),
            _ => true,
        };
        let own_repository = self.repo_root.as_deref().is_none_or(|root| {
            !event::is_git(&self.trigger) || plain(root) == plain(crate::json::text(&event.data, "repo_root").unwrap_or_default())
        });
        selected && own_repository
    }

    /// Whether the hook is about a tool.
    pub fn is_about(&self, tool: &str) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(tool))
    }
}

/// Normalizes a folder for comparison.
fn plain(folder: &str) -> &str {
    let folder = folder.strip_prefix("./").unwrap_or(folder).trim_end_matches('/');
    if folder == "." { "" } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow() {
        let retry = Retry { count: 5, backoff_ms: 1_000, factor_thousandths: 2_000, jitter: false };
        assert_eq!([1, 2, 3, 4].map(|attempts| retry.wait_ms(attempts, 7)), [1_000, 2_000, 4_000, 8_000]);
        assert_eq!(retry.wait_ms(u64::MAX, 0), MAX_TIMEOUT_MS);
        let jitter = Retry { jitter: true, ..retry };
        assert!((500..=1_000).contains(&jitter.wait_ms(1, 12_345)));
    }
}
