//! Parses words: quotes, variables, substitutions, wildcards, braces.

use super::Parser;
use super::cursor::{ParseFault, ReadResult, is_operator};
use super::tree::{Form, Word, WordPiece};

/// How many characters are searched for the end of a bracket or a brace.
const MAX_BRACKET: usize = 100;

/// The purpose of a word: some characters have a special meaning only in some places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPurpose {
    /// An argument.
    Argument,
    /// The value of an assignment: braces are literal, and a tilde is also expanded after a colon.
    Value,
    /// The pattern of a `case`: an alternative ends at `|`.
    Pattern,
}

impl Parser<'_> {
    /// Parses the word that begins here. It has at least one character.
    pub(super) fn word(&mut self, purpose: WordPurpose) -> ReadResult<Word> {
        let start = self.cursor.at;
        let mut pieces = Vec::new();
        while let Some(c) = self.cursor.peek() {
            match c {
                ' ' | '\t' | '\n' => break,
                '(' if self.cursor.at > start => {
                    return Err(ParseFault::Construct("a function, an array or an extended pattern"));
                }
                c if is_operator(c) => break,
                '\\' if self.cursor.peek_at(1) == Some('\n') => {
                    // Only where the word ends anyway.
                    if !self.cursor.peek_at(2).is_none_or(|next| matches!(next, ' ' | '\t' | '\n')) {
                        return Err(ParseFault::Construct("a line continued inside a word"));
                    }
                    self.cursor.advance(2);
                    break;
                }
                '~' if self.cursor.at == start => pieces.push(self.tilde()?),
                '~' if purpose == WordPurpose::Value && self.cursor.previous() == Some(':') => {
                    return Err(ParseFault::Construct("`:~` in an assignment"));
                }
                '~' if self.cursor.previous() == Some('=') => return Err(ParseFault::Construct("`=~` in a word")),
                '=' if self.cursor.at == start && purpose == WordPurpose::Argument => {
                    if self.cursor.peek_at(1).is_some_and(|next| next.is_ascii_alphanumeric() || next == '_') {
                        return Err(ParseFault::Construct("a word that begins with `=`"));
                    }
                    push(&mut pieces, '=');
                    self.cursor.advance(1);
                }
                '{' if purpose == WordPurpose::Value => {
                    if self.has_expanding_braces() {
                        return Err(ParseFault::Construct("braces in an assignment"));
                    }
                    push(&mut pieces, '{');
                    self.cursor.advance(1);
                }
                '{' => self.brace(&mut pieces)?,
                '*' | '?' => {
                    self.cursor.advance(1);
                    pieces.push(WordPiece::Wildcard(c));
                }
                '[' => self.bracket(&mut pieces),
                _ => self.unquoted(&mut pieces)?,
            }
        }
        Ok(Word(pieces))
    }

    /// Parses an unquoted character, a quotation or an expansion.
    fn unquoted(&mut self, pieces: &mut Vec<WordPiece>) -> ReadResult<()> {
        let Some(c) = self.cursor.peek() else { return Ok(()) };
        match c {
            '\\' => {
                let Some(escaped) = self.cursor.peek_at(1) else { return Err(ParseFault::Expected("a character after `\\`")) };
                if escaped.is_control() {
                    return Err(ParseFault::Character(escaped));
                }
                push(pieces, escaped);
                self.cursor.advance(2);
            }
            '\'' => {
                self.cursor.advance(1);
                let text = self.until_quote()?;
                pieces.push(WordPiece::Text(text));
            }
            '"' => {
                self.cursor.advance(1);
                self.double_quoted(pieces, Some('"'))?;
            }
            '`' => pieces.push(self.backquoted(false)?),
            '$' => self.dollar(pieces, false)?,
            c if c.is_control() || (c.is_whitespace() && !c.is_ascii()) => return Err(ParseFault::Character(c)),
            c => {
                push(pieces, c);
                self.cursor.advance(1);
            }
        }
        Ok(())
    }

    /// Consumes text up to the closing `'`.
    fn until_quote(&mut self) -> ReadResult<String> {
        let text = self.cursor.take_while(|c| c != '\'');
        self.refuse_broken_document(&text)?;
        if self.cursor.take("'") { Ok(text) } else { Err(ParseFault::Unclosed("'")) }
    }

    /// Rejects a line break inside quotes while a here-document is announced: it would not be clear where the document begins.
    fn refuse_broken_document(&self, text: &str) -> ReadResult<()> {
        if !self.documents.is_empty() && text.contains('\n') {
            return Err(ParseFault::Construct("a quote over several lines after a here-document"));
        }
        Ok(())
    }

    /// Parses double-quoted text up to the closing character, or the whole text of a here-document.
    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<WordPiece>, close: Option<char>) -> ReadResult<()> {
        // Even empty quotes form a word.
        pieces.push(WordPiece::Text(String::new()));
        while let Some(c) = self.cursor.peek() {
            match c {
                c if Some(c) == close => {
                    self.cursor.advance(1);
                    return Ok(());
                }
                '\\' => match self.cursor.peek_at(1) {
                    Some('\n') if self.cursor.previous() == Some('$') => {
                        return Err(ParseFault::Construct("a line continued inside an expansion"));
                    }
                    Some('\n') => self.cursor.advance(2),
                    Some(escaped @ ('$' | '`' | '\\')) => {
                        push(pieces, escaped);
                        self.cursor.advance(2);
                    }
                    Some('"') if close.is_some() => {
                        push(pieces, '"');
                        self.cursor.advance(2);
                    }
                    _ => {
                        push(pieces, '\\');
                        self.cursor.advance(1);
                    }
                },
                '`' => pieces.push(self.backquoted(true)?),
                '$' => self.dollar(pieces, true)?,
                '\0' => return Err(ParseFault::Character(c)),
                c => {
                    if c == '\n' && close.is_some() {
                        self.refuse_broken_document("\n")?;
                    }
                    push(pieces, c);
                    self.cursor.advance(1);
                }
            }
        }
        if close.is_none() { Ok(()) } else { Err(ParseFault::Unclosed("\"")) }
    }

    /// Parses a command in backquotes without escapes, further backquotes or, inside double quotes, further double quotes.
    fn backquoted(&mut self, quoted: bool) -> ReadResult<WordPiece> {
        self.cursor.advance(1);
        let text = self.cursor.take_while(|c| c != '`');
        if !self.cursor.take("`") {
            return Err(ParseFault::Unclosed("backquote"));
        }
        if text.contains(['\\', '\n']) || (quoted && text.contains('"')) {
            return Err(ParseFault::Construct("a backquoted command with escapes"));
        }
        let list = self.parse_nested(&text)?;
        Ok(WordPiece::Output { list, quoted })
    }

    /// Parses what a `$` begins.
    fn dollar(&mut self, pieces: &mut Vec<WordPiece>, quoted: bool) -> ReadResult<()> {
        self.cursor.advance(1);
        let piece = match self.cursor.peek() {
            Some('(') if self.cursor.peek_at(1) == Some('(') => {
                self.cursor.advance(2);
                self.arithmetic()?
            }
            Some('(') => {
                self.cursor.advance(1);
                let list = self.enclosed()?;
                WordPiece::Output { list, quoted }
            }
            Some('{') => {
                self.cursor.advance(1);
                self.parameter(pieces, quoted)?
            }
            // A plain `sh` has no escapes here and keeps the `$`: it is parsed, with a doubt, only if it ends at the same place
            // for both.
            Some('\'') if !quoted => {
                self.cursor.advance(1);
                let text = self.until_quote()?;
                if text.contains('\\') {
                    return Err(ParseFault::Construct("an escape in `$'…'`"));
                }
                self.add_doubt("`$'…'`");
                WordPiece::Text(text)
            }
            Some('"') if !quoted => return Err(ParseFault::Construct("`$\"`")),
            Some('[') => return Err(ParseFault::Construct("`$[`")),
            Some('\\') if self.cursor.peek_at(1) == Some('\n') => {
                return Err(ParseFault::Construct("a line continued inside an expansion"));
            }
            Some(c) if is_name_start(c) => {
                let name = self.name();
                // Other shells parse `$x[1]` and `$x:h` as a single expansion.
                let modified = self.cursor.peek() == Some('[')
                    || (self.cursor.peek() == Some(':') && self.cursor.peek_at(1).is_some_and(|c| c.is_ascii_alphabetic()));
                if modified {
                    return Err(ParseFault::Construct("`[` or `:` after a variable"));
                }
                WordPiece::Variable { name, form: Form::Plain, quoted }
            }
            Some('?' | '#' | '$' | '!') => {
                self.cursor.advance(1);
                WordPiece::Digits
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '-') => {
                self.cursor.advance(1);
                WordPiece::Positional { quoted }
            }
            _ => {
                push(pieces, '$');
                return Ok(());
            }
        };
        pieces.push(piece);
        Ok(())
    }

    fn name(&mut self) -> String {
        self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Parses `${…}` after its brace. For a form that is not listed, only the commands in it are kept.
    fn parameter(&mut self, pieces: &mut Vec<WordPiece>, quoted: bool) -> ReadResult<WordPiece> {
        let start = self.cursor.at;
        if let Some(piece) = self.listed_parameter(quoted) {
            return Ok(piece);
        }
        self.cursor.at = start;
        self.add_doubt("this form of `${…}`");
        let name = self.name();
        let mut inside = Vec::new();
        self.deeper(|parser| {
            loop {
                match parser.cursor.peek() {
                    None => return Err(ParseFault::Unclosed("${")),
                    Some('}') => break,
                    Some('\'') if quoted => parser.cursor.advance(1),
                    Some(' ' | '\t' | '\n' | '<' | '>') => parser.cursor.advance(1),
                    _ => parser.unquoted(&mut inside)?,
                }
            }
            parser.cursor.advance(1);
            Ok(())
        })?;
        pieces.extend(inside.into_iter().filter(|piece| matches!(piece, WordPiece::Output { .. })));
        Ok(WordPiece::Variable { name, form: Form::Derived, quoted })
    }

    fn listed_parameter(&mut self, quoted: bool) -> Option<WordPiece> {
        if self.cursor.take("#") {
            let name = self.name();
            return (!name.is_empty() && self.cursor.take("}")).then_some(WordPiece::Variable {
                name,
                form: Form::Length,
                quoted,
            });
        }
        let name = self.name();
        if !name.starts_with(is_name_start) {
            return None;
        }
        if self.cursor.take("}") {
            return Some(WordPiece::Variable { name, form: Form::Plain, quoted });
        }
        const OPERATORS: &[&str] = &[":-", ":?", ":+", "##", "%%", "#", "%"];
        let operator = OPERATORS.iter().find(|operator| self.cursor.take(operator))?;
        let text = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || "_./:@+*?,- ".contains(c));
        if !self.cursor.take("}") || (!quoted && text.contains(' ')) {
            return None;
        }
        let literal = !text.contains(['*', '?', ' ']);
        let form = match *operator {
            ":-" if literal => Form::Default(text),
            ":?" => Form::Plain,
            "#" | "##" if literal => Form::Without { suffix: false, text },
            "%" | "%%" if literal => Form::Without { suffix: true, text },
            _ => Form::Derived,
        };
        Some(WordPiece::Variable { name, form, quoted })
    }

    /// Parses `$((…))` after its parentheses: only numbers, names and operators.
    fn arithmetic(&mut self) -> ReadResult<WordPiece> {
        const OTHER: ParseFault = ParseFault::Construct("this arithmetic");
        let (mut names, mut depth) = (Vec::new(), 0usize);
        loop {
            match self.cursor.peek() {
                Some(')') if depth == 0 => {
                    return if self.cursor.take("))") { Ok(WordPiece::Arithmetic(names)) } else { Err(OTHER) };
                }
                Some(c @ ('(' | ')')) => {
                    depth = if c == '(' { depth + 1 } else { depth - 1 };
                    self.cursor.advance(1);
                }
                Some('$') if self.cursor.peek_at(1).is_some_and(is_name_start) => {
                    self.cursor.advance(1);
                    names.push(self.name());
                }
                Some(c) if is_name_start(c) => names.push(self.name()),
                // No assignment, and no comparison that could be split into one.
                Some(c) if c.is_ascii_digit() || "+-*/% ".contains(c) => self.cursor.advance(1),
                _ => return Err(OTHER),
            }
            if depth > 32 {
                return Err(ParseFault::TooLarge);
            }
        }
    }

    /// Parses `~` at the beginning of a word.
    fn tilde(&mut self) -> ReadResult<WordPiece> {
        self.cursor.advance(1);
        match self.cursor.peek() {
            None | Some('/' | ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>') => Ok(WordPiece::Home),
            _ => Err(ParseFault::Construct("`~` followed by a name")),
        }
    }

    /// Parses `[`: a bracket expression if it is closed within the word and contains only plain characters.
    fn bracket(&mut self, pieces: &mut Vec<WordPiece>) {
        let begins_name = pieces.is_empty() || self.cursor.previous() == Some('/');
        let mut inside = String::new();
        let mut ahead = 1;
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        while let Some(c) = self.cursor.peek_at(ahead).filter(|c| plain(*c)) {
            inside.push(c);
            ahead += 1;
        }
        if self.cursor.peek_at(ahead) == Some(']') && !inside.is_empty() && !begins_name {
            self.cursor.advance(ahead + 1);
            pieces.push(WordPiece::Bracket(inside));
            return;
        }
        // If there is a closing bracket further on, it may still be a bracket expression, but what it matches is not certain.
        let mut later = 1;
        while self.cursor.peek_at(later).is_some_and(|c| c != '\n' && c != ']') && later < MAX_BRACKET {
            later += 1;
        }
        let is_word = matches!(self.cursor.peek_at(1), None | Some(' ' | '\t' | '\n'));
        self.cursor.advance(1);
        if is_word || (later < MAX_BRACKET && self.cursor.peek_at(later - 1) != Some(']')) {
            push(pieces, '[');
        } else {
            pieces.push(WordPiece::Wildcard('['));
        }
    }

    /// Whether the unquoted brace here may be expanded: it is followed by a comma or `..`, or by something that could hide one of
    /// these.
    fn has_expanding_braces(&self) -> bool {
        if self.cursor.peek_at(1) == Some('}') {
            return false;
        }
        let mut ahead = 1;
        let mut behind = '{';
        while let Some(c) = self.cursor.peek_at(ahead).filter(|c| !matches!(c, ' ' | '\t' | '\n')) {
            if matches!(c, ',' | '\'' | '"' | '\\' | '$' | '`') || (c == '.' && behind == '.') || ahead > MAX_BRACKET {
                return true;
            }
            behind = c;
            ahead += 1;
        }
        false
    }

    /// Parses `{a,b}` of plain text, or `{1..3}`; a brace that cannot be expanded is a literal character.
    fn brace(&mut self, pieces: &mut Vec<WordPiece>) -> ReadResult<()> {
        const OTHER: ParseFault = ParseFault::Construct("these braces");
        let mut inside = String::new();
        let mut ahead = 1;
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./,+@%:".contains(c);
        while let Some(c) = self.cursor.peek_at(ahead).filter(|c| plain(*c)) {
            inside.push(c);
            ahead += 1;
        }
        let closed = self.cursor.peek_at(ahead) == Some('}');
        let expands = inside.contains(',') || inside.contains("..");
        if !closed || !expands {
            if self.has_expanding_braces() {
                return Err(OTHER);
            }
            push(pieces, '{');
            self.cursor.advance(1);
            return Ok(());
        }
        if self.posix {
            return Err(ParseFault::Construct("braces in `sh`"));
        }
        let alternatives: Vec<String> = if inside.contains(',') {
            inside.split(',').map(str::to_owned).collect()
        } else {
            let (first, last) = inside.split_once("..").unwrap_or_default();
            let number = |text: &str| text.parse::<u8>().ok().filter(|number| number.to_string() == text);
            let (Some(first), Some(last)) = (number(first), number(last)) else { return Err(OTHER) };
            if first > last {
                return Err(OTHER);
            }
            (first..=last).map(|number| number.to_string()).collect()
        };
        self.cursor.advance(ahead + 1);
        pieces.push(WordPiece::Braces(alternatives));
        Ok(())
    }
}

/// Appends a character to the last piece of text.
fn push(pieces: &mut Vec<WordPiece>, c: char) {
    match pieces.last_mut() {
        Some(WordPiece::Text(text)) => text.push(c),
        _ => pieces.push(WordPiece::Text(c.to_string())),
    }
}

/// Whether a name may begin with the character.
pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}
