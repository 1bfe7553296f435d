//! Trust: built-in and user hooks run without approval; workspace hooks only after a person approved exactly these bytes.
//!
//! The approval is a digest over everything that decides what runs: the declaration, the program behind its first word, the
//! bytes of the script and of the files beside it. It is kept per workspace in the user's home folder, where no workspace can write.

use serde_json::Value;

use super::bundle;
use super::components::approved::Candidate;
use super::declaration::{Action, Hook};
use super::machine::Machine;
use super::owner::Owner;
use super::program::{self, DeclaredCommand, FORMAT, ResolvedProgram};
use super::registry::RegisteredHook;
use crate::digest::Digest;
use crate::json::{self, object};
use crate::ports::{Expectation, FileFault, FileKind, Ports, Question, Root};

/// Where approvals are kept, below the home folder.
pub const PATH: &str = ".tollgate/trusted-hooks.json";

/// The lock file that is held while approvals are changed.
const LOCK: &str = ".tollgate/trusted-hooks.lock";

/// A process that has held the lock for longer was killed.
const LOCK_MS: u64 = 10_000;

/// Maximum size of the file; a larger one is a mistake.
const MAX_BYTES: u64 = 32 << 20;

const OUTDATED: &str = "it was approved when only the script itself was checked; the files beside it are checked now, so it has to be approved again";

/// What a hook would run, and the digest of that.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    /// The program; `None` for prompts and components.
    pub program: Option<ResolvedProgram>,
    /// The component, if it is one.
    pub component: Option<Candidate>,
    /// The digest of everything that decides what runs.
    pub digest: Digest,
    /// What the digest covers, to show.
    pub shows: Value,
}

/// Whether a hook may run.
#[derive(Debug, Clone, PartialEq)]
pub enum Trust {
    /// A person has approved exactly this.
    Approved,
    /// It has not been approved yet.
    New,
    /// It differs from what was shown and approved.
    Changed(Value),
    /// It was approved when approvals covered less; what was shown then.
    Outdated(Value),
}

impl Trust {
    /// Its name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::New => "new",
            // Hosts know no other word for it; what was approved is not what is asked about now.
            Self::Changed(_) | Self::Outdated(_) => "changed",
        }
    }

    /// Why it does not run.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Approved => "",
            Self::New => "it has not been approved yet",
            Self::Changed(_) => "it has changed since it was approved",
            Self::Outdated(_) => OUTDATED,
        }
    }

    /// What a person has to be told in addition, because the state's name does not say it.
    pub fn notice(&self) -> Option<&'static str> {
        matches!(self, Self::Outdated(_)).then_some(OUTDATED)
    }

    /// What was approved before.
    pub fn previous(self) -> Value {
        match self {
            Self::Approved | Self::New => Value::Null,
            Self::Changed(before) | Self::Outdated(before) => before,
        }
    }
}

/// What a hook would run now, or why that is not known.
///
/// `alone` leaves out the files beside a script, which matter only where an approval covers them.
pub fn fingerprint(registered: &RegisteredHook, alone: bool, machine: &Machine, ports: &Ports) -> Result<Fingerprint, String> {
    let Action::Component(_) = registered.hook.action else {
        return command_fingerprint(&registered.hook, alone, machine, ports);
    };
    let component = Candidate::read(registered, ports)?;
    let shows = object(&mut [("declaration", declaration(&registered.hook)), ("component", component.shows.clone())]);
    let digest = Digest::of(shows.to_string().as_bytes());
    Ok(Fingerprint { program: None, component: Some(component), digest, shows })
}

/// The same for a hook that is not a component.
pub fn command_fingerprint(hook: &Hook, alone: bool, machine: &Machine, ports: &Ports) -> Result<Fingerprint, String> {
    let files = if alone { Some([].as_slice()) } else { hook.files.as_deref() };
    let program = match &hook.action {
        Action::Command { words, shell } => {
            Some(program::find(&DeclaredCommand { words, shell: *shell, files }, machine, ports)?)
        }
        Action::Prompt(_) | Action::Component(_) => None,
    };
    let mut shows = object(&mut [("declaration", declaration(hook))]);
    if let (Some(shown), Some(fields)) = (program.as_ref().map(ResolvedProgram::to_json), shows.as_object_mut()) {
        fields.extend(shown.as_object().cloned().unwrap_or_default());
    }
    let digest = Digest::of(shows.to_string().as_bytes());
    Ok(Fingerprint { program, component: None, digest, shows })
}

/// The part of a declaration that decides what runs.
pub fn declaration(hook: &Hook) -> Value {
    let mut declaration = hook.written.clone();
    if let Some(fields) = declaration.as_object_mut() {
        // Neither decides what runs.
        fields.shift_remove("enabled");
        fields.shift_remove("metadata");
    }
    declaration
}

impl Fingerprint {
    /// What a person sees before agreeing: what is hashed, what that covers, and the texts of the checked files.
    pub fn describe(&self, ports: &Ports) -> Value {
        let mut told = self.describe_program(ports);
        if let (Some(program), Some(fields)) = (&self.program, told.as_object_mut()) {
            fields.insert("note".to_owned(), program.note().into());
        }
        told
    }

    /// The same for a hook that needs no approval, so that nothing is said about what an approval would cover.
    pub fn describe_program(&self, ports: &Ports) -> Value {
        let mut told = self.shows.clone();
        let (Some(program), Some(fields)) = (&self.program, told.as_object_mut()) else { return told };
        if let Some(copied) = &program.copied {
            let read = bundle::read_texts(&copied.script, &copied.files, ports);
            let mut others = Vec::new();
            for (path, text) in read.texts {
                if path == copied.script {
                    fields.insert("script_text".to_owned(), text.into());
                } else {
                    others.push(Value::from(vec![path, text]));
                }
            }
            fields.insert("texts".to_owned(), others.into());
            fields.insert("not_shown".to_owned(), read.missing.into());
        }
        told
    }
}

/// Whether a hook of an extension may run: whether the extension is what was approved, and the hook runs nothing but its files.
pub fn of_owner(owner: &Owner, fingerprint: &Fingerprint, machine: &Machine, ports: &Ports) -> Result<Trust, String> {
    let inside = format!("{}/", owner.folder);
    let files = fingerprint
        .program
        .iter()
        .flat_map(|program| program.copied.iter().flat_map(|copied| &copied.files).chain(&program.in_place));
    if let Some((path, _)) = files.clone().find(|(path, _)| !path.starts_with(&inside)) {
        return Err(format!("it names `{path}`, which is not a file of the extension `{}`", owner.extension));
    }
    let tree = bundle::check_tree(&owner.folder, &machine.digests, ports)?;
    let is_approved = owner.approved == Some(bundle::digest(&tree));
    Ok(if is_approved { Trust::Approved } else { Trust::Changed(Value::Null) })
}

/// The approvals, read once and kept until the file changes.
#[derive(Debug, Default)]
pub struct Approvals {
    stamp: u64,
    kept: Value,
}

impl Approvals {
    /// Whether exactly this was approved in this workspace.
    pub fn trust(&mut self, hook: &Hook, fingerprint: &Fingerprint, machine: &Machine, ports: &Ports) -> Trust {
        self.refresh(ports);
        match position(&self.kept, HOOK, &hook.id, machine).and_then(|at| self.kept.get("approvals")?.get(at)) {
            Some(approval) if json::text(approval, "digest") == Some(&fingerprint.digest.to_string()) => Trust::Approved,
            Some(approval) => {
                let before = approval.get("shows").cloned().unwrap_or_default();
                let is_command = fingerprint.program.is_some() && before.get("runs").is_some();
                let is_outdated = is_command && before.get("format").and_then(Value::as_u64) != Some(FORMAT);
                if is_outdated { Trust::Outdated(before) } else { Trust::Changed(before) }
            }
            None => Trust::New,
        }
    }

    /// Whether a hook of this name was ever approved in this workspace, whatever it was then.
    pub fn was_approved(&mut self, id: &str, machine: &Machine, ports: &Ports) -> bool {
        self.refresh(ports);
        position(&self.kept, HOOK, id, machine).is_some()
    }

    /// What was approved of an extension in this workspace.
    pub fn of_extension(&mut self, name: &str, machine: &Machine, ports: &Ports) -> Option<&Value> {
        self.refresh(ports);
        position(&self.kept, EXTENSION, name, machine).and_then(|at| self.kept.get("approvals")?.get(at))
    }

    /// What was approved of a hook of this name in this workspace, as of the last look.
    pub fn find(&self, id: &str, machine: &Machine) -> Option<&Value> {
        let at = position(&self.kept, HOOK, id, machine)?;
        self.kept.get("approvals")?.get(at)
    }

    /// Changes whenever the approvals may have changed.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Reads the approvals again if they have changed.
    pub fn refresh(&mut self, ports: &Ports) {
        let question = Question { root: Root::Home, path: PATH.to_owned(), digest: false };
        let facts = ports.workspace.inspect(&[question]);
        let stamp = facts.first().map_or(0, |facts| if facts.kind == FileKind::Missing { 0 } else { facts.stamp });
        if stamp != self.stamp {
            self.stamp = stamp;
            let text = ports.workspace.read(Root::Home, PATH, MAX_BYTES).unwrap_or_default();
            self.kept = serde_json::from_slice(&text).unwrap_or_default();
            if self.kept.is_null() && stamp != 0 {
                ports.warn(&format!("`~/{PATH}` cannot be read, so no hook of a workspace is approved; fix or remove it"));
            }
        }
    }
}

/// The keys under which an approval names its subject.
const HOOK: &str = "hook";
const EXTENSION: &str = "extension";

fn position(kept: &Value, kind: &str, id: &str, machine: &Machine) -> Option<usize> {
    let approvals = kept.get("approvals")?.as_array()?;
    let is_it = |approval: &Value| {
        json::text(approval, kind) == Some(id) && json::text(approval, "workspace") == Some(&machine.workspace)
    };
    approvals.iter().position(is_it)
}

/// Stores an approval, or withdraws it if there is no fingerprint. Returns whether there was one to withdraw.
pub fn keep(id: &str, fingerprint: Option<&Fingerprint>, machine: &Machine, ports: &Ports) -> Result<bool, String> {
    if let Some(component) = fingerprint.and_then(|fingerprint| fingerprint.component.as_ref()) {
        component.keep(ports)?;
    }
    let approval = fingerprint.map(|of| {
        let mut fields = vec![("digest", Value::from(of.digest.to_string()))];
        fields.extend(of.component.as_ref().map(|component| ("stamp", component.stamp.into())));
        fields.push(("shows", of.describe(ports)));
        fields
    });
    keep_under(HOOK, id, approval, machine, ports)
}

/// The same for an extension; `approval` is what was approved.
pub fn keep_extension(
    name: &str,
    approval: Option<Vec<(&'static str, Value)>>,
    machine: &Machine,
    ports: &Ports,
) -> Result<bool, String> {
    keep_under(EXTENSION, name, approval, machine, ports)
}

type ApprovalFields = Option<Vec<(&'static str, Value)>>;

fn keep_under(kind: &'static str, id: &str, approval: ApprovalFields, machine: &Machine, ports: &Ports) -> Result<bool, String> {
    lock(ports)?;
    let changed = change(kind, id, approval, machine, ports);
    let _ = ports.records.remove(Root::Home, LOCK);
    changed
}

fn lock(ports: &Ports) -> Result<(), String> {
    let now = ports.clock.now().0;
    for _ in 0..2 {
        match ports.records.replace(Root::Home, LOCK, now.to_string().as_bytes(), Expectation::Absent) {
            Ok(()) => return Ok(()),
            Err(FileFault::Exists) => {}
            Err(fault) => return Err(format!("`~/{PATH}` cannot be written: {fault}")),
        }
        let held = ports.workspace.read(Root::Home, LOCK, 64).unwrap_or_default();
        let since: u64 = String::from_utf8(held).ok().and_then(|held| held.parse().ok()).unwrap_or(0);
        if now.abs_diff(since) < LOCK_MS {
            break;
        }
        let _ = ports.records.remove(Root::Home, LOCK);
    }
    Err(format!("`~/{PATH}` is being changed by another process; try again"))
}

fn change(kind: &'static str, id: &str, approval: ApprovalFields, machine: &Machine, ports: &Ports) -> Result<bool, String> {
    let (mut kept, expected) = match ports.workspace.read(Root::Home, PATH, MAX_BYTES) {
        Ok(text) => {
            let kept: Value = serde_json::from_slice(&text)
                .map_err(|fault| format!("`~/{PATH}` is not valid JSON, so it is left alone: {fault}"))?;
            (kept, Expectation::Digest(Digest::of(&text)))
        }
        Err(FileFault::Missing) => (Value::Null, Expectation::Absent),
        Err(fault) => return Err(format!("`~/{PATH}` cannot be read: {fault}")),
    };
    if !kept.get("approvals").is_some_and(Value::is_array) {
        kept = object(&mut [("schemaVersion", 1.into()), ("approvals", Value::Array(Vec::new()))]);
    }
    let at = position(&kept, kind, id, machine);
    let Some(approvals) = kept.get_mut("approvals").and_then(Value::as_array_mut) else { return Ok(false) };
    if let Some(at) = at {
        approvals.remove(at);
    }
    if let Some(approval) = approval {
        let mut fields = vec![("workspace", Value::from(machine.workspace.as_str())), (kind, id.into())];
        fields.extend(approval);
        // After the digest, before what was shown.
        let last = fields.len() - 1;
        fields.insert(last, ("approved", ports.clock.now().to_string().into()));
        approvals.push(object(&mut fields));
    } else if at.is_none() {
        return Ok(false);
    }
    let text = format!("{kept:#}\n");
    match ports.records.replace(Root::Home, PATH, text.as_bytes(), expected) {
        Ok(()) => Ok(at.is_some()),
        Err(fault) => Err(format!("`~/{PATH}` cannot be written: {fault}")),
    }
}
