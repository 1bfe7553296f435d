//! Hooks: declared programs and prompts that run on events, within limits, and whose answers are fed back.
//!
//! `declaration` and `registry` say which hooks there are, `event` what can happen, `trust` whether a hook may run, `program`,
//! `interpreter` and `bundle` what that means, `owner` what an extension has to do with it, `schedule` when it runs, `components`
//! what is called instead of run. `claude` is about hooks that were written for Claude Code. [`Hooks`] puts them together. It
//! never waits and never starts anything: the host reports what happened, carries out commands, and moves the clock.

pub mod bundle;
pub mod claude;
pub mod components;
pub mod declaration;
mod engine;
pub mod event;
pub mod interpreter;
pub mod journal;
pub mod machine;
mod outcome;
pub mod owner;
pub mod program;
pub mod registry;
pub mod run;
pub mod schedule;
pub mod settings;
pub mod trust;

pub use engine::{Asker, Hooks, needs_approval};
