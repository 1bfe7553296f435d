//! What a simple command is made of, and the redirections of all commands.

use super::grammar::{Grammar, RESERVED};
use super::lex::Token;
use super::scan;
use super::tree::{Assigned, Assignment, Piece, Redirect, Simple, Substitution, Target};

impl Grammar<'_> {
    pub(super) fn simple(&mut self) -> Option<Simple> {
        let mut prefix = Vec::new();
        while let Some(piece) = self.redirect_or_assignment() {
            prefix.push(piece);
        }
        let name = self.attempt(|grammar| grammar.word().filter(|word| !RESERVED.contains(word)));
        let mut suffix = Vec::new();
        while let Some(piece) = name.and_then(|_| self.suffix_piece()) {
            suffix.push(piece);
        }
        (name.is_some() || !prefix.is_empty()).then(|| Simple { prefix, name: name.map(str::to_owned), suffix })
    }

    fn redirect_or_assignment(&mut self) -> Option<Piece> {
        let redirect = self.attempt(Self::redirect).map(Piece::Redirect);
        redirect.or_else(|| self.attempt(Self::assignment).map(Piece::Assignment))
    }

    fn suffix_piece(&mut self) -> Option<Piece> {
        if let Some(substitution) = self.attempt(Self::substitution) {
            return Some(Piece::Substitution(substitution));
        }
        self.redirect_or_assignment().or_else(|| Some(Piece::Word(self.word()?.to_owned())))
    }

    fn assignment(&mut self) -> Option<Assignment> {
        let word = self.word()?;
        let (name, None, operator, value) = scan::assignment(word)? else { return None };
        let (mut word, mut value, empty) = (word.to_owned(), Assigned::Word(value.to_owned()), value.is_empty());
        if empty && let Some(elements) = self.attempt(Self::array) {
            word = format!("{word}({})", elements.join(" "));
            value = Assigned::Array(elements);
        }
        Some(Assignment { word, name: name.to_owned(), appends: operator == "+=", value })
    }

    fn array(&mut self) -> Option<Vec<String>> {
        self.operator("(").then_some(())?;
        let mut elements = Vec::new();
        self.linebreak();
        while let Some(word) = self.word() {
            elements.push(word.to_owned());
            self.linebreak();
        }
        self.operator(")").then_some(elements)
    }

    pub(super) fn redirects(&mut self) -> Vec<Redirect> {
        let mut redirects = Vec::new();
        while let Some(redirect) = self.attempt(Self::redirect) {
            redirects.push(redirect);
        }
        redirects
    }

    fn redirect(&mut self) -> Option<Redirect> {
        let mut token = self.next()?;
        let mut descriptor = None;
        if let Token::Descriptor(number) = token {
            descriptor = number.parse().ok();
            token = self.next()?;
        }
        let Token::Operator(operator) = token else { return None };
        let target = match *operator {
            "<" | ">" | ">>" | "<>" | ">|" => match self.attempt(Self::substitution) {
                Some(substitution) => Target::Substitution(substitution),
                None => Target::Word(self.word()?.to_owned()),
            },
            "<&" | ">&" | "<<<" | "&>" | "&>>" => Target::Word(self.word()?.to_owned()),
            // The body stands between its delimiters.
            "<<" | "<<-" => {
                let (_, body, _) = (self.word()?, self.word()?, self.word()?);
                Target::Word(body.to_owned())
            }
            _ => return None,
        };
        Some(Redirect { descriptor, operator, target })
    }

    fn substitution(&mut self) -> Option<Substitution> {
        let reads = self.operator(">");
        ((reads || self.operator("<")) && self.operator("(")).then_some(())?;
        Some(Substitution { reads, list: self.list_until_paren()? })
    }
}
