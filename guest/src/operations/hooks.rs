//! The operations behind `tollgate hooks`, and events.
//!
//! | op | answer |
//! | --- | --- |
//! | `hooks` `{"do":"list"}` | `{"hooks":[…],"faults":[…]}` |
//! | `hooks` `{"do":"show",id}` | one hook in full: what it would run, whether it may, what was approved before |
//! | `hooks` `{"do":"approve",id,digest?}`, `{"do":"revoke",id}` | `{id,…}` |
//! | `hooks` `{"do":"enable"}`, `{"do":"disable"}`, `{"do":"unregister"}`, with `id`; `{"do":"register",hook}` | `{id}`, for this instance |
//! | `hooks` `{"do":"run",id,data?}` | `{"waiting":N}` |
//! | `hooks` `{"do":"import",path?,text?,take?,digest?}` | hooks for Claude Code that would be taken over, see `import.rs` |
//! | `hooks` `{"do":"history",id?,limit?}` | `{"records":[…]}`, the newest first |
//! | `hooks` `{"do":"stats"}`, `{"do":"triggers"}` | counters and times; the events that hooks wait for |

use std::rc::Rc;

use serde_json::{Map, Value};

use super::{OperationFault, check_fields};
use crate::gate::Gate;
use crate::hooks::declaration::Action;
use crate::hooks::event::Event;
use crate::hooks::registry::{HooksFileFault, NeededHooks, RegisteredHook};
use crate::hooks::trust::{Fingerprint, Trust};
use crate::hooks::{Hooks, declaration, journal, needs_approval};
use crate::json::{self, object};
use crate::ports::Ports;

/// The number of records shown by default.
const USUAL_LIMIT: u64 = 20;

pub(super) fn answer(gate: &mut Gate, op: &str, fields: Map<String, Value>) -> Result<Value, OperationFault> {
    if op == "event" {
        check_fields(op, &["event", "session"], &fields)?;
        return Ok(report_event(gate, fields));
    }
    check_fields(op, &["do"], &fields)?;
    let asked = Value::Object(fields);
    let text = |key: &str| json::text(&asked, key);
    let (hooks, ports) = gate.hooks();
    let what = text("do").unwrap_or_default();
    match what {
        "list" => Ok(list(hooks, ports)),
        "stats" => Ok(hooks.stats()),
        "triggers" => Ok(object(&mut [("triggers", hooks.registry.triggers().into())])),
        "history" => {
            let limit = asked.get("limit").and_then(Value::as_u64).unwrap_or(USUAL_LIMIT).min(10_000);
            let records = journal::newest(text("id"), usize::try_from(limit).unwrap_or(usize::MAX), ports)?;
            Ok(object(&mut [("records", records.into())]))
        }
        "import" => super::import::answer(hooks, &asked, ports),
        "register" => {
            let written = asked.get("hook").unwrap_or(&Value::Null);
            let hook = declaration::read_one(written).map_err(|faults| {
                let said = |fault: &declaration::DeclarationFault| {
                    let path: String = fault.path.iter().map(ToString::to_string).collect();
                    format!("`${path}` {}", fault.message)
                };
                OperationFault::NotDone(format!(
                    "the hook is invalid: {}",
                    faults.iter().map(said).collect::<Vec<_>>().join("; ")
                ))
            })?;
            let id = hook.id.clone();
            hooks.registry.register(hook);
            Ok(object(&mut [("id", id.into())]))
        }
        "show" | "approve" | "revoke" | "enable" | "disable" | "unregister" | "run" => {
            let Some(id) = text("id").filter(|id| !id.is_empty()) else {
                return Err(OperationFault::MissingField { whose: format!("`hooks` with `\"do\":\"{what}\"`"), field: "id" });
            };
            of_one(hooks, ports, what, id, &asked)
        }
        _ => Err(OperationFault::InvalidField {
            op: op.to_owned(),
            field: "do",
            expected: "one of list, show, approve, revoke, enable, disable, unregister, register, import, run, history, stats, triggers",
        }),
    }
}

fn report_event(gate: &mut Gate, mut fields: Map<String, Value>) -> Value {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(Rc::<str>::from);
    let (name, session) = (text("event").unwrap_or_default(), text("session"));
    let data = fields.remove("data").filter(Value::is_object).unwrap_or_else(|| Value::Object(Map::new()));
    let notice = gate.observe_event(&name, session.as_deref());
    let event = Event { name, session, data: Rc::new(data) };
    match gate.hooks_needed(NeededHooks::For(&event.name)).0.queue_event(event.clone()) {
        Some(number) => {
            gate.keep_notice(number, notice);
            object(&mut [("waiting", number.into())])
        }
        None => {
            let message = notice.map_or(Value::Null, Value::from);
            object(&mut [("continue", true.into()), ("system_message", message), ("data", (*event.data).clone())])
        }
    }
}

fn of_one(hooks: &mut Hooks, ports: &Ports, what: &str, id: &str, asked: &Value) -> Result<Value, OperationFault> {
    // An approval outlives its hook, so that it can always be revoked.
    if what == "revoke" {
        let revoked = hooks.approve(id, None, ports).map_err(OperationFault::NotDone)?;
        return Ok(object(&mut [("id", id.into()), ("revoked", revoked.into())]));
    }
    let Some(registered) = hooks.registry.find(id).cloned() else {
        let known: Vec<&str> = hooks.registry.all().iter().map(|registered| registered.hook.id.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(OperationFault::UnknownHook { asked: id.to_owned(), known });
    };
    match what {
        "show" => {
            // Examined once, so that the digest is that of what is shown.
            let examined = hooks.examine(&registered, ports);
            let mut shown = hook_json(&registered, &examined);
            if let Some(fields) = shown.as_object_mut() {
                let (shows, before) = match examined {
                    Ok((fingerprint, Some(trust))) => {
                        if let Some(notice) = trust.notice() {
                            fields.insert("notice".to_owned(), notice.into());
                        }
                        (fingerprint.describe(ports), trust.previous())
                    }
                    // It needs no approval, and it runs where it is.
                    Ok((fingerprint, None)) => (fingerprint.describe_program(ports), Value::Null),
                    Err(_) => (object(&mut [("declaration", registered.hook.written.clone())]), Value::Null),
                };
                fields.insert("shows".to_owned(), shows);
                fields.insert("before".to_owned(), before);
            }
            return Ok(shown);
        }
        "approve" => {
            if let Some(owner) =
                registered.hook.owner.as_ref().filter(|_| !matches!(registered.hook.action, Action::Component(_)))
            {
                let name = &owner.extension;
                return Err(OperationFault::NotDone(format!(
                    "`{id}` is a hook of the extension `{name}`, which is approved as a whole: `tollgate extensions approve {name}`"
                )));
            }
            if !needs_approval(&registered) {
                return Err(OperationFault::NotDone(format!(
                    "`{id}` needs no approval: it is a {} hook",
                    registered.source.as_str()
                )));
            }
            let (fingerprint, _) = hooks.examine(&registered, ports).map_err(OperationFault::NotDone)?;
            let digest = fingerprint.digest.to_string();
            if asked.get("digest").is_some_and(|expected| expected.as_str() != Some(&digest)) {
                return Err(OperationFault::NotDone(format!("`{id}` has changed since it was shown; review it again")));
            }
            hooks.approve(id, Some(&fingerprint), ports).map_err(OperationFault::NotDone)?;
            let mut answer = vec![("id", Value::from(id)), ("digest", digest.into())];
            // The host can compile it while a person waits for the approval anyway.
            let component = fingerprint.shows.get("component").and_then(|component| component.get("digest"));
            answer.extend(component.map(|digest| ("component", digest.clone())));
            return Ok(object(&mut answer));
        }
        "run" => {
            let data = asked.get("data").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            return Ok(object(&mut [("waiting", hooks.queue_manual_run(registered, data).into())]));
        }
        "enable" => hooks.registry.set_enabled(id, None),
        "disable" => hooks.registry.set_enabled(id, Some("it was switched off".to_owned())),
        _ => hooks.registry.unregister(id),
    }
    Ok(object(&mut [("id", id.into())]))
}

fn list(hooks: &mut Hooks, ports: &Ports) -> Value {
    let fault = |fault: &HooksFileFault| {
        object(&mut [
            ("file", fault.file.into()),
            ("path", fault.path.as_str().into()),
            ("line", fault.place.0.into()),
            ("column", fault.place.1.into()),
            ("message", fault.message.as_str().into()),
        ])
    };
    let faults: Vec<Value> = hooks.registry.faults().map(fault).collect();
    let all = hooks.registry.all().to_vec();
    let listed: Vec<Value> = all.iter().map(|registered| hook_json(registered, &hooks.examine(registered, ports))).collect();
    object(&mut [("hooks", listed.into()), ("faults", faults.into())])
}

/// A hook in a few words.
fn hook_json(registered: &RegisteredHook, examined: &Result<(Fingerprint, Option<Trust>), String>) -> Value {
    let RegisteredHook { hook, source, file, disabled, .. } = registered;
    let mut fields = vec![
        ("id", Value::from(hook.id.as_str())),
        ("trigger", hook.trigger.as_str().into()),
        ("kind", hook.action.kind().into()),
        ("source", source.as_str().into()),
        ("file", Value::from(&**file)),
        ("enabled", disabled.is_none().into()),
    ];
    if let Some(why) = disabled {
        fields.push(("disabled_reason", why.as_str().into()));
    }
    for key in ["pattern", "format", "matcher", "prompt", "command", "args", "shell", "component", "allow", "settings", "files"] {
        if let Some(written) = hook.written.get(key) {
            fields.push((key, written.clone()));
        }
    }
    match examined {
        Ok((fingerprint, trust)) => {
            fields.push(("trust", trust.as_ref().map_or("trusted", Trust::as_str).into()));
            fields.push(("digest", fingerprint.digest.to_string().into()));
        }
        Err(why) => {
            fields.push(("trust", if needs_approval(registered) { "new" } else { "trusted" }.into()));
            fields.push(("problem", why.as_str().into()));
        }
    }
    object(&mut fields)
}
