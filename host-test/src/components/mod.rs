//! Hooks of third parties: components that are called within limits, with nothing but what they were granted.
//!
//! The gate says which to call with what, and what follows; this calls them. They run in an engine of their own, from the bytes that a
//! person approved, which are kept in the user's folder. Processor time, elapsed time, memory, tables, what crosses to the host,
//! log lines and reading of files are bounded. Of WASI there are names only. After any fault an instance is thrown away.
//!
//! | file | what |
//! | --- | --- |
//! | `engine` | the engine, and components loaded into it |
//! | `instance` | one hook's instance, and calls of its functions |
//! | `limits` | time and memory |
//! | `lent` | settings, files, log |
//! | `wasi` | WASI in name only |
//! | `cache` | approved bytes and native code in the user's folder |
//! | `compiler_limits` | what this program and `tollgate-compiler` agree on |
//! | `compiling` | compiling, by `tollgate-compiler` in a process of its own |
//! | `wire` | calls as JSON lines, for hosts in another process |

mod cache;
mod compiler_limits;
mod compiling;
mod engine;
mod instance;
mod lent;
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
use engine::{HookEngine, Loaded};
use instance::Instance;
pub use wire::{HookAnswers, HookRound, Runner};

/// Calls hooks of third parties in one workspace.
pub(crate) struct Components {
    files: Arc<Files>,
    compiler: Option<PathBuf>,
    engine: Option<HookEngine>,
    /// By the hook's id, with the question that they were started for.
    instances: HashMap<String, (Question, Instance)>,
}

impl Components {
    pub(crate) fn new(files: Arc<Files>, compiler: Option<PathBuf>) -> Self {
        Self { files, compiler, engine: None, instances: HashMap::new() }
    }

    /// Calls hooks one after the other.
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

    fn start(&mut self, question: &Question) -> Result<Instance, Box<(Reply, Vec<Line>)>> {
        let component = self.load(&question.component).map_err(|why| Box::new((Reply::Absent(why), Vec::new())))?;
        Instance::start(&component, question, Arc::clone(&self.files)).map_err(Box::new)
    }

    /// Loads a component that was not loaded before; else why it cannot be called now.
    fn load(&mut self, digest: &str) -> Result<Arc<Loaded>, String> {
        let home = self.files.private_home();
        let cache = Cache::new(home.ok_or("the home folder lies in the workspace, where native code cannot be kept safely")?);
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
