//! `tollgate hook PROGRAM`: one event of an agent program on standard input, one answer on standard output.
//!
//! The gate reads the payload, decides, and answers in the format of the program; this command only passes both on. In every
//! agent program, a hook that crashes lets the tool run, so this command must not crash: errors are answered, and if even that
//! fails, the exit code blocks the tool.

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Args;
use tollgate::hooks::{Hooks, Options as HookOptions};
use tollgate::{Error, MAX_PAYLOAD, Reply, Tollgate, empty_reply, fault_reply, locate, program_names};

use crate::cli::{log, print_message};

/// The exit code that blocks the tool if no answer can be written.
const BLOCKED: i32 = 2;

/// The options of `tollgate hook`.
#[derive(Args)]
pub(crate) struct Options {
    /// The agent program that sent the event
    #[arg(value_name = "PROGRAM", value_parser = clap::builder::PossibleValuesParser::new(program_names()))]
    program: String,
    /// The event, for programs that do not include it in the payload
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
}

impl Options {
    /// Parses the usual command line without the full parser, because the agent program waits for every call.
    pub(crate) fn parse_plain(words: &[std::ffi::OsString]) -> Option<Self> {
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
        print_message("error: the hook failed; the call is blocked because it could not be checked");
        BLOCKED
    });
    // Exiting directly is faster than dropping everything first.
    std::process::exit(code)
}

/// Reads one event, prints the answer, and returns the exit code.
fn answer(options: &Options) -> i32 {
    let mut payload = Vec::new();
    // Reading one byte more than the limit lets the gate report that the payload is too long. If reading fails, the gate answers
    // as for an incomplete payload.
    if let Err(why) = io::stdin().lock().take(MAX_PAYLOAD as u64 + 1).read_to_end(&mut payload) {
        print_message(&format!("error: standard input cannot be read: {why}"));
    }
    let (program, event) = (options.program.as_str(), options.event.as_deref());
    let Some(root) = locate(program, event, &payload) else { return print(&no_reply(program)) };
    let failed = |fault: &Error| {
        print_message(&format!("error: {fault}"));
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
    // Retries writing to the ledger; the program already has its answer.
    if let Err(fault) = hooks.finish() {
        print_message(&format!("error: {fault}"));
    }
    // The process ends here. Dropping the engine and the instance would take a tenth of its time.
    drop(hooks);
    gate.end_servers();
    std::mem::forget(gate);
    code
}

/// The answer where nothing is governed.
fn no_reply(program: &str) -> Reply {
    Reply { text: empty_reply(program).as_bytes().to_vec(), refused: None }
}

fn print(reply: &Reply) -> i32 {
    let mut out = io::stdout().lock();
    let is_empty = reply.text.is_empty();
    let written = is_empty || out.write_all(&reply.text).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()).is_ok();
    match &reply.refused {
        // Without an answer, the tool would run.
        Some(reason) if !written || is_empty => block(reason),
        _ => {
            if !written {
                print_message("error: the answer could not be written");
            }
            0
        }
    }
}

/// Blocks the tool and prints the reason.
fn block(reason: &str) -> i32 {
    print_message(reason);
    BLOCKED
}
