//! Expands words into arguments.

use super::super::syntax::tree::{Form, Word, WordPiece};
use super::ShellReader;
use super::arg::{Arg, Base};
use super::input::StandardInput;
use super::state::{ShellState, Value};

/// The most pieces that the braces of a word may expand to; a word with more is not expanded.
const MAX_PIECES: usize = 4_096;
/// The longest value that is kept.
const MAX_VALUE: usize = 64 * 1024;

/// A word while it is being built.
#[derive(Debug, Clone, Default)]
struct Draft {
    /// The base that the word begins with, if any.
    base: Option<Base>,
    text: String,
    /// The same text as a pattern, for unquoted wildcards: literal text and wildcards are separate pieces, so nothing needs
    /// escaping.
    pattern: Vec<PatternPiece>,
    /// Nothing is certain from here on.
    ended: bool,
    /// It may be any number of words.
    many: bool,
    /// It is a word even if it is empty.
    quoted: bool,
    has_wildcard: bool,
    uncertain_pattern: bool,
}

/// A piece of a pattern of file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternPiece {
    Text(String),
    /// `*`
    Any,
    /// `?` or a bracket expression.
    One,
}

impl Draft {
    fn push(&mut self, text: &str) {
        if self.ended {
            return;
        }
        self.text.push_str(text);
        match self.pattern.last_mut() {
            Some(PatternPiece::Text(last)) => last.push_str(text),
            _ => self.pattern.push(PatternPiece::Text(text.to_owned())),
        }
    }

    /// Marks everything after this as uncertain; the draft is still one word, unless `many`.
    fn mark_uncertain(&mut self, many: bool) {
        self.ended = true;
        self.many |= many;
    }

    fn push_value(&mut self, value: &Value, quoted: bool) {
        match value {
            Value::Text(text) => {
                // Unquoted text would be split and matched, but not in every shell.
                if !quoted && (text.is_empty() || text.contains(|c: char| c.is_whitespace() || "*?[\\".contains(c))) {
                    // An empty value does not leave a word.
                    if text.is_empty() {
                        return;
                    }
                    return self.mark_uncertain(true);
                }
                self.push(text);
            }
            Value::Below(base, rest) => {
                let fresh = self.base.is_none() && self.text.is_empty() && !self.ended;
                if !quoted && rest.contains(|c: char| c.is_whitespace() || "*?[\\".contains(c)) {
                    self.mark_uncertain(true);
                } else if fresh {
                    self.base = Some(*base);
                    self.push(rest);
                } else {
                    self.mark_uncertain(false);
                }
            }
            Value::Number => self.mark_uncertain(false),
            Value::Unknown => self.mark_uncertain(!quoted),
        }
    }
}

impl ShellReader<'_> {
    /// Expands a word into arguments: braces, variables and wildcards.
    pub(super) fn expand(&mut self, word: &Word, state: &ShellState) -> Vec<Arg> {
        let mut out = Vec::new();
        for pieces in self.alternatives(word) {
            if !self.spend(pieces.len()) {
                break;
            }
            let draft = self.draft(&pieces, state);
            if !self.spend(draft.text.len() / 256) {
                break;
            }
            self.finish(draft, state, &mut out);
        }
        out
    }

    /// Expands a word that stays a single word with literal wildcards: the value of an assignment, a here-document.
    pub(super) fn expand_value(&mut self, word: &Word, state: &ShellState) -> Value {
        // Nothing is split here, so every piece counts as quoted.
        let mut draft = Draft::default();
        for piece in &word.0 {
            if draft.text.len() > MAX_VALUE || !self.step() {
                draft.mark_uncertain(false);
                break;
            }
            match piece {
                WordPiece::Variable { name, form, .. } => {
                    let value = self.variable(name, form, state);
                    draft.push_value(&value, true);
                }
                WordPiece::Output { list, .. } => {
                    self.subshell(list, std::slice::from_ref(state), &StandardInput::Unknown);
                    draft.mark_uncertain(false);
                }
                WordPiece::Positional { .. } => draft.mark_uncertain(false),
                WordPiece::Wildcard(c) => draft.push(c.encode_utf8(&mut [0; 4])),
                WordPiece::Bracket(inside) => draft.push(&format!("[{inside}]")),
                piece => self.piece(piece, state, &mut draft),
            }
        }
        self.spend(draft.text.len() / 256);
        match (draft.ended, draft.base) {
            _ if draft.text.len() > MAX_VALUE => Value::Unknown,
            (true, _) if self.is_digits(word, state) => Value::Number,
            (true, _) => Value::Unknown,
            (false, Some(base)) => {
                path_below_base(base, draft.text).map_or(Value::Unknown, |(base, rest)| Value::Below(base, rest))
            }
            (false, None) => Value::Text(draft.text),
        }
    }

    /// Whether a word consists only of digits that are known at run time.
    pub(super) fn is_digits(&self, word: &Word, state: &ShellState) -> bool {
        match word.0.as_slice() {
            [WordPiece::Digits | WordPiece::Arithmetic(_)] => true,
            [WordPiece::Text(empty), WordPiece::Digits | WordPiece::Arithmetic(_)] => empty.is_empty(),
            [WordPiece::Variable { form: Form::Length, .. }] => true,
            [WordPiece::Variable { name, form: Form::Plain, .. }] => state.variable(name) == Some(&Value::Number),
            [WordPiece::Text(empty), WordPiece::Variable { name, form: Form::Plain, .. }] => {
                empty.is_empty() && state.variable(name) == Some(&Value::Number)
            }
            _ => false,
        }
    }

    /// The pieces of a word for each combination of its braces.
    fn alternatives<'t>(&mut self, word: &'t Word) -> Vec<Vec<std::borrow::Cow<'t, WordPiece>>> {
        use std::borrow::Cow;
        let mut all: Vec<Vec<Cow<'t, WordPiece>>> = vec![Vec::new()];
        for piece in &word.0 {
            match piece {
                WordPiece::Braces(texts) => {
                    if all.len() * texts.len() * word.0.len() > MAX_PIECES {
                        self.add_unknown("braces expand to too many words in `{…}`".to_owned());
                        return Vec::new();
                    }
                    all = all
                        .iter()
                        .flat_map(|pieces| {
                            texts.iter().map(move |text| {
                                let mut pieces = pieces.clone();
                                pieces.push(Cow::Owned(WordPiece::Text(text.clone())));
                                pieces
                            })
                        })
                        .collect();
                }
                piece => all.iter_mut().for_each(|pieces| pieces.push(Cow::Borrowed(piece))),
            }
        }
        all
    }

    fn draft(&mut self, pieces: &[std::borrow::Cow<'_, WordPiece>], state: &ShellState) -> Draft {
        let mut draft = Draft::default();
        for piece in pieces {
            if draft.text.len() > MAX_VALUE {
                draft.mark_uncertain(true);
                break;
            }
            self.piece(piece, state, &mut draft);
        }
        draft
    }

    fn piece(&mut self, piece: &WordPiece, state: &ShellState, draft: &mut Draft) {
        match piece {
            WordPiece::Text(text) => {
                draft.quoted = true;
                draft.push(text);
            }
            WordPiece::Wildcard(c) => {
                draft.has_wildcard = true;
                draft.uncertain_pattern |= *c == '[' || draft.base.is_some();
                if !draft.ended {
                    draft.text.push(*c);
                    draft.pattern.push(if *c == '*' { PatternPiece::Any } else { PatternPiece::One });
                }
            }
            WordPiece::Bracket(inside) => {
                draft.has_wildcard = true;
                draft.uncertain_pattern |= draft.base.is_some();
                if !draft.ended {
                    draft.text.push_str(&format!("[{inside}]"));
                    draft.pattern.push(PatternPiece::One);
                }
            }
            WordPiece::Braces(_) => {}
            WordPiece::Home => {
                draft.quoted = true;
                draft.push_value(&Value::Below(Base::Home, String::new()), true);
            }
            WordPiece::Variable { name, form, quoted } => {
                draft.quoted |= quoted;
                let value = self.variable(name, form, state);
                draft.push_value(&value, *quoted);
            }
            WordPiece::Digits => draft.mark_uncertain(false),
            WordPiece::Positional { quoted } => {
                // `"$@"` is any number of words, even in quotes.
                draft.mark_uncertain(true);
                draft.quoted |= quoted;
            }
            WordPiece::Output { list, quoted } => {
                self.subshell(list, std::slice::from_ref(state), &StandardInput::Unknown);
                draft.quoted |= quoted;
                draft.mark_uncertain(!quoted);
            }
            WordPiece::Arithmetic(names) => {
                self.arithmetic(names, state);
                draft.mark_uncertain(false);
            }
            WordPiece::Process(list) => {
                self.subshell(list, std::slice::from_ref(state), &StandardInput::Unknown);
                // A path such as `/dev/fd/63`: a single word, and never an option.
                draft.push("/dev/fd/");
                draft.mark_uncertain(false);
            }
        }
    }

    /// Names in arithmetic are evaluated repeatedly until the result is a number, so they must be numbers.
    fn arithmetic(&mut self, names: &[String], state: &ShellState) {
        for name in names {
            let is_number = match state.variable(name) {
                Some(Value::Number) => true,
                Some(Value::Text(text)) => !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit()),
                _ => false,
            };
            if !is_number {
                self.add_unknown(format!("arithmetic evaluates `{name}`, whose text is only known when it runs"));
            }
        }
    }

    fn variable(&mut self, name: &str, form: &Form, state: &ShellState) -> Value {
        let value = match (name, state.variable(name)) {
            (_, Some(value)) => value.clone(),
            ("HOME", None) => Value::Below(Base::Home, String::new()),
            ("PWD", None) => state.working_directory(),
            (_, None) => Value::Unknown,
        };
        match (form, value) {
            (Form::Plain, value) => value,
            (Form::Length, _) => Value::Number,
            (Form::Default(_), value @ (Value::Number | Value::Below(..))) => value,
            (Form::Default(default), Value::Text(text)) => Value::Text(if text.is_empty() { default.clone() } else { text }),
            (Form::Without { suffix, text: cut }, Value::Text(text)) => {
                let rest = if *suffix { text.strip_suffix(cut.as_str()) } else { text.strip_prefix(cut.as_str()) };
                Value::Text(rest.map_or_else(|| text.clone(), str::to_owned))
            }
            _ => Value::Unknown,
        }
    }

    fn finish(&mut self, draft: Draft, state: &ShellState, out: &mut Vec<Arg>) {
        if draft.ended {
            let start = if draft.base.is_some() { "/".to_owned() } else { draft.text };
            out.push(if draft.many || draft.has_wildcard { Arg::Many(start) } else { Arg::One(start) });
        } else if draft.has_wildcard {
            let literal_start = match draft.pattern.first() {
                Some(PatternPiece::Text(text)) => text.clone(),
                _ => String::new(),
            };
            match (!draft.uncertain_pattern).then(|| self.names(&draft.pattern, &draft.text, state)).flatten() {
                Some(names) => out.extend(names.into_iter().map(Arg::Known)),
                None => out.push(Arg::Many(if draft.base.is_some() { "/".to_owned() } else { literal_start })),
            }
        } else if let Some(base) = draft.base {
            out.push(
                path_below_base(base, draft.text).map_or_else(|| Arg::One("/".to_owned()), |(base, rest)| Arg::Below(base, rest)),
            );
        } else if draft.quoted || !draft.text.is_empty() {
            // Braces with an empty alternative may leave nothing; an empty quoted string is a word.
            out.push(Arg::Known(draft.text));
        }
    }
}

/// Text after a base is a path below the base only if it begins a new name.
fn path_below_base(base: Base, rest: String) -> Option<(Base, String)> {
    (rest.is_empty() || rest.starts_with('/')).then_some((base, rest))
}
