//! Words as they were written, put aside while the grammar works on their numbers.

use std::borrow::Cow;

use super::scan;
use super::value::{NUMBERED, UNKNOWN};

/// Words by number, as they were written.
#[derive(Debug, Default)]
pub(super) struct Words(Vec<Written>);

/// One word, or the body of one here-document.
#[derive(Debug)]
struct Written {
    text: String,
    literal: bool,
}

impl Words {
    /// What stands behind a word of the grammar. The flag says that nothing in it is expanded, as in a here-document whose
    /// delimiter is quoted.
    pub(super) fn written<'t>(&'t self, word: &'t str) -> (Cow<'t, str>, bool) {
        let Some((before, number)) = word.split_once(NUMBERED) else { return (word.into(), false) };
        let Some(found) = number.parse().ok().and_then(|number: usize| self.0.get(number)) else { return (word.into(), false) };
        if before.is_empty() {
            (found.text.as_str().into(), found.literal)
        } else {
            (format!("{before}{}", found.text).into(), false)
        }
    }

    /// Puts a word aside; gives back what the grammar sees in its place.
    pub(super) fn put(&mut self, text: String, literal: bool) -> String {
        self.0.push(Written { text, literal });
        format!("{NUMBERED}{}", self.0.len() - 1)
    }

    /// What the grammar sees of a word: plain words as they are, all others by number.
    pub(super) fn seen(&mut self, raw: String) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=+-,@%^".contains(c);
        if raw.chars().all(plain) {
            return raw;
        }
        match scan::assignment(&raw) {
            // Which element is assigned is not followed: from then on no element is known.
            Some((name, Some(index), _, value)) => {
                let text = format!("{value}{UNKNOWN}\"{index}\"");
                format!("{name}={}", self.put(text, false))
            }
            Some((name, None, operator, value)) => {
                let head = format!("{name}{operator}");
                // `name=(…)` is an array; the grammar wants the bare head.
                if value.is_empty() { head } else { format!("{head}{}", self.put(value.to_owned(), false)) }
            }
            None => self.put(raw, false),
        }
    }
}
