//! Third-party hooks: components that are called within limits and with access only to what they were granted.
//!
//! The gate decides which hooks are called with what, and what their answers mean; this module calls them. They run in a separate
//! engine, from the bytes that a person approved, which are stored in the user's home folder. Processor time, elapsed time,
//! memory, tables, data passed to the host, log lines and file reads are limited. WASI is only stubbed. After any fault, the
//! instance is discarded.
//!
//! | file | contents |
//! | --- | --- |
//! | `engine` | the engine, and components loaded into it |
//! | `instance` | one hook's instance, and calls of its functions |
//! | `limits` | time and memory |
//! | `hook_host` | settings, files, log |
//! | `wasi` | stubs for WASI |
//! | `cache` | approved bytes and native code in the user's home folder |
//! | `compiler_limits` | constants that this program and `tollgate-compiler` share |
//! | `compiling` | compiling components with `tollgate-compiler`, in a separate process |
//! | `wire` | calls as JSON lines, for hosts in another process |

mod cache;
mod compiler_limits;
mod compiling;
mod engine;
mod hook_host;
mod instance;
mod limits;
mod wasi;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::bindings::third_party::exports::tollgate::hooks::components::{Answer, Line, Question, Reply, Round};
use crate::files::Files;
pub use cache::Cache;
pub use compiling::{CompileError, compile_in_background, compile_now};
use engine::{HookEngine, LoadedComponent};
use instance::HookInstance;
pub use wire::{HookAnswers, HookRound, Runner};

/// Calls third-party hooks in one workspace.
pub(crate) struct Components {
    files: Arc<Files>,
    compiler: Option<PathBuf>,
    engine: Option<HookEngine>,
    /// Running instances by hook id, each with the question that it was started for.
    instances: HashMap<String, (Question, HookInstance)>,
}

impl Components {
    pub(crate) fn new(files: Arc<Files>, compiler: Option<PathBuf>) -> Self {
        Self { files, compiler, engine: None, instances: HashMap::new() }
    }

    /// Calls the hooks of a round one after the other.
    pub(crate) fn call(&mut self, round: &Round) -> Vec<Answer> {
        let answer = |question: &Question| {
            let start = Instant::now();
            let (reply, log) = self.call_one(question, round);
            let took_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
            Answer { hook: question.hook.clone(), reply, took_us, log }
        };
        round.questions.iter().map(answer).collect()
    }

    fn call_one(&mut self, question: &Question, round: &Round) -> (Reply, Vec<Line>) {
        // An instance belongs to one component with one set of settings and grants.
        let kept = self.instances.remove(&question.hook).filter(|(known, _)| is_same(known, question));
        let mut instance = match kept {
            Some((_, instance)) => instance,
            None => match self.start(question) {
                Ok(instance) => instance,
                Err(refused) => return *refused,
            },
        };
        let reply = instance.call(&round.subject, &question.limits);
        let log = instance.take_log();
        if instance.is_usable() {
            self.instances.insert(question.hook.clone(), (question.clone(), instance));
        }
        (reply, log)
    }

    fn start(&mut self, question: &Question) -> Result<HookInstance, Box<(Reply, Vec<Line>)>> {
        let component = self.load(&question.component).map_err(|why| Box::new((Reply::Absent(why), Vec::new())))?;
        HookInstance::start(&component, question, Arc::clone(&self.files)).map_err(Box::new)
    }

    /// Loads a component, unless it has been loaded before. The error says why it cannot be called now.
    fn load(&mut self, digest: &str) -> Result<Arc<LoadedComponent>, String> {
        let home = self.files.private_home();
        let cache = Cache::new(home.ok_or("the home folder is in the workspace, where native code cannot be kept safely")?);
        let compiler = self.compiler.clone();
        self.engine()?.load(&cache, digest, compiler.as_deref())
    }

    /// The engine, which is set up when it is first needed.
    fn engine(&mut self) -> Result<&mut HookEngine, String> {
        match &mut self.engine {
            Some(engine) => Ok(engine),
            none => Ok(none.insert(HookEngine::new().map_err(|fault| format!("the engine cannot be set up: {fault:#}"))?)),
        }
    }
}

fn is_same(one: &Question, other: &Question) -> bool {
    one.component == other.component && one.settings == other.settings && one.files == other.files && one.limits == other.limits
}
