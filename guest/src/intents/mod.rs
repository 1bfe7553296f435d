//! What the work is for: the intents of a workspace, which one a session works for, and what it owns.

pub mod context;
pub mod control;
pub mod file;
pub mod intent;
pub mod lease;
pub mod scope;
pub mod seen;
pub mod selection;
