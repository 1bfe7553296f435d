//! What an embedder gives to its hooks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::record::{HookApproval, HookRecord};
use crate::lookups::Lookups;

type Told<T> = dyn FnMut(&T) + Send;
type Listens = dyn FnMut(&str, bool) -> Result<(), String> + Send;
type Prompts = dyn Fn(&Prompt) -> Result<PromptOutput, String> + Send + Sync;

/// What an embedder gives to its [`Hooks`](super::Hooks): who is told what happens, and who runs prompts. All of it can be
/// left out.
#[derive(Default)]
pub struct Options {
    pub(super) on_record: Option<Box<Told<HookRecord>>>,
    pub(super) on_approval: Option<Box<Told<HookApproval>>>,
    pub(super) on_listen: Option<Box<Listens>>,
    pub(super) prompt: Option<Arc<Prompts>>,
    pub(super) lookups: Option<Lookups>,
    pub(super) compiler: Option<PathBuf>,
}

impl Options {
    /// Nobody is told anything, and prompts are run by the command that they name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Called whenever a run changes its status.
    #[must_use]
    pub fn on_record(mut self, told: impl FnMut(&HookRecord) + Send + 'static) -> Self {
        self.on_record = Some(Box::new(told));
        self
    }

    /// Called once for every hook of the workspace that wants to run and that nobody has approved as it is.
    #[must_use]
    pub fn on_approval(mut self, told: impl FnMut(&HookApproval) + Send + 'static) -> Self {
        self.on_approval = Some(Box::new(told));
        self
    }

    /// Is asked to listen to a trigger (true) or no longer (false); says why it cannot.
    #[must_use]
    pub fn on_listen(mut self, listens: impl FnMut(&str, bool) -> Result<(), String> + Send + 'static) -> Self {
        self.on_listen = Some(Box::new(listens));
        self
    }

    /// Who is asked about the concepts that calls name. Without it, commands and MCP servers are run in the workspace.
    #[must_use]
    pub fn lookups(mut self, lookups: Lookups) -> Self {
        self.lookups = Some(lookups);
        self
    }

    /// The `tollgate` command that compiles hooks of third parties, in a process of its own. Without it, this program where it is that
    /// command, else the one that is found in `PATH`.
    #[must_use]
    pub fn compiler(mut self, program: impl Into<PathBuf>) -> Self {
        self.compiler = Some(program.into());
        self
    }

    /// Runs prompts, each in a thread of its own; says why it could not.
    #[must_use]
    pub fn prompt(mut self, run: impl Fn(&Prompt) -> Result<PromptOutput, String> + Send + Sync + 'static) -> Self {
        self.prompt = Some(Arc::new(run));
        self
    }
}

/// A prompt that a hook wants run.
#[derive(Debug)]
pub struct Prompt {
    /// The hook's id.
    pub hook: String,
    /// What to ask, without secrets.
    pub text: String,
    pub(super) canceled: Arc<AtomicBool>,
}

impl Prompt {
    /// Whether nobody waits for an answer any more. A long run asks now and then, and gives up.
    pub fn is_canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed)
    }
}

/// What came of a prompt, in the terms of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptOutput {
    /// 0 for success.
    pub exit_code: i32,
    /// What it answered.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}
