//! The files that make git run something: its hooks, its configuration, and files that name another place for either. Git's other
//! files change with every git command, and are left out.

use super::{Ignored, MAX_FILES, Snapshot, SnapshotFault, SnapshotFile};
use crate::ports::{FileFault, FileKind, ListingLimits, Ports, Root};

/// The folder in which git keeps them.
pub(super) const GIT: &str = ".git";
const GIT_HOOKS: &str = "hooks";
const GIT_FILES: &[&str] = &["config", "config.worktree", "commondir", GIT_HOOKS];

impl Snapshot {
    /// Adds the files that make git run something.
    pub(super) fn add_git(&mut self, ports: &Ports) -> Result<(), SnapshotFault> {
        let list = |folder: &str| {
            ports.workspace.list(Root::Project, folder, &ListingLimits { depth: 1, limit: MAX_FILES, skip: Vec::new() })
        };
        // In a worktree, `.git` is a file, which is listed like any other.
        let git = match list(GIT) {
            Ok(git) => git,
            Err(FileFault::Denied) => {
                self.push(["", GIT], SnapshotFile::UNSEEN);
                return Ok(());
            }
            Err(_) => return Ok(()),
        };
        // Files with other names could otherwise hide those that matter.
        if git.truncated {
            return Err(SnapshotFault::TooMany);
        }
        for entry in git.entries.iter().filter(|entry| GIT_FILES.contains(&&*entry.path)) {
            let path = format!("{GIT}/{}", entry.path);
            if entry.kind != FileKind::Directory {
                self.push(["", &path], SnapshotFile { stamp: entry.stamp, size: entry.size, digest: None });
            } else if entry.path == GIT_HOOKS {
                match list(&path) {
                    Ok(hooks) if hooks.truncated => return Err(SnapshotFault::TooMany),
                    Ok(hooks) => self.add(&format!("{path}/"), hooks, &Ignored::default(), None),
                    Err(_) => self.push(["", &path], SnapshotFile::UNSEEN),
                }
            }
        }
        Ok(())
    }
}
