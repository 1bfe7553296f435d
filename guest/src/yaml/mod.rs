//! YAML as a tree in which every value has its line and column.
//!
//! [`parse`] never fails outright: if a document cannot be read to its end, everything up to that point is kept, together with
//! the [`YamlFault`] that ended it. For any text, the work is linear in its length, and the resulting tree is bounded: at most
//! [`MAX_DEPTH`] nested lists and maps, and at most [`MAX_SIZE`] with all aliases expanded. So walking the tree is bounded as
//! well.
//!
//! Scalars are kept as text exactly as written, because `1.10` is not the same version as `1.1`. Only an empty value, `~` and
//! `null` are distinguished from text.
//!
//! The syntax is read by `granit-parser`, an event parser with positions and limits of its own. Its companion `serde-saphyr`
//! deserializes into types and stops at the first value of a wrong type; here, all faults of a file are wanted at once.

mod builder;
mod fault;
mod mark;
mod tree;

#[cfg(test)]
mod tests;

pub use builder::{MAX_DEPTH, MAX_SIZE, parse};
pub use fault::YamlFault;
pub use mark::Mark;
pub use tree::{ListItems, MapFields, Node, NodeKind, Tree};
