//! Runs under way, each in a thread of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Map, Value, json};

use super::options::{Options, Prompt};
use super::remote::{Message, Remote};
use super::script::{Copy, Unusable};
use crate::files::Files;
use crate::process::{self, Canceler, Ending, MOST_OUTPUT, Program};

/// How a run is called off.
pub(super) enum Running {
    Process(Canceler),
    /// A function cannot be stopped. It is told, and what it says then is not heard.
    Function(Arc<AtomicBool>),
    /// It could not be started, and has said so.
    Reported,
}

impl Running {
    /// Whether the run itself still reports its end.
    pub(super) fn cancel(&self) -> bool {
        match self {
            Self::Process(canceler) => {
                canceler.cancel();
                true
            }
            Self::Function(canceled) => {
                canceled.store(true, Ordering::Relaxed);
                false
            }
            Self::Reported => true,
        }
    }
}

/// Reports the end of a run exactly once, also where its thread fails.
pub(super) struct Report {
    remote: Remote,
    instance: u64,
    command: u64,
    ending: Value,
}

impl Report {
    pub(super) fn new(remote: Remote, instance: u64, command: u64) -> Self {
        Self { remote, instance, command, ending: json!({"failed": "the host could not start a thread for it"}) }
    }

    /// What to report once this goes.
    fn set(&mut self, ending: Value) {
        self.ending = ending;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let (instance, command, ending) = (self.instance, self.command, self.ending.take());
        self.remote.send(Message::Ended { instance, command, ending });
    }
}

/// Starts what a command `run` or `prompt` asks for.
pub(super) fn start(body: Value, files: &Arc<Files>, options: &Options, mut report: Report) -> Running {
    let prompt = body.get("prompt").and_then(Value::as_str).map(str::to_owned);
    if let (Some(text), Some(run)) = (&prompt, &options.prompt) {
        let (run, canceled) = (Arc::clone(run), Arc::new(AtomicBool::new(false)));
        let hook = body.get("hook").and_then(Value::as_str).unwrap_or_default().to_owned();
        let prompt = Prompt { hook, text: text.clone(), canceled: Arc::clone(&canceled) };
        let answer = move || {
            report.set(json!({"failed": "the function that runs prompts failed"}));
            report.set(match run(&prompt) {
                Ok(said) => {
                    json!({"exit": said.exit_code, "stdout": said.stdout, "stderr": said.stderr, "truncated": false})
                }
                Err(why) => json!({"failed": why}),
            });
        };
        return started(answer, Running::Function(canceled));
    }
    if prompt.is_some() && body.get("argv").is_none_or(Value::is_null) {
        report.set(json!({"missing": true}));
        return Running::Reported;
    }
    let (run, files) = (process::Run::new(), Arc::clone(files));
    let canceler = run.canceler();
    let carry_out = move || {
        report.set(json!({"failed": "the host failed to run it"}));
        report.set(carry_out(run, &body, prompt.as_deref(), &files));
    };
    started(carry_out, Running::Process(canceler))
}

/// Where there is no thread to be had, the work is dropped, and its report with it.
fn started(work: impl FnOnce() + Send + 'static, running: Running) -> Running {
    match thread::Builder::new().name("tollgate-hook".to_owned()).spawn(work) {
        Ok(_) => running,
        Err(_) => Running::Reported,
    }
}

fn carry_out(run: process::Run, body: &Value, prompt: Option<&str>, files: &Files) -> Value {
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let texts = |name: &str| body.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut argv: Vec<String> = texts("argv").map(str::to_owned).collect();
    // The copy stays until the program has ended.
    let order = body.get("script").filter(|order| !order.is_null());
    let copied = order.map(|order| Copy::ordered(order, files).and_then(|copy| copy.redirect(&mut argv).map(|()| copy)));
    let _copy = match copied.transpose() {
        Ok(copy) => copy,
        Err(Unusable::Changed(path)) => return json!({"changed": path}),
        Err(Unusable::Failed(why)) => return json!({"failed": why}),
    };
    let inherit: Vec<&str> = texts("env").collect();
    let set = body.get("set").and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let set: Vec<(&str, &str)> = set.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect();
    let bound = body.get("output_bytes").and_then(Value::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
    let program = Program {
        argv: &argv,
        input: prompt.unwrap_or_else(|| text("stdin")).as_bytes(),
        folder: &files.workspace().join(Path::new(text("cwd"))),
        inherit: &inherit,
        set: &set,
        output_bytes: bound.unwrap_or(MOST_OUTPUT),
    };
    match run.carry_out(&program, None) {
        Ending::Ended { status, output, complaint, truncated } => json!({
            "exit": process::exit_code(status),
            "stdout": String::from_utf8_lossy(&output),
            "stderr": String::from_utf8_lossy(&complaint),
            "truncated": truncated,
        }),
        Ending::Missing => json!({"missing": true}),
        Ending::Canceled | Ending::Late => json!({"canceled": true}),
        Ending::Failed(fault) => json!({"failed": fault.to_string()}),
    }
}
