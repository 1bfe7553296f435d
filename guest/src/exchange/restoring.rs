//! Restores files that a confined command changed outside its scope, once the command has ended.
//!
//! The program that confined the command reverts them: `tollgate trace revert ENTRY --restoring`, one entry after the other, each
//! with a [`permit`] in place of the person who would otherwise be asked. A change that could not be reverted is reported, and is
//! in the ledger as FAIL.

use crate::confine::{permit, wrapping};
use crate::engine::{Command, Input, Order, RunEnding, RunEnvironment};
use crate::gate::Gate;

/// Time limit for all reverts together.
const TOTAL_MS: u64 = 10_000;

/// The variables by which the program finds the user's folders.
const VARIABLES: [&str; 7] = ["HOME", "PATH", "XDG_STATE_HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SystemRoot"];

/// How much of its output is kept.
const MAX_OUTPUT: u64 = 4_096;

/// Ledger entries whose changes are being reverted.
pub(super) struct Restoring {
    program: String,
    /// The entries that are left, the next one last.
    left: Vec<String>,
    /// The entry under way, and the command that reverts it.
    under_way: Option<(u64, String)>,
    /// All of the entries; what is left of their permits is withdrawn at the end.
    permitted: Vec<String>,
    until: Option<u64>,
    /// The messages about entries that could not be reverted.
    faults: Vec<String>,
}

impl Restoring {
    /// Starts reverting changes; `None` if there are none.
    pub(super) fn new(gate: &Gate, mut entries: Vec<String>) -> Option<Self> {
        if entries.is_empty() {
            return None;
        }
        let program = gate.confiner().unwrap_or(wrapping::PROGRAM).to_owned();
        let faults = entries
            .split_off(entries.len().min(permit::MAX_ENTRIES))
            .iter()
            .map(|entry| fault(entry, "there are too many changes to revert"))
            .collect();
        let permitted = entries.clone();
        entries.reverse();
        Some(Self { program, left: entries, under_way: None, permitted, until: None, faults })
    }

    /// Takes in how a command ended.
    pub(super) fn take(&mut self, input: &Input) {
        let Input::Ended { command, ending } = input else { return };
        let Some((_, entry)) = self.under_way.take_if(|(under_way, _)| under_way == command) else { return };
        let why = match ending {
            RunEnding::Exited { code: Some(0), .. } => return,
            RunEnding::Exited { stderr, .. } => stderr.lines().last().unwrap_or("it ended with an error").to_owned(),
            RunEnding::Failed(why) => why.clone(),
            RunEnding::Missing | RunEnding::Changed(_) => format!("`{}` no longer exists", self.program),
            RunEnding::Canceled => "it was canceled".to_owned(),
        };
        self.faults.push(fault(&entry, &why));
    }

    /// Continues with the next entry; returns whether all are done.
    pub(super) fn advance(&mut self, gate: &mut Gate, now_ms: u64, commands: &mut Vec<Command>) -> bool {
        let until = *self.until.get_or_insert_with(|| now_ms.saturating_add(TOTAL_MS));
        if now_ms >= until {
            if let Some((command, entry)) = self.under_way.take() {
                commands.push(Command { id: gate.next_number(), order: Order::Cancel(command) });
                self.left.push(entry);
            }
            self.faults.extend(self.left.drain(..).map(|entry| fault(&entry, "it took too long")));
        }
        if self.under_way.is_none()
            && let Some(entry) = self.left.pop()
        {
            let id = gate.next_number();
            commands.push(Command { id, order: self.order(&entry) });
            self.under_way = Some((id, entry));
        }
        let is_done = self.under_way.is_none();
        if is_done {
            self.permitted.drain(..).for_each(|entry| permit::withdraw(&entry, gate.ports()));
        }
        is_done
    }

    /// When to continue even if nothing happens.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.until
    }

    /// The messages about entries that could not be reverted.
    pub(super) fn into_faults(self) -> Vec<String> {
        self.faults
    }

    fn order(&self, entry: &str) -> Order {
        let argv = [self.program.as_str(), "trace", "revert", entry, "--restoring"].map(str::to_owned).to_vec();
        let inherit = VARIABLES.map(str::to_owned).to_vec();
        let surroundings = RunEnvironment { inherit, output_bytes: MAX_OUTPUT, ..RunEnvironment::default() };
        Order::Run { argv, stdin: String::new(), copy: None, surroundings, confine: None }
    }
}

fn fault(entry: &str, why: &str) -> String {
    format!("Tollgate: the change of entry {entry} was not reverted: {why}; have a person run `tollgate trace revert {entry}`")
}
