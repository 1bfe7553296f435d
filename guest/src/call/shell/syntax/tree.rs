//! The syntax tree: only constructs that are understood have a type here.

use std::cell::OnceCell;
use std::rc::Rc;

/// Commands in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::call::shell) struct List(pub(in crate::call::shell) Vec<AndOrList>);

/// Pipelines joined by `&&` and `||`, in the background or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) struct AndOrList {
    pub(in crate::call::shell) first: Pipeline,
    pub(in crate::call::shell) rest: Vec<(Connector, Pipeline)>,
    pub(in crate::call::shell) background: bool,
}

/// What separates two pipelines.
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

/// A command with words of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::call::shell) struct Simple {
    pub(in crate::call::shell) assignments: Vec<Assignment>,
    pub(in crate::call::shell) words: Vec<Word>,
    pub(in crate::call::shell) redirects: Vec<Redirect>,
}

/// `name=value`, and nothing more than that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) struct Assignment {
    pub(in crate::call::shell) name: String,
    pub(in crate::call::shell) value: Word,
}

/// A command made of commands.
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
    /// `[[ … ]]`: the words that are expanded, and the operands of comparisons of numbers.
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
    /// `<< delimiter`: the text is on later lines, and is there once the whole text has been read.
    Document(Rc<OnceCell<Word>>),
}

/// One word, as pieces that are expanded one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::call::shell) struct Word(pub(in crate::call::shell) Vec<WordPiece>);

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum WordPiece {
    /// Characters that stand for themselves.
    Text(String),
    /// `*` or `?`, unquoted; `[` where what it matches is not certain.
    Wildcard(char),
    /// `[…]`, unquoted.
    Bracket(String),
    /// `{a,b}`, unquoted, each alternative being plain text.
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
    /// `<(…)`, a word of its own.
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
    /// The word's text, where nothing in it is expanded, wildcards and braces included.
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
