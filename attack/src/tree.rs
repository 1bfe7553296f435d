//! A snapshot of the files of a world: reads it from the disk, writes it to the disk, compares it.

use std::collections::BTreeMap;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use std::{fs, io::Read as _};

use serde::{Deserialize, Serialize};

/// Only this much of a file is compared; no file of a world is initially larger.
const MAX_CONTENT_BYTES: u64 = 1 << 20;
/// At most this many files are read; a command that created so many has changed enough.
const MAX_NAMES: usize = 5_000;

/// The file, folder or link at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// A regular file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Its content.
        content: Vec<u8>,
        /// The modification time, in nanoseconds.
        modified: u128,
        /// The same for all hard links of a file.
        identity: u64,
    },
    /// A folder.
    Folder {
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// The target, as stored.
        target: String,
    },
    /// A pipe, socket or device.
    Other,
}

impl Node {
    /// Whether two nodes are the same to a person; the inode does not matter.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { mode, content, modified, .. },
                Self::File { mode: other_mode, content: other_content, modified: other_modified, .. },
            ) => (mode, content, modified) == (other_mode, other_content, other_modified),
            _ => self == other,
        }
    }
}

/// Nodes by absolute path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree(pub BTreeMap<String, Node>);

/// A path that has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Absolute.
    pub path: String,
    /// The node before.
    pub before: Option<Node>,
    /// The node after.
    pub after: Option<Node>,
}

impl Change {
    /// A description for people.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "removed",
            (Some(Node::File { content, mode, .. }), Some(Node::File { content: now, mode: mode_now, .. })) => {
                if content != now {
                    "changed"
                } else if mode != mode_now {
                    "mode changed"
                } else {
                    "touched"
                }
            }
            _ => "replaced",
        }
    }
}

impl Tree {
    /// Reads everything in these folders, including the folders.
    #[cfg(unix)]
    pub fn read(roots: &[&str]) -> Self {
        let mut tree = Self::default();
        let mut ahead: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        while let Some(path) = ahead.pop() {
            if tree.0.len() >= MAX_NAMES {
                break;
            }
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            let mode = about.permissions().mode() & 0o7777;
            let node = if about.is_symlink() {
                let target = fs::read_link(&path).map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
                Node::Link { target }
            } else if about.is_dir() {
                for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                    ahead.push(format!("{path}/{}", entry.file_name().to_string_lossy()));
                }
                Node::Folder { mode }
            } else if about.is_file() {
                let since = about.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
                let modified = since.unwrap_or_default().as_nanos();
                Node::File { mode, content: content(&path), modified, identity: about.ino() }
            } else {
                Node::Other
            };
            tree.0.insert(path, node);
        }
        tree
    }

    /// Writes the tree to the disk, replacing what exists there.
    #[cfg(unix)]
    pub fn lay_out(&self) -> io::Result<()> {
        let mut names: BTreeMap<u64, &str> = BTreeMap::new();
        for (path, node) in &self.0 {
            if let Some(parent) = Path::new(path).parent() {
                fs::create_dir_all(parent)?;
            }
            match node {
                Node::Folder { mode } => {
                    fs::create_dir_all(path)?;
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
                }
                Node::Link { target } => symlink(target, path)?,
                Node::Other => {}
                Node::File { mode, content, modified, identity } => {
                    if let Some(first) = names.get(identity).filter(|_| *identity != 0) {
                        fs::hard_link(first, path)?;
                        continue;
                    }
                    names.insert(*identity, path);
                    fs::write(path, content)?;
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
                    let since = Duration::from_nanos(u64::try_from(*modified).unwrap_or_default());
                    fs::File::options().append(true).open(path)?.set_modified(SystemTime::UNIX_EPOCH + since)?;
                }
            }
        }
        Ok(())
    }

    /// The differences to another tree.
    pub fn changes(&self, after: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, node) in &self.0 {
            let now = after.0.get(path);
            if now.is_none_or(|now| !node.is_same(now)) {
                changes.push(Change { path: path.clone(), before: Some(node.clone()), after: now.cloned() });
            }
        }
        for (path, node) in &after.0 {
            if !self.0.contains_key(path) {
                changes.push(Change { path: path.clone(), before: None, after: Some(node.clone()) });
            }
        }
        changes
    }
}

fn content(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        // If a file cannot be read completely, the readable part is compared.
        let _ = file.take(MAX_CONTENT_BYTES).read_to_end(&mut bytes);
    }
    bytes
}
