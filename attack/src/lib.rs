//! Attacks on the gate, as a test.
//!
//! Commands are generated from a large repertoire ([`generate`]) and checked by the native gate ([`judge`]). Allowed commands are
//! executed by a real shell in a temporary namespace without network ([`sandbox`], [`inside`]), and all changes in the workspace,
//! the home folder and a sibling folder are compared with what the gate reported ([`trial`]). A file outside the scope that
//! changed without being reported is a finding; it is shortened ([`shrink`]) and printed as a row for `attacks.jsonl`, the table
//! of attacks that must never work again.
//!
//! `cargo xtask fuzz` runs a campaign, `cargo xtask test` a small deterministic one.

#![cfg(unix)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod campaign;
pub mod case;
pub mod design;
pub mod dice;
pub mod generate;
pub mod grammar;
pub mod inside;
pub mod judge;
pub mod mutate;
#[path = "../../fixtures/ordinary.rs"]
mod ordinary;
pub mod sandbox;
pub mod shrink;
pub mod target;
pub mod tree;
pub mod trial;
pub mod world;
