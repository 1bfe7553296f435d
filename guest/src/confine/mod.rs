//! Confinement: what a command may change, for the kernel to enforce.
//!
//! Analysing a command before it runs is never complete. So a host runs shell commands confined (`tollgate confine`): everything
//! stays readable, and only what is granted here can be changed. This module computes the grants; it does not apply them.
//!
//! | file | what |
//! | --- | --- |
//! | `grant.rs` | a path or a folder that may be changed, and why |
//! | `protected.rs` | what is never granted: control files, guarded places of the user, the gate's state |
//! | `pattern.rs` | the patterns of a scope, split into a folder and the names after it |
//! | `opening.rs` | turns patterns into grants for what exists on disk |
//! | `build_folders.rs` | folders of the workspace that git ignores |
//! | `caches.rs`, `devices.rs` | what tools need outside the workspace |
//! | `repository.rs` | what git needs for a commit |
//! | `temporary.rs` | the session's own temporary folder |
//! | `expressible.rs` | whether grants let a command do what it is known to do |
//! | `confiner.rs` | the program that runs a command confined |
//! | `wrapping.rs` | the command line that runs a command confined |
//! | `refusal.rs` | recognises a command that failed because the kernel denied something |
//! | `answer.rs`, `evidence.rs` | the answer to a host, and the evidence that a call ran accordingly |
//!
//! # What the kernel can express
//!
//! Landlock grants a file, or a folder with everything in it. It has no exceptions, and a folder in which new names may be
//! created lets everything in it be changed. So a scope is widened to the folder that contains its files, but never to a folder
//! with a control file in it: there, only what already exists is granted, file by file and folder by folder. Where the system
//! supports exceptions (Seatbelt), grants carry them instead ([`Grant::except`]).

mod answer;
mod build_folders;
mod caches;
mod confiner;
mod devices;
pub mod evidence;
mod expressible;
mod grant;
mod opening;
mod pattern;
pub mod permit;
mod protected;
pub mod refusal;
mod repository;
pub mod temporary;
#[cfg(test)]
mod tests;
pub mod wrapping;

use crate::config::confine::{Capability, Confinement};
use crate::effects::Footprint;
use crate::intents::guarded::GuardedFiles;
use crate::intents::scope::Scope;
use crate::ports::Ports;
pub use answer::{RunDecision, RunPlan};
pub use confiner::{Confiner, is_confiner_name};
pub use expressible::{MissingGrant, is_reached, missing_grant};
pub use grant::{Grant, GrantKind, Grants, Repository};
use opening::GrantCollector;
use protected::Protected;

/// What the grants depend on.
pub struct Context<'a> {
    /// The session that the command runs for.
    pub session: &'a str,
    /// What its intent owns; `None` if it has no intent.
    pub scope: Option<&'a Scope>,
    /// The settings.
    pub settings: &'a Confinement,
    /// What is guarded as the user's own.
    pub guarded: &'a GuardedFiles,
    /// What the session has created in temporary folders.
    pub scratch: &'a [String],
    /// What the command does, as far as it can be analysed.
    pub footprint: &'a Footprint,
    /// What the system can enforce.
    pub capability: Capability,
    /// Access to the outside world.
    pub ports: &'a Ports,
}

/// Computes what a command may change.
pub fn grants(context: &Context<'_>) -> Grants {
    let protected = Protected::new(context.guarded, context.ports);
    let mut opening = GrantCollector::new(context.ports, protected, context.capability == Capability::Exceptions);
    // A session without an intent owns nothing, but even a command that only reads may need a temporary file.
    if let Some(scope) = context.scope {
        opening.open_patterns(scope.usable(), "the intent owns it", context.footprint);
        let writable = Scope::compile(context.settings.patterns.clone());
        for fault in writable.faults() {
            opening.note(format!("`confine.writable`: {fault}"));
        }
        opening.open_patterns(writable.usable(), "`confine.writable` names it", context.footprint);
        build_folders::open(&mut opening, context);
        repository::open(&mut opening, context);
    }
    temporary::open(&mut opening, context);
    opening.open_known_files(context);
    if context.settings.caches {
        caches::open(&mut opening, context);
    }
    for place in &context.settings.places {
        opening.open_place(place, "`confine.writable` names it");
    }
    devices::open(&mut opening);
    opening.finish()
}
