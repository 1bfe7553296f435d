//! Shows a change to a file as a diff, for the person who is asked about it.

use crate::ledger::line_ranges::differences;

/// How many unchanged lines are shown around a change.
const AROUND: usize = 2;

/// The change line by line: `+` before added lines, `-` before removed lines, `…` between hunks.
pub fn difference(before: &str, after: &str) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let (mut old, mut new) = (before.split_inclusive('\n'), after.split_inclusive('\n'));
    let mut marked: Vec<(char, &str)> = Vec::new();
    let mut reached = 0;
    for hunk in differences(before.as_bytes(), after.as_bytes()).0 {
        // Between two hunks, both texts are the same.
        marked.extend(new.by_ref().take(hunk.start - reached).zip(old.by_ref()).map(|(line, _)| (' ', line)));
        marked.extend(old.by_ref().take(hunk.removed).map(|line| ('-', line)));
        marked.extend(new.by_ref().take(hunk.end - hunk.start).map(|line| ('+', line)));
        reached = hunk.end;
    }
    marked.extend(new.map(|line| (' ', line)));
    let near = near_changes(&marked);
    let mut shown: Vec<String> = Vec::new();
    let mut is_gap = false;
    for ((mark, line), is_near) in marked.into_iter().zip(near) {
        if is_near {
            if is_gap && !shown.is_empty() {
                shown.push("…".to_owned());
            }
            shown.push(format!("{mark} {}", line.trim_end_matches(['\n', '\r'])));
        }
        is_gap = !is_near;
    }
    shown
}

/// For each line, whether it is close enough to a change to be shown.
fn near_changes(marked: &[(char, &str)]) -> Vec<bool> {
    let mut near = vec![false; marked.len()];
    for (at, _) in marked.iter().enumerate().filter(|(_, (mark, _))| *mark != ' ') {
        let around = near.iter_mut().skip(at.saturating_sub(AROUND)).take(at.min(AROUND) + 1 + AROUND);
        around.for_each(|near| *near = true);
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_and_a_little_around_it() {
        for (before, after, expected) in [
            ("", "", &[][..]),
            ("a\n", "a\n", &[]),
            ("", "a\nb\n", &["+ a", "+ b"]),
            ("a\r\nb", "", &["- a", "- b"]),
            ("1\n2\n3\n4\n", "1\n2\n3\nx\n4\n", &["  2", "  3", "+ x", "  4"]),
            ("1\n2\n3\n", "1\ny\nz\n3\n", &["  1", "- 2", "+ y", "+ z", "  3"]),
            (
                "a\n1\n2\n3\n4\n5\nb\n6\n",
                "A\n1\n2\n3\n4\n5\n6\n7",
                &["- a", "+ A", "  1", "  2", "…", "  4", "  5", "- b", "  6", "+ 7"],
            ),
            ("a\n1\n2\n3\n4\nb\n", "A\n1\n2\n3\n4\nB\n", &["- a", "+ A", "  1", "  2", "  3", "  4", "- b", "+ B"]),
        ] {
            assert_eq!(difference(before, after), expected, "{before:?} {after:?}");
        }
    }
}
