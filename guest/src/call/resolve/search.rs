//! Searches a tree, before anything recursive is done to it, for links and hard links that lead out of the intent's scope.

use std::collections::{BTreeSet, HashMap};

use super::Resolving;
use super::trees::{MAX_SEARCHED, is_at_or_below};
use crate::effects::path::{Location, WorkspacePath};
use crate::effects::{Extent, Operation};
use crate::ports::{DirEntry, Facts, FileKind, Question};

/// The most links that are followed in one tree.
const MAX_LINKS: usize = 10_000;

/// The most folders that are searched because links lead to them.
const MAX_FOLDERS: usize = 16;

/// Maximum number of links out of the scope that are reported; one is enough to deny a call.
const MAX_ESCAPES: usize = 100;

/// A file that has several names.
pub(super) struct SharedFile {
    /// The path by which the file was found: a name or a link.
    path: String,
    /// Whether that path is one of the file's names.
    is_name: bool,
    identity: u64,
    hard_links: u32,
}

impl SharedFile {
    /// A file that the host has inspected, however it was found.
    pub(super) fn of(path: &str, facts: &Facts) -> Self {
        Self { path: path.to_owned(), is_name: false, identity: facts.identity, hard_links: facts.hard_links }
    }

    /// A file from a listing.
    fn from_listing(entry: DirEntry) -> Self {
        Self { path: entry.path, is_name: true, identity: entry.identity, hard_links: entry.hard_links }
    }
}

impl Resolving<'_> {
    /// Adds what can be reached through an owned tree but is not owned itself.
    pub(super) fn search(&mut self, tree: WorkspacePath) {
        let mut shared = Vec::new();
        let mut folders = vec![tree];
        let mut next = 0;
        while let Some(folder) = folders.get(next).map(|folder| folder.as_str().to_owned()) {
            next += 1;
            let below = self.trees.list_tree(&folder, MAX_SEARCHED);
            if let Some(why) = below.missing {
                self.add_unknown(format!("{why}, and a link in it may lead anywhere"));
            }
            let (links, files): (Vec<DirEntry>, Vec<DirEntry>) =
                below.entries.into_iter().filter(may_lead_elsewhere).partition(|entry| entry.kind == FileKind::Other);
            shared.extend(files.into_iter().map(SharedFile::from_listing));
            for (link, facts) in self.follow(&folder, links) {
                if facts.kind == FileKind::File && facts.hard_links > 1 {
                    shared.push(SharedFile::of(&link.path, &facts));
                }
                let Some(further) = self.follow_link(&link.path, &facts) else { continue };
                if folders.iter().any(|known| is_at_or_below(further.as_str(), known.as_str())) {
                    continue;
                }
                if folders.len() >= MAX_FOLDERS {
                    self.add_unknown(format!("the links in `{folder}` lead to more folders than can be searched"));
                    break;
                }
                folders.push(further);
            }
        }
        self.add_shared(shared);
    }

    /// Has the host follow all links of a folder at once.
    fn follow(&mut self, folder: &str, mut links: Vec<DirEntry>) -> Vec<(DirEntry, Facts)> {
        if links.len() > MAX_LINKS {
            self.add_unknown(format!("there are more links in `{folder}` than can be followed"));
            links.truncate(MAX_LINKS);
        }
        if links.is_empty() {
            return Vec::new();
        }
        let questions: Vec<Question> = links.iter().map(|link| Question::project(link.path.as_str())).collect();
        let facts = self.workspace.inspect(&questions);
        if facts.len() < links.len() {
            self.add_unknown(format!("the host did not follow every link in `{folder}`"));
        }
        links.into_iter().zip(facts).collect()
    }

    /// Adds where a link leads, unless that is owned. Returns the folder that it leads to, if that folder is owned.
    pub(super) fn follow_link(&mut self, link: &str, facts: &Facts) -> Option<WorkspacePath> {
        let Some(at) = facts.real_path.as_deref().map(Location::from_host) else {
            self.add_unknown(format!("`{link}` is a link that cannot be followed to its end"));
            return None;
        };
        let extent = if facts.kind == FileKind::Directory { Extent::Tree } else { Extent::Itself };
        match at {
            Location::Inside(path) if (self.owns)(&path, extent) => {
                if facts.kind == FileKind::Unreadable {
                    self.add_unknown(format!("`{link}` leads to `{path}`, which cannot be inspected"));
                }
                (extent == Extent::Tree).then_some(path)
            }
            at => {
                self.add_escape(at, extent, facts, link);
                None
            }
        }
    }

    /// For files with several names, adds those names that are not owned.
    pub(super) fn add_other_owners(&mut self, entries: Vec<DirEntry>) {
        let files = entries.into_iter().filter(|entry| entry.kind == FileKind::File && may_lead_elsewhere(entry));
        self.add_shared(files.map(SharedFile::from_listing).collect());
    }

    /// The same for files, however they were found.
    pub(super) fn add_shared(&mut self, shared: Vec<SharedFile>) {
        let mut here = HashMap::<u64, BTreeSet<&str>>::new();
        for file in &shared {
            let names = here.entry(file.identity).or_default();
            if file.is_name {
                names.insert(&file.path);
            }
        }
        for file in &shared {
            // Nothing to do if all names of the file are in the owned tree. Among several names, the first represents all.
            match here.remove(&file.identity) {
                None => continue,
                Some(names) if names.len() as u64 >= u64::from(file.hard_links) && file.identity != 0 => continue,
                Some(_) => {}
            }
            let names = self.trees.names(file.identity);
            self.add_unseen_names(&file.path, names.len(), file.hard_links);
            for name in names {
                let at = Location::from_host(&name);
                if !matches!(&at, Location::Inside(path) if (self.owns)(path, Extent::Itself)) {
                    self.add_escape(at, Extent::Itself, &listed_facts(), &file.path);
                }
            }
        }
    }

    fn add_escape(&mut self, at: Location, extent: Extent, facts: &Facts, via: &str) {
        let operation = if facts.kind == FileKind::Missing { Operation::Create } else { Operation::Modify };
        if self.escapes < MAX_ESCAPES {
            self.escapes += 1;
            self.add_via(at, operation, extent, facts, Some(via.to_owned()));
        }
    }
}

/// Whether an entry may lead elsewhere.
fn may_lead_elsewhere(entry: &DirEntry) -> bool {
    entry.kind == FileKind::Other || (entry.kind == FileKind::File && entry.hard_links > 1)
}

/// What is known about a file from a listing alone.
fn listed_facts() -> Facts {
    Facts { kind: FileKind::File, hard_links: 1, ..Facts::missing() }
}
