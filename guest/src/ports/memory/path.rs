//! Paths of the in-memory host.

use super::{HOME, PROJECT, STATE};
use crate::ports::Root;
use crate::programs::{PROGRAMS, SKILL_FOLDERS};

/// The names of a path that are still ahead, last one first.
pub(super) struct RemainingNames {
    pub(super) names: Vec<String>,
}

impl RemainingNames {
    pub(super) fn join_names(&self) -> String {
        self.names.iter().rev().fold(String::new(), |path, name| format!("{path}/{name}"))
    }
}

pub(super) fn walk_from(start: &str, path: &str) -> RemainingNames {
    let start = if path.starts_with('/') { "" } else { start };
    let meant = |name: &&str| !name.is_empty() && *name != ".";
    RemainingNames { names: path.rsplit('/').chain(start.rsplit('/')).filter(meant).map(str::to_owned).collect() }
}

pub(super) fn folder(root: Root) -> &'static str {
    match root {
        Root::Project => PROJECT,
        Root::Home => HOME,
        Root::State => STATE,
    }
}

pub(super) fn join(names: &[String]) -> String {
    names.iter().fold(String::new(), |path, name| format!("{path}/{name}"))
}

pub(super) fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

pub(super) fn reported(path: &str) -> String {
    match path.strip_prefix(PROJECT) {
        Some("") => ".".to_owned(),
        Some(inside) if inside.starts_with('/') => inside.trim_start_matches('/').to_owned(),
        _ if path.is_empty() => "/".to_owned(),
        _ => path.to_owned(),
    }
}

pub(super) fn may_write(root: Root, path: &str) -> bool {
    let own: &[&str] = match root {
        Root::Project => &[".orchestration", ".tollgate"],
        Root::Home => &[".tollgate"],
        Root::State => return path.starts_with(&format!("{STATE}/")),
    };
    own.iter().any(|own| path.starts_with(&format!("{}/{own}/", folder(root))))
}

/// Whether the file at a path is exposed under that root.
pub(super) fn may_read(root: Root, path: &str) -> bool {
    let below = |folder: &str, path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let of_programs = PROGRAMS.iter().filter_map(|program| Some(program.permissions?.file));
    let own = [".tollgate", ".ollm"].into_iter().chain(SKILL_FOLDERS.iter().copied());
    let is_lent = |path: &str| own.chain(of_programs).any(|lent| below(lent, path));
    match root {
        Root::Home => path.strip_prefix(&format!("{HOME}/")).is_some_and(is_lent),
        Root::Project | Root::State => below(folder(root), path),
    }
}
