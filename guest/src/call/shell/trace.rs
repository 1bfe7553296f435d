//! What has been found so far, and the ways to add to it.

use std::cell::RefCell;

use super::value::{Arg, HOME, ROOT, holds_marks, shown};
use super::world::World;
use crate::call::effect::{Deed, Footprint, Origin, Placement, Touch};
use crate::named::{Named, Seen};
use crate::ports::{Facts, Kind, Question, Workspace};

/// A command that touches more is not judged path by path.
const MOST_TOUCHES: usize = 4096;
/// A command that takes more steps to follow is not followed to its end.
const MOST_STEPS: usize = 20_000;
/// Reasons beyond these say nothing new.
const MOST_UNKNOWNS: usize = 32;
/// Loops, substitutions and shells within each other.
pub(super) const MOST_DEPTH: usize = 32;

/// What a command reads from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// Whatever the command line itself was given.
    Inherited,
    /// This text.
    Text(String),
    /// A file, by its path.
    File(String),
    /// A pipe with content that is not known.
    Unknown,
}

/// Whether a folder stands at a path by the time a command gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folder {
    Yes,
    No,
    /// The command line itself has been busy there.
    Perhaps,
}

/// The record of one command line.
pub(super) struct Trace<'w> {
    pub(super) workspace: &'w dyn Workspace,
    touches: Vec<Touch>,
    placements: Vec<Placement>,
    /// The same paths with `..` worked out, for comparing.
    places: Vec<String>,
    seen: Seen,
    unknowns: Vec<String>,
    /// What was taken away, in order, repetitions kept.
    removals: Vec<String>,
    pub(super) depth: usize,
    steps: usize,
    /// What the host has said already: it is asked about a path once.
    looked: RefCell<Named<Option<Facts>>>,
    /// The names in folders, and everything below folders.
    pub(super) listings: [Named<Option<Vec<String>>>; 2],
    /// What the last simple command prints, where that is certain.
    pub(super) said: Option<String>,
    /// What the command that is being expanded reads from, and so what the substitutions in it read from.
    pub(super) stdin: Input,
    /// Worlds that left a loop or a function, until its end takes them up again.
    pub(super) broken: Vec<World>,
    pub(super) continued: Vec<World>,
    pub(super) returned: Vec<World>,
}

impl<'w> Trace<'w> {
    pub(super) fn new(workspace: &'w dyn Workspace) -> Self {
        Self {
            workspace,
            touches: Vec::new(),
            placements: Vec::new(),
            places: Vec::new(),
            seen: Seen::default(),
            unknowns: Vec::new(),
            removals: Vec::new(),
            depth: 0,
            steps: 0,
            looked: RefCell::default(),
            listings: Default::default(),
            said: None,
            stdin: Input::Inherited,
            broken: Vec::new(),
            continued: Vec::new(),
            returned: Vec::new(),
        }
    }

    pub(super) fn footprint(self) -> Footprint {
        Footprint { touches: self.touches, placements: self.placements, unknowns: self.unknowns, conditional: true }
    }

    /// Says why something cannot be known, once.
    pub(super) fn unknown(&mut self, why: String) {
        if self.unknowns.len() < MOST_UNKNOWNS && !self.unknowns.contains(&why) {
            self.unknowns.push(why);
        }
    }

    /// Counts a step; false when there have been too many.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps == MOST_STEPS {
            self.unknown("the command takes too many steps to be followed to its end".to_owned());
        }
        self.steps < MOST_STEPS
    }

    /// Goes one level down, unless that is too deep.
    pub(super) fn deeper<T: Default>(&mut self, go: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MOST_DEPTH {
            self.unknown("the command is too deeply nested to be followed".to_owned());
            return T::default();
        }
        self.depth += 1;
        let out = go(self);
        self.depth -= 1;
        out
    }

    /// Enters that something is done at an argument's path, at each of its names if it is a pattern.
    pub(super) fn touch(&mut self, world: &World, by: &str, arg: &Arg, deed: Deed) {
        for path in self.paths(world, by, arg, deed) {
            self.touch_path(world, by, &path, deed);
        }
    }

    /// Enters that something is done at one path.
    pub(super) fn touch_path(&mut self, world: &World, by: &str, path: &str, deed: Deed) {
        if path.is_empty() || is_no_file(path) {
            return;
        }
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            return self.unknown(format!("`{}` is a network connection", shown(path)));
        }
        match self.located(world, path) {
            Some(path) => self.enter(path, deed),
            None if deed == Deed::Read => {}
            None if deed == Deed::Execute => self.enter(".".to_owned(), deed),
            None => self.unknown(format!("`{}` changes `{}`, a path that is only known when it runs", shown(by), shown(path))),
        }
    }

    /// Enters that something is put at one path as it is. Where its path is not known, the touches say so.
    pub(super) fn place(&mut self, world: &World, at: &str, origin: Origin) {
        let located = match &origin {
            Origin::Link(text) => Some(Origin::Link(text.clone())),
            Origin::Copy(from) => self.located(world, from).map(Origin::Copy),
            Origin::Same(from) => self.located(world, from).map(Origin::Same),
        };
        if let (Some(at), Some(origin)) = (self.located(world, at), located) {
            let placement = Placement { at, origin };
            if !self.placements.contains(&placement) && self.placements.len() < MOST_TOUCHES {
                self.placements.push(placement);
            }
        }
    }

    fn enter(&mut self, path: String, deed: Deed) {
        if path.chars().any(char::is_control) {
            if deed != Deed::Read {
                self.unknown(format!("the path `{}` holds a control character", shown(&path)));
            }
            return;
        }
        if self.touches.len() >= MOST_TOUCHES {
            return self.unknown(format!("the command touches more than `{MOST_TOUCHES}` paths"));
        }
        if matches!(deed, Deed::Delete | Deed::DeleteTree) && self.removals.len() < MOST_TOUCHES {
            self.removals.push(lexical(&path));
        }
        if self.seen.insert(&path, deed as u32) {
            self.places.push(lexical(&path));
            self.touches.push(Touch { path, deed });
        }
    }

    /// How much has been found so far.
    pub(super) fn mark(&self) -> usize {
        self.touches.len()
    }

    /// Whether anything found since then changes something.
    pub(super) fn changes_since(&self, mark: usize) -> bool {
        self.touches.iter().skip(mark).any(|touch| !matches!(touch.deed, Deed::Read | Deed::Execute))
    }

    /// Widens what was found since then at or beside a path to everything below it: the path stood for names that are found
    /// there when the command runs.
    pub(super) fn widen_since(&mut self, mark: usize, path: &str) {
        let found = self.touches.split_off(mark.min(self.touches.len()));
        self.places.truncate(self.touches.len());
        for touch in found {
            self.seen.remove(&touch.path, touch.deed as u32);
            let deed = match touch.deed {
                Deed::Delete | Deed::DeleteTree => Deed::DeleteTree,
                Deed::Read | Deed::Execute => touch.deed,
                _ => Deed::WriteTree,
            };
            if touch.path.starts_with(path) && deed != touch.deed || touch.deed == deed && touch.path == path {
                self.enter(path.to_owned(), deed);
            } else {
                self.enter(touch.path, touch.deed);
            }
        }
    }

    /// Enters that a program runs whose effects cannot be seen.
    pub(super) fn execute(&mut self, world: &World, program: Option<&Arg>) {
        match program {
            Some(program) if program.is_known() => self.touch_path(world, &program.text, &program.text, Deed::Execute),
            _ => self.touch_path(world, "", ".", Deed::Execute),
        }
    }

    /// A path as a touch spells it.
    pub(super) fn located(&self, world: &World, path: &str) -> Option<String> {
        let joined = world.join(path)?;
        let spelled = if let Some(rest) = joined.strip_prefix(HOME) {
            format!("~{rest}")
        } else if let Some(rest) = joined.strip_prefix(ROOT) {
            match rest.trim_start_matches('/') {
                "" => ".".to_owned(),
                rest => rest.to_owned(),
            }
        } else if joined.starts_with('~') {
            // A name that begins with a tilde is no home folder.
            format!("./{joined}")
        } else {
            joined
        };
        (!holds_marks(&spelled)).then_some(spelled)
    }

    /// What the workspace knows about a path.
    pub(super) fn facts(&self, world: &World, path: &str) -> Option<Facts> {
        let path = self.located(world, path)?;
        // The home folder is the caller's to find.
        if path.starts_with('~') || path.chars().any(char::is_control) {
            return None;
        }
        if let Some(facts) = self.looked.borrow().get(&path) {
            return facts.clone();
        }
        let facts = self.workspace.inspect(&[Question::project(path.clone())]).pop();
        self.looked.borrow_mut().insert(&path, facts.clone());
        facts
    }

    pub(super) fn kind(&self, world: &World, path: &str) -> Kind {
        self.facts(world, path).map_or(Kind::Missing, |facts| facts.kind)
    }

    pub(super) fn folder(&self, world: &World, path: &str) -> Folder {
        if self.kind(world, path) == Kind::Directory {
            return Folder::Yes;
        }
        let Some(path) = self.located(world, path).map(|path| lexical(&path)) else { return Folder::Perhaps };
        let made = |(touch, at): (&Touch, &String)| {
            let mutates = !matches!(touch.deed, Deed::Read | Deed::Execute | Deed::Alias);
            let tree = matches!(touch.deed, Deed::WriteTree | Deed::DeleteTree);
            mutates && (*at == path || is_below(at, &path) || (tree && is_below(&path, at)))
        };
        if self.touches.iter().zip(&self.places).any(made) { Folder::Perhaps } else { Folder::No }
    }

    /// Whether a folder stands at a path for certain, whatever the command line did before.
    pub(super) fn stands(&self, world: &World, path: &str) -> bool {
        let Some(located) = self.located(world, path) else { return false };
        let taken = |from: usize, path: &str| self.removals.iter().skip(from).any(|gone| gone == path || is_below(path, gone));
        let at = lexical(&located);
        if world.made.get(&at).is_some_and(|from| !taken(*from, &at)) {
            return true;
        }
        let mut above = located.as_str();
        loop {
            if taken(0, &lexical(above)) {
                return false;
            }
            match above.rsplit_once('/') {
                // The way back out of a folder needs the folder.
                Some((shorter, "..")) if !shorter.ends_with("..") && self.kind(&World::new(""), shorter) != Kind::Directory => {
                    return false;
                }
                Some((shorter, _)) => above = shorter,
                None => break,
            }
        }
        matches!(self.kind(world, path), Kind::Directory | Kind::Unreadable | Kind::Other) || located.starts_with('~')
    }

    /// Whether the command line itself may have taken away what stands at a path.
    pub(super) fn is_removed(&self, world: &World, path: &str) -> bool {
        let Some(at) = self.located(world, path).map(|path| lexical(&path)) else { return false };
        self.removals.iter().any(|gone| *gone == at || is_below(&at, gone))
    }

    /// Remembers in a world that a folder was made, with those above it if `parents`.
    pub(super) fn made(&self, world: &mut World, path: &str, parents: bool) {
        let Some(located) = self.located(world, path) else { return };
        let above = path.trim_end_matches('/').rsplit_once('/').map_or(".", |(above, _)| above);
        if (!parents && !self.stands(world, above)) || self.kind(world, path) == Kind::File {
            return;
        }
        let mut at = lexical(&located);
        let made = std::rc::Rc::make_mut(&mut world.made);
        loop {
            made.insert(at.clone(), self.removals.len());
            match at.rsplit_once('/') {
                Some((above, _)) if parents && !above.is_empty() => at = above.to_owned(),
                _ => break,
            }
        }
    }

    /// Whether the command line itself may have changed what stands at a path.
    pub(super) fn is_touched(&self, path: &str) -> bool {
        let path = lexical(path);
        let changed = |(touch, at): (&Touch, &String)| {
            touch.deed == Deed::Execute || (touch.deed != Deed::Read && (*at == path || is_below(&path, at)))
        };
        self.touches.iter().zip(&self.places).any(changed)
    }

    /// The names that the command line itself may have made in a folder.
    pub(super) fn made_in(&self, folder: &str) -> Seen {
        let folder = lexical(folder);
        let mut names = Seen::default();
        for (touch, at) in self.touches.iter().zip(&self.places) {
            if matches!(touch.deed, Deed::Read | Deed::Execute | Deed::Alias) {
                continue;
            }
            let below = || at.strip_prefix(folder.as_str())?.strip_prefix('/');
            let rest = if folder == "." { Some(at.as_str()) } else { below() };
            match rest.and_then(|rest| rest.split('/').next()) {
                None | Some("" | "." | "..") => {}
                Some(name) => drop(names.insert(name, 0)),
            }
        }
        names
    }
}

/// Names of descriptors and of devices that keep nothing.
pub(super) fn is_no_file(path: &str) -> bool {
    let device = |name: &str| {
        matches!(name, "null" | "zero" | "full" | "random" | "urandom" | "stdin" | "stdout" | "stderr" | "tty")
            || name.strip_prefix("fd/").is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    path == "-" || path.strip_prefix("/dev/").is_some_and(device)
}

/// A path with `.` and `..` worked out as text, for comparing within one command line only.
pub(super) fn lexical(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            name => names.push(name),
        }
    }
    match (path.starts_with('/'), names.join("/")) {
        (true, path) => format!("/{path}"),
        (false, path) if path.is_empty() => ".".to_owned(),
        (false, path) => path,
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    (folder == "." && !path.starts_with('/')) || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
