//! Resolves the files in which a program looks for its hooks, and which of them apply where it is started.

use super::layout::{Layout, join};
use super::seen::{Seen, SeenContent};
use crate::programs::Wiring;
use crate::programs::wiring::{Holds, SettingsPlace, SettingsReach, SettingsSource};

/// A file or a folder in which a program looks for its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSource {
    /// The file or the folder.
    pub path: String,
    /// What is found there.
    pub holds: Holds,
    /// For which folders it counts.
    pub reach: SettingsReach,
    /// Whether it belongs to the workspace, and not to the user.
    pub of_workspace: bool,
    /// Whether the program reads it where it is started now.
    pub counts: bool,
}

/// Every source of a program, in the order in which its record names them.
pub fn sources(wiring: &Wiring, layout: &Layout) -> Vec<ResolvedSource> {
    let mut found: Vec<ResolvedSource> = Vec::new();
    for settings in wiring.settings {
        let source = |path: String, counts: bool| ResolvedSource {
            path,
            holds: settings.holds,
            reach: settings.reach,
            of_workspace: matches!(settings.place, SettingsPlace::Workspace(_)),
            counts,
        };
        let places = match settings {
            SettingsSource { place: SettingsPlace::Workspace(path), reach: SettingsReach::StartFolder, .. }
                if layout.starts_below() =>
            {
                vec![source(join(&layout.start, path), true), source(join(&layout.workspace, path), false)]
            }
            _ => layout.path(settings.place).map(|path| source(path, true)).into_iter().collect(),
        };
        // A home folder that is a workspace has the same file twice.
        let new = |source: &ResolvedSource| !found.iter().any(|known| known.path == source.path);
        let places: Vec<ResolvedSource> = places.into_iter().filter(new).collect();
        found.extend(places);
    }
    found
}

impl Holds {
    /// The endings of the files that count in a folder; `None` if it is a file.
    pub fn endings(self) -> Option<&'static [&'static str]> {
        match self {
            Self::HookFiles => Some(&[".json"]),
            Self::Plugins => Some(&[".js", ".ts"]),
            Self::Hooks | Self::Plugin | Self::PluginList => None,
        }
    }

    /// The file that is written into such a folder, or the file itself.
    pub fn written(self, path: &str) -> Option<String> {
        match self {
            Self::Hooks | Self::Plugin => Some(path.to_owned()),
            Self::HookFiles => Some(join(path, "tollgate.json")),
            Self::Plugins => Some(join(path, "tollgate.js")),
            Self::PluginList => None,
        }
    }
}

impl ResolvedSource {
    /// The files of it that were seen.
    pub fn files<'a>(&'a self, seen: &'a Seen) -> Vec<(&'a str, SeenContent<'a>)> {
        match self.holds.endings() {
            Some(endings) => seen.files_in(&self.path, endings),
            None => vec![(&self.path, seen.file(&self.path))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::named;

    #[test]
    fn settings_of_a_start_folder_count_only_there() {
        let layout = |start: &str| {
            let (workspace, home) = ("/w".to_owned(), Some("/h".to_owned()));
            Layout { workspace, home, start: start.to_owned(), ..Layout::default() }.normalized()
        };
        let listed = |name: &str, start: &str| {
            let found = sources(named(name).unwrap().wiring.as_ref().unwrap(), &layout(start));
            found.into_iter().map(|source| (source.path, source.counts)).collect::<Vec<_>>()
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
