//! `tollgate init`: wires the agent programs in use to the gate, once a person has seen how, and takes it back.
//!
//! The gate plans; here files are read, a person is asked, and files are written.

mod change;
mod receipts;

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::confine::Capability;

use crate::cli::client::{Gate, ask, list, strange, text, texts};
use crate::cli::confirm::{self, Person};
use crate::cli::inspection::{self, on_path, told};
use crate::cli::output::{Screen, Style, plain};
use crate::cli::workspace::{Folders, Place};
use crate::cli::{Outcome, Stop, log};
use change::Change;
use receipts::Receipts;

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

/// How often a plan is made anew because a file turned out not to be writable.
const MAX_PLANS: usize = 20;

/// The options of `tollgate init`.
#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, value_name = "NAME", help = host_help(), hide_possible_values = true,
          value_parser = clap::builder::PossibleValuesParser::new(tollgate::wired_program_names()))]
    host: Vec<String>,
    /// Whose settings to write, `workspace` or `user` [default: the workspace's, or the user's where those do not count]
    #[arg(long, value_parser = ["workspace", "user"], hide_possible_values = true)]
    scope: Option<String>,
    /// Take back what an earlier run did in this workspace
    #[arg(long, conflicts_with_all = ["host", "scope"])]
    undo: bool,
    /// Say yes beforehand; it takes a terminal even so
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: Place,
}

/// The programs on a line of their own, which would be too long otherwise.
fn host_help() -> String {
    let names = tollgate::wired_program_names();
    format!("Wire this program; may be repeated [default: those in use]\n[one of: {}]", names.join(", "))
}

/// Sets up, or takes back.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.place.run_in(
        || options.place.folders(),
        |folders, screen| if options.undo { undo(folders, options, screen) } else { init(folders, options, screen) },
    )
}

fn open(folders: &Folders) -> Result<Tollgate, Stop> {
    folders.gate().log(log).open().map_err(Stop::fault)
}

fn init(folders: &Folders, options: &Options, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let mut gate = open(folders)?;
    let person = Person::require(&mut gate, &folders.root, &["init"], options.yes)?;
    let receipts = Receipts::read(folders)?;
    let command = command();
    let place = inspection::place(&mut gate, folders)?;
    let look = json!({"op": "wiring", "do": "files", "place": place, "programs": options.host});
    let seen = inspection::seen(&mut gate, &look)?;
    let question = json!({
        "op": "wiring", "do": "plan", "place": place, "programs": options.host, "scope": options.scope, "run_as": command, "confiner": confiner(),
        "receipt": receipts.own, "others": receipts.others, "seen": seen,
    });
    let (plan, changes) = plan(&mut gate, question)?;
    let problems: Vec<&str> = list(&plan, "problems").iter().map(|problem| text(problem, "/message")).collect();
    problems.iter().for_each(|problem| screen.note(problem));
    if command != "tollgate" {
        screen.note("`tollgate` is not on the search path, or is another one there, so the hooks name this program by its path");
    }
    let outcome = |done: Result<Outcome, Stop>| match problems.as_slice() {
        [] => done,
        problems => done.and_then(|_| Err(Stop::Fault(format!("not everything was set up: {}", problems.join("; "))))),
    };
    if changes.is_empty() {
        receipts.keep(folders, text(&plan, "/receipt"), &[])?;
        tell(options, screen, &plan, if problems.is_empty() { "everything is set up already" } else { "nothing else is to do" })?;
        return outcome(Ok(Outcome::Done));
    }
    for change in &changes {
        show(change, options.place.json, screen)?;
    }
    let these = if changes.len() == 1 { "this file".to_owned() } else { format!("these {} files", changes.len()) };
    if let Some(outcome) = person.ask(&format!("write {these}?")).refusal(screen)? {
        return Ok(outcome);
    }
    receipts.keep(folders, text(&plan, "/receipt"), &changes)?;
    let changed: Vec<String> = list(&plan, "changes").iter().map(|change| text(change, "/shown").to_owned()).collect();
    // Another gate: this one has not seen the folder that governs from now on.
    person.record_with(&mut open(folders)?, &changed, &confirm::own_program())?;
    let last = "done; `tollgate doctor` proves that it works, `tollgate init --undo` takes it back";
    tell(options, screen, &plan, last)?;
    outcome(Ok(Outcome::Done))
}

/// The gate's plan, without the files that cannot be written.
fn plan(gate: &mut dyn Gate, mut question: Value) -> Result<(Value, Vec<Change>), Stop> {
    for _ in 0..MAX_PLANS {
        let plan = ask(gate, &question)?;
        let changes: Option<Vec<Change>> = list(&plan, "changes").iter().map(Change::read).collect();
        let changes = changes.ok_or_else(|| strange(&question))?;
        let faults: Vec<(String, String)> =
            changes.iter().filter_map(|change| Some((change.named.clone(), change.obstacle()?))).collect();
        if faults.is_empty() {
            return Ok((plan, changes));
        }
        let links = question.pointer("/seen/links").cloned().unwrap_or_default();
        let Some(files) = question.pointer_mut("/seen/files").and_then(Value::as_object_mut) else { break };
        for (path, why) in faults {
            let names = files.keys().filter(|name| **name == path || text(&links, &pointer(name)) == path).cloned();
            let names: Vec<String> = names.chain([path.clone()]).collect();
            for name in names {
                files.insert(name, json!({"fault": format!("it cannot be written: {why}")}));
            }
        }
    }
    Err(strange(&question))
}

/// A name as a JSON pointer spells it.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// What hooks call: the name, where the shell finds this very program under it, else its path.
fn command() -> String {
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let found = on_path("tollgate").and_then(|path| path.canonicalize().ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => told(&own),
        _ => "tollgate".to_owned(),
    }
}

/// This program, where it can run commands confined: as it stands on the search path, else by its real path.
fn confiner() -> Option<String> {
    if Capability::of_this_system().is_none() {
        return None;
    }
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok()?;
    let found = on_path("tollgate").filter(|path| path.is_absolute() && path.canonicalize().is_ok_and(|real| real == own));
    Some(told(&found.unwrap_or(own)))
}

fn show(change: &Change, json: bool, screen: &mut Screen<'_>) -> Result<(), Stop> {
    let what = if change.before.is_none() { "new file" } else { "change" };
    let mut lines = vec![screen.paint(Style::Bold, &format!("{} ({what})", plain(&change.shown)))];
    for line in &change.diff {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Green,
            Some(b'-') => Style::Red,
            _ => Style::Dim,
        };
        lines.push(format!("  {}", screen.paint(style, plain(line).trim_end())));
    }
    for line in lines {
        print(&line, json, screen)?;
    }
    screen.out.flush()?;
    Ok(())
}

/// A line for a person, who reads standard error where standard output is for programs.
fn print(line: &str, json: bool, screen: &mut Screen<'_>) -> Result<(), Stop> {
    if json {
        drop(writeln!(screen.err, "{line}"));
    } else {
        screen.line(line)?;
    }
    Ok(())
}

fn tell(options: &Options, screen: &mut Screen<'_>, plan: &Value, last: &str) -> Result<(), Stop> {
    if options.place.json {
        let file = |change: &Value| json!({"host": change.get("program"), "path": text(change, "/shown"), "made": change.get("before") == Some(&Value::Null)});
        let files: Vec<Value> = list(plan, "changes").iter().map(file).collect();
        screen.json(&json!({"hosts": plan.get("programs"), "files": files, "notes": plan.get("notes"),
                            "problems": plan.get("problems")}))?;
        return Ok(());
    }
    for note in texts(plan, "notes") {
        screen.line(&plain(note))?;
    }
    screen.line(last)?;
    Ok(())
}

fn undo(folders: &Folders, options: &Options, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let mut gate = open(folders)?;
    let person = Person::require(&mut gate, &folders.root, &["init", "--undo"], options.yes)?;
    let receipts = Receipts::read(folders)?;
    let Some(own) = &receipts.own else {
        screen.note("there is nothing to take back: `tollgate init` has not been run here");
        return Ok(Outcome::Done);
    };
    let place = inspection::place(&mut gate, folders)?;
    let mut question = json!({"op": "wiring", "do": "undo", "place": place, "receipt": own, "others": receipts.others});
    let seen = inspection::seen(&mut gate, &question)?;
    if let Some(fields) = question.as_object_mut() {
        fields.insert("seen".to_owned(), seen);
    }
    let undo = ask(&mut gate, &question)?;
    let json = options.place.json;
    for step in list(&undo, "steps") {
        print(&format!("{}: {}", text(step, "/words"), plain(text(step, "/shown"))), json, screen)?;
    }
    screen.out.flush()?;
    if let Some(outcome) = person.ask("take this back?").refusal(screen)? {
        return Ok(outcome);
    }
    let changed = list(&undo, "steps").iter().filter_map(|step| step.get("change")).filter(|change| !change.is_null());
    let changes: Option<Vec<Change>> = changed.map(Change::read).collect();
    change::write_all(&changes.ok_or_else(|| strange(&question))?)?;
    let shown: Vec<String> = list(&undo, "steps").iter().map(|step| text(step, "/shown").to_owned()).collect();
    person.record(&mut gate, &shown)?;
    // It keeps nothing open in folders that go.
    drop(gate);
    receipts.forget()?;
    // Only empty ones go.
    texts(&undo, "folders").into_iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
    texts(&undo, "notes").into_iter().for_each(|note| screen.note(note));
    if json {
        let file = |step: &Value| json!({"path": text(step, "/shown"), "what": text(step, "/words")});
        let files: Vec<Value> = list(&undo, "steps").iter().map(file).collect();
        screen.json(&json!({"files": files, "notes": undo.get("notes")}))?;
    } else {
        let ledger = folders.root.join(LEDGER).exists();
        screen.line(&if ledger { format!("taken back; the ledger stays: {LEDGER}") } else { "taken back".to_owned() })?;
    }
    Ok(Outcome::Done)
}
