//! The hash chain that makes the ledger tamper-evident, with many writers and no lock.
//!
//! Every line is hashed, and every write is tied to the lines before it. A writer reads the end of the file, finds the
//! *heads* there, which are the lines that no line after them is tied to, and names them all: `"saw": [hash, …]`. Further
//! lines of the same write are tied to the line directly before: `"follows": hash`. Two writers that read at the same time
//! name the same heads; whoever comes next names both of theirs. So nobody waits, and still:
//!
//! - A line that was edited or removed is missed by whoever names its hash.
//! - A line that was put in later is one that its neighbours would have named, and did not. Because a file that only grows
//!   is seen as a whole up to some line, the last line that a write names tells how far its writer saw, and then the
//!   heads up to there must be exactly those that it names.
//!
//! Lines cut off at the end leave no trace in the rest, as with any chain; keep a head elsewhere to notice that. Whoever
//! rewrites every line after a change can forge the chain too; again, a head kept elsewhere tells.

use crate::digest::Digest;
use crate::ports::Tail;

/// Heads are searched for in this many of the last bytes. A line that is still a head after that much was appended by writers that
/// had all looked before it came is never named, which would take some fifty of them at once.
pub const WINDOW: u64 = 32 << 10;

/// What is read to see a whole window: longer by the longest line.
pub const READ: u64 = WINDOW + (32 << 10);

/// How a line is tied to those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// The heads that its writer saw; on the first line of a write.
    Saw(Vec<Digest>),
    /// The line directly before; on the other lines of a write.
    Follows(Digest),
}

impl Link {
    /// The tie of a line; none for a line that is not an entry of ours. It is the last thing on the line, so the rest need not
    /// be read.
    pub fn of(line: &[u8]) -> Option<Self> {
        if behind_torn(line).is_some() {
            return None;
        }
        let text = std::str::from_utf8(line.strip_suffix(b"}")?).ok()?;
        let (_, tie) = text.rsplit_once(",\"")?;
        if let Some(hash) = tie.strip_prefix("follows\":\"") {
            return hash.strip_suffix('"')?.parse().ok().map(Self::Follows);
        }
        let (_, hashes) = text.rsplit_once(",\"saw\":[")?;
        let hashes = hashes.strip_suffix(']')?;
        let hash = |text: &str| text.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
        let saw: Option<Vec<Digest>> = hashes.split(',').filter(|text| !text.is_empty()).map(hash).collect();
        saw.map(Self::Saw)
    }

    /// The hashes it names.
    pub fn names(&self) -> &[Digest] {
        match self {
            Self::Saw(heads) => heads,
            Self::Follows(line) => std::slice::from_ref(line),
        }
    }
}

/// The line that stands behind the torn rest of another. No line of ours holds the beginning of a line: in a string, its
/// quotation marks would be escaped.
pub fn behind_torn(line: &[u8]) -> Option<&[u8]> {
    const BEGINNINGS: [&[u8]; 2] = [b"{\"id\":\"", b"{\"archive\":{"];
    let begins = |at: &usize| line.get(*at..).is_some_and(|rest| BEGINNINGS.iter().any(|begin| rest.starts_with(begin)));
    let at = (1..line.len()).rev().filter(|at| line.get(*at) == Some(&b'{')).find(begins)?;
    line.get(at..)
}

/// The end of a ledger, as a writer needs it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct End {
    /// In the order of the file.
    pub heads: Vec<Digest>,
}

impl End {
    /// Reads it off the last bytes of the file.
    pub fn of(tail: &Tail) -> Self {
        let bytes = &tail.bytes;
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = tail.offset + complete as u64;
        let mut heads: Vec<Digest> = Vec::new();
        let mut at = tail.offset;
        for line in bytes.get(..complete).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            let start = at;
            at += line.len() as u64;
            // What precedes the first newline may be the rest of a line.
            let whole = start > tail.offset || start == 0;
            let line = line.trim_ascii_end();
            if !whole || line.is_empty() || start < end.saturating_sub(WINDOW) {
                continue;
            }
            if let Some(tie) = Link::of(line) {
                heads.retain(|head| !tie.names().contains(head));
            }
            heads.push(Digest::of(line));
        }
        Self { heads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, saw: &[&str]) -> String {
        let saw: Vec<_> = saw.iter().map(|line| Digest::of(line.as_bytes())).collect();
        serde_json::json!({"id": text, "saw": saw}).to_string()
    }

    fn end(text: &str) -> End {
        End::of(&Tail { offset: 0, bytes: text.as_bytes().to_vec() })
    }

    #[test]
    fn a_head_is_what_nobody_names() {
        let one = line("1", &[]);
        let (two, three) = (line("2", &[&one]), line("3", &[&one]));
        let four = line("4", &[&two, &three]);
        let hash = |text: &String| Digest::of(text.as_bytes());
        assert_eq!(end(""), End::default());
        assert_eq!(end(&format!("{one}\n")).heads, [hash(&one)]);
        assert_eq!(end(&format!("{one}\n{two}\n{three}\n")).heads, [hash(&two), hash(&three)]);
        assert_eq!(end(&format!("{one}\n{two}\n{three}\n{four}\n")).heads, [hash(&four)]);
    }

    #[test]
    fn ties() {
        let hash = Digest::of(b"x");
        for (line, tie) in [
            (r#"{"id":"a","saw":[]}"#.to_owned(), Some(Link::Saw(vec![]))),
            (format!(r#"{{"id":"a","saw":["{hash}","{hash}"]}}"#), Some(Link::Saw(vec![hash, hash]))),
            (format!(r#"{{"id":"a","error":",\"saw\":[]","follows":"{hash}"}}"#), Some(Link::Follows(hash))),
            (format!(r#"{{"id":"a","follows":"{hash}"#), None),
            (r#"{"id":"a","saw":["x"]}"#.to_owned(), None),
            (r#"{"id":"a"}"#.to_owned(), None),
            ("garbage".to_owned(), None),
        ] {
            assert_eq!(Link::of(line.as_bytes()), tie, "{line}");
        }
    }

    #[test]
    fn a_torn_line_is_nobodys_head_until_it_has_an_end() {
        let one = line("1", &[]);
        let torn = end(&format!("{one}\n{{\"id\":"));
        assert_eq!(torn.heads, [Digest::of(one.as_bytes())]);
        assert_eq!(end(&format!("{one}\n{{\"id\":\n")).heads.len(), 2);
        assert_eq!(end(&format!("{one}\n\n\n")).heads.len(), 1);
    }

    #[test]
    fn what_begins_before_the_read_is_no_line() {
        let one = line("1", &[]);
        let text = format!("the rest of a line\n{one}\n");
        let end = End::of(&Tail { offset: 7, bytes: text.into_bytes() });
        assert_eq!(end.heads, [Digest::of(one.as_bytes())]);
    }
}
