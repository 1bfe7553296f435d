//! Lists folders.
//!
//! A large listing is read ahead by several threads, in any order, and then put in order: most of the time goes into looking up
//! files, which the kernel does for several threads at once.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use cap_std::fs::Dir;

use super::names::names_in;
use super::stat::FileStat;
use super::walk::{LookupResult, join_names};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Entry, Fault, Listing, Reach, Root};

/// Above this many entries, several threads read folders: starting them takes as long as some hundred entries.
const MANY_ENTRIES: usize = 2_000;

/// More threads are slower, because they wait for the same parts of the kernel.
const MAX_THREADS: usize = 4;

/// This many more names than the limit are read in one folder, so that the first ones in order are listed even if there are a few too
/// many. A folder may contain millions. `npm-wrapper/src/files/listing.ts` has the same number.
const SURPLUS_NAMES: usize = 10_000;

impl Files {
    /// Lists the entries below a folder, sorted bytewise by path. Names that are not UTF-8 cannot be listed; the first one is
    /// reported as unseen.
    pub(crate) fn list(&self, root: Root, directory: &str, reach: &Reach) -> Result<Listing, FileError> {
        let walked = self.walk(root, directory);
        let real = walked.real.ok_or(Fault::Other)?;
        let (dir, below) = self.readable(root, &real)?;
        match walked.found {
            LookupResult::Missing => return Err(Fault::Missing.into()),
            LookupResult::Denied => return Err(Fault::Denied.into()),
            LookupResult::Found(file) if !file.is_dir() => return Err(Fault::Other.into()),
            LookupResult::Found(_) => {}
        }
        let top = Arc::new(if below.is_empty() { dir.try_clone()? } else { dir.open_dir(join_names(below))? });
        let mut listing = Listing { entries: Vec::new(), truncated: false, unseen: None };
        if reach.depth > 0 {
            let content = FolderContent::read(&top, "", reach.depth, reach)?;
            let mut ahead = if is_large(reach) { ReadAhead::read_tree(&top, &content, reach) } else { Contents::new() };
            collect(content, &top, &mut ahead, reach, &mut listing);
        }
        Ok(listing)
    }
}

/// Whether a listing may become large enough for several threads.
fn is_large(reach: &Reach) -> bool {
    reach.depth > 1 && reach.limit as usize > MANY_ENTRIES
}

/// The entries of one folder, sorted.
#[derive(Default)]
struct FolderContent {
    items: Vec<Item>,
    /// The first name that could not be looked up.
    unseen: Option<String>,
    /// Whether there are too many names to read them all.
    has_more: bool,
}

/// An item of a folder: an entry, or the place where the content of a subfolder belongs.
#[derive(Clone)]
enum Item {
    Entry(Entry),
    Inside(Subfolder),
}

/// A folder below the listed one.
#[derive(Clone)]
struct Subfolder {
    /// Relative to the listed folder, with a slash at the end. With it, the content of a folder sorts by full path: after `a-b` and
    /// before `a0`.
    path: String,
    /// How many levels of it are listed.
    depth: u32,
}

impl Item {
    fn path(&self) -> &str {
        match self {
            Self::Entry(entry) => &entry.path,
            Self::Inside(folder) => &folder.path,
        }
    }
}

impl Subfolder {
    /// Reads it, given the listed folder; `None` if it cannot be read.
    fn read(&self, top: &Dir, reach: &Reach) -> Option<FolderContent> {
        let folder = top.open_dir(self.path.trim_end_matches('/')).ok()?;
        FolderContent::read(&folder, &self.path, self.depth, reach).ok()
    }

    /// Its name in the folder that contains it.
    fn name(&self) -> &str {
        self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }
}

impl FolderContent {
    fn read(folder: &Dir, prefix: &str, depth: u32, reach: &Reach) -> std::io::Result<Self> {
        let mut content = Self::default();
        let max = (reach.limit as usize).saturating_add(SURPLUS_NAMES);
        let has_more = names_in(folder, max, |name, stat| {
            let text = name.unwrap_or_else(|lossy| lossy);
            let mut path = String::with_capacity(prefix.len() + text.len());
            path.push_str(prefix);
            path.push_str(text);
            match (name, stat) {
                (Ok(name), Ok(file)) => {
                    if file.is_dir() && depth > 1 && !reach.skip.iter().any(|skipped| skipped == name) {
                        content.items.push(Item::Inside(Subfolder { path: format!("{path}/"), depth: depth - 1 }));
                    }
                    content.items.push(Item::Entry(entry(folder, name, path, &file)));
                }
                // The entry was removed in the meantime.
                (Ok(_), Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
                _ => drop(content.unseen.get_or_insert(path)),
            }
        })?;
        content.has_more = has_more;
        content.items.sort_unstable_by(|one, other| one.path().cmp(other.path()));
        Ok(content)
    }
}

fn entry(folder: &Dir, name: &str, path: String, file: &FileStat) -> Entry {
    let target = || folder.read_link_contents(name).ok()?.into_os_string().into_string().ok();
    let link = file.is_symlink().then(target).flatten();
    Entry { path, kind: file.kind(), link, hard_links: file.hard_links, marks: file.marks, size: file.size }
}

/// The content of folders by path; `None` for one that cannot be read.
type Contents = BTreeMap<String, Option<FolderContent>>;

/// What the threads of a listing share.
#[derive(Default)]
struct Progress {
    /// Folders that are still to be read, each with the folder that contains it: by its name it is opened with fewer system calls than
    /// by its path. The last one is read next, so that few folders are open at the same time.
    unread: Vec<(Arc<Dir>, Subfolder)>,
    /// How many folders are being read.
    under_way: usize,
    contents: Contents,
    /// How many entries were found.
    entries: usize,
}

/// Reads folders before they are asked for.
struct ReadAhead<'r> {
    reach: &'r Reach,
    progress: Mutex<Progress>,
    /// Notified if there is more to read, and if nothing is left.
    changed: Condvar,
}

impl<'r> ReadAhead<'r> {
    /// Reads all folders below one whose own content is known; not all of them if there are more entries than the limit.
    fn read_tree(top: &Arc<Dir>, content: &FolderContent, reach: &'r Reach) -> Contents {
        let reading = Self { reach, progress: Mutex::default(), changed: Condvar::new() };
        reading.add(top, content);
        reading.read(|progress| progress.entries >= MANY_ENTRIES);
        if !reading.lock().unread.is_empty() {
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            thread::scope(|scope| {
                for _ in 1..cores.min(MAX_THREADS) {
                    // Where no thread can be started, this one reads everything.
                    let _ = thread::Builder::new().spawn_scoped(scope, || reading.read(|_| false));
                }
                reading.read(|_| false);
            });
        }
        reading.progress.into_inner().unwrap_or_else(PoisonError::into_inner).contents
    }

    /// Reads folders until there are no more, or more entries than the limit, or `is_enough`.
    fn read(&self, is_enough: impl Fn(&Progress) -> bool) {
        let mut progress = self.lock();
        loop {
            if progress.entries as u64 > u64::from(self.reach.limit) {
                progress.unread.clear();
            }
            if is_enough(&progress) {
                return;
            }
            let Some((parent, next)) = progress.unread.pop() else {
                if progress.under_way == 0 {
                    return;
                }
                progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            progress.under_way += 1;
            drop(progress);
            let content = parent.open_dir(next.name()).ok().and_then(|folder| {
                let content = FolderContent::read(&folder, &next.path, next.depth, self.reach).ok()?;
                self.add(&Arc::new(folder), &content);
                Some(content)
            });
            progress = self.lock();
            progress.under_way -= 1;
            progress.contents.insert(next.path, content);
            if progress.under_way == 0 {
                self.changed.notify_all();
            }
        }
    }

    /// Adds the subfolders of a folder to those that are to be read.
    fn add(&self, parent: &Arc<Dir>, content: &FolderContent) {
        let folder = |item: &Item| match item {
            Item::Inside(folder) => Some((Arc::clone(parent), folder.clone())),
            Item::Entry(_) => None,
        };
        let folders: Vec<(Arc<Dir>, Subfolder)> = content.items.iter().filter_map(folder).collect();
        let mut progress = self.lock();
        progress.entries += content.items.len() - folders.len();
        if !folders.is_empty() {
            progress.unread.extend(folders);
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts entries in order, and reads what was not read ahead.
fn collect(content: FolderContent, top: &Dir, ahead: &mut Contents, reach: &Reach, listing: &mut Listing) {
    if let Some(path) = content.unseen {
        listing.unseen.get_or_insert(path);
    }
    let has_more = content.has_more;
    for item in content.items {
        match item {
            _ if listing.truncated => return,
            Item::Entry(_) if listing.entries.len() as u64 >= u64::from(reach.limit) => listing.truncated = true,
            Item::Entry(entry) => listing.entries.push(entry),
            Item::Inside(folder) => match ahead.remove(&folder.path).unwrap_or_else(|| folder.read(top, reach)) {
                Some(content) => collect(content, top, ahead, reach, listing),
                None => drop(listing.unseen.get_or_insert(folder.path)),
            },
        }
    }
    // Names that were read may be gone by now.
    listing.truncated |= has_more;
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn reach(limit: u32) -> Reach {
        Reach { depth: 64, limit, skip: vec!["skipped".to_owned()] }
    }

    fn paths(folder: &Path, limit: u32) -> (Vec<String>, bool) {
        let files = Files::open(folder, None, None).unwrap();
        let listing = files.list(Root::Project, ".", &reach(limit)).unwrap();
        assert_eq!(listing.unseen, None);
        (listing.entries.into_iter().map(|entry| entry.path).collect(), listing.truncated)
    }

    /// Several threads find what one finds, in the same order, and a limit cuts it at the same place.
    #[test]
    fn a_large_listing_is_sorted_and_cut_like_a_small_one() {
        let temp = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        let mut add = |path: String| expected.push(path);
        for folder in ["a", "a-b", "a/b", "a0", "skipped"] {
            fs::create_dir_all(temp.path().join(folder)).unwrap();
            add(folder.to_owned());
            for number in 0..60 {
                let inner = format!("{folder}/{number}");
                fs::create_dir_all(temp.path().join(&inner)).unwrap();
                if folder != "skipped" {
                    add(inner.clone());
                }
                for file in 0..20 {
                    let file = format!("{inner}/{file}.ts");
                    fs::write(temp.path().join(&file), "").unwrap();
                    if folder != "skipped" {
                        add(file);
                    }
                }
            }
        }
        expected.sort_unstable();
        assert!(expected.len() > 2 * MANY_ENTRIES);
        assert_eq!(paths(temp.path(), 100_000), (expected.clone(), false));
        for limit in [1, 100, MANY_ENTRIES + 1, expected.len() - 1, expected.len()] {
            let (found, is_cut) = paths(temp.path(), u32::try_from(limit).unwrap());
            assert_eq!((found.as_slice(), is_cut), (&expected[..limit], limit < expected.len()), "{limit}");
        }
    }

    /// Of a folder with very many names, only a few more than the limit are looked up.
    #[test]
    fn what_is_read_of_one_folder_is_limited() {
        let temp = tempfile::tempdir().unwrap();
        for number in 0..SURPLUS_NAMES + 20 {
            fs::write(temp.path().join(number.to_string()), "").unwrap();
        }
        let top = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        for (limit, expected) in [(10, (SURPLUS_NAMES + 11, true)), (20, (SURPLUS_NAMES + 20, false))] {
            let content = FolderContent::read(&top, "", 1, &reach(limit)).unwrap();
            assert!(content.items.len() <= expected.0 && content.has_more == expected.1, "{limit}: {}", content.items.len());
            let (found, is_cut) = paths(temp.path(), limit);
            assert_eq!((found.len(), is_cut), (limit as usize, true));
        }
    }

    /// A folder that cannot be read is reported, and everything else is listed all the same. Root can read every folder, so the test
    /// removes one after its name was read, which has the same effect.
    #[test]
    fn a_folder_that_cannot_be_read_hides_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        for path in ["a/x", "b/x", "c/x"] {
            fs::create_dir_all(temp.path().join(path).parent().unwrap()).unwrap();
            fs::write(temp.path().join(path), "").unwrap();
        }
        let top = Arc::new(Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap());
        let content = FolderContent::read(&top, "", 64, &reach(100)).unwrap();
        fs::remove_dir_all(temp.path().join("b")).unwrap();
        for mut ahead in [Contents::new(), ReadAhead::read_tree(&top, &content, &reach(100))] {
            let content = FolderContent { items: content.items.clone(), ..FolderContent::default() };
            let mut listing = Listing { entries: Vec::new(), truncated: false, unseen: None };
            collect(content, &top, &mut ahead, &reach(100), &mut listing);
            let found: Vec<&str> = listing.entries.iter().map(|entry| entry.path.as_str()).collect();
            assert_eq!((found.as_slice(), listing.unseen.as_deref()), (&["a", "a/x", "b", "c", "c/x"][..], Some("b/")));
        }
    }
}
