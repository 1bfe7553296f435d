//! The operations behind `tollgate augment` and `tollgate concepts`.
//!
//! | op | answer |
//! | --- | --- |
//! | `plan-lookups` `{session, tool, args}` | `{concepts, lookups, total_ms, skipped}` |
//! | `augment` `{session, tool, args, findings?}` | `{args, concepts, sources, skipped}` and, if the arguments may not be changed, `additional_context` |
//! | `plan-lookups` `{session, prompt}` | the same for a prompt |
//! | `augment` `{session, prompt, findings?}` | `{"text":…}`, null if there is nothing to tell |
//! | `concepts` `{query?, limit?}` | `{concepts, total, done}`: the notes whose names contain the query; if `done` is false, asking again may find more |
//!
//! A finding is `{concept, source, answer}`, and its answer `{"text":…}`, `{"failed":…}`, `"unknown"`, `"unavailable"` or
//! `"late"`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CallFields, OperationFault, check_fields, read};
use crate::augment::{LOOKUP_MS, Lookup, LookupFinding, Plan, TOTAL_MS};
use crate::call::ToolCall;
use crate::gate::Gate;

/// The default number of notes in one answer.
const LIMIT: u64 = 100;

pub(super) fn answer(gate: &mut Gate, op: &str, mut fields: Map<String, Value>) -> Result<Value, OperationFault> {
    if op == "concepts" {
        check_fields(op, &[], &fields)?;
        return Ok(concepts(gate, &fields));
    }
    let findings = fields.remove("findings").unwrap_or_default();
    if fields.get("prompt").is_some_and(|prompt| !prompt.is_null()) {
        check_fields(op, &["session"], &fields)?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let (session, prompt) = (text("session"), text("prompt"));
        return Ok(match op {
            "plan-lookups" => plan(gate.plan_lookups_for_text(session, prompt)),
            _ => json!({"text": gate.augment_text(session, prompt, &read_findings(op, &findings)?)}),
        });
    }
    let call: ToolCall = read::<CallFields>(op, &["session", "tool"], fields)?.into();
    if op == "plan-lookups" {
        return Ok(plan(gate.plan_lookups(&call)));
    }
    let found = read_findings(op, &findings)?;
    let augmentation = gate.augment(&call, &found);
    let args = augmentation.args.unwrap_or(call.args);
    let mut answer = json!({
        "args": args,
        "concepts": augmentation.concepts,
        "sources": augmentation.sources,
        "skipped": augmentation.skipped,
    });
    if let (Some(text), Some(answer)) = (augmentation.text, answer.as_object_mut()) {
        answer.insert("additional_context".to_owned(), text.into());
    }
    Ok(answer)
}

fn plan(plan: Plan) -> Value {
    let lookup = |lookup: &Lookup| json!({"concept": lookup.concept, "source": lookup.source, "request": lookup.request.to_json(), "timeout_ms": LOOKUP_MS});
    let lookups: Vec<Value> = plan.lookups.iter().map(lookup).collect();
    json!({"concepts": plan.concepts, "lookups": lookups, "total_ms": TOTAL_MS, "skipped": plan.skipped})
}

fn read_findings(op: &str, findings: &Value) -> Result<Vec<LookupFinding>, OperationFault> {
    let expected = "a list of {concept, source, answer}";
    let invalid = || OperationFault::InvalidField { op: op.to_owned(), field: "findings", expected };
    match findings {
        Value::Null => Ok(Vec::new()),
        findings => Vec::deserialize(findings).map_err(|_| invalid()),
    }
}

fn concepts(gate: &mut Gate, fields: &Map<String, Value>) -> Value {
    let query = fields.get("query").and_then(Value::as_str).unwrap_or_default();
    let limit = fields.get("limit").and_then(Value::as_u64).unwrap_or(LIMIT);
    let listing = gate.concepts(query, usize::try_from(limit).unwrap_or(usize::MAX));
    let mut told = Vec::new();
    for note in &listing.notes {
        told.push(json!({"concept": note.concept(), "source": note.source, "path": note.path}));
    }
    json!({"concepts": told, "total": listing.total, "done": listing.done})
}
