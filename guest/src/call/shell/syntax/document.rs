//! Parses here-documents, which are announced on one line and follow on the next.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Parser;
use super::cursor::{ParseFault, ReadResult, is_operator};
use super::tree::{Redirect, Word, WordPiece};

/// A here-document whose text has not been reached yet.
pub(super) struct Announced {
    delimiter: String,
    /// Whether nothing in it is expanded, because its delimiter is quoted.
    literal: bool,
    strips_tabs: bool,
    body: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    /// Parses the delimiter after `<<` or `<<-`.
    pub(super) fn announce(&mut self, strips_tabs: bool) -> ReadResult<Redirect> {
        const OTHER: ParseFault = ParseFault::Construct("this delimiter of a here-document");
        self.cursor.skip_blanks()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let quote = self.cursor.peek().filter(|c| matches!(c, '\'' | '"'));
        if quote.is_some() {
            self.cursor.advance(1);
        }
        let delimiter = self.cursor.take_while(plain);
        if quote.is_some() {
            if self.cursor.peek() != quote {
                return Err(OTHER);
            }
            self.cursor.advance(1);
        }
        let ended = self.cursor.peek().is_none_or(|c| matches!(c, ' ' | '\t' | '\n') || is_operator(c));
        if delimiter.is_empty() || !ended {
            return Err(OTHER);
        }
        let body = Rc::new(OnceCell::new());
        self.documents.push(Announced { delimiter, literal: quote.is_some(), strips_tabs, body: body.clone() });
        Ok(Redirect::Document(body))
    }

    /// Reads the documents that a line announced, after the end of that line.
    pub(super) fn read_documents(&mut self) -> ReadResult<()> {
        if self.suspended {
            return Err(ParseFault::Construct("a line break in parentheses after a here-document"));
        }
        for announced in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                if self.cursor.peek().is_none() {
                    return Err(ParseFault::Unclosed("<<"));
                }
                let line = self.cursor.take_while(|c| c != '\n');
                self.cursor.advance(1);
                let line = if announced.strips_tabs { line.trim_start_matches('\t') } else { line.as_str() };
                if line == announced.delimiter {
                    break;
                }
                if !announced.literal && line.ends_with('\\') {
                    return Err(ParseFault::Construct("a continued line in a here-document"));
                }
                text.push_str(line);
                text.push('\n');
            }
            let word = if announced.literal { Word(vec![WordPiece::Text(text)]) } else { self.expanded_text(&text)? };
            // It has not been set before.
            let _ = announced.body.set(word);
        }
        Ok(())
    }

    /// Parses the text of a here-document in which variables and substitutions are expanded.
    fn expanded_text(&mut self, text: &str) -> ReadResult<Word> {
        let chars: Vec<char> = text.chars().collect();
        let (posix, depth) = (self.posix, self.depth);
        self.deeper(|outer| {
            let mut parser = Parser::new(&chars, posix, depth + 1);
            let mut pieces = Vec::new();
            parser.double_quoted(&mut pieces, None)?;
            outer.doubts.extend(parser.doubts);
            Ok(Word(pieces))
        })
    }
}
