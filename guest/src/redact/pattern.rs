//! Secret patterns that people configure: parsed with the settings, compiled when there is text to search.
//!
//! The syntax is that of the `regex` crate: no look-around and no references back to a group, because those take more than linear
//! time. `\d`, `\s`, `\w` and `\b` know ASCII alone: a letter such as `ä` before a key does not hide the edge of the key.
//!
//! Hidden is whatever any match covers. That is more than a search finds that takes one match after the other: of `aba` in
//! `ababa` all five characters are hidden.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::search::{Budget, Exhausted, Search};

/// Longer patterns are a mistake.
const MAX_BYTES: usize = 1_000;
/// Groups in groups.
const MAX_DEPTH: u32 = 40;
/// How large a pattern may become when its repetitions are written out, in states of an automaton.
const MAX_SIZE: usize = 32_000;

/// A pattern, ready to be looked for. A clone shares what was built.
#[derive(Debug, Clone)]
pub struct Pattern {
    tree: Rc<Hir>,
    size: usize,
    /// Built at the first text: most processes end without having had one to search.
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
    /// Reads a pattern.
    pub fn compile(text: &str) -> Result<Self, PatternFault> {
        if text.len() > MAX_BYTES {
            return Err(PatternFault(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let parsed = ast::parse::ParserBuilder::new().nest_limit(MAX_DEPTH).build().parse(text);
        let mut tree = parsed.map_err(|fault| explain(fault.kind().to_string(), text, fault.span()))?;
        keep_to_ascii(&mut tree)
            .map_err(|place| explain("Unicode classes are not supported, write the characters".to_owned(), text, &place))?;
        let tree = Translator::new().translate(text, &tree);
        let tree = tree.map_err(|fault| explain(fault.kind().to_string(), text, fault.span()))?;
        let size = size_of(&tree);
        if size > MAX_SIZE {
            return Err(PatternFault(format!("its repetitions make it too large ({size} states, at most {MAX_SIZE})")));
        }
        Ok(Self { tree: Rc::new(tree), size, search: Rc::default() })
    }

    /// How large it is once it is built, in states of an automaton.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether a match covers anything of a text; none where that cannot be told within the budget.
    pub fn finds(&self, text: &str) -> Option<bool> {
        let (mut covered, mut budget) = (Vec::new(), Budget::new());
        budget.grant(text.len());
        self.cover(text, &mut covered, &mut budget).ok().map(|()| !covered.is_empty())
    }

    /// Adds everything that a match covers, as ranges of bytes.
    pub(super) fn cover(&self, text: &str, covered: &mut Vec<Range<usize>>, budget: &mut Budget) -> Result<(), Exhausted> {
        if text.is_empty() {
            return Ok(());
        }
        match self.search.get_or_init(|| Search::new(&self.tree).map(RefCell::new)) {
            Some(search) => search.borrow_mut().cover(text, covered, budget),
            // It cannot be searched for, so nothing is known to be free of it.
            None => Err(Exhausted),
        }
    }
}

/// A fault in the library's words, with the place.
fn explain(why: String, text: &str, place: &ast::Span) -> PatternFault {
    let part = text.get(place.start.offset..place.end.offset).filter(|part| !part.is_empty() && part.len() <= 40);
    let part = part.map_or_else(String::new, |part| format!(" at `{part}`"));
    PatternFault(format!("{why}{part}, column {}", place.start.column))
}

/// `\d`, `\s` and `\w` become the ASCII classes, in which the negated ones still hold every other character; `\b` becomes the edge
/// of an ASCII word. `\<` and `\>` are the characters, as a sign behind a `\` always is. Returns a class such as `\p{Greek}`, for which
/// the tables are not there.
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

/// How many states of an automaton a pattern needs at most, told from the pattern alone.
fn size_of(tree: &Hir) -> usize {
    // A character beyond ASCII is a sequence of bytes, and a range of them up to nine.
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
