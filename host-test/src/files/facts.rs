//! Collects the facts about a path.

use sha2::{Digest as _, Sha256};
use std::io::{self, Read};
use tollgate_guest::digest::Digest;

use super::reading::open_regular;
use super::stat::NO_MARKS;
use super::walk::{FolderCache, LookupResult, Names, join_names};
use super::{FileError, Files};
use crate::bindings::tollgate::hooks::workspace::{Facts, Kind, Question, Root};

impl Files {
    /// The facts about several paths.
    pub(crate) fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let mut folders = FolderCache::default();
        questions.iter().map(|question| self.facts(question, &mut folders)).collect()
    }

    fn facts(&self, question: &Question, folders: &mut FolderCache) -> Facts {
        let walked = self.walk_cached(question.root, &question.path, folders);
        let mut facts = Facts {
            kind: Kind::Missing,
            real_path: walked.real.as_ref().map(|names| self.guest_path(names)),
            entry_path: walked.entry.as_ref().map(|names| self.guest_path(names)),
            link: walked.link,
            hard_links: 0,
            marks: NO_MARKS,
            size: 0,
            digest: None,
        };
        match walked.found {
            LookupResult::Missing => {}
            LookupResult::Denied => facts.kind = Kind::Unreadable,
            LookupResult::Found(file) => {
                (facts.kind, facts.hard_links, facts.marks, facts.size) = (file.kind(), file.hard_links, file.marks, file.size);
                if file.is_file() && question.digest {
                    facts.digest = walked.real.and_then(|real| self.digest(Root::Project, &real).ok());
                }
            }
        }
        facts
    }

    /// The digest of a readable file.
    pub(super) fn digest(&self, root: Root, real: &Names) -> Result<String, FileError> {
        let (dir, below) = self.readable(root, real)?;
        let (mut file, _) = open_regular(&dir, &join_names(below))?;
        Ok(digest_of(&mut file)?.to_string())
    }
}

/// The digest of a file, computed in pieces because it may be larger than memory.
pub fn digest_of(file: &mut impl Read) -> io::Result<Digest> {
    // Most files are small, and clearing a large buffer would take longer than reading one.
    let mut first = [0; 4 << 10];
    let mut hasher = Sha256::new();
    let mut update = |piece: &mut [u8]| -> io::Result<usize> {
        let length = file.read(piece)?;
        hasher.update(piece.get(..length).unwrap_or_default());
        Ok(length)
    };
    if update(&mut first)? == first.len() {
        let mut piece = vec![0; 64 << 10];
        while update(&mut piece)? > 0 {}
    } else {
        while update(&mut first)? > 0 {}
    }
    Ok(Digest::from_bytes(hasher.finalize().into()))
}
