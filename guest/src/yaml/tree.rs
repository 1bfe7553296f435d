//! The tree of a document, in one vector.
//!
//! Every value has a slot, in the order of the text. The slots of the values in a list or a map directly follow the slot of that
//! list or map, which says where they end. So a tree takes one allocation, and an alias takes one slot however much it stands
//! for.

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
    /// The slot that the alias stands for, which comes before this one and is not an alias itself.
    Alias(u32),
}

/// How far the slots of a list or a map go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The first slot after it.
    pub(super) end: u32,
    /// False if the document's fault cut it short.
    pub(super) is_whole: bool,
}

/// A value in a document. A value reached through an alias has the position of the alias.
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    slots: &'d [Slot<'d>],
    at: u32,
    /// The position of the outermost alias through which it was reached.
    alias: Option<Mark>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum NodeKind<'d> {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar. Numbers and booleans are text as well.
    Text(&'d str),
    /// A list.
    List(ListItems<'d>),
    /// A map.
    Map(MapFields<'d>),
}

/// The items of a list.
#[derive(Debug, Clone)]
pub struct ListItems<'d> {
    /// The next item.
    next: Node<'d>,
    end: u32,
}

/// The keys of a map with their values, in the order of the text; the same key may occur twice.
#[derive(Debug, Clone)]
pub struct MapFields<'d>(ListItems<'d>);

impl<'t> Tree<'t> {
    pub(super) fn new(mut slots: Vec<Slot<'t>>, fault: Option<YamlFault>) -> Self {
        if slots.is_empty() {
            slots.push(Slot { mark: Mark::START, content: Content::Null });
        }
        Self { slots, fault }
    }

    /// The document's root value; null if the document is empty or broken from the start.
    pub fn root(&self) -> Node<'_> {
        Node { slots: &self.slots, at: 0, alias: None }
    }

    /// Why the document could not be read to its end.
    pub fn fault(&self) -> Option<&YamlFault> {
        self.fault.as_ref()
    }
}

impl<'d> Node<'d> {
    /// The position where it begins.
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

    /// The text, if it is a scalar other than null.
    pub fn text(self) -> Option<&'d str> {
        match self.kind() {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it was read to its end: false for the list or map in which the document's fault is, and for those around it.
    pub fn is_whole(self) -> bool {
        match self.resolve().slot().map(|slot| &slot.content) {
            Some(Content::List(extent) | Content::Map(extent)) => extent.is_whole,
            _ => true,
        }
    }

    fn slot(self) -> Option<&'d Slot<'d>> {
        self.slots.get(self.at as usize)
    }

    /// Follows an alias to the value that it stands for.
    fn resolve(self) -> Self {
        match self.slot().map(|slot| &slot.content) {
            Some(Content::Alias(target)) => Self { at: *target, alias: Some(self.mark()), ..self },
            _ => self,
        }
    }

    /// The first slot after the value and everything in it.
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
