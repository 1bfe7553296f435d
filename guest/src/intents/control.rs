//! Control files: what governs the gate, and the hosts that ask it.
//!
//! | path | of the workspace | of the user | what it governs |
//! | --- | --- | --- | --- |
//! | `.orchestration/`, `.akira/hooks.json` | yes | | the gate |
//! | `.tollgate/`, `.ollm/` | yes | yes | the gate |
//! | `.git`, at any depth, a worktree's file included | yes | | git: its hooks run programs, its configuration too |
//! | `.gitconfig`, `.config/git/` | | yes | the same |
//! | what each agent program's [record](crate::programs) lists as its controls | yes | yes | that program |
//! | `.vscode/settings.json`, `.vscode/mcp.json` | yes | | VS Code, where a setting switches an extension off |
//! | `.config/Code/User/settings.json` and its counterparts on other systems | | yes | the same |
//!
//! What is the user's counts wherever the home folder is, see [`guarded`](super::guarded).
//!
//! Names are compared as the most forgiving file system would: without case, without the characters that HFS+ ignores,
//! without the dots and blanks that Windows drops at the end of a name.

use crate::effects::path::WorkspacePath;
use crate::programs::PROGRAMS;
use crate::programs::wiring::SettingsPlace;

/// Whose a control file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlOwner {
    /// Counted from the workspace's root.
    Workspaces,
    /// Counted from the home folder.
    Users,
    /// Both.
    Both,
}

use ControlOwner::{Both, Users, Workspaces};

/// What no agent program's record lists. Those of a workspace are in lower case, as they are compared.
const CONTROLS: &[(ControlOwner, &str)] = &[
    (Workspaces, ".orchestration"),
    (Both, ".tollgate"),
    (Both, ".ollm"),
    (Workspaces, ".akira/hooks.json"),
    (Users, ".gitconfig"),
    (Users, ".config/git"),
    (Workspaces, ".vscode/settings.json"),
    (Workspaces, ".vscode/mcp.json"),
    (Users, ".config/Code/User/settings.json"),
    (Users, "Library/Application Support/Code/User/settings.json"),
    (Users, "AppData/Roaming/Code/User/settings.json"),
];

fn at_root() -> impl Iterator<Item = &'static str> {
    let own = CONTROLS.iter().filter(|(whose, _)| *whose != Users).map(|(_, path)| *path);
    own.chain(of_programs().filter_map(|place| if let SettingsPlace::Workspace(path) = place { Some(path) } else { None }))
}

/// Those that are counted from the home folder, by their paths.
pub(super) fn at_home() -> impl Iterator<Item = &'static str> {
    let own = CONTROLS.iter().filter(|(whose, _)| *whose != Workspaces).map(|(_, path)| *path);
    own.chain(of_programs().filter_map(|place| if let SettingsPlace::Home(path) = place { Some(path) } else { None }))
}

fn of_programs() -> impl Iterator<Item = SettingsPlace> {
    PROGRAMS.iter().flat_map(|program| program.controls).copied()
}

/// At any depth.
const ANYWHERE: &str = ".git";

/// A control file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// One that counts from the root, by its path.
    AtRoot(&'static str),
    /// `.git`, wherever it stands.
    Git,
}

impl Control {
    /// The names at the workspace's root that are one, or have one in them.
    pub fn is_root(name: &str) -> bool {
        let name = folded(name);
        name == ANYWHERE || at_root().any(|control| control.split('/').next() == Some(&*name))
    }

    /// Those that a path is, or lies in.
    pub fn over(path: &WorkspacePath) -> Vec<Self> {
        let names: Vec<String> = path.names().map(folded).collect();
        let mut found: Vec<Self> = at_root().filter(|control| begins(&names, control)).map(Self::AtRoot).collect();
        if names.iter().any(|name| name == ANYWHERE) {
            found.push(Self::Git);
        }
        found
    }

    /// Whether one stands, or could be put, below a folder because of where the folder is.
    pub fn is_below(folder: &WorkspacePath) -> bool {
        let names: Vec<String> = folder.names().map(folded).collect();
        at_root().any(|control| {
            let mut expected = control.split('/');
            names.iter().all(|name| expected.next() == Some(name)) && expected.next().is_some()
        })
    }

    /// The paths of those that stand, or could be put, below a folder because of where the folder is.
    pub fn below(folder: &WorkspacePath) -> Vec<String> {
        let names: Vec<String> = folder.names().map(folded).collect();
        let is_below = |control: &&str| {
            let mut expected = control.split('/');
            names.iter().all(|name| expected.next() == Some(name)) && expected.next().is_some()
        };
        let mut found: Vec<String> = at_root().filter(is_below).map(str::to_owned).collect();
        if names.is_empty() {
            found.push(ANYWHERE.to_owned());
        }
        found
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

fn begins(names: &[String], control: &str) -> bool {
    let mut names = names.iter();
    control.split('/').all(|expected| names.next().is_some_and(|name| name == expected))
}

pub(super) fn folded(name: &str) -> String {
    let ignored =
        |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = match name.is_ascii() {
        true => name.to_ascii_lowercase(),
        false => name.chars().filter(|c| !ignored(c)).flat_map(char::to_lowercase).collect(),
    };
    // An alternate data stream of NTFS is the file's own.
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if name == "git~1" { ANYWHERE.to_owned() } else { name.to_owned() }
}
