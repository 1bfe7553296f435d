//! `tollgate doctor`: whether the gate is really asked.
//!
//! A hook that is written down is not a hook that works: a program that is not found, a timeout in the wrong unit, a matcher
//! that leaves a tool out, and every call runs unseen. So each host's command is run as the host would run it, with a call that
//! must be denied.

mod canary;
mod confinement;
mod matcher;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use clap::Args;
use serde_json::{Value, json};
use tollgate::{DIGEST, Level, VERSION};

use super::ask::{ask, is, list, text};
use super::place::{Folders, Place};
use super::screen::{Cell, Screen, Style, count, plain};
use super::wiring::{Form, WIRINGS, Wiring, shown};
use super::{Outcome, Stop};
use canary::Cage;
use confinement::Confinement;

/// The options of `tollgate doctor`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

/// Tries every host.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.place.run_in(|| options.place.folders(), |folders, screen| examine(folders, options.place.json, screen))
}

/// How a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Live,
    /// It works, but not for every tool that changes something.
    Partly,
    Silent,
    Missing,
}

impl State {
    fn words(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Partly => "live in part",
            Self::Silent => "installed, but silent",
            Self::Missing => "missing",
        }
    }
}

/// What was found about a host.
struct Finding {
    wiring: &'static Wiring,
    state: State,
    /// Where its hook is written down.
    file: Option<PathBuf>,
    command: Option<String>,
    tools: String,
    /// What a person should know or do.
    remarks: Vec<String>,
}

/// A hook that is written down.
struct Written {
    file: PathBuf,
    command: String,
    matcher: Option<String>,
    timeout: Option<u64>,
}

fn examine(folders: &Folders, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let cage = Cage::new().map_err(|why| Stop::Fault(format!("there is no room for a trial in the temporary folder: {why}")))?;
    let mut findings = Vec::new();
    for wiring in WIRINGS {
        let (written, faults) = written(wiring, folders);
        if !written.is_empty() || !faults.is_empty() || wiring.is_in_use(folders) {
            findings.push(examined(wiring, written, faults, folders, &cage));
        }
    }
    let confinement = confinement::examine(cage.root());
    drop(cage);
    let (workspace, mut faults) = workspace(folders)?;
    if let Confinement::Fails(_) = confinement {
        faults.push(confinement.words());
    }
    let well = faults.is_empty() && !findings.is_empty() && findings.iter().all(|finding| finding.state == State::Live);
    if json {
        let host = |finding: &Finding| {
            json!({"host": finding.wiring.host, "state": finding.state.words(), "tools": finding.tools,
                   "settings": finding.file.as_deref().map(|file| shown(file, folders)), "command": finding.command,
                   "remarks": finding.remarks})
        };
        let hosts: Vec<Value> = findings.iter().map(host).collect();
        screen.json(
            &json!({"ok": well, "version": VERSION, "digest": DIGEST, "workspace": workspace, "faults": faults, "hosts": hosts,
                    "confinement": confinement.words()}),
        )?;
    } else {
        print(&findings, &workspace, &faults, folders, screen)?;
        screen.line(&format!("confinement: {}", confinement.words()))?;
    }
    Ok(if well { Outcome::Done } else { Outcome::No })
}

/// Our hooks before a tool, wherever the host would find them, and files that cannot be read.
fn written(wiring: &Wiring, folders: &Folders) -> (Vec<Written>, Vec<String>) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let mut files: Vec<PathBuf> = wiring.settings.iter().filter_map(|at| at.path(folders)).collect();
    if wiring.form == Form::Shells {
        let others = [Some(folders.root.join(".github/hooks")), folders.home.as_ref().map(|home| home.join(".copilot/hooks"))];
        let folders = others.into_iter().flatten().filter_map(|folder| std::fs::read_dir(folder).ok());
        let listed = folders.flatten().filter_map(|entry| Some(entry.ok()?.path()));
        files.extend(listed.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect::<Vec<_>>());
        files.sort();
        files.dedup();
    }
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if wiring.form == Form::Plugin {
            let command = "tollgate/opencode".to_owned();
            if text.contains(&command) {
                found.push(Written { file, command, matcher: None, timeout: None });
            }
            continue;
        }
        let settings: Value = match serde_json::from_str(&text) {
            Ok(settings) => settings,
            Err(why) if text.contains("tollgate") => {
                faults.push(format!("{} cannot be read as plain JSON: {why}", shown(&file, folders)));
                continue;
            }
            Err(_) => continue,
        };
        if let Some(why) = switched_off(&settings) {
            faults.push(format!("{} switches hooks off: {why}", shown(&file, folders)));
        }
        let event = wiring.events.first().map_or("", |(event, _)| event);
        for entry in settings.pointer(&format!("/hooks/{event}")).and_then(Value::as_array).into_iter().flatten() {
            for command in wiring.commands(entry).into_iter().filter(|command| wiring.is_our_command(command)) {
                let inner = entry.pointer("/hooks/0").unwrap_or(entry);
                found.push(Written {
                    file: file.clone(),
                    command: command.to_owned(),
                    matcher: entry.get("matcher").and_then(Value::as_str).map(str::to_owned),
                    timeout: ["timeout", "timeoutSec"].iter().find_map(|name| inner.get(*name)?.as_u64()),
                });
            }
        }
    }
    (found, faults)
}

/// A setting with which a host runs no hooks.
fn switched_off(settings: &Value) -> Option<&'static str> {
    match () {
        () if settings.get("disableAllHooks") == Some(&Value::Bool(true)) => Some("`disableAllHooks` is true"),
        () if settings.pointer("/hooksConfig/enabled") == Some(&Value::Bool(false)) => Some("`hooksConfig.enabled` is false"),
        () => None,
    }
}

fn examined(wiring: &'static Wiring, written: Vec<Written>, mut remarks: Vec<String>, folders: &Folders, cage: &Cage) -> Finding {
    let off = !remarks.is_empty();
    let Some(first) = written.first() else {
        remarks.push(format!("run `tollgate init --host {}`", wiring.host));
        return Finding { wiring, state: State::Missing, file: None, command: None, tools: String::new(), remarks };
    };
    let (file, command) = (Some(first.file.clone()), Some(first.command.clone()));
    let mut tried = match wiring.form {
        Form::Plugin => cage
            .try_plugin(&first.file)
            .unwrap_or_else(|| Err("it cannot be tried: neither `bun` nor `node` is on the search path".to_owned())),
        _ => cage.try_command(wiring.host, &first.command, &folders.root),
    };
    // A unit that was mistaken makes every answer late, and a late denial is none.
    if let Some(timeout) = first.timeout.filter(|timeout| wiring.timeout >= 1_000 && *timeout < 1_000) {
        tried =
            Err(format!("its timeout of {timeout} is in milliseconds, too short for any answer; {} is right", wiring.timeout));
    }
    // What one hook's matcher leaves out another's may see.
    let missed = written.iter().map(|hook| matcher::misses(hook.matcher.as_deref(), wiring.changing)).collect::<Option<Vec<_>>>();
    let missed = missed.map(|lists| {
        let everywhere = |tool: &&str| lists.iter().all(|list| list.contains(tool));
        wiring.changing.iter().copied().filter(everywhere).collect::<Vec<_>>()
    });
    let tools = match &missed {
        Some(missed) if missed.is_empty() => "every tool".to_owned(),
        Some(missed) => format!("not {}", missed.join(", ")),
        None => format!("as `{}` says", first.matcher.as_deref().unwrap_or_default()),
    };
    let state = match (&tried, &missed) {
        _ if off => State::Silent,
        (Err(_), _) => State::Silent,
        (Ok(()), Some(missed)) if !missed.is_empty() => State::Partly,
        (Ok(()), _) => State::Live,
    };
    remarks.extend(tried.err());
    if state == State::Partly {
        remarks.push(format!("its matcher leaves out tools that change files; make it `{}`", wiring.every.unwrap_or("*")));
    }
    if state != State::Silent {
        remarks.extend(other_version(first, folders, cage));
    }
    if wiring.host == "codex" {
        remarks.push("whether Codex trusts the hook is not visible from here: look at `/hooks` in Codex".to_owned());
    }
    Finding { wiring, state, file, command, tools, remarks }
}

/// The version behind a command, where it is not this one.
fn other_version(written: &Written, folders: &Folders, cage: &Cage) -> Option<String> {
    let (program, _) = written.command.split_once(" hook ")?;
    let said = cage.version(program, &folders.root)?;
    (!said.contains(DIGEST))
        .then(|| format!("it runs another version than this one: {}", said.chars().take(120).collect::<String>()))
}

/// How the workspace itself is: what it says, and what is wrong with it.
fn workspace(folders: &Folders) -> Result<(Value, Vec<String>), Stop> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let log = move |level: Level, message: &str, _: &str| {
        if let (Level::Warn | Level::Error, Ok(mut heard)) = (level, ear.lock()) {
            heard.push(message.to_owned());
        }
    };
    let mut gate = folders.gate().log(log).open().map_err(Stop::fault)?;
    let intents = ask(&mut gate, &json!({"op": "list-intents"}))?;
    let governed = is(&intents, "governed");
    let mut faults = Vec::new();
    if governed {
        let errors = list(&intents, "diagnostics").iter().filter(|found| text(found, "/severity") == "error").count();
        if errors > 0 {
            faults.push(format!(
                "the intents have {}; `tollgate intents check` shows them",
                count(errors as u64, "error", "errors")
            ));
        }
        // Looking at a folder makes the gate read its settings, and changes nothing.
        let look =
            json!({"op": "pre-tool", "session": "tollgate-doctor", "call": "look", "tool": "list_files", "args": {"path": "."}});
        ask(&mut gate, &look)?;
        let settings = heard.lock().map(|heard| heard.clone()).unwrap_or_default();
        faults.extend(settings.into_iter().filter(|message| message.contains("config.json")));
    } else {
        faults.push("there is no .orchestration/ in the workspace, so nothing is governed; run `tollgate init`".to_owned());
    }
    let open = list(&intents, "intents").iter().filter(|intent| is(intent, "open")).count();
    if governed && open == 0 && faults.is_empty() {
        faults.push("no intent is open, so nothing may be changed; write one into .orchestration/active_intents.yaml".to_owned());
    }
    Ok((json!({"governed": governed, "open_intents": open}), faults))
}

fn print(
    findings: &[Finding],
    workspace: &Value,
    faults: &[String],
    folders: &Folders,
    screen: &mut Screen<'_>,
) -> Result<(), Stop> {
    let mut rows =
        vec![["HOST", "STATE", "TOOLS", "SETTINGS"].map(|title| Cell::styled(title, Style::Bold)).into_iter().collect()];
    for finding in findings {
        let style = match finding.state {
            State::Live => Style::Green,
            State::Partly => Style::Yellow,
            State::Silent | State::Missing => Style::Red,
        };
        rows.push(vec![
            Cell::new(finding.wiring.title),
            Cell::styled(finding.state.words(), style),
            Cell::new(&finding.tools),
            Cell::new(finding.file.as_deref().map_or_else(|| "-".to_owned(), |file: &Path| shown(file, folders))),
        ]);
    }
    if findings.is_empty() {
        screen.line("no host is in use here; `tollgate init --host NAME` wires one")?;
    } else {
        screen.rows(&rows).iter().try_for_each(|row| screen.line(row))?;
    }
    for finding in findings {
        for remark in &finding.remarks {
            screen.line(&format!("{}: {}", finding.wiring.title, plain(remark)))?;
        }
    }
    let intents = count(workspace.get("open_intents").and_then(Value::as_u64).unwrap_or_default(), "open intent", "open intents");
    screen.line(&format!(
        "workspace: {}",
        if is(workspace, "governed") { format!("governed, {intents}") } else { "not governed".to_owned() }
    ))?;
    faults.iter().try_for_each(|fault| screen.line(&format!("workspace: {}", screen.paint(Style::Red, &plain(fault)))))?;
    screen.line(&format!("version: {VERSION}, component {DIGEST}"))?;
    Ok(())
}
