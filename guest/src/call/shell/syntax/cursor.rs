//! A cursor over the text of a command, and the reasons to stop parsing it.

use std::fmt;

/// Why text cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum ParseFault {
    /// It contains a construct that is not on the list.
    Construct(&'static str),
    /// Something was opened but is never closed.
    Unclosed(&'static str),
    /// It contains something other than what was expected.
    Expected(&'static str),
    /// It lacks this word or character.
    MissingWord(&'static str),
    /// It contains a character that should not be unquoted in any command.
    Character(char),
    /// The text is too long, or nests too deeply.
    TooLarge,
}

impl fmt::Display for ParseFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Construct(what) => write!(out, "{what} can do more than can be seen beforehand"),
            Self::Unclosed(what) => write!(out, "a `{what}` is never closed"),
            Self::Expected(what) => write!(out, "{what} is missing"),
            Self::MissingWord(word) => write!(out, "`{word}` is missing"),
            Self::Character(c) => write!(out, "it contains the character U+{:04X} outside of quotes", u32::from(*c)),
            Self::TooLarge => out.write_str("it is too long or too deeply nested"),
        }
    }
}

/// The result of parsing, which fails on anything that is not listed.
pub(super) type ReadResult<T> = Result<T, ParseFault>;

/// A position in the text.
pub(super) struct Cursor<'t> {
    chars: &'t [char],
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(chars: &'t [char]) -> Self {
        Self { chars, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, count: usize) -> Option<char> {
        self.chars.get(self.at + count).copied()
    }

    pub(super) fn previous(&self) -> Option<char> {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied()
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Consumes these characters if they are next.
    pub(super) fn take(&mut self, expected: &str) -> bool {
        let next = expected.chars().enumerate().all(|(ahead, c)| self.peek_at(ahead) == Some(c));
        if next {
            self.at += expected.chars().count();
        }
        next
    }

    /// Consumes characters as long as they satisfy `fits`.
    pub(super) fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut out = String::new();
        while let Some(c) = self.peek().filter(|c| fits(*c)) {
            out.push(c);
            self.at += 1;
        }
        out
    }

    /// Skips a line continuation if one is next, provided that it cannot have split a token.
    pub(super) fn skip_continuation(&mut self) -> ReadResult<bool> {
        if !(self.peek() == Some('\\') && self.peek_at(1) == Some('\n')) {
            return Ok(false);
        }
        let (behind, next) = (self.previous(), self.peek_at(2));
        let is_gap = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\t' | '\n'));
        let apart = is_gap(behind) || is_gap(next) || (behind.is_some_and(is_operator) && !next.is_some_and(is_operator));
        if !apart || behind == Some('$') || behind == Some('\\') {
            return Err(ParseFault::Construct("a line continued inside a word"));
        }
        self.at += 2;
        Ok(true)
    }

    /// Skips blanks and line continuations.
    pub(super) fn skip_blanks(&mut self) -> ReadResult<()> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.skip_continuation()? => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Characters that end a word and begin an operator.
pub(super) fn is_operator(c: char) -> bool {
    matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')')
}
