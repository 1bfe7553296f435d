//! The YAML of `active_intents.yaml`, taken apart with the place of everything in it.
//!
//! The parser tells places only in its errors. So a visitor that wants to know where a scalar stands fails on it: the parser
//! has then passed the scalar, puts the place in the error, and goes on with what follows when it is asked again. Lists and
//! maps cannot be left in the middle, so they are read to their end, and stand where the first scalar in them stands.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::nesting;
use super::place::{Place, Source};

/// The keys that the list of intents may stand under.
pub(super) const LISTS: [&str; 2] = ["active_intents", "intents"];

/// The list whose every item gets its place.
const LOCATED: &str = "owned_scope";

/// What all texts together may take, and each value by itself. Aliases can make a small file say a text a million times.
const MAX_BYTES: usize = 32 << 20;
const EACH_VALUE: usize = 64;

/// Lines that begin with a `%`.
const MAX_DIRECTIVES: usize = 100;

/// The parser keeps all values of the document at once, and needs some hundred bytes for each.
const MAX_VALUES: usize = 1 << 20;

/// One part of the document, in its order.
pub(super) enum Part {
    /// A key at the top.
    Key(Node),
    /// What stands where the list of intents belongs. Intents that were in it have been told one by one.
    List(Node),
    /// An item of that list.
    Entry(Node),
}

/// A value.
pub(super) struct Node {
    pub(super) place: Option<Place>,
    pub(super) found: Found,
}

/// What kind of value.
pub(super) enum Found {
    Nothing,
    Text(String),
    /// The items; none are kept where no list belongs.
    List(Vec<Node>),
    /// The fields; none are kept where no map belongs.
    Map(Vec<Field>),
}

/// A key and its value.
pub(super) struct Field {
    pub(super) key: Node,
    pub(super) value: Node,
}

impl Node {
    fn new(found: Found) -> Self {
        Self { place: None, found }
    }

    /// The text, where it is one.
    pub(super) fn text(&self) -> &str {
        if let Found::Text(text) = &self.found { text } else { "" }
    }
}

/// Tells every part, and gives back what the document is, or where and why it ends too early.
pub(super) fn walk(bytes: &[u8], tell: &mut dyn FnMut(Part)) -> Result<Node, (Place, String)> {
    let text = std::str::from_utf8(bytes).map_err(|fault| not_utf8(bytes, fault.valid_up_to()))?;
    if let Some(offset) = nesting::too_deep(text) {
        let place = text.get(..offset).map_or(Place::START, Place::behind);
        let why = "brackets stand too deep in brackets here; close them, or put text that holds them in quotes";
        return Err((place, why.to_owned()));
    }
    // The parser compares every directive with all before it, and nobody needs any here.
    if let Some((offset, _)) = text.match_indices("\n%").nth(MAX_DIRECTIVES) {
        let place = text.get(..=offset).map_or(Place::START, Place::behind);
        return Err((place, format!("there are more than {MAX_DIRECTIVES} directives such as `%TAG`; remove them")));
    }
    if values(bytes) > MAX_VALUES {
        return Err((Place::START, "this is more than can be kept; move closed intents elsewhere".to_owned()));
    }
    let mut walk = Walk { source: Source::new(text), raised: None, spent: 0, tell };
    let found = walk.visit(Level::Top).deserialize(serde_yaml::Deserializer::from_slice(bytes));
    walk.settle(found).map_err(|fault| no_yaml(text, &fault))
}

/// At least as many values as there are, counted by what stands between them. A list in a list takes two more to begin and end.
fn values(bytes: &[u8]) -> usize {
    let between = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r' | b',' | b':' | b'-' | b'?' | b'[' | b'{')).count();
    let nested = bytes.windows(3).filter(|three| matches!(three, [b'-' | b'?', b' ' | b'\t', b'-' | b'?'])).count();
    between + 2 * nested
}

fn not_utf8(bytes: &[u8], good: usize) -> (Place, String) {
    let before = bytes.get(..good).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    let byte = bytes.get(good).copied().unwrap_or_default();
    (Place::behind(before), format!("the byte 0x{byte:02X} is no UTF-8; save the file as UTF-8"))
}

fn no_yaml(text: &str, fault: &serde_yaml::Error) -> (Place, String) {
    let said = fault.to_string();
    if said.contains("more than one document") {
        // What looks like a second one may only be what stands behind a closing bracket.
        let second = serde_yaml::Deserializer::from_str(text).nth(1).map(IgnoredAny::deserialize);
        if let Some(Err(fault)) = second {
            return no_yaml(text, &fault);
        }
        let marker = text.lines().enumerate().filter(|(_, line)| line.starts_with("---")).last();
        let place = Place { line: small(marker.map_or(1, |(before, _)| before + 1)), column: 1 };
        return (place, "this is a second document; remove everything from here on".to_owned());
    }
    // The parser's reader counts bytes, and says so instead of a line.
    let offset = said.split_once(" at position ").and_then(|(_, bytes)| bytes.parse().ok());
    let place = match (offset, fault.location()) {
        (Some(bytes), _) => text.get(..bytes).map_or(Place::START, Place::behind),
        (None, Some(place)) => Place { line: small(place.line()), column: small(place.column()) },
        (None, None) => Place::START,
    };
    let why = said.replacen(&format!(" at line {} column {}", place.line, place.column), "", 1);
    (place, format!("the YAML cannot be read: {why}"))
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

struct Walk<'t> {
    source: Source<'t>,
    /// The scalar that a visitor failed on to learn its place, and whether the source says it better.
    raised: Option<(Found, bool)>,
    spent: usize,
    tell: &'t mut dyn FnMut(Part),
}

/// How deep in the document a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    List,
    Entry,
    Key,
    Value { located: bool },
    Item { located: bool },
}

impl<'t> Walk<'t> {
    fn visit(&mut self, level: Level) -> Visit<'_, 't> {
        Visit { walk: self, level }
    }

    /// Turns the error of a visitor that only wanted to know the place into what it found.
    fn settle<E: fmt::Display>(&mut self, found: Result<Node, E>) -> Result<Node, E> {
        let Err(fault) = found else { return found };
        let Some((mut found, is_number)) = self.raised.take() else { return Err(fault) };
        let place = Place::said_by(&fault.to_string());
        // A number is meant as it is written: `1.10` is another id than `1.1`.
        if is_number && let Some(written) = self.source.token(place) {
            found = Found::Text(written.to_owned());
        }
        Ok(Node { place: Some(place), found })
    }

    fn key<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<Option<Node>, A::Error> {
        let found = map.next_key_seed(self.visit(Level::Key));
        self.settle_some(found)
    }

    fn value<'de, A: MapAccess<'de>>(&mut self, map: &mut A, level: Level) -> Result<Node, A::Error> {
        let found = map.next_value_seed(self.visit(level));
        self.settle(found)
    }

    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A, level: Level) -> Result<Option<Node>, A::Error> {
        let found = list.next_element_seed(self.visit(level));
        self.settle_some(found)
    }

    fn settle_some<E: fmt::Display>(&mut self, found: Result<Option<Node>, E>) -> Result<Option<Node>, E> {
        match found {
            Ok(None) => Ok(None),
            Ok(Some(node)) => Ok(Some(node)),
            Err(fault) => self.settle(Err(fault)).map(Some),
        }
    }
}

/// Reads one value.
struct Visit<'w, 't> {
    walk: &'w mut Walk<'t>,
    level: Level,
}

impl Visit<'_, '_> {
    fn text<E: Error>(mut self, text: &str) -> Result<Node, E> {
        self.spend(text.len())?;
        let found = Found::Text(text.to_owned());
        if let Level::Value { .. } | Level::Item { located: false } = self.level {
            Ok(Node::new(found))
        } else {
            self.raise(found, false)
        }
    }

    fn number<E: Error>(mut self, number: &dyn fmt::Display) -> Result<Node, E> {
        self.spend(0)?;
        self.raise(Found::Text(number.to_string()), true)
    }

    fn raise<E: Error>(self, found: Found, is_number: bool) -> Result<Node, E> {
        self.walk.raised = Some((found, is_number));
        Err(E::custom(""))
    }

    fn spend<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.walk.spent += bytes + EACH_VALUE;
        if self.walk.spent > MAX_BYTES {
            return Err(E::custom("it says more than can be kept; use fewer aliases, or move closed intents elsewhere"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Visit<'_, '_> {
    type Value = Node;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Visit<'_, '_> {
    type Value = Node;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("text, a list or a map")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.text(text)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.number(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        self.number(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        self.number(&value)
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Node, E> {
        self.number(&value)
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Node, E> {
        self.number(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        self.number(&value)
    }

    fn visit_unit<E: Error>(mut self) -> Result<Node, E> {
        self.spend(0)?;
        if let Level::Entry | Level::Item { .. } = self.level {
            self.raise(Found::Nothing, false)
        } else {
            Ok(Node::new(Found::Nothing))
        }
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        self.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Node, A::Error> {
        self.spend(0)?;
        let mut place = None;
        let mut items = Vec::new();
        match self.level {
            Level::Top | Level::List => {
                while let Some(entry) = self.walk.item(&mut list, Level::Entry)? {
                    (self.walk.tell)(Part::Entry(entry));
                }
            }
            Level::Value { located } => {
                while let Some(item) = self.walk.item(&mut list, Level::Item { located })? {
                    items.push(item);
                }
            }
            Level::Entry | Level::Item { .. } => {
                place = self.walk.item(&mut list, Level::Key)?.and_then(|first| first.place);
                while list.next_element::<IgnoredAny>()?.is_some() {}
            }
            Level::Key => while list.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(Node { place, found: Found::List(items) })
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Node, A::Error> {
        self.spend(0)?;
        let mut place = None;
        let mut fields = Vec::new();
        // A key in a key could go on for ever.
        if self.level == Level::Key {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        }
        while let Some(key) = self.walk.key(&mut map)? {
            place = place.or(key.place);
            match self.level {
                Level::Top => {
                    let opens = LISTS.contains(&key.text());
                    (self.walk.tell)(Part::Key(key));
                    if opens {
                        let list = self.walk.value(&mut map, Level::List)?;
                        (self.walk.tell)(Part::List(list));
                        continue;
                    }
                }
                Level::Entry => {
                    let located = key.text() == LOCATED;
                    let value = self.walk.value(&mut map, Level::Value { located })?;
                    fields.push(Field { key, value });
                    continue;
                }
                Level::List | Level::Key | Level::Value { .. } | Level::Item { .. } => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(Node { place, found: Found::Map(fields) })
    }

    /// A tag of the writer's own says nothing to us; what it stands before counts.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        let (IgnoredAny, value) = tagged.variant()?;
        value.newtype_variant_seed(self)
    }
}
