//! `tollgate watch`: hooks without an editor.

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
use crate::cli::output::{Screen, plain};
use crate::cli::workspace::{Opened, Place};
use crate::cli::{Outcome, Stop};
use listening::{Listening, Triggers};

/// How often the declarations are looked at.
const OFTEN: Duration = Duration::from_millis(500);

/// A gate that fails so often in a row is no gate.
const MOST_FAULTS: u32 = 3;

/// The options of `tollgate watch`.
#[derive(Args)]
#[command(after_help = "Ctrl-C waits for the hooks that are running; a second one ends them.")]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

/// Something to show.
enum Shown {
    Record(Value),
    Approval(Value),
    Note(&'static str),
}

/// What other threads and the hooks want shown.
#[derive(Clone, Default)]
struct Board(Arc<Mutex<Vec<Shown>>>);

impl Board {
    fn put(&self, shown: Shown) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(shown);
    }

    fn take(&self) -> Vec<Shown> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs hooks until Ctrl-C.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.place.run(|opened, screen| watch(opened, &options.place, screen))
}

fn watch(opened: &mut Opened, place: &Place, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let Opened { gate, root } = opened;
    let (board, triggers) = (Board::default(), Triggers::default());
    // The listeners need the hooks that they tell of changes, and those need somebody who listens.
    let listening: Arc<Mutex<Option<Listening>>> = Arc::default();
    let (records, approvals, listener) = (board.clone(), board.clone(), Arc::clone(&listening));
    let options = HookOptions::new()
        .on_record(move |record| records.put(Shown::Record(json!(record))))
        .on_approval(move |approval| approvals.put(Shown::Approval(typed("approval", &json!(approval)))))
        .on_listen(move |trigger, on| {
            let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
            listener.as_mut().map_or(Ok(()), |listener| listener.listen(trigger, on))
        });
    let mut hooks = Hooks::new(gate, options);
    *listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(Listening::new(root, hooks.remote(), triggers.clone()));
    let (remote, told) = (hooks.remote(), board.clone());
    on_interrupt(move |times| {
        if times == 1 {
            told.put(Shown::Note("waiting for what is running; Ctrl-C again ends it"));
        }
        remote.shutdown(times == 1);
    });
    let mut declarations = Declarations::new(root, place.home());
    let (mut heard, mut faults) = (None, 0);
    while !hooks.is_stopped() {
        if declarations.have_changed() {
            hooks.remote().reload();
        }
        match hooks.work(OFTEN) {
            Ok(()) => faults = 0,
            Err(fault) => {
                faults += 1;
                screen.note(&format!("error: {fault}"));
                if faults >= MOST_FAULTS {
                    return Err(Stop::fault("the gate fails again and again; please report it"));
                }
            }
        }
        for shown in board.take() {
            show(&shown, place.json, screen)?;
        }
        let now = triggers.all();
        if heard.as_ref() != Some(&now) {
            screen.note(&format!("watching {}; Ctrl-C ends", subjects(root, &now)));
            heard = Some(now);
        }
        screen.out.flush()?;
    }
    Ok(Outcome::Done)
}

fn subjects(root: &Path, triggers: &[String]) -> String {
    let root = root.display();
    if triggers.is_empty() {
        format!("`{root}`, where no hook waits for anything that can be watched yet")
    } else {
        format!("`{root}` for {}", triggers.join(", "))
    }
}

/// An object with its type in front.
fn typed(kind: &str, value: &Value) -> Value {
    let fields = value.as_object().cloned().unwrap_or_default();
    std::iter::once(("type".to_owned(), kind.into())).chain(fields).collect::<serde_json::Map<_, _>>().into()
}

fn show(shown: &Shown, json: bool, screen: &mut Screen<'_>) -> Result<(), Stop> {
    match shown {
        Shown::Note(note) => screen.note(note),
        Shown::Record(record) if json => screen.json(&json!({"type": "record", "record": record}))?,
        Shown::Approval(approval) if json => screen.json(approval)?,
        Shown::Record(record) => {
            if is_over(record) {
                let line = line(record, screen);
                screen.line(&line)?;
            }
        }
        Shown::Approval(approval) => {
            let id = plain(text(approval, "/hook"));
            let why = if text(approval, "/why") == "changed" { "is no longer what was approved" } else { "is new" };
            screen.note(&format!(
                "{id} {why} and does not run; a person can look at it and let it run: `tollgate hooks approve {id}`"
            ));
        }
    }
    Ok(())
}

/// The files that hooks are declared in. The gate reads them; this only sees that they are others now.
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
    use crate::cli::output::tests::printed;

    #[test]
    fn only_ends_are_shown_to_a_person_and_everything_to_a_program() {
        let record = |status: &str| Shown::Record(json!({"hook": "a", "status": status, "ended": "2026-11-16T09:30:00.000Z"}));
        for (shown, person, program) in [
            (record("running"), "", true),
            (record("success"), "09:30:00  success   a\n", true),
            (Shown::Note("wait"), "", false),
            (Shown::Approval(json!({"type": "approval", "hook": "a", "why": "new"})), "", true),
        ] {
            let (_, out, _) = printed(|screen| show(&shown, false, screen).unwrap());
            assert_eq!(out, person);
            let (_, out, _) = printed(|screen| show(&shown, true, screen).unwrap());
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
