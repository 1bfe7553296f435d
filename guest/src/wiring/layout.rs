//! The folders of the workspace, the user and the programs.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::programs::wiring::SettingsPlace;

/// The folders that matter for wiring. Paths are absolute and real.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// The workspace's root.
    pub workspace: String,
    /// The folder in which a program would be started; the workspace's root unless a folder below it is named.
    pub start: String,
    /// The user's home folder, if there is one.
    pub home: Option<String>,
    /// Whether the home folder was given explicitly: then everything that belongs to the user is below it, whatever the variables
    /// say.
    pub home_is_named: bool,
    /// Those of the variables listed by [`super::files_to_read::variables`] that are set.
    pub variables: BTreeMap<String, String>,
    /// Whether this is Windows.
    pub windows: bool,
}

impl Layout {
    /// The same with `/` as the separator everywhere, and with a start folder that is within the workspace.
    pub fn normalized(mut self) -> Self {
        if self.windows {
            let texts = [&mut self.workspace, &mut self.start].into_iter().chain(&mut self.home);
            texts.chain(self.variables.values_mut()).for_each(|text| *text = text.replace('\\', "/"));
        }
        if !is_within(&self.start, &self.workspace) {
            self.start.clone_from(&self.workspace);
        }
        if self.home_is_named {
            self.variables.clear();
        }
        self.variables.retain(|_, value| !value.is_empty());
        self
    }

    /// Whether a program would be started below the workspace's root.
    pub fn starts_below(&self) -> bool {
        self.start != self.workspace
    }

    /// The path of a place; `None` if there is no home folder.
    pub fn path(&self, place: SettingsPlace) -> Option<String> {
        let home = self.home.as_deref();
        match place {
            SettingsPlace::Workspace(path) => Some(join(&self.workspace, path)),
            SettingsPlace::Home(path) => Some(join(home?, path)),
            SettingsPlace::Own { variable, folder, path } => match self.variables.get(variable) {
                Some(own) => Some(join(own, path)),
                None => Some(join(&join(home?, folder), path)),
            },
        }
    }

    /// A path for display: relative within the workspace, with `~` within the home folder.
    pub fn display(&self, path: &str) -> String {
        if let Some(within) = strip_folder(path, &self.workspace) {
            return within.to_owned();
        }
        match self.home.as_deref().and_then(|home| strip_folder(path, home)) {
            Some(within) => format!("~/{within}"),
            None => path.to_owned(),
        }
    }

    /// The folders above a file that wiring may have to create, the outermost first.
    pub fn folders_above<'a>(&self, path: &'a str) -> Vec<&'a str> {
        let mut folders = Vec::new();
        let mut rest = path;
        while let Some((above, _)) = rest.rsplit_once('/') {
            let holds_all = |folder: &str| is_within(folder, above);
            if above.is_empty() || holds_all(&self.workspace) || self.home.as_deref().is_some_and(holds_all) {
                break;
            }
            folders.push(above);
            rest = above;
        }
        folders.reverse();
        folders
    }
}

/// Joins a path to a folder; an empty path gives the folder itself.
pub fn join(folder: &str, path: &str) -> String {
    let folder = folder.trim_end_matches('/');
    if path.is_empty() { folder.to_owned() } else { format!("{folder}/{path}") }
}

/// The path relative to a folder that contains it; `None` if it is not below the folder.
pub fn strip_folder<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/').filter(|within| !within.is_empty())
}

/// Whether a path is the folder itself or is in it.
pub fn is_within(path: &str, folder: &str) -> bool {
    path == folder || strip_folder(path, folder).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let (workspace, start) = ("/home/u/w".to_owned(), "/elsewhere".to_owned());
        Layout { workspace, start, home: Some("/home/u".to_owned()), ..Layout::default() }.normalized()
    }

    #[test]
    fn places() {
        let own = SettingsPlace::Own { variable: "CODEX_HOME", folder: ".codex", path: "hooks.json" };
        let mut layout = layout();
        assert!(!layout.starts_below());
        assert_eq!(layout.path(SettingsPlace::Workspace(".a/b")).unwrap(), "/home/u/w/.a/b");
        assert_eq!(layout.path(own).unwrap(), "/home/u/.codex/hooks.json");
        layout.variables.insert("CODEX_HOME".to_owned(), "/x".to_owned());
        assert_eq!(layout.path(own).unwrap(), "/x/hooks.json");
        let named = Layout { home_is_named: true, ..layout.clone() }.normalized();
        assert_eq!(named.path(own).unwrap(), "/home/u/.codex/hooks.json");
        let homeless = Layout { home: None, ..layout };
        assert_eq!((homeless.path(SettingsPlace::Home("a")), homeless.path(own).unwrap()), (None, "/x/hooks.json".to_owned()));
    }

    #[test]
    fn paths_are_shown_from_where_people_count() {
        let layout = layout();
        for (path, shown) in [("/home/u/w/a", "a"), ("/home/u/b", "~/b"), ("/home/user", "/home/user"), ("/x", "/x")] {
            assert_eq!(layout.display(path), shown);
        }
    }

    #[test]
    fn folders_that_may_have_to_be_made() {
        let layout = layout();
        for (path, folders) in [
            ("/home/u/w/.a/b/c.json", vec!["/home/u/w/.a", "/home/u/w/.a/b"]),
            ("/home/u/w/c.json", vec![]),
            ("/home/u/.a/c.json", vec!["/home/u/.a"]),
            ("/x/y/c.json", vec!["/x", "/x/y"]),
        ] {
            assert_eq!(layout.folders_above(path), folders, "{path}");
        }
    }

    #[test]
    fn windows() {
        let layout = Layout { workspace: "C:\\w".to_owned(), start: "C:\\w\\a".to_owned(), windows: true, ..Layout::default() };
        let layout = layout.normalized();
        assert_eq!((layout.path(SettingsPlace::Workspace(".a/b")).unwrap().as_str(), layout.starts_below()), ("C:/w/.a/b", true));
    }
}
