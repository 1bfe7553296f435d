//! Runs in progress, each in its own thread.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::options::{Options, Prompt};
use super::remote::{HooksMessage, Remote};
use super::script::{CopyError, PrivateCopy};
use crate::bindings::exports::tollgate::hooks::engine;
use crate::bindings::exports::tollgate::hooks::engine::{Ending, Exited, ScriptCopy, Surroundings};
use crate::confine::Launch;
use crate::files::Files;
use crate::process::{self, Canceler, Program};

/// How to cancel a run.
pub(super) enum Running {
    Process(Canceler),
    /// A function cannot be stopped. It is notified, and its result is ignored.
    Function(Arc<AtomicBool>),
    /// The run could not be started, which has been reported.
    Reported,
}

impl Running {
    /// Cancels the run and returns whether it will still report its end.
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

/// Reports the end of a run exactly once, even if its thread panics.
pub(super) struct Report {
    remote: Remote,
    instance: u64,
    command: u64,
    ending: Ending,
}

impl Report {
    pub(super) fn new(remote: Remote, instance: u64, command: u64) -> Self {
        Self { remote, instance, command, ending: Ending::Failed("the host could not start a thread for it".to_owned()) }
    }

    /// Sets what is reported on drop.
    fn set_ending(&mut self, ending: Ending) {
        self.ending = ending;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let ending = std::mem::replace(&mut self.ending, Ending::Canceled);
        self.remote.send(HooksMessage::Ended { instance: self.instance, command: self.command, ending });
    }
}

/// Starts a program.
pub(super) fn run(ordered: engine::Run, files: &Arc<Files>, report: Report) -> Running {
    let engine::Run { argv, stdin, copy, surroundings } = ordered;
    program(argv, stdin, copy, surroundings, files, report)
}

/// Answers a prompt with the embedder's function or with a program.
pub(super) fn prompt(ordered: engine::Prompt, files: &Arc<Files>, options: &Options, mut report: Report) -> Running {
    let engine::Prompt { text, argv, surroundings } = ordered;
    let Some(answer) = &options.prompt else {
        if argv.is_empty() {
            report.set_ending(Ending::Missing);
            return Running::Reported;
        }
        return program(argv, text, None, surroundings, files, report);
    };
    let (answer, canceled) = (Arc::clone(answer), Arc::new(AtomicBool::new(false)));
    let prompt = Prompt { hook: surroundings.hook, text, canceled: Arc::clone(&canceled) };
    let work = move || {
        report.set_ending(Ending::Failed("the function that runs prompts failed".to_owned()));
        report.set_ending(match answer(&prompt) {
            Ok(output) => {
                let (code, stdout, stderr) = (Some(output.exit_code), output.stdout, output.stderr);
                Ending::Exited(Exited { code, stdout, stderr, truncated: false })
            }
            Err(why) => Ending::Failed(why),
        });
    };
    spawn(work, Running::Function(canceled))
}

fn program(
    argv: Vec<String>,
    stdin: String,
    copy: Option<ScriptCopy>,
    surroundings: Surroundings,
    files: &Arc<Files>,
    mut report: Report,
) -> Running {
    let (run, files) = (process::Run::new(), Arc::clone(files));
    let canceler = run.canceler();
    let work = move || {
        report.set_ending(Ending::Failed("the host failed to run it".to_owned()));
        report.set_ending(carry_out(run, argv, &stdin, copy.as_ref(), &surroundings, &files));
    };
    spawn(work, Running::Process(canceler))
}

/// If no thread can be started, the closure is dropped, which sends the report.
fn spawn(work: impl FnOnce() + Send + 'static, running: Running) -> Running {
    match thread::Builder::new().name("tollgate-hook".to_owned()).spawn(work) {
        Ok(_) => running,
        Err(_) => Running::Reported,
    }
}

fn carry_out(
    run: process::Run,
    mut argv: Vec<String>,
    stdin: &str,
    copy: Option<&ScriptCopy>,
    surroundings: &Surroundings,
    files: &Files,
) -> Ending {
    // The copy must exist until the program has ended.
    let copied = copy.map(|copy| PrivateCopy::make(copy, files).and_then(|copy| copy.redirect(&mut argv).map(|()| copy)));
    let _copy = match copied.transpose() {
        Ok(copy) => copy,
        Err(CopyError::Changed(path)) => return Ending::Changed(path),
        Err(CopyError::Failed(why)) => return Ending::Failed(why),
    };
    let Launch { argv, plan } = match Launch::read(argv) {
        Ok(launch) => launch,
        Err(why) => return Ending::Failed(why),
    };
    let inherit: Vec<&str> = surroundings.inherit.iter().map(String::as_str).collect();
    let set: Vec<(&str, &str)> = surroundings.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let program = Program {
        argv: &argv,
        input: stdin.as_bytes(),
        folder: &files.workspace().join(Path::new(&surroundings.cwd)),
        inherit: &inherit,
        set: &set,
        output_bytes: usize::try_from(surroundings.output_bytes).unwrap_or(usize::MAX),
        plan: plan.as_ref(),
    };
    match run.run(&program, None) {
        process::Ending::Exited { status, stdout, stderr, truncated } => Ending::Exited(Exited {
            code: Some(process::exit_code(status)),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            truncated,
        }),
        process::Ending::NotFound => Ending::Missing,
        process::Ending::Canceled | process::Ending::TimedOut => Ending::Canceled,
        process::Ending::Failed(fault) => Ending::Failed(fault.to_string()),
    }
}
