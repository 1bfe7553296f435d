//! `tollgate watch`: runs hooks without an editor.

mod changes;
mod commits;
mod ignored;
mod listening;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value, json};
use tollgate::hooks::{Hooks, Options as HookOptions};

use super::hooks::record::{is_over, line};
use crate::cli::client::text;
use crate::cli::interrupt::on_interrupt;
use crate::cli::output::{Output, escape};
use crate::cli::workspace::{OpenGate, WorkspaceArgs};
use crate::cli::{CommandError, CommandResult, Outcome};
use listening::{Listeners, Triggers};

/// How often the hook declarations are checked for changes.
const RELOAD_INTERVAL: Duration = Duration::from_millis(500);

/// Give up after this many failures in a row.
const MAX_FAULTS: u32 = 3;

/// The options of `tollgate watch`.
#[derive(Args)]
#[command(after_help = "Ctrl-C waits for the hooks that are running; a second one ends them.")]
pub(crate) struct Options {
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Something to print.
enum OutputItem {
    Record(Value),
    Approval(Value),
    Note(&'static str),
}

/// Messages from other threads and hooks that are to be printed.
#[derive(Clone, Default)]
struct PendingOutput(Arc<Mutex<Vec<OutputItem>>>);

impl PendingOutput {
    fn push(&self, shown: OutputItem) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(shown);
    }

    fn take(&self) -> Vec<OutputItem> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs hooks until Ctrl-C.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.workspace.run(|opened, output| watch(opened, &options.workspace, output))
}

fn watch(opened: &mut OpenGate, place: &WorkspaceArgs, output: &mut Output<'_>) -> CommandResult {
    let OpenGate { gate, root } = opened;
    let (pending, triggers) = (PendingOutput::default(), Triggers::default());
    // The listeners need a handle to the hooks, and the hooks need the listeners.
    let listeners: Arc<Mutex<Option<Listeners>>> = Arc::default();
    let (records, approvals, listener) = (pending.clone(), pending.clone(), Arc::clone(&listeners));
    let options = HookOptions::new()
        .on_record(move |record| records.push(OutputItem::Record(json!(record))))
        .on_approval(move |approval| approvals.push(OutputItem::Approval(with_type("approval", &json!(approval)))))
        .on_listen(move |trigger, on| {
            let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
            listener.as_mut().map_or(Ok(()), |listener| listener.listen(trigger, on))
        });
    let mut hooks = Hooks::new(gate, options);
    *listeners.lock().unwrap_or_else(PoisonError::into_inner) = Some(Listeners::new(root, hooks.remote(), triggers.clone()));
    let (remote, reported) = (hooks.remote(), pending.clone());
    on_interrupt(move |times| {
        if times == 1 {
            reported.push(OutputItem::Note("waiting for running hooks; press Ctrl-C again to end them"));
        }
        remote.shutdown(times == 1);
    });
    let mut declarations = Declarations::new(root, place.home());
    let (mut heard, mut faults) = (None, 0);
    while !hooks.is_stopped() {
        if declarations.have_changed() {
            hooks.remote().reload();
        }
        match hooks.work(RELOAD_INTERVAL) {
            Ok(()) => faults = 0,
            Err(fault) => {
                faults += 1;
                output.note(&format!("error: {fault}"));
                if faults >= MAX_FAULTS {
                    return Err(CommandError::failed("the gate keeps failing; please report it"));
                }
            }
        }
        for shown in pending.take() {
            show(&shown, place.json, output)?;
        }
        let now = triggers.to_vec();
        if heard.as_ref() != Some(&now) {
            output.note(&format!("watching {}; Ctrl-C ends", subjects(root, &now)));
            heard = Some(now);
        }
        output.out.flush()?;
    }
    Ok(Outcome::Done)
}

fn subjects(root: &Path, triggers: &[String]) -> String {
    let root = root.display();
    if triggers.is_empty() {
        format!("`{root}`; no hook has a trigger that can be watched yet")
    } else {
        format!("`{root}` for {}", triggers.join(", "))
    }
}

/// The object with a `type` field added.
fn with_type(kind: &str, value: &Value) -> Value {
    let fields = value.as_object().cloned().unwrap_or_default();
    std::iter::once(("type".to_owned(), kind.into())).chain(fields).collect::<serde_json::Map<_, _>>().into()
}

fn show(shown: &OutputItem, json: bool, output: &mut Output<'_>) -> Result<(), CommandError> {
    match shown {
        OutputItem::Note(note) => output.note(note),
        OutputItem::Record(record) if json => output.json(&json!({"type": "record", "record": record}))?,
        OutputItem::Approval(approval) if json => output.json(approval)?,
        OutputItem::Record(record) => {
            if is_over(record) {
                let line = line(record, output);
                output.line(&line)?;
            }
        }
        OutputItem::Approval(approval) => {
            let id = escape(text(approval, "/hook"));
            let why = if text(approval, "/why") == "changed" { "has changed since it was approved" } else { "is new" };
            output.note(&format!("{id} {why} and does not run; review and approve it with `tollgate hooks approve {id}`"));
        }
    }
    Ok(())
}

/// The files with hook declarations. The gate reads them; this only detects that they have changed.
struct Declarations {
    files: Vec<PathBuf>,
    seen: Vec<Option<(SystemTime, u64)>>,
}

impl Declarations {
    fn new(root: &Path, home: Option<PathBuf>) -> Self {
        let own = [".tollgate/hooks.json", ".tollgate/config.json", ".akira/hooks.json"].map(|file| root.join(file));
        let users =
            home.into_iter().flat_map(|home| [".tollgate/hooks.json", ".tollgate/config.json"].map(|file| home.join(file)));
        let files: Vec<PathBuf> = own.into_iter().chain(users).collect();
        let mut declarations = Self { files, seen: Vec::new() };
        declarations.have_changed();
        declarations
    }

    fn have_changed(&mut self) -> bool {
        let look = |file: &PathBuf| {
            let metadata = file.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        let now: Vec<_> = self.files.iter().map(look).collect();
        let changed = now != self.seen;
        self.seen = now;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::capture;

    #[test]
    fn only_ends_are_shown_to_a_person_and_everything_to_a_program() {
        let record =
            |status: &str| OutputItem::Record(json!({"hook": "a", "status": status, "ended": "2026-11-16T09:30:00.000Z"}));
        for (shown, person, program) in [
            (record("running"), "", true),
            (record("success"), "09:30:00  success   a\n", true),
            (OutputItem::Note("wait"), "", false),
            (OutputItem::Approval(json!({"type": "approval", "hook": "a", "why": "new"})), "", true),
        ] {
            let (_, out, _) = capture(|output| show(&shown, false, output).unwrap());
            assert_eq!(out, person);
            let (_, out, _) = capture(|output| show(&shown, true, output).unwrap());
            assert_eq!(out.starts_with("{\"type\":"), program, "{out}");
        }
    }

    #[test]
    fn a_changed_declaration_is_seen() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tollgate")).unwrap();
        let mut declarations = Declarations::new(temp.path(), None);
        assert!(!declarations.have_changed());
        std::fs::write(temp.path().join(".tollgate/hooks.json"), "{}").unwrap();
        assert!(declarations.have_changed() && !declarations.have_changed());
    }
}
