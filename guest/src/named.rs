//! Things kept by name.
//!
//! Every kind of `BTreeMap` takes up to ten kilobytes of the component. So there is one kind, from names to numbers, and
//! everything else is built on it.

use std::collections::BTreeMap;

/// Values by name.
#[derive(Debug, Clone)]
pub(crate) struct Named<V> {
    places: BTreeMap<String, usize>,
    values: Vec<Option<V>>,
    /// Places whose value was taken away.
    free: Vec<usize>,
}

impl<V> Default for Named<V> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), values: Vec::new(), free: Vec::new() }
    }
}

impl<V: PartialEq> PartialEq for Named<V> {
    fn eq(&self, other: &Self) -> bool {
        self.places.len() == other.places.len() && self.iter().zip(other.iter()).all(|(mine, theirs)| mine == theirs)
    }
}

impl<V> Named<V> {
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.values.get(*self.places.get(name)?)?.as_ref()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Puts a value in the place of whatever has the name.
    pub(crate) fn insert(&mut self, name: &str, value: V) {
        let place = place(&mut self.places, &mut self.free, name, self.values.len());
        match self.values.get_mut(place) {
            Some(old) => *old = Some(value),
            None => self.values.push(Some(value)),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(place) = self.places.remove(name) {
            if let Some(value) = self.values.get_mut(place) {
                *value = None;
            }
            self.free.push(place);
        }
    }

    /// By name, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.places.iter().filter_map(|(name, place)| Some((name.as_str(), self.values.get(*place)?.as_ref()?)))
    }

    /// Shows all of them, in order, for changing.
    pub(crate) fn each(&mut self, change: &mut dyn FnMut(&str, &mut V)) {
        for (name, place) in &self.places {
            if let Some(Some(value)) = self.values.get_mut(*place) {
                change(name, value);
            }
        }
    }
}

/// Where a name's value stands or is to stand; `end` is the first place that was never used.
fn place(places: &mut BTreeMap<String, usize>, free: &mut Vec<usize>, name: &str, end: usize) -> usize {
    if let Some(place) = places.get(name) {
        return *place;
    }
    let place = free.pop().unwrap_or(end);
    places.insert(name.to_owned(), place);
    place
}

/// Names, each with the kinds it was seen in. A kind is a number below 32.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen(BTreeMap<String, usize>);

impl Seen {
    /// False where the name was seen in this kind before.
    pub(crate) fn insert(&mut self, name: &str, kind: u32) -> bool {
        match self.0.get_mut(name) {
            Some(kinds) => {
                let before = *kinds;
                *kinds |= 1 << kind;
                before != *kinds
            }
            None => self.0.insert(name.to_owned(), 1 << kind).is_none(),
        }
    }

    pub(crate) fn remove(&mut self, name: &str, kind: u32) {
        if let Some(kinds) = self.0.get_mut(name) {
            *kinds &= !(1 << kind);
            if *kinds == 0 {
                self.0.remove(name);
            }
        }
    }

    /// Whether the name was seen in any kind.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// In order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, Seen};

    #[test]
    fn values_come_and_go() {
        let mut named = Named::default();
        for (name, value) in [("b", 1), ("a", 2), ("c", 3), ("b", 4)] {
            named.insert(name, value);
        }
        assert_eq!(named.iter().collect::<Vec<_>>(), [("a", &2), ("b", &4), ("c", &3)]);
        named.remove("b");
        named.remove("b");
        assert_eq!((named.get("b"), named.contains("b")), (None, false));
        named.insert("d", 5);
        assert_eq!(named.values.len(), 3, "a free place is used again");
        named.each(&mut |name, value| *value += name.len());
        assert_eq!(named.iter().collect::<Vec<_>>(), [("a", &3), ("c", &4), ("d", &6)]);
        let mut other = Named::default();
        for (name, value) in [("d", 6), ("c", 4), ("a", 3)] {
            assert!(named != other);
            other.insert(name, value);
        }
        assert!(named == other, "whatever the order they came in");
    }

    #[test]
    fn names_are_seen_in_kinds() {
        let mut seen = Seen::default();
        for (name, kind, new) in [("b", 0, true), ("b", 0, false), ("b", 31, true), ("a", 31, true), ("b", 31, false)] {
            assert_eq!(seen.insert(name, kind), new, "{name} {kind}");
        }
        assert_eq!(seen.names().collect::<Vec<_>>(), ["a", "b"]);
        seen.remove("b", 0);
        assert!(seen.contains("b"));
        assert!(seen.insert("b", 0));
        seen.remove("a", 31);
        assert!(!seen.contains("a"));
    }
}
