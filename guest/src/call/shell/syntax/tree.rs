//! The syntax tree: it has types only for constructs that are understood.

use std::cell::OnceCell;
use std::rc::Rc;

/// A sequence of commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::call::shell) struct List(pub(in crate::call::shell) Vec<AndOrList>);

/// Pipelines joined by `&&` and `||`, possibly in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) struct AndOrList {
    pub(in crate::call::shell) first: Pipeline,
    pub(in crate::call::shell) rest: Vec<(Connector, Pipeline)>,
    pub(in crate::call::shell) background: bool,
}

/// The operator between two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::call::shell) enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) struct Pipeline {
    pub(in crate::call::shell) negated: bool,
    pub(in crate::call::shell) commands: Vec<CommandNode>,
}

/// One command of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum CommandNode {
    Simple(Simple),
    Compound(Compound, Vec<Redirect>),
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::call::shell) struct Simple {
    pub(in crate::call::shell) assignments: Vec<Assignment>,
    pub(in crate::call::shell) words: Vec<Word>,
    pub(in crate::call::shell) redirects: Vec<Redirect>,
}

/// `name=value` in its plain form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) struct Assignment {
    pub(in crate::call::shell) name: String,
    pub(in crate::call::shell) value: Word,
}

/// A compound command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum Compound {
    /// `{ …; }`
    Group(List),
    /// `( … )`
    Subshell(List),
    /// `if`, each condition with its branch, and `else`.
    If { branches: Vec<(List, List)>, otherwise: Option<List> },
    /// `while` and `until`.
    Loop { until: bool, condition: List, body: List },
    /// `for name in words`.
    For { name: String, words: Vec<Word>, body: List },
    /// `case word in`, each arm with its patterns.
    Case { word: Word, arms: Vec<(Vec<Word>, List)> },
    /// `[[ … ]]`: the words that are expanded, and the operands of numeric comparisons.
    Test { words: Vec<Word>, numbers: Vec<Word> },
}

/// One redirection of descriptor 0, 1 or 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum Redirect {
    /// `< file`
    Read(Word),
    /// `> file`, `>> file`, `2> file`, `&> file`, …
    Write(Word),
    /// `2>&1`, `>&2`, `2>&-`
    Duplicate,
    /// `<<< word`
    Text(Word),
    /// `<< delimiter`: the text is on later lines, and is set once all text has been parsed.
    Document(Rc<OnceCell<Word>>),
}

/// A word, as pieces that are expanded one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::call::shell) struct Word(pub(in crate::call::shell) Vec<WordPiece>);

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum WordPiece {
    /// Literal characters.
    Text(String),
    /// An unquoted `*` or `?`, or a `[` for which it is not certain what it matches.
    Wildcard(char),
    /// An unquoted `[…]`.
    Bracket(String),
    /// An unquoted `{a,b}` whose alternatives are plain text.
    Braces(Vec<String>),
    /// `~` where it means the home folder.
    Home,
    /// A variable.
    Variable { name: String, form: Form, quoted: bool },
    /// `$?`, `$#`, `$$`, `$!`: digits.
    Digits,
    /// `$1`, `$@`, `$*`, `$0`, `$-`.
    Positional { quoted: bool },
    /// `$(…)` and backquotes.
    Output { list: List, quoted: bool },
    /// `$((…))`, with the names of the variables in it.
    Arithmetic(Vec<String>),
    /// `<(…)`, as a word of its own.
    Process(List),
}

/// How a variable is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum Form {
    /// `$x`, `${x}`
    Plain,
    /// `${x:-word}`
    Default(String),
    /// `${x#word}`, `${x%word}` with a word without wildcards.
    Without { suffix: bool, text: String },
    /// `${#x}`
    Length,
    /// Any other listed form: the value is known only at run time.
    Derived,
}

impl Word {
    /// The word's text if nothing in it is expanded, including wildcards and braces.
    pub(in crate::call::shell) fn literal(&self) -> Option<String> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                WordPiece::Text(text) => out.push_str(text),
                _ => return None,
            }
        }
        Some(out)
    }
}
