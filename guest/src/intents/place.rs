//! Where in a text something stands.

/// A line and a column, both counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Place {
    /// The first character.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// The place that a message of the YAML parser ends with. It names none for the first character.
    pub(super) fn said_by(message: &str) -> Self {
        let said = message.split(" at line ").last().and_then(|place| place.split_once(" column "));
        let number = |digits: &str| digits.parse().ok();
        said.and_then(|(line, column)| Some(Self { line: number(line)?, column: number(column)? })).unwrap_or(Self::START)
    }

    /// The place behind a text.
    pub(super) fn behind(text: &str) -> Self {
        let mut source = Source::new(text);
        while source.step() {}
        source.at
    }
}

/// A text that is gone through once, from front to back.
pub(super) struct Source<'t> {
    rest: &'t str,
    at: Place,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text, at: Place::START }
    }

    /// The number or truth value that begins at a place, as it is written. None where the place has been passed: going back
    /// for every alias would take as long as the text times the aliases.
    pub(super) fn token(&mut self, place: Place) -> Option<&'t str> {
        while self.at < place && self.step() {}
        let other = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.' | '_');
        let token = self.rest.split(other).next().filter(|token| !token.is_empty());
        token.filter(|_| self.at == place)
    }

    /// Goes on by one character; lines end where the YAML parser ends them.
    fn step(&mut self) -> bool {
        let mut rest = self.rest.chars();
        let Some(c) = rest.next() else { return false };
        self.rest = rest.as_str();
        let ends_line = match c {
            '\r' => !self.rest.starts_with('\n'),
            c => matches!(c, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}'),
        };
        if ends_line {
            self.at = Place { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_messages() {
        for (message, line, column) in [
            ("x at line 3 column 14", 3, 14),
            ("a[0].b at line 9 column 9:  at line 2 column 5", 2, 5),
            ("nothing said", 1, 1),
            ("x at line y column z", 1, 1),
        ] {
            assert_eq!(Place::said_by(message), Place { line, column }, "{message}");
        }
    }

    #[test]
    fn lines_end_as_yaml_ends_them() {
        for (text, line, column) in
            [("", 1, 1), ("äb", 1, 3), ("a\nb", 2, 2), ("a\r\nb", 2, 2), ("a\rb", 2, 2), ("\u{2028}\u{85}", 3, 1)]
        {
            assert_eq!(Place::behind(text), Place { line, column }, "{text:?}");
        }
    }

    #[test]
    fn tokens() {
        let mut source = Source::new("a: 1.10, b: 1e3\nc: 0x10");
        for (line, column, token) in
            [(1, 4, Some("1.10")), (1, 13, Some("1e3")), (1, 4, None), (2, 4, Some("0x10")), (9, 1, None)]
        {
            assert_eq!(source.token(Place { line, column }), token, "{line} {column}");
        }
    }
}
