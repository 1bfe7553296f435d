//! Intents: what a workspace declares, which one a session works for, and what it owns.

pub mod context;
pub mod control;
mod date;
pub mod diagnosis;
mod field;
pub mod file;
mod files;
pub mod guarded;
pub mod intent;
mod kept;
mod reading;
pub mod scope;
pub mod selection;
