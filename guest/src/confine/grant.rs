//! A path or a tree that may be changed, and why.

use serde_json::{Map, Value};

/// Whether a grant is about a file or about a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantKind {
    /// A file: its content may be changed, but not its name.
    File,
    /// A folder with everything that is in it now or later.
    Tree,
}

/// Something that may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The real path, relative to the workspace or absolute; it does not lead through a link.
    pub path: String,
    /// A file, or a folder with everything in it.
    pub kind: GrantKind,
    /// Why it is granted, for people.
    pub why: &'static str,
    /// Whether it is created if it does not exist: an empty file, or a folder with its parent folders.
    pub make: bool,
    /// Whether it reaches further than what it is granted for, because the kernel cannot express it more exactly.
    pub widened: bool,
    /// What stays closed in it, where the system supports exceptions; later grants override earlier exceptions.
    pub except: Vec<String>,
}

impl Grant {
    /// A grant with default options.
    pub fn new(path: impl Into<String>, kind: GrantKind, why: &'static str) -> Self {
        Self { path: path.into(), kind, why, make: false, widened: false, except: Vec::new() }
    }

    /// Whether the grant covers a path: it is for the path itself or for a folder above it.
    pub fn reaches(&self, path: &str) -> bool {
        match self.kind {
            GrantKind::File => self.path == path,
            GrantKind::Tree => is_at_or_below(path, &self.path) && !self.except.iter().any(|closed| is_at_or_below(path, closed)),
        }
    }

    /// The grant as JSON, for hosts.
    pub fn json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("path".to_owned(), self.path.clone().into());
        fields.insert("kind".to_owned(), if self.kind == GrantKind::File { "file" } else { "tree" }.into());
        fields.insert("why".to_owned(), self.why.into());
        for (name, is_set) in [("make", self.make), ("widened", self.widened)] {
            if is_set {
                fields.insert(name.to_owned(), true.into());
            }
        }
        if !self.except.is_empty() {
            fields.insert("except".to_owned(), self.except.clone().into());
        }
        Value::Object(fields)
    }
}

/// Whether `path` is `above` or below it; `.` is the workspace.
pub(super) fn is_at_or_below(path: &str, above: &str) -> bool {
    if above == "." {
        return !path.starts_with('/');
    }
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || above == "/")
}

/// Everything that a command may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// The grants, in order of precedence.
    pub list: Vec<Grant>,
    /// What is not granted although it was asked for, and why.
    pub notes: Vec<String>,
    /// The session's own folder for temporary files.
    pub temporary: Option<String>,
    /// Whether git can change the workspace's repository.
    pub repository: Repository,
}

/// Whether git can change the workspace's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repository {
    /// There is no repository.
    #[default]
    None,
    /// Git cannot change it.
    Closed,
    /// Git can change it.
    Open,
}

impl Grants {
    /// Whether a path may be changed in every way, with names made and removed beside it.
    pub fn opens(&self, path: &str) -> bool {
        let beside = |grant: &Grant| grant.kind == GrantKind::Tree && grant.path != path && grant.reaches(path);
        self.list.iter().any(beside)
    }

    /// Whether everything in a folder may be changed, and the folder itself is not a name that may be removed.
    pub fn opens_all(&self, folder: &str) -> bool {
        self.list.iter().any(|grant| grant.kind == GrantKind::Tree && grant.except.is_empty() && grant.reaches(folder))
    }

    /// Whether git can make its locks, or there is no repository here that it would make them in.
    pub fn opens_repository(&self) -> bool {
        self.repository != Repository::Closed
    }

    /// Whether the content of a path may be changed.
    pub fn reaches(&self, path: &str) -> bool {
        self.list.iter().any(|grant| grant.reaches(path))
    }
}
