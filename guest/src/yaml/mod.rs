//! YAML as a tree in which every value has its line and column.
//!
//! [`parse`] never fails outright: a document that cannot be read to its end is kept up to there, together with the
//! [`YamlFault`] that ended it. Whatever the text, the work is linear in its length, and the tree that comes out is bounded: at
//! most [`MAX_DEPTH`] lists and maps inside each other, and at most [`MAX_SIZE`] with all its aliases written out. So
//! walking the tree is bounded as well.
//!
//! Scalars stay text as it is written, because `1.10` is not the same version as `1.1`. Only an empty value, `~` and `null` are
//! distinguished from text.
//!
//! The syntax is read by `granit-parser`, an event parser with positions and limits of its own. Its companion `serde-saphyr`
//! reads into types and ends at the first value of a wrong type; here every fault of a file is wanted at once.

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
