//! Options for running hooks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::mcp::Question;
use super::record::{HookApproval, HookRecord};
use crate::lookups::Lookups;

type Callback<T> = dyn FnMut(&T) + Send;
type ListenCallback = dyn FnMut(&str, bool) -> Result<(), String> + Send;
type QuestionCallback = dyn FnMut(Question) + Send;
type PromptCallback = dyn Fn(&Prompt) -> Result<PromptOutput, String> + Send + Sync;

/// Options for [`Hooks`](super::Hooks): callbacks, and a function that answers prompts. All of them are optional.
#[derive(Default)]
pub struct Options {
    pub(super) on_record: Option<Box<Callback<HookRecord>>>,
    pub(super) on_approval: Option<Box<Callback<HookApproval>>>,
    pub(super) on_listen: Option<Box<ListenCallback>>,
    pub(super) prompt: Option<Arc<PromptCallback>>,
    pub(super) lookups: Option<Lookups>,
    pub(super) on_question: Option<Box<QuestionCallback>>,
    pub(super) on_tools_changed: Option<Box<dyn FnMut() + Send>>,
    pub(super) compiler: Option<PathBuf>,
}

impl Options {
    /// Creates options without callbacks; prompts are answered by the command that they name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Called whenever the status of a run changes.
    #[must_use]
    pub fn on_record(mut self, callback: impl FnMut(&HookRecord) + Send + 'static) -> Self {
        self.on_record = Some(Box::new(callback));
        self
    }

    /// Called once for every hook of the workspace that needs approval before it can run.
    #[must_use]
    pub fn on_approval(mut self, callback: impl FnMut(&HookApproval) + Send + 'static) -> Self {
        self.on_approval = Some(Box::new(callback));
        self
    }

    /// Called to start (`true`) or stop (`false`) listening for a trigger; returns an error if it cannot be observed.
    #[must_use]
    pub fn on_listen(mut self, callback: impl FnMut(&str, bool) -> Result<(), String> + Send + 'static) -> Self {
        self.on_listen = Some(Box::new(callback));
        self
    }

    /// Sets how concepts are looked up. Default: commands and MCP servers run in the workspace.
    #[must_use]
    pub fn lookups(mut self, lookups: Lookups) -> Self {
        self.lookups = Some(lookups);
        self
    }

    /// Asks a person whether a tool of an MCP server may run. Without it, no one can be asked, and such a call does not run.
    #[must_use]
    pub fn on_question(mut self, ask: impl FnMut(Question) + Send + 'static) -> Self {
        self.on_question = Some(Box::new(ask));
        self
    }

    /// Called when the tools of MCP servers have changed since they were last listed.
    #[must_use]
    pub fn on_tools_changed(mut self, callback: impl FnMut() + Send + 'static) -> Self {
        self.on_tools_changed = Some(Box::new(callback));
        self
    }

    /// Sets the path of `tollgate-compiler`, the program that compiles third-party hooks. Default: the one next to this program,
    /// or else the one in `PATH`.
    #[must_use]
    pub fn compiler(mut self, program: impl Into<PathBuf>) -> Self {
        self.compiler = Some(program.into());
        self
    }

    /// Sets the function that answers prompts. It is called in a thread per prompt and returns an error if it cannot answer.
    #[must_use]
    pub fn prompt(mut self, run: impl Fn(&Prompt) -> Result<PromptOutput, String> + Send + Sync + 'static) -> Self {
        self.prompt = Some(Arc::new(run));
        self
    }
}

/// A prompt of a hook.
#[derive(Debug)]
pub struct Prompt {
    /// The hook's id.
    pub hook: String,
    /// The prompt, with secrets removed.
    pub text: String,
    pub(super) canceled: Arc<AtomicBool>,
}

impl Prompt {
    /// Whether the answer is no longer needed. Long-running code should check this and give up.
    pub fn is_canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed)
    }
}

/// The answer to a prompt, in the form of a program's result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptOutput {
    /// 0 for success.
    pub exit_code: i32,
    /// The answer.
    pub stdout: String,
    /// Error messages.
    pub stderr: String,
}
