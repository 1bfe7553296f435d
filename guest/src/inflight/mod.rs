//! Calls in flight: everything the gate keeps about calls that have been allowed and are not yet settled.
//!
//! | module | what it keeps |
//! | --- | --- |
//! | [`pending`] | one allowed call, until it is settled |
//! | [`lease`] | which session is writing a file at the moment |
//! | [`seen`] | the content that a session last saw of a file |
//! | [`snapshot`], [`git_index`] | the workspace before a call whose effects cannot be foreseen |
//! | [`late`] | calls whose programs may keep running after the call has ended |
//! | [`rulings`] | how a session's latest calls ended |

pub mod git_index;
pub mod late;
pub mod lease;
pub mod pending;
pub mod rulings;
pub mod seen;
pub mod snapshot;
