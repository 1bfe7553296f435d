//! Text without its secrets, so that nothing the gate writes down or passes on gives one away.
//!
//! A secret is known by its own shape (`shape`) or by what stands before it (`label`). A wrong guess costs a word
//! of a message, a missed one a password, so values in doubt are hidden. The text is read once, in linear time, and
//! text that went through here comes out of it unchanged.

mod bytes;
mod label;
mod shape;
mod value;

use std::borrow::Cow;
use std::ops::Range;

use bytes::{from, is_name};

/// What a secret is replaced by.
const MARK: &str = "[redacted]";

/// Replaces secrets by `[redacted]`; labels, quotes and user names stay.
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut clean = String::new();
    let mut copied = 0;
    // The value that a label has announced. What lies before it is still looked at.
    let mut announced: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = from(bytes, at);
        // Looking back ends where the last secret did, as it does when the mark stands there.
        let behind = bytes.get(copied..at).unwrap_or_default();
        let starts = is_name(*byte) && starts_word(behind);
        let found = if starts {
            label::announced(rest, matches!(behind, [.., before, b' '] if before.is_ascii_alphabetic()))
        } else if rest.starts_with(b"://") {
            label::url_password(rest)
        } else {
            None
        };
        if let Some(found) = found {
            let (start, end) = (at + found.start, at + found.end);
            announced = Some(announced.map_or(start..end, |other| start.min(other.start)..end.max(other.end)));
        }
        let value = announced.as_ref().filter(|value| value.start <= at).map_or(at, |value| value.end);
        let end = value.max(at + shape::length(rest, starts).unwrap_or_default());
        if end > at {
            clean.push_str(text.get(copied..at).unwrap_or_default());
            clean.push_str(MARK);
            copied = end;
            announced = announced.filter(|value| value.end > end);
        }
        at = end.max(at + 1);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(clean)
}

/// Whether a word may start behind this. What `\n`, `%3D` and terminal colours leave behind is no part of it.
fn starts_word(behind: &[u8]) -> bool {
    match behind {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [before @ .., b'm'] => {
            let mut colour = before.iter().rev().take(12).skip_while(|byte| byte.is_ascii_digit() || **byte == b';');
            colour.next() == Some(&b'[')
        }
        [.., last] => !is_name(*last),
        [] => true,
    }
}

#[cfg(test)]
mod tests;
