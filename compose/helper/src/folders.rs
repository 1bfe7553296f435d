//! The folders that the host has opened.

use std::sync::OnceLock;

use crate::exports::tollgate::hooks::workspace::Root;

/// An absolute path, as names.
pub type Names = Vec<String>;

/// The names of a path.
pub fn names(path: &str) -> Names {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect()
}

/// The path of names.
pub fn path(names: &[String]) -> String {
    format!("/{}", names.join("/"))
}

struct Folders {
    project: Option<Names>,
    home: Option<Names>,
    state: Option<Names>,
}

fn folders() -> &'static Folders {
    static FOLDERS: OnceLock<Folders> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let of = |name: &str| std::env::var(name).ok().filter(|path| path.starts_with('/')).map(|path| names(&path));
        Folders { project: of("TOLLGATE_WORKSPACE"), home: of("TOLLGATE_HOME"), state: of("TOLLGATE_STATE") }
    })
}

/// Where a root stands; none where the host has not opened it.
pub fn of(root: Root) -> Option<&'static Names> {
    match root {
        Root::Project => folders().project.as_ref(),
        Root::Home => folders().home.as_ref(),
        Root::State => folders().state.as_ref(),
    }
}

/// Whether the host has opened a folder that a path lies in.
pub fn can_look(at: &[String]) -> bool {
    [Root::Project, Root::Home, Root::State].into_iter().filter_map(of).any(|folder| at.starts_with(folder))
}

/// Whether a path leads to a folder that the host has opened, and so is one itself.
pub fn leads_there(at: &[String]) -> bool {
    [Root::Project, Root::Home, Root::State].into_iter().filter_map(of).any(|folder| folder.starts_with(at))
}

/// A path as the gate knows it: relative in the workspace, else absolute.
pub fn told(at: &[String]) -> String {
    match of(Root::Project).and_then(|project| at.strip_prefix(project.as_slice())) {
        Some([]) => ".".to_owned(),
        Some(below) => below.join("/"),
        None => path(at),
    }
}
