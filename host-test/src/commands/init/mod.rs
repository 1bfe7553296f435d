//! `tollgate init`: connects the agent programs in use to the gate after a person has reviewed the changes, and undoes that.
//!
//! The gate plans the changes; this command reads files, asks for confirmation and writes files.

mod receipts;

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::confine::Capability;

use crate::cli::client::{Gate, ask, list, text, texts, unexpected_answer};
use crate::cli::confirm::{self, Person};
use crate::cli::file_change::{self, SettingsChange};
use crate::cli::inspection::{self, on_path, path_text};
use crate::cli::output::{Output, Style, escape};
use crate::cli::workspace::{Folders, WorkspaceArgs};
use crate::cli::{CommandError, CommandResult, Outcome, log};
use receipts::Receipts;

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

/// How often a new plan is requested because a file is not writable.
const MAX_PLANS: usize = 20;

/// The options of `tollgate init`.
#[derive(Args)]
pub(crate) struct Options {
    #[arg(long, value_name = "NAME", help = host_help(), hide_possible_values = true,
          value_parser = clap::builder::PossibleValuesParser::new(tollgate::wired_program_names()))]
    host: Vec<String>,
    /// Which settings to write, `workspace` or `user` [default: the workspace's, or the user's if the program ignores those]
    #[arg(long, value_parser = ["workspace", "user"], hide_possible_values = true)]
    scope: Option<String>,
    /// Undo what an earlier run changed in this workspace
    #[arg(long, conflicts_with_all = ["host", "scope"])]
    undo: bool,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// The program names on a separate line, because one line would be too long.
fn host_help() -> String {
    let names = tollgate::wired_program_names();
    format!("Set up this program; can be repeated [default: those in use]\n[one of: {}]", names.join(", "))
}

/// Sets up, or undoes it.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.workspace.run_in(
        || options.workspace.folders(),
        |folders, output| if options.undo { undo(folders, options, output) } else { init(folders, options, output) },
    )
}

fn open(folders: &Folders) -> Result<Tollgate, CommandError> {
    folders.gate().log(log).open().map_err(CommandError::failed)
}

fn init(folders: &Folders, options: &Options, output: &mut Output<'_>) -> CommandResult {
    let mut gate = open(folders)?;
    let person = Person::require(&mut gate, &folders.root, &["init"], options.yes)?;
    let receipts = Receipts::read(folders)?;
    let command = command();
    let place = inspection::environment(&mut gate, folders)?;
    let look = json!({"op": "wiring", "do": "files", "place": place, "programs": options.host});
    let seen = inspection::inspect(&mut gate, &look)?;
    let question = json!({
        "op": "wiring", "do": "plan", "place": place, "programs": options.host, "scope": options.scope, "run_as": command, "confiner": confiner(),
        "receipt": receipts.own, "others": receipts.others, "seen": seen,
    });
    let (plan, changes) = plan(&mut gate, question)?;
    let problems: Vec<&str> = list(&plan, "problems").iter().map(|problem| text(problem, "/message")).collect();
    problems.iter().for_each(|problem| output.note(problem));
    if command != "tollgate" {
        output.note("`tollgate` is not on the search path, or another program has that name, so the hooks use the full path of this program");
    }
    let outcome = |done: CommandResult| match problems.as_slice() {
        [] => done,
        problems => done.and_then(|_| Err(CommandError::Failed(format!("not everything was set up: {}", problems.join("; "))))),
    };
    if changes.is_empty() {
        receipts.apply(folders, text(&plan, "/receipt"), &[])?;
        print_plan(
            options,
            output,
            &plan,
            if problems.is_empty() { "everything is set up already" } else { "nothing else to do" },
        )?;
        return outcome(Ok(Outcome::Done));
    }
    for change in &changes {
        show(change, options.workspace.json, output)?;
    }
    let these = if changes.len() == 1 { "this file".to_owned() } else { format!("these {} files", changes.len()) };
    if let Some(outcome) = person.ask(&format!("write {these}?")).refusal(output)? {
        return Ok(outcome);
    }
    receipts.apply(folders, text(&plan, "/receipt"), &changes)?;
    let changed: Vec<String> = list(&plan, "changes").iter().map(|change| text(change, "/shown").to_owned()).collect();
    // A new gate, because this one has not seen the folder that makes the workspace governed.
    person.record_with(&mut open(folders)?, &changed, &confirm::own_program())?;
    let last = "done; check it with `tollgate doctor`, undo it with `tollgate init --undo`";
    print_plan(options, output, &plan, last)?;
    outcome(Ok(Outcome::Done))
}

/// Requests a plan that leaves out files that cannot be written.
fn plan(gate: &mut dyn Gate, mut question: Value) -> Result<(Value, Vec<SettingsChange>), CommandError> {
    for _ in 0..MAX_PLANS {
        let plan = ask(gate, &question)?;
        let changes: Option<Vec<SettingsChange>> = list(&plan, "changes").iter().map(SettingsChange::read).collect();
        let changes = changes.ok_or_else(|| unexpected_answer(&question))?;
        let faults: Vec<(String, String)> =
            changes.iter().filter_map(|change| Some((change.named.clone(), change.write_error()?))).collect();
        if faults.is_empty() {
            return Ok((plan, changes));
        }
        let links = question.pointer("/seen/links").cloned().unwrap_or_default();
        let Some(files) = question.pointer_mut("/seen/files").and_then(Value::as_object_mut) else { break };
        for (path, why) in faults {
            let names = files.keys().filter(|name| **name == path || text(&links, &json_pointer(name)) == path).cloned();
            let names: Vec<String> = names.chain([path.clone()]).collect();
            for name in names {
                files.insert(name, json!({"fault": format!("it cannot be written: {why}")}));
            }
        }
    }
    Err(unexpected_answer(&question))
}

/// A name as a JSON pointer.
fn json_pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The command for hooks: `tollgate` if the shell finds this program under that name, otherwise its path.
fn command() -> String {
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let found = on_path("tollgate").and_then(|path| path.canonicalize().ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => path_text(&own),
        _ => "tollgate".to_owned(),
    }
}

/// The path of this program if it can confine commands: as found on the search path, otherwise its canonical path.
fn confiner() -> Option<String> {
    if Capability::of_this_system().is_none() {
        return None;
    }
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok()?;
    let found = on_path("tollgate").filter(|path| path.is_absolute() && path.canonicalize().is_ok_and(|real| real == own));
    Some(path_text(&found.unwrap_or(own)))
}

fn show(change: &SettingsChange, json: bool, output: &mut Output<'_>) -> Result<(), CommandError> {
    let what = if change.before.is_none() { "new file" } else { "change" };
    let mut lines = vec![output.paint(Style::Bold, &format!("{} ({what})", escape(&change.shown)))];
    for line in &change.diff {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Green,
            Some(b'-') => Style::Red,
            _ => Style::Dim,
        };
        lines.push(format!("  {}", output.paint(style, escape(line).trim_end())));
    }
    for line in lines {
        print(&line, json, output)?;
    }
    output.out.flush()?;
    Ok(())
}

/// Prints a line for a person: on standard error if standard output is for programs.
fn print(line: &str, json: bool, output: &mut Output<'_>) -> Result<(), CommandError> {
    if json {
        drop(writeln!(output.err, "{line}"));
    } else {
        output.line(line)?;
    }
    Ok(())
}

fn print_plan(options: &Options, output: &mut Output<'_>, plan: &Value, last: &str) -> Result<(), CommandError> {
    if options.workspace.json {
        let file = |change: &Value| json!({"host": change.get("program"), "path": text(change, "/shown"), "made": change.get("before") == Some(&Value::Null)});
        let files: Vec<Value> = list(plan, "changes").iter().map(file).collect();
        output.json(&json!({"hosts": plan.get("programs"), "files": files, "notes": plan.get("notes"),
                            "problems": plan.get("problems")}))?;
        return Ok(());
    }
    for note in texts(plan, "notes") {
        output.line(&escape(note))?;
    }
    output.line(last)?;
    Ok(())
}

fn undo(folders: &Folders, options: &Options, output: &mut Output<'_>) -> CommandResult {
    let mut gate = open(folders)?;
    let person = Person::require(&mut gate, &folders.root, &["init", "--undo"], options.yes)?;
    let receipts = Receipts::read(folders)?;
    let Some(own) = &receipts.own else {
        output.note("there is nothing to undo: `tollgate init` has not been run here");
        return Ok(Outcome::Done);
    };
    let place = inspection::environment(&mut gate, folders)?;
    let mut question = json!({"op": "wiring", "do": "undo", "place": place, "receipt": own, "others": receipts.others});
    let seen = inspection::inspect(&mut gate, &question)?;
    if let Some(fields) = question.as_object_mut() {
        fields.insert("seen".to_owned(), seen);
    }
    let undo = ask(&mut gate, &question)?;
    let json = options.workspace.json;
    for step in list(&undo, "steps") {
        print(&format!("{}: {}", text(step, "/words"), escape(text(step, "/shown"))), json, output)?;
    }
    output.out.flush()?;
    if let Some(outcome) = person.ask("undo this?").refusal(output)? {
        return Ok(outcome);
    }
    let changed = list(&undo, "steps").iter().filter_map(|step| step.get("change")).filter(|change| !change.is_null());
    let changes: Option<Vec<SettingsChange>> = changed.map(SettingsChange::read).collect();
    file_change::write_all(&changes.ok_or_else(|| unexpected_answer(&question))?)?;
    let shown: Vec<String> = list(&undo, "steps").iter().map(|step| text(step, "/shown").to_owned()).collect();
    person.record(&mut gate, &shown)?;
    // It must not keep files open in folders that are removed.
    drop(gate);
    receipts.remove()?;
    // Only empty folders are removed.
    texts(&undo, "folders").into_iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
    texts(&undo, "notes").into_iter().for_each(|note| output.note(note));
    if json {
        let file = |step: &Value| json!({"path": text(step, "/shown"), "what": text(step, "/words")});
        let files: Vec<Value> = list(&undo, "steps").iter().map(file).collect();
        output.json(&json!({"files": files, "notes": undo.get("notes")}))?;
    } else {
        let ledger = folders.root.join(LEDGER).exists();
        output.line(&if ledger { format!("undone; the ledger is kept: {LEDGER}") } else { "undone".to_owned() })?;
    }
    Ok(Outcome::Done)
}
