//! `tollgate doctor`: checks whether agent programs really ask the gate.
//!
//! A configured hook may not work: the program is not found, a timeout is in the wrong unit, or a matcher leaves out a tool, and
//! every call runs unchecked. So each program's hook is run as the program would run it, with a call that must be denied, and with
//! a command that must be confined, which is then run, too. The gate defines the tests and interprets the results.

mod trial_folder;

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::confine::Capability;
use tollgate::hooks::{Hooks, Options as HookOptions};
use tollgate::{DIGEST, Level, VERSION};

use crate::cli::client::{ask, flag, list, number, text, texts};
use crate::cli::inspection::{self, path_text};
use crate::cli::output::{Cell, Output, Style, count, escape};
use crate::cli::workspace::{Folders, WorkspaceArgs};
use crate::cli::{CommandError, CommandResult, Outcome};
use trial_folder::TrialFolder;

/// The options of `tollgate doctor`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Tests every program.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.workspace.run_in(|| options.workspace.folders(), |folders, output| examine(folders, options.workspace.json, output))
}

fn examine(folders: &Folders, json: bool, output: &mut Output<'_>) -> CommandResult {
    // Warnings of the gate are part of the result.
    let quiet = |_: Level, _: &str, _: &str| {};
    let mut gate = folders.gate().log(quiet).open().map_err(CommandError::failed)?;
    let mut gate = Hooks::new(&mut gate, HookOptions::new());
    let place = inspection::environment(&mut gate, folders)?;
    let mut question = json!({"op": "wiring", "do": "examine", "place": place});
    let seen = inspection::inspect(&mut gate, &question)?;
    let no_room = |why| CommandError::Failed(format!("the test folder cannot be created: {why}"));
    let trial_folder = TrialFolder::new(folders).map_err(no_room)?;
    let mut add = |name: &str, value: Value| {
        if let Some(fields) = question.as_object_mut() {
            fields.insert(name.to_owned(), value);
        }
        question.clone()
    };
    add("seen", seen);
    add("trial_folder", trial_folder.path().into());
    match Capability::of_this_system() {
        Capability::None(why) => add("why", why.into()),
        _ => add("confiner", std::env::current_exe().ok().map(|own| path_text(&own)).into()),
    };
    // The next tests may depend on the results of earlier ones.
    let mut outcomes: Vec<Value> = Vec::new();
    loop {
        let examined = ask(&mut gate, &add("outcomes", outcomes.clone().into()))?;
        trial_folder.fill(&examined).map_err(no_room)?;
        let trials = list(&examined, "trials");
        if trials.is_empty() {
            break;
        }
        outcomes.extend(trials.iter().map(|trial| trial_folder.run(trial)));
    }
    drop(trial_folder);
    add("do", "judge".into());
    let mut judged = ask(&mut gate, &add("digest", DIGEST.into()))?;
    let is_well = flag(&judged, "ok");
    if json {
        if let Some(fields) = judged.as_object_mut() {
            fields.insert("version".to_owned(), VERSION.into());
            fields.insert("digest".to_owned(), DIGEST.into());
        }
        output.json(&judged)?;
    } else {
        print(&judged, output)?;
    }
    Ok(if is_well { Outcome::Done } else { Outcome::No })
}

fn print(judged: &Value, output: &mut Output<'_>) -> Result<(), CommandError> {
    let mut rows = vec![
        ["HOST", "STATE", "TOOLS", "COMMANDS", "SETTINGS"].map(|title| Cell::styled(title, Style::Bold)).into_iter().collect(),
    ];
    let hosts = list(judged, "hosts");
    for host in hosts {
        let state = text(host, "/state");
        let style = match state {
            "live" => Style::Green,
            "partly live" | "installed, not verified" => Style::Yellow,
            _ => Style::Red,
        };
        let settings = host.get("settings").and_then(Value::as_str).unwrap_or("-");
        let (title, tools) = (Cell::new(text(host, "/title")), Cell::new(text(host, "/tools")));
        let commands = match text(host, "/commands") {
            "" => Cell::new("-"),
            "confined" => Cell::styled("confined", Style::Green),
            "unconfined" => Cell::styled("unconfined", Style::Yellow),
            other => Cell::styled(other, Style::Red),
        };
        rows.push(vec![title, Cell::styled(state, style), tools, commands, Cell::new(settings)]);
    }
    if hosts.is_empty() {
        output.line("no agent program is in use here; set one up with `tollgate init --host NAME`")?;
    } else {
        output.rows(&rows).iter().try_for_each(|row| output.line(row))?;
    }
    for host in hosts {
        for remark in texts(host, "remarks").into_iter().chain(host.get("confinement").and_then(Value::as_str)) {
            output.line(&format!("{}: {}", text(host, "/title"), escape(remark)))?;
        }
    }
    let workspace = judged.get("workspace").unwrap_or(&Value::Null);
    let intents = count(number(workspace, "open_intents"), "open intent", "open intents");
    let governed = if flag(workspace, "governed") { format!("governed, {intents}") } else { "not governed".to_owned() };
    output.line(&format!("workspace: {governed}"))?;
    for fault in texts(judged, "faults") {
        output.line(&format!("workspace: {}", output.paint(Style::Red, &escape(fault))))?;
    }
    for note in texts(judged, "notes") {
        output.line(&format!("workspace: {}", output.paint(Style::Yellow, &escape(note))))?;
    }
    output.line(&format!("confinement: {}", escape(text(judged, "/confinement"))))?;
    output.line(&format!("version: {VERSION}, component {DIGEST}"))?;
    Ok(())
}
