//! Turns a footprint and the host's facts into effects.
//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | turns a touch and what the host saw there into effects |
//! | `trees.rs` | lists the folders that a ruling needs, each folder once |
//! | `search.rs` | searches an owned tree for links and hard links that lead out of the scope |
//! | `placed.rs` | judges what is moved, copied or linked by where it leads from its new place |

mod placed;
mod search;
#[cfg(test)]
mod tests;
mod trees;

use std::collections::BTreeSet;

use super::{CallFault, ToolCall};
use crate::effects::path::{Location, WorkspacePath, below_home, temporary_entry};
use crate::effects::{Access, Effect, Extent, Footprint, Operation, PathAccess};
use crate::ports::{Facts, FileKind, Question, Root, Workspace};
use trees::{MAX_JUDGED, MAX_SEARCHED, Trees};

/// The most reasons that are reported.
const MAX_REASONS: usize = 20;

/// What a call does.
#[derive(Debug, Default)]
pub struct Effects {
    /// The effects on single paths, in order.
    pub known: Vec<Effect>,
    /// Why some effects cannot be known.
    pub unknowns: Vec<String>,
    /// Whether some of the effects may not happen.
    pub conditional: bool,
}

/// The question to the host about a path that a call touches. A digest is requested only for what will change.
pub fn question(touch: &PathAccess) -> Question {
    let digest = matches!(
        touch.access,
        Access::Write | Access::WriteTree | Access::Delete | Access::DeleteTree | Access::Attributes | Access::Alias
    );
    Question { digest, ..question_at(&touch.path) }
}

/// The same question without the digest.
pub fn question_at_touch(touch: &PathAccess) -> Question {
    question_at(&touch.path)
}

/// The question to the host about any path that is spelled as in a touch.
fn question_at(path: &str) -> Question {
    match below_home(path) {
        Some(below) => Question { root: Root::Home, path: below.to_owned(), digest: false },
        None => Question::project(path),
    }
}

/// Resolves a footprint. The facts are in the order of its touches.
///
/// `owns` tells whether the intent that the call works for owns a path, or everything below it. A tree that the intent owns is
/// searched for links out of it; a tree that it does not own is denied without a search.
pub fn effects(
    call: &ToolCall,
    footprint: &Footprint,
    facts: &[Facts],
    workspace: &dyn Workspace,
    owns: &dyn Fn(&WorkspacePath, Extent) -> bool,
) -> Result<Effects, CallFault> {
    let mut resolving = Resolving {
        workspace,
        owns,
        effects: Effects::default(),
        seen: BTreeSet::new(),
        trees: Trees::new(workspace),
        escapes: 0,
    };
    resolving.effects.unknowns.clone_from(&footprint.unknowns);
    resolving.effects.conditional = footprint.conditional;
    for (touch, facts) in footprint.touches.iter().zip(facts) {
        resolving.plan(touch, facts);
    }
    for (touch, facts) in footprint.touches.iter().zip(facts) {
        resolving.touch(touch, facts)?;
    }
    resolving.place(footprint, facts);
    if facts.len() < footprint.touches.len() {
        let why = format!("the host did not inspect every path of `{}`", call.tool);
        resolving.effects.unknowns.push(why);
    }
    Ok(resolving.effects)
}

struct Resolving<'a> {
    workspace: &'a dyn Workspace,
    owns: &'a dyn Fn(&WorkspacePath, Extent) -> bool,
    effects: Effects,
    seen: BTreeSet<(String, Operation, Extent)>,
    trees: Trees<'a>,
    /// How many ways out of the owned paths have been found.
    escapes: usize,
}

impl Resolving<'_> {
    /// Announces which folders will be listed, so that one listing serves a folder and its subfolders.
    fn plan(&mut self, touch: &PathAccess, facts: &Facts) {
        match touch.access {
            Access::WriteTree => {
                if let Some(tree) = self.searchable_folder(facts) {
                    self.trees.expect(tree.as_str(), MAX_SEARCHED);
                }
            }
            Access::Delete | Access::DeleteTree => {
                if let (Some(Location::Inside(folder)), true) = removal_target(touch, facts) {
                    self.trees.expect(folder.as_str(), MAX_JUDGED);
                }
            }
            _ => {}
        }
    }

    fn touch(&mut self, touch: &PathAccess, facts: &Facts) -> Result<(), CallFault> {
        let nowhere = || CallFault::Nowhere { path: touch.path.clone() };
        let real = || facts.real_path.as_deref().map(Location::from_host).ok_or_else(nowhere);
        let exists = facts.kind != FileKind::Missing;
        let changed = if exists { Operation::Modify } else { Operation::Create };
        match touch.access {
            // What cannot be found cannot be read either.
            Access::Read => {
                if let Ok(at) = real() {
                    self.add(at, Operation::Read, Extent::Itself, facts);
                }
            }
            Access::Write => {
                self.add(real()?, changed, Extent::Itself, facts);
                self.add_other_names(touch, facts);
            }
            Access::WriteTree if matches!(facts.kind, FileKind::File | FileKind::Other) => {
                self.add(real()?, changed, Extent::Itself, facts);
                self.add_other_names(touch, facts);
            }
            Access::WriteTree => {
                self.add(real()?, changed, Extent::Tree, facts);
                if let Some(tree) = self.searchable_folder(facts) {
                    self.search(tree);
                }
            }
            Access::Attributes => {
                // A folder's mode affects everything in it.
                let extent = if facts.kind == FileKind::Directory { Extent::Tree } else { Extent::Itself };
                self.add(real()?, changed, extent, facts);
                self.add_other_names(touch, facts);
            }
            Access::Alias => {
                self.add(real()?, Operation::Modify, Extent::Itself, facts);
                self.add_other_names(touch, facts);
            }
            Access::Execute => {
                let at = real()?;
                // The call itself may create the folder in which it then runs something.
                let made = (at.as_str().to_owned(), Operation::Create, Extent::Folder);
                let is_folder = facts.kind == FileKind::Directory || self.seen.contains(&made);
                if let (Location::Outside(path), false) = (&at, is_folder)
                    && temporary_entry(path).is_some()
                {
                    self.effects.unknowns.push(format!("`{path}` is run from a temporary folder, and it has not been inspected"));
                }
                self.add(at, Operation::Execute, Extent::Itself, facts);
            }
            Access::MakeFolder if exists => {}
            Access::MakeFolder => self.add(real()?, Operation::Create, Extent::Folder, facts),
            Access::Delete | Access::DeleteTree => match removal_target(touch, facts) {
                (Some(at), true) => self.delete_folder(at, facts),
                (Some(at), false) => self.add(at, Operation::Delete, Extent::Itself, facts),
                (None, _) => return Err(nowhere()),
            },
        }
        Ok(())
    }

    fn add(&mut self, location: Location, operation: Operation, extent: Extent, facts: &Facts) {
        self.add_via(location, operation, extent, facts, None);
    }

    fn add_via(&mut self, location: Location, operation: Operation, extent: Extent, facts: &Facts, via: Option<String>) {
        if self.seen.insert((location.as_str().to_owned(), operation, extent)) {
            let (pre_hash, stamp) = (facts.digest, facts.stamp);
            self.effects.known.push(Effect { location, operation, extent, pre_hash, stamp, via });
        }
    }

    /// Records once why something cannot be known.
    fn add_unknown(&mut self, why: String) {
        if self.effects.unknowns.len() < MAX_REASONS && !self.effects.unknowns.contains(&why) {
            self.effects.unknowns.push(why);
        }
    }

    /// The folder to search, if there is one at the path and the intent owns all of it.
    fn searchable_folder(&self, facts: &Facts) -> Option<WorkspacePath> {
        match facts.real_path.as_deref().map(Location::from_host) {
            Some(Location::Inside(tree))
                if matches!(facts.kind, FileKind::Directory | FileKind::Unreadable) && (self.owns)(&tree, Extent::Tree) =>
            {
                Some(tree)
            }
            _ => None,
        }
    }

    /// Deleting a folder deletes all its files, so the files are judged if they can be listed.
    fn delete_folder(&mut self, at: Location, facts: &Facts) {
        let listed = match &at {
            Location::Inside(folder) => Some(self.trees.list_tree(folder.as_str(), MAX_JUDGED)),
            Location::Outside(_) => None,
        };
        let listed = listed.filter(|below| below.is_complete() && below.entries.len() <= MAX_JUDGED as usize);
        let files: Vec<String> = listed.map_or_else(Vec::new, |below| {
            below.entries.into_iter().filter(|entry| entry.kind != FileKind::Directory).map(|entry| entry.path).collect()
        });
        let extent = if files.is_empty() { Extent::Tree } else { Extent::Listed };
        self.add(at, Operation::Delete, extent, facts);
        for file in files {
            let facts = Facts { digest: None, stamp: 0, ..facts.clone() };
            self.add(Location::from_host(&file), Operation::Delete, Extent::Itself, &facts);
        }
    }

    /// A write under one name of a file changes the file under all its names.
    fn add_other_names(&mut self, touch: &PathAccess, facts: &Facts) {
        if facts.kind != FileKind::File || facts.hard_links < 2 {
            return;
        }
        let names = self.trees.names(facts.identity);
        self.add_unseen_names(&touch.path, names.len(), facts.hard_links);
        for name in names {
            self.add(Location::from_host(&name), Operation::Modify, Extent::Itself, facts);
        }
    }

    /// A name that cannot be seen may belong to anyone.
    fn add_unseen_names(&mut self, path: &str, seen: usize, all: u32) {
        if (seen as u64) < u64::from(all) {
            self.add_unknown(format!(
                "`{path}` has {all} hard links, of which only {seen} can be found, and writing to it changes the file under all of them"
            ));
        }
    }
}

/// The entry that is removed, and whether it is a folder: for a link to a folder, it is the link.
fn removal_target(touch: &PathAccess, facts: &Facts) -> (Option<Location>, bool) {
    let through = touch.path.ends_with('/');
    let at = if through { &facts.real_path } else { &facts.entry_path };
    let is_folder = facts.kind == FileKind::Directory && (through || facts.real_path == facts.entry_path);
    (at.as_deref().map(Location::from_host), is_folder)
}
