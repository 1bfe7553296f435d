//! The operations behind `tollgate extensions`.
//!
//! | op | answer |
//! | --- | --- |
//! | `extensions` `{"do":"list"}` | `{"extensions":[…],"faults":[…]}` |
//! | `extensions` `{"do":"check",path?}` | the same for one folder of the workspace; without a path, only what is wrong with all extensions |
//! | `extensions` `{"do":"show",id}` | one extension in full: what it provides in words, its settings, what was approved before |
//! | `extensions` `{"do":"approve",id,digest?}`, `{"do":"revoke",id}` | `{id,…}` |
//! | `extensions` `{"do":"enable",id,shared?}`, `{"do":"disable",id,shared?}` | `{id,file,state}` |
//! | `extensions` `{"do":"setting",id,key,value?}` | what a setting is, and whether a value fits |
//! | `extensions` `{"do":"set",id,key,value?,keyring?}` | `{id,key,file}`; without a value it is removed; with `keyring` the host has stored it |
//! | `extensions` `{"do":"new",id,own?}` | `{id,folder}` |

use serde_json::{Map, Value};

use super::{OperationFault, check_fields};
use crate::extensions::change::{self, SettingsOwner};
use crate::extensions::discovery::ExtensionFolder;
use crate::extensions::manifest::{self, Manifest, Setting};
use crate::extensions::store::{self, SecretPlace};
use crate::extensions::{Extension, ExtensionState, Extensions, secrets_owner, template, trust};
use crate::gate::Gate;
use crate::hooks::machine::Machine;
use crate::hooks::trust::{self as approvals, Approvals};
use crate::json::{self, object};
use crate::ports::{Ports, Root};

/// Shown in place of a secret.
const HIDDEN: &str = "[REDACTED]";

pub(super) fn answer(gate: &mut Gate, fields: Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields("extensions", &["do"], &fields)?;
    let asked = Value::Object(fields);
    let text = |key: &str| json::text(&asked, key).filter(|text| !text.is_empty());
    let is = |key: &str| asked.get(key) == Some(&Value::Bool(true));
    let what = text("do").unwrap_or_default();
    let missing =
        |field: &'static str| OperationFault::MissingField { whose: format!("`extensions` with `\"do\":\"{what}\"`"), field };
    let id = || text("id").ok_or_else(|| missing("id"));
    match what {
        "list" => Ok(list(gate)),
        "check" => check(gate, text("path")),
        "new" => {
            let root = if is("own") { Root::Home } else { Root::Project };
            let folder = template::write(id()?, root, gate.ports()).map_err(OperationFault::NotDone)?;
            Ok(object(&mut [("id", id()?.into()), ("folder", folder.into())]))
        }
        "enable" | "disable" => {
            let id = id()?;
            find(gate.extensions().0, id)?;
            let whose = if is("shared") { SettingsOwner::Workspace } else { SettingsOwner::User };
            change::enable(id, what == "enable", whose, gate.ports()).map_err(OperationFault::NotDone)?;
            let (extensions, ..) = gate.extensions();
            let extension = find(extensions, id)?;
            let mut fields = vec![("id", id.into()), ("file", whose.file().into()), ("state", extension.state.as_str().into())];
            fields.extend(extension.why.as_deref().map(|why| ("why", why.into())));
            Ok(object(&mut fields))
        }
        "show" => show(gate, id()?),
        "approve" => approve(gate, id()?, text("digest")),
        "revoke" => {
            let (_, hooks, ports) = gate.extensions();
            let revoked = approvals::keep_extension(id()?, None, hooks.machine(), ports).map_err(OperationFault::NotDone)?;
            Ok(object(&mut [("id", id()?.into()), ("revoked", revoked.into())]))
        }
        "setting" | "set" => {
            let key = text("key").ok_or_else(|| missing("key"))?;
            setting(gate, what, id()?, key, asked.get("value").filter(|value| !value.is_null()), is("keyring"))
        }
        _ => Err(OperationFault::InvalidField {
            op: "extensions".to_owned(),
            field: "do",
            expected: "one of list, show, check, approve, revoke, enable, disable, setting, set, new",
        }),
    }
}

fn find<'e>(extensions: &'e Extensions, id: &str) -> Result<&'e Extension, OperationFault> {
    extensions.find(id).ok_or_else(|| {
        let known: Vec<&str> = extensions.all().iter().map(|extension| extension.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        OperationFault::UnknownName { what: "extension", asked: id.to_owned(), known }
    })
}

/// The same, with its manifest.
fn usable<'e>(extensions: &'e Extensions, id: &str) -> Result<(&'e Extension, &'e Manifest), OperationFault> {
    let extension = find(extensions, id)?;
    match extension.manifest().filter(|_| extension.state != ExtensionState::Invalid) {
        Some(manifest) => Ok((extension, manifest)),
        None => {
            let faults: Vec<String> = extension.faults.iter().map(ToString::to_string).collect();
            Err(OperationFault::NotDone(format!("the extension `{id}` cannot be used: {}", faults.join("; "))))
        }
    }
}

fn list(gate: &mut Gate) -> Value {
    let (extensions, hooks, ports) = gate.extensions();
    let row = |extension: &Extension| {
        let state = extension_state(extensions, extension, hooks.machine(), ports);
        object(&mut row(extension, state, ports))
    };
    let listed: Vec<Value> = extensions.all().iter().map(row).collect();
    let faults: Vec<Value> = extensions.faults().map(|fault| fault.to_json()).collect();
    object(&mut [("extensions", listed.into()), ("faults", faults.into())])
}

/// The state of an extension, after looking at all its files.
fn extension_state(
    extensions: &Extensions,
    extension: &Extension,
    machine: &Machine,
    ports: &Ports,
) -> (ExtensionState, Option<String>) {
    match extensions.verify(extension, machine, ports) {
        Err(why) if extension.state == ExtensionState::Active => (ExtensionState::Changed, Some(why)),
        _ => (extension.state, extension.why.clone()),
    }
}

/// An extension in a few words.
fn row(extension: &Extension, (state, why): (ExtensionState, Option<String>), ports: &Ports) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("name", Value::from(extension.name.as_str()))];
    if let Some(manifest) = extension.manifest() {
        fields
            .extend([("version", Value::from(manifest.version.as_str())), ("description", manifest.description.as_str().into())]);
    }
    fields.extend([
        ("source", Value::from(extension.found.source.as_str())),
        ("folder", extension.found.shown.as_str().into()),
        ("state", state.as_str().into()),
    ]);
    fields.extend(why.map(|why| ("why", Value::from(why))));
    if let Some(manifest) = extension.manifest() {
        let names = |names: Vec<&str>| Value::from(names);
        let skills = trust::skills_of(&extension.found, ports);
        fields.extend([
            ("hooks", names(extension.hooks.iter().map(|hook| hook.id.as_str()).collect())),
            ("servers", names(manifest.servers.iter().map(|server| server.name.as_str()).collect())),
            ("skills", names(skills.iter().map(|skill| skill.name.as_str()).collect())),
            ("settings", names(manifest.settings.iter().map(|setting| setting.name.as_str()).collect())),
            ("components", names(manifest.components.iter().map(|component| component.name.as_str()).collect())),
        ]);
    }
    fields
}

fn check(gate: &mut Gate, path: Option<&str>) -> Result<Value, OperationFault> {
    let Some(path) = path else {
        let (extensions, ..) = gate.extensions();
        let faults: Vec<Value> = extensions.faults().map(|fault| fault.to_json()).collect();
        return Ok(object(&mut [("checked", extensions.all().len().into()), ("faults", faults.into())]));
    };
    let (_, _, ports) = gate.extensions();
    let found = ExtensionFolder::of_folder(path.trim_end_matches('/'), ports);
    let faults: Vec<Value> = found.all_faults(ports).iter().map(|fault| fault.to_json()).collect();
    Ok(object(&mut [("checked", 1.into()), ("faults", faults.into())]))
}

fn show(gate: &mut Gate, id: &str) -> Result<Value, OperationFault> {
    let (extensions, hooks, ports) = gate.extensions();
    let extension = find(extensions, id)?;
    let mut fields = row(extension, extension_state(extensions, extension, hooks.machine(), ports), ports);
    let Some(manifest) = extension.manifest().filter(|_| extension.state != ExtensionState::Invalid) else {
        let faults: Vec<Value> = extension.faults.iter().map(|fault| fault.to_json()).collect();
        fields.push(("faults", faults.into()));
        return Ok(object(&mut fields));
    };
    let workspace = extensions.workspace_choices();
    let set = |setting: &Setting| shown_setting(extension, setting);
    fields.retain(|(key, _)| *key != "settings");
    fields.push(("settings", manifest.settings.iter().map(set).collect()));
    if extension.found.is_of_workspace() {
        let subject = trust::subject(&extension.found, manifest, workspace, hooks.machine(), ports);
        match subject {
            Ok(subject) => {
                fields.push(("digest", subject.digest.to_string().into()));
                let shows = trust::preview(&extension.found, manifest, &extension.hooks, workspace, &subject.files, ports);
                fields.push(("shows", shows));
            }
            Err(why) => fields.push(("problem", why.into())),
        }
        let before = Approvals::default().of_extension(id, hooks.machine(), ports).and_then(|kept| kept.get("shows").cloned());
        fields.push(("before", before.unwrap_or_default()));
    } else {
        let brings = trust::words(&extension.found, manifest, &extension.hooks, workspace, ports);
        fields.push(("shows", object(&mut [("brings", brings.into())])));
    }
    Ok(object(&mut fields))
}

fn shown_setting(extension: &Extension, setting: &Setting) -> Value {
    let mut fields = vec![
        ("name", Value::from(setting.name.as_str())),
        ("description", setting.description.as_str().into()),
        ("type", setting.kind.as_str().into()),
        ("required", setting.required.into()),
        ("sensitive", setting.sensitive.into()),
    ];
    fields.extend(setting.env_var.as_deref().map(|name| ("env_var", name.into())));
    if let Some(set) = extension.values.iter().find(|set| set.name == setting.name) {
        fields.push(("from", set.from.into()));
        if let Some(value) = &set.value {
            fields.push(("value", if setting.sensitive { HIDDEN.into() } else { value.clone() }));
        }
        fields.extend(set.fault.as_deref().map(|why| ("fault", why.into())));
    }
    object(&mut fields)
}

fn approve(gate: &mut Gate, id: &str, expected: Option<&str>) -> Result<Value, OperationFault> {
    let (extensions, hooks, ports) = gate.extensions();
    let (extension, manifest) = usable(extensions, id)?;
    if !extension.found.is_of_workspace() {
        return Err(OperationFault::NotDone(format!("`{id}` needs no approval: it is an extension of the user's own")));
    }
    let machine = hooks.machine();
    if machine.workspace.is_empty() {
        return Err(OperationFault::NotDone("the host did not say where the workspace is".to_owned()));
    }
    let workspace = extensions.workspace_choices();
    let subject = trust::subject(&extension.found, manifest, workspace, machine, ports).map_err(OperationFault::NotDone)?;
    let digest = subject.digest.to_string();
    if expected.is_some_and(|expected| expected != digest) {
        return Err(OperationFault::NotDone(format!("`{id}` has changed since it was shown; review it again")));
    }
    let mut shows = trust::preview(&extension.found, manifest, &extension.hooks, workspace, &subject.files, ports);
    // The texts were shown; differences are found in the words and the digests.
    if let Some(fields) = shows.as_object_mut() {
        fields.retain(|key, _| matches!(key.as_str(), "brings" | "files"));
    }
    let kept = trust::approval_record(&subject, manifest, workspace, shows);
    let is_disabled = extension.state == ExtensionState::Disabled;
    approvals::keep_extension(id, Some(kept), machine, ports).map_err(OperationFault::NotDone)?;
    // A person who approves an extension wants it enabled.
    if is_disabled {
        change::enable(id, true, SettingsOwner::User, ports).map_err(OperationFault::NotDone)?;
    }
    let (extensions, ..) = gate.extensions();
    let extension = find(extensions, id)?;
    let mut fields = vec![("id", id.into()), ("digest", digest.into()), ("state", extension.state.as_str().into())];
    fields.extend(extension.why.as_deref().map(|why| ("why", why.into())));
    Ok(object(&mut fields))
}

fn setting(
    gate: &mut Gate,
    what: &str,
    id: &str,
    key: &str,
    value: Option<&Value>,
    in_keyring: bool,
) -> Result<Value, OperationFault> {
    let (extensions, hooks, ports) = gate.extensions();
    let (extension, manifest) = usable(extensions, id)?;
    let setting = manifest.setting(key).ok_or_else(|| {
        let known: Vec<&str> = manifest.settings.iter().map(|setting| setting.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        OperationFault::UnknownName { what: "setting", asked: key.to_owned(), known }
    })?;
    let value = match value {
        Some(Value::String(text)) => Some(setting.of_text(text)),
        Some(value) => Some(setting.check(value).map(|()| value.clone())),
        None => None,
    };
    let value = value.transpose().map_err(|why| OperationFault::NotDone(format!("the setting `{key}` of `{id}` {why}")))?;
    let stored = secrets_owner(&extension.found, manifest, hooks.machine());
    if what == "setting" {
        let mut fields = match shown_setting(extension, setting) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        if setting.sensitive {
            fields.insert("stored_as".to_owned(), store::key(&stored, key).into());
        }
        return Ok(Value::Object(fields));
    }
    let file = keep_setting(extension, setting, (&stored, value.as_ref(), in_keyring), hooks.machine(), ports)?;
    let (extensions, ..) = gate.extensions();
    let state = find(extensions, id)?.state.as_str();
    Ok(object(&mut [("id", id.into()), ("key", key.into()), ("file", file.into()), ("state", state.into())]))
}

/// Stores the value of a setting, and returns where.
fn keep_setting(
    extension: &Extension,
    setting: &Setting,
    (stored, value, in_keyring): (&str, Option<&Value>, bool),
    machine: &Machine,
    ports: &Ports,
) -> Result<&'static str, OperationFault> {
    if !setting.sensitive {
        change::set_value(&extension.name, &setting.name, value, ports).map_err(OperationFault::NotDone)?;
        return Ok(SettingsOwner::User.file());
    }
    if extension.found.is_of_workspace() && machine.workspace.is_empty() {
        return Err(OperationFault::NotDone("the host did not say where the workspace is".to_owned()));
    }
    let kept = match value {
        _ if in_keyring => Some(SecretPlace::InKeyring),
        Some(value) => Some(SecretPlace::Here(manifest::as_text(value))),
        None => None,
    };
    store::keep(stored, &setting.name, kept.as_ref(), ports).map_err(OperationFault::NotDone)?;
    Ok(if in_keyring { "the system's keyring" } else { "~/.tollgate/secrets.json" })
}
