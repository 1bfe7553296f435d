//! The built-in source: folders of Markdown notes, one note per concept.
//!
//! A concept becomes a key into an index and never a path, so no name leads out of the folder. The index is only a hint: the text
//! is read from the note itself, and a note that no longer has the name does not count.

mod index;
mod markdown;
mod store;

use index::Index;
pub(super) use markdown::stem;
use markdown::{key, opening, read, targets};
pub(super) use store::NoteStore;

use crate::ports::{Ports, Root};

/// Maximum number of bytes read from a note.
const MAX_BYTES: u64 = 64 << 10;

/// Maximum number of bytes read from a related note.
const GLANCE_BYTES: u64 = 4 << 10;

/// Maximum number of related notes, one link away, that are mentioned.
const MAX_RELATED: usize = 5;

/// Maximum number of characters quoted from a related note.
const MAX_OPENING: usize = 160;

/// What a note says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoteText {
    /// Its path below its folder.
    pub(super) path: String,
    /// Its text, without front matter.
    pub(super) text: String,
    /// The notes one link away, a line each.
    pub(super) related: String,
}

/// Reads the note about a concept; an error if the index is out of date.
fn find_note(index: &Index, folder: &str, concept: &str, ports: &Ports) -> Result<Option<NoteText>, Stale> {
    let Some(path) = index.find(concept) else { return Ok(None) };
    let Some(text) = text(folder, path, MAX_BYTES, ports) else { return Err(Stale) };
    let note = read(&text);
    let mut own = vec![key(stem(path))];
    for name in &note.names {
        own.push(key(name));
    }
    if !own.contains(&key(stem(concept))) {
        return Err(Stale);
    }
    let mut near: Vec<(&str, &str)> = Vec::new();
    for target in targets(note.body) {
        step(&mut near, index.find(&target), "", path);
    }
    for key in &own {
        for other in index.backlinks(key).take(2 * MAX_RELATED) {
            step(&mut near, Some(other), " (links here)", path);
        }
    }
    let mut related = String::new();
    for (other, how) in near {
        if let Some(text) = self::text(folder, other, GLANCE_BYTES, ports) {
            let said: String = opening(read(&text).body).chars().take(MAX_OPENING).collect();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            related.push_str(&format!("- [[{}]]{how}{said}\n", stem(other)));
        }
    }
    let known = NoteText { path: path.to_owned(), text: note.body.to_owned(), related };
    Ok(Some(known).filter(|known| !known.text.is_empty() || !known.related.is_empty()))
}

/// Adds a note one link away from another, once, as long as there is room.
fn step<'i>(near: &mut Vec<(&'i str, &'static str)>, other: Option<&'i str>, how: &'static str, own: &str) {
    let Some(other) = other else { return };
    if other != own && near.len() < MAX_RELATED && !near.iter().any(|(known, _)| *known == other) {
        near.push((other, how));
    }
}

/// The index does not match the folder.
struct Stale;

/// Reads the beginning of a note; `None` if it cannot be read or is not text.
fn text(folder: &str, path: &str, limit_bytes: u64, ports: &Ports) -> Option<String> {
    let bytes = ports.workspace.read_range(Root::Project, &format!("{folder}/{path}"), 0, limit_bytes).ok()?;
    // If the text was cut in the middle of a character, it ends before that character.
    let text = String::from_utf8_lossy(&bytes);
    let cut = bytes.len() as u64 == limit_bytes;
    (!bytes.contains(&0)).then(|| if cut { text.trim_end_matches('\u{fffd}').to_owned() } else { text.into_owned() })
}
