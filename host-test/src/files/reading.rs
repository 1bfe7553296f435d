//! Reading what is lent.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use cap_std::fs::{Dir, File};

use super::walk::{Look, Names, joined};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Fault, Root, Tail};

/// Of the home folder, only these are lent: the gate's own folders, the settings in which agent programs keep what is allowed, and
/// the folders in which they keep skills.
const LENT_OF_HOME: &[&str] = &[
    ".tollgate",
    ".ollm",
    ".claude/settings.json",
    ".claude/skills",
    ".gemini/settings.json",
    ".gemini/skills",
    ".codex/config.toml",
    ".codex/skills",
    ".agents/skills",
];

impl Files {
    /// A whole file, if it is no longer than the limit.
    pub(crate) fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
        let mut file = self.open_file(root, path)?;
        let length = file.metadata()?.len();
        if length > limit_bytes {
            return Err(Fault::TooLarge.into());
        }
        let bytes = take(&mut file, limit_bytes.saturating_add(1), length)?;
        if bytes.len() as u64 > limit_bytes { Err(Fault::TooLarge.into()) } else { Ok(bytes) }
    }

    /// A part of a file, shorter where the file ends.
    pub(crate) fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
        let mut file = self.open_file(root, path)?;
        let length = file.metadata()?.len().saturating_sub(offset);
        file.seek(SeekFrom::Start(offset))?;
        take(&mut file, limit_bytes, length)
    }

    /// The last bytes of a file.
    pub(crate) fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileError> {
        let mut file = self.open_file(root, path)?;
        let length = file.metadata()?.len();
        let offset = length.saturating_sub(limit_bytes);
        file.seek(SeekFrom::Start(offset))?;
        Ok(Tail { offset, bytes: take(&mut file, limit_bytes, length - offset)? })
    }

    fn open_file(&self, root: Root, path: &str) -> Result<File, FileError> {
        let walked = self.walk(root, path);
        let real = walked.real.ok_or(Fault::Other)?;
        let (dir, below) = self.readable(root, &real)?;
        match walked.found {
            Look::Missing => Err(Fault::Missing.into()),
            Look::Refused => Err(Fault::Denied.into()),
            // A pipe is never opened: it would wait for somebody to write.
            Look::Found(metadata) if !metadata.is_file() => Err(Fault::Other.into()),
            Look::Found(_) => Ok(dir.open(joined(below))?),
        }
    }

    /// The handle and the path below it through which a place may be read.
    pub(super) fn readable<'a>(&self, root: Root, real: &'a Names) -> Result<(Arc<Dir>, &'a [String]), FileError> {
        let below = real.below(self.real(root).ok_or(Fault::Missing)?).ok_or(Fault::Denied)?;
        let is_lent = |lent: &&str| {
            let mut names = below.iter();
            lent.split('/').all(|name| names.next().is_some_and(|below| below == name))
        };
        if root == Root::Home && !LENT_OF_HOME.iter().any(is_lent) {
            return Err(Fault::Denied.into());
        }
        Ok((self.dir(root)?, below))
    }
}

/// Reads to the limit or to the end. `expected_bytes` is how much is left by the file's own account: room for that much, and one
/// byte to see the end with, saves reading it in small pieces.
fn take(file: &mut File, limit_bytes: u64, expected_bytes: u64) -> Result<Vec<u8>, FileError> {
    /// A file may say anything of itself.
    const MAX_ROOM: u64 = 16 << 20;
    let room = expected_bytes.saturating_add(1).min(limit_bytes).min(MAX_ROOM);
    let mut bytes = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
    file.take(limit_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::LENT_OF_HOME;

    /// What else would be lent is of no use to the gate, and so none of its business.
    #[test]
    fn the_settings_that_the_records_name_are_lent() {
        let named = tollgate_guest::programs::PROGRAMS.iter().filter_map(|program| Some(program.permissions?.file));
        let skills = tollgate_guest::programs::SKILL_FOLDERS;
        let mut expected: Vec<&str> = [".tollgate", ".ollm"].into_iter().chain(named).chain(skills).collect();
        let mut lent = LENT_OF_HOME.to_vec();
        expected.sort_unstable();
        lent.sort_unstable();
        assert_eq!(lent, expected);
    }
}
