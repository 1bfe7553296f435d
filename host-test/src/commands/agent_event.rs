//! `tollgate hook PROGRAM`: one event of an agent program on standard input, one answer on standard output.
//!
//! The gate reads the program's words, decides and answers in them; this only carries one to the other. A hook that crashes lets
//! the tool run, in every program, so nothing here may: what goes wrong is answered, and where not even that can be done the
//! exit code keeps the tool from running.

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Args;
use tollgate::hooks::{Hooks, Options as HookOptions};
use tollgate::{Error, MAX_PAYLOAD, Reply, Tollgate, fault_reply, locate, program_names, silence_of};

use crate::cli::{log, say};

/// The exit code that keeps a tool from running where the answer cannot be told in the program's own words.
const BLOCKED: i32 = 2;

/// The options of `tollgate hook`.
#[derive(Args)]
pub(crate) struct Options {
    /// The agent program whose words are spoken
    #[arg(value_name = "PROGRAM", value_parser = clap::builder::PossibleValuesParser::new(program_names()))]
    program: String,
    /// The event, for programs whose payload does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
}

impl Options {
    /// The options of a plain command line, without what it takes to explain a wrong one: a program waits for every call.
    pub(crate) fn plain(words: &[std::ffi::OsString]) -> Option<Self> {
        let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
        let (program, event) = match words.as_slice() {
            [_, "hook", program] => (*program, None),
            [_, "hook", program, "--event", event] => (*program, Some((*event).to_owned())),
            _ => return None,
        };
        program_names().contains(&program).then(|| Self { program: program.to_owned(), event })
    }
}

/// Answers one event.
pub(crate) fn run(options: &Options) -> ExitCode {
    let code = catch_unwind(AssertUnwindSafe(|| answer(options))).unwrap_or_else(|_| {
        say("error: the hook failed; whether the call may run is not known, so it does not");
        BLOCKED
    });
    // The operating system clears away what is left, faster than we would.
    std::process::exit(code)
}

/// Reads one event, prints the answer, and returns the exit code.
fn answer(options: &Options) -> i32 {
    let mut payload = Vec::new();
    // One byte more than is understood tells the gate that it is too long. What cannot be read is answered like what is cut short.
    if let Err(why) = io::stdin().lock().take(MAX_PAYLOAD as u64 + 1).read_to_end(&mut payload) {
        say(&format!("error: standard input cannot be read: {why}"));
    }
    let (program, event) = (options.program.as_str(), options.event.as_deref());
    let Some(root) = locate(program, event, &payload) else { return print(&silence(program)) };
    let failed = |fault: &Error| {
        say(&format!("error: {fault}"));
        print(&fault_reply(program, event, &payload, &fault.to_string(), &root))
    };
    let mut gate = match Tollgate::builder().workspace(&root).log(log).open() {
        Ok(gate) => gate,
        Err(fault) => return failed(&fault),
    };
    let mut hooks = Hooks::new(&mut gate, HookOptions::new());
    let code = match hooks.respond(program, event, &payload) {
        Ok(reply) => print(&reply),
        Err(fault) => failed(&fault),
    };
    // What could not be entered is tried again; the program has its answer.
    if let Err(fault) = hooks.finish() {
        say(&format!("error: {fault}"));
    }
    code
}

/// Nothing governs here.
fn silence(program: &str) -> Reply {
    Reply { text: silence_of(program).as_bytes().to_vec(), refused: None }
}

fn print(reply: &Reply) -> i32 {
    let mut out = io::stdout().lock();
    let is_empty = reply.text.is_empty();
    let written = is_empty || out.write_all(&reply.text).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()).is_ok();
    match &reply.refused {
        // Silence would let the tool run.
        Some(reason) if !written || is_empty => blocked(reason),
        _ => {
            if !written {
                say("error: the answer could not be written");
            }
            0
        }
    }
}

/// The tool does not run, and this is why.
fn blocked(reason: &str) -> i32 {
    say(reason);
    BLOCKED
}
