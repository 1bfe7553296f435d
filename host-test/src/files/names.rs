//! The names in a folder, and what exists under each.

use std::io;

use cap_std::fs::Dir;

use super::stat::FileStat;

/// Calls `each` with every name in a folder and with what exists there. A name that is not UTF-8 comes as an error with its readable
/// part, and is not looked up. Returns whether there are more than `max` names; then some are left out.
///
/// `cap_std` would allocate three times for every name, and a workspace has a hundred thousand.
#[cfg(unix)]
pub(super) fn names_in(
    folder: &Dir,
    max: usize,
    mut each: impl FnMut(Result<&str, &str>, io::Result<FileStat>),
) -> io::Result<bool> {
    use rustix::fs::{Mode, OFlags};
    // The handle itself only refers to a path and cannot be read.
    let opened = rustix::fs::openat(folder, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // Two of them are the folder itself and the one above it.
    let mut entries = rustix::fs::Dir::new(opened)?.take(max.saturating_add(3)).collect::<Result<Vec<_>, _>>()?;
    let has_more = entries.len() > max.saturating_add(2);
    // In the order in which the system stores what it reports, which is often the order in which files were created.
    entries.sort_unstable_by_key(rustix::fs::DirEntry::ino);
    for entry in &entries {
        let name = entry.file_name();
        match name.to_str() {
            Ok("." | "..") => {}
            Ok(text) => each(Ok(text), super::stat::stat_of_name(folder, name)),
            Err(_) => each(Err(&name.to_string_lossy()), Err(io::ErrorKind::InvalidData.into())),
        }
    }
    Ok(has_more)
}

/// Calls `each` with every name in a folder and with what exists there. A name that is not Unicode comes as an error with its readable
/// part, and is not looked up. Returns whether there are more than `max` names; then some are left out.
#[cfg(not(unix))]
pub(super) fn names_in(
    folder: &Dir,
    max: usize,
    mut each: impl FnMut(Result<&str, &str>, io::Result<FileStat>),
) -> io::Result<bool> {
    for (count, entry) in folder.entries()?.enumerate() {
        if count == max {
            return Ok(true);
        }
        let name = entry?.file_name();
        match name.to_str() {
            Some(text) => each(Ok(text), super::stat::stat_at(folder, std::path::Path::new(text))),
            None => each(Err(&name.to_string_lossy()), Err(io::ErrorKind::InvalidData.into())),
        }
    }
    Ok(false)
}
