//! Bash's grammar: from tokens to the tree.
//!
//! Every rule looks ahead by itself: one that finds something else gives back nothing, and [`Grammar::attempt`] then goes
//! back to where it began. No rule is tried twice at one place, so the time it takes grows with the text alone.

use std::rc::Rc;

use super::lex::Token;
use super::tree::{Body, Branch, Case, Command, Compound, Item, List, Next, Pipeline};

/// Deeper nesting does not parse. The lexer allows less, but for `coproc coproc …`.
const MOST_DEPTH: usize = 64;

/// Words that begin no simple command.
pub(super) const RESERVED: [&str; 21] = [
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "in", "then", "until", "while", "[[", "]]",
    "function", "select", "coproc",
];

/// The tree of a whole command line, if it is one.
pub(super) fn parse(tokens: &[Token]) -> Option<List> {
    let mut grammar = Grammar { tokens, at: 0, depth: 0 };
    let list = grammar.attempt(Grammar::list).unwrap_or_default();
    grammar.linebreak();
    (grammar.at == tokens.len()).then_some(list)
}

pub(super) struct Grammar<'t> {
    tokens: &'t [Token],
    pub(super) at: usize,
    depth: usize,
}

impl<'t> Grammar<'t> {
    pub(super) fn attempt<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.at;
        let found = rule(self);
        if found.is_none() {
            self.at = start;
        }
        found
    }

    pub(super) fn peek(&self) -> Option<&'t Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<&'t Token> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// Takes any word, reserved ones too.
    pub(super) fn word(&mut self) -> Option<&'t str> {
        let (Token::Word(text) | Token::Descriptor(text)) = self.peek()? else { return None };
        self.at += 1;
        Some(text)
    }

    /// Takes this word, and says whether it was there.
    pub(super) fn keyword(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(text)) if text == wanted);
        self.at += usize::from(found);
        found
    }

    /// The same for an operator.
    pub(super) fn operator(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Operator(text)) if *text == wanted);
        self.at += usize::from(found);
        found
    }

    /// Takes the ends of lines, and says whether there were any.
    pub(super) fn linebreak(&mut self) -> bool {
        let start = self.at;
        while self.operator("\n") {}
        self.at > start
    }

    fn list(&mut self) -> Option<List> {
        self.linebreak();
        let mut items = Vec::new();
        while let Some(mut item) = self.attempt(Self::item) {
            item.background = self.operator("&");
            let ends = item.background || self.operator(";");
            items.push(item);
            if !self.linebreak() && !ends {
                break;
            }
        }
        (!items.is_empty()).then_some(items)
    }

    fn item(&mut self) -> Option<Item> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        while let Some(next) = self.attempt(Self::next_pipeline) {
            rest.push(next);
        }
        Some(Item { first, rest, background: false })
    }

    fn next_pipeline(&mut self) -> Option<Next> {
        let wanted = self.operator("&&");
        if !wanted && !self.operator("||") {
            return None;
        }
        self.linebreak();
        Some(Next { wanted, pipeline: self.pipeline()? })
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let start = self.at;
        if self.keyword("time") {
            self.keyword("-p");
        }
        let mut negated = false;
        while self.keyword("!") {
            negated = !negated;
        }
        let mut stages: Vec<Command> = Vec::new();
        while let Some(stage) = self.attempt(|grammar| grammar.stage(stages.is_empty())) {
            stages.push(stage);
        }
        (self.at > start).then_some(Pipeline { negated, stages })
    }

    fn stage(&mut self, first: bool) -> Option<Command> {
        if !first {
            self.operator("|").then_some(())?;
            self.linebreak();
        }
        self.depth += 1;
        let command = if self.depth > MOST_DEPTH { None } else { self.command() };
        self.depth -= 1;
        command
    }

    fn command(&mut self) -> Option<Command> {
        if let Some(function) = self.attempt(Self::function) {
            return Some(function);
        }
        if let Some(simple) = self.attempt(Self::simple) {
            return Some(Command::Simple(simple));
        }
        if let Some(body) = self.attempt(Self::body) {
            return Some(Command::Compound(body));
        }
        let tests = self.tests()?;
        Some(Command::Test(tests, self.redirects()))
    }

    fn function(&mut self) -> Option<Command> {
        let announced = self.keyword("function");
        let name = self.word().filter(|name| !name.ends_with('=') && (announced || !RESERVED.contains(name)))?;
        let behind = self.attempt(|grammar| {
            (grammar.operator("(") && grammar.operator(")")).then_some(())?;
            grammar.linebreak();
            grammar.body()
        });
        let body = match behind {
            None if announced => {
                self.linebreak();
                self.body()?
            }
            behind => behind?,
        };
        Some(Command::Function { name: name.to_owned(), body: Rc::new(body) })
    }

    fn body(&mut self) -> Option<Body> {
        Some(Body { compound: self.compound()?, redirects: self.redirects() })
    }

    fn compound(&mut self) -> Option<Compound> {
        let word = match self.next()? {
            Token::Operator("((") => return Some(Compound::Arithmetic(self.arithmetic("))")?)),
            Token::Operator("(") => return Some(Compound::Subshell(self.list_until_paren()?)),
            Token::Word(word) => word.as_str(),
            Token::Operator(_) | Token::Descriptor(_) => return None,
        };
        match word {
            "{" => Some(Compound::Group(self.list_until("}")?)),
            "coproc" => self.coprocess(),
            "if" => self.branches(),
            "case" => self.cases(),
            "for" if self.operator("((") => self.arithmetic_for(),
            "for" => self.for_each(),
            "while" | "until" => {
                let condition = self.list()?;
                Some(Compound::While { wanted: word == "while", condition, body: self.do_group()? })
            }
            _ => None,
        }
    }

    fn list_until(&mut self, end: &str) -> Option<List> {
        let list = self.list()?;
        self.keyword(end).then_some(list)
    }

    pub(super) fn list_until_paren(&mut self) -> Option<List> {
        let list = self.list()?;
        self.operator(")").then_some(list)
    }

    fn do_group(&mut self) -> Option<List> {
        if self.keyword("do") { self.list_until("done") } else { None }
    }

    fn coprocess(&mut self) -> Option<Compound> {
        self.linebreak();
        // Only a compound command can have a name.
        self.attempt(|grammar| {
            let name = grammar.word().filter(|name| !name.ends_with('='))?;
            grammar.linebreak();
            let opens = match grammar.peek()? {
                Token::Word(word) => word == "{",
                Token::Operator(operator) => matches!(*operator, "(" | "(("),
                Token::Descriptor(_) => false,
            };
            opens.then_some(name)
        });
        Some(Compound::Coprocess(Box::new(self.stage(true)?)))
    }

    fn branches(&mut self) -> Option<Compound> {
        let mut branches = Vec::new();
        loop {
            let condition = Some(self.list_until("then")?);
            branches.push(Branch { condition, body: self.list()? });
            if !self.keyword("elif") {
                break;
            }
        }
        if self.keyword("else") {
            branches.push(Branch { condition: None, body: self.list()? });
        }
        self.keyword("fi").then_some(Compound::If(branches))
    }

    fn cases(&mut self) -> Option<Compound> {
        let word = self.word()?.to_owned();
        self.linebreak();
        self.keyword("in").then_some(())?;
        self.linebreak();
        let mut cases = Vec::new();
        while let Some((case, goes_on)) = self.attempt(Self::case) {
            cases.push(case);
            if !goes_on {
                break;
            }
        }
        self.keyword("esac").then_some(Compound::Case { word, cases })
    }

    /// A case, and whether another may follow.
    fn case(&mut self) -> Option<(Case, bool)> {
        self.operator("(");
        let mut patterns = vec![self.word()?.to_owned()];
        while self.operator("|") {
            patterns.push(self.word()?.to_owned());
        }
        self.operator(")").then_some(())?;
        self.linebreak();
        let body = self.attempt(Self::list).unwrap_or_default();
        let goes_on = [";;", ";;&", ";&"].iter().any(|end| self.operator(end));
        self.linebreak();
        Some((Case { patterns, body }, goes_on))
    }

    /// A `;` or the end of a line.
    fn ends(&mut self) -> bool {
        let ends = self.operator(";");
        self.linebreak() || ends
    }

    fn for_each(&mut self) -> Option<Compound> {
        let name = self.word()?.to_owned();
        let listed = self.attempt(|grammar| {
            grammar.linebreak();
            grammar.keyword("in").then_some(())
        });
        let mut values = Vec::new();
        while let Some(word) = listed.and_then(|()| self.word()) {
            values.push(word.to_owned());
        }
        if !self.ends() && listed.is_some() {
            return None;
        }
        let values = (!values.is_empty()).then_some(values);
        Some(Compound::For { name, values, body: self.do_group()? })
    }

    fn arithmetic_for(&mut self) -> Option<Compound> {
        let parts = vec![self.arithmetic(";")?, self.arithmetic(";")?, self.arithmetic("))")?];
        let body = if self.keyword("{") {
            self.list_until("}")?
        } else {
            self.ends();
            self.do_group()?
        };
        Some(Compound::ArithmeticFor { parts, body })
    }

    fn arithmetic(&mut self, end: &str) -> Option<String> {
        let text = self.word()?;
        self.operator(end).then(|| text.to_owned())
    }
}
