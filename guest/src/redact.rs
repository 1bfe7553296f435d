//! Removes secrets from text, so that nothing the gate stores or passes on reveals one.
//!
//! A secret is recognised by its own shape (`shape`) or by what precedes it (`label`). A false positive costs a word of a
//! message, a false negative a password, so when in doubt a value is hidden. The text is read once, in linear time, and redacting
//! text that is already redacted does not change it, unless a pattern from the settings matches `[REDACTED]`.

mod bytes;
mod label;
mod pattern;
mod search;
mod shape;
mod value;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

use bytes::{from, is_name};
pub use pattern::{Pattern, PatternFault};
use search::Budget;

/// The replacement for a secret.
pub(crate) const MARK: &str = "[REDACTED]";

/// The replacement for a text that could not be searched within the budget: such a text is never shown.
const WITHHELD: &str = "[REDACTED: too long to search]";

/// What the workspace declares as secret in addition to the built-in patterns, and the secrets of extensions.
#[derive(Default)]
pub struct Secrets {
    patterns: RefCell<Rc<[Pattern]>>,
    values: RefCell<Vec<String>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Replaces the patterns.
    pub fn set_patterns(&self, patterns: Rc<[Pattern]>) {
        self.patterns.replace(patterns);
    }

    /// Replaces the texts to hide. Each is hidden as it stands and as JSON escapes it.
    pub fn set_secret_values(&self, values: Vec<String>) {
        let escaped = |value: &String| {
            let json = Value::from(value.as_str()).to_string();
            json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).map(str::to_owned)
        };
        let mut all: Vec<String> = values.iter().filter_map(escaped).chain(values.iter().cloned()).collect();
        all.retain(|value| !value.is_empty());
        all.sort_unstable();
        all.dedup();
        self.values.replace(all);
    }

    /// The text without its secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_with(text, &[])
    }

    /// The same, with additional patterns.
    pub fn redact_with<'t>(&self, text: &'t str, more: &[Pattern]) -> Cow<'t, str> {
        self.redact_within(text, more, &mut Budget::new())
    }

    /// The same for every string in a JSON value.
    pub fn redact_value(&self, value: &mut Value, more: &[Pattern]) {
        self.redact_all(value, more, &mut Budget::new());
    }

    fn redact_within<'t>(&self, text: &'t str, more: &[Pattern], budget: &mut Budget) -> Cow<'t, str> {
        let own = self.patterns.borrow();
        // Every pattern sees the original text: what one pattern hides must not keep another from recognising its secret.
        let mut hidden = secret_ranges(text);
        for value in self.values.borrow().iter() {
            hidden.extend(text.match_indices(value.as_str()).map(|(at, _)| at..at + value.len()));
        }
        budget.grant(text.len());
        for pattern in own.iter().chain(more) {
            if pattern.cover(text, &mut hidden, budget).is_err() {
                return Cow::Borrowed(WITHHELD);
            }
        }
        replace_with_mark(text, hidden)
    }

    fn redact_all(&self, value: &mut Value, more: &[Pattern], budget: &mut Budget) {
        match value {
            Value::String(text) => {
                let clean = self.redact_within(text, more, budget);
                if clean != *text {
                    *text = clean.into_owned();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_all(item, more, budget)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_all(field, more, budget)),
            _ => {}
        }
    }
}

/// The text with a mark in place of each part. The parts may overlap.
fn replace_with_mark(text: &str, mut parts: Vec<Range<usize>>) -> Cow<'_, str> {
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    parts.sort_unstable_by_key(|part| part.start);
    let (mut clean, mut copied) = (String::new(), 0);
    for Range { start, end } in parts {
        if start >= copied && (start > copied || copied == 0) {
            clean.push_str(text.get(copied..start).unwrap_or_default());
            clean.push_str(MARK);
        }
        copied = copied.max(end);
    }
    clean.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(clean)
}

/// Replaces secrets with `[REDACTED]`; labels, quotes and user names stay.
pub fn redact(text: &str) -> Cow<'_, str> {
    replace_with_mark(text, secret_ranges(text))
}

/// The ranges of secrets, in order.
fn secret_ranges(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut hidden = Vec::new();
    let mut copied = 0;
    // The value that a label has announced. The text before it is still searched.
    let mut announced: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = from(bytes, at);
        // What precedes is looked at only as far back as the last secret, just as if the mark were already there.
        let behind = bytes.get(copied..at).unwrap_or_default();
        let starts = is_name(*byte) && starts_word(behind);
        let found = if starts {
            label::announced_secret(rest, matches!(behind, [.., before, b' '] if before.is_ascii_alphabetic()))
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
        let end = value.max(at + shape::secret_length(rest, starts).unwrap_or_default());
        if end > at {
            hidden.push(at..end);
            copied = end;
            announced = announced.filter(|value| value.end > end);
        }
        at = end.max(at + 1);
    }
    hidden
}

/// Whether a word may start after `behind`. The end of `\n`, of `%3D` or of a terminal colour code is not part of a word.
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
