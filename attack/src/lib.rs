//! Attacks on the gate, kept as a test.
//!
//! Commands are composed from a large repertoire ([`generate`]) and judged by the gate natively ([`judge`]). What is allowed is
//! really run, by a real shell in a throw-away namespace without network ([`sandbox`], [`inside`]), and everything that
//! changed in the workspace, the home folder and a folder beside it is compared with what the gate said ([`trial`]). A file
//! outside the scope that changed without a word is a finding; it is made short ([`shrink`]) and printed as a row for
//! `attacks.jsonl`, the table of attacks that must never work again.
//!
//! `cargo xtask fuzz` runs a campaign, `cargo xtask test` a small one that is always the same.

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
