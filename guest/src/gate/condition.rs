//! The condition of the workspace: whether it is governed, what is wrong with it, and what waits for a person.

use serde_json::Value;

use crate::config::{self, Config};
use crate::extensions::{Extension, ExtensionState};
use crate::gate::Gate;
use crate::hooks::trust::Trust;
use crate::intents::diagnosis::Severity;
use crate::intents::file::{Governance, PATH};
use crate::json::object;
use crate::ports::{FileFault, Root};

/// Maximum size of the settings file that is read.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// What is wrong if there are no intents. People and agents read this, and only people may run the command.
pub(crate) const UNGOVERNED: &str =
    "there is no .orchestration/ in the workspace, so nothing is governed; a person can set it up with `tollgate init`";

/// The checks, in the order in which they are reported.
const CHECKS: &[fn(&mut Condition, &mut Gate)] =
    &[Condition::check_intents, Condition::check_settings, Condition::check_hooks, Condition::check_extensions];

/// The condition of the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Whether changes are ruled on: the workspace has intents, and they could be read at least once.
    pub governed: bool,
    /// How many intents are open.
    pub open_intents: usize,
    /// What is wrong.
    pub faults: Vec<String>,
    /// What waits for a person but is not wrong.
    pub notes: Vec<String>,
}

impl Condition {
    /// Examines the workspace of a gate.
    pub fn of(gate: &mut Gate) -> Self {
        let mut condition = Self::default();
        CHECKS.iter().for_each(|check| check(&mut condition, gate));
        condition
    }

    /// Checks whether there are intents, and whether they can be read.
    fn check_intents(&mut self, gate: &mut Gate) {
        let (governance, diagnoses) = gate.intents();
        let errors = diagnoses.iter().filter(|diagnosis| diagnosis.severity == Severity::Error).count();
        self.governed = !matches!(governance, Governance::None | Governance::Unreadable(_));
        match &governance {
            Governance::None => {
                self.faults.push(UNGOVERNED.to_owned());
            }
            Governance::Unreadable(why) => self.faults.push(format!(
                "governance is off, because the intents were never readable: {why}; `tollgate intents check` shows what is wrong"
            )),
            Governance::Inaccessible(why) => {
                self.faults.push(format!("the intents cannot be inspected: {why}; a person is asked about every change"));
            }
            Governance::By(intents) => {
                self.open_intents = intents.all().iter().filter(|intent| intent.status.is_open()).count();
                if errors > 0 {
                    let count = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
                    self.faults.push(format!(
                        "the intents have {count}, and the last good ones stay in force; `tollgate intents check` shows what is wrong"
                    ));
                } else if self.open_intents == 0 {
                    self.faults.push(format!("no intent is open, so nothing may be changed; add one to {PATH}"));
                }
            }
        }
    }

    /// Checks whether the workspace's own settings can be read.
    fn check_settings(&mut self, gate: &mut Gate) {
        match gate.ports().workspace.read(Root::Project, config::PATH, MAX_CONFIG_BYTES) {
            Ok(text) => self.faults.extend(Config::parse(&text).err().map(|fault| fault.to_string())),
            Err(FileFault::Missing) => {}
            Err(fault) => self.faults.push(format!("`{}` cannot be read: {fault}", config::PATH)),
        }
    }

    /// Reports hooks that are declared but do not run: they cannot be read, cannot be started, or their current version has not
    /// been approved.
    fn check_hooks(&mut self, gate: &mut Gate) {
        let (hooks, ports) = gate.hooks();
        let unreadable =
            hooks.registry.faults().map(|fault| format!("`{}`, line {}: {}", fault.file, fault.place.0, fault.message));
        self.faults.extend(unreadable);
        let all = hooks.registry.all().to_vec();
        let mut waiting: Vec<String> = Vec::new();
        for registered in all.iter().filter(|registered| registered.disabled.is_none()) {
            let id = &registered.hook.id;
            match hooks.examine(registered, ports) {
                Err(why) => self.notes.push(format!("the hook `{id}` cannot run: {why}")),
                Ok((_, Some(Trust::Approved) | None)) => {}
                Ok(_) => waiting.push(format!("`{id}`")),
            }
        }
        if !waiting.is_empty() {
            self.notes.push(format!(
                "hooks that do not run, because their current version is not approved: {}; `tollgate hooks list` shows them",
                waiting.join(", ")
            ));
        }
    }

    /// Reports extensions that cannot be used, and those that are enabled and wait for a person.
    fn check_extensions(&mut self, gate: &mut Gate) {
        let (extensions, ..) = gate.extensions();
        self.faults.extend(extensions.faults().map(|fault| fault.to_string()));
        let waits = |extension: &&Extension| {
            !matches!(extension.state, ExtensionState::Active | ExtensionState::Disabled | ExtensionState::Invalid)
        };
        for extension in extensions.all().iter().filter(waits) {
            let why = extension.why.as_deref().unwrap_or_default();
            self.notes.push(format!("the extension `{}` provides nothing: {why}", extension.name));
        }
    }

    /// The condition as JSON, as a host reads it.
    pub fn to_json(&self) -> Value {
        object(&mut [("governed", self.governed.into()), ("open_intents", self.open_intents.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    const GOOD: &str = "[{id: A, name: A, status: IN_PROGRESS, owned_scope: [a]}]";

    #[test]
    fn what_is_wrong_is_said() {
        for (intents, file, text, governed, fault) in [
            (Some(GOOD), "x", "", true, None),
            (None, "x", "", false, Some("there is no .orchestration/ in the workspace")),
            (Some("[{id: A"), "x", "", false, Some("governance is off, because the intents were never readable")),
            (Some("[]"), "x", "", true, Some("no intent is open, so nothing may be changed")),
            (Some(GOOD), config::PATH, "{\"strict\": 3}", true, Some(".tollgate/config.json")),
            (Some(GOOD), ".tollgate/hooks.json", "{\"hooks\": 3}", true, Some("`.tollgate/hooks.json`, line 1: ")),
        ] {
            let world = Memory::new();
            intents.into_iter().for_each(|text| world.write(PATH, text));
            world.write(file, text);
            let found = Condition::of(&mut Gate::new(world.ports()));
            assert_eq!((found.governed, found.faults.len()), (governed, fault.iter().count()), "{file}: {found:?}");
            assert!(fault.is_none_or(|fault| found.faults[0].contains(fault)), "{file}: {found:?}");
        }
    }

    #[test]
    fn a_hook_that_does_not_run_is_said() {
        let world = Memory::new();
        world.write(PATH, GOOD);
        let hooks = r#"{"hooks": [{"id": "lint", "trigger": "after_tool", "command": "no-such-program"}]}"#;
        world.write(".tollgate/hooks.json", hooks);
        let found = Condition::of(&mut Gate::new(world.ports()));
        assert!(found.faults.is_empty() && found.notes.len() == 1 && found.notes[0].contains("`lint`"), "{found:?}");
    }
}
