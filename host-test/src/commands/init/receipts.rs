//! What `tollgate init` did in this workspace and in others: `init.json` in each one's state folder.

use std::fs;
use std::path::PathBuf;

use super::change::{self, Change};
use crate::cli::Stop;
use crate::cli::workspace::Folders;

const FILE: &str = "init.json";

/// The receipts of all workspaces.
pub(super) struct Receipts {
    file: PathBuf,
    /// This workspace's, where there is one.
    pub(super) own: Option<String>,
    /// Those of other workspaces.
    pub(super) others: Vec<String>,
}

impl Receipts {
    pub(super) fn read(folders: &Folders) -> Result<Self, Stop> {
        let state = folders.state_folder()?;
        let file = state.join(FILE);
        let own = change::read(&file).map_err(|why| Stop::Fault(format!("`{}` cannot be read: {why}", file.display())))?;
        let siblings = state.parent().and_then(|all| fs::read_dir(all).ok()).into_iter().flatten();
        let others = siblings.filter_map(|entry| Some(entry.ok()?.path())).filter(|folder| *folder != state);
        let others = others.filter_map(|folder| fs::read_to_string(folder.join(FILE)).ok()).collect();
        Ok(Self { file, own, others })
    }

    /// Writes the changes, and the receipt for all that has been done.
    pub(super) fn keep(&self, folders: &Folders, receipt: &str, changes: &[Change]) -> Result<(), Stop> {
        if changes.is_empty() && (receipt.is_empty() || self.own.as_deref() == Some(receipt)) {
            return Ok(());
        }
        folders.make_state_folder()?;
        let named = self.file.display().to_string();
        let (before, after) = (self.own.clone(), Some(receipt.to_owned()));
        let own = Change { path: self.file.clone(), shown: named.clone(), named, before, after, diff: Vec::new() };
        // The receipt first: what it tells of and was not done is easily told from what was.
        let all: Vec<Change> = [own].into_iter().chain(changes.iter().cloned()).collect();
        change::write_all(&all)
    }

    /// Takes this workspace's receipt away.
    pub(super) fn forget(&self) -> Result<(), Stop> {
        fs::remove_file(&self.file).map_err(|why| Stop::Fault(format!("`{}` cannot be removed: {why}", self.file.display())))
    }
}
