//! The index of notes by name, with the notes that link to them.
//!
//! The index is one text with three tables, stored in a file as it is: a new process reads it in one piece and searches it
//! without parsing it. A note is identified by the position at which its line begins.
//!
//! | table | a line |
//! | --- | --- |
//! | notes, by path | path, stamp; `-` before the stamp of a note that has yet to be read |
//! | names | key, rank, note |
//! | links | key of the target, note that holds the link |

use std::cmp::Ordering;
use std::ops::Range;

use super::markdown::{key, stem};

/// Start of the first line, which also holds the positions of the second and the third table and whether notes wait to be read.
const HEAD: &str = "tollgate-notes-1 ";
const HEAD_BYTES: usize = HEAD.len() + 8 + 1 + 8 + 1 + 1 + 1;

/// The index of one folder.
#[derive(Debug, PartialEq)]
pub(super) struct Index {
    text: Vec<u8>,
    names: usize,
    links: usize,
    /// Whether notes wait to be read.
    pub(super) waits: bool,
}

impl Default for Index {
    fn default() -> Self {
        IndexBuilder::new(&Self { text: Vec::new(), names: HEAD_BYTES, links: HEAD_BYTES, waits: false }).finish()
    }
}

impl Index {
    /// Opens a stored text; `None` if it is not an index.
    pub(super) fn open(text: Vec<u8>) -> Option<Self> {
        let head = std::str::from_utf8(text.get(..HEAD_BYTES)?).ok()?.strip_prefix(HEAD)?;
        let mut words = head.split_ascii_whitespace();
        let mut number = || usize::from_str_radix(words.next()?, 16).ok();
        let (names, links, waits) = (number()?, number()?, number()? != 0);
        let fits = HEAD_BYTES <= names && names <= links && links <= text.len() && text.last() == Some(&b'\n');
        fits.then_some(Self { text, names, links, waits })
    }

    /// The text to store.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// About how many notes there are, estimated from the length.
    pub(super) fn size(&self) -> u64 {
        (self.names.saturating_sub(HEAD_BYTES) / 60) as u64
    }

    /// The path of the note that a concept names, if there is one. If the name contains folders, they must match the end of the
    /// path.
    pub(super) fn find(&self, concept: &str) -> Option<&str> {
        let name = stem(concept);
        let folders = concept.contains(['/', '\\']).then(|| key(concept).replace('\\', "/"));
        let fits = |path: &&str| {
            let path = key(path);
            folders.as_ref().is_none_or(|wanted| {
                let wanted = wanted.strip_suffix(".md").unwrap_or(wanted);
                let path = path.strip_suffix(".md").unwrap_or(&path);
                path.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'))
            })
        };
        self.holders(self.names..self.links, &key(name)).find(fits)
    }

    /// The paths of the notes that link to a name.
    pub(super) fn backlinks(&self, key: &str) -> impl Iterator<Item = &str> {
        self.holders(self.links..self.text.len(), key)
    }

    /// Every note's path and stamp, in order.
    pub(super) fn notes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.lines(HEAD_BYTES..self.names).filter_map(|(_, line)| {
            let (path, stamp) = std::str::from_utf8(line).ok()?.split_once('\t')?;
            Some((path, u64::from_str_radix(stamp.trim_start_matches('-'), 16).ok()?))
        })
    }

    /// Every key with the path of its note, in order of the keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines(self.names..self.links).filter_map(|(_, line)| Some((first(line)?, self.path(line)?)))
    }

    fn holders(&self, table: Range<usize>, key: &str) -> impl Iterator<Item = &str> {
        let begin = format!("{key}\t").into_bytes();
        let from = self.first_of(&table, &begin);
        let lines = self.lines(from..table.end).map(|(_, line)| line);
        lines.take_while(move |line| line.starts_with(&begin)).filter_map(|line| self.path(line))
    }

    /// The position of the first line that is not less than `wanted`.
    fn first_of(&self, table: &Range<usize>, wanted: &[u8]) -> usize {
        let (mut low, mut high) = (table.start, table.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let before = self.text.get(low..middle).unwrap_or_default();
            let start = before.iter().rposition(|byte| *byte == b'\n').map_or(low, |at| low + at + 1);
            let line = self.line(start);
            if line < wanted { low = (start + line.len() + 1).min(high) } else { high = start }
        }
        low
    }

    fn line(&self, start: usize) -> &[u8] {
        let rest = self.text.get(start..).unwrap_or_default();
        rest.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    fn lines(&self, table: Range<usize>) -> impl Iterator<Item = (usize, &[u8])> {
        let mut at = table.start;
        std::iter::from_fn(move || {
            let start = (at < table.end).then_some(at)?;
            let line = self.line(start);
            at = start + line.len() + 1;
            Some((start, line))
        })
    }

    /// The path of the note that the last field of a line points to.
    fn path(&self, line: &[u8]) -> Option<&str> {
        let at = usize::try_from(number(line)?).ok().filter(|at| *at < self.names)?;
        first(self.line(at)).filter(|path| is_note(path))
    }
}

/// The first field of a line.
fn first(line: &[u8]) -> Option<&str> {
    std::str::from_utf8(line.split(|byte| *byte == b'\t').next()?).ok()
}

/// The number that a line ends with.
fn number(line: &[u8]) -> Option<u64> {
    let digits = line.rsplit(|byte| *byte == b'\t').next()?;
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Whether a path below the folder is that of a note. Hidden files and folders are the editor's own.
pub(super) fn is_note(path: &str) -> bool {
    let ending = path.len().checked_sub(3).and_then(|at| path.get(at..));
    let visible = path.split('/').all(|name| !name.is_empty() && !name.starts_with('.'));
    visible && ending.is_some_and(|ending| ending.eq_ignore_ascii_case(".md")) && !path.contains(char::is_control)
}

/// Builds an index from an older one: notes are added in order of their paths, and whatever has not changed is taken over.
pub(super) struct IndexBuilder<'o> {
    old: &'o Index,
    /// The position reached in the older index.
    at: usize,
    text: Vec<u8>,
    /// Notes that were taken over: their old and new positions.
    kept: Vec<(u64, u64)>,
    names: Vec<String>,
    links: Vec<String>,
    /// Whether a note was postponed.
    waits: bool,
}

impl<'o> IndexBuilder<'o> {
    pub(super) fn new(old: &'o Index) -> Self {
        let (kept, names, links) = (Vec::new(), Vec::new(), Vec::new());
        Self { old, at: HEAD_BYTES, text: vec![0; HEAD_BYTES], kept, names, links, waits: false }
    }

    /// Takes a note over from the older index, if its stamp is the same there.
    pub(super) fn keep(&mut self, path: &str, stamp: u64) -> bool {
        while self.at < self.old.names {
            let line = self.old.line(self.at);
            match first(line).unwrap_or_default().cmp(path) {
                Ordering::Less => self.at += line.len() + 1,
                // The line of a note that waits to be read does not end in a number.
                Ordering::Equal if number(line) == Some(stamp) => {
                    self.kept.push((self.at as u64, self.text.len() as u64));
                    self.push(path, "", stamp);
                    return true;
                }
                _ => return false,
            }
        }
        false
    }

    /// Adds a note that has been read: its names by rank, and the keys of the notes that it links to.
    pub(super) fn add(&mut self, path: &str, stamp: u64, names: &[&str], targets: &[String]) {
        self.name(names);
        let note = self.text.len();
        self.links.extend(targets.iter().map(|target| format!("{target}\t{note:08x}\n")));
        self.push(path, "", stamp);
    }

    /// Adds a note that is to be read another time. Its file name is known already.
    pub(super) fn postpone(&mut self, path: &str, stamp: u64) {
        self.name(&[stem(path)]);
        self.push(path, "-", stamp);
        self.waits = true;
    }

    fn name(&mut self, names: &[&str]) {
        let note = self.text.len();
        for (rank, name) in names.iter().enumerate() {
            let key = key(name);
            if !key.is_empty() {
                self.names.push(format!("{key}\t{:02x}\t{note:08x}\n", rank.min(255)));
            }
        }
    }

    fn push(&mut self, path: &str, waits: &str, stamp: u64) {
        self.text.extend_from_slice(format!("{path}\t{waits}{stamp:016x}\n").as_bytes());
    }

    pub(super) fn finish(mut self) -> Index {
        let (old, waits) = (self.old, self.waits);
        let names = self.text.len();
        let fresh = std::mem::take(&mut self.names);
        self.merge(old.names..old.links, fresh);
        let links = self.text.len();
        let fresh = std::mem::take(&mut self.links);
        self.merge(old.links..old.text.len(), fresh);
        let head = format!("{HEAD}{names:08x} {links:08x} {}\n", u8::from(waits));
        self.text.iter_mut().zip(head.bytes()).for_each(|(to, byte)| *to = byte);
        Index { text: self.text, names, links, waits }
    }

    /// Writes a table: the older lines of notes that were taken over, merged with the new ones. Notes keep their order, so the
    /// older lines keep theirs.
    fn merge(&mut self, table: Range<usize>, mut fresh: Vec<String>) {
        fresh.sort_unstable();
        let mut fresh = fresh.into_iter().peekable();
        let mut line_now = Vec::new();
        for (_, line) in self.old.lines(table) {
            let Some(begin) = line.len().checked_sub(8).and_then(|at| line.get(..at)) else { continue };
            let stood = number(line).unwrap_or_default();
            let Ok(place) = self.kept.binary_search_by_key(&stood, |(stood, _)| *stood) else { continue };
            let stands = self.kept.get(place).map_or(0, |(_, stands)| *stands);
            line_now.clear();
            line_now.extend_from_slice(begin);
            line_now.extend(
                (0..8).rev().map(|digit| b"0123456789abcdef".get((stands >> (4 * digit)) as usize & 15).copied().unwrap_or(b'0')),
            );
            line_now.push(b'\n');
            while let Some(new) = fresh.next_if(|new| new.as_bytes() < line_now.as_slice()) {
                self.text.extend_from_slice(new.as_bytes());
            }
            self.text.extend_from_slice(&line_now);
        }
        fresh.for_each(|new| self.text.extend_from_slice(new.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Told<'t> = (&'t str, u64, &'t [&'t str], &'t [&'t str]);

    fn build(old: &Index, notes: &[Told<'_>]) -> Index {
        let mut builder = IndexBuilder::new(old);
        for (path, stamp, names, targets) in notes {
            if !builder.keep(path, *stamp) {
                let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
                builder.add(path, *stamp, names, &targets);
            }
        }
        builder.finish()
    }

    fn leading<'i>(index: &'i Index, key: &str) -> Vec<&'i str> {
        index.backlinks(key).collect()
    }

    #[test]
    fn found_by_every_name() {
        let index = build(
            &Index::default(),
            &[
                ("A.md", 1, &["A", "Shared", "ab"], &["b", "c"]),
                ("dir/B.md", 2, &["B", "Shared"], &["c"]),
                ("dir/deep/C.md", 3, &["C"], &["c"]),
                ("z/B.md", 4, &["B"], &[]),
            ],
        );
        for (concept, expected) in [
            ("a", Some("A.md")),
            ("A.md", Some("A.md")),
            ("AB", Some("A.md")),
            ("shared", Some("A.md")),
            ("b", Some("dir/B.md")),
            ("z/b", Some("z/B.md")),
            ("z\\B.md", Some("z/B.md")),
            ("deep/C", Some("dir/deep/C.md")),
            ("eep/C", None),
            ("../C", None),
            ("../../etc/C", None),
            ("/C", None),
            ("", None),
            ("abc", None),
            ("zz", None),
        ] {
            assert_eq!(index.find(concept), expected, "{concept}");
        }
        assert_eq!(leading(&index, "c"), ["A.md", "dir/B.md", "dir/deep/C.md"]);
        assert_eq!(leading(&index, "b"), ["A.md"]);
        assert_eq!(leading(&index, ""), [""; 0]);
        assert_eq!(Index::open(index.text().to_vec()), Some(index));
    }

    #[test]
    fn an_older_index_with_changes_is_the_index_made_anew() {
        let first: &[Told<'_>] = &[
            ("a.md", 1, &["a", "one"], &["b"]),
            ("b.md", 2, &["b"], &["a", "c"]),
            ("c.md", 3, &["c", "one"], &["a"]),
            ("d.md", 4, &["d"], &["a"]),
        ];
        let second: &[Told<'_>] = &[
            ("a0.md", 9, &["a0", "one"], &["a"]),
            ("a.md", 1, &["a", "one"], &["b"]),
            ("b.md", 5, &["b", "two"], &["d"]),
            ("d.md", 4, &["d"], &["a"]),
            ("e.md", 6, &["e"], &["a"]),
        ];
        let mut second = second.to_vec();
        second.sort_unstable_by_key(|(path, ..)| *path);
        let old = build(&Index::default(), first);
        assert_eq!(build(&old, &second), build(&Index::default(), &second));
        assert_eq!(build(&old, &[]), Index::default());
        assert_eq!(build(&old, first), old);
    }

    #[test]
    fn what_waits_is_known_by_its_file_and_read_later() {
        let empty = Index::default();
        let mut builder = IndexBuilder::new(&empty);
        builder.add("a.md", 1, &["a", "Alpha"], &[]);
        builder.postpone("b.md", 2);
        let index = builder.finish();
        assert!(index.waits);
        assert_eq!((index.find("b"), index.find("alpha")), (Some("b.md"), Some("a.md")));
        assert_eq!(index.notes().collect::<Vec<_>>(), [("a.md", 1), ("b.md", 2)]);
        let mut builder = IndexBuilder::new(&index);
        assert_eq!((builder.keep("a.md", 1), builder.keep("b.md", 2)), (true, false));
    }

    #[test]
    fn an_index_that_was_damaged_is_none() {
        let text = build(&Index::default(), &[("a.md", 1, &["a"], &[])]).text().to_vec();
        for cut in 0..text.len() {
            let opened = Index::open(text[..cut].to_vec());
            assert!(opened.is_none_or(|index| index.find("a").is_none()), "{cut}");
        }
        let whole = String::from_utf8(text).unwrap();
        let elsewhere = whole.replace("a.md\t", "../a.md\t");
        assert_eq!(Index::open(elsewhere.into_bytes()).and_then(|index| index.find("a").map(str::to_owned)), None);
    }

    #[test]
    fn notes_are_told_by_their_paths() {
        for (path, expected) in
            [("a.md", true), ("d/a.MD", true), ("a.txt", false), (".md", false), (".obsidian/a.md", false), ("a\tb.md", false)]
        {
            assert_eq!(is_note(path), expected, "{path}");
        }
    }
}
