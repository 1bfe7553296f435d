//! What `tollgate init` did, so that it can be taken back: `init.json` in the workspace's state folder, where no repository can
//! put one that takes back something else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::Stop;
use super::change::{self, Change, backup_of, digest};

const FILE: &str = "init.json";

/// A file that was written.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    /// The host it is for; none for the intents.
    pub(super) host: Option<String>,
    /// Whether there was none before.
    pub(super) made: bool,
    /// What was written, by its digest.
    pub(super) digest: String,
}

/// Everything that was done.
#[derive(Debug, Default)]
pub(super) struct Receipt {
    pub(super) files: Vec<Written>,
    /// Folders that were made.
    pub(super) folders: Vec<PathBuf>,
}

impl Receipt {
    pub(super) fn read(root: &Path, state: &Path) -> Result<Self, Stop> {
        let file = state.join(FILE);
        let Some(text) = change::read(&file)? else { return Ok(Self::default()) };
        let value: Value = serde_json::from_str(&text)
            .map_err(|why| Stop::Fault(format!("`{}` cannot be read: {why}; take the hooks away by hand", file.display())))?;
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let written = |file: &Value| Written {
            path: root.join(text(file, "path")),
            host: file.get("host").and_then(Value::as_str).map(str::to_owned),
            made: file.get("made") == Some(&Value::Bool(true)),
            digest: text(file, "digest"),
        };
        Ok(Self {
            files: list("files").iter().map(written).collect(),
            folders: list("folders").iter().filter_map(Value::as_str).map(|folder| root.join(folder)).collect(),
        })
    }

    /// Enters a change. What was there before the first one is what comes back.
    pub(super) fn enter(&mut self, host: Option<&str>, change: &Change) {
        let after = digest(&change.after);
        let untouched =
            |file: &&mut Written| file.path == change.path && change.before.as_deref().map(digest).as_ref() == Some(&file.digest);
        if let Some(known) = self.files.iter_mut().find(untouched) {
            known.digest = after;
            return;
        }
        self.files.retain(|file| file.path != change.path);
        let (path, host) = (change.path.clone(), host.map(str::to_owned));
        self.files.push(Written { path, host, made: change.before.is_none(), digest: after });
    }

    /// The change that keeps it.
    pub(super) fn change(&self, root: &Path, state: &Path) -> Result<Change, Stop> {
        let within = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
        let file =
            |file: &Written| json!({"path": within(&file.path), "host": file.host, "made": file.made, "digest": file.digest});
        let files: Vec<Value> = self.files.iter().map(file).collect();
        let folders: Vec<String> = self.folders.iter().map(|folder| within(folder)).collect();
        let after = format!("{:#}\n", json!({"files": files, "folders": folders}));
        let path = state.join(FILE);
        Ok(Change { before: change::read(&path)?, path, after })
    }

    /// Takes the receipt itself away, and folders in which nothing is left.
    pub(super) fn forget(&self, root: &Path, state: &Path) {
        for file in &self.files {
            let _ = fs::remove_file(backup_of(&file.path));
        }
        let _ = fs::remove_file(state.join(FILE));
        // Only empty ones go.
        let own = root.join(".tollgate");
        self.folders.iter().rev().chain([&own]).for_each(|folder| drop(fs::remove_dir(folder)));
    }
}
