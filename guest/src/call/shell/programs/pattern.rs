//! Finds the end of a regular expression in `sed` and `awk` scripts.
//!
//! Programs disagree about a delimiter inside brackets, so text with one is rejected.

/// Takes a pattern up to its delimiter off `rest`; `None` if programs may find a different end.
pub(super) fn take_pattern<'t>(rest: &mut &'t str, delimiter: char) -> Option<&'t str> {
    let pattern = take_until(rest, delimiter)?;
    has_plain_brackets(pattern).then_some(pattern)
}

/// Takes text up to an unescaped delimiter, and the delimiter, off `rest`.
pub(super) fn take_until<'t>(rest: &mut &'t str, delimiter: char) -> Option<&'t str> {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            c if c == delimiter => {
                let (before, behind) = rest.split_at_checked(at)?;
                *rest = behind.strip_prefix(delimiter)?;
                return Some(before);
            }
            '\\' => escaped = true,
            _ => {}
        }
    }
    None
}

/// Whether every opening bracket is closed in every interpretation, with no line break inside.
fn has_plain_brackets(pattern: &str) -> bool {
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => return false,
            '\\' if rest.next().is_none_or(|escaped| escaped == '\n') => return false,
            '[' => {
                rest.next_if_eq(&'^');
                rest.next_if_eq(&']');
                if !closes(&mut rest) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Skips a bracket expression; false if its end is not certain.
fn closes(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    while let Some(c) = rest.next() {
        match c {
            ']' => return true,
            '\n' => return false,
            // Some programs take `\]` for the end, others do not.
            '\\' if rest.peek() == Some(&']') => return false,
            '[' => match rest.peek() {
                Some(':') => {
                    rest.next();
                    while rest.next_if(char::is_ascii_alphabetic).is_some() {}
                    if rest.next() != Some(':') || rest.next() != Some(']') {
                        return false;
                    }
                }
                Some('.' | '=') => return false,
                _ => {}
            },
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_end_where_every_program_ends_them() {
        for (text, expected) in [
            ("a/b", Some("a")),
            ("a\\/b/c", Some("a\\/b")),
            ("[a-z]+/x", Some("[a-z]+")),
            ("[^\\/]*/x", Some("[^\\/]*")),
            ("[[:space:]]*/", Some("[[:space:]]*")),
            ("[]a]/", Some("[]a]")),
            ("\\[/", Some("\\[")),
            ("[/]x/y", None),
            ("[\\]/]/y", None),
            ("[[.a.]]/", None),
            ("a", None),
            ("a\\/", None),
            ("a\n/", None),
        ] {
            assert_eq!(take_pattern(&mut { text }, '/'), expected, "{text}");
        }
    }
}
