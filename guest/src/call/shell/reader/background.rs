//! What keeps running after a command has ended.

use super::super::syntax::tree::{AndOrList, CommandNode, Word};
use super::ShellReader;
use crate::effects::Persistence;

impl ShellReader<'_> {
    /// Records that something started by the command may keep running after it.
    pub(in crate::call::shell) fn record_persistence(&mut self, persistence: Persistence) {
        self.persistence = self.persistence.max(persistence);
    }

    /// Records that a text which is not parsed may start something in the background.
    pub(super) fn look_for_background(&mut self, text: &str) {
        if has_lone_ampersand(text) {
            self.record_persistence(Persistence::Detached);
        }
    }
}

/// Whether background commands are waited for before anything else happens: `a & b & wait`.
pub(super) fn is_waited_for(following: &[AndOrList]) -> bool {
    let next = following.iter().find(|chain| !chain.background);
    match next.map(|chain| chain.first.commands.as_slice()) {
        Some([CommandNode::Simple(simple)]) => {
            let words: Vec<Option<String>> = simple.words.iter().map(Word::literal).collect();
            simple.redirects.is_empty() && matches!(words.as_slice(), [Some(name)] if name == "wait")
        }
        _ => false,
    }
}

/// Whether the text has an `&` that is not part of `&&`, `>&` or `&>`.
fn has_lone_ampersand(text: &str) -> bool {
    let bytes = text.as_bytes();
    let before = |index: usize| index.checked_sub(1).and_then(|index| bytes.get(index)).copied();
    let behind = |index: usize| bytes.get(index + 1).copied();
    let is_lone =
        |index: usize| !matches!(before(index), Some(b'&' | b'<' | b'>' | b'\\')) && !matches!(behind(index), Some(b'&' | b'>'));
    bytes.iter().enumerate().any(|(index, byte)| *byte == b'&' && is_lone(index))
}
