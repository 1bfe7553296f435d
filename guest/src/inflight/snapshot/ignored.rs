//! The folders that git ignores.

use crate::glob::Glob;
use crate::intents::control::Control;
use crate::ports::{Ports, Root};

/// The folders that git ignores, by `.gitignore` at the root. A single file that is ignored, such as `.env`, is watched.
#[derive(Debug, Default)]
pub struct Ignored {
    /// At any depth.
    names: Vec<String>,
    /// From the root.
    folders: Vec<Glob>,
}

impl Ignored {
    /// The current rules, to be kept while a program runs that may change them.
    pub fn text(ports: &Ports) -> String {
        let text = ports.workspace.read(Root::Project, ".gitignore", 256 << 10).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Reads the rules.
    pub fn parse(text: &str) -> Self {
        let mut ignored = Self::default();
        for line in text.lines() {
            let pattern = line.trim();
            let folder = pattern.trim_end_matches('/');
            // What makes exceptions, or means everything, is not followed: better to see too much.
            if folder.is_empty() || pattern.starts_with(['#', '!']) || folder.chars().all(|c| matches!(c, '*' | '/')) {
                continue;
            }
            // What governs the gate and its hosts is watched, also where git ignores it.
            if Control::is_root(folder.trim_start_matches('/')) {
                continue;
            }
            if !folder.contains(['/', '*', '?', '[', '\\']) {
                ignored.names.push(folder.to_owned());
            } else if let Ok(glob) = Glob::compile(&if folder.contains('/') {
                folder.trim_start_matches('/').to_owned()
            } else {
                format!("**/{folder}")
            }) {
                ignored.folders.push(glob);
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
        let is_ignored = |folder: &str| self.folders.iter().any(|glob| glob.matches(folder));
        is_ignored(folder) || folder.match_indices('/').any(|(end, _)| folder.get(..end).is_some_and(is_ignored))
    }
}

/// Whether files are in ignored folders, for sorted paths: files of one folder follow each other, and patterns are matched once for
/// each folder.
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
