//! Confinement: what a command may change, for the kernel to enforce.
//!
//! Reading a command before it runs is never complete. So a host runs shell commands confined (`tollgate confine`): everything
//! stays readable, and only what is granted here can be changed. This room says what that is; it opens nothing itself.
//!
//! | file | what |
//! | --- | --- |
//! | `grant.rs` | a path or a tree that may be changed, and why |
//! | `protected.rs` | what is never granted: control files, the user's own, the gate's state |
//! | `pattern.rs` | the patterns of a scope, taken apart |
//! | `opening.rs` | patterns become grants for what exists on disk |
//! | `build_folders.rs` | folders of the workspace that git ignores |
//! | `caches.rs`, `devices.rs` | what tools need outside the workspace |
//! | `repository.rs` | what git needs for a commit |
//! | `temporary.rs` | the session's own temporary folder |
//! | `expressible.rs` | whether grants let a command do what it is known to do |
//! | `confiner.rs` | the program that runs a command confined |
//! | `wrapping.rs` | the command line that runs a command confined |
//! | `refusal.rs` | a command that failed because the kernel said no |
//! | `answer.rs`, `evidence.rs` | what a host is told, and that a call really ran so |
//!
//! # What the kernel can say
//!
//! Landlock grants a file, or a folder with everything in it. It cannot make exceptions, and a folder in which new names may
//! be made lets everything in it be changed. So a scope is widened to the folder in which its files lie, and never to a folder with
//! a control file in it: of that only what is there already is granted, file by file and folder by folder. Where the system can
//! make exceptions (Seatbelt), grants carry them instead ([`Grant::except`]).

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
use crate::intents::guarded::Guarded;
use crate::intents::scope::Scope;
use crate::ports::Ports;
pub use answer::{RunDecision, RunPlan};
pub use confiner::{Confiner, is_confiner_name};
pub use expressible::{MissingGrant, is_reached, missing_grant};
pub use grant::{Grant, GrantKind, Grants, Repository};
use opening::Opening;
use protected::Protected;

/// What grants depend on.
pub struct Context<'a> {
    /// The session that the command runs for.
    pub session: &'a str,
    /// What its intent owns; nothing where it has none.
    pub scope: Option<&'a Scope>,
    /// The settings.
    pub settings: &'a Confinement,
    /// What is the user's own.
    pub guarded: &'a Guarded,
    /// What the session has made in temporary folders.
    pub scratch: &'a [String],
    /// What the command does, as far as it can be read.
    pub footprint: &'a Footprint,
    /// What the system can do.
    pub capability: Capability,
    /// The world.
    pub ports: &'a Ports,
}

/// What a command may change.
pub fn grants(context: &Context<'_>) -> Grants {
    let protected = Protected::new(context.guarded, context.ports);
    let mut opening = Opening::new(context.ports, protected, context.capability == Capability::Exceptions);
    // A session without an intent owns nothing, but what it may read may still want a temporary file.
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
