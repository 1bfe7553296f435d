//! Restores files that a confined command changed outside its scope, once the command has ended.
//!
//! The program that confined the command takes them back: `tollgate trace revert ENTRY --restoring`, one after the other, each with a
//! [`permit`] in place of the person who would otherwise be asked. What could not be taken back is reported, and is in the ledger as FAIL.

use crate::confine::{permit, wrapping};
use crate::engine::{Command, Input, Order, RunEnding, RunEnvironment};
use crate::gate::Gate;

/// How long it may take altogether.
const TOTAL_MS: u64 = 10_000;

/// What the program finds the user's folders by.
const VARIABLES: [&str; 7] = ["HOME", "PATH", "XDG_STATE_HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SystemRoot"];

/// Of what it says this much is kept.
const MAX_OUTPUT: u64 = 4_096;

/// Entries that are being taken back.
pub(super) struct Restoring {
    program: String,
    /// Those that are left, the next one last.
    left: Vec<String>,
    /// The one under way, and the command that does it.
    under_way: Option<(u64, String)>,
    /// All of them; what is left of their permits ends with this.
    permitted: Vec<String>,
    until: Option<u64>,
    /// The message about those that could not be taken back.
    faults: Vec<String>,
}

impl Restoring {
    /// Begins to take changes back; `None` if there are none.
    pub(super) fn new(gate: &Gate, mut entries: Vec<String>) -> Option<Self> {
        if entries.is_empty() {
            return None;
        }
        let program = gate.confiner().unwrap_or(wrapping::PROGRAM).to_owned();
        let faults = entries
            .split_off(entries.len().min(permit::MAX_ENTRIES))
            .iter()
            .map(|entry| fault(entry, "there are too many"))
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

    /// Goes on with the next entry. True once all is done.
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

    /// When to go on though nothing happened.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.until
    }

    /// The message about those that could not be taken back.
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
