//! Turns scope patterns into grants for the files and folders that exist.
//!
//! | pattern | what is granted |
//! | --- | --- |
//! | `src/**` | the folder |
//! | `docs/auth.md`, `docs/*.md` | the folder that contains them (widened): programs write a new file beside the old one and rename it |
//! | `src/**/*.ts` | the folder below which they are (widened) |
//! | `packages/*/src/**` | those of the folders that exist |
//! | any of these with a control file below the folder | the files and folders that exist, except the control file |
//!
//! A folder that does not exist yet is created. A path that leads through a link is not granted as such: the link's target is
//! judged, and is granted if the scope names it. The effort is bounded by the number of patterns, not by the number of files.

use std::collections::BTreeSet;

use super::grant::{Grant, GrantKind, Grants, Repository};
use super::pattern::{MAX_PATTERNS, PathPattern, Shape, below, parent};
use super::protected::Protected;
use super::{Context, temporary};
use crate::call::resolve;
use crate::effects::path::{Location, below_home, temporary_entry};
use crate::effects::{Access, Footprint};
use crate::glob::Glob;
use crate::intents::scope::Reach;
use crate::ports::{DirEntry, Facts, FileKind as Node, ListingLimits, Ports, Question, Root};

/// The kernel accepts more rules, but a person cannot review more, and each takes time.
const MAX_GRANTS: usize = 1_000;
/// The most folders that are listed because the kernel cannot express a pattern.
const MAX_LISTINGS: usize = 48;
/// The most entries of one such listing.
const MAX_ENTRIES: u32 = 4_000;
/// How many times patterns may expand to further patterns.
const MAX_ROUNDS: usize = 8;

/// Grants that are being collected.
pub(super) struct GrantCollector<'a> {
    pub(super) ports: &'a Ports,
    protected: Protected<'a>,
    /// Whether the system supports exceptions.
    exceptions: bool,
    grants: Vec<Grant>,
    known: BTreeSet<(String, GrantKind)>,
    listings: usize,
    notes: Vec<String>,
    pub(super) temporary: Option<String>,
    pub(super) repository: Repository,
}

impl<'a> GrantCollector<'a> {
    pub(super) fn new(ports: &'a Ports, protected: Protected<'a>, exceptions: bool) -> Self {
        Self {
            ports,
            protected,
            exceptions,
            grants: Vec::new(),
            known: BTreeSet::new(),
            listings: 0,
            notes: Vec::new(),
            temporary: None,
            repository: Repository::None,
        }
    }

    /// Records once why something is not granted.
    pub(super) fn note(&mut self, why: String) {
        const MAX_NOTES: usize = 20;
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&why) {
            self.notes.push(why);
        }
    }

    /// Opens what the patterns own.
    pub(super) fn open_patterns<'p>(
        &mut self,
        patterns: impl Iterator<Item = &'p str>,
        why: &'static str,
        footprint: &Footprint,
    ) {
        let mut round: Vec<PathPattern> = patterns.flat_map(PathPattern::all).collect();
        let may_make = may_change(footprint);
        for number in 0..MAX_ROUNDS {
            if round.len() > MAX_PATTERNS {
                self.note(format!("only the first {MAX_PATTERNS} of {} patterns are granted", round.len()));
                round.truncate(MAX_PATTERNS);
            }
            if round.is_empty() {
                return;
            }
            let questions = |pattern: &PathPattern| {
                let folder = if pattern.rest.is_empty() { parent(&pattern.base) } else { &pattern.base };
                [pattern.base.clone(), folder.to_owned(), below(folder, ".git")].map(Question::project)
            };
            let facts = self.ports.workspace.inspect(&round.iter().flat_map(questions).collect::<Vec<_>>());
            let mut next = Vec::new();
            for (pattern, facts) in round.iter().zip(facts.chunks(3)) {
                let [at, folder, git] = facts else { continue };
                // Only folders that a pattern names are created, not those that come from a wildcard.
                if folder.kind != Node::Missing || (number == 0 && may_make) {
                    self.open_pattern(pattern, at, folder, git, why, &mut next);
                }
            }
            round = next;
        }
    }

    fn open_pattern(
        &mut self,
        pattern: &PathPattern,
        at: &Facts,
        folder: &Facts,
        git: &Facts,
        why: &'static str,
        next: &mut Vec<PathPattern>,
    ) {
        let shape = pattern.shape();
        let path = if shape == Shape::Path { parent(&pattern.base) } else { &pattern.base };
        // A link's target is judged under its own path.
        if folder.real_path.as_deref() != Some(path) || (shape == Shape::Path && at.real_path.as_deref() != Some(&*pattern.base))
        {
            return self.note(format!("`{}` leads through a link and is not granted", pattern.text()));
        }
        if !matches!(folder.kind, Node::Directory | Node::Missing) {
            return self.note(format!("`{}` is not granted: `{path}` is not a folder", pattern.text()));
        }
        if git.kind != Node::Missing && path != "." {
            self.protected.add_repository(below(path, ".git"));
        }
        let make = folder.kind == Node::Missing;
        match shape {
            Shape::Tree => self.open_tree(path, why, make, false),
            Shape::Path if matches!(at.kind, Node::File | Node::Missing) => {
                if !self.widen(path, why, make) && at.kind == Node::File {
                    self.open_file(&pattern.base, why);
                }
            }
            Shape::Path => {}
            Shape::Files | Shape::FilesBelow => {
                if !self.widen(path, why, make) {
                    let depth = if shape == Shape::Files { 1 } else { u32::MAX };
                    let Ok(glob) = Glob::compile(&pattern.text()) else { return };
                    for entry in self.list(path, depth).into_iter().filter(|entry| entry.kind == Node::File) {
                        let file = below(path, &entry.path);
                        if glob.matches(&file) {
                            self.open_file(&file, why);
                        }
                    }
                }
            }
            Shape::Folders => {
                let Some((first, rest)) = pattern.rest.split_first() else { return };
                let Ok(glob) = Glob::compile(first) else { return };
                for entry in self.list(path, 1) {
                    if entry.kind == Node::Directory && glob.matches(&entry.path) {
                        next.extend(PathPattern::new(&below(path, &entry.path), rest.iter().map(String::as_str)));
                    }
                }
            }
            Shape::FoldersBelow => {
                let (Some(glob), Some(last)) = (pattern.folders(), pattern.rest.last()) else { return };
                for entry in self.list(path, u32::MAX) {
                    let folder = below(path, &entry.path);
                    if entry.kind == Node::Directory && glob.matches(&folder) {
                        next.extend(PathPattern::new(&folder, std::iter::once(last.as_str())));
                    }
                }
            }
        }
    }

    /// Opens a folder for the sake of files in it. Returns false if something in it is protected.
    fn widen(&mut self, folder: &str, why: &'static str, make: bool) -> bool {
        if self.protected.is_protected(folder) || (self.protected.has_protected_below(folder) && !self.exceptions) {
            return false;
        }
        self.open_tree(folder, why, make, true);
        true
    }

    /// Opens a folder with everything in it except what is protected.
    pub(super) fn open_tree(&mut self, folder: &str, why: &'static str, make: bool, widened: bool) {
        let Location::Inside(inside) = Location::from_host(folder) else { return };
        if self.protected.is_protected(folder) {
            return self.note(format!("`{folder}` governs the gate or its hosts and is not granted"));
        }
        let mut grant = Grant { make, widened, ..Grant::new(folder, GrantKind::Tree, why) };
        if !self.protected.has_protected_below(folder) {
            return self.grant(grant);
        }
        if self.exceptions {
            grant.except = self.protected.protected_below(&inside);
            return self.grant(grant);
        }
        for entry in self.list(folder, 1) {
            let path = below(folder, &entry.path);
            match entry.kind {
                Node::Directory if !self.protected.is_protected(&path) => self.open_tree(&path, why, false, widened),
                Node::File => self.open_file(&path, why),
                _ => {}
            }
        }
    }

    fn open_file(&mut self, path: &str, why: &'static str) {
        if !self.protected.is_protected(path) {
            self.grant(Grant::new(path, GrantKind::File, why));
        }
    }

    fn list(&mut self, folder: &str, depth: u32) -> Vec<DirEntry> {
        if self.listings == MAX_LISTINGS {
            self.note(format!("only {MAX_LISTINGS} folders are searched for files in scope; `{folder}` is not"));
            return Vec::new();
        }
        self.listings += 1;
        let reach = ListingLimits::without_large_folders(depth.min(64), MAX_ENTRIES);
        let Ok(listing) = self.ports.workspace.list(Root::Project, folder, &reach) else { return Vec::new() };
        if listing.truncated {
            self.note(format!("`{folder}` has more than {MAX_ENTRIES} entries, and what they contain is not granted"));
        }
        listing.entries
    }

    /// Opens files that a command is known to write and that do not exist yet. They are created, because a folder that is not
    /// open accepts no new names.
    pub(super) fn open_known_files(&mut self, context: &Context<'_>) {
        const MAX_FILES: usize = 50;
        let writes = || context.footprint.touches.iter().filter(|touch| touch.access == Access::Write).take(MAX_FILES);
        let questions: Vec<Question> = writes().map(resolve::question_at_touch).collect();
        if questions.is_empty() {
            return;
        }
        for facts in self.ports.workspace.inspect(&questions) {
            let Some(real) = facts.real_path.filter(|_| facts.kind == Node::Missing) else { continue };
            let is_own = match Location::from_host(&real) {
                Location::Inside(path) => context.scope.is_some_and(|scope| scope.reach(&path) == Reach::Within),
                Location::Outside(path) => temporary_entry(&path).is_some_and(|(_, is_direct)| is_direct),
            };
            if is_own && !self.protected.is_protected(&real) && !self.is_open(&real) {
                self.grant(Grant { make: true, ..Grant::new(real, GrantKind::File, "the command creates it") });
            }
        }
    }

    /// Whether entries may be created and removed beside a path.
    fn is_open(&self, path: &str) -> bool {
        self.grants.iter().any(|grant| grant.kind == GrantKind::Tree && grant.path != path && grant.reaches(path))
    }

    /// Opens a place outside the workspace: absolute, or below the home folder as `~/…`.
    pub(super) fn open_place(&mut self, place: &str, why: &'static str) {
        self.open_places(&[place], why);
    }

    /// Opens several such places with one query. Those that do not exist are left out.
    pub(super) fn open_places(&mut self, places: &[&str], why: &'static str) {
        let question = |place: &&str| match below_home(place) {
            Some(below) => Question { root: Root::Home, path: below.to_owned(), digest: false },
            None => Question::project(*place),
        };
        let facts = self.ports.workspace.inspect(&places.iter().map(question).collect::<Vec<_>>());
        for (place, facts) in places.iter().zip(facts) {
            let Some(real) = facts.real_path else { continue };
            match facts.kind {
                Node::Missing | Node::Unreadable => {}
                Node::Directory => self.open_outside(&real, place, why, false),
                Node::File | Node::Other if self.protected.is_protected(&real) => {
                    self.note(format!("`{place}` governs the gate or its hosts and is not granted"));
                }
                Node::File | Node::Other => self.grant(Grant::new(real, GrantKind::File, why)),
            }
        }
    }

    /// Opens a folder by its real path, which is usually outside the workspace.
    pub(super) fn open_outside(&mut self, real: &str, named: &str, why: &'static str, make: bool) {
        if let Location::Inside(_) = Location::from_host(real) {
            return self.open_tree(real, why, make, false);
        }
        if self.protected.is_protected(real) || self.protected.has_protected_below(real) {
            return self
                .note(format!("`{named}` is not granted: the workspace, or what governs the gate or its hosts, is in it"));
        }
        self.grant(Grant { make, ..Grant::new(real, GrantKind::Tree, why) });
    }

    /// Whether nothing protected is at or below a path outside the workspace.
    pub(super) fn is_free(&self, real: &str) -> bool {
        !self.protected.is_protected(real) && !self.protected.has_protected_below(real)
    }

    pub(super) fn grant(&mut self, grant: Grant) {
        if self.grants.len() == MAX_GRANTS {
            return self.note(format!("only {MAX_GRANTS} paths are granted; name folders instead of files"));
        }
        if self.known.insert((grant.path.clone(), grant.kind)) {
            self.grants.push(grant);
        }
    }

    /// The resulting grants, without those that the grant of a folder already includes.
    pub(super) fn finish(self) -> Grants {
        let trees: BTreeSet<String> = self
            .grants
            .iter()
            .filter(|grant| grant.kind == GrantKind::Tree && grant.except.is_empty())
            .map(|grant| grant.path.clone())
            .collect();
        let is_covered = |path: &str| {
            let mut folder = path;
            while let Some((above, _)) = folder.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
                if trees.contains(above) {
                    return true;
                }
                folder = above;
            }
            false
        };
        let list =
            self.grants.into_iter().filter(|grant| grant.make && grant.kind == GrantKind::Tree || !is_covered(&grant.path));
        Grants { list: list.collect(), notes: self.notes, temporary: self.temporary, repository: self.repository }
    }
}

/// Whether a command may change anything.
fn may_change(footprint: &Footprint) -> bool {
    !footprint.unknowns.is_empty() || footprint.touches.iter().any(|touch| touch.access.mutates())
}

/// The questions about the folders for temporary files.
pub(super) fn temporary_questions() -> Vec<Question> {
    temporary::FOLDERS.iter().map(|folder| Question::project(*folder)).collect()
}
