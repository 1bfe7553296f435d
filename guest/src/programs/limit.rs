//! How much text a program accepts. A program drops longer text, or puts it into a file that is never read.

/// How much text a program accepts, and the unit in which it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// UTF-16 code units, as JavaScript counts.
    Utf16(usize),
    /// Bytes of UTF-8.
    Bytes(usize),
}

impl Limit {
    /// The number, in its own unit.
    pub fn max(self) -> usize {
        match self {
            Self::Utf16(max) | Self::Bytes(max) => max,
        }
    }

    fn size(self, text: &str) -> usize {
        match self {
            Self::Utf16(_) => text.encode_utf16().count(),
            Self::Bytes(_) => text.len(),
        }
    }
}

/// The last line of a text that was truncated.
const NOTE: &str = "[cut here: the host accepts no more]";

/// Truncates a text to a limit: whole lines, and a note if any are missing.
pub fn cut(text: &str, limit: Limit) -> String {
    if limit.size(text) <= limit.max() {
        return text.to_owned();
    }
    let mut room = limit.max().saturating_sub(limit.size(NOTE));
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        match room.checked_sub(limit.size(line)) {
            Some(left) => room = left,
            None => break,
        }
        kept.push_str(line);
    }
    // If even the first line is too long, it is cut within the line.
    if kept.is_empty() {
        for character in text.chars() {
            let size = limit.size(character.encode_utf8(&mut [0; 4]));
            match room.checked_sub(size + 1) {
                Some(left) => room = left + 1,
                None => break,
            }
            kept.push(character);
        }
        kept.push('\n');
    }
    kept.push_str(NOTE);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_on_a_line_and_never_over() {
        let lines = "one\ntwo\n".repeat(100);
        let long = "x".repeat(500);
        let wide = "\u{1f980}".repeat(200);
        for (text, limit, begins, ends) in [
            ("short", Limit::Bytes(5), "short", "short"),
            (&*lines, Limit::Utf16(60), "one\ntwo\n", "one\ntwo\n[cut here: the host accepts no more]"),
            (&long, Limit::Bytes(100), "xxx", "xxx\n[cut here: the host accepts no more]"),
            (&wide, Limit::Utf16(99), "\u{1f980}", "\u{1f980}\n[cut here: the host accepts no more]"),
            (&wide, Limit::Bytes(99), "\u{1f980}", "\u{1f980}\n[cut here: the host accepts no more]"),
        ] {
            let cut = cut(text, limit);
            assert!(limit.size(&cut) <= limit.max(), "{limit:?}: {cut}");
            assert!(cut.starts_with(begins) && cut.ends_with(ends), "{limit:?}: {cut}");
        }
    }
}
