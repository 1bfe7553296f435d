//! How a program is wired to the gate: where its settings are, what is written to them, and what proves that it works.
//!
//! `tollgate init` writes what is described here, and `tollgate doctor` examines it. Paths are only data: the code that reads and
//! writes the files decides where the workspace and the home folder are.

use serde_json::{Value, json};

use super::{AgentProgram, EventKind};

/// A program's wiring.
#[derive(Debug)]
pub struct Wiring {
    /// The format of its hooks.
    pub form: HooksFormat,
    /// Files and folders that show that the program is in use.
    pub signs: &'static [SettingsPlace],
    /// Commands on the search path that show the same.
    pub commands: &'static [&'static str],
    /// Where its hooks may be. `init` writes to the first place; it may instead write to the first that applies everywhere.
    pub settings: &'static [SettingsSource],
    /// The events that `init` subscribes to; the first is the one before a tool.
    pub events: &'static [&'static str],
    /// The matcher for all tools; `None` if tools need no matcher.
    pub every: Option<&'static str>,
    /// How long the program waits for a hook.
    pub timeout: Timeout,
    /// Settings that disable its hooks: their position in the settings file, and the value that disables.
    pub switches: &'static [(&'static str, bool)],
    /// What else the program requires before it runs a hook.
    pub trust: Option<TrustRule>,
    /// How to name a program to which it passes every shell command as one word. `init` names the native `tollgate`, which then
    /// runs the commands confined.
    pub shell_prefix: Option<ShellPrefix>,
    /// Whether it runs commands in a sandbox of its own, in which the gate's state is not accessible: then there is no evidence
    /// that a command ran confined.
    pub sandboxes: bool,
    /// Whether its shell stays open after a call, so that the next command starts with the folder and the variables that the last
    /// one set.
    pub keeps_shell: bool,
    /// Whether it asks a person about every path in a command that is outside the workspace.
    pub checks_paths: bool,
    /// Where its MCP servers are listed.
    pub servers: Option<SettingsPlace>,
    /// What else a person has to do.
    pub note: Option<&'static str>,
    /// A call that must be denied, to prove that the hook works.
    pub canary: Canary,
}

impl Wiring {
    /// The wiring of a program before its settings files, events and commands are filled in.
    pub(super) const fn new(form: HooksFormat, canary: Canary) -> Self {
        Self {
            form,
            signs: &[],
            commands: &[],
            settings: &[],
            events: &[],
            every: None,
            timeout: Timeout::SECONDS,
            switches: &[],
            trust: None,
            shell_prefix: None,
            sandboxes: false,
            keeps_shell: false,
            checks_paths: false,
            servers: None,
            note: None,
            canary,
        }
    }
}

/// Where a program looks for the name of the program to which it passes every shell command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellPrefix {
    /// The variable in `env` of the program's settings.
    pub variable: &'static str,
    /// The settings file in a workspace that a team does not share.
    pub file: SettingsPlace,
}

/// The format in which a program stores its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksFormat {
    /// `hooks.EVENT[] = {matcher, hooks: [{type, command, timeout}]}`
    Nested,
    /// `hooks.EVENT[] = {command, timeout}`
    Flat,
    /// `hooks.EVENT[] = {type, bash, powershell, timeoutSec}`
    Shells,
    /// A JavaScript file with this text.
    Plugin(&'static str),
}

/// The place of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsPlace {
    /// Relative to the workspace's root.
    Workspace(&'static str),
    /// Relative to the user's home folder.
    Home(&'static str),
    /// Relative to the program's own folder.
    Own {
        /// The variable that names the folder.
        variable: &'static str,
        /// The folder below the home folder that is used if the variable is not set.
        folder: &'static str,
        /// The path in that folder; empty for the folder itself.
        path: &'static str,
    },
}

/// Where a program looks for hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsSource {
    /// The file or the folder.
    pub place: SettingsPlace,
    /// What it contains.
    pub content: SourceContent,
    /// Where it applies.
    pub reach: SettingsReach,
}

/// What a settings source contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceContent {
    /// A file with hooks.
    Hooks,
    /// A folder in which every `.json` file contains hooks.
    HookFiles,
    /// A plugin.
    Plugin,
    /// A folder in which every `.js` and `.ts` file is a plugin.
    Plugins,
    /// A JSON file whose list `plugin` names plugins: by package, by folder or by file.
    PluginList,
}

/// The start folders for which settings apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsReach {
    /// Only for that folder: a program that is started further down does not read them.
    StartFolder,
    /// For the whole project.
    Project,
    /// For every project of the user.
    Everywhere,
}

/// How long a program waits for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// The requested timeout. A lookup may take five seconds, and so may a check.
    pub seconds: u64,
    /// Whether the program counts milliseconds.
    pub milliseconds: bool,
    /// Events for which the program allows less.
    pub shorter: &'static [(EventKind, u64)],
}

impl Timeout {
    /// Thirty seconds, for programs that count seconds.
    pub const SECONDS: Self = Self { seconds: 30, milliseconds: false, shorter: &[] };

    /// Thirty seconds, for programs that count milliseconds.
    pub const MILLISECONDS: Self = Self { milliseconds: true, ..Self::SECONDS };

    /// The timeout to write for an event, in the program's own unit.
    pub fn timeout_for(&self, kind: EventKind) -> u64 {
        let shorter = self.shorter.iter().find(|(known, _)| *known == kind);
        let seconds = shorter.map_or(self.seconds, |(_, seconds)| *seconds);
        if self.milliseconds { seconds.saturating_mul(1_000) } else { seconds }
    }

    /// Whether a configured timeout is too short for any answer because the unit was confused.
    pub fn has_wrong_unit(&self, written: u64) -> bool {
        self.milliseconds && written < 1_000
    }
}

/// What a program requires before it runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustRule {
    /// A person trusts each hook, and its digest is then in a TOML file; see [`hook_trust`](super::trust::hook_trust).
    Hooks {
        /// The TOML file.
        file: SettingsPlace,
        /// What a person has to do to trust a hook.
        remedy: &'static str,
    },
    /// A person trusts the folder; see [`folder_trust`](super::trust::folder_trust).
    Folders {
        /// The file that lists the folders.
        file: SettingsPlace,
        /// The variable that names a different file.
        variable: &'static str,
        /// The setting for whether trust is required.
        setting: &'static str,
        /// Whether trust is required if that setting is missing.
        default: bool,
        /// What a person has to do to trust a folder.
        remedy: &'static str,
    },
    /// A person trusts the folder, and trusted folders are in a list of a JSON file; see
    /// [`listed_trust`](super::trust::listed_trust). Trust is required only if the program itself is installed, and not just an
    /// editor that reads its hooks.
    FolderList {
        /// The JSON file.
        file: SettingsPlace,
        /// What a person has to do to trust a folder.
        remedy: &'static str,
    },
}

impl TrustRule {
    /// The file in which the program stores what it trusts.
    pub fn file(self) -> SettingsPlace {
        match self {
            Self::Hooks { file, .. } | Self::Folders { file, .. } | Self::FolderList { file, .. } => file,
        }
    }

    /// The variable that names a different file.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            Self::Folders { variable, .. } => Some(variable),
            Self::Hooks { .. } | Self::FolderList { .. } => None,
        }
    }
}

/// A call that must be denied, sent the way the program would send it.
#[derive(Debug, Clone, Copy)]
pub enum Canary {
    /// A payload for a command.
    Command {
        /// The payload that announces writing a file. The arguments are the workspace's root and the file.
        payload: fn(root: &str, file: &str) -> Value,
        /// The position of a denial in the answer, and its value.
        denial: (&'static str, &'static str),
        /// A shell command that must run confined; `None` if the program can only run the model's own command.
        shell: Option<ShellCanary>,
    },
    /// A JavaScript script that loads a plugin as the program does and prints `denied`, `allowed`, `failing` or, if the plugin is
    /// not installed yet, `absent`. Its arguments are the plugin as the program names it, the base folder of relative paths, and
    /// the workspace's root. With a shell command as an additional argument, it prints the arguments with which the program would
    /// run the tool, as JSON.
    Script(&'static str),
}

/// A shell command that must run confined, sent the way the program would send it.
#[derive(Debug, Clone, Copy)]
pub struct ShellCanary {
    /// The payload that announces running a command. The arguments are the workspace's root and the command.
    pub payload: fn(root: &str, command: &str) -> Value,
    /// The position in the answer of the command that is run instead; `None` if the program passes every command to another
    /// program ([`ShellPrefix`]).
    pub rewritten: Option<&'static str>,
}

impl AgentProgram {
    /// The entry for the list of an event; null for programs without a list of hooks.
    pub fn hook_entry(&self, command: &str, event: &str) -> Value {
        let Some(wiring) = &self.wiring else { return Value::Null };
        let kind = self.speech.as_ref().and_then(|speech| speech.event_of(event)).map_or(EventKind::Other, |(_, kind)| kind);
        let command = format!("{command} hook {}", self.name());
        let timeout = wiring.timeout.timeout_for(kind);
        match wiring.form {
            HooksFormat::Nested => {
                let hook = json!({"type": "command", "command": command, "timeout": timeout});
                let of_tools = matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
                match wiring.every.filter(|_| of_tools) {
                    Some(every) => json!({"matcher": every, "hooks": [hook]}),
                    None => json!({"hooks": [hook]}),
                }
            }
            HooksFormat::Flat => json!({"command": command, "timeout": timeout}),
            HooksFormat::Shells => {
                let command = format!("{command} --event {event}");
                json!({"type": "command", "bash": command, "powershell": command, "timeoutSec": timeout})
            }
            HooksFormat::Plugin(_) => Value::Null,
        }
    }

    /// The commands in an entry of an event's list.
    pub fn hook_commands<'a>(&self, entry: &'a Value) -> Vec<&'a str> {
        let text = |entry: &'a Value, name: &str| entry.get(name).and_then(Value::as_str);
        match self.wiring.as_ref().map(|wiring| wiring.form) {
            Some(HooksFormat::Nested) => {
                let hooks = entry.get("hooks").and_then(Value::as_array);
                hooks.into_iter().flatten().filter_map(|hook| text(hook, "command")).collect()
            }
            Some(HooksFormat::Flat) => text(entry, "command").into_iter().collect(),
            Some(HooksFormat::Shells) => ["bash", "powershell"].into_iter().filter_map(|name| text(entry, name)).collect(),
            Some(HooksFormat::Plugin(_)) | None => Vec::new(),
        }
    }

    /// Whether a command is Tollgate's hook for this program.
    pub fn is_our_command(&self, command: &str) -> bool {
        let hook = format!(" hook {}", self.name());
        let behind = command.find(&hook).and_then(|at| command.get(at + hook.len()..));
        command.contains("tollgate") && behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    }

    /// Whether a plugin in a list of plugins is Tollgate's: the package by name, its folder, or one of its files.
    pub fn is_our_plugin(&self, named: &str) -> bool {
        let mut names = named.split(['/', '\\']);
        let last = named.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_package = |name: &str| name == "tollgate" || name.starts_with("tollgate@");
        names.any(is_package) || last.starts_with("tollgate.") || last == "opencode.bundle.js"
    }

    /// Whether a plugin file is Tollgate's, judging by its name or by the module that it imports from the package.
    pub fn is_our_plugin_file(&self, path: &str, text: &str) -> bool {
        let module = match self.wiring.as_ref().map(|wiring| wiring.form) {
            Some(HooksFormat::Plugin(plugin)) => plugin.split('\'').nth(1).unwrap_or_default(),
            _ => return false,
        };
        let last = path.rsplit(['/', '\\']).next().unwrap_or_default();
        last.starts_with("tollgate.") || text.contains(module)
    }

    /// Whether an entry in an event's list is Tollgate's.
    pub fn is_our_entry(&self, entry: &Value) -> bool {
        self.hook_commands(entry).iter().any(|command| self.is_our_command(command))
    }

    /// The tools that may change something, which a matcher must not leave out.
    pub fn changing_tools(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().filter(|tool| tool.act.changes()).flat_map(|tool| tool.names).copied()
    }
}
