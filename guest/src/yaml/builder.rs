//! Builds the YAML tree from parser events.

use granit_parser::{Event, Parser, ScalarStyle, Tag, options};

use super::fault::YamlFault;
use super::mark::Mark;
use super::tree::{Content, Slot, Span, Tree};

/// The deepest nesting of lists and maps, including those that aliases refer to.
pub const MAX_DEPTH: usize = 64;

/// The largest tree: bytes of text, counting what an alias stands for each time it is used, plus 64 bytes for every value. A
/// small file with aliases of aliases can stand for terabytes.
pub const MAX_SIZE: usize = 32 << 20;

/// What each value counts for in addition to its text.
const VALUE_SIZE: usize = 64;

/// Bytes of text per value in an ordinary file, and the most values that memory is reserved for.
const USUAL_DENSITY: usize = 16;
const MAX_RESERVED: usize = 1 << 16;

/// Parses a document.
pub fn parse(bytes: &[u8]) -> Tree<'_> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(fault) => return Tree::new(Vec::new(), Some(YamlFault::not_utf8(bytes, fault.valid_up_to()))),
    };
    let mut builder =
        TreeBuilder { slots: Vec::with_capacity((text.len() / USUAL_DENSITY).min(MAX_RESERVED)), ..Default::default() };
    let fault = builder.read(text).err();
    builder.close_all();
    Tree::new(builder.slots, fault)
}

#[derive(Default)]
struct TreeBuilder<'t> {
    slots: Vec<Slot<'t>>,
    /// The lists and maps that are still open, from the outside in.
    open: Vec<Open>,
    /// In the order of the text. The parser numbers them in the same order, from 1.
    anchors: Vec<Anchor>,
    /// What counts towards [`MAX_SIZE`].
    size: usize,
}

struct Open {
    slot: u32,
    /// The index of its anchor, from 0.
    anchor: Option<usize>,
    /// The tree's size before it.
    size_before: usize,
    /// How deeply lists and maps are nested in it.
    height: usize,
}

/// A value with a name that aliases can refer to.
struct Anchor {
    slot: u32,
    size: usize,
    /// The nesting depth of lists and maps, including itself; `None` until its end is reached.
    height: Option<usize>,
}

impl<'t> TreeBuilder<'t> {
    fn read(&mut self, text: &'t str) -> Result<(), YamlFault> {
        let options = options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|fault| YamlFault::from(&fault))?;
            let mark = Mark::from(&span.start);
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(YamlFault::second_document(mark));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let content = if is_null(&text, style, tag.as_deref()) { Content::Null } else { Content::Text(text) };
                    let size = if let Content::Text(text) = &content { text.len() } else { 0 };
                    let size_before = self.size;
                    let slot = self.push(mark, content, size)?;
                    if anchor != 0 {
                        self.anchors.push(Anchor { slot, size: self.size - size_before, height: Some(0) });
                    }
                }
                Event::SequenceStart(_, anchor, _) => self.begin(mark, Content::List, anchor != 0)?,
                Event::MappingStart(_, anchor, _) => self.begin(mark, Content::Map, anchor != 0)?,
                Event::SequenceEnd | Event::MappingEnd => self.close(true),
                Event::Alias(anchor) => self.alias(mark, anchor)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn push(&mut self, mark: Mark, content: Content<'t>, size: usize) -> Result<u32, YamlFault> {
        self.size = self.size.saturating_add(size).saturating_add(VALUE_SIZE);
        let slot = u32::try_from(self.slots.len()).ok().filter(|_| self.size <= MAX_SIZE).ok_or(YamlFault::too_large(mark))?;
        self.slots.push(Slot { mark, content });
        Ok(slot)
    }

    fn begin(&mut self, mark: Mark, content: fn(Span) -> Content<'t>, has_anchor: bool) -> Result<(), YamlFault> {
        if self.open.len() == MAX_DEPTH {
            return Err(YamlFault::too_deep(mark));
        }
        let size_before = self.size;
        let slot = self.push(mark, content(Span { end: 0, is_whole: false }), 0)?;
        let anchor = has_anchor.then_some(self.anchors.len());
        if has_anchor {
            self.anchors.push(Anchor { slot, size: 0, height: None });
        }
        self.open.push(Open { slot, anchor, size_before, height: 0 });
        Ok(())
    }

    /// Ends the innermost list or map.
    fn close(&mut self, is_whole: bool) {
        let Some(open) = self.open.pop() else { return };
        let end = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        if let Some(Content::List(extent) | Content::Map(extent)) =
            self.slots.get_mut(open.slot as usize).map(|slot| &mut slot.content)
        {
            *extent = Span { end, is_whole };
        }
        let height = open.height + 1;
        if let Some(anchor) = open.anchor.and_then(|anchor| self.anchors.get_mut(anchor)) {
            (anchor.size, anchor.height) = (self.size - open.size_before, Some(height));
        }
        self.raise_open_height(height);
    }

    /// Closes the lists and maps that a fault left open.
    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close(false);
        }
    }

    fn raise_open_height(&mut self, height: usize) {
        if let Some(around) = self.open.last_mut() {
            around.height = around.height.max(height);
        }
    }

    fn alias(&mut self, mark: Mark, anchor: usize) -> Result<(), YamlFault> {
        let target = anchor.checked_sub(1).and_then(|anchor| self.anchors.get(anchor));
        let Some(Anchor { slot, size, height: Some(height) }) = target else { return Err(YamlFault::alias_in_itself(mark)) };
        let (slot, size, height) = (*slot, *size, *height);
        if self.open.len() + height > MAX_DEPTH {
            return Err(YamlFault::too_deep(mark));
        }
        self.raise_open_height(height);
        self.push(mark, Content::Alias(slot), size).map(drop)
    }
}

/// Whether a scalar is null. A custom tag has no influence; the value behind it counts.
fn is_null(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    match tag.and_then(Tag::core_suffix) {
        Some("null") => true,
        Some(_) => false,
        // A lone `!` makes any scalar text.
        None if tag.is_some_and(|tag| tag.suffix() == "!") => false,
        None => style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL"),
    }
}
