//! Receipts: what `tollgate init` changed in this and other workspaces, in `init.json` of their state folders.

use std::fs;
use std::path::PathBuf;

use crate::cli::CommandError;
use crate::cli::file_change::{self, SettingsChange};
use crate::cli::workspace::Folders;

const FILE: &str = "init.json";

/// The receipts of all workspaces.
pub(super) struct Receipts {
    file: PathBuf,
    /// The receipt of this workspace, if there is one.
    pub(super) own: Option<String>,
    /// The receipts of other workspaces.
    pub(super) others: Vec<String>,
}

impl Receipts {
    pub(super) fn read(folders: &Folders) -> Result<Self, CommandError> {
        let state = folders.state_folder()?;
        let file = state.join(FILE);
        let own = file_change::read(&file)
            .map_err(|why| CommandError::Failed(format!("`{}` cannot be read: {why}", file.display())))?;
        let siblings = state.parent().and_then(|all| fs::read_dir(all).ok()).into_iter().flatten();
        let others = siblings.filter_map(|entry| Some(entry.ok()?.path())).filter(|folder| *folder != state);
        let others = others.filter_map(|folder| fs::read_to_string(folder.join(FILE)).ok()).collect();
        Ok(Self { file, own, others })
    }

    /// Applies changes and writes the receipt for them.
    pub(super) fn apply(&self, folders: &Folders, receipt: &str, changes: &[SettingsChange]) -> Result<(), CommandError> {
        if changes.is_empty() && (receipt.is_empty() || self.own.as_deref() == Some(receipt)) {
            return Ok(());
        }
        folders.create_state_folder()?;
        let named = self.file.display().to_string();
        let (before, after) = (self.own.clone(), Some(receipt.to_owned()));
        let own = SettingsChange { path: self.file.clone(), shown: named.clone(), named, before, after, diff: Vec::new() };
        // The receipt is written first: a change that it lists but that was not made is easy to recognize.
        let all: Vec<SettingsChange> = [own].into_iter().chain(changes.iter().cloned()).collect();
        file_change::write_all(&all)
    }

    /// Removes the receipt of this workspace.
    pub(super) fn remove(&self) -> Result<(), CommandError> {
        fs::remove_file(&self.file)
            .map_err(|why| CommandError::Failed(format!("`{}` cannot be removed: {why}", self.file.display())))
    }
}
