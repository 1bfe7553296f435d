//! The folders that git ignores.

use crate::glob::Glob;
use crate::intents::control::Control;
use crate::ports::{Ports, Root};

/// The folders that git ignores, by `.gitignore` at the root. A single file that is ignored, such as `.env`, is watched.
#[derive(Debug, Default)]
pub struct Ignored {
    /// Names of folders that are ignored at any depth.
    names: Vec<String>,
    /// Patterns of folders, from the root.
    folders: Vec<Glob>,
    /// Folders that are not ignored after all (`!`), from the root.
    exceptions: Vec<Glob>,
}

impl Ignored {
    /// The current rules, to be kept while a program runs that may change them.
    pub fn text(ports: &Ports) -> String {
        let text = ports.workspace.read(Root::Project, ".gitignore", 256 << 10).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Parses the rules.
    pub fn parse(text: &str) -> Self {
        let mut ignored = Self::default();
        let exceptions = || text.lines().filter_map(|line| line.trim().strip_prefix('!')).map(|line| line.trim_end_matches('/'));
        // An exception applies wherever it is in the file: better to see too much.
        ignored.exceptions = exceptions().filter_map(from_root).collect();
        // Only the last part of an exception names the folder: git does not look for exceptions within an ignored folder.
        let last_parts = exceptions().filter_map(|folder| folder.rsplit('/').next());
        let excepted: Vec<Glob> = last_parts.filter_map(|part| Glob::compile(part).ok()).collect();
        let may_be_excepted = |name: &str| excepted.iter().any(|part| part.matches(name));
        for line in text.lines() {
            let pattern = line.trim();
            let folder = pattern.trim_end_matches('/');
            // A pattern that matches everything is not followed.
            if folder.is_empty() || pattern.starts_with(['#', '!']) || folder.chars().all(|c| matches!(c, '*' | '/')) {
                continue;
            }
            // Folders that govern the gate and its hosts are watched, even if git ignores them.
            if Control::is_root(folder.trim_start_matches('/')) {
                continue;
            }
            if !folder.contains('/') && !folder.contains(WILDCARDS) && !may_be_excepted(folder) {
                ignored.names.push(folder.to_owned());
            } else {
                ignored.folders.extend(from_root(folder));
            }
        }
        ignored
    }

    /// Names of folders that are ignored at any depth.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }

    /// Whether a folder, or one above it, is ignored by a pattern.
    fn covers(&self, folder: &str) -> bool {
        if self.folders.is_empty() || folder.split('/').next().is_some_and(Control::is_root) {
            return false;
        }
        let is_one_of = |folder: &str, globs: &[Glob]| globs.iter().any(|glob| glob.matches(folder));
        let is_ignored = |folder: &str| is_one_of(folder, &self.folders) && !is_one_of(folder, &self.exceptions);
        is_ignored(folder) || folder.match_indices('/').any(|(end, _)| folder.get(..end).is_some_and(is_ignored))
    }
}

/// Characters that make a pattern more than a name.
const WILDCARDS: [char; 4] = ['*', '?', '[', '\\'];

/// Converts a pattern of `.gitignore` to one from the root; `None` if it cannot be compiled.
fn from_root(folder: &str) -> Option<Glob> {
    let pattern = if folder.contains('/') { folder.trim_start_matches('/').to_owned() } else { format!("**/{folder}") };
    Glob::compile(&pattern).ok()
}

/// Tells whether files are in ignored folders, for sorted paths: the files of one folder follow each other, and patterns are
/// matched once for each folder.
pub(super) struct SortedIgnored<'i> {
    ignored: &'i Ignored,
    folder: String,
    is_covered: bool,
}

impl<'i> SortedIgnored<'i> {
    pub(super) fn new(ignored: &'i Ignored) -> Self {
        Self { ignored, folder: String::new(), is_covered: false }
    }

    /// Whether a folder above the path is ignored.
    pub(super) fn covers(&mut self, path: &str) -> bool {
        let Some((folder, _)) = path.rsplit_once('/') else { return false };
        if folder != self.folder {
            folder.clone_into(&mut self.folder);
            self.is_covered = self.ignored.covers(folder);
        }
        self.is_covered
    }
}
