//! Reads unified and git diffs, and search/replace blocks between them.
//!
//! The lines of a hunk are counted according to its `@@` line, so `--- x` in a hunk is a removed line and not a header. A hunk
//! without counts ends at the next header. Blocks (`<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`) name no file: they belong to
//! the call's own path, or, as some tools write them, to the file named on the preceding line.

use super::quoted::{header_name, unquote};
use super::{PatchFault, PatchedFile, PatchedFiles, display_line};
use crate::effects::Access;

/// The content of a diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files that its headers name, in order.
    pub changes: Vec<PatchedFile>,
    /// The lines before search/replace blocks, which may be file names.
    pub block_titles: Vec<String>,
}

/// Whether a text has any headers of a diff.
pub fn is_likely(text: &str) -> bool {
    text.lines().any(|line| {
        ["--- ", "---\t", "+++ ", "+++\t", "Index:", "diff --git ", "@@ -", "rename from ", "<<<<<<< SEARCH"]
            .iter()
            .any(|head| line.starts_with(head))
    })
}

/// Reads a diff. Blank text is an empty diff.
pub fn read(text: &str) -> Result<Diff, PatchFault> {
    let mut reading = DiffReader::default();
    let mut lines = text.lines().enumerate().peekable();
    let mut title = "";
    while let Some((number, line)) = lines.next() {
        if reading.hunk.consume(line) {
            continue;
        }
        if is_block_start(line) {
            reading.evidence = true;
            reading.titles.push(title.to_owned());
            let mut divided = false;
            let closed = lines.by_ref().any(|(_, line)| {
                divided |= line.trim_end() == "=======";
                divided && is_block_end(line)
            });
            if !closed {
                return Err(PatchFault::OpenBlock { line: number + 1 });
            }
            continue;
        }
        let next = lines.peek().map_or("", |(_, next)| next);
        reading.line(number + 1, line, next)?;
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with("```") {
            title = trimmed;
        }
    }
    reading.finish_file()?;
    if !reading.evidence && !text.trim().is_empty() {
        return Err(PatchFault::NoDiff);
    }
    Ok(Diff { changes: reading.found.ordered, block_titles: reading.titles })
}

fn is_block_start(line: &str) -> bool {
    line.trim_end()
        .trim_end_matches('>')
        .strip_suffix(" SEARCH")
        .is_some_and(|head| head.len() >= 5 && head.bytes().all(|c| c == b'<'))
}

fn is_block_end(line: &str) -> bool {
    line.trim_end().strip_suffix(" REPLACE").is_some_and(|head| head.len() >= 5 && head.bytes().all(|c| c == b'>'))
}

#[derive(Default)]
struct DiffReader {
    file: DiffFile,
    hunk: RemainingHunk,
    found: PatchedFiles,
    titles: Vec<String>,
    /// Whether any line so far belonged to a diff.
    evidence: bool,
}

/// The lines that are left of the hunk being skipped.
#[derive(Default)]
pub(super) struct RemainingHunk {
    old: u64,
    new: u64,
}

impl RemainingHunk {
    /// Whether lines of the hunk are still missing.
    pub(super) fn is_open(&self) -> bool {
        self.old > 0 || self.new > 0
    }

    /// Consumes the line if it belongs to the hunk, and returns whether it does.
    pub(super) fn consume(&mut self, line: &str) -> bool {
        if !self.is_open() {
            return line.starts_with('\\');
        }
        let (old, new) = match line.as_bytes().first() {
            // A context line without its leading blank.
            None | Some(b' ' | b'\t') => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            // The counts were wrong: a program that applies the diff does not see hunk text here, so neither does this reader.
            Some(_) => {
                *self = Self::default();
                return false;
            }
        };
        self.old = self.old.saturating_sub(old);
        self.new = self.new.saturating_sub(new);
        true
    }

    /// Parses `@@ -1,2 +3 @@`. `None` if the counts are missing, as in `@@ fn main @@`.
    pub(super) fn parse_header(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("@@ ")?.split(' ');
        let mut count = |sign: char| {
            let range = words.next()?.strip_prefix(sign)?;
            let (_, count) = range.split_once(',').unwrap_or((range, "1"));
            count.parse().ok()
        };
        Some(Self { old: count('-')?, new: count('+')? })
    }
}

/// One file of the diff, as named by its headers.
#[derive(Default)]
struct DiffFile {
    /// The names of `diff --git`, if they can be separated.
    git: Option<(String, String)>,
    /// A `diff --git` line whose names cannot be separated, with its number.
    unclear: Option<(usize, String)>,
    old: Option<String>,
    new: Option<String>,
    /// Names outside a pair of headers: `Index:`, `Binary files`.
    others: Vec<String>,
    renamed: (Option<String>, Option<String>),
    copied: (Option<String>, Option<String>),
    deleted: bool,
    hunks: bool,
}

impl DiffReader {
    fn line(&mut self, number: usize, line: &str, next: &str) -> Result<(), PatchFault> {
        let bad = || PatchFault::BadName { line: number, header: display_line(line) };
        let name = |rest: &str| header_name(rest).ok_or_else(bad);
        if let Some(rest) = line.strip_prefix("diff --git ") {
            self.finish_file()?;
            match git_names(rest) {
                Some(names) => self.file.git = Some(names),
                None => self.file.unclear = Some((number, display_line(line))),
            }
        } else if let Some(rest) = after_marker(line, "---") {
            if self.file.old.is_some() || self.file.hunks {
                self.finish_file()?;
            }
            self.file.old = Some(name(rest)?);
        } else if let Some(rest) = after_marker(line, "+++") {
            if self.file.new.is_some() {
                self.finish_file()?;
            }
            self.file.new = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("Index:").map(str::trim_start) {
            self.finish_file()?;
            self.file.others.push(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("rename from ") {
            self.file.renamed.0 = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("rename to ") {
            self.file.renamed.1 = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("copy from ") {
            self.file.copied.0 = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("copy to ") {
            self.file.copied.1 = Some(name(rest)?);
        } else if line.starts_with("deleted file mode ") {
            self.file.deleted = true;
        } else if let Some(names) = line.strip_prefix("Binary files ").and_then(|rest| rest.strip_suffix(" differ")) {
            let (old, new) = names.split_once(" and ").ok_or_else(bad)?;
            (self.file.old, self.file.new) = (Some(name(old)?), Some(name(new)?));
        } else if line.starts_with("@@") {
            self.file.hunks = true;
            self.hunk = RemainingHunk::parse_header(line).unwrap_or_default();
        } else if line.trim() == super::envelope::BEGIN {
            return Err(PatchFault::OtherForm { line: number, header: display_line(line) });
        } else if line.starts_with("*** ") && next.starts_with("--- ") {
            return Err(PatchFault::ContextDiff { line: number });
        } else {
            return Ok(());
        }
        self.evidence = true;
        Ok(())
    }

    fn finish_file(&mut self) -> Result<(), PatchFault> {
        let file = std::mem::take(&mut self.file);
        let mut add =
            |path: &str, access| if path.is_empty() || path == "/dev/null" { Ok(()) } else { self.found.add(path, access) };
        let (old, new) = strip(file.old.as_deref(), file.new.as_deref());
        let git = file.git.as_ref().map(|(old, new)| strip(Some(old), Some(new)));
        let (git_old, git_new) = git.unwrap_or_default();
        let named = [file.renamed.0.is_some(), file.copied.0.is_some(), file.old.is_some(), file.new.is_some()].contains(&true);
        if let (false, Some((line, header))) = (named, file.unclear) {
            return Err(PatchFault::BadName { line, header });
        }
        let (renamed, copied) = (file.renamed, file.copied);
        let gone = file.deleted || new == Some("/dev/null");
        for (path, access) in
            [(&renamed.0, Access::Delete), (&renamed.1, Access::Write), (&copied.0, Access::Read), (&copied.1, Access::Write)]
        {
            path.iter().try_for_each(|path| add(path, access))?;
        }
        let told = [&renamed.0, &renamed.1, &copied.0, &copied.1].map(Option::as_deref);
        let others = file.others.iter().map(|path| Some(path.as_str()));
        // If git's prefixes do not form a pair, some programs strip them from one side only.
        let halves = [file.old.as_deref(), file.new.as_deref()].map(|path| path.and_then(without_prefix));
        let halves = halves.into_iter().filter(|_| (old, new) == (file.old.as_deref(), file.new.as_deref()));
        for path in [git_old, git_new, old, new].into_iter().chain(others).chain(halves).flatten() {
            if !told.contains(&Some(path)) {
                add(path, if gone { Access::Delete } else { Access::Write })?;
            }
        }
        Ok(())
    }
}

/// The text after a header's marker and a blank.
fn after_marker<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    line.strip_prefix(marker)?.strip_prefix([' ', '\t']).map(str::trim_start)
}

/// A path without one of git's prefixes.
fn without_prefix(path: &str) -> Option<&str> {
    ["a/", "b/", "c/", "i/", "o/", "w/"].iter().find_map(|prefix| path.strip_prefix(prefix))
}

/// The diff headers in a text of another format: pairs of `---` and `+++`, and git's own.
pub(super) fn headers(text: &str) -> Result<Vec<PatchedFile>, PatchFault> {
    let mut reading = DiffReader::default();
    let mut lines = text.lines().enumerate().peekable();
    let mut paired = false;
    while let Some((number, line)) = lines.next() {
        let next = lines.peek().map_or("", |(_, next)| next);
        if line.starts_with("***************") {
            return Err(PatchFault::ContextDiff { line: number + 1 });
        }
        let pair = after_marker(line, "---").is_some() && after_marker(next, "+++").is_some();
        let git = ["diff --git ", "rename from ", "rename to ", "copy from ", "copy to ", "deleted file mode ", "Index:"];
        if pair || paired || git.iter().any(|head| line.starts_with(head)) {
            reading.line(number + 1, line, "")?;
        }
        paired = pair;
    }
    reading.finish_file()?;
    Ok(reading.found.ordered)
}

/// Strips git's prefixes if both sides have a pair of prefixes that git writes.
fn strip<'a>(old: Option<&'a str>, new: Option<&'a str>) -> (Option<&'a str>, Option<&'a str>) {
    const PAIRS: [(&str, &str); 5] = [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/")];
    let without = |path: Option<&'a str>, prefix: &str| match path {
        None | Some("/dev/null") => Some(path),
        Some(path) => path.strip_prefix(prefix).map(Some),
    };
    PAIRS.iter().find_map(|(a, b)| without(old, a).zip(without(new, b))).unwrap_or((old, new))
}

/// The two names of a `diff --git` line. Unquoted names may contain blanks: then both names must be the same, or there must be
/// exactly one ` b/` between them.
pub(super) fn git_names(rest: &str) -> Option<(String, String)> {
    if rest.starts_with('"') {
        let old = unquote(rest)?;
        let new = old.rest.strip_prefix(' ')?;
        let new = if new.starts_with('"') { unquote(new)?.text } else { new.to_owned() };
        return Some((old.text, new));
    }
    if let Some((old, new)) = rest.split_once(" \"") {
        return Some((old.to_owned(), unquote(&format!("\"{new}"))?.text));
    }
    let rest = rest.trim_end();
    let halves = rest.get(..rest.len() / 2).zip(rest.get(rest.len() / 2 + 1..));
    if let (Some((old, new)), true) = (halves, rest.as_bytes().get(rest.len() / 2) == Some(&b' ')) {
        let name = |side: &str| side.split_once('/').map(|(_, name)| name.to_owned());
        if old == new || (name(old).is_some() && name(old) == name(new)) {
            return Some((old.to_owned(), new.to_owned()));
        }
    }
    let mut splits = rest.match_indices(" b/");
    match (splits.next(), splits.next()) {
        (Some((at, _)), None) => Some((rest.get(..at)?.to_owned(), rest.get(at + 1..)?.to_owned())),
        _ => rest.split_once(' ').filter(|(_, new)| !new.contains(' ')).map(|(old, new)| (old.to_owned(), new.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::expected::{delete, write};
    use super::*;

    fn found(text: &str) -> Vec<PatchedFile> {
        read(text).unwrap().changes
    }

    #[test]
    fn headers() {
        for (text, expected) in [
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", vec![write("x")]),
            ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", vec![write("x"), write("y")]),
            ("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", vec![write("x")]),
            ("--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n", vec![write("a/x"), write("x")]),
            ("--- a/x\n+++ y\n@@ -1 +1 @@\n-a\n+b\n", vec![write("a/x"), write("y"), write("x")]),
            ("---\tx\n+++\tx\n@@ -1 +1 @@\n-a\n+b\n", vec![write("x")]),
            ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", vec![write("x")]),
            ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", vec![delete("x")]),
            ("--- a/x\t2026-01-01 00:00:00\n+++ b/x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b", vec![write("x")]),
            ("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", vec![write("x")]),
            ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", vec![write("x")]),
            ("diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x", vec![delete("x")]),
            (
                "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b",
                vec![delete("x"), write("y")],
            ),
            (
                "diff --git a/x b/y\ncopy from x\ncopy to y\n",
                vec![PatchedFile { access: Access::Read, ..write("x") }, write("y")],
            ),
            ("diff --git a/a b b/a b\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n", vec![write("a b")]),
            ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", vec![write("x")]),
            ("diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\n", vec![write("ä")]),
            ("--- \"a/q\\\"\"\n+++ \"b/q\\\"\"\n@@ -1 +1 @@\n-a\n+b", vec![write("q\"")]),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b", vec![write("x"), write("y")]),
            ("Index: x\n====\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b", vec![write("x")]),
            ("@@ -1 +1 @@\n-a\n+b", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn what_looks_like_a_header_in_a_hunk_is_text() {
        let text =
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n-x\n+y\n@@ -9 +9 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(found(text), [write("x")]);
        // Without counts this cannot be known, so it is taken as a header.
        assert_eq!(found(&text.replace("-1,2 +1,2", "..")), [write("x"), write("y")]);
        // A hunk with more lines than its header says.
        assert_eq!(found("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n"), [write("x"), write("y")]);
        // A hunk with fewer lines than its header says.
        assert_eq!(found("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\ndiff --git a/y b/y\nold mode 1\n"), [write("x"), write("y")]);
    }

    #[test]
    fn blocks_are_text() {
        let block = "<<<<<<< SEARCH\n:start_line:1\n-------\n--- a/y\n+++ b/y\n=======\n@@ -1 +1 @@\n>>>>>>> REPLACE\n";
        assert_eq!(read(&block.repeat(2)).unwrap(), Diff { changes: vec![], block_titles: vec![String::new(); 2] });
        assert_eq!(read(&format!("src/a.ts\n```ts\n{block}```")).unwrap().block_titles, ["src/a.ts"]);
    }

    #[test]
    fn faults_say_where() {
        for (text, said) in [
            ("change the first line", "cannot be read"),
            ("x\n<<<<<<< SEARCH\na\n=======\nb\n", "line 2"),
            ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "lacks its `=======`"),
            ("*** a/x\n--- b/x\n***************\n", "context diff"),
            ("--- \"a/x\n+++ b/x\n", "line 1"),
            ("diff --git a/x b/ y b/ z\nold mode 1\n", "line 1"),
        ] {
            let fault = read(text).unwrap_err().to_string();
            assert!(fault.contains(said), "{text}: {fault}");
        }
    }
}
