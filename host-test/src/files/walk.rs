//! Following a path the way the operating system would.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Metadata;

use super::Files;
use crate::bindings::tollgate::hooks::workspace::Root;

/// Links followed before a path counts as a circle; Linux's own limit.
const MOST_LINKS: u32 = 40;

/// An absolute path as its names from the top. On Windows the drive is the first name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Names(pub(super) Vec<String>);

impl Names {
    /// None where a name is not UTF-8, which no guest can spell.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
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

    /// The folder that everything on this drive stands in.
    pub(super) fn top(&self) -> PathBuf {
        match self.0.first() {
            Some(drive) if cfg!(windows) => PathBuf::from(format!("{drive}\\")),
            _ => PathBuf::from("/"),
        }
    }

    /// The path below a folder; none where it is not in it.
    pub(super) fn below<'a>(&'a self, folder: &Self) -> Option<&'a [String]> {
        self.0.strip_prefix(folder.0.as_slice())
    }

    pub(super) fn absolute(&self) -> String {
        let joined = self.0.join("/");
        if cfg!(windows) { joined } else { format!("/{joined}") }
    }
}

/// Where a path leads.
pub(super) struct Walked {
    /// With every link followed; none where it leads nowhere.
    pub(super) real: Option<Names>,
    /// With the last name's own link not followed.
    pub(super) entry: Option<Names>,
    /// What the link at `entry` says.
    pub(super) link: Option<String>,
    /// What stands at `real`, where something does.
    pub(super) found: Look,
}

/// What one look at a name brought.
pub(super) enum Look {
    Missing,
    Refused,
    Found(Metadata),
}

/// Whether folders exist, as seen while one list of questions is answered: many paths lead through the same few.
#[derive(Default)]
pub(super) struct Folders(BTreeMap<Names, bool>);

impl Files {
    /// Walks a path of the guest from one of the roots.
    pub(super) fn walk(&self, root: Root, path: &str) -> Walked {
        self.walk_through(root, path, &mut Folders::default())
    }

    /// The same for one of several paths.
    pub(super) fn walk_through(&self, root: Root, path: &str, folders: &mut Folders) -> Walked {
        let nowhere = || Walked { real: None, entry: None, link: None, found: Look::Missing };
        let Some(from) = self.real(root) else { return nowhere() };
        if path.contains('\0') {
            return nowhere();
        }
        let (mut at, mut ahead) = start(from, path);
        let (mut links, mut entry, mut link, mut found) = (0, None, None, None);
        // How many names the shortest prefix has that does not exist: nothing can exist below it.
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
                Some(false) => Look::Missing,
                Some(true) if !last => continue,
                _ => self.look(&at),
            };
            match &look {
                Look::Missing => {
                    missing = missing.min(at.0.len());
                    folders.0.insert(at.clone(), false);
                }
                Look::Found(metadata) if !last && metadata.is_dir() => drop(folders.0.insert(at.clone(), true)),
                _ => {}
            }
            match look {
                Look::Found(metadata) if metadata.is_symlink() => {
                    links += 1;
                    let target = if links > MOST_LINKS { None } else { self.link_target(&at) };
                    if last && entry.is_none() {
                        (entry, link) = (Some(at.clone()), target.clone());
                    }
                    let Some(target) = target else { return Walked { entry, link, ..nowhere() } };
                    at.0.pop();
                    let (onto, further) = split(&target);
                    if let Some(onto) = onto {
                        at = onto;
                    }
                    ahead.extend(further);
                    found = None;
                }
                Look::Found(metadata) if !last && !metadata.is_dir() => return nowhere(),
                look => found = Some(look),
            }
        }
        let found = found.unwrap_or_else(|| self.look(&at));
        Walked { entry: Some(entry.unwrap_or_else(|| at.clone())), real: Some(at), link, found }
    }

    /// How a place is told to the guest: relative to the workspace where it lies in it, else absolute.
    pub(super) fn reported(&self, names: &Names) -> String {
        match names.below(&self.project.real) {
            Some([]) => ".".to_owned(),
            Some(below) => below.join("/"),
            None => names.absolute(),
        }
    }

    /// One look, no link followed. Names of the workspace are looked up from the workspace's own handle.
    fn look(&self, at: &Names) -> Look {
        let looked = match at.below(&self.project.real) {
            Some([]) => self.project.dir.dir_metadata(),
            Some(below) => self.project.dir.symlink_metadata(joined(below)),
            None => match (&self.outside, at.below(&Names(self.drive()))) {
                (Some(outside), Some([])) => outside.dir_metadata(),
                (Some(outside), Some(below)) => outside.symlink_metadata(joined(below)),
                _ => return Look::Refused,
            },
        };
        match looked {
            Ok(metadata) => Look::Found(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Look::Refused,
            Err(_) => Look::Missing,
        }
    }

    fn link_target(&self, at: &Names) -> Option<String> {
        let target = match at.below(&self.project.real) {
            Some(below) => self.project.dir.read_link_contents(joined(below)),
            None => {
                let drive = Names(self.drive());
                self.outside.as_ref()?.read_link_contents(joined(at.below(&drive)?))
            }
        };
        target.ok()?.into_os_string().into_string().ok()
    }

    fn drive(&self) -> Vec<String> {
        if cfg!(windows) { self.project.real.0.iter().take(1).cloned().collect() } else { Vec::new() }
    }
}

/// Names relative to a handle.
pub(super) fn joined(names: &[String]) -> PathBuf {
    names.iter().collect()
}

fn start(from: &Names, path: &str) -> (Names, Vec<String>) {
    let (onto, ahead) = split(path);
    (onto.unwrap_or_else(|| from.clone()), ahead)
}

/// Where an absolute path begins, and the names ahead, last one first.
fn split(path: &str) -> (Option<Names>, Vec<String>) {
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    let meant = |name: &&str| !name.is_empty() && *name != ".";
    let mut names: Vec<String> = path.split(separators).filter(meant).map(str::to_owned).collect();
    let drive = cfg!(windows) && names.first().is_some_and(|name| name.ends_with(':'));
    let onto = if drive { Some(Names(vec![names.remove(0)])) } else { path.starts_with(separators).then(|| Names(Vec::new())) };
    names.reverse();
    (onto, names)
}
