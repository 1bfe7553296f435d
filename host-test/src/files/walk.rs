//! Resolves paths like the operating system does.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::Files;
use super::stat::{FileStat, stat_at};
use crate::bindings::tollgate::hooks::workspace::Root;

/// A path with more links than this is treated as a cycle, as on Linux.
const MAX_LINKS: u32 = 40;

/// An absolute path as a list of names. On Windows the drive is the first name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Names(pub(super) Vec<String>);

impl Names {
    /// Splits an absolute path into names; `None` if a name is not UTF-8, because a guest could not spell it.
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        let mut names = Vec::new();
        for component in path.components() {
            match component {
                Component::Prefix(prefix) => names.push(prefix.as_os_str().to_str()?.to_owned()),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir => drop(names.pop()),
                Component::Normal(name) => names.push(name.to_str()?.to_owned()),
            }
        }
        Some(Self(names))
    }

    /// The root folder of this drive.
    pub(super) fn top(&self) -> PathBuf {
        match self.0.first() {
            Some(drive) if cfg!(windows) => PathBuf::from(format!("{drive}\\")),
            _ => PathBuf::from("/"),
        }
    }

    /// The names relative to a folder, if the path is below it.
    pub(super) fn strip_folder<'a>(&'a self, folder: &Self) -> Option<&'a [String]> {
        self.0.strip_prefix(folder.0.as_slice())
    }

    pub(super) fn absolute(&self) -> String {
        let joined = self.0.join("/");
        if cfg!(windows) { joined } else { format!("/{joined}") }
    }
}

/// The result of resolving a path.
pub(super) struct ResolvedPath {
    /// The path with every link followed, if it can be resolved.
    pub(super) real: Option<Names>,
    /// The path without following a link in the last name.
    pub(super) entry: Option<Names>,
    /// The target of the link at `entry`.
    pub(super) link: Option<String>,
    /// What exists at `real`.
    pub(super) found: LookupResult,
}

/// The result of looking up a name.
pub(super) enum LookupResult {
    Missing,
    Denied,
    Found(FileStat),
}

/// Caches which folders exist while one list of questions is answered: many paths share the same few folders.
#[derive(Default)]
pub(super) struct FolderCache(BTreeMap<Names, bool>);

impl Files {
    /// Resolves a path given by the guest, relative to one of the roots.
    pub(super) fn walk(&self, root: Root, path: &str) -> ResolvedPath {
        self.walk_cached(root, path, &mut FolderCache::default())
    }

    /// Like [`walk`](Self::walk), with a cache for several paths.
    pub(super) fn walk_cached(&self, root: Root, path: &str, folders: &mut FolderCache) -> ResolvedPath {
        let unresolved = || ResolvedPath { real: None, entry: None, link: None, found: LookupResult::Missing };
        let Some(from) = self.real(root) else { return unresolved() };
        if path.contains('\0') {
            return unresolved();
        }
        let (mut at, mut ahead) = starting_point(from, path);
        let (mut links, mut entry, mut link, mut found) = (0, None, None, None);
        // The length of the shortest prefix that does not exist: nothing below it exists either.
        let mut missing = usize::MAX;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                at.0.pop();
                found = None;
                continue;
            }
            if at.0.len() < missing {
                missing = usize::MAX;
            }
            at.0.push(name);
            let last = ahead.is_empty();
            let seen = if at.0.len() > missing { Some(false) } else { folders.0.get(&at).copied() };
            let look = match seen {
                Some(false) => LookupResult::Missing,
                Some(true) if !last => continue,
                _ => self.look_up(&at),
            };
            match &look {
                LookupResult::Missing => {
                    missing = missing.min(at.0.len());
                    folders.0.insert(at.clone(), false);
                }
                LookupResult::Found(metadata) if !last && metadata.is_dir() => drop(folders.0.insert(at.clone(), true)),
                _ => {}
            }
            match look {
                LookupResult::Found(metadata) if metadata.is_symlink() => {
                    links += 1;
                    let target = if links > MAX_LINKS { None } else { self.link_target(&at) };
                    if last && entry.is_none() {
                        (entry, link) = (Some(at.clone()), target.clone());
                    }
                    let Some(target) = target else { return ResolvedPath { entry, link, ..unresolved() } };
                    at.0.pop();
                    let (onto, further) = split_path(&target);
                    if let Some(onto) = onto {
                        at = onto;
                    }
                    ahead.extend(further);
                    found = None;
                }
                LookupResult::Found(metadata) if !last && !metadata.is_dir() => return unresolved(),
                look => found = Some(look),
            }
        }
        let found = found.unwrap_or_else(|| self.look_up(&at));
        ResolvedPath { entry: Some(entry.unwrap_or_else(|| at.clone())), real: Some(at), link, found }
    }

    /// A path as it is reported to the guest: relative inside the workspace, otherwise absolute.
    pub(super) fn guest_path(&self, names: &Names) -> String {
        match names.strip_folder(&self.project.real) {
            Some([]) => ".".to_owned(),
            Some(below) => below.join("/"),
            None => names.absolute(),
        }
    }

    /// Looks up a path without following a link in its last name; those before it have been followed. Paths in the workspace are
    /// looked up from its own handle.
    fn look_up(&self, at: &Names) -> LookupResult {
        let looked = match at.strip_folder(&self.project.real) {
            Some(below) => stat_at(&self.project.dir, &join_names(below)),
            None => match (&self.outside, at.strip_folder(&Names(self.drive()))) {
                (Some(outside), Some(below)) => stat_at(outside, &join_names(below)),
                _ => return LookupResult::Denied,
            },
        };
        match looked {
            Ok(metadata) => LookupResult::Found(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => LookupResult::Denied,
            Err(_) => LookupResult::Missing,
        }
    }

    fn link_target(&self, at: &Names) -> Option<String> {
        let target = match at.strip_folder(&self.project.real) {
            Some(below) => self.project.dir.read_link_contents(join_names(below)),
            None => {
                let drive = Names(self.drive());
                self.outside.as_ref()?.read_link_contents(join_names(at.strip_folder(&drive)?))
            }
        };
        target.ok()?.into_os_string().into_string().ok()
    }

    fn drive(&self) -> Vec<String> {
        if cfg!(windows) { self.project.real.0.iter().take(1).cloned().collect() } else { Vec::new() }
    }
}

/// A relative path from names.
pub(super) fn join_names(names: &[String]) -> PathBuf {
    names.iter().collect()
}

fn starting_point(from: &Names, path: &str) -> (Names, Vec<String>) {
    let (onto, ahead) = split_path(path);
    (onto.unwrap_or_else(|| from.clone()), ahead)
}

/// The start of an absolute path, and the remaining names in reverse order.
fn split_path(path: &str) -> (Option<Names>, Vec<String>) {
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    let is_significant = |name: &&str| !name.is_empty() && *name != ".";
    let mut names: Vec<String> = path.split(separators).filter(is_significant).map(str::to_owned).collect();
    let drive = cfg!(windows) && names.first().is_some_and(|name| name.ends_with(':'));
    let onto = if drive { Some(Names(vec![names.remove(0)])) } else { path.starts_with(separators).then(|| Names(Vec::new())) };
    names.reverse();
    (onto, names)
}
