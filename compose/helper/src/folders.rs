//! The folders that the host has opened.

use std::sync::OnceLock;

use crate::exports::tollgate::hooks::workspace::Root;

/// An absolute path as a list of names.
pub type Names = Vec<String>;

/// Splits a path into names.
pub fn split_path(path: &str) -> Names {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect()
}

/// Joins names to an absolute path.
pub fn absolute_path(names: &[String]) -> String {
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
        let variable = |name: &str| std::env::var(name).ok().filter(|path| path.starts_with('/')).map(|path| split_path(&path));
        Folders { project: variable("TOLLGATE_WORKSPACE"), home: variable("TOLLGATE_HOME"), state: variable("TOLLGATE_STATE") }
    })
}

/// The path of a root; `None` if the host has not opened it.
pub fn root_path(root: Root) -> Option<&'static Names> {
    match root {
        Root::Project => folders().project.as_ref(),
        Root::Home => folders().home.as_ref(),
        Root::State => folders().state.as_ref(),
    }
}

/// Whether a path is in a folder that the host has opened.
pub fn is_in_opened_folder(at: &[String]) -> bool {
    [Root::Project, Root::Home, Root::State].into_iter().filter_map(root_path).any(|folder| at.starts_with(folder))
}

/// Whether a path is on the way to a folder that the host has opened, and therefore is a folder itself.
pub fn leads_to_opened_folder(at: &[String]) -> bool {
    [Root::Project, Root::Home, Root::State].into_iter().filter_map(root_path).any(|folder| folder.starts_with(at))
}

/// A path as it is reported to the gate: relative inside the workspace, otherwise absolute.
pub fn reported_path(at: &[String]) -> String {
    match root_path(Root::Project).and_then(|project| at.strip_prefix(project.as_slice())) {
        Some([]) => ".".to_owned(),
        Some(below) => below.join("/"),
        None => absolute_path(at),
    }
}
