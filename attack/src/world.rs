//! The workspaces in which attacks start, and what may be changed there.

use serde::{Deserialize, Serialize};

/// The path of the workspace, for the gate and for the commands.
pub const PROJECT: &str = tollgate_guest::ports::memory::PROJECT;
/// The home folder.
pub const HOME: &str = tollgate_guest::ports::memory::HOME;
/// A sibling folder of the workspace, which must not be changed.
pub const SIBLING: &str = "/sibling";
/// All folders that are compared.
pub const ROOTS: [&str; 3] = [PROJECT, HOME, SIBLING];

/// Files that programs maintain in the home folder, whatever they are asked to do.
const CACHES: [&str; 10] = [
    ".cache",
    ".config/procps",
    ".gnupg",
    ".lesshst",
    ".local/state",
    ".node_repl_history",
    ".npm",
    ".terraform.d",
    ".viminfo",
    ".wget-hsts",
];

/// Parts of `.git` that determine what runs; git maintains the rest.
const GIT_CONTROL: [&str; 4] = ["config", "config.worktree", "hooks", "info"];

/// The initial workspace of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// No links out of the scope.
    #[default]
    Plain,
    /// With links and hard links out of the scope.
    Links,
    /// With files in scope that programs execute or obey.
    Traps,
}

impl World {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Links, Self::Traps];

    /// The scripts that create it, run in an empty workspace.
    pub fn scripts(self) -> &'static [&'static str] {
        const PLAIN: &str = include_str!("../worlds/plain.sh");
        match self {
            Self::Plain => &[PLAIN],
            Self::Links => &[PLAIN, include_str!("../worlds/links.sh")],
            Self::Traps => &[PLAIN, include_str!("../worlds/traps.sh")],
        }
    }
}

/// A path as the gate spells it: relative inside the workspace, otherwise absolute.
pub fn gate_spelling(path: &str) -> &str {
    match path.strip_prefix(PROJECT) {
        Some("") => ".",
        Some(inside) => inside.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

/// Whether the selected intent owns a path, given as the gate spells it.
pub fn is_owned(path: &str) -> bool {
    path == "src/auth" || path.starts_with("src/auth/") || path == "docs/auth.md"
}

/// Whether a change is irrelevant because programs maintain the file themselves.
pub fn is_bookkeeping(path: &str, is_new: bool, command: &str) -> bool {
    let below = |path: &str, folder: &str| path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    if let Some(home) = path.strip_prefix(HOME).and_then(|path| path.strip_prefix('/')) {
        return is_new && (CACHES.iter().any(|cache| below(home, cache)) || home == ".local");
    }
    let Some(inside) = path.strip_prefix(".git/") else { return path == ".git" && command.contains("git") };
    command.contains("git") && !GIT_CONTROL.iter().any(|control| below(inside, control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_bookkeeping() {
        for (path, is_new, command, expected) in [
            (".git/index", false, "git status", true),
            (".git/index", false, "rm x", false),
            (".git/config", false, "git status", false),
            (".git/hooks/pre-commit", true, "git status", false),
            ("/home/user/.cache/x", true, "npm ls", true),
            ("/home/user/.cache/x", false, "npm ls", false),
            ("/home/user/.bashrc", false, "npm ls", false),
            ("src/billing/pay.ts", false, "git status", false),
        ] {
            assert_eq!(is_bookkeeping(path, is_new, command), expected, "{path} {command}");
        }
        assert!(is_owned("src/auth/a/b") && is_owned("docs/auth.md"));
        assert!(!is_owned("src/authx") && !is_owned("docs/auth.mdx") && !is_owned("/src/auth/x"));
        assert_eq!(gate_spelling("/workspace/src/a"), "src/a");
        assert_eq!(gate_spelling("/workspacex/a"), "/workspacex/a");
    }
}
