//! How each host is wired to the gate: where its settings stand, and what goes into them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::place::Folders;

/// How a host writes its hooks down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `hooks.EVENT[] = {matcher, hooks: [{type, command, timeout}]}`
    Nested,
    /// `hooks.EVENT[] = {command, timeout}`
    Flat,
    /// `hooks.EVENT[] = {type, bash, powershell, timeoutSec}`
    Shells,
    /// A file of JavaScript.
    Plugin,
}

/// Where a file stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    Workspace(&'static str),
    Home(&'static str),
    /// Codex has a home of its own.
    CodexHome(&'static str),
}

/// A host's wiring.
pub(super) struct Wiring {
    /// As `tollgate hook` calls it.
    pub(super) host: &'static str,
    /// As people call it.
    pub(super) title: &'static str,
    /// What shows that it is in use.
    pub(super) signs: &'static [At],
    pub(super) programs: &'static [&'static str],
    pub(super) form: Form,
    /// The file that `tollgate init` writes, and others that the host reads too.
    pub(super) settings: &'static [At],
    /// Its events; the first is the one before a tool. Of those with `true` only some tools may be meant.
    pub(super) events: &'static [(&'static str, bool)],
    /// What means every tool.
    pub(super) every: Option<&'static str>,
    /// How long it waits for us, in its own unit. Looking things up may take five seconds, a check as long.
    pub(super) timeout: u64,
    /// Where its MCP servers are listed.
    pub(super) servers: Option<&'static str>,
    /// What else a person has to do.
    pub(super) note: Option<&'static str>,
    /// Its tools that change something.
    pub(super) changing: &'static [&'static str],
}

/// Every host that can be wired. Roo Code is archived and has no hooks.
pub(super) const WIRINGS: &[Wiring] = &[
    Wiring {
        host: "claude-code",
        title: "Claude Code",
        signs: &[At::Workspace(".claude"), At::Home(".claude")],
        programs: &["claude"],
        form: Form::Nested,
        settings: &[
            At::Workspace(".claude/settings.json"),
            At::Workspace(".claude/settings.local.json"),
            At::Home(".claude/settings.json"),
        ],
        events: &[
            ("PreToolUse", true),
            ("PostToolUse", true),
            ("PostToolUseFailure", true),
            ("SessionStart", false),
            ("UserPromptSubmit", false),
            ("SubagentStart", false),
            ("Stop", false),
            ("SessionEnd", false),
        ],
        every: Some("*"),
        timeout: 30,
        servers: Some(".mcp.json"),
        note: None,
        changing: &["Write", "Edit", "MultiEdit", "NotebookEdit", "Bash"],
    },
    Wiring {
        host: "codex",
        title: "Codex",
        signs: &[At::Workspace(".codex"), At::CodexHome("")],
        programs: &["codex"],
        form: Form::Nested,
        settings: &[At::CodexHome("hooks.json"), At::Workspace(".codex/hooks.json")],
        events: &[
            ("PreToolUse", true),
            ("PostToolUse", true),
            ("SessionStart", false),
            ("UserPromptSubmit", false),
            ("Stop", false),
            ("SessionEnd", false),
        ],
        every: None,
        timeout: 30,
        servers: None,
        note: Some(
            "Codex runs hooks only once you trust them: open `/hooks` in Codex and trust those of Tollgate; \
             for its tools, run `codex mcp add tollgate -- tollgate mcp-serve`",
        ),
        changing: &["apply_patch", "Bash"],
    },
    Wiring {
        host: "gemini",
        title: "Gemini CLI",
        signs: &[At::Workspace(".gemini"), At::Home(".gemini")],
        programs: &["gemini"],
        form: Form::Nested,
        settings: &[At::Workspace(".gemini/settings.json"), At::Home(".gemini/settings.json")],
        events: &[
            ("BeforeTool", true),
            ("AfterTool", true),
            ("SessionStart", false),
            ("BeforeAgent", false),
            ("AfterAgent", false),
            ("SessionEnd", false),
        ],
        every: Some(".*"),
        // Milliseconds, unlike the others.
        timeout: 30_000,
        servers: Some(".gemini/settings.json"),
        note: None,
        changing: &["write_file", "replace", "run_shell_command"],
    },
    Wiring {
        host: "cursor",
        title: "Cursor",
        signs: &[At::Workspace(".cursor"), At::Home(".cursor")],
        programs: &["cursor", "cursor-agent"],
        form: Form::Flat,
        settings: &[At::Workspace(".cursor/hooks.json"), At::Home(".cursor/hooks.json")],
        // One name that a version of Cursor does not know makes it refuse the whole file, so only what is needed.
        events: &[("preToolUse", true), ("postToolUse", true), ("sessionStart", false), ("sessionEnd", false)],
        every: None,
        timeout: 30,
        servers: Some(".cursor/mcp.json"),
        note: None,
        changing: &["Write", "Edit", "Shell", "Delete"],
    },
    Wiring {
        host: "copilot",
        title: "Copilot",
        signs: &[At::Workspace(".github/hooks"), At::Workspace(".github/copilot-instructions.md"), At::Home(".copilot")],
        programs: &["copilot"],
        form: Form::Shells,
        settings: &[At::Workspace(".github/hooks/tollgate.json")],
        events: &[
            ("preToolUse", true),
            ("postToolUse", true),
            ("sessionStart", false),
            ("userPromptSubmitted", false),
            ("sessionEnd", false),
        ],
        every: None,
        timeout: 30,
        servers: None,
        note: Some("for Tollgate's tools in Copilot, add the MCP server `tollgate mcp-serve` with `/mcp add`"),
        changing: &["edit", "create", "bash"],
    },
    Wiring {
        host: "opencode",
        title: "OpenCode",
        signs: &[
            At::Workspace(".opencode"),
            At::Workspace("opencode.json"),
            At::Workspace("opencode.jsonc"),
            At::Home(".config/opencode"),
        ],
        programs: &["opencode"],
        form: Form::Plugin,
        settings: &[At::Workspace(".opencode/plugin/tollgate.js")],
        events: &[("tool.execute.before", false)],
        every: None,
        timeout: 0,
        servers: None,
        note: Some("OpenCode finds the plugin in the npm package `tollgate`: run `npm install --prefix .opencode tollgate`"),
        changing: &["write", "edit", "apply_patch", "bash"],
    },
];

/// What the file of JavaScript says. Every export must be a plugin, so there is one.
pub(super) const PLUGIN: &str = "// Lets every tool call of OpenCode pass Tollgate. Made by `tollgate init`; `tollgate init --undo` takes it away.\n\
                                 export { default } from 'tollgate/opencode';\n";

impl Wiring {
    /// The hosts that are in use here, by their folders or their programs.
    pub(super) fn is_in_use(&self, folders: &Folders) -> bool {
        self.signs.iter().filter_map(|sign| sign.path(folders)).any(|path| path.exists())
            || self.programs.iter().any(|program| on_path(program).is_some())
    }

    /// What goes into the list of an event.
    pub(super) fn entry(&self, program: &str, event: &str, of_tools: bool) -> Value {
        let command = format!("{program} hook {}", self.host);
        match self.form {
            Form::Nested => {
                let hook = json!({"type": "command", "command": command, "timeout": self.timeout});
                match self.every.filter(|_| of_tools) {
                    Some(every) => json!({"matcher": every, "hooks": [hook]}),
                    None => json!({"hooks": [hook]}),
                }
            }
            Form::Flat => json!({"command": command, "timeout": self.timeout}),
            Form::Shells | Form::Plugin => {
                let command = format!("{command} --event {event}");
                json!({"type": "command", "bash": command, "powershell": command, "timeoutSec": self.timeout})
            }
        }
    }

    /// Whether an entry of an event's list is ours.
    pub(super) fn is_ours(&self, entry: &Value) -> bool {
        self.commands(entry).iter().any(|command| self.is_our_command(command))
    }

    /// The commands of an entry.
    pub(super) fn commands<'a>(&self, entry: &'a Value) -> Vec<&'a str> {
        let text = |entry: &'a Value, name: &str| entry.get(name).and_then(Value::as_str);
        match self.form {
            Form::Nested => {
                let hooks = entry.get("hooks").and_then(Value::as_array);
                hooks.into_iter().flatten().filter_map(|hook| text(hook, "command")).collect()
            }
            Form::Flat => text(entry, "command").into_iter().collect(),
            Form::Shells => text(entry, if cfg!(windows) { "powershell" } else { "bash" }).into_iter().collect(),
            Form::Plugin => Vec::new(),
        }
    }

    pub(super) fn is_our_command(&self, command: &str) -> bool {
        command.contains("tollgate") && command.contains(&format!(" hook {}", self.host))
    }
}

impl At {
    /// The path; none where there is no home.
    pub(super) fn path(self, folders: &Folders) -> Option<PathBuf> {
        match self {
            Self::Workspace(path) => Some(folders.root.join(path)),
            Self::Home(path) => Some(folders.home.as_ref()?.join(path)),
            Self::CodexHome(path) => {
                let own = std::env::var_os("CODEX_HOME").filter(|own| !own.is_empty() && folders.home_named.is_none());
                let home = own.map(PathBuf::from).or_else(|| Some(folders.home.as_ref()?.join(".codex")))?;
                Some(if path.is_empty() { home } else { home.join(path) })
            }
        }
    }
}

/// The wiring of a host.
pub(super) fn of(host: &str) -> Option<&'static Wiring> {
    WIRINGS.iter().find(|wiring| wiring.host == host)
}

/// A program on the search path.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let names = if cfg!(windows) { vec![format!("{program}.exe"), format!("{program}.cmd")] } else { vec![program.to_owned()] };
    std::env::split_paths(&paths).find_map(|folder| names.iter().map(|name| folder.join(name)).find(|path| is_program(path)))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// A path as people read it: within the workspace from there, within the home folder from `~`.
pub(super) fn shown(path: &Path, folders: &Folders) -> String {
    if let Ok(within) = path.strip_prefix(&folders.root) {
        return within.display().to_string();
    }
    match folders.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(within) => format!("~/{}", within.display()),
        None => path.display().to_string(),
    }
}
