//! Extensions: folders that provide hooks, MCP servers, settings and skills, each with a `manifest.json`.
//!
//! | file | what |
//! | --- | --- |
//! | [`discovery`] | where extensions are looked for |
//! | [`manifest`] | what each says about itself |
//! | [`change`] | changes to the settings, which say which extensions are enabled ([`config::extensions`](crate::config::extensions)) |
//! | [`values`], [`store`] | the values of their settings, and where secrets are kept |
//! | [`trust`] | what a person approves about a workspace's extension |
//! | [`hooks`] | their hooks, for the hook registry |
//! | [`skills`], [`skill_file`] | their skills, and those in folders of their own |
//! | [`template`] | a template for a new extension |
//!
//! An extension is active if its manifest can be used, it is enabled, a person has approved it (if it is the workspace's), and
//! every setting that it needs is set. Then all that it provides is in effect; otherwise nothing is. Everything is checked again at
//! every event, so changes take effect at once.

pub mod change;
pub mod discovery;
pub mod fault;
pub mod hooks;
pub mod manifest;
pub mod path;
pub mod skill_file;
pub mod skills;
pub mod store;
pub mod template;
pub mod trust;
pub mod values;

use std::rc::Rc;

use serde_json::Value;

use self::discovery::{ExtensionFolder, Places};
use self::fault::ExtensionFault;
use self::manifest::{Manifest, as_text};
use self::skills::Skills;
use self::store::Store;
use self::trust::Approval;
use self::values::{Set, Sources};
use crate::config::extensions::{Choices, is_enabled};
use crate::hooks::bundle;
use crate::hooks::declaration::Hook;
use crate::hooks::machine::Machine;
use crate::hooks::owner::Owner;
use crate::hooks::registry::{ExtensionHook, Source};
use crate::hooks::trust::{Approvals, PATH as APPROVALS};
use crate::json::document;
use crate::ports::{Facts, FileKind, Ports, Question, Root};
use crate::servers::{ServerSource, ServerSpec, Transport};
use crate::{digest, home};

/// The state of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionState {
    /// What it provides is in effect.
    Active,
    /// It has not been enabled, or it has been disabled.
    Disabled,
    /// It has not been approved yet.
    Unapproved,
    /// It has changed since it was approved.
    Changed,
    /// A setting that it needs is missing or invalid.
    Incomplete,
    /// It cannot be used.
    Invalid,
}

impl ExtensionState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Unapproved => "unapproved",
            Self::Changed => "changed",
            Self::Incomplete => "incomplete",
            Self::Invalid => "invalid",
        }
    }
}

/// An extension and its state.
#[derive(Debug)]
pub struct Extension {
    /// The folder in which it was found.
    pub found: Rc<ExtensionFolder>,
    /// Its name: the manifest's, or the folder's if the manifest cannot be used.
    pub name: String,
    /// Its state.
    pub state: ExtensionState,
    /// Why it is not active, and what to do about it.
    pub why: Option<String>,
    /// What is wrong with it.
    pub faults: Vec<ExtensionFault>,
    /// Its hooks.
    pub hooks: Vec<Hook>,
    /// The values of its settings, if these may be looked at.
    pub values: Vec<Set>,
    /// The digest of its files when it was approved.
    approved: Option<digest::Digest>,
}

impl Extension {
    /// Its manifest, if it can be used.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.found.manifest.as_ref().ok()
    }

    fn value(&self, setting: &str) -> Option<&Value> {
        self.values.iter().find(|set| set.name == setting)?.value.as_ref()
    }

    fn owner(&self) -> Owner {
        let of_setting = |setting: &manifest::Setting| Some((setting.env_var.clone()?, as_text(self.value(&setting.name)?)));
        let settings = self.manifest().into_iter().flat_map(|manifest| &manifest.settings);
        Owner {
            extension: self.name.clone(),
            folder: self.found.real.clone(),
            approved: self.approved,
            variables: settings.filter_map(of_setting).collect(),
        }
    }
}

/// The extensions of one workspace.
#[derive(Debug, Default)]
pub struct Extensions {
    places: Places,
    store: Store,
    approvals: Approvals,
    user: Choices,
    /// What is wrong with the user's own settings.
    user_fault: Option<String>,
    workspace: Rc<Choices>,
    /// The stamps of the user's settings, the secrets and the approvals, and the workspace that these were looked up for.
    marks: (u64, u64, u64, String),
    all: Vec<Extension>,
    /// How often the extensions were put together anew.
    revision: u64,
}

/// What to ask the host before [`Extensions::refresh`]: one question for each folder.
pub fn questions() -> [Question; 4] {
    discovery::questions()
}

/// What to ask about besides the folders, if there are any.
fn user_questions() -> [Question; 3] {
    let at_home = |path: &str| Question { root: Root::Home, path: path.to_owned(), digest: false };
    [at_home(home::SETTINGS), at_home(store::PATH), at_home(APPROVALS)]
}

impl Extensions {
    /// Reads what has changed, given what the host saw of [`questions`]. Returns whether anything has.
    pub fn refresh(&mut self, facts: &[Facts], workspace: &Rc<Choices>, machine: &Machine, ports: &Ports) -> bool {
        let is_any = facts.iter().any(|facts| facts.kind == FileKind::Directory);
        if !is_any && self.all.is_empty() && self.places.faults.is_empty() {
            return false;
        }
        let (mut has_changed, beside) = self.places.refresh(facts, &user_questions(), ports);
        let mut stamps = beside.iter().map(|facts| if facts.kind == FileKind::Missing { 0 } else { facts.stamp });
        let mut stamp = || stamps.next().unwrap_or_default();
        let marks = (stamp(), stamp(), stamp(), machine.workspace.clone());
        if self.marks.0 != marks.0 {
            self.read_user(ports);
        }
        self.store.refresh(marks.1, ports);
        has_changed |= marks != self.marks || *self.workspace != **workspace;
        if has_changed {
            self.marks = marks;
            self.workspace = workspace.clone();
            self.arrange(machine, ports);
        }
        has_changed
    }

    fn read_user(&mut self, ports: &Ports) {
        let text = home::read(home::SETTINGS, ports);
        let settings: Value = text.and_then(|text| document::read(&text).ok()).unwrap_or_default();
        let parsed = settings.get("extensions").map_or_else(|| Ok(Choices::default()), Choices::parse);
        self.user_fault = parsed.as_ref().err().map(|why| format!("`~/{}` cannot be used: {why}", home::SETTINGS));
        if let Some(why) = &self.user_fault {
            ports.warn(&format!("{why}; its `extensions` settings are ignored until they are fixed"));
        }
        self.user = parsed.unwrap_or_default();
    }

    fn arrange(&mut self, machine: &Machine, ports: &Ports) {
        self.revision += 1;
        self.all.clear();
        for found in self.places.found.clone() {
            let taken = |name: &str| self.all.iter().find(|other| other.name == name && other.state != ExtensionState::Invalid);
            let extension = match &found.manifest {
                Err(faults) => invalid(&found, faults.clone()),
                Ok(manifest) => match taken(&manifest.name) {
                    Some(other) => {
                        let why = format!("`{}` is already the name of `{}`; choose another", manifest.name, other.found.shown);
                        let fault =
                            ExtensionFault { path: "$.name".to_owned(), ..ExtensionFault::new(&found.file(manifest::FILE), why) };
                        invalid(&found, vec![fault])
                    }
                    None => self.judge(&found, manifest, machine, ports),
                },
            };
            for fault in &extension.faults {
                ports.fail(&format!("the extension `{}` is skipped: {fault}", extension.name));
            }
            if let (ExtensionState::Incomplete, Some(why)) = (extension.state, &extension.why) {
                ports.warn(&format!("the extension `{}` is disabled: {why}", extension.name));
            }
            self.all.push(extension);
        }
        for fault in &self.places.faults {
            ports.fail(&fault.to_string());
        }
        let secrets = self.all.iter().flat_map(|extension| {
            let is_secret = |set: &&Set| extension.manifest().and_then(|of| of.setting(&set.name)).is_some_and(|of| of.sensitive);
            extension.values.iter().filter(is_secret).filter_map(|set| set.value.as_ref()?.as_str().map(str::to_owned))
        });
        ports.secrets.set_secret_values(secrets.collect());
    }

    fn judge(&mut self, found: &Rc<ExtensionFolder>, manifest: &Manifest, machine: &Machine, ports: &Ports) -> Extension {
        let hooks = match hooks::read(found, manifest, ports) {
            Ok(hooks) => hooks,
            Err(faults) => return invalid(found, faults),
        };
        if let Some(missing) = missing_component(found, manifest, ports) {
            return invalid(found, vec![missing]);
        }
        let name = manifest.name.clone();
        let mut extension = Extension {
            found: found.clone(),
            name: name.clone(),
            state: ExtensionState::Active,
            why: None,
            faults: Vec::new(),
            hooks,
            values: Vec::new(),
            approved: None,
        };
        let of_workspace = found.is_of_workspace();
        if !is_enabled(&name, &self.user, of_workspace.then_some(&self.workspace)) {
            extension.state = ExtensionState::Disabled;
            extension.why = Some(format!("it is not enabled; a person can enable it: `tollgate extensions enable {name}`"));
            return extension;
        }
        if of_workspace {
            let kept = self.approvals.of_extension(&name, machine, ports);
            let (state, why) = match trust::approval(kept, manifest, &self.workspace) {
                Approval::Given(bytes) => {
                    extension.approved = Some(bytes);
                    (ExtensionState::Active, "")
                }
                Approval::Changed => (ExtensionState::Changed, "it has changed since it was approved"),
                // Hosts know no other word for it; what was approved is not what an approval covers now.
                Approval::Outdated => (ExtensionState::Changed, trust::OUTDATED),
                Approval::None => (ExtensionState::Unapproved, "it has not been approved yet"),
            };
            if state != ExtensionState::Active {
                extension.state = state;
                extension.why = Some(format!("{why}; a person can review and approve it: `tollgate extensions approve {name}`"));
                return extension;
            }
        }
        extension.values = self.values(found, manifest, machine, ports);
        if let Some(set) = extension.values.iter().find(|set| set.fault.is_some()) {
            extension.state = ExtensionState::Incomplete;
            extension.why = Some(format!("the setting `{}`: {}", set.name, set.fault.as_deref().unwrap_or_default()));
        }
        extension
    }

    fn values(&self, found: &ExtensionFolder, manifest: &Manifest, machine: &Machine, ports: &Ports) -> Vec<Set> {
        let sources = Sources {
            user: &self.user,
            workspace: &self.workspace,
            of_workspace: found.is_of_workspace(),
            store: &self.store,
            stored_as: &secrets_owner(found, manifest, machine),
        };
        values::values(manifest, &sources, ports)
    }

    /// A number that changes whenever anything about the extensions may have changed.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// All extensions, the user's first.
    pub fn all(&self) -> &[Extension] {
        &self.all
    }

    /// What is wrong with folders, manifests and the user's own settings.
    pub fn faults(&self) -> impl Iterator<Item = ExtensionFault> {
        let user = self.user_fault.iter().map(|why| ExtensionFault::new(&format!("~/{}", home::SETTINGS), why.clone()));
        user.chain(self.places.faults.iter().chain(self.all.iter().flat_map(|extension| &extension.faults)).cloned())
    }

    /// The extension with this name. One that can be used takes precedence over one that cannot.
    pub fn find(&self, name: &str) -> Option<&Extension> {
        let named = || self.all.iter().filter(|extension| extension.name == name);
        named().find(|extension| extension.state != ExtensionState::Invalid).or_else(|| named().next())
    }

    /// What the workspace's settings say about extensions.
    pub fn workspace_choices(&self) -> &Choices {
        &self.workspace
    }

    fn active(&self) -> impl Iterator<Item = &Extension> {
        self.all.iter().filter(|extension| extension.state == ExtensionState::Active)
    }

    /// The hooks of active extensions, for the hook registry.
    pub fn hooks(&self) -> Vec<ExtensionHook> {
        let mut brought = Vec::new();
        for extension in self.active() {
            let owner = Rc::new(extension.owner());
            let file: Rc<str> = extension.found.file(manifest::FILE).into();
            for hook in &extension.hooks {
                let mut hook = hook.clone();
                hook.owner = Some(owner.clone());
                brought.push((Rc::new(hook), extension.found.source, file.clone()));
            }
        }
        brought
    }

    /// The MCP servers of active extensions, with their paths filled in, and why others are left out. A workspace's extension is
    /// compared byte for byte with what was approved.
    pub fn servers(&self, machine: &Machine, ports: &Ports) -> (Vec<ServerSpec>, Vec<String>) {
        let (mut servers, mut left_out) = (Vec::new(), Vec::new());
        for extension in self.active() {
            let Some(manifest) = extension.manifest().filter(|manifest| !manifest.servers.is_empty()) else { continue };
            if let Err(why) = self.verify(extension, machine, ports) {
                left_out.push(format!("the MCP servers of the extension `{}` are left out: {why}", extension.name));
                continue;
            }
            let folder = machine.absolute(&extension.found.real);
            for server in &manifest.servers {
                let entry = path::fill_placeholders(&server.entry, &folder, &machine.workspace);
                match ServerSpec::parse(&server.name, &entry, ServerSource::Extension(extension.name.clone())) {
                    Ok(mut spec) => {
                        place_server(&mut spec, &extension.found, &folder, ports);
                        servers.push(spec);
                    }
                    Err(why) => left_out.push(format!("the MCP server `{}` of `{}`: {why}", server.name, extension.name)),
                }
            }
        }
        (servers, left_out)
    }

    /// Checks that a workspace's extension is what was approved, byte for byte; the error says why not.
    pub fn verify(&self, extension: &Extension, machine: &Machine, ports: &Ports) -> Result<(), String> {
        let Some(approved) = extension.approved else { return Ok(()) };
        let files = bundle::check_tree(&extension.found.real, &machine.digests, ports)?;
        if bundle::digest(&files) == approved {
            return Ok(());
        }
        Err(format!("it has changed since it was approved; review it with `tollgate extensions approve {}`", extension.name))
    }

    /// The value of a setting for a server that refers to it: empty if it is optional and not set; `None` if there is no such
    /// setting.
    pub fn setting(&self, source: &ServerSource, key: &str) -> Option<String> {
        let ServerSource::Extension(name) = source else { return None };
        let extension = self.active().find(|extension| extension.name == *name)?;
        let value = extension.values.iter().find(|set| set.name == key)?.value.as_ref();
        Some(value.map(as_text).unwrap_or_default())
    }

    /// All skills.
    pub fn skills(&self, machine: &Machine, ports: &Ports) -> Skills {
        let mut skills = Skills::default();
        for extension in self.active() {
            match self.verify(extension, machine, ports) {
                Ok(()) => skills.add_extension(&extension.found, ports),
                Err(why) => skills.faults.push(ExtensionFault::new(&extension.found.shown, why)),
            }
        }
        skills.add_folders(ports);
        skills.assign_unique_names();
        skills
    }
}

/// The name under which the secrets of an extension are stored. A workspace's extension has secrets for its workspace alone, so
/// that another extension of the same name does not get them.
pub fn secrets_owner(found: &ExtensionFolder, manifest: &Manifest, machine: &Machine) -> String {
    match found.source {
        Source::Workspace => format!("{}@{}", manifest.name, machine.workspace),
        Source::User | Source::BuiltIn => manifest.name.clone(),
    }
}

fn invalid(found: &Rc<ExtensionFolder>, faults: Vec<ExtensionFault>) -> Extension {
    let folder = found.path.rsplit('/').next().unwrap_or_default();
    let name = found.manifest.as_ref().map_or(folder, |manifest| manifest.name.as_str());
    Extension {
        found: found.clone(),
        name: name.chars().filter(|c| !c.is_control()).collect(),
        state: ExtensionState::Invalid,
        why: Some("its manifest cannot be used; `tollgate extensions check` says what is wrong".to_owned()),
        faults,
        hooks: Vec::new(),
        values: Vec::new(),
        approved: None,
    }
}

fn missing_component(found: &ExtensionFolder, manifest: &Manifest, ports: &Ports) -> Option<ExtensionFault> {
    let question = |path: &str| Question { root: found.root, path: format!("{}/{path}", found.path), digest: false };
    if manifest.components.is_empty() {
        return None;
    }
    let questions: Vec<Question> = manifest.components.iter().map(|component| question(&component.path)).collect();
    let looked_at = ports.workspace.inspect(&questions);
    let is_there = |(component, facts): &(&manifest::ManifestComponent, Facts)| {
        facts.kind == FileKind::File && facts.real_path.as_deref() == Some(&format!("{}/{}", found.real, component.path))
    };
    let (missing, _) = manifest.components.iter().zip(looked_at).find(|checked| !is_there(checked))?;
    let why = format!("names `{}`, which is not a file of the extension", missing.path);
    Some(ExtensionFault { path: "$.components".to_owned(), ..ExtensionFault::new(&found.file(manifest::FILE), why) })
}

/// Makes paths of a server's program begin in the extension's folder.
fn place_server(spec: &mut ServerSpec, found: &ExtensionFolder, folder: &str, ports: &Ports) {
    let Transport::Stdio { command, args, cwd, .. } = &mut spec.transport else { return };
    let is_own = |word: &str| {
        let bare = word.strip_prefix("./").unwrap_or(word);
        let question = Question { root: found.root, path: format!("{}/{bare}", found.path), digest: false };
        let is_file = || ports.workspace.inspect(&[question]).pop().is_some_and(|facts| facts.kind == FileKind::File);
        path::check_inside(bare).is_ok() && is_file()
    };
    for word in std::iter::once(command).chain(args) {
        if is_own(word) {
            *word = format!("{folder}/{}", word.strip_prefix("./").unwrap_or(word));
        }
    }
    *cwd = match cwd.take() {
        Some(cwd) if cwd.starts_with('/') || cwd.get(1..2) == Some(":") => Some(cwd),
        Some(cwd) if !matches!(cwd.as_str(), "." | "./") => Some(format!("{folder}/{}", cwd.trim_start_matches("./"))),
        Some(_) => Some(folder.to_owned()),
        None => None,
    };
}
