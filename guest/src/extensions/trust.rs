//! What a person approves about a workspace's extension: everything it provides, in words, and the bytes of all its files.
//!
//! The approval is kept with those of hooks, in the user's home folder. It covers exactly the files that were there: if one of
//! them changes, or a value that the workspace sets for the extension, the extension provides nothing until it is approved
//! again.

use serde_json::Value;

use super::discovery::ExtensionFolder;
use super::hooks;
use super::manifest::{Manifest, Setting, Skill, placeholders};
use super::skills::Skills;
use crate::config::extensions::Choices;
use crate::digest::Digest;
use crate::hooks::bundle::{self, Checked};
use crate::hooks::declaration::Hook;
use crate::hooks::machine::Machine;
use crate::json::{self, object};
use crate::ports::Ports;
use crate::servers::Transport;

/// The version of what an approval covers. When it is raised, extensions that were approved before need a new approval.
const FORMAT: u64 = 1;

/// Why an extension with an outdated approval is not in effect.
pub(super) const OUTDATED: &str =
    "it was approved with another version of Tollgate, whose approvals do not cover the same things";

/// What there is to approve.
#[derive(Debug)]
pub struct ApprovalSubject {
    /// The digest of everything that is approved.
    pub digest: Digest,
    /// The digest of the files.
    pub bytes: Digest,
    /// The files.
    pub files: Vec<Checked>,
}

/// How a stored approval compares with the extension as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// The approval holds, as far as the manifest and the settings tell; the digest of the files that it covers.
    Given(Digest),
    /// The extension is not the one that was approved.
    Changed,
    /// The approval is from a version that covered something else.
    Outdated,
    /// There is no approval.
    None,
}

/// Reads all files of an extension, for an approval.
pub fn subject(
    found: &ExtensionFolder,
    manifest: &Manifest,
    workspace: &Choices,
    machine: &Machine,
    ports: &Ports,
) -> Result<ApprovalSubject, String> {
    let files = bundle::check_tree(&found.real, &machine.digests, ports)?;
    let bytes = bundle::digest(&files);
    let covered = approved_content(manifest, bytes, workspace);
    Ok(ApprovalSubject { digest: Digest::of(covered.to_string().as_bytes()), bytes, files })
}

fn approved_content(manifest: &Manifest, bytes: Digest, workspace: &Choices) -> Value {
    let settings = workspace.values(&manifest.name).cloned().map_or(Value::Null, Value::Object);
    object(&mut [
        ("format", FORMAT.into()),
        ("name", manifest.name.as_str().into()),
        ("bytes", bytes.to_string().into()),
        ("settings", settings),
    ])
}

/// The record that is kept when a person has approved an extension.
pub fn approval_record(
    subject: &ApprovalSubject,
    manifest: &Manifest,
    workspace: &Choices,
    shows: Value,
) -> Vec<(&'static str, Value)> {
    let settings = workspace.values(&manifest.name).cloned().map_or(Value::Null, Value::Object);
    vec![
        ("format", FORMAT.into()),
        ("digest", subject.digest.to_string().into()),
        ("manifest", manifest.digest.to_string().into()),
        ("bytes", subject.bytes.to_string().into()),
        ("settings", settings),
        ("shows", shows),
    ]
}

/// How a stored approval applies to an extension, judging by its manifest and what the workspace sets: the files are compared
/// when they are used.
pub fn approval(kept: Option<&Value>, manifest: &Manifest, workspace: &Choices) -> Approval {
    let Some(kept) = kept else { return Approval::None };
    let settings = workspace.values(&manifest.name).cloned().map_or(Value::Null, Value::Object);
    // The first version did not say so.
    if kept.get("format").map_or(Some(1), Value::as_u64) != Some(FORMAT) {
        return Approval::Outdated;
    }
    let is_same = json::text(kept, "manifest") == Some(&manifest.digest.to_string())
        && kept.get("settings").unwrap_or(&Value::Null) == &settings;
    match json::text(kept, "bytes").and_then(|bytes| bytes.parse().ok()) {
        Some(bytes) if is_same => Approval::Given(bytes),
        _ => Approval::Changed,
    }
}

/// What a person sees before approving: what the extension provides in words, and the files.
pub fn preview(
    found: &ExtensionFolder,
    manifest: &Manifest,
    hooks: &[Hook],
    workspace: &Choices,
    files: &[Checked],
    ports: &Ports,
) -> Value {
    let short = |path: &str| path.strip_prefix(&format!("{}/", found.real)).unwrap_or(path).to_owned();
    let listed: Vec<Value> = files.iter().map(|(path, digest)| Value::from(vec![short(path), digest.to_string()])).collect();
    let first = format!("{}/manifest.json", found.real);
    let read = bundle::read_texts(&first, files, ports);
    let texts: Vec<Value> = read.texts.iter().map(|(path, text)| Value::from(vec![short(path), text.clone()])).collect();
    let hidden: Vec<String> = read.missing.iter().map(|path| short(path)).collect();
    object(&mut [
        ("brings", words(found, manifest, hooks, workspace, ports).into()),
        ("files", listed.into()),
        ("texts", texts.into()),
        ("not_shown", hidden.into()),
    ])
}

/// Everything that an extension provides, one sentence each.
pub fn words(found: &ExtensionFolder, manifest: &Manifest, hooks: &[Hook], workspace: &Choices, ports: &Ports) -> Vec<String> {
    let mut words = Vec::new();
    for hook in hooks {
        let id = hook.id.split_once(':').map_or(hook.id.as_str(), |(_, name)| name);
        words.push(format!("hook `{id}`: {} {}", hooks::event(hook), hooks::display(hook, found)));
    }
    for server in &manifest.servers {
        let variables = |pairs: &[(String, String)], what: &str| {
            let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { String::new() } else { format!(", with the {what} {}", names.join(", ")) }
        };
        let held = if server.spec.confine { ", confined" } else { "" };
        words.push(match &server.spec.transport {
            Transport::Stdio { env, .. } => {
                let args = server.entry.get("args").and_then(Value::as_array).into_iter().flatten();
                let line: Vec<&str> = server.entry.get("command").into_iter().chain(args).filter_map(Value::as_str).collect();
                format!("MCP server `{}`: starts `{}`{}{held}", server.name, line.join(" "), variables(env, "variables"))
            }
            Transport::Http(endpoint) | Transport::Sse(endpoint) => format!(
                "MCP server `{}`: talks to {} ({}){}",
                server.name,
                server.spec.allowed_hosts.join(", "),
                endpoint.address,
                variables(&endpoint.headers, "headers")
            ),
        });
    }
    words.extend(manifest.settings.iter().map(|setting| setting_words(&manifest.name, setting, workspace)));
    for skill in skills_of(found, ports) {
        let places: Vec<&str> = placeholders(&skill.prompt).collect();
        let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
        words.push(format!("skill `{}`{places}: {}", skill.name, skill.description));
    }
    words.extend(manifest.components.iter().map(|component| format!("component `{}`: {}", component.name, component.path)));
    words
}

/// The skills of an extension: those in its manifest, and those in files of their own.
pub fn skills_of(found: &ExtensionFolder, ports: &Ports) -> Vec<Skill> {
    let mut skills = Skills::default();
    skills.add_extension(found, ports);
    skills.all.into_iter().map(|registered| registered.skill).collect()
}

fn setting_words(extension: &str, setting: &Setting, workspace: &Choices) -> String {
    let kind = if setting.sensitive { "secret" } else { setting.kind.as_str() };
    let mut said = format!("setting `{}` ({kind}", setting.name);
    if setting.required {
        said.push_str(", required");
    }
    if let Some(variable) = &setting.env_var {
        said.push_str(&format!(", reads the variable {variable} and gives it to the extension's programs"));
    }
    if let Some(value) = workspace.value(extension, &setting.name).filter(|_| !setting.sensitive) {
        said.push_str(&format!(", the workspace sets it to {value}"));
    }
    format!("{said}): {}", setting.description)
}
