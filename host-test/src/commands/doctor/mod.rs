//! `tollgate doctor`: whether the gate is really asked.
//!
//! A hook that is written down is not a hook that works: a program that is not found, a timeout in the wrong unit, a matcher
//! that leaves a tool out, and every call runs unseen. So each program's hook is run as the program would run it, with a call
//! that must be denied, and with a command that must be held to its scope, which is run then, too. The gate says what to run and what
//! the answers mean.

mod trial_folder;

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::confine::Capability;
use tollgate::hooks::{Hooks, Options as HookOptions};
use tollgate::{DIGEST, Level, VERSION};

use crate::cli::client::{ask, is, list, number, text, texts};
use crate::cli::inspection::{self, told};
use crate::cli::output::{Cell, Screen, Style, count, plain};
use crate::cli::workspace::{Folders, Place};
use crate::cli::{Outcome, Stop};
use trial_folder::TrialFolder;

/// The options of `tollgate doctor`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

/// Tries every program.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.place.run_in(|| options.place.folders(), |folders, screen| examine(folders, options.place.json, screen))
}

fn examine(folders: &Folders, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    // What the gate would warn of is told as a fault.
    let quiet = |_: Level, _: &str, _: &str| {};
    let mut gate = folders.gate().log(quiet).open().map_err(Stop::fault)?;
    let mut gate = Hooks::new(&mut gate, HookOptions::new());
    let place = inspection::place(&mut gate, folders)?;
    let mut question = json!({"op": "wiring", "do": "examine", "place": place});
    let seen = inspection::seen(&mut gate, &question)?;
    let no_room = |why| Stop::Fault(format!("there is no room for a trial in the temporary folder: {why}"));
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
        _ => add("confiner", std::env::current_exe().ok().map(|own| told(&own)).into()),
    };
    // What is tried next may depend on what came of the trials before.
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
    let is_well = is(&judged, "ok");
    if json {
        if let Some(fields) = judged.as_object_mut() {
            fields.insert("version".to_owned(), VERSION.into());
            fields.insert("digest".to_owned(), DIGEST.into());
        }
        screen.json(&judged)?;
    } else {
        print(&judged, screen)?;
    }
    Ok(if is_well { Outcome::Done } else { Outcome::No })
}

fn print(judged: &Value, screen: &mut Screen<'_>) -> Result<(), Stop> {
    let mut rows = vec![
        ["HOST", "STATE", "TOOLS", "COMMANDS", "SETTINGS"].map(|title| Cell::styled(title, Style::Bold)).into_iter().collect(),
    ];
    let hosts = list(judged, "hosts");
    for host in hosts {
        let state = text(host, "/state");
        let style = match state {
            "live" => Style::Green,
            "live in part" | "installed, not proven" => Style::Yellow,
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
        screen.line("no agent program is in use here; `tollgate init --host NAME` wires one")?;
    } else {
        screen.rows(&rows).iter().try_for_each(|row| screen.line(row))?;
    }
    for host in hosts {
        for remark in texts(host, "remarks").into_iter().chain(host.get("confinement").and_then(Value::as_str)) {
            screen.line(&format!("{}: {}", text(host, "/title"), plain(remark)))?;
        }
    }
    let workspace = judged.get("workspace").unwrap_or(&Value::Null);
    let intents = count(number(workspace, "open_intents"), "open intent", "open intents");
    let governed = if is(workspace, "governed") { format!("governed, {intents}") } else { "not governed".to_owned() };
    screen.line(&format!("workspace: {governed}"))?;
    for fault in texts(judged, "faults") {
        screen.line(&format!("workspace: {}", screen.paint(Style::Red, &plain(fault))))?;
    }
    for note in texts(judged, "notes") {
        screen.line(&format!("workspace: {}", screen.paint(Style::Yellow, &plain(note))))?;
    }
    screen.line(&format!("confinement: {}", plain(text(judged, "/confinement"))))?;
    screen.line(&format!("version: {VERSION}, component {DIGEST}"))?;
    Ok(())
}
