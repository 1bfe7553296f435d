//! The `*** Begin Patch` format: the union of what its parsers accept.
//!
//! Codex trims every line before it looks for a header, so an indented header counts even among context lines; OpenCode expects
//! headers in the first column, trims the path, needs no blank before it, skips lines that it does not understand, and finds the
//! envelope anywhere in the text, which also strips here-documents.

use super::{PatchFault, PatchedFile, PatchedFiles, display_line};
use crate::effects::Access;
use crate::programs::PatchDialect;

pub(super) const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// What the lines below a header belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatchSection {
    None,
    Add,
    Update,
    Delete,
}

/// The files that a patch changes, in order.
pub fn changes(text: &str, dialect: PatchDialect) -> Result<Vec<PatchedFile>, PatchFault> {
    let mut lines = text.split('\n').enumerate();
    let begun = lines.find(|(_, line)| trim_blanks(line) == BEGIN).ok_or(PatchFault::NoBegin)?.0 + 1;
    let mut patch = Patch { dialect, section: PatchSection::None, found: PatchedFiles::default(), current: Vec::new() };
    let mut ended = false;
    for (number, line) in lines {
        let flat = trim_blanks(line);
        if !flat.starts_with("***") {
            continue;
        }
        let indented = !line.starts_with("***");
        if flat == END {
            ended = true;
        } else if !indented || dialect != PatchDialect::OpenCode {
            patch.header(number + 1, flat, indented || ended)?;
        }
    }
    if !ended {
        return Err(PatchFault::NoEnd { begun });
    }
    patch.finish_file()?;
    if patch.found.ordered.is_empty() {
        return Err(PatchFault::NoFile);
    }
    Ok(patch.found.ordered)
}

/// Whether a text has headers of an envelope in the first column, even if the envelope itself is missing.
pub(super) fn has_headers(text: &str) -> bool {
    let heads = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
    text.lines().any(|line| heads.iter().any(|head| line.starts_with(head)))
}

struct Patch {
    dialect: PatchDialect,
    section: PatchSection,
    found: PatchedFiles,
    /// The file of the last header, not finished yet because a `*** Move to:` may follow.
    current: Vec<PatchedFile>,
}

impl Patch {
    /// Processes a header. If the line `may_be_text`, a line that is not a header is taken for text.
    fn header(&mut self, line: usize, flat: &str, may_be_text: bool) -> Result<(), PatchFault> {
        let kinds = [
            ("*** Add File:", PatchSection::Add, Access::Write),
            ("*** Update File:", PatchSection::Update, Access::Write),
            ("*** Delete File:", PatchSection::Delete, Access::Delete),
        ];
        for (marker, section, access) in kinds {
            if let Some(rest) = flat.strip_prefix(marker) {
                self.finish_file()?;
                self.section = section;
                self.current = self.names(rest).into_iter().map(|path| PatchedFile { path, access }).collect();
                if self.current.is_empty() {
                    return Err(PatchFault::EmptyPath { line, header: display_line(flat) });
                }
                return Ok(());
            }
        }
        if let Some(rest) = flat.strip_prefix("*** Move to:") {
            if self.section != PatchSection::Update {
                return if may_be_text { Ok(()) } else { Err(PatchFault::StrayMove { line, header: display_line(flat) }) };
            }
            let targets = self.names(rest);
            if targets.is_empty() {
                return Err(PatchFault::EmptyPath { line, header: display_line(flat) });
            }
            self.current.iter_mut().for_each(|change| change.access = Access::Delete);
            self.finish_file()?;
            return targets.into_iter().try_for_each(|path| self.found.add(path, Access::Write));
        }
        let preamble = self.section == PatchSection::None && flat.starts_with("*** Environment ID:");
        if may_be_text || preamble || flat == BEGIN || flat == "*** End of File" {
            return Ok(());
        }
        Err(PatchFault::UnknownHeader { line, header: display_line(flat) })
    }

    fn finish_file(&mut self) -> Result<(), PatchFault> {
        self.current.drain(..).try_for_each(|change| self.found.add(change.path, change.access))
    }

    /// Every path that the rest of a header may refer to.
    fn names(&self, rest: &str) -> Vec<String> {
        let trimmed = rest.trim_matches(is_blank);
        let mut names = Vec::new();
        if !trimmed.is_empty() {
            if self.dialect != PatchDialect::Codex || !rest.starts_with(' ') {
                names.push(trimmed.to_owned());
            }
            let literal = rest.strip_prefix(' ').filter(|literal| *literal != trimmed || names.is_empty());
            if let (PatchDialect::Any | PatchDialect::Codex, Some(literal)) = (self.dialect, literal) {
                names.push(literal.to_owned());
            }
        }
        names
    }
}

/// The line without surrounding blanks, as in the most lenient parser.
fn trim_blanks(line: &str) -> &str {
    line.trim_matches(is_blank)
}

/// JavaScript counts the byte order mark as whitespace.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::super::expected::{delete, write};
    use super::*;

    fn found(text: &str, dialect: PatchDialect) -> Vec<PatchedFile> {
        changes(text, dialect).unwrap()
    }

    fn any(body: &str) -> Vec<PatchedFile> {
        found(&format!("*** Begin Patch\n{body}\n*** End Patch"), PatchDialect::Any)
    }

    #[test]
    fn headers() {
        for (body, expected) in [
            ("*** Add File: a\n+x", vec![write("a")]),
            ("*** Update File: a b.ts\n@@\n-x\n+y", vec![write("a b.ts")]),
            ("*** Delete File: a", vec![delete("a")]),
            ("*** Update File: a\n*** Move to: b\n@@\n-x\n+y", vec![delete("a"), write("b")]),
            ("*** Add File:a\n+x", vec![write("a")]),
            ("  *** Add File: a\n+x", vec![write("a")]),
            ("\t*** Delete File:a  ", vec![delete("a")]),
            ("*** Update File: a\r\n@@\r\n-x\r\n+y\r\n*** End of File\r", vec![write("a")]),
            ("*** Add File: a\n+x\n*** Add File: a\n+y\n*** Delete File: b", vec![write("a"), delete("b")]),
            ("*** Add File: a\nstray text\n*** Update File: b\n@@\n+x", vec![write("a"), write("b")]),
            ("*** Environment ID: local\n*** Add File: a\n+x", vec![write("a")]),
            ("*** Add File:  a\n+x", vec![write("a"), write(" a")]),
        ] {
            assert_eq!(any(body), expected, "{body}");
        }
    }

    #[test]
    fn a_header_in_added_text_is_text() {
        let body = "*** Add File: a\n+*** Delete File: b\n+*** End Patch\n*** Update File: c\n@@\n-*** Add File: d\n+*** what";
        assert_eq!(any(body), [write("a"), write("c")]);
    }

    #[test]
    fn parsers_differ_over_indented_headers() {
        let text = "*** Begin Patch\n*** Update File: a\n@@\n *** Delete File: b\n+x\n*** End Patch";
        assert_eq!(found(text, PatchDialect::OpenCode), [write("a")]);
        assert_eq!(found(text, PatchDialect::Codex), [write("a"), delete("b")]);
        assert_eq!(found(text, PatchDialect::Any), [write("a"), delete("b")]);
    }

    #[test]
    fn wrappings() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
        for text in [
            format!("<<'EOF'\n{patch}\nEOF\n"),
            format!("<<EOF\n{patch}\nEOF"),
            format!("cat <<\"PATCH\"\n{patch}\nPATCH"),
            format!("apply_patch <<'EOF'\n{patch}\nEOF"),
            format!("\n\n  {patch}  \n\n"),
            format!("\u{feff}{patch}"),
            format!("Here it is:\n{patch}\nDone.\n*** bye"),
            patch.replace('\n', "\r\n"),
        ] {
            assert_eq!(found(&text, PatchDialect::Any), [write("a")], "{text}");
        }
    }

    #[test]
    fn nothing_behind_a_first_end_hides() {
        let text = "*** Begin Patch\n*** Update File: a\n@@\n *** End Patch\n+x\n*** Delete File: b\n*** End Patch";
        assert_eq!(found(text, PatchDialect::Any), [write("a"), delete("b")]);
    }

    #[test]
    fn faults_say_where() {
        for (text, said) in [
            ("", "no line `*** Begin Patch`"),
            ("*** Add File: a\n+x", "no line `*** Begin Patch`"),
            ("x\n*** Begin Patch\n*** Add File: a\n+x", "begins on line 2"),
            ("*** Begin Patch\n*** End Patch", "names no file"),
            ("*** Begin Patch\n*** Add File:\n+x\n*** End Patch", "line 2"),
            ("*** Begin Patch\n*** Update File:   \n@@\n*** End Patch", "line 2"),
            ("*** Begin Patch\n*** Add File: a\n*** Rename File: b\n*** End Patch", "line 3 of the patch, `*** Rename File: b`"),
            ("*** Begin Patch\n*** Add File: a\n*** Move to: b\n*** End Patch", "does not follow an `*** Update File: `"),
            ("*** Begin Patch\n*** update file: a\n*** End Patch", "is not a header"),
        ] {
            let fault = changes(text, PatchDialect::Any).unwrap_err().to_string();
            assert!(fault.contains(said), "{text}: {fault}");
        }
    }
}
