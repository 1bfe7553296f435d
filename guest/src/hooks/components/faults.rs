//! Stops calling hooks that fail repeatedly.
//!
//! Faults are counted in the state folder, because a hook command is a new process for every call. A count belongs to one
//! approval: a hook that is approved again starts over.

use std::collections::HashMap;

use serde_json::Value;

use crate::json::{self, object};
use crate::ports::{Expectation, Ports};
use crate::state;

/// Number of faults in a row after which a hook is no longer called.
pub const MAX_FAULTS: u64 = 3;

const FOLDER: &str = "components";

/// How often a hook has failed in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Count {
    /// The approval that it belongs to.
    approval: String,
    faults: u64,
    /// Why it is no longer called, if it is not.
    rests: Option<String>,
}

/// The counts of this instance.
#[derive(Debug, Default)]
pub struct Faults {
    known: HashMap<String, Count>,
}

impl Faults {
    /// Why a hook is no longer called.
    pub fn disabled_reason(&mut self, hook: &str, approval: &str, ports: &Ports) -> Option<String> {
        self.count(hook, approval, ports).rests.clone()
    }

    /// Records that the hook has answered.
    pub fn record_answer(&mut self, hook: &str, approval: &str, ports: &Ports) {
        let count = self.count(hook, approval, ports);
        if count.faults > 0 {
            *count = Count { approval: approval.to_owned(), ..Count::default() };
            let _ = state::remove(&path(hook), ports);
        }
    }

    /// Records that the hook has failed. `for_good` is a fault that does not go away by itself. Returns whether the hook is no
    /// longer called from now on.
    pub fn record_fault(&mut self, hook: &str, approval: &str, why: &str, for_good: bool, ports: &Ports) -> bool {
        let count = self.count(hook, approval, ports);
        count.faults += 1;
        let rests = count.rests.is_none() && (for_good || count.faults >= MAX_FAULTS);
        if rests {
            count.rests = Some(why.to_owned());
        }
        let kept = object(&mut [
            ("hook", hook.into()),
            ("approval", approval.into()),
            ("faults", count.faults.into()),
            ("rests", count.rests.clone().map(Value::from).unwrap_or_default()),
        ]);
        if let Err(fault) = state::replace(&path(hook), kept.to_string().as_bytes(), Expectation::Anything, ports) {
            ports.warn(&format!("the failures of the hook `{hook}` cannot be counted: {fault}"));
        }
        rests
    }

    fn count(&mut self, hook: &str, approval: &str, ports: &Ports) -> &mut Count {
        let count = self.known.entry(hook.to_owned()).or_default();
        if count.approval != approval {
            *count = read(hook, approval, ports).unwrap_or_else(|| Count { approval: approval.to_owned(), ..Count::default() });
        }
        count
    }
}

fn read(hook: &str, approval: &str, ports: &Ports) -> Option<Count> {
    let kept: Value = serde_json::from_slice(&state::read(&path(hook), state::MAX_BYTES, ports).ok()?).ok()?;
    let is_it = json::text(&kept, "approval") == Some(approval) && json::text(&kept, "hook") == Some(hook);
    is_it.then(|| Count {
        approval: approval.to_owned(),
        faults: kept.get("faults").and_then(Value::as_u64).unwrap_or_default(),
        rests: json::text(&kept, "rests").map(str::to_owned),
    })
}

fn path(hook: &str) -> String {
    state::path(FOLDER, &[hook])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    #[test]
    fn three_faults_in_a_row_are_enough() {
        let world = Memory::new();
        let ports = world.ports();
        let mut faults = Faults::default();
        assert!(!faults.record_fault("a", "1", "trap", false, &ports));
        assert!(!faults.record_fault("a", "1", "trap", false, &ports));
        faults.record_answer("a", "1", &ports);
        assert!(!faults.record_fault("a", "1", "trap", false, &ports));
        // Another process continues to count.
        let mut faults = Faults::default();
        assert!(!faults.record_fault("a", "1", "late", false, &ports));
        assert!(faults.record_fault("a", "1", "late", false, &ports));
        assert_eq!(Faults::default().disabled_reason("a", "1", &ports).as_deref(), Some("late"));
        assert_eq!(Faults::default().disabled_reason("b", "1", &ports), None);
        // Approved again.
        assert_eq!(faults.disabled_reason("a", "2", &ports), None);
        assert!(faults.record_fault("a", "2", "settings", true, &ports));
    }
}
