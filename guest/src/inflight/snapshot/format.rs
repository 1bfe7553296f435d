//! Snapshots as bytes, in a form that loads without parsing: a process that rules on one call reads a snapshot with every file of
//! the workspace, and writes one.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the name of the format |
//! | 8 | a checksum of everything below |
//! | 4, 4 | the number of files; the length of all paths |
//! | 53 each | where the path ends; stamp; size; 1 and the digest, or 0 |
//! | | the paths, sorted, one after the other |

use super::{Snapshot, SnapshotFile};
use crate::digest::Digest;
use crate::state;

const FORMAT: [u8; 8] = *b"snapsht1";

/// The length of everything before the files.
const HEADER: usize = 24;

/// Where the checksum ends and the bytes that it covers begin.
const CHECKED: usize = 16;

/// The length of one file's record.
const RECORD: usize = 53;

impl Snapshot {
    /// The snapshot as bytes.
    pub(in crate::inflight) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.files.len() * RECORD + self.paths.len());
        bytes.extend_from_slice(&FORMAT);
        bytes.extend_from_slice(&[0; 8]);
        let paths: usize = self.files.iter().map(|placed| placed.path.len()).sum();
        for length in [self.files.len(), paths] {
            bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        }
        let mut end = 0_u32;
        for placed in &self.files {
            end = end.saturating_add(u32::try_from(placed.path.len()).unwrap_or(u32::MAX));
            let SnapshotFile { stamp, size, digest } = &placed.file;
            bytes.extend_from_slice(&end.to_le_bytes());
            bytes.extend_from_slice(&stamp.to_le_bytes());
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.push(u8::from(digest.is_some()));
            bytes.extend_from_slice(digest.as_ref().map_or(&[0; 32], |digest| digest.as_bytes()));
        }
        for (path, _) in self.iter() {
            bytes.extend_from_slice(path.as_bytes());
        }
        let sum = state::checksum(bytes.get(CHECKED..).unwrap_or_default());
        if let Some(place) = bytes.get_mut(FORMAT.len()..CHECKED) {
            place.copy_from_slice(&sum.to_le_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) made; `None` if it is damaged.
    pub(in crate::inflight) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (sum, rest) = bytes.strip_prefix(&FORMAT)?.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != state::checksum(rest) {
            return None;
        }
        let (count, rest) = number(rest)?;
        let (length, rest) = number(rest)?;
        let (records, paths) = rest.split_at_checked(count.checked_mul(RECORD)?)?;
        if paths.len() != length {
            return None;
        }
        let mut snapshot = Self { paths: std::str::from_utf8(paths).ok()?.to_owned(), files: Vec::with_capacity(count) };
        let mut start = 0;
        for record in records.chunks_exact(RECORD) {
            let (end, record) = number(record)?;
            let (stamp, record) = record.split_first_chunk::<8>()?;
            let (size, record) = record.split_first_chunk::<8>()?;
            let (is_hashed, digest) = record.split_first()?;
            let digest = (*is_hashed == 1).then(|| digest.first_chunk::<32>().map(|bytes| Digest::from_bytes(*bytes)));
            let file =
                SnapshotFile { stamp: u64::from_le_bytes(*stamp), size: u64::from_le_bytes(*size), digest: digest.flatten() };
            snapshot.push_placed(start..end, file)?;
            start = end;
        }
        Some(snapshot)
    }
}

/// A number of four bytes, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}
