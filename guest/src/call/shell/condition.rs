//! The inside of `[[ … ]]`.

use super::grammar::Grammar;
use super::lex::Token;

/// Operators that stand between two words and are words themselves.
const BETWEEN: [&str; 12] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ef", "-nt", "-ot", "==", "=", "!="];

/// The letters of the operators that stand before a word.
const BEFORE: &str = "abcdefghknoprstuvwxzGLNORS";

/// The words of each test, in their order.
type Tests = Vec<Vec<String>>;

impl Grammar<'_> {
    pub(super) fn tests(&mut self) -> Option<Tests> {
        self.keyword("[[").then_some(())?;
        self.linebreak();
        let tests = self.tests_joined()?;
        self.linebreak();
        self.keyword("]]").then_some(tests)
    }

    fn tests_joined(&mut self) -> Option<Tests> {
        let mut tests = self.tests_negated()?;
        while let Some(more) = self.attempt(|grammar| {
            grammar.linebreak();
            (grammar.operator("&&") || grammar.operator("||")).then_some(())?;
            grammar.linebreak();
            grammar.tests_negated()
        }) {
            tests.extend(more);
        }
        Some(tests)
    }

    fn tests_negated(&mut self) -> Option<Tests> {
        let start = self.at;
        while self.keyword("!") {}
        if let Some(tests) = self.attempt(Self::tests_in_parens) {
            return Some(tests);
        }
        // With nothing behind it that it could turn round, a `!` is a word as any other.
        if self.at == start {
            return None;
        }
        self.at -= 1;
        Some(vec![self.test()?])
    }

    fn tests_in_parens(&mut self) -> Option<Tests> {
        if !self.operator("(") {
            return Some(vec![self.test()?]);
        }
        let tests = self.tests_joined()?;
        self.operator(")").then_some(tests)
    }

    fn test(&mut self) -> Option<Vec<String>> {
        if let Some(two) = self.attempt(Self::test_of_two) {
            return Some(two);
        }
        let word = self.word()?;
        let is_operator = word.len() == 2 && word.strip_prefix('-').is_some_and(|letter| BEFORE.contains(letter));
        let behind = if is_operator { self.word() } else { None };
        Some(vec![behind.unwrap_or(word).to_owned()])
    }

    fn test_of_two(&mut self) -> Option<Vec<String>> {
        let left = self.word()?.to_owned();
        let right = match self.next()? {
            Token::Operator("<" | ">") => self.word()?.to_owned(),
            Token::Word(operator) if operator == "=~" => self.regex()?,
            Token::Word(operator) if BETWEEN.contains(&operator.as_str()) => self.word()?.to_owned(),
            _ => return None,
        };
        Some(vec![left, right])
    }

    /// Words, `|` and whatever stands in parentheses, up to the `]]`.
    fn regex(&mut self) -> Option<String> {
        let (mut regex, mut depth) = (String::new(), 0_usize);
        while let Some(token) = self.peek() {
            match token {
                Token::Word(word) if word == "]]" && depth == 0 => break,
                Token::Operator("(") => depth += 1,
                Token::Operator(")") if depth > 0 => depth -= 1,
                Token::Operator("|") | Token::Word(_) | Token::Descriptor(_) => {}
                Token::Operator(_) if depth > 0 => {}
                Token::Operator(_) => break,
            }
            regex.push_str(token.text());
            self.at += 1;
        }
        (depth == 0 && !regex.is_empty()).then_some(regex)
    }
}
