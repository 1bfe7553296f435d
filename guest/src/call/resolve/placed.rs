//! Judges what is linked, moved, or copied with its links by where it leads from its new location. A call may not write through
//! what it has just put there.

use std::collections::{HashMap, HashSet};

use super::search::SharedFile;
use super::trees::{MAX_SEARCHED, is_at_or_below};
use super::{Resolving, question_at};
use crate::effects::path::Location;
use crate::effects::{Access, Extent, Footprint, Origin, Placement};
use crate::ports::{Facts, FileKind, Question};

/// The most links that one call puts in place.
const MAX_PLACED: usize = 10_000;

/// The most links that one call moves on after putting them in place. A folder that is copied into itself would have no end.
const MAX_MOVED_LINKS: usize = 256;

/// Something that may lead elsewhere once the call has put it in place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Placed {
    /// The path, as the call spells it.
    at: String,
    /// The path, as the host spells it.
    entry: String,
    /// The target of the link; `None` if it may contain links anywhere.
    text: Option<String>,
}

impl Placed {
    /// The same below a folder that is moved as a whole.
    fn relocate(&self, from: &str, to: &Self) -> Self {
        let below = self.entry.strip_prefix(from).unwrap_or_default().trim_matches('/');
        Self { text: self.text.clone(), ..to.inside(below) }
    }

    fn inside(&self, below: &str) -> Self {
        let join = |folder: &str| match below {
            "" => folder.to_owned(),
            _ if folder == "." => below.to_owned(),
            _ => format!("{}/{below}", folder.trim_end_matches('/')),
        };
        Self { at: join(&self.at), entry: join(&self.entry), text: None }
    }
}

impl Resolving<'_> {
    /// Adds the effects of placements, through where they lead.
    pub(super) fn place(&mut self, footprint: &Footprint, facts: &[Facts]) {
        if footprint.placements.is_empty() {
            return;
        }
        let looked = self.inspect_placements(footprint, facts);
        let mut placed = Vec::new();
        let mut moves = Vec::new();
        for placement in &footprint.placements {
            let Some(entry) = looked.get(&placement.at).and_then(|facts| facts.entry_path.clone()) else { continue };
            // What is put outside the owned paths is denied anyway.
            if !self.is_owned(&entry) {
                continue;
            }
            let to = Placed { at: placement.at.clone(), entry, text: None };
            if let Some(from) = origin(placement).and_then(|from| looked.get(from)?.entry_path.clone()) {
                moves.push((from, to.clone()));
            }
            self.add_placement(placement, to, &looked, &mut placed);
        }
        self.follow_moves(&moves, &mut placed);
        self.judge_placed(&placed);
        self.judge_touches(footprint, facts, &placed);
    }

    /// What the host says about both ends of every placement. Most of them are touched too, so the host has already looked there.
    fn inspect_placements(&self, footprint: &Footprint, facts: &[Facts]) -> HashMap<String, Facts> {
        let mut looked: HashMap<String, Facts> = HashMap::new();
        for (touch, facts) in footprint.touches.iter().zip(facts) {
            looked.insert(touch.path.clone(), facts.clone());
        }
        let ends = footprint.placements.iter().flat_map(|placement| origin(placement).into_iter().chain([placement.at.as_str()]));
        let mut left: Vec<&str> = ends.filter(|end| !looked.contains_key(*end)).collect();
        left.sort_unstable();
        left.dedup();
        if !left.is_empty() {
            let questions: Vec<Question> = left.iter().map(|path| question_at(path)).collect();
            let facts = self.workspace.inspect(&questions);
            looked.extend(left.into_iter().map(str::to_owned).zip(facts));
        }
        looked
    }

    fn is_owned(&self, entry: &str) -> bool {
        match Location::from_host(entry) {
            Location::Inside(path) => (self.owns)(&path, Extent::Itself) || (self.owns)(&path, Extent::Tree),
            Location::Outside(_) => false,
        }
    }

    /// Finds what may lead elsewhere in a placement.
    fn add_placement(&mut self, placement: &Placement, to: Placed, looked: &HashMap<String, Facts>, placed: &mut Vec<Placed>) {
        let (from, same) = match &placement.origin {
            Origin::Link(text) => return placed.push(Placed { text: Some(text.clone()), ..to }),
            Origin::Copy(from) => (from, false),
            Origin::Same(from) => (from, true),
        };
        let Some(facts) = looked.get(from) else {
            return self.add_unknown(format!("the host did not inspect `{from}`"));
        };
        let through = from.ends_with('/') || from.ends_with("/.");
        if let (Some(text), false) = (&facts.link, through) {
            return placed.push(Placed { text: Some(text.clone()), ..to });
        }
        match facts.kind {
            FileKind::Directory => self.add_placed_folder(facts, same, &to, placed),
            FileKind::File if same && facts.hard_links > 1 => {
                self.add_shared(vec![SharedFile::of(facts.entry_path.as_deref().unwrap_or(from), facts)])
            }
            FileKind::Unreadable => placed.push(to),
            FileKind::Other | FileKind::Missing if facts.real_path != facts.entry_path => {
                self.add_unknown(format!("`{from}` is a link that cannot be read"));
            }
            FileKind::File | FileKind::Other | FileKind::Missing => {}
        }
    }

    fn add_placed_folder(&mut self, facts: &Facts, same: bool, to: &Placed, placed: &mut Vec<Placed>) {
        let Some(Location::Inside(folder)) = facts.real_path.as_deref().map(Location::from_host) else {
            return placed.push(to.clone());
        };
        let below = self.trees.list_tree(folder.as_str(), MAX_SEARCHED);
        if below.missing.is_some() {
            placed.push(to.clone());
        }
        for entry in below.entries.iter().filter(|entry| entry.kind == FileKind::Other) {
            let relative =
                if folder.as_str() == "." { Some(entry.path.as_str()) } else { entry.path.strip_prefix(folder.as_str()) };
            // It is not known where an entry leads that is neither a link nor a file, or a link that cannot be read.
            placed.push(Placed { text: entry.link.clone(), ..to.inside(relative.unwrap_or_default().trim_matches('/')) });
        }
        if same {
            self.add_other_owners(below.entries);
        }
    }

    /// What is put somewhere and then moved on, by itself or with a parent folder, counts at both places.
    fn follow_moves(&mut self, moves: &[(String, Placed)], placed: &mut Vec<Placed>) {
        if placed.len() > MAX_PLACED {
            placed.truncate(MAX_PLACED);
            return self.add_unknown("the call creates more links than can be followed".to_owned());
        }
        let mut known: HashSet<Placed> = placed.iter().cloned().collect();
        let (mut next, most) = (0, placed.len() + MAX_MOVED_LINKS);
        while let Some(one) = placed.get(next).cloned() {
            next += 1;
            for (from, to) in moves {
                let on = match &one.text {
                    _ if is_at_or_below(&one.entry, from) => one.relocate(from, to),
                    None if is_at_or_below(from, &one.entry) => to.clone(),
                    Some(_) if is_at_or_below(from, &one.entry) => {
                        self.add_unknown(format!(
                            "`{}` is a link that the call itself creates, and the call moves something behind it",
                            one.entry
                        ));
                        continue;
                    }
                    _ => continue,
                };
                if placed.len() >= most {
                    return self.add_unknown("the call moves more links than can be followed".to_owned());
                }
                if known.insert(on.clone()) {
                    placed.push(on);
                }
            }
        }
    }

    /// Adds where the links lead from their new places, unless that is owned.
    fn judge_placed(&mut self, placed: &[Placed]) {
        let paths = placed_paths(placed);
        let links: Vec<(&Placed, String)> =
            placed.iter().filter_map(|link| Some((link, target(&link.at, link.text.as_deref()?)))).collect();
        if links.is_empty() {
            return;
        }
        let questions: Vec<Question> = links.iter().map(|(_, target)| question_at(target)).collect();
        let facts = self.workspace.inspect(&questions);
        if facts.len() < links.len() {
            self.add_unknown("the host did not follow every link that the call creates".to_owned());
        }
        let mut shared = Vec::new();
        for ((link, target), facts) in links.iter().zip(&facts) {
            if goes_through(target, facts, &paths) {
                self.add_unknown(format!("`{}` leads through another link that the call itself creates", link.entry));
            }
            if facts.kind == FileKind::File && facts.hard_links > 1 {
                shared.push(SharedFile::of(&link.entry, facts));
            }
            self.follow_link(&link.entry, facts);
        }
        self.add_shared(shared);
    }

    /// If a call writes through something that it has itself put in place, what the host saw beforehand is no longer valid.
    fn judge_touches(&mut self, footprint: &Footprint, facts: &[Facts], placed: &[Placed]) {
        let paths = placed_paths(placed);
        for (touch, facts) in footprint.touches.iter().zip(facts) {
            if !matches!(touch.access, Access::Read | Access::Execute) && goes_through(&touch.path, facts, &paths) {
                self.add_unknown(format!("`{}` leads through a link that the call itself creates or moves", touch.path));
            }
        }
    }
}

fn origin(placement: &Placement) -> Option<&str> {
    match &placement.origin {
        Origin::Link(_) => None,
        Origin::Copy(from) | Origin::Same(from) => Some(from),
    }
}

/// The path that a link's target stands for at the link's location, not yet resolved.
fn target(at: &str, text: &str) -> String {
    match at.trim_end_matches('/').rsplit_once('/') {
        _ if text.starts_with('/') => text.to_owned(),
        None => text.to_owned(),
        Some((folder, _)) => format!("{folder}/{text}"),
    }
}

/// Every spelling of a path by which a call may go through what it has put in place.
fn placed_paths(placed: &[Placed]) -> HashSet<String> {
    placed.iter().flat_map(|one| [one.entry.clone(), prefixes(&one.at).pop().unwrap_or_default()]).collect()
}

/// Whether a path goes through one of these.
fn goes_through(path: &str, facts: &Facts, paths: &HashSet<String>) -> bool {
    let spelled = [Some(path), facts.real_path.as_deref(), facts.entry_path.as_deref()];
    spelled.into_iter().flatten().any(|path| {
        let mut prefixes = prefixes(path);
        prefixes.pop();
        prefixes.iter().any(|prefix| paths.contains(prefix))
    })
}

/// Every location along a path, including its end, with `..` resolved textually.
fn prefixes(path: &str) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut prefixes = Vec::new();
    let top = if path.starts_with('/') { "/" } else { "" };
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == ".." && names.last().is_some_and(|last| *last != "..") {
            names.pop();
        } else {
            names.push(name);
        }
        prefixes.push(format!("{top}{}", names.join("/")));
    }
    prefixes
}
