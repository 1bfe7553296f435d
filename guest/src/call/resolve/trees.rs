//! Lists the folders that a ruling needs. A folder is listed at most once, and one listing serves its subfolders too.

use std::collections::{BTreeSet, HashMap};

use crate::ports::{DirEntry, FileKind, Listing, ListingLimits, Root, Workspace};

/// A folder with more entries is deleted as a whole, without judging each file.
pub(super) const MAX_JUDGED: u32 = 10_000;

/// A tree with more entries is not searched; nor is a workspace with more entries searched for the other names of a file.
pub(super) const MAX_SEARCHED: u32 = 50_000;

/// The greatest depth to which folders are listed; no working tree is deeper.
const MAX_DEPTH: u32 = 64;

/// Everything below a folder, as far as it is visible.
#[derive(Debug, Default)]
pub(super) struct TreeListing {
    /// The entries, with paths relative to the workspace.
    pub(super) entries: Vec<DirEntry>,
    /// Why the entries are not complete.
    pub(super) missing: Option<String>,
}

impl TreeListing {
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_none()
    }
}

pub(super) struct Trees<'a> {
    workspace: &'a dyn Workspace,
    /// Folders that will be needed, none inside another, with the most entries that are wanted.
    expected: Vec<(String, u32)>,
    /// The listings so far, with paths relative to the workspace.
    listed: Vec<(String, Result<Listing, String>)>,
    /// All files of the workspace by identity, once a file with several names has been found.
    files: Option<HashMap<u64, Vec<String>>>,
}

impl<'a> Trees<'a> {
    pub(super) fn new(workspace: &'a dyn Workspace) -> Self {
        Self { workspace, expected: Vec::new(), listed: Vec::new(), files: None }
    }

    /// Announces that a folder will be needed.
    pub(super) fn expect(&mut self, folder: &str, limit: u32) {
        if let Some((_, wanted)) = self.expected.iter_mut().find(|(above, _)| is_at_or_below(folder, above)) {
            *wanted = limit.max(*wanted);
            return;
        }
        let within = self.expected.iter().filter(|(inner, _)| is_at_or_below(inner, folder));
        let limit = within.map(|(_, wanted)| *wanted).fold(limit, u32::max);
        self.expected.retain(|(inner, _)| !is_at_or_below(inner, folder));
        self.expected.push((folder.to_owned(), limit));
    }

    /// Everything below a folder of the workspace, whose path does not lead through a link.
    pub(super) fn list_tree(&mut self, folder: &str, limit: u32) -> TreeListing {
        self.expect(folder, limit);
        let expected = self.expected.iter().find(|(above, _)| is_at_or_below(folder, above));
        let (top, limit) = expected.cloned().unwrap_or_else(|| (folder.to_owned(), limit));
        if !self.listed.iter().any(|(listed, _)| *listed == top) {
            let listing = self.list(&top, limit);
            self.listed.push((top.clone(), listing));
        }
        let Some((_, listing)) = self.listed.iter().find(|(listed, _)| *listed == top) else { return TreeListing::default() };
        let listing = match listing {
            Ok(listing) => listing,
            Err(why) => return TreeListing { entries: Vec::new(), missing: Some(why.clone()) },
        };
        let inside = listing.entries.iter().filter(|entry| folder != entry.path && is_at_or_below(&entry.path, folder));
        let entries: Vec<DirEntry> = inside.cloned().collect();
        let deep = || entries.iter().any(|entry| depth(&entry.path) >= depth(&top) + MAX_DEPTH as usize);
        let missing = match &listing.unseen {
            _ if listing.truncated => Some(format!("there is more in `{top}` than can be searched")),
            Some(unseen) => Some(format!("`{unseen}` cannot be inspected")),
            None if deep() => Some(format!("the folders in `{top}` are nested too deeply to be searched")),
            None => None,
        };
        TreeListing { entries, missing }
    }

    /// The names of a file, as far as they are visible.
    pub(super) fn names(&mut self, identity: u64) -> Vec<String> {
        if identity == 0 {
            return Vec::new();
        }
        let files = self.files.get_or_insert_with(|| {
            let reach = ListingLimits::without_large_folders(MAX_DEPTH, MAX_SEARCHED);
            let listing = self.workspace.list(Root::Project, ".", &reach).map(|listing| listing.entries).unwrap_or_default();
            let mut files = HashMap::<u64, Vec<String>>::new();
            for entry in listing.into_iter().filter(|entry| entry.kind == FileKind::File) {
                files.entry(entry.identity).or_default().push(entry.path);
            }
            files
        });
        // A folder that is skipped here may have been listed on its own.
        let mut names: BTreeSet<&String> = files.get(&identity).into_iter().flatten().collect();
        for listing in self.listed.iter().filter_map(|(_, listing)| listing.as_ref().ok()) {
            let same = |entry: &&DirEntry| entry.kind == FileKind::File && entry.identity == identity;
            names.extend(listing.entries.iter().filter(same).map(|entry| &entry.path));
        }
        names.into_iter().cloned().collect()
    }

    fn list(&self, folder: &str, limit: u32) -> Result<Listing, String> {
        let reach = ListingLimits { depth: MAX_DEPTH, limit, skip: Vec::new() };
        let listing = self.workspace.list(Root::Project, folder, &reach);
        let mut listing = listing.map_err(|why| format!("`{folder}` cannot be listed: {why}"))?;
        if folder != "." {
            for entry in &mut listing.entries {
                entry.path = format!("{folder}/{}", entry.path);
            }
            listing.unseen = listing.unseen.map(|unseen| format!("{folder}/{unseen}"));
        }
        Ok(listing)
    }
}

/// Whether a path is a folder or below it; both are relative to the workspace and normalized.
pub(super) fn is_at_or_below(path: &str, folder: &str) -> bool {
    folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn depth(path: &str) -> usize {
    if path == "." { 0 } else { path.split('/').count() }
}
