//! Resolves the files in which a program looks for its hooks, and determines which of them apply where it is started.

use super::files_read::{Seen, SeenContent};
use super::layout::{Layout, join};
use crate::programs::Wiring;
use crate::programs::wiring::{SettingsPlace, SettingsReach, SettingsSource, SourceContent};

/// A file or a folder in which a program looks for its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSource {
    /// The file or the folder.
    pub path: String,
    /// What it contains.
    pub content: SourceContent,
    /// The folders for which it applies.
    pub reach: SettingsReach,
    /// Whether it belongs to the workspace rather than to the user.
    pub of_workspace: bool,
    /// Whether the program reads it when it is started in the given folder.
    pub applies: bool,
}

/// All sources of a program, in the order of its record.
pub fn sources(wiring: &Wiring, layout: &Layout) -> Vec<ResolvedSource> {
    let mut found: Vec<ResolvedSource> = Vec::new();
    for settings in wiring.settings {
        let source = |path: String, counts: bool| ResolvedSource {
            path,
            content: settings.content,
            reach: settings.reach,
            of_workspace: matches!(settings.place, SettingsPlace::Workspace(_)),
            applies: counts,
        };
        let places = match settings {
            SettingsSource { place: SettingsPlace::Workspace(path), reach: SettingsReach::StartFolder, .. }
                if layout.starts_below() =>
            {
                vec![source(join(&layout.start, path), true), source(join(&layout.workspace, path), false)]
            }
            _ => layout.path(settings.place).map(|path| source(path, true)).into_iter().collect(),
        };
        // If the home folder is a workspace, the same file comes up twice.
        let new = |source: &ResolvedSource| !found.iter().any(|known| known.path == source.path);
        let places: Vec<ResolvedSource> = places.into_iter().filter(new).collect();
        found.extend(places);
    }
    found
}

impl SourceContent {
    /// The endings of the files that are read in a folder; `None` for a file.
    pub fn endings(self) -> Option<&'static [&'static str]> {
        match self {
            Self::HookFiles => Some(&[".json"]),
            Self::Plugins => Some(&[".js", ".ts"]),
            Self::Hooks | Self::Plugin | Self::PluginList => None,
        }
    }

    /// The path of the file that Tollgate writes: the file itself, or a file in the folder.
    pub fn file_to_write(self, path: &str) -> Option<String> {
        match self {
            Self::Hooks | Self::Plugin => Some(path.to_owned()),
            Self::HookFiles => Some(join(path, "tollgate.json")),
            Self::Plugins => Some(join(path, "tollgate.js")),
            Self::PluginList => None,
        }
    }
}

impl ResolvedSource {
    /// The files of this source that were seen.
    pub fn files<'a>(&'a self, seen: &'a Seen) -> Vec<(&'a str, SeenContent<'a>)> {
        match self.content.endings() {
            Some(endings) => seen.files_in(&self.path, endings),
            None => vec![(&self.path, seen.file(&self.path))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs;

    #[test]
    fn settings_of_a_start_folder_count_only_there() {
        let layout = |start: &str| {
            let (workspace, home) = ("/w".to_owned(), Some("/h".to_owned()));
            Layout { workspace, home, start: start.to_owned(), ..Layout::default() }.normalized()
        };
        let listed = |name: &str, start: &str| {
            let found = sources(programs::find(name).unwrap().wiring.as_ref().unwrap(), &layout(start));
            found.into_iter().map(|source| (source.path, source.applies)).collect::<Vec<_>>()
        };
        let owned = |list: &[(&str, bool)]| list.iter().map(|(path, counts)| ((*path).to_owned(), *counts)).collect::<Vec<_>>();
        assert_eq!(listed("gemini", "/w"), owned(&[("/w/.gemini/settings.json", true), ("/h/.gemini/settings.json", true)]));
        assert_eq!(
            listed("gemini", "/w/sub"),
            owned(&[
                ("/w/sub/.gemini/settings.json", true),
                ("/w/.gemini/settings.json", false),
                ("/h/.gemini/settings.json", true)
            ])
        );
        assert_eq!(listed("cursor", "/w/sub"), owned(&[("/w/.cursor/hooks.json", true), ("/h/.cursor/hooks.json", true)]));
    }
}
