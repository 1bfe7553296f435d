//! A component as it is in the workspace, and as a person approved it.

use serde_json::Value;

use super::super::declaration::{Action, Hook};
use super::super::registry::RegisteredHook;
use super::grant::{Allowed, HookGrant};
use super::inspection::Inspection;
use super::manifest::HookManifest;
use super::{ComponentQuestion, Function, KEPT, MAX_COMPONENT_BYTES, schema};
use crate::digest::Digest;
use crate::json::{self, object};
use crate::ports::{Expectation, FileFault, FileKind, Ports, Root};

/// A component that was read from its file.
#[derive(Debug, Clone)]
pub struct Candidate {
    bytes: Vec<u8>,
    /// The file's stamp when it was read.
    pub stamp: u64,
    digest: Digest,
    /// What is hashed and shown: the component, and what it is granted.
    pub shows: Value,
}

/// A component that a person approved.
#[derive(Debug, Clone)]
pub struct Approved {
    /// The digest of its bytes.
    pub component: String,
    /// Distinguishes this approval from any other of the same hook.
    pub approval: String,
    /// The functions that can be called.
    pub functions: Vec<Function>,
    /// What the component is granted.
    pub grant: HookGrant,
    settings: String,
}

/// The location of a hook's component file.
pub fn place(registered: &RegisteredHook) -> Option<(Root, String)> {
    let Action::Component(path) = &registered.hook.action else { return None };
    // A path in a user's file or in an extension is relative to the folder of the file that names it.
    let folder = registered.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    Some(match folder.strip_prefix('~') {
        Some(folder) => (Root::Home, format!("{folder}/{path}").trim_start_matches('/').to_owned()),
        None if registered.hook.owner.is_some() => (Root::Project, format!("{folder}/{path}")),
        None => (Root::Project, path.clone()),
    })
}

impl Candidate {
    /// Reads a component's file, once and never through a link.
    pub fn read(registered: &RegisteredHook, ports: &Ports) -> Result<Self, String> {
        let Some((root, path)) = place(registered) else { return Err("it is not a component".to_owned()) };
        let question = crate::ports::Question { root, path: path.clone(), digest: false };
        let facts = ports.workspace.inspect(&[question]).into_iter().next().ok_or("the host did not inspect it")?;
        let is_elsewhere = facts.real_path.as_ref().is_some_and(|real| match root {
            Root::Project => *real != path,
            Root::Home | Root::State => facts.entry_path.as_ref() != Some(real),
        });
        match facts.kind {
            FileKind::Missing => return Err(format!("`{path}` does not exist")),
            _ if facts.link.is_some() || is_elsewhere => {
                return Err(format!("`{path}` is a link, or is reached through one; name the file itself"));
            }
            FileKind::File => {}
            _ => return Err(format!("`{path}` is not a file that can be read")),
        }
        let bytes = ports.workspace.read(root, &path, MAX_COMPONENT_BYTES).map_err(|fault| match fault {
            FileFault::TooLarge => format!("`{path}` cannot be a hook: it is longer than {} MiB", MAX_COMPONENT_BYTES >> 20),
            fault => format!("`{path}` cannot be read: {fault}"),
        })?;
        let inspection = Inspection::read(&bytes).map_err(|why| format!("`{path}` cannot be a hook: {why}"))?;
        let hook = &registered.hook;
        check_settings(hook, &inspection.manifest)?;
        let grant = HookGrant::of(&inspection.manifest, &hook.allowed);
        let mut shows = inspection.to_json();
        if let Some(fields) = shows.as_object_mut() {
            fields.insert("grants".to_owned(), grant.in_words().into());
        }
        Ok(Self { bytes, stamp: facts.stamp, digest: inspection.digest, shows })
    }

    /// Stores the bytes in the user's own folder, from which they are run.
    pub fn keep(&self, ports: &Ports) -> Result<(), String> {
        let path = format!("{KEPT}/{}.wasm", self.digest.hex());
        match ports.records.replace(Root::Home, &path, &self.bytes, Expectation::Absent) {
            Ok(()) => Ok(()),
            // The name is the content's digest, but the file may have been damaged since.
            Err(FileFault::Exists) => ports
                .records
                .replace(Root::Home, &path, &self.bytes, Expectation::Anything)
                .map_err(|fault| format!("`~/{path}` cannot be written: {fault}")),
            Err(fault) => Err(format!("`~/{path}` cannot be written: {fault}")),
        }
    }
}

/// Checks the settings of a declaration against the component's schema.
fn check_settings(hook: &Hook, manifest: &HookManifest) -> Result<(), String> {
    let nothing = object(&mut []);
    let settings = hook.settings.as_ref().unwrap_or(&nothing);
    match &manifest.settings {
        Some(schema) => schema::check(settings, schema),
        None if settings.as_object().is_some_and(|fields| !fields.is_empty()) => {
            Err("`settings` are declared, and the component's manifest describes none".to_owned())
        }
        None => Ok(()),
    }
}

impl Approved {
    /// Reads an approval; `None` if it cannot be understood.
    pub fn read(hook: &Hook, approval: &Value) -> Option<Self> {
        let shown = approval.get("shows")?.get("component")?;
        let manifest = HookManifest::read(shown.get("manifest")?).ok()?;
        let exports: Vec<&str> = shown.get("exports")?.as_array()?.iter().filter_map(Value::as_str).collect();
        let settings = hook.settings.clone().unwrap_or_else(|| object(&mut []));
        Some(Self {
            component: json::text(shown, "digest")?.to_owned(),
            approval: format!("{} {}", json::text(approval, "digest")?, json::text(approval, "approved")?),
            functions: Function::ALL.into_iter().filter(|function| exports.contains(&function.as_str())).collect(),
            grant: HookGrant::of(&manifest, &hook.allowed),
            settings: settings.to_string(),
        })
    }

    /// The question to its component.
    pub fn question(&self, hook: &str) -> ComponentQuestion {
        ComponentQuestion {
            hook: hook.to_owned(),
            component: self.component.clone(),
            files: self.grant.files.clone(),
            settings: self.settings.clone(),
            limits: self.grant.limits,
        }
    }
}

/// Reads `allow` and `settings` of a declaration, which belong to a component.
pub fn read_declared_fields(fields: &serde_json::Map<String, Value>) -> Result<(Allowed, Option<Value>), (&'static str, String)> {
    let is_component = fields.contains_key("component");
    for key in ["allow", "settings"] {
        if !is_component && fields.contains_key(key) {
            return Err((key, "is only allowed with `component`".to_owned()));
        }
    }
    let allowed = fields.get("allow").map(Allowed::read).transpose().map_err(|why| ("allow", why))?.unwrap_or_default();
    let settings = fields.get("settings").cloned();
    if settings.as_ref().is_some_and(|settings| !settings.is_object()) {
        return Err(("settings", "must be an object".to_owned()));
    }
    Ok((allowed, settings))
}
