//! Finds Tollgate's hooks in a program's settings, and checks whether the program would run them.

use serde_json::Value;

use super::files_read::{Seen, SeenContent};
use super::files_to_read::trust_file;
use super::layout::Layout;
use super::source::{ResolvedSource, sources};
use crate::json::document::Document;
use crate::programs::trust::{TrustState, folder_trust, hook_hash, hook_key, hook_trust, listed_trust};
use crate::programs::wiring::{HooksFormat, SettingsPlace, SourceContent, TrustRule};
use crate::programs::{AgentProgram, Wiring};

/// A hook of Tollgate found in settings.
#[derive(Debug, Clone)]
pub struct WiredHook {
    /// The file it is in.
    pub file: String,
    /// Where that file comes from, and whether it applies.
    pub source: ResolvedSource,
    /// The event it is for.
    pub event: &'static str,
    /// The command, or the plugin as the program names it.
    pub command: String,
    /// The tools that it is called for.
    pub matcher: Option<String>,
    /// How long the program waits for it, in the program's unit.
    pub timeout: Option<u64>,
    /// The entry of the event's list that contains it, the index of that entry, and the index of the hook in it.
    entry: Value,
    group: usize,
    place: usize,
}

/// What was found about a program's hooks.
#[derive(Debug, Default)]
pub struct HookFindings {
    /// Tollgate's hooks.
    pub hooks: Vec<WiredHook>,
    /// Files that may contain hooks but cannot be read.
    pub unreadable: Vec<String>,
    /// What disables all hooks of the program.
    pub switched_off: Vec<String>,
}

impl HookFindings {
    /// Searches every place where the program looks for hooks.
    pub fn of(program: &AgentProgram, wiring: &Wiring, layout: &Layout, seen: &Seen) -> Self {
        let mut found = Self::default();
        for source in sources(wiring, layout) {
            for (path, content) in source.files(seen) {
                found.take_in(program, wiring, &source, (path, content), layout);
            }
        }
        found
    }

    /// The hooks for the event before a tool.
    pub fn before_tool(&self, wiring: &Wiring) -> impl Iterator<Item = &WiredHook> {
        let event = wiring.events.first().copied().unwrap_or_default();
        self.hooks.iter().filter(move |hook| hook.event == event)
    }

    fn take_in(
        &mut self,
        program: &AgentProgram,
        wiring: &Wiring,
        source: &ResolvedSource,
        file: (&str, SeenContent<'_>),
        layout: &Layout,
    ) {
        let (path, content) = file;
        let event = wiring.events.first().copied().unwrap_or_default();
        let known = self.hooks.iter().any(|hook| hook.file == path);
        let plugin = |command: String| WiredHook {
            file: path.to_owned(),
            source: source.clone(),
            event,
            command,
            matcher: None,
            timeout: None,
            entry: Value::Null,
            group: 0,
            place: 0,
        };
        let text = match (source.content, content) {
            _ if known => return,
            (_, SeenContent::Missing) => return,
            (SourceContent::Plugin | SourceContent::Plugins, content) => {
                // A plugin file that is too long to be read is recognised by its name.
                let text = if let SeenContent::Text(text) = content { text } else { "" };
                if program.is_our_plugin_file(path, text) {
                    self.hooks.push(plugin(path.to_owned()));
                }
                return;
            }
            (_, SeenContent::Fault(why)) => {
                self.unreadable.push(format!("{} cannot be read: {why}", layout.display(path)));
                return;
            }
            (_, SeenContent::Text(text)) => text,
        };
        let settings = match Document::parse(text) {
            Ok(document) => document.value(),
            Err(why) => {
                if text.contains("tollgate") {
                    self.unreadable.push(format!("{} cannot be read: {why}", layout.display(path)));
                }
                return;
            }
        };
        if source.content == SourceContent::PluginList {
            let listed = settings.get("plugin").and_then(Value::as_array).into_iter().flatten();
            // A plugin with options is a list that begins with its name.
            let names = listed.filter_map(|item| item.as_str().or_else(|| item.get(0)?.as_str()));
            self.hooks.extend(names.filter(|name| program.is_our_plugin(name)).map(|name| plugin(name.to_owned())));
            return;
        }
        for (pointer, value) in wiring.switches.iter().filter(|_| source.applies) {
            if settings.pointer(pointer) == Some(&Value::Bool(*value)) {
                let name = pointer.trim_start_matches('/').replace('/', ".");
                self.switched_off.push(format!("{} switches hooks off: `{name}` is {value}", layout.display(path)));
            }
        }
        for event in wiring.events.iter().copied() {
            let entries = settings.pointer(&format!("/hooks/{event}")).and_then(Value::as_array).into_iter().flatten();
            for (group, entry) in entries.enumerate() {
                for (place, handler) in handlers(wiring, entry) {
                    let Some(command) = command_of(wiring, handler, layout.windows) else { continue };
                    if !program.is_our_command(command) {
                        continue;
                    }
                    self.hooks.push(WiredHook {
                        file: path.to_owned(),
                        source: source.clone(),
                        event,
                        command: command.to_owned(),
                        matcher: entry.get("matcher").and_then(Value::as_str).map(str::to_owned),
                        timeout: ["timeout", "timeoutSec"].iter().find_map(|name| handler.get(*name)?.as_u64()),
                        entry: entry.clone(),
                        group,
                        place,
                    });
                }
            }
        }
    }
}

/// The hooks of an entry, each with its index.
fn handlers<'a>(wiring: &Wiring, entry: &'a Value) -> Vec<(usize, &'a Value)> {
    match wiring.form {
        HooksFormat::Nested => entry.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate().collect(),
        HooksFormat::Flat | HooksFormat::Shells => vec![(0, entry)],
        HooksFormat::Plugin(_) => Vec::new(),
    }
}

fn command_of<'a>(wiring: &Wiring, handler: &'a Value, windows: bool) -> Option<&'a str> {
    let name = match wiring.form {
        HooksFormat::Shells if windows => "powershell",
        HooksFormat::Shells => "bash",
        _ => "command",
    };
    handler.get(name)?.as_str()
}

impl WiredHook {
    /// Why the program would not run this hook, and what a person can do; `None` if no obstacle is visible.
    pub fn obstacle(&self, program: &AgentProgram, wiring: &Wiring, layout: &Layout, seen: &Seen) -> Option<String> {
        if !self.source.applies {
            let file = layout.display(&self.file);
            return Some(format!(
                "it reads {file} only when it is started in `{}`, not in `{}`; `tollgate init --host {} --scope user` sets it up \
                 for every folder",
                layout.workspace,
                layout.start,
                program.name()
            ));
        }
        if let Some(why) = self.distrust_reason(wiring, layout, seen) {
            return Some(why);
        }
        // With the wrong unit, every answer comes too late, and a late denial has no effect.
        let timeout = self.timeout.filter(|timeout| wiring.timeout.has_wrong_unit(*timeout))?;
        let right = wiring.timeout.timeout_for(crate::programs::EventKind::BeforeTool);
        Some(format!("its timeout of {timeout} is in milliseconds, too short for any answer; use {right}"))
    }

    /// Why the program does not trust this hook; `None` if it does.
    fn distrust_reason(&self, wiring: &Wiring, layout: &Layout, seen: &Seen) -> Option<String> {
        let path = trust_file(wiring, layout)?;
        let said = match seen.file(&path) {
            SeenContent::Text(text) => text,
            _ => "",
        };
        match wiring.trust? {
            TrustRule::Hooks { remedy, .. } => {
                let hash = hook_hash(self.event, &self.entry, self.place);
                let state = |file: &str| hook_trust(said, &hook_key(file, self.event, self.group, self.place), hash.as_deref());
                let state = match state(&self.file) {
                    TrustState::Undecided => state(seen.real(&self.file)),
                    decided => decided,
                };
                match state {
                    TrustState::Trusted => None,
                    TrustState::Undecided => Some(format!("it does not run the hook until you trust it: {remedy}")),
                    TrustState::Changed => {
                        Some(format!("it does not run the hook, because it has changed since you trusted it: {remedy}"))
                    }
                    TrustState::Refused => Some(format!("it does not run the hook, because it is switched off: {remedy}")),
                }
            }
            // The user's own settings apply whether or not the folder is trusted.
            TrustRule::Folders { .. } | TrustRule::FolderList { .. } if !self.source.of_workspace => None,
            TrustRule::FolderList { remedy, .. } => {
                let config = Document::parse(said).map(|document| document.value()).unwrap_or_default();
                let is_trusted = listed_trust(&config, &layout.start) == TrustState::Trusted;
                (!is_trusted && is_installed(wiring, layout, seen))
                    .then(|| format!("it does not run the hooks of `{}` until you trust the folder: {remedy}", layout.start))
            }
            TrustRule::Folders { setting, default, remedy, .. } => {
                let is_asked_for = user_setting(wiring, setting, layout, seen).unwrap_or(default);
                let folders = Document::parse(said).map(|document| document.value()).unwrap_or_default();
                match folder_trust(&folders, &layout.start) {
                    _ if !is_asked_for => None,
                    TrustState::Trusted => None,
                    TrustState::Undecided | TrustState::Changed => {
                        Some(format!("it does not read the settings of `{}` until you trust the folder: {remedy}", layout.start))
                    }
                    TrustState::Refused => Some(format!(
                        "it does not read the settings of `{}`, because it was told not to trust the folder ({}): {remedy}",
                        layout.start,
                        layout.display(&path)
                    )),
                }
            }
        }
    }
}

/// Whether the program itself is installed, judging by its commands or by what it keeps in the user's folders.
fn is_installed(wiring: &Wiring, layout: &Layout, seen: &Seen) -> bool {
    let of_user = wiring.signs.iter().filter(|sign| !matches!(sign, SettingsPlace::Workspace(_)));
    wiring.commands.iter().any(|command| seen.is_on_path(command))
        || of_user.filter_map(|sign| layout.path(*sign)).any(|path| seen.exists(&path))
}

/// The value at a pointer in the user's own settings of a program.
fn user_setting(wiring: &Wiring, pointer: &str, layout: &Layout, seen: &Seen) -> Option<bool> {
    let own = sources(wiring, layout).into_iter().filter(|source| !source.of_workspace && source.content == SourceContent::Hooks);
    own.filter_map(|source| match seen.file(&source.path) {
        SeenContent::Text(text) => Document::parse(text).ok()?.value().pointer(pointer)?.as_bool(),
        _ => None,
    })
    .next()
}
