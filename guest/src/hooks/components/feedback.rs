//! Collects the answers of all third-party hooks about one call.

use serde_json::Value;

use super::approved::Approved;
use super::sanitize::{self, MAX_FAULT, MAX_NOTE, MAX_REASON, attribute_to_hook, clean};
use super::{ComponentReply, Function, ObjectionSeverity};
use crate::json::object;

/// An objection that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// How strong it is.
    pub severity: ObjectionSeverity,
    /// The code, as `HOOK/CODE`.
    pub code: String,
    /// The reason, attributed to the hook.
    pub reason: String,
}

/// What all hooks said about one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookFeedback {
    /// Their objections, in order.
    pub objections: Vec<Objection>,
    /// What the agent is told: notes and remarks.
    pub notes: Vec<String>,
    /// Other arguments, and the hook that they come from.
    pub args: Option<(String, Value)>,
    /// Why the result is withheld from the agent.
    pub withheld: Option<String>,
    /// Hooks that could not answer, and why.
    pub faults: Vec<(String, String)>,
    /// What a person should be told about hooks.
    pub notices: Vec<String>,
    /// A summary of the answers, one JSON object for each hook.
    pub summary: Vec<Value>,
}

impl HookFeedback {
    /// The strictest objection: the first of the most severe ones, followed by the reasons of the others. If the settings are
    /// strict, a hook that could not answer counts as one that asks.
    pub fn strictest(&self, is_strict: bool) -> Option<Objection> {
        let severity = self.objections.iter().map(|objection| objection.severity).max();
        let mut found: Vec<Objection> =
            self.objections.iter().filter(|objection| Some(objection.severity) == severity).cloned().collect();
        if is_strict && severity != Some(ObjectionSeverity::Deny) {
            found.extend(self.faults.iter().map(|(hook, why)| Objection {
                severity: ObjectionSeverity::Ask,
                code: format!("{}/fault", clean(hook, 128)),
                reason: format!(
                    "hook {}: it could not be asked, because {}; the settings are strict, so a person has to decide",
                    clean(hook, 128),
                    clean(why, MAX_FAULT)
                ),
            }));
        }
        let mut found = found.into_iter();
        let mut first = found.next()?;
        for other in found {
            first.reason.push_str("; ");
            first.reason.push_str(&other.reason);
        }
        Some(first)
    }

    /// Adds the answer of one hook. Returns what is recorded about it, or why it counts as a fault.
    pub(crate) fn take(
        &mut self,
        hook: &str,
        approved: &Approved,
        function: Function,
        reply: &ComponentReply,
    ) -> Result<Value, HookFailure> {
        let broke = |why: &str| Err(HookFailure { why: why.to_owned(), is_late: false, for_good: false, counts: true });
        let checked = |code: &str| if sanitize::is_code(code) { Ok(format!("{}/{code}", clean(hook, 128))) } else { Err(()) };
        match (function, reply) {
            (_, ComponentReply::Nothing) => Ok(Value::Null),
            (Function::PreTool, ComponentReply::Objection { severity, code, reason }) => {
                let Ok(full) = checked(code) else { return broke("its code is not 1 to 64 characters of a-z, 0-9 and _") };
                let reason = attribute_to_hook(hook, reason, MAX_REASON);
                let word = object(&mut [
                    ("severity", severity.as_str().into()),
                    ("code", code.as_str().into()),
                    ("reason", reason.as_str().into()),
                ]);
                self.objections.push(Objection { severity: *severity, code: full, reason });
                Ok(word)
            }
            (Function::PostTool, ComponentReply::Remark { code, text, withhold }) => {
                let Ok(full) = checked(code) else { return broke("its code is not 1 to 64 characters of a-z, 0-9 and _") };
                let text = attribute_to_hook(hook, text, MAX_REASON);
                let is_withheld = *withhold && approved.grant.withhold;
                let mut word = vec![("code", code.as_str().into()), ("text", text.as_str().into())];
                if *withhold {
                    word.push(("withhold", if is_withheld { Value::Bool(true) } else { "not granted".into() }));
                }
                let told = format!("{text} ({full})");
                if is_withheld {
                    self.withheld.get_or_insert(told);
                } else {
                    self.notes.push(told);
                }
                Ok(object(&mut word))
            }
            (Function::Augment, ComponentReply::Advice { note, args }) => {
                let mut word = Vec::new();
                let note = note.as_deref().map(|note| attribute_to_hook(hook, note, MAX_NOTE));
                if let Some(note) = &note {
                    word.push(("note", note.as_str().into()));
                }
                if let Some(args) = args {
                    let parsed: Option<Value> = serde_json::from_str(args).ok().filter(Value::is_object);
                    let Some(parsed) = parsed else { return broke("its arguments are not a JSON object") };
                    let rewrite = match &self.args {
                        _ if !approved.grant.rewrite => "not granted",
                        Some(_) => "another hook's rewrite was used",
                        None => "applied",
                    };
                    word.push(("args", parsed.clone()));
                    word.push(("rewrite", rewrite.into()));
                    if rewrite == "applied" {
                        self.args = Some((clean(hook, 128), parsed));
                    }
                }
                self.notes.extend(note);
                Ok(object(&mut word))
            }
            (_, ComponentReply::UnusableSettings(why)) => {
                let why = format!("its settings are invalid: {}", clean(why, MAX_FAULT));
                Err(HookFailure { why, is_late: false, for_good: true, counts: true })
            }
            (_, ComponentReply::Failed(why)) => broke(&format!("it failed: {}", clean(why, MAX_FAULT))),
            (_, ComponentReply::Broke(why)) => broke(&clean(why, MAX_FAULT)),
            (_, ComponentReply::Late) => {
                Err(HookFailure { why: "it ran out of time".to_owned(), is_late: true, for_good: false, counts: true })
            }
            // This is not the hook's fault.
            (_, ComponentReply::Absent(why)) => {
                Err(HookFailure { why: clean(why, MAX_FAULT), is_late: false, for_good: false, counts: false })
            }
            _ => broke("its answer is for a different function"),
        }
    }
}

/// Why a hook did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookFailure {
    pub(crate) why: String,
    pub(crate) is_late: bool,
    /// Whether the failure is permanent.
    pub(crate) for_good: bool,
    /// Whether the failure is the hook's own.
    pub(crate) counts: bool,
}
