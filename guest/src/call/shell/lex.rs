//! From text to the tokens of Bash's grammar.
//!
//! Every word that is more than plain characters is put aside under a number, and the grammar sees only the number.

use super::documents::Awaited;
use super::scan::{self, Fault};
use super::words::Words;

/// Deeper nesting of compound commands is refused: the grammar recurses.
const MOST_NESTING: usize = 24;
/// More operators in one `[[ ]]` are refused, for the same reason.
const MOST_TESTS: usize = 48;

/// What the grammar sees.
#[derive(Debug)]
pub(super) enum Token {
    Word(String),
    /// A number that touches the redirection behind it.
    Descriptor(String),
    /// Also `((` and `))` around arithmetic, and the end of a line.
    Operator(&'static str),
}

impl Token {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Word(text) | Self::Descriptor(text) => text,
            Self::Operator(text) => text,
        }
    }
}

/// What a closing token has to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Paren,
    Brace,
    If,
    Loop,
    Test,
    Case { pattern: bool },
}

/// Reads tokens until the text ends, or until the `)` that closes what was open before.
pub(super) struct Lexer<'t> {
    chars: &'t [char],
    at: usize,
    depth: usize,
    inside: bool,
    tokens: Vec<Token>,
    words: Words,
    open: Vec<Open>,
    awaited: Vec<Awaited>,
    /// Whether a reserved word would count as one here.
    fresh: bool,
    /// What the next word is for.
    expects: Expects,
    /// How many tests the current `[[ ]]` holds.
    tests: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Word,
    Target,
    Delimiter { strips_tabs: bool },
    ForName,
    CaseWord,
    CaseIn,
    Regex,
    FunctionName,
}

/// The tokens of a whole command line.
pub(super) fn tokens(text: &str) -> Result<(Vec<Token>, Words), Fault> {
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer::new(&chars, 0, 0, false);
    lexer.run()?;
    Ok((lexer.tokens, lexer.words))
}

/// Where the command substitution that begins at `start`, behind its `(`, has its `)`.
pub(super) fn closing_paren(chars: &[char], start: usize, depth: usize) -> Result<usize, Fault> {
    let mut lexer = Lexer::new(chars, start, depth, true);
    lexer.run()?;
    if lexer.chars.get(lexer.at) == Some(&')') { Ok(lexer.at) } else { Err(Fault::Unclosed("$(")) }
}

impl<'t> Lexer<'t> {
    fn new(chars: &'t [char], at: usize, depth: usize, inside: bool) -> Self {
        Self {
            chars,
            at,
            depth,
            inside,
            tokens: Vec::new(),
            words: Words::default(),
            open: Vec::new(),
            awaited: Vec::new(),
            fresh: true,
            expects: Expects::Word,
            tests: 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Result<(), Fault> {
        if self.depth > scan::MOST_DEPTH {
            return Err(Fault::TooDeep);
        }
        while let Some(c) = self.peek(0) {
            match c {
                c if self.expects == Expects::Regex && !c.is_whitespace() => self.word()?,
                ' ' | '\t' => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                ')' if self.inside && !self.open.iter().any(|open| matches!(open, Open::Paren | Open::Case { .. })) => {
                    return Ok(());
                }
                '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => self.operator()?,
                _ => self.word()?,
            }
        }
        // Bash takes a here-document without its delimiter to the end of the text, with a warning.
        self.bodies()
    }

    fn push(&mut self, word: String) {
        self.tokens.push(Token::Word(word));
    }

    fn push_operator(&mut self, operator: &'static str) {
        self.tokens.push(Token::Operator(operator));
    }

    fn operator(&mut self) -> Result<(), Fault> {
        const OPERATORS: &[&str] = &[
            "&>>", ";;&", "<<<", "<<-", "&&", "&>", "||", "|&", ";;", ";&", "<<", "<&", "<>", ">>", ">&", ">|", "\n", "&", "|",
            ";", "<", ">", "(", ")",
        ];
        let starts = |operator: &&&str| operator.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c));
        let Some(operator) = OPERATORS.iter().find(starts) else { return Err(Fault::Unclosed("an operator")) };
        if *operator == "(" && self.peek(1) == Some('(') && self.arithmetic()? {
            return Ok(());
        }
        self.at += operator.chars().count();
        let in_test = self.open.last() == Some(&Open::Test);
        if in_test {
            self.count_test()?;
        }
        match *operator {
            "(" => {
                self.nest(Open::Paren)?;
                self.fresh = true;
            }
            ")" => {
                match self.open.last_mut() {
                    Some(Open::Paren) => drop(self.open.pop()),
                    Some(Open::Case { pattern }) => *pattern = false,
                    _ => {}
                }
                self.fresh = true;
            }
            "\n" => {
                self.push_operator("\n");
                self.fresh = true;
                return self.bodies();
            }
            ";;" | ";&" | ";;&" => {
                if let Some(Open::Case { pattern }) = self.open.last_mut() {
                    *pattern = true;
                }
                self.fresh = true;
            }
            // Where the error channel goes is nothing to us, and the grammar refuses it behind `[[ ]]`.
            "|&" => {
                self.push_operator("|");
                self.fresh = true;
                return Ok(());
            }
            "<<" | "<<-" => self.expects = Expects::Delimiter { strips_tabs: *operator == "<<-" },
            "<" | ">" if in_test => {}
            // A list of commands in parentheses follows, never arithmetic.
            "<" | ">" if self.peek(0) == Some('(') => self.fresh = false,
            "<" | ">" | ">>" | "<>" | ">|" | ">&" | "<&" | "&>" | "&>>" | "<<<" => self.expects = Expects::Target,
            _ => self.fresh = true,
        }
        self.push_operator(operator);
        Ok(())
    }

    /// `((…))` and `for ((…;…;…))`, if that is what stands here.
    fn arithmetic(&mut self) -> Result<bool, Fault> {
        let looped = self.expects == Expects::ForName;
        if (!self.fresh && !looped) || self.open.contains(&Open::Test) {
            return Ok(false);
        }
        let Some(end) = scan::closing_arithmetic(self.chars, self.at + 2, self.depth + scan::ARITHMETIC_DEPTH)? else {
            return Ok(false);
        };
        let inner: String = self.chars.get(self.at + 2..end).unwrap_or_default().iter().collect();
        self.at = end + 2;
        self.expects = Expects::Word;
        self.push_operator("((");
        let parts: Vec<&str> = if looped { inner.split(';').collect() } else { vec![inner.as_str()] };
        for (nth, part) in parts.into_iter().enumerate() {
            if nth > 0 {
                self.push_operator(";");
            }
            let number = self.words.put(part.to_owned(), false);
            self.push(number);
        }
        self.push_operator("))");
        self.fresh = true;
        Ok(true)
    }

    fn word(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let regex = self.expects == Expects::Regex;
        // `!(…)` in front of a command is a `!` and a subshell.
        self.at = if self.fresh && self.peek(0) == Some('!') && self.peek(1) == Some('(') {
            self.at + 1
        } else {
            scan::word_end(self.chars, self.at, self.depth, regex)?
        };
        let raw = scan::joined(self.chars.get(start..self.at).unwrap_or_default());
        let redirects = matches!(self.peek(0), Some('<' | '>'));
        if redirects && raw.starts_with('{') && raw.ends_with('}') && raw.len() > 2 && self.expects == Expects::Word {
            // `{name}>file` keeps the descriptor's number in a variable.
            return Ok(());
        }
        if redirects && raw.bytes().all(|byte| byte.is_ascii_digit()) && self.expects == Expects::Word {
            // The grammar's descriptors are small numbers.
            let number = if raw.len() > 6 { "9".to_owned() } else { raw };
            self.tokens.push(Token::Descriptor(number));
            return Ok(());
        }
        match std::mem::replace(&mut self.expects, Expects::Word) {
            Expects::Target => {
                self.fresh = false;
                self.put(raw);
            }
            Expects::Delimiter { strips_tabs } => {
                let literal = raw.contains(['\'', '"', '\\']);
                let delimiter = if literal { scan::unquoted(&raw) } else { raw };
                self.push("EOF".to_owned());
                self.awaited.push(Awaited { token: self.tokens.len(), delimiter, literal, strips_tabs });
                self.push(String::new());
                self.push("EOF".to_owned());
                self.fresh = false;
            }
            Expects::ForName | Expects::FunctionName => self.put(raw),
            Expects::CaseWord => {
                self.expects = Expects::CaseIn;
                self.put(raw);
            }
            Expects::CaseIn if raw == "in" => {
                self.fresh = true;
                self.push(raw);
            }
            Expects::Regex => {
                let number = self.words.put(raw, false);
                self.push(number);
            }
            Expects::CaseIn | Expects::Word => self.ordinary(raw)?,
        }
        Ok(())
    }

    /// A word that may be a reserved one.
    fn ordinary(&mut self, raw: String) -> Result<(), Fault> {
        if self.open.last() == Some(&Open::Test) {
            match raw.as_str() {
                "]]" => {
                    self.open.pop();
                    self.fresh = true;
                }
                "=~" => self.expects = Expects::Regex,
                "!" => self.count_test()?,
                _ => {}
            }
            if matches!(raw.as_str(), "]]" | "=~" | "!" | "=" | "==" | "!=") || (raw.starts_with('-') && raw.len() <= 3) {
                self.push(raw);
            } else {
                self.put(raw);
            }
            return Ok(());
        }
        let pattern = matches!(self.open.last(), Some(Open::Case { pattern: true }));
        if !self.fresh || (pattern && raw != "esac") {
            self.fresh = false;
            self.put(raw);
            return Ok(());
        }
        let closes = |open: Open| match raw.as_str() {
            "}" => open == Open::Brace || open == Open::Loop,
            "fi" => open == Open::If,
            "done" => open == Open::Loop,
            "esac" => matches!(open, Open::Case { .. }),
            _ => false,
        };
        match raw.as_str() {
            "{" => self.nest(Open::Brace)?,
            "if" => self.nest(Open::If)?,
            "while" | "until" => self.nest(Open::Loop)?,
            "for" | "select" => {
                self.nest(Open::Loop)?;
                self.expects = Expects::ForName;
                self.fresh = false;
                // `select` repeats its body for words of a list as `for` does, and the grammar lacks it.
                self.push("for".to_owned());
                return Ok(());
            }
            "case" => {
                self.nest(Open::Case { pattern: true })?;
                self.expects = Expects::CaseWord;
                self.fresh = false;
            }
            "[[" => {
                self.nest(Open::Test)?;
                self.fresh = false;
                self.tests = 0;
            }
            "function" => {
                self.expects = Expects::FunctionName;
            }
            "}" | "fi" | "done" | "esac" => {
                if self.open.last().is_some_and(|open| closes(*open)) {
                    self.open.pop();
                }
            }
            "then" | "else" | "elif" | "do" | "!" | "time" | "coproc" => {}
            _ => {
                self.fresh = false;
                self.put(raw);
                return Ok(());
            }
        }
        self.push(raw);
        Ok(())
    }

    /// Hands a word to the grammar: plain words as they are, all others by number.
    fn put(&mut self, raw: String) {
        let text = self.words.seen(raw);
        self.push(text);
    }

    /// The grammar nests the tests of one `[[ ]]` as deep as there are of them.
    fn count_test(&mut self) -> Result<(), Fault> {
        self.tests += 1;
        if self.tests > MOST_TESTS { Err(Fault::TooDeep) } else { Ok(()) }
    }

    fn nest(&mut self, open: Open) -> Result<(), Fault> {
        self.open.push(open);
        if self.open.len() > MOST_NESTING { Err(Fault::TooDeep) } else { Ok(()) }
    }

    /// Reads the bodies of the here-documents that were announced on the line that ends here.
    fn bodies(&mut self) -> Result<(), Fault> {
        for awaited in std::mem::take(&mut self.awaited) {
            let (body, after) = awaited.body(self.chars, self.at);
            self.at = after;
            let number = self.words.put(body, awaited.literal);
            if let Some(Token::Word(text)) = self.tokens.get_mut(awaited.token) {
                *text = number;
            }
        }
        Ok(())
    }
}
