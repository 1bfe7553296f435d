//! Reads files for the guest.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, File, OpenOptions};
use tollgate_guest::home;

use super::walk::{LookupResult, Names, join_names};
use super::writing::without_waiting;
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Fault, Root, Tail};

impl Files {
    /// Reads a whole file, if it is within the limit.
    pub(crate) fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
        let (mut file, length) = self.open_file(root, path)?;
        if length > limit_bytes {
            return Err(Fault::TooLarge.into());
        }
        let bytes = take(&mut file, limit_bytes.saturating_add(1), length)?;
        if bytes.len() as u64 > limit_bytes { Err(Fault::TooLarge.into()) } else { Ok(bytes) }
    }

    /// Reads part of a file; less if the file ends before that.
    pub(crate) fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
        let (mut file, length) = self.open_file(root, path)?;
        file.seek(SeekFrom::Start(offset))?;
        take(&mut file, limit_bytes, length.saturating_sub(offset))
    }

    /// Reads the end of a file.
    pub(crate) fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileError> {
        let (mut file, length) = self.open_file(root, path)?;
        let offset = length.saturating_sub(limit_bytes);
        file.seek(SeekFrom::Start(offset))?;
        Ok(Tail { offset, bytes: take(&mut file, limit_bytes, length - offset)? })
    }

    /// Opens a file, and returns its length too.
    fn open_file(&self, root: Root, path: &str) -> Result<(File, u64), FileError> {
        if let Some((state, path)) = self.plain_in_state(root, path) {
            return open_regular(&*state.dir()?, path);
        }
        let walked = self.walk(root, path);
        let real = walked.real.ok_or(Fault::Other)?;
        let (dir, below) = self.readable(root, &real)?;
        match walked.found {
            LookupResult::Missing => Err(Fault::Missing.into()),
            LookupResult::Denied => Err(Fault::Denied.into()),
            // A pipe is never opened, because that would wait for a writer.
            LookupResult::Found(metadata) if !metadata.is_file() => Err(Fault::Other.into()),
            LookupResult::Found(_) => open_regular(&dir, &join_names(below)),
        }
    }

    /// The folder handle and the path relative to it through which a path may be read.
    pub(super) fn readable<'a>(&self, root: Root, real: &'a Names) -> Result<(Arc<Dir>, &'a [String]), FileError> {
        let below = real.strip_folder(self.real(root).ok_or(Fault::Missing)?).ok_or(Fault::Denied)?;
        let is_readable = |readable: &str| {
            let mut names = below.iter();
            readable.split('/').all(|name| names.next().is_some_and(|below| below == name))
        };
        if root == Root::Home && !home::readable().any(is_readable) {
            return Err(Fault::Denied.into());
        }
        Ok((self.dir(root)?, below))
    }
}

/// Opens a regular file, and returns its length too. Anything else is an error, and opening a pipe does not wait for a writer.
pub(super) fn open_regular(dir: &Dir, path: &Path) -> Result<(File, u64), FileError> {
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = dir.open_with(path, &options)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata.len())) } else { Err(Fault::Other.into()) }
}

/// Reads up to the limit or to the end. `expected_bytes` is the remaining size according to the file's metadata. Reserving that
/// much, plus one byte to detect the end, avoids reading in small pieces.
fn take(file: &mut File, limit_bytes: u64, expected_bytes: u64) -> Result<Vec<u8>, FileError> {
    /// The metadata may be wrong.
    const MAX_RESERVED_BYTES: u64 = 16 << 20;
    let room = expected_bytes.saturating_add(1).min(limit_bytes).min(MAX_RESERVED_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    file.take(limit_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}
