//! The tree of a command line: as much of it as is followed.
//!
//! A word is what the grammar saw of it; [`Words`](super::words::Words) has what was written.

use std::rc::Rc;

/// Commands, one after the other.
pub(super) type List = Vec<Item>;

/// Pipelines up to a `;`, a `&` or the end of a line.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<Next>,
    /// Whether it ends in `&`.
    pub(super) background: bool,
}

/// A pipeline behind `&&` or `||`.
#[derive(Debug)]
pub(super) struct Next {
    /// The status that it runs for: success behind `&&`.
    pub(super) wanted: bool,
    pub(super) pipeline: Pipeline,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) negated: bool,
    /// None behind a mere `time` or `!`.
    pub(super) stages: Vec<Command>,
}

#[derive(Debug)]
pub(super) enum Command {
    Simple(Simple),
    Compound(Body),
    Function {
        name: String,
        body: Rc<Body>,
    },
    /// `[[ … ]]`, as the words of each test in it.
    Test(Vec<Vec<String>>, Vec<Redirect>),
}

/// A compound command and the redirections around it.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) compound: Compound,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(super) enum Compound {
    Group(List),
    Subshell(List),
    Coprocess(Box<Command>),
    If(Vec<Branch>),
    Case {
        word: String,
        cases: Vec<Case>,
    },
    /// `while`, which wants success, or `until`.
    While {
        wanted: bool,
        condition: List,
        body: List,
    },
    For {
        name: String,
        /// The shell's own arguments where none are given.
        values: Option<Vec<String>>,
        body: List,
    },
    Arithmetic(String),
    ArithmeticFor {
        parts: Vec<String>,
        body: List,
    },
}

/// One way of an `if`; the last may have no condition.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) condition: Option<List>,
    pub(super) body: List,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) patterns: Vec<String>,
    pub(super) body: List,
}

#[derive(Debug)]
pub(super) struct Simple {
    /// Assignments and redirections before the name.
    pub(super) prefix: Vec<Piece>,
    pub(super) name: Option<String>,
    pub(super) suffix: Vec<Piece>,
}

/// What a simple command is made of.
#[derive(Debug)]
pub(super) enum Piece {
    Word(String),
    Assignment(Assignment),
    Redirect(Redirect),
    Substitution(Substitution),
}

#[derive(Debug)]
pub(super) struct Assignment {
    /// All of it, as one word.
    pub(super) word: String,
    pub(super) name: String,
    /// Whether it is `+=`.
    pub(super) appends: bool,
    pub(super) value: Assigned,
}

#[derive(Debug)]
pub(super) enum Assigned {
    Word(String),
    Array(Vec<String>),
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) descriptor: Option<u32>,
    pub(super) operator: &'static str,
    /// A path, a descriptor, or the text of a here-document.
    pub(super) target: Target,
}

#[derive(Debug)]
pub(super) enum Target {
    Word(String),
    Substitution(Substitution),
}

/// `<(…)` or `>(…)`.
#[derive(Debug)]
pub(super) struct Substitution {
    /// Whether the commands in it read what is written to it.
    pub(super) reads: bool,
    pub(super) list: List,
}
