//! Files of the user that govern the gate and its hosts, wherever they are: `~/.tollgate/`, the settings of agents for all
//! workspaces, and the gate's state.
//!
//! The home folder is usually outside the workspace. It may also be inside it, or be it, and its files may be links into it, as
//! with a repository of settings. So these places are known by where they really are, and by where they are looked for.

use super::control::{self, fold_name};
use crate::effects::Extent;
use crate::effects::path::Location;
use crate::ports::{Facts, Ports, Question, Root};
use crate::state;

/// The places, as they were last looked up.
#[derive(Debug, Default)]
pub struct GuardedFiles {
    places: Vec<Place>,
    /// The home folder's stamp at that time; it changes when a name in the folder is added or removed.
    stamp: Option<u64>,
}

/// A place: a file, or a folder with everything in it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    inside: bool,
    path: String,
    names: Vec<String>,
    /// Whether an intent that names it may own it.
    may_be_owned: bool,
}

impl Place {
    fn of(location: &Location, may_be_owned: bool) -> Self {
        Self { inside: is_inside(location), path: location.as_str().to_owned(), names: names(location.as_str()), may_be_owned }
    }
}

/// What to ask the host before [`GuardedFiles::refresh`].
pub fn question() -> Question {
    at_home(".")
}

impl GuardedFiles {
    /// Checks whether the places may have moved, and if so, looks them up.
    pub fn look_up(&mut self, ports: &Ports) {
        if let Some(home) = ports.workspace.inspect(&[question()]).first() {
            self.refresh(home, ports);
        }
    }

    /// Looks the paths up again if they may have moved, given what the host saw of [`question`].
    pub fn refresh(&mut self, home: &Facts, ports: &Ports) {
        if self.stamp == Some(home.stamp) {
            return;
        }
        self.stamp = Some(home.stamp);
        self.places.clear();
        let wanted: Vec<String> = control::home_paths().map(str::to_owned).collect();
        let questions = std::iter::once(state::question(".")).chain(wanted.iter().map(|path| at_home(path)));
        let mut looks = ports.workspace.inspect(&questions.collect::<Vec<_>>()).into_iter();
        if let Some(state) = looks.next().and_then(|state| state.real_path) {
            // The state of other workspaces is beside it.
            let all = state.rsplit_once('/').map_or(state.as_str(), |(all, _)| all);
            self.add(Place::of(&Location::from_host(if all.is_empty() { &state } else { all }), false));
        }
        let Some(home) = home.real_path.as_deref() else { return };
        for (path, look) in wanted.iter().zip(looks) {
            let expected = match home {
                "." => path.clone(),
                home => format!("{}/{path}", home.trim_end_matches('/')),
            };
            // Usually all three are the same.
            let mut places: Vec<String> = [Some(expected), look.entry_path, look.real_path].into_iter().flatten().collect();
            places.dedup();
            for resolve_paths in places {
                self.add(Place::of(&Location::from_host(&resolve_paths), true));
            }
        }
    }

    fn add(&mut self, place: Place) {
        if !self.places.iter().any(|known| known.path == place.path && *known == place) {
            self.places.push(place);
        }
    }

    /// Whether one of these places is inside a folder, wherever the folder is.
    pub fn has_guarded_below(&self, folder: &Location) -> bool {
        self.places_below(folder).next().is_some()
    }

    /// The paths of the places that are inside a folder.
    pub fn paths_below(&self, folder: &Location) -> Vec<String> {
        self.places_below(folder).map(|place| place.path.clone()).collect()
    }

    fn places_below(&self, folder: &Location) -> impl Iterator<Item = &Place> {
        let (inside, names) = (is_inside(folder), names(folder.as_str()));
        self.places.iter().filter(move |place| place.inside == inside && place.names.starts_with(&names))
    }

    /// Whether a path, to the extent of an effect, is one of these places, is inside one or, in the workspace, contains one, and
    /// no pattern of an intent names it.
    pub fn covers<'a>(&self, location: &Location, extent: Extent, mut patterns: impl Iterator<Item = &'a str>) -> bool {
        let (inside, names) = (is_inside(location), names(location.as_str()));
        let found = self.places.iter().filter(|place| {
            let is_in = names.starts_with(&place.names);
            // A folder that is made is empty, and a folder whose files are listed is judged by them.
            let has = inside && matches!(extent, Extent::Itself | Extent::Tree) && place.names.starts_with(&names);
            place.inside == inside && (is_in || has)
        });
        let found: Vec<&Place> = found.collect();
        if found.is_empty() {
            return false;
        }
        let owned = |pattern: &str| {
            let spelled: Vec<String> = pattern.split('/').filter(|name| *name != ".").map(str::to_ascii_lowercase).collect();
            found.iter().all(|place| place.may_be_owned && place.inside && spelled.starts_with(&place.names))
        };
        !patterns.any(owned)
    }
}

fn at_home(path: &str) -> Question {
    Question { root: Root::Home, path: path.to_owned(), digest: false }
}

fn is_inside(location: &Location) -> bool {
    matches!(location, Location::Inside(_))
}

fn names(path: &str) -> Vec<String> {
    path.split('/').filter(|name| !matches!(*name, "" | ".")).map(fold_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{HOME, Memory, STATE};

    fn guarded(world: &std::rc::Rc<Memory>) -> GuardedFiles {
        let ports = world.ports();
        let mut guarded = GuardedFiles::default();
        guarded.look_up(&ports);
        guarded
    }

    #[test]
    fn what_is_the_users_own() {
        let world = Memory::new();
        world.symlink(&format!("{HOME}/.codex"), "codex");
        world.write("dotfiles/claude/settings.json", "{}");
        world.symlink("/workspace/dotfiles/claude", &format!("{HOME}/.claude"));
        let guarded = guarded(&world);
        for (path, extent, covered) in [
            (format!("{HOME}/.tollgate/hooks.json"), Extent::Itself, true),
            (format!("{HOME}/.Tollgate/hooks.json"), Extent::Itself, true),
            (format!("{HOME}/.tollgate"), Extent::Folder, true),
            // Nothing outside the workspace belongs to an intent, so it does not matter what is in it.
            (HOME.to_owned(), Extent::Tree, false),
            (format!("{HOME}/.claude/settings.json"), Extent::Itself, true),
            (format!("{HOME}/.claude/notes.md"), Extent::Itself, false),
            (format!("{HOME}/.gitconfig"), Extent::Itself, true),
            (format!("{HOME}/work/a"), Extent::Itself, false),
            (format!("{HOME}/.tollgate-other/a"), Extent::Itself, false),
            (format!("{STATE}/sessions/x"), Extent::Itself, true),
            (format!("{STATE}/../other/sessions/x").replace("workspace/../", ""), Extent::Itself, true),
            ("/workspace/dotfiles/claude/settings.json".to_owned(), Extent::Itself, false),
            ("dotfiles/claude/settings.json".to_owned(), Extent::Itself, true),
            ("dotfiles/claude/other.json".to_owned(), Extent::Itself, false),
            ("dotfiles".to_owned(), Extent::Tree, true),
            ("src".to_owned(), Extent::Tree, false),
        ] {
            assert_eq!(guarded.covers(&Location::from_host(&path), extent, ["**"].into_iter()), covered, "{path} {extent:?}");
        }
        let named = |pattern: &'static str| {
            guarded.covers(&Location::from_host("dotfiles/claude/settings.json"), Extent::Itself, [pattern].into_iter())
        };
        assert!(!named("dotfiles/claude/settings.json") && named("dotfiles/**") && named("dotfiles/claude/*.json"));
    }
}
