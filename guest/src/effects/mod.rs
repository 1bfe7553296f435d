//! Footprints and effects: what a call does to which paths, before and after the host has resolved those paths.

pub mod path;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use path::{Location, WorkspacePath};

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Its content or its listing is read.
    Read,
    /// It is created.
    Create,
    /// Its content or its attributes are changed.
    Modify,
    /// It is deleted.
    Delete,
    /// It is run; what that does cannot be known beforehand.
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
    /// Read it.
    Read,
    /// Write content to it: the file is created or modified, and a link is followed.
    Write,
    /// Create, change or remove anything in it, also through the links in it: commands that copy into a folder, unpack, format,
    /// or delete while following links.
    WriteTree,
    /// Create a folder, including missing parent folders.
    MakeFolder,
    /// Change its owner, its mode or its times.
    Attributes,
    /// Remove the directory entry itself: a file, a link, an empty folder.
    Delete,
    /// Remove a folder with everything in it. A link in it is removed; the link's target stays.
    DeleteTree,
    /// Give it a second name, through which it can be changed from then on (a hard link).
    Alias,
    /// Run it, or run a program in it; what that does cannot be known.
    Execute,
}

impl Access {
    /// Whether it may change anything.
    pub fn mutates(self) -> bool {
        self != Self::Read
    }
}

/// One path of a call, as spelled in the call's arguments and made relative only to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathAccess {
    /// Relative to the workspace, absolute, or below the home folder as `~/…`; not yet resolved.
    pub path: String,
    /// What is done there.
    pub access: Access,
}

/// The source of something that is put at a path as it is, rather than written there as content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A new symbolic link with this target: `ln -s`.
    Link(String),
    /// A copy of this path, with links copied as links: `cp -r`, `cp -P`.
    Copy(String),
    /// The file, link or folder at this path itself, under a new name: `mv`, `ln`, `cp -l`.
    Same(String),
}

/// Something that a call puts at a path as it is: a link, a move, or a copy with its links.
///
/// A touch says that a path changes. A placement also says what is at the path afterwards, which matters because later writes can
/// go through it: a relative link leads elsewhere from its new place, and a file with several names keeps them when it is moved.
/// A placement does not replace the touches of both ends: `mv a b` is `Delete a`, `Write b` and a placement of `a` itself at `b`;
/// `ln -s t a` is `Write a` and a placement at `a` of a link to `t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The path where it is put, including its own name; spelled as in [`PathAccess`].
    pub at: String,
    /// What is put there; paths are spelled as in [`PathAccess`].
    pub origin: Origin,
}

/// Whether a process that a call starts may keep running after the call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// It ends with the call.
    #[default]
    Ends,
    /// It waits for later input; it ends with the call at the latest.
    Interactive,
    /// The agent program keeps it running, at most until the session ends.
    Session,
    /// Nothing ends it when the session ends.
    Detached,
}

/// Why the kernel cannot hold part of a command to a scope; used in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unconfinable {
    /// A daemon or another machine does the work, and the kernel does not confine those.
    Elsewhere(String),
    /// The command changes files that are known only at run time, and would stop half-way at the first one out of scope.
    HalfWay(String),
}

/// Everything a call does, according to its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The paths, in order of appearance.
    pub touches: Vec<PathAccess>,
    /// What is linked, moved, or copied with its links.
    pub placements: Vec<Placement>,
    /// Why parts of it cannot be known. Empty means that the footprint is complete.
    pub unknowns: Vec<String>,
    /// Whether some of the unknowns are due to an unknown tool, so that a declaration of that tool by a person would help.
    pub unfamiliar: bool,
    /// Commands in it that change the gate, its approvals, its wiring or its ledger, for a message. Only a person may run them,
    /// whatever an intent owns.
    pub controls: Vec<String>,
    /// Whether some of it may not happen, as in a shell command with several branches.
    pub conditional: bool,
    /// The names of programs that are run and do more than can be determined.
    pub programs: BTreeSet<String>,
    /// Why the kernel cannot hold some of it to a scope.
    pub unconfinable: Vec<Unconfinable>,
    /// Whether some of it may happen after the call has ended.
    pub persistence: Persistence,
}

impl Footprint {
    /// A footprint about which nothing is known.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self { unknowns: vec![why.into()], ..Self::default() }
    }

    /// Adds a path, unless it is already there.
    pub fn touch(&mut self, path: impl Into<String>, access: Access) {
        let touch = PathAccess { path: path.into(), access };
        if !self.touches.contains(&touch) {
            self.touches.push(touch);
        }
    }

    /// Records that something is put at a path as it is, unless that is already there.
    pub fn place(&mut self, at: impl Into<String>, origin: Origin) {
        let placement = Placement { at: at.into(), origin };
        if !self.placements.contains(&placement) {
            self.placements.push(placement);
        }
    }

    /// Adds everything from another footprint.
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

/// How much of what is at a path an effect covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Only the path itself.
    Itself,
    /// A folder that is created, empty.
    Folder,
    /// A folder with everything in it, whether known or not.
    Tree,
    /// A folder whose content is listed as separate effects, one for each file; those effects are judged instead.
    Listed,
}

/// One operation on one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The affected path.
    pub location: Location,
    /// The operation.
    pub operation: Operation,
    /// How much of the path is affected.
    pub extent: Extent,
    /// The digest of the content before the change, where an existing file changes.
    pub pre_hash: Option<Digest>,
    /// The time at which the host looked, taken from the file's stamp; 0 if there was no file.
    pub stamp: u64,
    /// The link or other name that leads to the path, where the call itself does not name the path.
    pub via: Option<String>,
}

impl Effect {
    /// Whether it may change anything.
    pub fn mutates(&self) -> bool {
        self.operation != Operation::Read
    }

    /// The file of the workspace that it changes; `None` if the path is outside the workspace or a folder, or if the change is
    /// not predictable.
    pub fn changed_file(&self) -> Option<&WorkspacePath> {
        match &self.location {
            Location::Inside(path) if self.extent == Extent::Itself && self.mutates() && self.operation != Operation::Execute => {
                Some(path)
            }
            _ => None,
        }
    }
}
