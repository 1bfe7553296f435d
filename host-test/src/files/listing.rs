//! Lists folders.

use std::path::Path;

use cap_std::fs::Dir;

use super::stat::{FileStat, stat_at};
use super::walk::{Stat, join_names};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Entry, Fault, Listing, Reach, Root};

impl Files {
    /// Lists the entries below a folder, sorted bytewise by path. Names that are not UTF-8 cannot be listed; the first one is
    /// reported as unseen.
    pub(crate) fn list(&self, root: Root, directory: &str, reach: &Reach) -> Result<Listing, FileError> {
        let walked = self.walk(root, directory);
        let real = walked.real.ok_or(Fault::Other)?;
        let (dir, below) = self.readable(root, &real)?;
        match walked.found {
            Stat::Missing => return Err(Fault::Missing.into()),
            Stat::Denied => return Err(Fault::Denied.into()),
            Stat::Found(file) if !file.is_dir() => return Err(Fault::Other.into()),
            Stat::Found(_) => {}
        }
        let folder = if below.is_empty() { dir.try_clone()? } else { dir.open_dir(join_names(below))? };
        let mut listing = Listing { entries: Vec::new(), truncated: false, unseen: None };
        if reach.depth > 0 {
            descend(&folder, "", reach.depth, reach, &mut listing)?;
        }
        Ok(listing)
    }
}

/// The next item of a folder: an entry, or the content of a subfolder.
enum Next {
    Name(FileStat),
    Inside,
}

fn descend(folder: &Dir, prefix: &str, depth: u32, reach: &Reach, listing: &mut Listing) -> Result<(), FileError> {
    let mut next = Vec::new();
    for entry in folder.entries()? {
        let entry = entry?;
        let name = match entry.file_name().into_string() {
            Ok(name) => name,
            Err(name) => {
                listing.unseen.get_or_insert_with(|| format!("{prefix}{}", name.to_string_lossy()));
                continue;
            }
        };
        let file = match stat_at(folder, Path::new(&name)) {
            Ok(file) => file,
            // The entry was removed in the meantime.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => {
                listing.unseen.get_or_insert_with(|| format!("{prefix}{name}"));
                continue;
            }
        };
        if file.is_dir() && depth > 1 && !reach.skip.contains(&name) {
            next.push((format!("{name}/"), Next::Inside));
        }
        next.push((name, Next::Name(file)));
    }
    // With its slash, the content of a folder sorts by full path: after `a-b` and before `a0`.
    next.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (name, next) in next {
        if listing.truncated {
            break;
        }
        match next {
            Next::Inside => {
                let inside = format!("{prefix}{name}");
                match folder.open_dir(name.trim_end_matches('/')) {
                    Ok(opened) => descend(&opened, &inside, depth - 1, reach, listing)?,
                    Err(_) => drop(listing.unseen.get_or_insert(inside)),
                }
            }
            Next::Name(_) if listing.entries.len() as u64 >= u64::from(reach.limit) => listing.truncated = true,
            Next::Name(file) => {
                let link = file.is_symlink().then(|| folder.read_link_contents(&name).ok()?.into_os_string().into_string().ok());
                let (kind, hard_links, marks, size) = (file.kind(), file.hard_links, file.marks, file.size);
                let path = format!("{prefix}{name}");
                listing.entries.push(Entry { path, kind, link: link.flatten(), hard_links, marks, size });
            }
        }
    }
    Ok(())
}
