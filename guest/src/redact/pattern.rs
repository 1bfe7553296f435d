//! Secret patterns configured by users: parsed with the settings, compiled when there is text to search.
//!
//! The syntax is that of the `regex` crate: no look-around and no back-references, because those need more than linear time.
//! `\d`, `\s`, `\w` and `\b` are limited to ASCII: a letter such as `ä` before a key does not hide the edge of the key.
//!
//! Everything that any match covers is hidden. That is more than a search for successive matches finds: for `aba` in `ababa`, all
//! five characters are hidden.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::search::{Budget, Exhausted, Search};

/// The longest pattern, in bytes; a longer one is a mistake.
const MAX_BYTES: usize = 1_000;
/// The deepest nesting of groups.
const MAX_DEPTH: u32 = 40;
/// The largest size of a pattern with its repetitions expanded, in states of an automaton.
const MAX_SIZE: usize = 32_000;

/// A pattern that can be searched for. Clones share the automata.
#[derive(Debug, Clone)]
pub struct Pattern {
    tree: Rc<Hir>,
    size: usize,
    /// Built when the first text is searched: most processes end without searching one.
    search: Rc<OnceCell<Option<RefCell<Search>>>>,
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternFault(String);

impl fmt::Display for PatternFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Pattern {
    /// Parses a pattern.
    pub fn compile(text: &str) -> Result<Self, PatternFault> {
        if text.len() > MAX_BYTES {
            return Err(PatternFault(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let parsed = ast::parse::ParserBuilder::new().nest_limit(MAX_DEPTH).build().parse(text);
        let mut tree = parsed.map_err(|fault| explain(fault.kind().to_string(), text, fault.span()))?;
        keep_to_ascii(&mut tree)
            .map_err(|place| explain("Unicode classes are not supported; write out the characters".to_owned(), text, &place))?;
        let tree = Translator::new().translate(text, &tree);
        let tree = tree.map_err(|fault| explain(fault.kind().to_string(), text, fault.span()))?;
        let size = size_of(&tree);
        if size > MAX_SIZE {
            return Err(PatternFault(format!("its repetitions make it too large ({size} states, at most {MAX_SIZE})")));
        }
        Ok(Self { tree: Rc::new(tree), size, search: Rc::default() })
    }

    /// The size of the pattern once it is built, in states of an automaton.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether a match covers any part of a text; `None` if that cannot be determined within the budget.
    pub fn finds(&self, text: &str) -> Option<bool> {
        let (mut covered, mut budget) = (Vec::new(), Budget::new());
        budget.grant(text.len());
        self.cover(text, &mut covered, &mut budget).ok().map(|()| !covered.is_empty())
    }

    /// Adds everything that matches cover, as ranges of bytes.
    pub(super) fn cover(&self, text: &str, covered: &mut Vec<Range<usize>>, budget: &mut Budget) -> Result<(), Exhausted> {
        if text.is_empty() {
            return Ok(());
        }
        match self.search.get_or_init(|| Search::new(&self.tree).map(RefCell::new)) {
            Some(search) => search.borrow_mut().cover(text, covered, budget),
            // The pattern cannot be searched for, so no text is known to be free of it.
            None => Err(Exhausted),
        }
    }
}

/// A fault in the words of the library, with its position.
fn explain(why: String, text: &str, place: &ast::Span) -> PatternFault {
    let part = text.get(place.start.offset..place.end.offset).filter(|part| !part.is_empty() && part.len() <= 40);
    let part = part.map_or_else(String::new, |part| format!(" at `{part}`"));
    PatternFault(format!("{why}{part}, column {}", place.start.column))
}

/// Turns `\d`, `\s` and `\w` into ASCII classes, whose negations still match every other character, and `\b` into an ASCII word
/// boundary. `\<` and `\>` are literal characters, as an escaped punctuation character always is. An error is the place of a
/// class such as `\p{Greek}`, for which the tables are not included.
fn keep_to_ascii(tree: &mut Ast) -> Result<(), ast::Span> {
    match tree {
        Ast::ClassPerl(class) => {
            let item = ast::ClassSetItem::Ascii(ascii(class));
            let (span, kind) = (class.span, ast::ClassSet::Item(item));
            *tree = Ast::class_bracketed(ast::ClassBracketed { span, negated: false, kind });
        }
        Ast::ClassUnicode(class) => return Err(class.span),
        Ast::ClassBracketed(class) => keep_set_to_ascii(&mut class.kind)?,
        Ast::Assertion(edge) => *tree = on_ascii(edge),
        Ast::Repetition(repetition) => keep_to_ascii(&mut repetition.ast)?,
        Ast::Group(group) => keep_to_ascii(&mut group.ast)?,
        Ast::Alternation(parts) => parts.asts.iter_mut().try_for_each(keep_to_ascii)?,
        Ast::Concat(parts) => parts.asts.iter_mut().try_for_each(keep_to_ascii)?,
        Ast::Empty(_) | Ast::Flags(_) | Ast::Literal(_) | Ast::Dot(_) => {}
    }
    Ok(())
}

fn on_ascii(edge: &ast::Assertion) -> Ast {
    use ast::AssertionKind as Kind;
    let span = edge.span;
    let sign = |c| Ast::literal(ast::Literal { span, kind: ast::LiteralKind::Superfluous, c });
    match edge.kind {
        Kind::StartLine | Kind::EndLine | Kind::StartText | Kind::EndText => Ast::assertion(edge.clone()),
        Kind::WordBoundaryStartAngle => sign('<'),
        Kind::WordBoundaryEndAngle => sign('>'),
        _ => {
            let item = |kind| ast::FlagsItem { span, kind };
            let items = vec![item(ast::FlagsItemKind::Negation), item(ast::FlagsItemKind::Flag(ast::Flag::Unicode))];
            let kind = ast::GroupKind::NonCapturing(ast::Flags { span, items });
            Ast::group(ast::Group { span, kind, ast: Box::new(Ast::assertion(edge.clone())) })
        }
    }
}

fn keep_set_to_ascii(set: &mut ast::ClassSet) -> Result<(), ast::Span> {
    match set {
        ast::ClassSet::Item(item) => keep_item_to_ascii(item),
        ast::ClassSet::BinaryOp(both) => {
            keep_set_to_ascii(&mut both.lhs)?;
            keep_set_to_ascii(&mut both.rhs)
        }
    }
}

fn keep_item_to_ascii(item: &mut ast::ClassSetItem) -> Result<(), ast::Span> {
    match item {
        ast::ClassSetItem::Perl(class) => *item = ast::ClassSetItem::Ascii(ascii(class)),
        ast::ClassSetItem::Unicode(class) => return Err(class.span),
        ast::ClassSetItem::Bracketed(class) => keep_set_to_ascii(&mut class.kind)?,
        ast::ClassSetItem::Union(union) => union.items.iter_mut().try_for_each(keep_item_to_ascii)?,
        _ => {}
    }
    Ok(())
}

fn ascii(class: &ast::ClassPerl) -> ast::ClassAscii {
    let kind = match class.kind {
        ast::ClassPerlKind::Digit => ast::ClassAsciiKind::Digit,
        ast::ClassPerlKind::Space => ast::ClassAsciiKind::Space,
        ast::ClassPerlKind::Word => ast::ClassAsciiKind::Word,
    };
    ast::ClassAscii { span: class.span, kind, negated: class.negated }
}

/// An upper bound of the states of an automaton that a pattern needs, estimated from the pattern alone.
fn size_of(tree: &Hir) -> usize {
    // A non-ASCII character is a sequence of bytes, and a range of such characters takes up to nine states.
    let range = |is_ascii: bool| if is_ascii { 1 } else { 9 };
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().iter().map(|part| range(part.end().is_ascii())).sum(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Capture(group) => size_of(&group.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(size_of).fold(1, |sum, part| sum.saturating_add(part))
        }
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(repetition.min);
            size_of(&repetition.sub).saturating_add(1).saturating_mul(usize::try_from(copies).unwrap_or(usize::MAX))
        }
    }
}

#[cfg(test)]
mod tests;
