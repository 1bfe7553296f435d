//! `tollgate doctor`: whether the gate is really asked.
//!
//! A hook that is written down is not a hook that works: a program that is not found, a timeout in the wrong unit, a matcher
//! that leaves a tool out, and every call runs unseen. So each program's hook is run as the program would run it, with a call
//! that must be denied. The gate says what to run and what the answers mean.

mod confinement;
mod trial_folder;

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::hooks::{Hooks, Options as HookOptions};
use tollgate::{DIGEST, Level, VERSION};

use crate::cli::client::{ask, is, list, number, text, texts};
use crate::cli::inspection;
use crate::cli::output::{Cell, Screen, Style, count, plain};
use crate::cli::workspace::{Folders, Place};
use crate::cli::{Outcome, Stop};
use confinement::Confinement;
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
    let examined = ask(&mut gate, &add("trial_folder", trial_folder.path().into()))?;
    trial_folder.fill(&examined).map_err(no_room)?;
    let outcomes: Vec<Value> = list(&examined, "trials").iter().map(|trial| trial_folder.run(trial)).collect();
    let confinement = confinement::examine(trial_folder.root());
    drop(trial_folder);
    add("do", "judge".into());
    add("outcomes", outcomes.into());
    let mut judged = ask(&mut gate, &add("digest", DIGEST.into()))?;
    let holds = !matches!(confinement, Confinement::Fails(_));
    let is_well = is(&judged, "ok") && holds;
    if json {
        if let Some(fields) = judged.as_object_mut() {
            fields.insert("ok".to_owned(), is_well.into());
            fields.insert("confinement".to_owned(), confinement.words().into());
            fields.insert("version".to_owned(), VERSION.into());
            fields.insert("digest".to_owned(), DIGEST.into());
        }
        screen.json(&judged)?;
    } else {
        print(&judged, screen)?;
        screen.line(&format!("confinement: {}", confinement.words()))?;
    }
    Ok(if is_well { Outcome::Done } else { Outcome::No })
}

fn print(judged: &Value, screen: &mut Screen<'_>) -> Result<(), Stop> {
    let mut rows =
        vec![["HOST", "STATE", "TOOLS", "SETTINGS"].map(|title| Cell::styled(title, Style::Bold)).into_iter().collect()];
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
        rows.push(vec![title, Cell::styled(state, style), tools, Cell::new(settings)]);
    }
    if hosts.is_empty() {
        screen.line("no agent program is in use here; `tollgate init --host NAME` wires one")?;
    } else {
        screen.rows(&rows).iter().try_for_each(|row| screen.line(row))?;
    }
    for host in hosts {
        for remark in texts(host, "remarks") {
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
    screen.line(&format!("version: {VERSION}, component {DIGEST}"))?;
    Ok(())
}
