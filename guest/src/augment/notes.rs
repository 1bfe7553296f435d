//! The built-in source: Markdown notes in `.tollgate/concepts/`, one per concept.

use crate::ports::{FileFault, Ports, Root};

/// The source's name.
pub(super) const NAME: &str = "notes";

const FOLDER: &str = ".tollgate/concepts";

/// A note is cut here.
const MOST_BYTES: u64 = 16 << 10;

/// The note about a concept, if there is one. A name that would leave the folder names no note.
pub(super) fn look_up(concept: &str, ports: &Ports) -> Option<String> {
    let unfit = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
    if concept.contains(unfit) || concept.starts_with('.') {
        return None;
    }
    let path = format!("{FOLDER}/{concept}.md");
    match ports.workspace.read_range(Root::Project, &path, 0, MOST_BYTES) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty()),
        Err(FileFault::Missing) => None,
        Err(fault) => {
            ports.warn(&format!("the note `{path}` cannot be read: {fault}"));
            None
        }
    }
}
