//! How the workspace itself is: whether it is governed, what is wrong with it, and what waits for a person.

use serde_json::Value;

use crate::config::{self, Config};
use crate::gate::Gate;
use crate::hooks::registry::Registered;
use crate::hooks::trust::Trust;
use crate::intents::diagnosis::Severity;
use crate::intents::file::{Governance, PATH};
use crate::json::object;
use crate::ports::{FileFault, Root};

/// The largest settings file that is looked at.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// How the workspace is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Whether it has `.orchestration/`.
    pub governed: bool,
    /// How many intents can be worked for.
    pub open_intents: usize,
    /// What is wrong.
    pub faults: Vec<String>,
    /// What waits for a person, and is not wrong.
    pub notes: Vec<String>,
}

impl Condition {
    /// Looks at the workspace of a gate.
    pub fn of(gate: &mut Gate) -> Self {
        let mut condition = Self::default();
        let (governance, diagnoses) = gate.intents();
        let errors = diagnoses.iter().filter(|diagnosis| diagnosis.severity == Severity::Error).count();
        condition.governed = !matches!(governance, Governance::None);
        match &governance {
            Governance::None => {
                let why = "there is no .orchestration/ in the workspace, so nothing is governed; `tollgate init` makes one";
                condition.faults.push(why.to_owned());
            }
            Governance::Unreadable(why) => condition.faults.push(format!(
                "governance is off, because the intents were never readable: {why}; `tollgate intents check` shows what is wrong"
            )),
            Governance::Inaccessible(why) => {
                condition.faults.push(format!("the intents cannot be looked at: {why}; a person is asked about every change"));
            }
            Governance::By(intents) => {
                condition.open_intents = intents.all().iter().filter(|intent| intent.status.is_open()).count();
                if errors > 0 {
                    let count = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
                    condition.faults.push(format!(
                        "the intents have {count}, and the last good ones stay in force; `tollgate intents check` shows what is wrong"
                    ));
                } else if condition.open_intents == 0 {
                    condition.faults.push(format!("no intent is open, so nothing may be changed; write one into {PATH}"));
                }
            }
        }
        match gate.ports().workspace.read(Root::Project, config::PATH, MAX_CONFIG_BYTES) {
            Ok(text) => condition.faults.extend(Config::parse(&text).err().map(|fault| fault.to_string())),
            Err(FileFault::Missing) => {}
            Err(fault) => condition.faults.push(format!("`{}` cannot be read: {fault}", config::PATH)),
        }
        condition.notes.extend(waiting(gate));
        condition
    }

    /// As a host reads it.
    pub fn to_json(&self) -> Value {
        object(&mut [("governed", self.governed.into()), ("open_intents", self.open_intents.into())])
    }
}

/// The hooks that do not run because nobody has approved them as they are.
fn waiting(gate: &mut Gate) -> Option<String> {
    let (hooks, ports) = gate.hooks();
    let all = hooks.registry.all().to_vec();
    let mut waits = |registered: &&Registered| {
        let examined = hooks.examine(registered, ports);
        registered.disabled.is_none()
            && examined.is_ok_and(|(_, trust)| trust.is_some_and(|trust| !matches!(trust, Trust::Approved)))
    };
    let waiting: Vec<String> = all.iter().filter(&mut waits).map(|registered| format!("`{}`", registered.hook.id)).collect();
    (!waiting.is_empty()).then(|| {
        let list = waiting.join(", ");
        format!(
            "hooks that do not run, because no person has approved them as they are: {list}; `tollgate hooks list` shows them"
        )
    })
}
