//! `tollgate confine --session S -- COMMAND…`: runs a command that the kernel restricts to the files its intent owns.
//!
//! The gate determines what may be changed; this process restricts itself to that and then executes the command in its place, so
//! that terminal, signals and exit code are the command's own. If anything fails before that, the command does not run: the exit
//! code is 126, or 127 if the command is not found, as in a shell.

#[cfg(unix)]
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser};
use serde_json::{Map, Value};
use tollgate::confine::{Capability, Grant, Kind, Plan, Prepared};
use tollgate::{Tollgate, governing_workspace, retry_while_busy};
use tollgate_guest::confine::evidence::EvidenceKey;

use crate::cli::print_message;

/// The command was not run.
const NOT_RUN: u8 = 126;
/// There is no such command.
const NOT_FOUND: u8 = 127;

/// The options of `tollgate confine`.
#[derive(Args, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The session that the command runs for
    #[arg(long, value_name = "SESSION", required_unless_present_any = ["run", "check"], value_parser = NonEmptyStringValueParser::new())]
    pub(super) session: Option<String>,
    /// The call that the gate has ruled on
    #[arg(long, value_name = "CALL")]
    pub(super) call: Option<String>,
    /// Instead of a session: a run of a hook or an MCP server that the gate has prepared
    #[arg(long, value_name = "RUN", conflicts_with_all = ["session", "call"])]
    pub(super) run: Option<String>,
    /// The governed folder [default: the nearest parent folder with .orchestration/]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// The folder that contains the user's .tollgate/ [default: the home folder]
    #[arg(long, value_name = "DIR")]
    pub(super) home: Option<PathBuf>,
    /// The folder for state that the gate keeps between calls [default: the user's state folder, or below --home]
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Print what the command may change without running it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Only report whether commands can be confined here; exits with 1 if not
    #[arg(long)]
    pub(super) check: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "check", value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// The command line of `tollgate confine` alone.
#[derive(Parser)]
#[command(name = "tollgate confine")]
struct StandaloneParser {
    #[command(flatten)]
    options: Options,
}

impl Options {
    /// The options of a command line; `None` if it belongs to another command or is wrong. Every command of an agent waits for this,
    /// so the other commands are not set up first; for `None`, the caller parses the whole command line, which explains what is wrong.
    pub(crate) fn parse_alone(words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words = words.skip(1).peekable();
        words.next_if(|word| word == "confine")?;
        let name = std::iter::once(OsString::from("tollgate confine"));
        StandaloneParser::try_parse_from(name.chain(words)).ok().map(|parser| parser.options)
    }
}

/// Runs the command. Returns only if it was not run.
pub(crate) fn run(options: &Options) -> ExitCode {
    if options.check {
        return check();
    }
    run_words(options, &options.command, None)
}

/// Runs `words` in place of the command in the options, with the same grants. `file` is created and may be written in addition.
pub(super) fn run_words(options: &Options, words: &[OsString], file: Option<PathBuf>) -> ExitCode {
    let command = decide(options).and_then(|next| match next {
        RunMode::Print(answer) => Ok(Err(answer)),
        RunMode::Plain => Ok(Ok(unconfined_command(words))),
        RunMode::Confined(mut plan) => {
            plan.grants.extend(file.map(|path| Grant { path, kind: Kind::File, make: true, except: Vec::new() }));
            let confined = plan.confine(words);
            confined.map(Ok).map_err(|why| format!("the command does not run: it cannot be confined: {why}"))
        }
    });
    match command {
        Ok(Ok(command)) => become_command(command),
        Ok(Err(answer)) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            print_message(&why);
            ExitCode::from(NOT_RUN)
        }
    }
}

/// Reports whether commands can be confined here.
fn check() -> ExitCode {
    match Capability::of_this_system() {
        Capability::None(why) => {
            println!("commands cannot be confined: {why}");
            ExitCode::FAILURE
        }
        _ => {
            println!("commands can be confined");
            ExitCode::SUCCESS
        }
    }
}

/// An unconfined command.
pub(super) fn unconfined_command(words: &[OsString]) -> Command {
    let mut command = Command::new(words.first().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words.iter().skip(1));
    command
}

enum RunMode {
    Print(Value),
    Confined(Plan),
    Plain,
}

/// Asks the gate how to run the command.
fn decide(options: &Options) -> Result<RunMode, String> {
    let here = std::env::current_dir()
        .map_err(|why| format!("the command does not run: the current folder no longer exists ({why})"))?;
    let workspace = match &options.workspace {
        Some(named) => named.clone(),
        None => governing_workspace(&here).ok_or_else(|| {
            let here = here.display();
            format!("the command does not run: neither `{here}` nor a folder above it has .orchestration/; name the workspace with --workspace DIR")
        })?,
    };
    let cannot =
        |why: &dyn std::fmt::Display| format!("the command does not run: the gate did not say what it may change: {why}");
    let root = workspace.canonicalize().map_err(|why| cannot(&format!("`{}`: {why}", workspace.display())))?;
    if let Some(next) = find_prepared(options, &root) {
        return Ok(next);
    }
    if let Some(run) = &options.run {
        return Err(cannot(&format!("it has not prepared the run `{run}` of this command")));
    }
    let answer = ask(options, &root, &here).map_err(|why| cannot(&why))?;
    if let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
        return Err(cannot(&message));
    }
    if options.dry_run {
        return Ok(RunMode::Print(answer));
    }
    let said = answer.get("say").and_then(Value::as_str);
    match answer.get("run").and_then(Value::as_str) {
        Some("confined") => {
            let plan = Plan::read(&answer, &root).ok_or_else(|| cannot(&"its answer is invalid"))?;
            Ok(RunMode::Confined(plan))
        }
        Some("plain") => {
            said.into_iter().for_each(print_message);
            Ok(RunMode::Plain)
        }
        _ => Err(said.unwrap_or("the command does not run: the gate's answer is invalid").to_owned()),
    }
}

/// The gate's stored answer for the call. If there is none, the gate is asked again.
fn find_prepared(options: &Options, root: &Path) -> Option<RunMode> {
    let Options { session, call, run, home, state, dry_run, command, .. } = options;
    let key = match (run, call) {
        (Some(run), _) => EvidenceKey::of_program(run),
        (None, Some(call)) if !dry_run => EvidenceKey::of_call(session.as_deref()?, call),
        (None, _) => return None,
    };
    let mut prepared = Prepared::of(root, home.as_deref(), state.as_deref(), &key, command)?;
    if *dry_run {
        return Some(RunMode::Print(prepared.answer.take()));
    }
    match prepared.answer.get("run").and_then(Value::as_str) {
        Some("confined") if !Capability::of_this_system().is_none() => {}
        Some("plain") => return Some(RunMode::Plain),
        _ => return None,
    }
    let plan = Plan::read(&prepared.answer, root)?;
    // In the sandbox of an agent program, or in a confined command, the state folder is not writable.
    let _ = prepared.mark();
    Some(RunMode::Confined(plan))
}

/// The gate's answer about the command.
fn ask(options: &Options, root: &Path, here: &Path) -> Result<Value, String> {
    let (confinable, why) = Capability::of_this_system().fields();
    let text = |word: &OsString| Value::from(word.to_string_lossy());
    let mut line = Map::new();
    line.insert("op".to_owned(), "grants".into());
    line.insert("session".to_owned(), options.session.clone().into());
    line.insert("call".to_owned(), options.call.clone().into());
    line.insert("command".to_owned(), options.command.iter().map(text).collect());
    line.insert("cwd".to_owned(), here.to_string_lossy().into());
    line.insert("confinable".to_owned(), confinable);
    line.insert("why".to_owned(), why.into());
    let mut builder = Tollgate::builder().workspace(root);
    if let Some(home) = &options.home {
        builder = builder.home(home);
    }
    if let Some(state) = &options.state {
        builder = builder.state(state);
    }
    let mut gate = builder.open().map_err(|fault| fault.to_string())?;
    let answer = gate.perform(Value::Object(line).to_string().as_bytes()).map_err(|fault| fault.to_string())?;
    // Exiting without dropping it is faster.
    std::mem::forget(gate);
    serde_json::from_slice(&answer).map_err(|fault| fault.to_string())
}

/// Replaces this process with the command.
#[cfg(unix)]
pub(super) fn become_command(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    // It returns only if it fails.
    let Err::<Infallible, _>(why) = retry_while_busy(|| Err(command.exec()));
    report_failure(&command, &why)
}

/// On other systems a process cannot be replaced, so this one waits.
#[cfg(not(unix))]
pub(super) fn become_command(mut command: Command) -> ExitCode {
    match retry_while_busy(|| command.status()) {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(why) => report_failure(&command, &why),
    }
}

fn report_failure(command: &Command, why: &io::Error) -> ExitCode {
    print_message(&format!("`{}` cannot be run: {why}", command.get_program().to_string_lossy()));
    ExitCode::from(if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Options> {
        Options::parse_alone(line.split(' ').map(OsString::from))
    }

    #[test]
    fn command_lines() {
        let options = parse("tollgate confine --session s --call c --workspace /w -- sh -c x --call").unwrap();
        assert_eq!((options.session.as_deref(), options.call.as_deref()), (Some("s"), Some("c")));
        assert_eq!(options.workspace.as_deref(), Some(Path::new("/w")));
        assert_eq!(options.command, ["sh", "-c", "x", "--call"]);
        assert!(parse("tollgate confine --check").unwrap().check);
        assert_eq!(parse("tollgate confine --run r -- ls").unwrap().run.as_deref(), Some("r"));
        for line in [
            "tollgate",
            "tollgate hook x",
            "tollgate confine",
            "tollgate confine -- ls",
            "tollgate confine --session s",
            "tollgate confine --session s --",
            "tollgate confine --session s ls",
            "tollgate confine --session -- ls",
            "tollgate confine --session  -- ls",
            "tollgate confine --session s --run r -- ls",
            "tollgate confine --help",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
