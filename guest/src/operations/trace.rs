//! The operations behind `tollgate trace`: lists, verifies, exports, archives and reverts entries.
//!
//! | op | answer |
//! | --- | --- |
//! | `trace` `{intent?, file?, session?, since?, until?, limit?, before?}` | `{entries, before, bytes, archive_suggested, notes}`, oldest first; `before` leads to older ones |
//! | `verify` `{expect?}` | `{"done":true, ok, files, lines, entries, heads, faults, notes}` |
//! | `export` `{format, …filters, cursor?}` | `{records, cursor}` |
//! | `map` | `{"done":true, path, intents, files}` |
//! | `archive` `{step: "plan"}` | `{"rename":{from, to}, bytes}`, or `{"rename":null, why}` |
//! | `archive` `{step: "tie"}` | `{"done":true, tied}`, once the host has renamed the file, or has nothing to rename |
//! | `revert` `{step: "plan", entry, restoring?}` | `{path, action, now, want, image, entry}`; with `restoring`, only if the gate itself has decided to revert the change, and once |
//! | `revert` `{step: "record", entry, user?, command?, changed?}` | `{entries}`, once the host has restored the content |
//!
//! Long operations answer `{"done":false}` and continue when they are asked again with `"more":true`.

use serde_json::{Map, Value, json};

use super::{OperationFault, check_fields};
use crate::confine::permit;
use crate::gate::Gate;
use crate::json;
use crate::ledger::checkpoint::Checkpoint;
use crate::ledger::reading::{self, Files, Filter};
use crate::ledger::revert::RevertAction;
use crate::ledger::verify::{Remark, Verification};
use crate::ledger::{self, archive, export, map, revert, writing};
use crate::ports::{FileKind, Ports, Question, Timestamp};

/// Number of bytes looked at for one answer.
const MAX_BYTES_AT_ONCE: u64 = 4 << 20;

/// The default number of entries in one answer.
const LIMIT: usize = 20;

/// A cursor holds the number of the ledger's part from this bit on, and the byte offset below it.
const PART_BITS: u32 = 44;

/// The fields of a line. Their types have been checked.
struct TraceRequest(Map<String, Value>);

impl TraceRequest {
    fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str()
    }

    fn number(&self, field: &str) -> Option<u64> {
        self.0.get(field)?.as_u64()
    }

    fn is_continuation(&self) -> bool {
        self.0.get("more") == Some(&Value::Bool(true))
    }
}

/// Answers one of the ops above; `None` if it is another.
pub(super) fn answer(gate: &mut Gate, op: &str, fields: Map<String, Value>) -> Option<Result<Value, OperationFault>> {
    let perform = match op {
        "trace" => trace,
        "verify" => verify,
        "export" => export,
        "map" => rebuild,
        "archive" => archive_ledger,
        "revert" => revert_entry,
        _ => return None,
    };
    Some(check_fields(op, &[], &fields).and_then(|()| perform(gate, &TraceRequest(fields))))
}

fn trace(gate: &mut Gate, asked: &TraceRequest) -> Result<Value, OperationFault> {
    let ports = gate.ports();
    let limit = asked.number("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(LIMIT);
    let page = reading::newest(&filter(asked, ports)?, limit, asked.number("before"), MAX_BYTES_AT_ONCE, ports)?;
    let bytes = size(ports);
    let notes: Vec<String> = page
        .foreign
        .iter()
        .map(|begin| format!("a line is not an entry (it is incomplete, or another program wrote it): `{begin}`"))
        .collect();
    Ok(json!({
        "entries": page.entries,
        "before": page.before,
        "bytes": bytes,
        "archive_suggested": bytes > ledger::LARGE,
        "notes": notes,
    }))
}

fn export(gate: &mut Gate, asked: &TraceRequest) -> Result<Value, OperationFault> {
    match asked.text("format") {
        None | Some("agent-trace") => {}
        Some(other) => return Err(invalid("export", "format", format!("`{other}` is not known; expected: agent-trace"))),
    }
    let ports = gate.ports();
    let cursor = asked.number("cursor").unwrap_or(0);
    let (part, at) = (cursor >> PART_BITS, cursor & ((1 << PART_BITS) - 1));
    let mut files: Vec<String> = archive::names(ports).iter().map(|name| format!("{}/{name}", ledger::ARCHIVE)).collect();
    files.push(ledger::PATH.to_owned());
    let Some(file) = usize::try_from(part).ok().and_then(|part| files.get(part)) else {
        return Ok(json!({"records": [], "cursor": null}));
    };
    let (entries, next) = reading::read_from(file, &filter(asked, ports)?, at, MAX_BYTES_AT_ONCE, ports)?;
    let records: Vec<Value> = entries.iter().filter_map(export::agent_trace).collect();
    let cursor = match next {
        Some(next) => Some(part << PART_BITS | next),
        None => (part + 1 < files.len() as u64).then_some((part + 1) << PART_BITS),
    };
    Ok(json!({"records": records, "cursor": cursor}))
}

fn verify(gate: &mut Gate, asked: &TraceRequest) -> Result<Value, OperationFault> {
    let under_way = gate.ledger_jobs.verification.take().filter(|_| asked.is_continuation());
    let mut verification = match under_way {
        Some(verification) => verification,
        None => {
            let expected = asked.text("expect").map(|text| text.parse());
            let expected = expected.transpose().map_err(|fault| invalid("verify", "expect", format!("{fault}")))?;
            Verification::new(expected, Checkpoint::load(gate.ports()))
        }
    };
    match verification.step(gate.ports()) {
        Some(report) => {
            let remark = |remark: &Remark| json!({"file": remark.file, "line": remark.line, "what": remark.what});
            let remarks = |remarks: &[Remark]| remarks.iter().map(remark).collect::<Vec<_>>();
            Ok(json!({
                "done": true,
                "ok": report.ok,
                "files": report.files,
                "lines": report.lines,
                "entries": report.entries,
                "heads": report.heads,
                "faults": remarks(&report.faults),
                "notes": remarks(&report.notes),
            }))
        }
        None => {
            gate.ledger_jobs.verification = Some(verification);
            Ok(json!({"done": false}))
        }
    }
}

fn rebuild(gate: &mut Gate, asked: &TraceRequest) -> Result<Value, OperationFault> {
    let under_way = gate.ledger_jobs.rebuild.take().filter(|_| asked.is_continuation());
    let mut rebuild = under_way.unwrap_or_else(|| map::Rebuild::new(gate.ports()));
    match rebuild.step(gate.ports())? {
        Some(rebuilt) => Ok(json!({"done": true, "path": map::PATH, "intents": rebuilt.intents, "files": rebuilt.files})),
        None => {
            gate.ledger_jobs.rebuild = Some(rebuild);
            Ok(json!({"done": false}))
        }
    }
}

fn archive_ledger(gate: &mut Gate, asked: &TraceRequest) -> Result<Value, OperationFault> {
    let ports = gate.ports();
    match asked.text("step") {
        Some("plan") => {
            let bytes = size(ports);
            if let Some(part) = archive::unlinked_parts(ports).first() {
                let why = format!(
                    "`{}/{part}` was archived earlier but not linked to the ledger; this run links it, so run `tollgate trace archive` again after that",
                    ledger::ARCHIVE
                );
                return Ok(json!({"rename": null, "why": why}));
            }
            if bytes == 0 {
                return Ok(json!({"rename": null, "why": format!("`{}` is empty or missing", ledger::PATH)}));
            }
            let to = format!("{}/{}", ledger::ARCHIVE, archive::next_name(ports));
            Ok(json!({"rename": {"from": ledger::PATH, "to": to}, "bytes": bytes}))
        }
        Some("tie") => {
            let tied = archive::link_parts(ports)?;
            Ok(json!({"done": true, "tied": tied}))
        }
        _ => Err(invalid("archive", "step", "use `plan` or `tie`".to_owned())),
    }
}

fn revert_entry(gate: &mut Gate, asked: &TraceRequest) -> Result<Value, OperationFault> {
    let Some(id) = asked.text("entry").filter(|id| !id.is_empty()) else {
        return Err(OperationFault::MissingField { whose: "`revert`".to_owned(), field: "entry" });
    };
    let ports = gate.ports();
    match asked.text("step") {
        Some("plan") => {
            if asked.0.get("restoring") == Some(&Value::Bool(true)) && !permit::redeem(id, ports) {
                return Err(OperationFault::NotPermitted(id.to_owned()));
            }
            let plan = revert::plan(id, ports)?;
            let action = match plan.action {
                RevertAction::Restore => "restore",
                RevertAction::Remove => "remove",
            };
            Ok(json!({
                "path": plan.path,
                "action": action,
                "now": plan.now,
                "want": plan.want,
                "image": plan.image,
                "entry": plan.entry,
            }))
        }
        Some("record") => {
            let entry = revert::record(id, super::person::named_person(&asked.0, ports), ports)?;
            let mut lines = Vec::new();
            writing::enter(std::slice::from_ref(&entry), &mut lines, ports)?;
            map::update(&[entry], ports);
            let entries: Vec<Value> = lines.iter().filter_map(|line| json::value(line).ok()).collect();
            Ok(json!({"entries": entries}))
        }
        _ => Err(invalid("revert", "step", "use `plan` or `record`".to_owned())),
    }
}

fn size(ports: &Ports) -> u64 {
    let facts = ports.workspace.inspect(&[Question::project(ledger::PATH)]).pop();
    facts.filter(|facts| facts.kind == FileKind::File).map_or(0, |facts| facts.size)
}

fn filter(asked: &TraceRequest, ports: &Ports) -> Result<Filter, OperationFault> {
    let text = |field: &str| asked.text(field).map(str::to_owned);
    let time = |field: &'static str| asked.text(field).map(|text| parse_time(field, text, ports)).transpose();
    Ok(Filter {
        intent: text("intent"),
        file: asked.text("file").map(Files::new),
        session: text("session"),
        since: time("since")?,
        until: time("until")?,
    })
}

/// A moment as a person writes it: `2026-11-16`, `2026-11-16T08:00`, or an age such as `90m`, `2h`, `3d`.
fn parse_time(field: &'static str, text: &str, ports: &Ports) -> Result<String, OperationFault> {
    let fault = || {
        invalid(
            "trace",
            field,
            format!("`{text}` is not a time; write 2026-11-16, 2026-11-16T08:00, all in UTC, or an age such as 90m, 2h, 3d"),
        )
    };
    let text = text.trim();
    if let Some((last, unit)) = text.char_indices().next_back()
        && let Some(ms) = match unit {
            's' => Some(1_000),
            'm' => Some(60_000),
            'h' => Some(3_600_000),
            'd' => Some(86_400_000),
            _ => None,
        }
    {
        let count: u64 = text.get(..last).and_then(|count| count.parse().ok()).ok_or_else(fault)?;
        return Ok(Timestamp(ports.clock.now().0.saturating_sub(count.saturating_mul(ms))).to_string());
    }
    // Timestamps in the ledger are UTC and compared as text, so the text must begin like a timestamp.
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let text = text.strip_suffix('Z').unwrap_or(text);
    let fits = text.bytes().zip(shape).all(|(byte, shape)| if *shape == b'd' { byte.is_ascii_digit() } else { byte == *shape });
    let beyond = text.get(shape.len()..).unwrap_or_default();
    let plain = beyond.chars().all(|c| c == '.' || c.is_ascii_digit());
    if fits && text.len() >= 4 && plain { Ok(text.to_owned()) } else { Err(fault()) }
}

fn invalid(op: &str, field: &'static str, why: String) -> OperationFault {
    OperationFault::InvalidValue { op: op.to_owned(), field, why }
}
