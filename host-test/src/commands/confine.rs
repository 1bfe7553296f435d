//! `tollgate confine --session S -- COMMAND…`: the command, held by the kernel to what its intent owns.
//!
//! The gate says what may be changed; this process restricts itself to that and becomes the command, so that nothing stands between it
//! and its terminal, its signals and its exit code. What goes wrong before that keeps the command from running: exit code 126, or 127 where
//! it cannot be found, as a shell has it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use serde_json::{Map, Value};
use tollgate::confine::{Capability, Grant, Kind, Plan, Prepared};
use tollgate::{Tollgate, governing_workspace};

use crate::cli::say;

/// The command was not run.
const NOT_RUN: u8 = 126;
/// There is no such command.
const NOT_FOUND: u8 = 127;

/// The options of `tollgate confine`.
#[derive(Args, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The session that the command runs for
    #[arg(long, value_name = "SESSION")]
    pub(super) session: String,
    /// The call that the gate has ruled on
    #[arg(long, value_name = "CALL")]
    pub(super) call: Option<String>,
    /// The governed folder [default: the nearest from here upwards with .orchestration/]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// The folder with the user's own .tollgate/ [default: the user's home]
    #[arg(long, value_name = "DIR")]
    pub(super) home: Option<PathBuf>,
    /// The folder for what the gate keeps between calls [default: the user's, or in --home]
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Print what the command may change, and do not run it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Alone: say whether commands can be confined here; exits with 1 if not
    #[arg(long)]
    pub(super) check: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

impl Options {
    /// The options of a command line, without what it takes to explain a wrong one: every command of an agent waits for this.
    pub(crate) fn plain(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        if words.nth(1)? != "confine" {
            return None;
        }
        let mut options = Self::default();
        loop {
            let Some(name) = words.next() else { return options.check.then_some(options) };
            match name.to_str()? {
                "--session" => options.session = words.next()?.into_string().ok()?,
                "--call" => options.call = Some(words.next()?.into_string().ok()?),
                "--workspace" => options.workspace = Some(words.next()?.into()),
                "--home" => options.home = Some(words.next()?.into()),
                "--state" => options.state = Some(words.next()?.into()),
                "--dry-run" => options.dry_run = true,
                "--check" => options.check = true,
                "--" => break,
                _ => return None,
            }
        }
        options.command = words.collect();
        (!options.session.is_empty() && !options.command.is_empty()).then_some(options)
    }
}

/// Runs the command. Returns only where it was not run.
pub(crate) fn run(options: &Options) -> ExitCode {
    if options.check {
        return check();
    }
    run_words(options, &options.command, None)
}

/// Runs words for the command of the options, as the gate has it. `file` is made, and may be written, besides.
pub(super) fn run_words(options: &Options, words: &[OsString], file: Option<PathBuf>) -> ExitCode {
    let command = decide(options).and_then(|next| match next {
        Next::Print(answer) => Ok(Err(answer)),
        Next::Plain => Ok(Ok(plain(words))),
        Next::Confined(mut plan) => {
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
            say(&why);
            ExitCode::from(NOT_RUN)
        }
    }
}

/// Says whether commands can be confined here.
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

/// Words as they are.
pub(super) fn plain(words: &[OsString]) -> Command {
    let mut command = Command::new(words.first().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words.iter().skip(1));
    command
}

enum Next {
    Print(Value),
    Confined(Plan),
    Plain,
}

/// Asks the gate what becomes of the command.
fn decide(options: &Options) -> Result<Next, String> {
    let here = std::env::current_dir().map_err(|why| format!("the command does not run: the current folder is gone ({why})"))?;
    let workspace = match &options.workspace {
        Some(named) => named.clone(),
        None => governing_workspace(&here).ok_or_else(|| {
            let here = here.display();
            format!("the command does not run: neither `{here}` nor a folder above it has .orchestration/; name the workspace with --workspace DIR")
        })?,
    };
    let cannot =
        |why: &dyn std::fmt::Display| format!("the command does not run: the gate does not say what it may change: {why}");
    let root = workspace.canonicalize().map_err(|why| cannot(&format!("`{}`: {why}", workspace.display())))?;
    if let Some(next) = prepared(options, &root) {
        return Ok(next);
    }
    let answer = ask(options, &root, &here).map_err(|why| cannot(&why))?;
    if let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
        return Err(cannot(&message));
    }
    if options.dry_run {
        return Ok(Next::Print(answer));
    }
    let said = answer.get("say").and_then(Value::as_str);
    match answer.get("run").and_then(Value::as_str) {
        Some("confined") => {
            let plan = Plan::read(&answer, &root).ok_or_else(|| cannot(&"its answer is not understood"))?;
            Ok(Next::Confined(plan))
        }
        Some("plain") => {
            said.into_iter().for_each(say);
            Ok(Next::Plain)
        }
        _ => Err(said.unwrap_or("the command does not run: the gate's answer is not understood").to_owned()),
    }
}

/// What the gate said when it ruled on the call. Where that is not to be had, the gate is asked again.
fn prepared(options: &Options, root: &Path) -> Option<Next> {
    let call = options.call.as_deref().filter(|_| !options.dry_run)?;
    let (home, state) = (options.home.as_deref(), options.state.as_deref());
    let prepared = Prepared::of(root, home, state, (&options.session, call), &options.command)?;
    match prepared.answer.get("run").and_then(Value::as_str) {
        Some("confined") if !Capability::of_this_system().is_none() => {}
        Some("plain") => return Some(Next::Plain),
        _ => return None,
    }
    let plan = Plan::read(&prepared.answer, root)?;
    // In the sandbox of an agent program, or in a confined command, the state is closed.
    let _ = prepared.mark();
    Some(Next::Confined(plan))
}

/// What the gate says about the command.
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
    // The operating system clears away what is left, faster than we would.
    std::mem::forget(gate);
    serde_json::from_slice(&answer).map_err(|fault| fault.to_string())
}

/// Becomes the command.
#[cfg(unix)]
pub(super) fn become_command(mut command: Command) -> ExitCode {
    use std::os::unix::process::CommandExt as _;
    let why = command.exec();
    failed(&command, &why)
}

/// Elsewhere a process cannot become another one, so it waits for it.
#[cfg(not(unix))]
pub(super) fn become_command(mut command: Command) -> ExitCode {
    match command.status() {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(why) => failed(&command, &why),
    }
}

fn failed(command: &Command, why: &io::Error) -> ExitCode {
    say(&format!("`{}` cannot be run: {why}", command.get_program().to_string_lossy()));
    ExitCode::from(if why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(line: &str) -> Option<Options> {
        Options::plain(line.split(' ').map(OsString::from))
    }

    #[test]
    fn plain_command_lines() {
        let options = plain("tollgate confine --session s --call c --workspace /w -- sh -c x --call").unwrap();
        assert_eq!((options.session.as_str(), options.call.as_deref()), ("s", Some("c")));
        assert_eq!(options.workspace.as_deref(), Some(Path::new("/w")));
        assert_eq!(options.command, ["sh", "-c", "x", "--call"]);
        assert!(plain("tollgate confine --check").unwrap().check);
        for line in [
            "tollgate",
            "tollgate hook x",
            "tollgate confine",
            "tollgate confine -- ls",
            "tollgate confine --session s",
            "tollgate confine --session s --",
            "tollgate confine --session s ls",
            "tollgate confine --session -- ls",
            "tollgate confine --help",
        ] {
            assert_eq!(plain(line), None, "{line}");
        }
    }
}
