//! From what a call's arguments say to what it does, now that the host has looked.

use super::effect::{Deed, Effect, Extent, Footprint, Operation, Touch};
use super::path::{Location, below_home};
use super::{CallFault, ToolCall};
use crate::named::Seen;
use crate::ports::{Facts, Kind, Listing, Question, Reach, Root, Workspace};

/// A folder with more in it is judged as a whole.
const MOST_LISTED: u32 = 10_000;

/// Where the other names of a file are looked for.
const MOST_SEARCHED: u32 = 50_000;

/// Folders that are not searched: too large, and not what anybody edits.
const NOT_SEARCHED: [&str; 3] = [".git", "node_modules", "target"];

/// No tree that anybody works in is deeper.
const DEEPEST: u32 = 64;

/// What a call does.
#[derive(Debug, Default)]
pub struct Effects {
    /// Path by path, in order.
    pub known: Vec<Effect>,
    /// Why some of it cannot be known.
    pub unknowns: Vec<String>,
    /// Whether some of it may not happen.
    pub conditional: bool,
}

/// What to ask the host about a path that a call touches. Only what will change is hashed.
pub fn question(touch: &Touch) -> Question {
    let digest =
        matches!(touch.deed, Deed::Write | Deed::WriteTree | Deed::Delete | Deed::DeleteTree | Deed::Touch | Deed::Alias);
    match below_home(&touch.path) {
        Some(below) => Question { root: Root::Home, path: below.to_owned(), digest },
        None => Question { root: Root::Project, path: touch.path.clone(), digest },
    }
}

/// What a footprint comes to. The facts stand in the order of its touches.
pub fn effects(call: &ToolCall, footprint: &Footprint, facts: &[Facts], workspace: &dyn Workspace) -> Result<Effects, CallFault> {
    let mut resolving = Resolving { workspace, effects: Effects::default(), seen: Seen::default(), searched: None };
    resolving.effects.unknowns.clone_from(&footprint.unknowns);
    resolving.effects.conditional = footprint.conditional;
    for (touch, facts) in footprint.touches.iter().zip(facts) {
        resolving.touch(touch, facts)?;
    }
    if facts.len() < footprint.touches.len() {
        let why = format!("the host did not look at every path of `{}`", call.tool);
        resolving.effects.unknowns.push(why);
    }
    Ok(resolving.effects)
}

struct Resolving<'a> {
    workspace: &'a dyn Workspace,
    effects: Effects,
    seen: Seen,
    /// The whole workspace, once a file with several names has come up.
    searched: Option<Listing>,
}

impl Resolving<'_> {
    fn touch(&mut self, touch: &Touch, facts: &Facts) -> Result<(), CallFault> {
        let nowhere = || CallFault::Nowhere { path: touch.path.clone() };
        let real = || facts.real_path.as_deref().map(Location::reported).ok_or_else(nowhere);
        let exists = facts.kind != Kind::Missing;
        let changed = if exists { Operation::Modify } else { Operation::Create };
        match touch.deed {
            // Whatever cannot be found cannot be read either.
            Deed::Read => {
                if let Ok(at) = real() {
                    self.add(at, Operation::Read, Extent::Itself, facts);
                }
            }
            Deed::Write => {
                self.add(real()?, changed, Extent::Itself, facts);
                self.add_other_names(touch, facts);
            }
            Deed::WriteTree if matches!(facts.kind, Kind::File | Kind::Other) => {
                self.add(real()?, changed, Extent::Itself, facts);
                self.add_other_names(touch, facts);
            }
            Deed::WriteTree => self.add(real()?, changed, Extent::Tree, facts),
            Deed::Touch => {
                // A folder's mode decides about everything in it, and `chmod -R` goes there by itself.
                let extent = if facts.kind == Kind::Directory { Extent::Tree } else { Extent::Itself };
                self.add(real()?, changed, extent, facts);
                self.add_other_names(touch, facts);
            }
            Deed::Alias => self.add(real()?, Operation::Modify, Extent::Itself, facts),
            Deed::Execute => self.add(real()?, Operation::Execute, Extent::Itself, facts),
            Deed::MakeFolder if exists => {}
            Deed::MakeFolder => self.add(real()?, Operation::Create, Extent::Folder, facts),
            Deed::Delete | Deed::DeleteTree => {
                let through = touch.path.ends_with('/');
                let at = if through { &facts.real_path } else { &facts.entry_path };
                let at = at.as_deref().map(Location::reported).ok_or_else(nowhere)?;
                // A link to a folder is taken away by itself.
                let is_folder = facts.kind == Kind::Directory && (through || facts.real_path == facts.entry_path);
                if is_folder {
                    self.delete_folder(at, facts);
                } else {
                    self.add(at, Operation::Delete, Extent::Itself, facts);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, location: Location, operation: Operation, extent: Extent, facts: &Facts) {
        if self.seen.insert(location.as_str(), operation as u32 * 4 + extent as u32) {
            self.effects.known.push(Effect { location, operation, extent, pre_hash: facts.digest, stamp: facts.stamp });
        }
    }

    /// A folder goes with all its files, so they are what is judged, if they can be listed.
    fn delete_folder(&mut self, at: Location, facts: &Facts) {
        let reach = Reach { depth: DEEPEST, limit: MOST_LISTED, skip: Vec::new() };
        let listing = match &at {
            Location::Inside(folder) => self.workspace.list(Root::Project, folder.as_str(), &reach).ok(),
            Location::Outside(_) => None,
        };
        let listing = listing.filter(|listing| !listing.truncated && listing.entries.iter().all(|entry| is_shallow(&entry.path)));
        let files: Vec<String> = listing.map_or_else(Vec::new, |listing| {
            let files = listing.entries.into_iter().filter(|entry| entry.kind != Kind::Directory);
            files.map(|entry| if at.as_str() == "." { entry.path } else { format!("{}/{}", at.as_str(), entry.path) }).collect()
        });
        let extent = if files.is_empty() { Extent::Tree } else { Extent::Listed };
        self.add(at, Operation::Delete, extent, facts);
        for file in files {
            self.add(
                Location::reported(&file),
                Operation::Delete,
                Extent::Itself,
                &Facts { digest: None, stamp: 0, ..facts.clone() },
            );
        }
    }

    /// What is written under one name of a file is written under all of them.
    fn add_other_names(&mut self, touch: &Touch, facts: &Facts) {
        if facts.kind != Kind::File || facts.hard_links < 2 {
            return;
        }
        let listing = self.searched.get_or_insert_with(|| {
            let skip = NOT_SEARCHED.map(str::to_owned).to_vec();
            let nothing = Listing { entries: Vec::new(), truncated: true };
            self.workspace.list(Root::Project, ".", &Reach { depth: DEEPEST, limit: MOST_SEARCHED, skip }).unwrap_or(nothing)
        });
        let same =
            |entry: &&crate::ports::Entry| entry.kind == Kind::File && facts.identity != 0 && entry.identity == facts.identity;
        let names: Vec<String> = listing.entries.iter().filter(same).map(|entry| entry.path.clone()).collect();
        if (names.len() as u64) < u64::from(facts.hard_links) {
            let seen = names.len();
            self.effects.unknowns.push(format!(
                "`{}` has {} names, of which {seen} can be seen, and writing to it changes the file under all of them",
                touch.path, facts.hard_links
            ));
        }
        for name in names {
            self.add(Location::reported(&name), Operation::Modify, Extent::Itself, facts);
        }
    }
}

/// At the deepest level that is listed, a folder's content would not be.
fn is_shallow(path: &str) -> bool {
    path.split('/').count() < DEEPEST as usize
}
