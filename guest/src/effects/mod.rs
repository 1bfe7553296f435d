//! Footprints and effects: what a call does to which paths, before and after the host has resolved them.

pub mod path;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use path::{Location, WorkspacePath};

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Its content or its listing is looked at.
    Read,
    /// It comes into being.
    Create,
    /// Its content or its attributes change.
    Modify,
    /// It goes away.
    Delete,
    /// It is run, and what that does cannot be seen beforehand.
    Execute,
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
            Self::Execute => "execute",
        })
    }
}

/// What a tool would do at a path, as its arguments say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Look at it.
    Read,
    /// Give it content: it is created or modified, and a link is written through.
    Write,
    /// Anything in it may be created, changed or removed, also through the links in it: what copies into a folder, unpacks,
    /// formats, or deletes with links followed.
    WriteTree,
    /// Make a folder, with those above it.
    MakeFolder,
    /// Change its owner, its mode, its times.
    Attributes,
    /// Remove the directory entry itself: a file, a link, an empty folder.
    Delete,
    /// Remove a folder with everything in it. A link in it is removed, its target stays.
    DeleteTree,
    /// Give it a second name, through which it can be changed from then on.
    Alias,
    /// Run it, or run a program in it; what that does cannot be seen.
    Execute,
}

impl Access {
    /// Whether it may leave anything different.
    pub fn mutates(self) -> bool {
        self != Self::Read
    }
}

/// One path of a call, as its arguments spell it, made relative to nothing but the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathAccess {
    /// Relative to the workspace, absolute, or below the home folder as `~/…`; not yet walked.
    pub path: String,
    /// What is done there.
    pub access: Access,
}

/// Where something comes from that is put at a path as it is, without its content being written there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A new symbolic link that says this: `ln -s`.
    Link(String),
    /// A copy of what is at this path, links copied as links: `cp -r`, `cp -P`.
    Copy(String),
    /// The file, the link or the folder at this path itself, under a new name: `mv`, `ln`, `cp -l`.
    Same(String),
}

/// Something that a call puts at a path as it is.
///
/// A touch says that a path changes. A placement says in addition what is there afterwards, which matters because
/// later writes can go through it: a relative link leads elsewhere from its new place, and a file that has other names
/// takes them along. It does not replace the touches of both ends: `mv a b` is `Delete a`, `Write b` and a placement at `b` of
/// the same `a`; `ln -s t a` is `Write a` and a placement at `a` of a link that says `t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Where it is put, its own name included; spelled as in [`PathAccess`].
    pub at: String,
    /// What is put there; paths are spelled as in [`PathAccess`].
    pub origin: Origin,
}

/// Whether what a call starts may keep running after the call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// It ends with the call.
    #[default]
    Ends,
    /// It reads what is typed into it later; once the call has ended, so has it.
    Interactive,
    /// The agent program keeps it running, until the session is over at the latest.
    Session,
    /// Nothing ends it together with the session.
    Detached,
}

/// Why the kernel cannot hold some of a command to a scope, for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unconfinable {
    /// A daemon or another machine does it, which the kernel does not hold.
    Elsewhere(String),
    /// It changes files that are known only at run time, and would stop half-way at the first one out of scope.
    HalfWay(String),
}

/// Everything a call does, according to its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Paths, in order of appearance.
    pub touches: Vec<PathAccess>,
    /// What is linked, moved, or copied with its links.
    pub placements: Vec<Placement>,
    /// Why some of it cannot be known at all. Empty means that the rest is complete.
    pub unknowns: Vec<String>,
    /// Whether some of that is because the tool is unknown, so that a person's declaration about it would help.
    pub unfamiliar: bool,
    /// Commands among it that change the gate, its approvals, its wiring or its ledger, for a message. Only a person may give
    /// them, whatever an intent owns.
    pub controls: Vec<String>,
    /// Whether some of it may not happen, as in a shell command that can take several ways.
    pub conditional: bool,
    /// The programs that are run and do more than can be seen, by name.
    pub programs: BTreeSet<String>,
    /// Why the kernel cannot hold some of it to a scope.
    pub unconfinable: Vec<Unconfinable>,
    /// Whether some of it may happen after the call has ended.
    pub persistence: Persistence,
}

impl Footprint {
    /// A footprint of which nothing can be known.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self { unknowns: vec![why.into()], ..Self::default() }
    }

    /// Adds a path, once.
    pub fn touch(&mut self, path: impl Into<String>, access: Access) {
        let touch = PathAccess { path: path.into(), access };
        if !self.touches.contains(&touch) {
            self.touches.push(touch);
        }
    }

    /// Adds that something is put at a path as it is, once.
    pub fn place(&mut self, at: impl Into<String>, origin: Origin) {
        let placement = Placement { at: at.into(), origin };
        if !self.placements.contains(&placement) {
            self.placements.push(placement);
        }
    }

    /// Adds what another footprint holds.
    pub fn merge(&mut self, other: Self) {
        for touch in other.touches {
            self.touch(touch.path, touch.access);
        }
        for placement in other.placements {
            self.place(placement.at, placement.origin);
        }
        self.unknowns.extend(other.unknowns);
        self.unfamiliar |= other.unfamiliar;
        self.controls.extend(other.controls);
        self.conditional |= other.conditional;
        self.programs.extend(other.programs);
        self.unconfinable.extend(other.unconfinable);
        self.persistence = self.persistence.max(other.persistence);
    }
}

/// How much of what is at a path an effect is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// That path alone.
    Itself,
    /// A folder that comes into being, empty.
    Folder,
    /// A folder with everything in it, known or not.
    Tree,
    /// A folder whose content is listed, an effect for each file, so that they decide.
    Listed,
}

/// One operation on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// Where.
    pub location: Location,
    /// What.
    pub operation: Operation,
    /// How much.
    pub extent: Extent,
    /// The content before, where an existing file changes.
    pub pre_hash: Option<Digest>,
    /// When the host looked, as the file's stamp tells; 0 if nothing stood.
    pub stamp: u64,
    /// The link or the other name that leads there, where the call itself does not name the path.
    pub via: Option<String>,
}

impl Effect {
    /// Whether it leaves anything different.
    pub fn mutates(&self) -> bool {
        self.operation != Operation::Read
    }

    /// The file of the workspace that it leaves different; `None` if that is outside, a folder, or not to be foreseen.
    pub fn changed_file(&self) -> Option<&WorkspacePath> {
        match &self.location {
            Location::Inside(path) if self.extent == Extent::Itself && self.mutates() && self.operation != Operation::Execute => {
                Some(path)
            }
            _ => None,
        }
    }
}
