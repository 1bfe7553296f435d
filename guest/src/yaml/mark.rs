//! Line and column positions in a text.

/// A line and a column, both counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The line. Lines end with `\n`, `\r\n` or `\r`.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Mark {
    /// The first character of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position just after a text.
    pub(super) fn after(text: &str) -> Self {
        let mut mark = Self::START;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\n' || c == '\r' && chars.peek() != Some(&'\n') {
                mark = Self { line: mark.line + 1, column: 1 };
            } else {
                mark.column += 1;
            }
        }
        mark
    }
}

impl From<&granit_parser::Marker> for Mark {
    fn from(marker: &granit_parser::Marker) -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self { line: number(marker.line()), column: number(marker.col().saturating_add(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        for (text, line, column) in
            [("", 1, 1), ("äb", 1, 3), ("a\nb", 2, 2), ("a\r\nb", 2, 2), ("a\rb", 2, 2), ("\r\r\n\n", 4, 1), ("\u{2028}", 1, 2)]
        {
            assert_eq!(Mark::after(text), Mark { line, column }, "{text:?}");
        }
    }
}
