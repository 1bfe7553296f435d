//! Parses lists, pipelines and simple commands.

use super::Parser;
use super::cursor::{ParseFault, ReadResult, is_operator};
use super::tree::{AndOrList, Assignment, CommandNode, Compound, Connector, List, Pipeline, Redirect, Simple, Word, WordPiece};
use super::word::{WordPurpose, is_name_start};

impl Parser<'_> {
    /// Parses commands up to one of these reserved words, a `)`, a `;;` or the end of the text.
    pub(super) fn list(&mut self, ends: &[&str]) -> ReadResult<List> {
        let mut chains = Vec::new();
        loop {
            self.skip_lines()?;
            if self.is_at_end(ends) {
                break;
            }
            let mut chain = self.chain()?;
            self.cursor.skip_blanks()?;
            match (self.cursor.peek(), self.cursor.peek_at(1)) {
                (Some('\n' | '#'), _) => {}
                (Some(';'), next) if !matches!(next, Some(';' | '&')) => self.cursor.advance(1),
                (Some('&'), next) if !matches!(next, Some('&' | '>')) => {
                    chain.background = true;
                    self.cursor.advance(1);
                }
                _ => {
                    chains.push(chain);
                    break;
                }
            }
            chains.push(chain);
        }
        Ok(List(chains))
    }

    /// The same, with at least one command.
    pub(super) fn commands(&mut self, ends: &[&str]) -> ReadResult<List> {
        let list = self.list(ends)?;
        if list.0.is_empty() { Err(ParseFault::Expected("a command")) } else { Ok(list) }
    }

    fn is_at_end(&self, ends: &[&str]) -> bool {
        match self.cursor.peek() {
            None | Some(')') => true,
            Some(';') => self.cursor.peek_at(1) == Some(';'),
            _ => ends.contains(&self.raw_word().as_str()),
        }
    }

    /// Skips blanks, comments and line ends, and reads the here-documents after them.
    pub(super) fn skip_lines(&mut self) -> ReadResult<()> {
        loop {
            self.cursor.skip_blanks()?;
            match self.cursor.peek() {
                Some('\n') => {
                    self.cursor.advance(1);
                    self.read_documents()?;
                }
                Some('#') => drop(self.cursor.take_while(|c| c != '\n')),
                _ => return Ok(()),
            }
        }
    }

    /// The characters up to the next blank or operator, as written, without consuming them.
    pub(super) fn raw_word(&self) -> String {
        const LONGEST_RESERVED: usize = 9;
        let mut out = String::new();
        while let Some(c) = self.cursor.peek_at(out.len()) {
            if matches!(c, ' ' | '\t' | '\n') || is_operator(c) || !c.is_ascii() || out.len() > LONGEST_RESERVED {
                break;
            }
            out.push(c);
        }
        out
    }

    /// Consumes a reserved word.
    pub(super) fn expect_reserved(&mut self, word: &'static str) -> ReadResult<()> {
        if self.raw_word() == word {
            self.cursor.advance(word.len());
            Ok(())
        } else {
            Err(ParseFault::MissingWord(word))
        }
    }

    fn chain(&mut self) -> ReadResult<AndOrList> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.cursor.skip_blanks()?;
            let connector = if self.cursor.take("&&") {
                Connector::And
            } else if self.cursor.take("||") {
                Connector::Or
            } else {
                return Ok(AndOrList { first, rest, background: false });
            };
            self.skip_lines()?;
            rest.push((connector, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> ReadResult<Pipeline> {
        let mut negated = false;
        loop {
            match self.raw_word().as_str() {
                "!" if !negated => negated = true,
                "time" => {
                    self.cursor.advance(3);
                    if self.cursor.peek_at(1).is_none_or(|c| c == '\n' || is_operator(c)) {
                        return Err(ParseFault::Expected("a command after `time`"));
                    }
                    self.cursor.advance(1);
                    self.cursor.skip_blanks()?;
                    if self.cursor.peek() == Some('-') {
                        return Err(ParseFault::Construct("an option of `time`"));
                    }
                    continue;
                }
                _ => break,
            }
            self.cursor.advance(1);
            self.cursor.skip_blanks()?;
        }
        let mut commands = vec![self.command()?];
        loop {
            self.cursor.skip_blanks()?;
            if self.cursor.peek() != Some('|') || self.cursor.peek_at(1) == Some('|') {
                return Ok(Pipeline { negated, commands });
            }
            self.cursor.advance(1);
            if self.cursor.peek() == Some('&') {
                if self.posix {
                    return Err(ParseFault::Construct("`|&` in `sh`"));
                }
                self.cursor.advance(1);
            }
            self.skip_lines()?;
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> ReadResult<CommandNode> {
        match self.compound()? {
            Some(compound) => {
                let mut redirects = Vec::new();
                loop {
                    self.cursor.skip_blanks()?;
                    match self.redirect()? {
                        Some(redirect) => redirects.push(redirect),
                        None => return Ok(CommandNode::Compound(compound, redirects)),
                    }
                }
            }
            None => match self.function()? {
                Some(body) => Ok(CommandNode::Compound(body, Vec::new())),
                None => self.simple().map(CommandNode::Simple),
            },
        }
    }

    /// Parses a function, with a doubt: its body is treated as if it ran in place.
    fn function(&mut self) -> ReadResult<Option<Compound>> {
        let start = self.cursor.at;
        let named = self.raw_word() == "function";
        if named {
            self.cursor.advance("function".len());
            self.cursor.skip_blanks()?;
        }
        let name = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        self.cursor.skip_blanks()?;
        let parentheses = self.cursor.take("(") && {
            self.cursor.skip_blanks()?;
            self.cursor.take(")")
        };
        if name.is_empty() || !(named || parentheses) {
            self.cursor.at = start;
            return Ok(None);
        }
        self.add_doubt("a function");
        self.skip_lines()?;
        self.compound()?.map_or(Err(ParseFault::Construct("a function")), |body| Ok(Some(body)))
    }

    fn simple(&mut self) -> ReadResult<Simple> {
        let mut simple = Simple::default();
        loop {
            self.cursor.skip_blanks()?;
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            match self.cursor.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')' | '#') => break,
                Some('(') => return Err(ParseFault::Construct("a function or an array")),
                Some('<' | '>') if self.cursor.peek_at(1) == Some('(') => {
                    if self.cursor.peek() == Some('>') {
                        self.add_doubt("`>(…)`");
                    }
                    if self.posix {
                        return Err(ParseFault::Construct("`<(` in `sh`"));
                    }
                    self.cursor.advance(2);
                    let list = self.enclosed()?;
                    if self.cursor.peek().is_some_and(|c| !matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | ')')) {
                        return Err(ParseFault::Construct("`<(…)` inside a word"));
                    }
                    simple.words.push(Word(vec![WordPiece::Process(list)]));
                }
                _ => match if simple.words.is_empty() { self.assignment_name() } else { None } {
                    Some(name) => {
                        let value = self.word(WordPurpose::Value)?;
                        simple.assignments.push(Assignment { name, value });
                    }
                    None => {
                        self.refuse_other_assignments(&simple)?;
                        let braced = self.cursor.peek() == Some('{');
                        let word = self.word(WordPurpose::Argument)?;
                        if braced && matches!(self.cursor.peek(), Some('<' | '>')) {
                            return Err(ParseFault::Construct("a descriptor in braces"));
                        }
                        simple.words.push(word);
                    }
                },
            }
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(ParseFault::Expected("a command"));
        }
        Ok(simple)
    }

    /// Consumes `name=` if that is next.
    fn assignment_name(&mut self) -> Option<String> {
        let mut length = 0;
        while self.cursor.peek_at(length).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            length += 1;
        }
        let named = self.cursor.peek().is_some_and(is_name_start) && self.cursor.peek_at(length) == Some('=');
        named.then(|| {
            let name = self.cursor.take_while(|c| c != '=');
            self.cursor.advance(1);
            name
        })
    }

    /// Rejects `name+=value` and `name[index]=value`.
    fn refuse_other_assignments(&self, simple: &Simple) -> ReadResult<()> {
        let mut length = 0;
        while self.cursor.peek_at(length).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            length += 1;
        }
        let begins = simple.words.is_empty() && self.cursor.peek().is_some_and(is_name_start);
        let appends = self.cursor.peek_at(length) == Some('+') && self.cursor.peek_at(length + 1) == Some('=');
        if begins && (appends || self.cursor.peek_at(length) == Some('[')) {
            return Err(ParseFault::Construct("an assignment with `+=` or an index"));
        }
        Ok(())
    }

    /// Parses a redirection if one is next. Only descriptors 0, 1 and 2 are supported.
    pub(super) fn redirect(&mut self) -> ReadResult<Option<Redirect>> {
        const OTHER: ParseFault = ParseFault::Construct("this redirection");
        let mut digits = 0;
        while self.cursor.peek_at(digits).is_some_and(|c| c.is_ascii_digit()) {
            digits += 1;
        }
        let first = self.cursor.peek_at(digits);
        let both = digits == 0 && first == Some('&') && self.cursor.peek_at(1) == Some('>');
        let process = digits == 0 && matches!(first, Some('<' | '>')) && self.cursor.peek_at(1) == Some('(');
        if !(both || matches!(first, Some('<' | '>'))) || process {
            return Ok(None);
        }
        let descriptor = (digits > 0).then(|| self.cursor.peek());
        self.cursor.advance(digits);
        let (input, output) = match (digits, descriptor.flatten()) {
            (0, _) => (true, true),
            (1, Some('0')) => (true, false),
            (1, Some('1' | '2')) => (false, true),
            _ => (false, false),
        };
        if both {
            if self.posix {
                return Err(ParseFault::Construct("`&>` in `sh`"));
            }
            let _ = self.cursor.take("&>>") || self.cursor.take("&>");
            return Ok(Some(Redirect::Write(self.target()?)));
        }
        if self.cursor.take("<<<") {
            if !input || self.posix {
                return Err(OTHER);
            }
            return Ok(Some(Redirect::Text(self.target()?)));
        }
        if self.cursor.take("<<") {
            if !input {
                return Err(OTHER);
            }
            let strips_tabs = self.cursor.take("-");
            return self.announce(strips_tabs).map(Some);
        }
        let is_output = self.cursor.peek() == Some('>') && output;
        if self.cursor.take(">&") || self.cursor.take("<&") {
            let target = self.cursor.peek();
            let ended = self.cursor.peek_at(1).is_none_or(|c| matches!(c, ' ' | '\t' | '\n') || is_operator(c));
            if is_output && ended && matches!(target, Some('1' | '2' | '-')) {
                self.cursor.advance(1);
                return Ok(Some(Redirect::Duplicate));
            }
            self.add_doubt("this redirection");
            return Ok(Some(Redirect::Write(self.target()?)));
        }
        if self.cursor.take("<>") {
            self.add_doubt("this redirection");
            return Ok(Some(Redirect::Write(self.target()?)));
        }
        if self.cursor.take("<") {
            if !input {
                self.add_doubt("this redirection");
            }
            return Ok(Some(Redirect::Read(self.target()?)));
        }
        let _ = self.cursor.take(">>") || self.cursor.take(">|") || self.cursor.take(">");
        if !output {
            self.add_doubt("this redirection");
        }
        Ok(Some(Redirect::Write(self.target()?)))
    }

    fn target(&mut self) -> ReadResult<Word> {
        self.cursor.skip_blanks()?;
        let word = self.word(WordPurpose::Argument)?;
        if word.0.is_empty() { Err(ParseFault::Expected("a file after the redirection")) } else { Ok(word) }
    }
}
