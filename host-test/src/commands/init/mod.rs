//! `tollgate init`: wires the hosts in use to the gate, once a person has seen how, and takes it back.

mod change;
mod json_text;
mod plan;
mod receipt;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::Tollgate;

use super::person::{self, Person};
use super::place::{Folders, Place};
use super::screen::{Screen, Style, plain};
use super::wiring::{self, WIRINGS, Wiring, on_path, shown};
use super::{Outcome, Stop, log};
use change::{Change, backup_of, diff, digest};
use receipt::{Receipt, Written};

/// Where what was done is entered, and stays.
const LEDGER: &str = ".orchestration/agent_trace.jsonl";

/// The options of `tollgate init`.
#[derive(Args)]
pub(crate) struct Options {
    /// Wire this host: claude-code, codex, gemini, cursor, copilot, opencode; may be repeated [default: those in use]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode"])]
    host: Vec<String>,
    /// Take back what an earlier run did
    #[arg(long)]
    undo: bool,
    /// Say yes beforehand; it takes a terminal even so
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: Place,
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
    let person = Person::require(&mut open(folders)?, &folders.root, &["init"], options.yes)?;
    let program = program();
    let chosen: Vec<&Wiring> = match options.host.as_slice() {
        [] => WIRINGS.iter().filter(|wiring| wiring.is_in_use(folders)).collect(),
        named => named.iter().filter_map(|host| wiring::of(host)).collect(),
    };
    if chosen.is_empty() {
        screen.note("no host is in use here; name one with --host NAME");
    }
    let mut changes: Vec<(Option<&str>, Change)> = plan::of_intents(folders)?.into_iter().map(|change| (None, change)).collect();
    for wiring in &chosen {
        changes.extend(plan::of_host(wiring, &program, folders)?.into_iter().map(|change| (Some(wiring.host), change)));
    }
    let json = options.place.json;
    if program != "tollgate" {
        screen.note("`tollgate` is not on the search path, or is another one there, so the hooks name this program by its path");
    }
    if changes.is_empty() {
        tell(json, screen, &chosen, &changes, folders, "everything is set up already")?;
        return Ok(Outcome::Done);
    }
    for (_, change) in &changes {
        show(change, folders, json, screen)?;
    }
    if let Some(outcome) = person.ask(&count(&changes, "write")).refusal(screen)? {
        return Ok(outcome);
    }
    let state = folders.state_folder()?;
    let mut receipt = Receipt::read(&folders.root, &state)?;
    let all: Vec<Change> = changes.iter().map(|(_, change)| change.clone()).collect();
    let mut written: Vec<Change> = Vec::new();
    for (host, change) in &changes {
        let known = receipt.files.iter().any(|file| file.path == change.path && backup_of(&file.path).exists());
        receipt.enter(*host, change);
        // What was there before the first run is kept; a file that somebody changed since is kept anew.
        let same = receipt.files.iter().any(|file| file.path == change.path && !file.made);
        if let (Some(before), true) = (&change.before, same && !known) {
            written.push(Change { path: backup_of(&change.path), before: None, after: before.clone() });
        }
    }
    written.extend(all);
    receipt.folders.extend(missing_folders(&written));
    folders.make_state_folder()?;
    written.push(receipt.change(&folders.root, &state)?);
    change::write_all(&written)?;
    let changed: Vec<String> = changes.iter().map(|(_, change)| shown(&change.path, folders)).collect();
    // Another gate: this one has not seen the folder that governs from now on.
    person.record_with(&mut open(folders)?, &changed, &person::own_program())?;
    tell(
        json,
        screen,
        &chosen,
        &changes,
        folders,
        "done; `tollgate doctor` proves that it works, `tollgate init --undo` takes it back",
    )?;
    Ok(Outcome::Done)
}

/// Folders that the changes will make, outermost first.
fn missing_folders(changes: &[Change]) -> Vec<std::path::PathBuf> {
    let mut folders: Vec<_> = changes
        .iter()
        .flat_map(|change| change.path.ancestors().skip(1).filter(|folder| !folder.exists()))
        .map(Path::to_owned)
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

/// What the hooks call: the name, where the shell finds this very program under it, else its path.
fn program() -> String {
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let found = on_path("tollgate").and_then(|path| path.canonicalize().ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => {
            let path = own.display().to_string();
            if path.contains(|c: char| c.is_whitespace() || "\"'\\$&;()".contains(c)) { format!("\"{path}\"") } else { path }
        }
        _ => "tollgate".to_owned(),
    }
}

fn show(change: &Change, folders: &Folders, json: bool, screen: &mut Screen<'_>) -> Result<(), Stop> {
    let what = if change.before.is_none() { "new file" } else { "change" };
    let mut lines = vec![screen.paint(Style::Bold, &format!("{} ({what})", plain(&shown(&change.path, folders))))];
    for line in diff(change) {
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Green,
            Some(b'-') => Style::Red,
            _ => Style::Dim,
        };
        lines.push(format!("  {}", screen.paint(style, &plain(&line))));
    }
    if json {
        lines.iter().for_each(|line| drop(writeln!(screen.err, "{line}")));
    } else {
        lines.iter().try_for_each(|line| screen.line(line))?;
        screen.out.flush()?;
    }
    Ok(())
}

fn count(changes: &[(Option<&str>, Change)], verb: &str) -> String {
    let files = super::screen::count(changes.len() as u64, "this file", "these files");
    format!("{verb} {}?", files.trim_start_matches("1 "))
}

fn tell(
    json: bool,
    screen: &mut Screen<'_>,
    chosen: &[&Wiring],
    changes: &[(Option<&str>, Change)],
    folders: &Folders,
    last: &str,
) -> Result<(), Stop> {
    if json {
        let file = |(host, change): &(Option<&str>, Change)| json!({"host": host, "path": shown(&change.path, folders), "made": change.before.is_none()});
        let hosts: Vec<&str> = chosen.iter().map(|wiring| wiring.host).collect();
        let notes: Vec<&str> = chosen.iter().filter_map(|wiring| wiring.note).collect();
        let files: Vec<Value> = changes.iter().map(file).collect();
        screen.json(&json!({"hosts": hosts, "files": files, "notes": notes}))?;
        return Ok(());
    }
    for wiring in chosen {
        if let Some(note) = wiring.note {
            screen.line(&format!("{}: {note}", wiring.title))?;
        }
    }
    screen.line(last)?;
    Ok(())
}

/// What becomes of a file when everything is taken back.
enum Return {
    Remove,
    Restore(String),
    /// Somebody changed it since, so only what is ours goes.
    Strip(String),
    Leave(&'static str),
}

fn undo(folders: &Folders, options: &Options, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let mut gate = open(folders)?;
    let person = Person::require(&mut gate, &folders.root, &["init", "--undo"], options.yes)?;
    let state = folders.state_folder()?;
    let receipt = Receipt::read(&folders.root, &state)?;
    if receipt.files.is_empty() {
        screen.note("there is nothing to take back: `tollgate init` has not been run here");
        return Ok(Outcome::Done);
    }
    let mut returns = Vec::new();
    for file in receipt.files.iter().rev() {
        let now = change::read(&file.path)?;
        let (word, what) = match (now, file) {
            (None, _) => ("gone already", Return::Leave("")),
            (Some(now), file) => taken_back(file, now)?,
        };
        let line = format!("{word}: {}", plain(&shown(&file.path, folders)));
        if options.place.json {
            drop(writeln!(screen.err, "{line}"))
        } else {
            screen.line(&line)?
        }
        returns.push((file, word, what));
    }
    screen.out.flush()?;
    if let Some(outcome) = person.ask("take this back?").refusal(screen)? {
        return Ok(outcome);
    }
    let mut rewritten = Vec::new();
    for (file, _, what) in &returns {
        if let Return::Restore(text) | Return::Strip(text) = what {
            rewritten.push(Change { path: file.path.clone(), before: change::read(&file.path)?, after: text.clone() });
        }
    }
    change::write_all(&rewritten)?;
    for (file, _, what) in &returns {
        if let Return::Remove = what {
            fs::remove_file(&file.path)
                .map_err(|fault| Stop::Fault(format!("`{}` cannot be removed: {fault}", file.path.display())))?;
        }
    }
    let changed: Vec<String> = returns.iter().map(|(file, ..)| shown(&file.path, folders)).collect();
    person.record(&mut gate, &changed)?;
    receipt.forget(&folders.root, &state);
    for (_, _, what) in &returns {
        if let Return::Leave(why) = what
            && !why.is_empty()
        {
            screen.note(why);
        }
    }
    if options.place.json {
        let files: Vec<Value> =
            returns.iter().map(|(file, word, _)| json!({"path": shown(&file.path, folders), "what": word})).collect();
        screen.json(&json!({"files": files}))?;
    } else {
        let ledger = folders.root.join(LEDGER).exists();
        screen.line(&if ledger { format!("taken back; the ledger stays: {LEDGER}") } else { "taken back".to_owned() })?;
    }
    Ok(Outcome::Done)
}

fn taken_back(file: &Written, now: String) -> Result<(&'static str, Return), Stop> {
    let wiring = file.host.as_deref().and_then(wiring::of);
    if digest(&now) == file.digest {
        if file.made {
            return Ok(("remove", Return::Remove));
        }
        if let Some(before) = change::read(&backup_of(&file.path))? {
            // An earlier run may have been before the copy.
            let before = wiring.and_then(|wiring| plan::without_ours(wiring, &before)).unwrap_or(before);
            return Ok(("restore", Return::Restore(before)));
        }
    }
    Ok(match wiring.and_then(|wiring| plan::without_ours(wiring, &now)) {
        Some(text) => ("changed since; only Tollgate's entries go from", Return::Strip(text)),
        None => ("changed since, left alone", Return::Leave("what was changed since was left alone")),
    })
}
