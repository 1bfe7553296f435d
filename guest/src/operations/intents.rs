//! The operations behind `tollgate intents`.
//!
//! | op | answer |
//! | --- | --- |
//! | `list-intents` | `{governed, intents, diagnostics}`: those in force, and what is wrong with the file as it stands |
//! | `list-sessions` | `{"sessions":[{session, intent, parent}]}`: those that ever selected or inherited one |

use serde_json::{Value, json};

use crate::gate::Gate;
use crate::intents::diagnosis::{Diagnosis, Severity};
use crate::intents::file::Governance;
use crate::intents::intent::Intent;
use crate::intents::selection;

/// Answers one of the ops above; none where it is another.
pub(super) fn answer(gate: &mut Gate, op: &str) -> Option<Value> {
    match op {
        "list-intents" => Some(list_intents(gate)),
        "list-sessions" => Some(list_sessions(gate)),
        _ => None,
    }
}

fn list_intents(gate: &mut Gate) -> Value {
    let (governance, diagnoses) = gate.intents();
    let intents = match &governance {
        Governance::By(intents) => intents.all(),
        _ => &[],
    };
    json!({
        "governed": !matches!(governance, Governance::None),
        "intents": intents.iter().map(described).collect::<Vec<_>>(),
        "diagnostics": diagnoses.iter().map(told).collect::<Vec<_>>(),
    })
}

fn described(intent: &Intent) -> Value {
    json!({
        "id": intent.id.as_str(),
        "name": intent.name,
        "status": intent.status.as_str(),
        "open": intent.status.is_open(),
        "description": intent.description,
        "owned_scope": intent.owned_scope.patterns(),
        "constraints": intent.constraints,
        "acceptance_criteria": intent.acceptance_criteria,
    })
}

fn told(diagnosis: &Diagnosis) -> Value {
    let severity = match diagnosis.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({"severity": severity, "line": diagnosis.line, "column": diagnosis.column, "message": diagnosis.message})
}

fn list_sessions(gate: &Gate) -> Value {
    let sessions: Vec<Value> = selection::all(gate.ports())
        .iter()
        .map(|selection| {
            json!({
                "session": selection.session,
                "intent": selection.intent.as_ref().map(|intent| intent.as_str()),
                "parent": selection.parent,
            })
        })
        .collect();
    json!({"sessions": sessions})
}
