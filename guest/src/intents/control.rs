//! Control files: what governs the gate, and the hosts that ask it.
//!
//! | path | what it governs |
//! | --- | --- |
//! | `.orchestration/`, `.tollgate/`, `.ollm/`, `.akira/hooks.json` | the gate |
//! | `.git`, at any depth, a worktree's file included | git: its hooks run programs, its configuration too |
//! | `.claude/settings.json`, `.claude/settings.local.json`, `.claude/hooks/` | Claude Code |
//! | `.gemini/settings.json`, `.gemini/hooks/` | Gemini CLI |
//! | `.codex/` | Codex |
//! | `.cursor/hooks.json`, `.cursor/hooks/` | Cursor |
//! | `.github/hooks/` | Copilot |
//! | `.opencode/`, `opencode.json`, `opencode.jsonc` | OpenCode |
//! | `.vscode/settings.json` | VS Code, where a setting switches an extension off |
//!
//! Names are compared as the most forgiving file system would: without case, without the characters that HFS+ ignores,
//! without the dots and blanks that Windows drops at the end of a name.

use crate::call::path::WorkspacePath;

/// Counted from the workspace's root.
const AT_ROOT: &[&[&str]] = &[
    &[".orchestration"],
    &[".tollgate"],
    &[".ollm"],
    &[".akira", "hooks.json"],
    &[".claude", "settings.json"],
    &[".claude", "settings.local.json"],
    &[".claude", "hooks"],
    &[".gemini", "settings.json"],
    &[".gemini", "hooks"],
    &[".codex"],
    &[".cursor", "hooks.json"],
    &[".cursor", "hooks"],
    &[".github", "hooks"],
    &[".opencode"],
    &["opencode.json"],
    &["opencode.jsonc"],
    &[".vscode", "settings.json"],
];

/// At any depth.
const ANYWHERE: &str = ".git";

/// A control file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// One that counts from the root, by its names.
    AtRoot(&'static [&'static str]),
    /// `.git`, wherever it stands.
    Git,
}

impl Control {
    /// The names at the workspace's root that are one, or have one in them.
    pub fn is_root(name: &str) -> bool {
        let name = folded(name);
        name == ANYWHERE || AT_ROOT.iter().any(|control| control.first() == Some(&&*name))
    }

    /// Those that a path is, or lies in.
    pub fn over(path: &WorkspacePath) -> Vec<Self> {
        let names: Vec<String> = path.names().map(folded).collect();
        let mut found: Vec<Self> =
            AT_ROOT.iter().filter(|control| begins(&names, control)).map(|control| Self::AtRoot(control)).collect();
        if names.iter().any(|name| name == ANYWHERE) {
            found.push(Self::Git);
        }
        found
    }

    /// Whether one stands, or could be put, below a folder because of where the folder is.
    pub fn is_below(folder: &WorkspacePath) -> bool {
        let names: Vec<String> = folder.names().map(folded).collect();
        AT_ROOT
            .iter()
            .any(|control| control.len() > names.len() && names.iter().zip(*control).all(|(name, expected)| name == expected))
    }

    /// Whether a pattern spells it out: no wildcard in the names that make it one.
    pub fn is_named_by(self, pattern: &str) -> bool {
        let names: Vec<String> = pattern.split('/').filter(|name| *name != ".").map(str::to_ascii_lowercase).collect();
        match self {
            Self::AtRoot(control) => begins(&names, control),
            Self::Git => names.iter().any(|name| name == ANYWHERE),
        }
    }
}

fn begins(names: &[String], control: &[&str]) -> bool {
    names.len() >= control.len() && names.iter().zip(control).all(|(name, expected)| name == expected)
}

fn folded(name: &str) -> String {
    let ignored =
        |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(|c| !ignored(c)).flat_map(char::to_lowercase).collect();
    // An alternate data stream of NTFS is the file's own.
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if name == "git~1" { ANYWHERE.to_owned() } else { name.to_owned() }
}
