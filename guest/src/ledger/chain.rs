//! The hash chain that makes the ledger tamper-evident, with many writers and no lock.
//!
//! Every line is hashed, and every write is linked to the lines before it. A writer reads the end of the file, finds the *heads*
//! there, which are the lines that no later line is linked to, and names them all: `"saw": [hash, …]`. Further lines of the same
//! write are linked to the line directly before: `"follows": hash`. Two writers that read at the same time name the same heads;
//! the next writer names the lines of both. So nobody waits, and still:
//!
//! - A line that was edited or removed is missed by the line that names its hash.
//! - A line that was inserted later would have been named by its neighbours, and was not. Because a file that only grows is seen
//!   as a whole up to some line, the last line that a write names tells how far its writer saw, and then the heads up to there
//!   must be exactly those that it names.
//!
//! Lines cut off at the end leave no trace in the rest, as with any chain; keep a head elsewhere to notice that. Rewriting every
//! line after a change forges the chain too; again, a head kept elsewhere reveals it.

use crate::digest::Digest;
use crate::ports::Tail;

/// Heads are searched for in this many of the last bytes. If more than that is appended after a line by writers that had all read
/// before it came, the line is never named; that would take some fifty writers at once.
pub const WINDOW: u64 = 32 << 10;

/// Number of bytes that are read to see a whole window: longer by the longest line.
pub const READ: u64 = WINDOW + (32 << 10);

/// How a line is linked to those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// The heads that its writer saw; on the first line of a write.
    Saw(Vec<Digest>),
    /// The line directly before; on the other lines of a write.
    Follows(Digest),
}

impl Link {
    /// The link of a line; `None` for a line that is not an entry of ours. The link comes last on the line, so the rest need not
    /// be read.
    pub fn of(line: &[u8]) -> Option<Self> {
        if after_torn(line).is_some() {
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

    /// The hashes that it names.
    pub fn names(&self) -> &[Digest] {
        match self {
            Self::Saw(heads) => heads,
            Self::Follows(line) => std::slice::from_ref(line),
        }
    }
}

/// The line that follows the torn rest of another. No line of ours contains the beginning of a line: in a string, its quotation
/// marks would be escaped.
pub fn after_torn(line: &[u8]) -> Option<&[u8]> {
    const BEGINNINGS: [&[u8]; 2] = [b"{\"id\":\"", b"{\"archive\":{"];
    let begins = |at: &usize| line.get(*at..).is_some_and(|rest| BEGINNINGS.iter().any(|begin| rest.starts_with(begin)));
    let at = (1..line.len()).rev().filter(|at| line.get(*at) == Some(&b'{')).find(begins)?;
    line.get(at..)
}

/// The end of a ledger, as a writer needs it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The heads, in the order of the file.
    pub heads: Vec<Digest>,
}

impl End {
    /// Reads it from the last bytes of the file.
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
            if whole && start >= end.saturating_sub(WINDOW) {
                add_line(&mut heads, line);
            }
        }
        Self { heads }
    }

    /// The same, starting at a place in `tail` where the last line was the only head: nothing before that line can be a head any
    /// more. `None` if that is not so, or if the line is no longer in the window.
    pub fn extend_from(tail: &Tail, known: usize, head: Digest) -> Option<Self> {
        let (known, appended) = tail.bytes.split_at_checked(known)?;
        let known = known.strip_suffix(b"\n")?;
        let before = known.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let line = known.get(before.or((tail.offset == 0).then_some(0))?..)?;
        let complete = appended.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let is_in_window = (line.len() + 1 + complete) as u64 <= WINDOW;
        if !is_in_window || line.trim_ascii_end().is_empty() || Digest::of(line.trim_ascii_end()) != head {
            return None;
        }
        let mut heads = vec![head];
        appended.get(..complete)?.split_inclusive(|byte| *byte == b'\n').for_each(|line| add_line(&mut heads, line));
        Some(Self { heads })
    }
}

/// Adds a line to the heads, and removes those that it names.
fn add_line(heads: &mut Vec<Digest>, line: &[u8]) {
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return;
    }
    if let Some(tie) = Link::of(line) {
        heads.retain(|head| !tie.names().contains(head));
    }
    heads.push(Digest::of(line));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn an_incomplete_line_is_not_a_head() {
        let one = line("1", &[]);
        let torn = end(&format!("{one}\n{{\"id\":"));
        assert_eq!(torn.heads, [Digest::of(one.as_bytes())]);
        assert_eq!(end(&format!("{one}\n{{\"id\":\n")).heads.len(), 2);
        assert_eq!(end(&format!("{one}\n\n\n")).heads.len(), 1);
    }

    #[test]
    fn a_line_cut_off_at_the_start_is_ignored() {
        let one = line("1", &[]);
        let text = format!("the rest of a line\n{one}\n");
        let end = End::of(&Tail { offset: 7, bytes: text.into_bytes() });
        assert_eq!(end.heads, [Digest::of(one.as_bytes())]);
    }

    #[test]
    fn an_end_is_continued_from_its_only_head() {
        let (one, torn) = (line("1", &[]), "{\"id\":");
        let two = line("2", &[&one]);
        let hash = |text: &str| Digest::of(text.as_bytes());
        let known = format!("{one}\n").len();
        for (text, known, head, heads) in [
            (format!("{one}\n"), known, hash(&one), Some(vec![hash(&one)])),
            (format!("{one}\n{torn}"), known, hash(&one), Some(vec![hash(&one)])),
            (format!("{one}\n{two}\n"), known, hash(&one), Some(vec![hash(&two)])),
            (format!("{one}\n\n{two}\n{torn}"), known, hash(&one), Some(vec![hash(&two)])),
            (format!("{one}\n{two}\n"), known, hash(&two), None),
            (format!("{one}\n{two}\n"), known - 1, hash(&one), None),
            (format!("{one}\n{two}\n"), known + 1, hash(&one), None),
            (format!("{one}\n"), known + 1, hash(&one), None),
            (format!("{one}\n\n"), known + 1, hash(&one), None),
            (format!("{one}\n{}\n", "x".repeat(32 << 10)), known, hash(&one), None),
        ] {
            let tail = Tail { offset: 0, bytes: text.clone().into_bytes() };
            assert_eq!(End::extend_from(&tail, known, head).map(|end| end.heads), heads, "{text:.200}");
        }
        let tail = Tail { offset: 7, bytes: format!("{one}\n").into_bytes() };
        assert_eq!(End::extend_from(&tail, known, hash(&one)), None, "the line may begin before what was read");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Many writers, each of which saw some of the lines: continuing from any place with one head gives the same result as
        /// reading the whole end.
        #[test]
        fn an_end_that_is_continued_is_the_same_end(
            writes in prop::collection::vec((0_usize..4, any::<bool>(), 0_usize..9_000), 1..24),
            from in 0_usize..24,
            begin in 0_u64..5_000,
        ) {
            let (mut lines, mut text): (Vec<String>, String) = Default::default();
            let (mut known, mut seen) = (0, Vec::new());
            for (number, (missed, is_long, length)) in writes.iter().enumerate() {
                let heads = end(&lines.iter().take(lines.len().saturating_sub(*missed)).map(|line| format!("{line}\n")).collect::<String>()).heads;
                let padding = "x".repeat(if *is_long { *length } else { length % 300 });
                lines.push(serde_json::json!({"id": number, "padding": padding, "saw": heads}).to_string());
                text.push_str(&format!("{}\n", lines[number]));
                if number == from {
                    (known, seen) = (text.len(), end(&text).heads);
                }
            }
            if let [head] = seen.as_slice() {
                let offset = (known as u64).saturating_sub(begin);
                let bytes = text.as_bytes()[usize::try_from(offset).unwrap()..].to_vec();
                let place = known - usize::try_from(offset).unwrap();
                let continued = End::extend_from(&Tail { offset, bytes }, place, *head);
                prop_assert!(continued.is_none() || continued == Some(end(&text)));
                let is_near = lines[from].len() + 1 < place && text.len() - known + lines[from].len() < 32 << 10;
                prop_assert!(continued.is_some() || !is_near);
            }
        }
    }
}
