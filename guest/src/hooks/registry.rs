//! The registry of hooks, in the order in which they run: built-in, user, workspace.
//!
//! A user's file that is in the workspace counts as the workspace's: anyone who can write there may have written it. The same
//! goes if the workspace is the home folder.

mod brief;
mod hooks_file;

use std::collections::VecDeque;
use std::rc::Rc;

use super::claude::Declared;
use super::claude::call::{Translate, keep_untranslated};
use super::claude::installed::Installed;
use super::declaration::Hook;
use super::event::{self, Event};
use super::machine::Machine;
use super::settings::{self, UserHookSettings};
use crate::ports::{Facts, FileKind, Ports, Question, Root};
use brief::Brief;
use hooks_file::HooksFile;

pub use hooks_file::HooksFileFault;

/// Maximum number of calls that a hook is told about for one event, such as the files of a patch.
pub(super) const MAX_PARTS: usize = 256;

/// The part that stands for an event with more calls than that.
pub(super) const TOO_MANY: usize = usize::MAX;

/// Number of files that declare hooks.
const FILE_COUNT: usize = 3;

/// Where a hook was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// By the program that embeds the gate.
    BuiltIn,
    /// By the user, for every workspace.
    User,
    /// In the workspace.
    Workspace,
}

impl Source {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

/// A hook with its place in the registry.
#[derive(Debug, Clone)]
pub struct RegisteredHook {
    /// The hook.
    pub hook: Rc<Hook>,
    /// Where it was declared.
    pub source: Source,
    /// The file in which it was declared.
    pub file: Rc<str>,
    /// Why it does not run, if it does not.
    pub disabled: Option<String>,
    /// Which part of an event a run is about, if the event has several.
    pub part: usize,
}

/// A hook of an extension, with its source and the file that declares it.
pub type ExtensionHook = (Rc<Hook>, Source, Rc<str>);

/// Which hooks a process has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededHooks<'e> {
    /// All hooks.
    All,
    /// Those that wait for this event, and components.
    For(&'e str),
    /// Components: they are called around every tool call.
    Components,
}

impl NeededHooks<'_> {
    /// Whether it includes any hook of a file.
    fn includes(self, brief: &Brief) -> bool {
        match self {
            Self::All => true,
            Self::For(event) => brief.has_components || brief.triggers.iter().any(|trigger| trigger == event),
            Self::Components => brief.has_components,
        }
    }
}

/// The registry of hooks.
#[derive(Debug)]
pub struct Registry {
    built_in: Vec<Rc<Hook>>,
    files: [HooksFile; FILE_COUNT],
    /// What was decided about hooks since: run it although it is declared as disabled, do not run it (and why), forget it.
    overrides: Vec<(String, HookOverride)>,
    /// The hooks of extensions: the user's, then the workspace's.
    extension_hooks: Vec<ExtensionHook>,
    /// The hooks that Claude Code runs itself.
    installed: Installed,
    /// Translates calls into Claude Code's terms.
    pub(super) translate: Translate,
    all: Vec<RegisteredHook>,
    user_settings: (u64, UserHookSettings),
    changed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HookOverride {
    Enabled,
    Disabled(String),
    Gone,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            built_in: Vec::new(),
            files: [
                HooksFile::new(Root::Home, ".tollgate/hooks.json", "~/.tollgate/hooks.json"),
                HooksFile::new(Root::Project, ".tollgate/hooks.json", ".tollgate/hooks.json"),
                HooksFile::new(Root::Project, ".akira/hooks.json", ".akira/hooks.json"),
            ],
            overrides: Vec::new(),
            extension_hooks: Vec::new(),
            installed: Installed::default(),
            translate: keep_untranslated,
            all: Vec::new(),
            user_settings: (0, UserHookSettings::default()),
            changed: false,
        }
    }
}

impl Registry {
    /// Reads what has changed, as far as it is needed; returns whether anything has.
    pub fn refresh(&mut self, needed: NeededHooks<'_>, machine: &Machine, ports: &Ports) -> bool {
        let mut questions: Vec<Question> = self.files.iter().map(HooksFile::question).collect();
        questions.push(Question { root: Root::Home, path: settings::USER_CONFIG.to_owned(), digest: false });
        // A file that cannot be inspected has no stamp, but that does not make it missing.
        let stamp = |facts: &Facts| if facts.kind == FileKind::Missing { 0 } else { facts.stamp.max(1) };
        let looked_at = ports.workspace.inspect(&questions);
        let is_outside = |facts: &Facts| facts.real_path.as_deref().is_none_or(|path| machine.is_absolute(path));
        // Settings in the workspace are the workspace's, which does not decide who answers prompts.
        let user_stamp = looked_at.last().filter(|facts| is_outside(facts)).map_or(0, stamp);
        if user_stamp != self.user_settings.0 {
            self.user_settings =
                (user_stamp, if user_stamp == 0 { UserHookSettings::default() } else { UserHookSettings::read(ports) });
        }
        let mut changed = false;
        let places: Vec<Option<&str>> = looked_at.iter().map(|facts| facts.real_path.as_deref()).collect();
        for (at, (file, facts)) in self.files.iter_mut().zip(&looked_at).enumerate() {
            let place = facts.real_path.as_deref();
            let is_twice = place.is_some() && places.iter().take(FILE_COUNT).skip(at + 1).any(|other| *other == place);
            let source = match file.root {
                Root::Home if is_outside(facts) => Some(Source::User),
                _ if is_twice => None,
                _ => Some(Source::Workspace),
            };
            changed |= source != file.source;
            file.source = source;
        }
        let is_current = |(file, facts): (&HooksFile, &Facts)| file.stamp == stamp(facts);
        if !self.files.iter().zip(&looked_at).all(is_current) {
            changed = true;
            let briefs = if needed == NeededHooks::All { None } else { self.briefs(needed, &looked_at, ports) };
            let mut briefs = briefs.unwrap_or_default().into_iter();
            for (file, facts) in self.files.iter_mut().zip(&looked_at) {
                let stamp = stamp(facts);
                match briefs.next() {
                    Some(brief) => {
                        (file.stamp, file.brief) = (stamp, brief);
                        file.hooks.clear();
                        file.faults.clear();
                    }
                    None if file.stamp != stamp || file.brief.is_some() => file.read(facts, stamp, ports),
                    None => {}
                }
            }
        } else if self.lacks(needed) {
            changed |= self.read_all(&looked_at, ports);
        }
        if changed {
            self.overrides.clear();
            self.arrange();
        }
        self.refresh_installed(ports);
        changed
    }

    /// The briefs of all files, if they were kept for every file and no file has hooks that are needed. Ids are only compared
    /// among hooks that are known, so either all hooks are known or none is.
    fn briefs(&self, needed: NeededHooks<'_>, looked_at: &[Facts], ports: &Ports) -> Option<Vec<Option<Brief>>> {
        let is_fresh = self.files.iter().all(|file| file.hooks.is_empty() && file.faults.is_empty());
        if !is_fresh || !self.built_in.is_empty() || !self.extension_hooks.is_empty() {
            return None;
        }
        let brief = |(file, facts): (&HooksFile, &Facts)| {
            if facts.kind == FileKind::Missing {
                return Some(None);
            }
            Brief::open(&file.brief_name(), facts, ports).filter(|brief| !needed.includes(brief)).map(Some)
        };
        self.files.iter().zip(looked_at).map(brief).collect()
    }

    /// Whether hooks are needed that are not known.
    fn lacks(&self, needed: NeededHooks<'_>) -> bool {
        let is_alone = self.built_in.is_empty() && self.extension_hooks.is_empty();
        self.files.iter().filter_map(|file| file.brief.as_ref()).any(|brief| !is_alone || needed.includes(brief))
    }

    /// Reads the files of which only the brief is known; returns whether there were any.
    fn read_all(&mut self, looked_at: &[Facts], ports: &Ports) -> bool {
        let mut any = false;
        for (file, facts) in self.files.iter_mut().zip(looked_at).filter(|(file, _)| file.brief.is_some()) {
            file.read(facts, file.stamp, ports);
            any = true;
        }
        any
    }

    /// Makes sure that the hooks that wait for an event are known, without looking for changes.
    pub fn load_for(&mut self, event: &str, ports: &Ports) {
        if self.lacks(NeededHooks::For(event)) {
            let questions: Vec<Question> = self.files.iter().map(HooksFile::question).collect();
            self.read_all(&ports.workspace.inspect(&questions), ports);
            self.arrange();
            self.refresh_installed(ports);
        }
    }

    /// Looks up which hooks Claude Code runs by itself, if some of them were taken over from it.
    fn refresh_installed(&mut self, ports: &Ports) {
        let is_taken_over =
            |registered: &RegisteredHook| registered.hook.claude.as_ref().is_some_and(|claude| claude.from.is_some());
        if self.all.iter().any(is_taken_over) {
            self.installed.refresh(ports);
        }
    }

    /// Sets how calls are translated for Claude Code's hooks.
    pub fn translate_with(&mut self, translate: Translate) {
        self.translate = translate;
    }

    /// Replaces the hooks of extensions.
    pub fn set_extension_hooks(&mut self, hooks: Vec<ExtensionHook>) {
        self.extension_hooks = hooks;
        self.overrides.clear();
        self.arrange();
    }

    /// The user's own settings for hooks, whatever the workspace.
    pub fn user_settings(&self) -> &UserHookSettings {
        &self.user_settings.1
    }

    /// Whether anything has changed since this was last asked.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// All hooks, in order.
    pub fn all(&self) -> &[RegisteredHook] {
        &self.all
    }

    /// What is wrong with the files.
    pub fn faults(&self) -> impl Iterator<Item = &HooksFileFault> {
        self.files.iter().filter(|file| file.source.is_some()).flat_map(|file| &file.faults)
    }

    /// The hook with this id.
    pub fn find(&self, id: &str) -> Option<&RegisteredHook> {
        self.all.iter().find(|registered| registered.hook.id == id)
    }

    /// The hooks that wait for an event, in order.
    pub fn waiting_for(&self, event: &Event) -> VecDeque<RegisteredHook> {
        let in_claude = crate::json::text(&event.data, "program") == Some("claude-code");
        let is_needed = |registered: &RegisteredHook| registered.hook.claude.as_ref().is_some_and(Declared::is_about_tools);
        let calls = if self.all.iter().any(is_needed) { (self.translate)(&event.data, "") } else { Vec::new() };
        let mut waiting = VecDeque::new();
        for registered in self.all.iter().filter(|of| of.disabled.is_none() && of.hook.fits(event, &calls)) {
            if in_claude && self.installed.has(&registered.hook) {
                continue;
            }
            let about_tools = registered.hook.claude.as_ref().filter(|claude| claude.is_about_tools());
            let parts: Vec<usize> = about_tools.map_or_else(|| vec![0], |claude| claude.parts(&calls).collect());
            let parts = if parts.len() > MAX_PARTS { vec![TOO_MANY] } else { parts };
            waiting.extend(parts.into_iter().map(|part| RegisteredHook { part, ..registered.clone() }));
        }
        waiting
    }

    /// The events that someone has to listen to on behalf of a hook, each once.
    pub fn triggers(&self) -> Vec<String> {
        let mut triggers: Vec<String> = Vec::new();
        for RegisteredHook { hook, disabled, .. } in &self.all {
            if disabled.is_none() && event::is_background(&hook.trigger) && !triggers.contains(&hook.trigger) {
                triggers.push(hook.trigger.clone());
            }
        }
        for trigger in self.files.iter().filter_map(|file| file.brief.as_ref()).flat_map(|brief| &brief.triggers) {
            if event::is_background(trigger) && !triggers.contains(trigger) {
                triggers.push(trigger.clone());
            }
        }
        triggers
    }

    /// Adds a built-in hook, or replaces it.
    pub fn register(&mut self, hook: Hook) {
        self.overrides.retain(|(id, _)| *id != hook.id);
        self.built_in.retain(|other| other.id != hook.id);
        self.built_in.push(Rc::new(hook));
        self.arrange();
    }

    /// Enables a hook, or disables it with a reason. This holds for this instance, until the hook's file changes.
    pub fn set_enabled(&mut self, id: &str, why_not: Option<String>) {
        self.set_override(id, why_not.map_or(HookOverride::Enabled, HookOverride::Disabled));
    }

    /// Forgets a hook, for this instance.
    pub fn unregister(&mut self, id: &str) {
        self.built_in.retain(|hook| hook.id != id);
        self.set_override(id, HookOverride::Gone);
    }

    fn set_override(&mut self, id: &str, decision: HookOverride) {
        self.overrides.retain(|(other, _)| other != id);
        self.overrides.push((id.to_owned(), decision));
        self.arrange();
    }

    fn arrange(&mut self) {
        self.changed = true;
        self.all.clear();
        let own = self.built_in.iter().map(|hook| (hook.clone(), Source::BuiltIn, Rc::from("")));
        let counting = self.files.iter().filter_map(|file| Some((file, file.source?)));
        let declared = counting.flat_map(|(declared, source)| {
            let file: Rc<str> = declared.shown.into();
            declared.hooks.iter().map(move |hook| (hook.clone(), source, file.clone()))
        });
        let mut ordered: Vec<ExtensionHook> = own.chain(declared).chain(self.extension_hooks.iter().cloned()).collect();
        // Hooks of the same source keep their order.
        ordered.sort_by_key(|(_, source, _)| *source);
        let mut known = std::collections::HashMap::new();
        for (hook, source, file) in ordered {
            let decision = self.overrides.iter().find(|(id, _)| *id == hook.id).map(|(_, decision)| decision);
            let disabled = match decision {
                Some(HookOverride::Gone) => continue,
                Some(HookOverride::Disabled(why)) => Some(why.clone()),
                Some(HookOverride::Enabled) => None,
                None => (!hook.enabled).then(|| "it is declared with `\"enabled\": false`".to_owned()),
            };
            // The first one keeps the name: a workspace cannot replace a user's hook.
            let disabled = match known.insert(hook.id.clone(), file.clone()) {
                Some(first) => Some(format!("`{}` is already declared in `{first}`; give it another id", hook.id)),
                None => disabled,
            };
            self.all.push(RegisteredHook { hook, source, file, disabled, part: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::hooks::declaration;
    use crate::ports::memory::{HOME, Memory};

    fn ids(registry: &Registry) -> Vec<(&str, bool)> {
        registry.all().iter().map(|registered| (registered.hook.id.as_str(), registered.disabled.is_none())).collect()
    }

    fn file(ids: &[&str]) -> String {
        let hooks: Vec<Value> = ids.iter().map(|id| serde_json::json!({"id": id, "trigger": "t", "prompt": "p"})).collect();
        serde_json::json!({"hooks": hooks}).to_string()
    }

    #[test]
    fn the_users_come_before_the_workspaces() {
        let world = Memory::new();
        let ports = world.ports();
        world.write_home(".tollgate/hooks.json", file(&["u1", "u2"]));
        world.write(".akira/hooks.json", file(&["a"]));
        world.write(".tollgate/hooks.json", file(&["w", "u1"]));
        let (mut registry, machine) = (Registry::default(), Machine::new("/workspace", std::iter::empty()));
        assert!(registry.refresh(NeededHooks::All, &machine, &ports));
        assert!(!registry.refresh(NeededHooks::All, &machine, &ports));
        assert_eq!(ids(&registry), [("u1", true), ("u2", true), ("w", true), ("u1", false), ("a", true)]);
        registry.set_enabled("u2", Some("no".to_owned()));
        registry.unregister("w");
        assert_eq!(ids(&registry), [("u1", true), ("u2", false), ("u1", false), ("a", true)]);
        registry.set_enabled("u2", None);
        registry.register(declaration::read_one(&serde_json::json!({"id": "own", "event": "t", "command": ["x"]})).unwrap());
        assert_eq!(ids(&registry), [("own", true), ("u1", true), ("u2", true), ("u1", false), ("a", true)]);
    }

    #[test]
    fn a_broken_file_keeps_the_last_good_one() {
        let world = Memory::new();
        let ports = world.ports();
        world.write(".tollgate/hooks.json", file(&["w"]));
        let (mut registry, machine) = (Registry::default(), Machine::new("/workspace", std::iter::empty()));
        registry.refresh(NeededHooks::All, &machine, &ports);
        world.write(".tollgate/hooks.json", "{\n  \"hooks\": [{\"id\": 3}]\n}");
        assert!(registry.refresh(NeededHooks::All, &machine, &ports));
        assert_eq!(ids(&registry), [("w", true)]);
        let faults: Vec<_> = registry.faults().map(|fault| (fault.path.as_str(), fault.place)).collect();
        assert_eq!(faults, [("$.hooks[0].id", (2, 20)), ("$.hooks[0]", (2, 13)), ("$.hooks[0]", (2, 13))]);
        // The same for a process that starts now.
        let mut later = Registry::default();
        later.refresh(NeededHooks::All, &machine, &ports);
        assert_eq!(ids(&later), [("w", true)]);
        world.write(".tollgate/hooks.json", "{");
        registry.refresh(NeededHooks::All, &machine, &ports);
        assert_eq!(registry.faults().next().unwrap().place, (1, 1));
        world.delete(".tollgate/hooks.json");
        registry.refresh(NeededHooks::All, &machine, &ports);
        assert_eq!((ids(&registry).len(), registry.faults().count()), (0, 0));
    }

    #[test]
    fn the_users_last_good_hooks_outlive_a_process() {
        let world = Memory::new();
        let ports = world.ports();
        let machine = Machine::new("/workspace", std::iter::empty());
        let started = || {
            let mut registry = Registry::default();
            registry.refresh(NeededHooks::All, &machine, &ports);
            registry
        };
        world.write_home(".tollgate/hooks.json", file(&["u"]));
        world.write(".tollgate/hooks.json", file(&["w"]));
        assert_eq!(ids(&started()), [("u", true), ("w", true)]);
        world.write_home(".tollgate/hooks.json", "{");
        assert_eq!(ids(&started()), [("u", true), ("w", true)]);
        world.delete(&format!("{HOME}/.tollgate/hooks.json"));
        assert_eq!(ids(&started()), [("w", true)]);
    }

    #[test]
    fn a_long_file_is_parsed_only_for_events_that_its_hooks_wait_for() {
        let world = Memory::new();
        let ports = world.ports();
        let hook = |id: usize, trigger: &str| serde_json::json!({"id": format!("h{id}"), "trigger": trigger, "prompt": "p"});
        let mut hooks: Vec<Value> = (0..500).map(|id| hook(id, "onDidSaveTextDocument")).collect();
        hooks.push(hook(500, "after_tool"));
        world.write_home(".tollgate/hooks.json", serde_json::json!({ "hooks": hooks }).to_string());
        world.pass(60_000);
        let machine = Machine::new("/workspace", std::iter::empty());
        let refreshed = |needed: NeededHooks<'_>| {
            let mut registry = Registry::default();
            registry.refresh(needed, &machine, &ports);
            registry
        };
        assert_eq!(refreshed(NeededHooks::For("before_tool")).all().len(), 501, "nothing is kept yet");
        let mut brief = refreshed(NeededHooks::For("before_tool"));
        assert_eq!((brief.all().len(), brief.triggers()), (0, vec!["onDidSaveTextDocument".to_owned()]));
        assert!(!brief.refresh(NeededHooks::For("before_tool"), &machine, &ports));
        assert_eq!(refreshed(NeededHooks::For("after_tool")).all().len(), 501);
        brief.load_for("before_tool", &ports);
        assert_eq!(brief.all().len(), 0);
        brief.load_for("after_tool", &ports);
        assert_eq!((brief.all().len(), brief.triggers().len()), (501, 1));
        // Ids are unique, so hooks of extensions are not compared with hooks that are not known.
        let mut brief = refreshed(NeededHooks::For("before_tool"));
        let twin = declaration::read_one(&hook(7, "before_tool")).unwrap();
        brief.set_extension_hooks(vec![(Rc::new(twin), Source::Workspace, Rc::from("x"))]);
        brief.load_for("before_tool", &ports);
        assert_eq!(brief.all().iter().filter(|registered| registered.disabled.is_some()).count(), 1);
        let mut brief = refreshed(NeededHooks::For("before_tool"));
        assert!(brief.refresh(NeededHooks::All, &machine, &ports));
        assert_eq!(brief.all().len(), 501);
        // Another version of the file is not the one that was kept.
        world.write_home(".tollgate/hooks.json", file(&["x"]));
        assert_eq!(refreshed(NeededHooks::For("before_tool")).all().len(), 1);
        assert!(brief.refresh(NeededHooks::For("before_tool"), &machine, &ports));
        assert_eq!(ids(&brief), [("x", true)]);
    }
}
