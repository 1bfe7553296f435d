//! Control files: files that govern the gate, and the hosts that ask it.
//!
//! | path | of the workspace | of the user | what it governs |
//! | --- | --- | --- | --- |
//! | `.orchestration/`, `.akira/hooks.json` | yes | | the gate |
//! | `.tollgate/`, `.ollm/` | yes | yes | the gate |
//! | `.git`, at any depth, a worktree's file included | yes | | git: its hooks run programs, its configuration too |
//! | `.gitconfig`, `.config/git/` | | yes | the same |
//! | what each agent program's [record](crate::programs) lists as its controls | yes | yes | that program |
//! | `.vscode/settings.json`, `.vscode/mcp.json` | yes | | VS Code, in which a setting can disable an extension |
//! | `.config/Code/User/settings.json` and its counterparts on other systems | | yes | the same |
//!
//! The user's files count wherever the home folder is, see [`guarded`](super::guarded).
//!
//! Names are compared as the most lenient file system would: without case, without the characters that HFS+ ignores, without the
//! dots and blanks that Windows drops at the end of a name.

use crate::effects::path::WorkspacePath;
use crate::programs::PROGRAMS;
use crate::programs::wiring::SettingsPlace;

/// Whose a control file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ControlOwner {
    /// The workspace's, relative to its root.
    Workspaces,
    /// The user's, relative to the home folder.
    Users,
    /// Both.
    Both,
}

use ControlOwner::{Both, Users, Workspaces};

/// Control files that no agent program's record lists. Those of a workspace are in lower case, as they are compared.
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

fn root_paths() -> impl Iterator<Item = &'static str> {
    let own = CONTROLS.iter().filter(|(whose, _)| *whose != Users).map(|(_, path)| *path);
    own.chain(program_places().filter_map(|place| if let SettingsPlace::Workspace(path) = place { Some(path) } else { None }))
}

/// The paths of the user's control files, relative to the home folder.
pub(super) fn home_paths() -> impl Iterator<Item = &'static str> {
    let own = CONTROLS.iter().filter(|(whose, _)| *whose != Workspaces).map(|(_, path)| *path);
    own.chain(program_places().filter_map(|place| if let SettingsPlace::Home(path) = place { Some(path) } else { None }))
}

fn program_places() -> impl Iterator<Item = SettingsPlace> {
    PROGRAMS.iter().flat_map(|program| program.controls).copied()
}

/// A control file or folder at any depth.
const ANYWHERE: &str = ".git";

/// A control file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// A control file relative to the root, by its path.
    AtRoot(&'static str),
    /// `.git`, at any depth.
    Git,
}

impl Control {
    /// Whether a name at the workspace's root is that of a control file, or of a folder that contains one.
    pub fn is_root(name: &str) -> bool {
        let name = fold_name(name);
        name == ANYWHERE || root_paths().any(|control| control.split('/').next() == Some(&*name))
    }

    /// The control files that a path is, or is inside of.
    pub fn containing(path: &WorkspacePath) -> Vec<Self> {
        let names: Vec<String> = path.names().map(fold_name).collect();
        let mut found: Vec<Self> =
            root_paths().filter(|control| starts_with_control(&names, control)).map(Self::AtRoot).collect();
        if names.iter().any(|name| name == ANYWHERE) {
            found.push(Self::Git);
        }
        found
    }

    /// Whether a control file is, or could be put, below a folder because of where the folder is.
    pub fn has_any_below(folder: &WorkspacePath) -> bool {
        let names: Vec<String> = folder.names().map(fold_name).collect();
        root_paths().any(|control| {
            let mut expected = control.split('/');
            names.iter().all(|name| expected.next() == Some(name)) && expected.next().is_some()
        })
    }

    /// The paths of control files that are, or could be put, below a folder because of where the folder is.
    pub fn paths_below(folder: &WorkspacePath) -> Vec<String> {
        let names: Vec<String> = folder.names().map(fold_name).collect();
        let is_below = |control: &&str| {
            let mut expected = control.split('/');
            names.iter().all(|name| expected.next() == Some(name)) && expected.next().is_some()
        };
        let mut found: Vec<String> = root_paths().filter(is_below).map(str::to_owned).collect();
        if names.is_empty() {
            found.push(ANYWHERE.to_owned());
        }
        found
    }

    /// Whether a pattern names the control file literally: without a wildcard in the names that make it one.
    pub fn is_named_by(self, pattern: &str) -> bool {
        let names: Vec<String> = pattern.split('/').filter(|name| *name != ".").map(str::to_ascii_lowercase).collect();
        match self {
            Self::AtRoot(control) => starts_with_control(&names, control),
            Self::Git => names.iter().any(|name| name == ANYWHERE),
        }
    }
}

fn starts_with_control(names: &[String], control: &str) -> bool {
    let mut names = names.iter();
    control.split('/').all(|expected| names.next().is_some_and(|name| name == expected))
}

pub(super) fn fold_name(name: &str) -> String {
    let ignored =
        |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = match name.is_ascii() {
        true => name.to_ascii_lowercase(),
        false => name.chars().filter(|c| !ignored(c)).flat_map(char::to_lowercase).collect(),
    };
    // An alternate data stream of NTFS belongs to the file itself.
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if name == "git~1" { ANYWHERE.to_owned() } else { name.to_owned() }
}
