//! Finds every file that a patch program could write: GNU, BSD and busybox `patch`, `git apply`.
//!
//! These accept far more than well-formed diffs: headers that are indented, quoted from a mail or marked with an `X`, names with
//! or without a date, `Index:` before any blank, names with fewer folders than are to be stripped. Every name that one of the
//! programs could use counts. Formats other than names and hunks (context and normal diffs, `ed` scripts, links) are faults, and
//! so are a hunk whose length differs from its header and a hunk whose text looks like a header.

use super::quoted::{before_date, unquote};
use super::unified::{RemainingHunk, git_names};
use super::{PatchFault, PatchedFile, PatchedFiles, display_line};
use crate::effects::Access;

/// How many leading folders a program strips from the names in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strip {
    /// The number given to the program, or fewer if a name has fewer folders.
    Exactly(usize),
    /// No number was given: some programs strip none, some one, some all, some as many as fit the current folder.
    Unspecified,
}

/// Every path that a patch program could write or remove, in order. A program may also leave the files named by [`leftovers`].
pub fn every_target(text: &str, strip: Strip) -> Result<Vec<String>, PatchFault> {
    let mut found = PatchedFiles::default();
    let mut hunk = RemainingHunk::default();
    let mut last = 0;
    for (at, line) in text.lines().enumerate() {
        let open = hunk.is_open();
        last = at + 1;
        if hunk.consume(line) {
            // If a program finds no file for a hunk, it looks for headers in the hunk itself.
            if open && !names(last, line, strip)?.0.is_empty() {
                return Err(PatchFault::OtherForm { line: last, header: display_line(line) });
            }
            continue;
        }
        if open {
            return Err(PatchFault::BadHunk { line: last });
        }
        if let Some(counted) = RemainingHunk::parse_header(line) {
            hunk = counted;
            continue;
        }
        let (names, strip) = names(last, line, strip)?;
        for name in names {
            strip_folders(&name, strip).into_iter().try_for_each(|path| found.add(path, Access::Write))?;
        }
    }
    if hunk.is_open() {
        return Err(PatchFault::BadHunk { line: last });
    }
    if found.ordered.is_empty() && !text.trim().is_empty() {
        return Err(PatchFault::NoDiff);
    }
    Ok(found.ordered.into_iter().map(|PatchedFile { path, .. }| path).collect())
}

/// What `patch` leaves beside a file: the original text, and rejected hunks. If it fails half-way, it may also leave a temporary
/// file there, whose name cannot be known.
pub fn leftovers(path: &str) -> [String; 2] {
    [format!("{path}.orig"), format!("{path}.rej")]
}

/// The names that a line outside a hunk could contain, in every interpretation, and how many folders are stripped from them.
fn names(number: usize, line: &str, strip: Strip) -> Result<(Vec<String>, Strip), PatchFault> {
    let bad = || PatchFault::BadName { line: number, header: display_line(line) };
    let other = || PatchFault::OtherForm { line: number, header: display_line(line) };
    let bare = strip_marks(line);
    if bare.starts_with("***************") {
        return Err(PatchFault::ContextDiff { line: number });
    }
    if bare.starts_with("@@ -") || is_edit(bare) {
        return Err(other());
    }
    if ["new file mode ", "new mode ", "old mode "].iter().any(|head| bare.starts_with(head)) {
        let mode = bare.rsplit(' ').next().unwrap_or_default();
        return if mode.starts_with("100") { Ok((Vec::new(), strip)) } else { Err(other()) };
    }
    if bare.starts_with("index ") && [" 120000", " 160000"].iter().any(|mode| bare.ends_with(mode)) {
        return Err(other());
    }
    if let Some(rest) = bare.strip_prefix("diff --git ") {
        let (old, new) = git_names(rest).ok_or_else(bad)?;
        return Ok((vec![old, new], strip));
    }
    for head in ["rename from ", "rename to ", "rename old ", "rename new ", "copy from ", "copy to "] {
        if let Some(rest) = bare.strip_prefix(head) {
            // These names lack git's prefix, so git strips one folder less.
            let fewer = match strip {
                Strip::Exactly(count) => Strip::Exactly(count.saturating_sub(1)),
                Strip::Unspecified => Strip::Unspecified,
            };
            return Ok((possible_names(rest).ok_or_else(bad)?, fewer));
        }
    }
    for head in ["---", "+++", "***"] {
        if let Some(rest) = bare.strip_prefix(head).filter(|rest| rest.starts_with(char::is_whitespace)) {
            let mut names = possible_names(rest.trim_start()).ok_or_else(bad)?;
            names.retain(|name| name != "/dev/null");
            return Ok((names, strip));
        }
    }
    if let Some(rest) = bare.strip_prefix("Index:") {
        return Ok((possible_names(rest.trim_start()).ok_or_else(bad)?, strip));
    }
    Ok((Vec::new(), strip))
}

/// A line without what `patch` skips before a header: blanks, `X`, and the `- ` of forwarded mail.
fn strip_marks(line: &str) -> &str {
    let mut rest = line;
    loop {
        let shorter = rest.strip_prefix("- ").or_else(|| rest.strip_prefix([' ', '\t', 'X']));
        match shorter {
            Some(shorter) => rest = shorter,
            None => return rest,
        }
    }
}

/// Whether a line is a command of a normal diff or of an `ed` script: `5d`, `1,2c1,3`.
fn is_edit(line: &str) -> bool {
    let is_range = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let line = line.trim_end();
    line.starts_with(|c: char| c.is_ascii_digit())
        && line.split_once(['a', 'c', 'd', 'i', 's']).is_some_and(|(before, after)| is_range(before) && is_range(after))
}

/// The names that the rest of a header may contain; `None` if it is quoted and cannot be read.
fn possible_names(rest: &str) -> Option<Vec<String>> {
    let rest = rest.trim_end();
    if rest.starts_with('"') {
        return unquote(rest).map(|name| vec![name.text]);
    }
    let to_tab = rest.split('\t').next().unwrap_or(rest).trim_end();
    let to_blank = rest.split_whitespace().next().unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for name in [to_tab, before_date(to_tab).trim_end(), to_blank] {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Some(names)
}

/// A name without its leading folders, in every interpretation.
fn strip_folders(name: &str, strip: Strip) -> Vec<String> {
    let is_absolute = name.starts_with('/');
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    // A leading slash counts as a folder.
    let levels = parts.len() + usize::from(is_absolute);
    let without = |count: usize| match count {
        0 => Some(name.to_owned()),
        _ => parts.get(count - usize::from(is_absolute)..).filter(|rest| !rest.is_empty()).map(|rest| rest.join("/")),
    };
    let counts = match strip {
        Strip::Exactly(count) if count < levels => count..count + 1,
        Strip::Exactly(count) => 0..count.min(levels),
        Strip::Unspecified => 0..levels,
    };
    counts.filter_map(without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, strip: Strip) -> Vec<String> {
        every_target(text, strip).unwrap()
    }

    const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn names_without_a_folder_stay() {
        let text = format!("--- README.md\n+++ README.md\n{HUNK}");
        assert_eq!(found(&text, Strip::Exactly(1)), ["README.md"]);
        assert_eq!(found(&text, Strip::Exactly(0)), ["README.md"]);
        assert_eq!(found(&text, Strip::Unspecified), ["README.md"]);
    }

    #[test]
    fn folders_are_taken_off() {
        let text = format!("--- a/src/x\n+++ b/src/x\n{HUNK}");
        assert_eq!(found(&text, Strip::Exactly(1)), ["src/x"]);
        assert_eq!(found(&text, Strip::Exactly(0)), ["a/src/x", "b/src/x"]);
        assert_eq!(found(&text, Strip::Exactly(9)), ["a/src/x", "src/x", "x", "b/src/x"]);
        assert_eq!(found(&text, Strip::Unspecified), ["a/src/x", "src/x", "x", "b/src/x"]);
        assert_eq!(found(&format!("--- /abs//x\n+++ /dev/null\n{HUNK}"), Strip::Exactly(1)), ["abs/x"]);
        assert_eq!(found(&format!("--- a//src/x\n{HUNK}"), Strip::Exactly(1)), ["src/x"]);
    }

    #[test]
    fn lenient_headers() {
        for header in [
            "X--- p",
            "- --- p",
            "  --- p",
            "\t+++ p",
            "XX *** p",
            "Index:\tp",
            "Index:p",
            "- - Index: p",
            "---\tp",
            "--- p\t2026-01-01 00:00:00",
            "--- p 2026-01-01 00:00:00",
            "+++ \"p\"",
            "--- p\r",
            "diff --git a/p b/p",
            "rename to p",
        ] {
            let targets = found(
                &format!("{header}\n{HUNK}"),
                Strip::Exactly(usize::from(header.contains("p b/") || header.contains("rename"))),
            );
            assert!(targets.contains(&"p".to_owned()), "{header}: {targets:?}");
        }
        assert_eq!(found(&format!("--- a b\n{HUNK}"), Strip::Exactly(0)), ["a b", "a"]);
    }

    #[test]
    fn hunks_hold_text() {
        let text = "--- x\n+++ x\n@@ -1,2 +1,2 @@\n-some\n+other\n-1\n+2\n\\ No newline at end of file\n";
        assert_eq!(found(text, Strip::Exactly(0)), ["x"]);
        assert_eq!(found("", Strip::Exactly(0)), Vec::<String>::new());
    }

    #[test]
    fn other_forms_are_faults() {
        for text in [
            "--- x\n+++ x\n@@ -1,9 +1,9 @@\n-a\n+b\n",
            "--- x\n+++ x\n@@ -1,2 +1,2 @@\n-a\ndiff --git a/y b/y\n",
            "*** x\n--- y\n***************\n*** 1 ****\n",
            "Index: x\n1c1\n< a\n---\n> b\n",
            "Index: x\n1d\n",
            "Index: x\n1,2d\n",
            "--- x\n+++ x\n@@ -1,2 +1,2 @@\n--- y\n+++ y\n-1\n+2\n",
            HUNK,
            " @@ -1 +1 @@\n",
            "@@ -1 +x @@\n",
            "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-x\n+y\n",
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../x\n",
            "--- \"x\n",
            "some text",
        ] {
            assert!(every_target(text, Strip::Unspecified).is_err(), "{text}");
        }
    }
}
