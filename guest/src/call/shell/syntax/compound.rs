//! Parses compound commands.

use super::Parser;
use super::cursor::{ParseFault, ReadResult};
use super::tree::{Compound, List, Word};
use super::word::{WordPurpose, is_name_start};

impl Parser<'_> {
    /// Parses a compound command if one begins here.
    pub(super) fn compound(&mut self) -> ReadResult<Option<Compound>> {
        if self.cursor.peek() == Some('(') {
            if self.cursor.peek_at(1) == Some('(') {
                return Err(ParseFault::Construct("an arithmetic command"));
            }
            self.cursor.advance(1);
            return self.enclosed().map(|list| Some(Compound::Subshell(list)));
        }
        let word = self.raw_word();
        let read: fn(&mut Self) -> ReadResult<Compound> = match word.as_str() {
            "{" => Self::group,
            "if" => Self::condition,
            "while" | "until" => Self::repetition,
            "for" => Self::iteration,
            "case" => Self::choice,
            "[[" if self.posix => return Err(ParseFault::Construct("`[[` in `sh`")),
            "[[" => Self::test,
            "!" | "time" => return Err(ParseFault::Construct("`!` or `time` here")),
            "select" => {
                self.add_doubt("`select`");
                Self::iteration
            }
            "coproc" => {
                self.add_doubt("`coproc`");
                self.cursor.advance("coproc".len());
                self.cursor.skip_blanks()?;
                return Ok(None);
            }
            "foreach" | "repeat" => return Err(ParseFault::Construct("this compound command")),
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "in" | "}" | "]]" => {
                return Err(ParseFault::Expected("the beginning of the compound command"));
            }
            _ => return Ok(None),
        };
        self.deeper(read).map(Some)
    }

    /// Parses commands up to the closing `)`.
    pub(super) fn enclosed(&mut self) -> ReadResult<List> {
        self.deeper(|parser| {
            let outer = std::mem::take(&mut parser.documents);
            let suspended = parser.suspended;
            parser.suspended |= !outer.is_empty();
            let list = parser.commands(&[])?;
            if !parser.documents.is_empty() {
                return Err(ParseFault::Construct("a here-document that is announced in parentheses and follows them"));
            }
            parser.documents = outer;
            parser.suspended = suspended;
            if parser.cursor.take(")") { Ok(list) } else { Err(ParseFault::Unclosed("(")) }
        })
    }

    fn group(&mut self) -> ReadResult<Compound> {
        self.expect_reserved("{")?;
        let list = self.commands(&["}"])?;
        self.expect_reserved("}")?;
        Ok(Compound::Group(list))
    }

    fn condition(&mut self) -> ReadResult<Compound> {
        self.expect_reserved("if")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.commands(&["then"])?;
            self.expect_reserved("then")?;
            let branch = self.commands(&["elif", "else", "fi"])?;
            branches.push((condition, branch));
            if self.expect_reserved("elif").is_err() {
                break;
            }
        }
        let otherwise = if self.expect_reserved("else").is_ok() { Some(self.commands(&["fi"])?) } else { None };
        self.expect_reserved("fi")?;
        Ok(Compound::If { branches, otherwise })
    }

    fn repetition(&mut self) -> ReadResult<Compound> {
        let until = self.expect_reserved("while").is_err();
        if until {
            self.expect_reserved("until")?;
        }
        let condition = self.commands(&["do"])?;
        let body = self.body()?;
        Ok(Compound::Loop { until, condition, body })
    }

    fn body(&mut self) -> ReadResult<List> {
        self.expect_reserved("do")?;
        let body = self.commands(&["done"])?;
        self.expect_reserved("done")?;
        Ok(body)
    }

    fn iteration(&mut self) -> ReadResult<Compound> {
        if self.expect_reserved("select").is_err() {
            self.expect_reserved("for")?;
        }
        self.cursor.skip_blanks()?;
        let name = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if !name.starts_with(is_name_start) {
            return Err(ParseFault::Construct("this form of `for`"));
        }
        self.cursor.skip_blanks()?;
        self.expect_reserved("in")?;
        let mut words = Vec::new();
        loop {
            self.cursor.skip_blanks()?;
            match self.cursor.peek() {
                Some(';') if self.cursor.peek_at(1) != Some(';') => {
                    self.cursor.advance(1);
                    break;
                }
                Some('\n') => break,
                Some('#') | None => return Err(ParseFault::MissingWord("do")),
                _ => {
                    let word = self.word(WordPurpose::Argument)?;
                    if word.0.is_empty() {
                        return Err(ParseFault::MissingWord("do"));
                    }
                    words.push(word);
                }
            }
        }
        self.skip_lines()?;
        let body = self.body()?;
        Ok(Compound::For { name, words, body })
    }

    fn choice(&mut self) -> ReadResult<Compound> {
        self.expect_reserved("case")?;
        self.cursor.skip_blanks()?;
        let word = self.word(WordPurpose::Argument)?;
        self.skip_lines()?;
        self.expect_reserved("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.expect_reserved("esac").is_ok() {
                break;
            }
            if self.cursor.peek() == Some('(') {
                self.cursor.advance(1);
                self.cursor.skip_blanks()?;
            }
            let mut patterns: Vec<Word> = Vec::new();
            loop {
                self.cursor.skip_blanks()?;
                let pattern = self.word(WordPurpose::Pattern)?;
                if pattern.0.is_empty() {
                    return Err(ParseFault::Expected("a pattern of `case`"));
                }
                patterns.push(pattern);
                self.cursor.skip_blanks()?;
                if self.cursor.take(")") {
                    break;
                }
                if !self.cursor.take("|") {
                    return Err(ParseFault::MissingWord(")"));
                }
            }
            let list = self.list(&["esac"])?;
            arms.push((patterns, list));
            if self.cursor.peek() == Some(';') {
                let ended = self.cursor.take(";;") && !matches!(self.cursor.peek(), Some('&' | ';'));
                if !ended {
                    return Err(ParseFault::Construct("a `case` arm that continues into the next one"));
                }
            }
        }
        Ok(Compound::Case { word, arms })
    }

    /// Parses `[[ … ]]`.
    fn test(&mut self) -> ReadResult<Compound> {
        self.expect_reserved("[[")?;
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        self.alternatives(&mut words, &mut numbers)?;
        self.expect_reserved("]]")?;
        Ok(Compound::Test { words, numbers })
    }

    fn alternatives(&mut self, words: &mut Vec<Word>, numbers: &mut Vec<Word>) -> ReadResult<()> {
        loop {
            self.primary(words, numbers)?;
            self.cursor.skip_blanks()?;
            if !(self.cursor.take("&&") || self.cursor.take("||")) {
                return Ok(());
            }
        }
    }

    fn primary(&mut self, words: &mut Vec<Word>, numbers: &mut Vec<Word>) -> ReadResult<()> {
        const OTHER: ParseFault = ParseFault::Construct("this test in `[[ ]]`");
        const UNARY: &[&str] = &[
            "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-u", "-w", "-x", "-z", "-L", "-O",
            "-S",
        ];
        self.cursor.skip_blanks()?;
        if self.cursor.peek() == Some('(') {
            self.cursor.advance(1);
            self.deeper(|parser| parser.alternatives(words, numbers))?;
            self.cursor.skip_blanks()?;
            return if self.cursor.take(")") { Ok(()) } else { Err(OTHER) };
        }
        let raw = self.raw_word();
        if raw == "!" {
            self.cursor.advance(1);
            return self.deeper(|parser| parser.primary(words, numbers));
        }
        if raw.starts_with('-') {
            if !UNARY.contains(&raw.as_str()) {
                return Err(OTHER);
            }
            self.cursor.advance(raw.len());
            words.push(self.operand()?);
            return Ok(());
        }
        let left = self.operand()?;
        self.cursor.skip_blanks()?;
        match self.raw_word().as_str() {
            operator @ ("=" | "==" | "!=" | "-nt" | "-ot" | "-ef") => {
                self.cursor.advance(operator.len());
                words.push(left);
                words.push(self.operand()?);
            }
            operator @ ("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                self.cursor.advance(operator.len());
                numbers.push(left);
                numbers.push(self.operand()?);
            }
            "]]" => words.push(left),
            "" if matches!(self.cursor.peek(), Some('&' | '|' | ')')) => words.push(left),
            _ => return Err(OTHER),
        }
        Ok(())
    }

    /// Parses a word in a test that cannot be taken for an operator.
    fn operand(&mut self) -> ReadResult<Word> {
        const OTHER: ParseFault = ParseFault::Construct("this test in `[[ ]]`");
        self.cursor.skip_blanks()?;
        let raw = self.raw_word();
        if raw.is_empty() || raw.starts_with('-') || matches!(raw.as_str(), "!" | "]]" | "=" | "==" | "!=" | "=~") {
            return Err(OTHER);
        }
        self.word(WordPurpose::Argument)
    }
}
