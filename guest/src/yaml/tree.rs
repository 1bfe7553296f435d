//! The tree of a document, in one vector.
//!
//! Every value has a slot, in the order of the text. The slots of a list or a map follow its own and end where it says, so
//! a tree takes one allocation, and an alias takes one slot however much it stands for.

use std::borrow::Cow;

use super::fault::YamlFault;
use super::mark::Mark;

/// A document, or as much of it as can be read.
#[derive(Debug)]
pub struct Tree<'t> {
    /// At least one.
    slots: Vec<Slot<'t>>,
    fault: Option<YamlFault>,
}

/// One value and its position.
#[derive(Debug)]
pub(super) struct Slot<'t> {
    pub(super) mark: Mark,
    pub(super) content: Content<'t>,
}

#[derive(Debug)]
pub(super) enum Content<'t> {
    Null,
    Text(Cow<'t, str>),
    List(Span),
    Map(Span),
    /// The slot that it stands for, which comes before this one and is not an alias itself.
    Alias(u32),
}

/// How far the slots of a list or a map go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The first slot that is not in it.
    pub(super) end: u32,
    /// False if the document's fault cut it short.
    pub(super) is_whole: bool,
}

/// A value in a document. What an alias stands for has the position of the alias.
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    slots: &'d [Slot<'d>],
    at: u32,
    /// The position of the outermost alias around it.
    alias: Option<Mark>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum NodeKind<'d> {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar. Numbers and truth values are text as well.
    Text(&'d str),
    /// A list.
    List(ListItems<'d>),
    /// A map.
    Map(MapFields<'d>),
}

/// The items of a list.
#[derive(Debug, Clone)]
pub struct ListItems<'d> {
    /// The next one.
    next: Node<'d>,
    end: u32,
}

/// The keys of a map with their values, in the order of the text; the same key may come twice.
#[derive(Debug, Clone)]
pub struct MapFields<'d>(ListItems<'d>);

impl<'t> Tree<'t> {
    pub(super) fn new(mut slots: Vec<Slot<'t>>, fault: Option<YamlFault>) -> Self {
        if slots.is_empty() {
            slots.push(Slot { mark: Mark::START, content: Content::Null });
        }
        Self { slots, fault }
    }

    /// What the document is; null where it is empty or broken from the start.
    pub fn root(&self) -> Node<'_> {
        Node { slots: &self.slots, at: 0, alias: None }
    }

    /// Why it could not be read to its end.
    pub fn fault(&self) -> Option<&YamlFault> {
        self.fault.as_ref()
    }
}

impl<'d> Node<'d> {
    /// Where it begins.
    pub fn mark(self) -> Mark {
        self.alias.or_else(|| self.slot().map(|slot| slot.mark)).unwrap_or(Mark::START)
    }

    /// What it is.
    pub fn kind(self) -> NodeKind<'d> {
        let node = self.resolve();
        let items = |extent: &Span| ListItems { next: Node { at: node.at + 1, ..node }, end: extent.end };
        match node.slot().map(|slot| &slot.content) {
            Some(Content::Text(text)) => NodeKind::Text(text),
            Some(Content::List(extent)) => NodeKind::List(items(extent)),
            Some(Content::Map(extent)) => NodeKind::Map(MapFields(items(extent))),
            Some(Content::Null | Content::Alias(_)) | None => NodeKind::Null,
        }
    }

    /// The text, if it is one.
    pub fn text(self) -> Option<&'d str> {
        match self.kind() {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it was read to its end: false for the list or map that the document's fault is in, and those around it.
    pub fn is_whole(self) -> bool {
        match self.resolve().slot().map(|slot| &slot.content) {
            Some(Content::List(extent) | Content::Map(extent)) => extent.is_whole,
            _ => true,
        }
    }

    fn slot(self) -> Option<&'d Slot<'d>> {
        self.slots.get(self.at as usize)
    }

    /// What an alias stands for.
    fn resolve(self) -> Self {
        match self.slot().map(|slot| &slot.content) {
            Some(Content::Alias(target)) => Self { at: *target, alias: Some(self.mark()), ..self },
            _ => self,
        }
    }

    /// The slot after it and everything in it.
    fn end(self) -> u32 {
        match self.slot().map(|slot| &slot.content) {
            Some(Content::List(extent) | Content::Map(extent)) => extent.end,
            _ => self.at + 1,
        }
    }
}

impl<'d> Iterator for ListItems<'d> {
    type Item = Node<'d>;

    fn next(&mut self) -> Option<Node<'d>> {
        let item = self.next;
        if item.at >= self.end {
            return None;
        }
        self.next.at = item.end();
        Some(item)
    }
}

impl<'d> Iterator for MapFields<'d> {
    type Item = (Node<'d>, Node<'d>);

    fn next(&mut self) -> Option<(Node<'d>, Node<'d>)> {
        Some((self.0.next()?, self.0.next()?))
    }
}
