//! Checks whether a command can do everything it is known to do within its grants.

use super::grant::Grants;
use super::repository;
use crate::effects::path::temporary_entry;
use crate::effects::{Effect, Extent, Footprint, Operation};

/// Why a command would stop half-way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingGrant {
    /// It runs git together with something else.
    Git,
    /// It creates or removes an entry of a folder that is not open.
    Name(String),
}

impl MissingGrant {
    /// The explanation for the model.
    pub fn reason(&self) -> String {
        match self {
            Self::Git => {
                "commands run confined, and git's own folder is open only to git; run `git` in a separate call".to_owned()
            }
            Self::Name(path) if temporary_entry(path).is_some() => format!(
                "commands run confined, and shared folders for temporary files accept no new entries from programs; put `{path}` \
                 into `$TMPDIR` instead, or create or remove it in a separate call, then run the rest"
            ),
            Self::Name(path) => format!(
                "commands run confined, and the folder of `{path}` accepts no new entries from programs, because control files are below \
                 it; create, move or remove `{path}` in a separate call, then run the rest"
            ),
        }
    }
}

fn changes(effects: &[Effect]) -> impl Iterator<Item = &Effect> {
    effects.iter().filter(|effect| effect.mutates() && effect.operation != Operation::Execute)
}

/// Why a command that is not fully understood could not even do what is known of it; `None` if it could.
pub fn missing_grant(effects: &[Effect], footprint: &Footprint, grants: &Grants) -> Option<MissingGrant> {
    let is_open = |effect: &&Effect| {
        let path = effect.location.as_str();
        match (effect.extent, effect.operation) {
            (Extent::Listed, _) => true,
            (Extent::Itself, Operation::Create | Operation::Modify) => grants.reaches(path),
            (Extent::Tree, Operation::Create | Operation::Modify) => grants.opens_all(path),
            _ => grants.opens(path),
        }
    };
    if let Some(effect) = changes(effects).find(|effect| !is_open(effect)) {
        return Some(MissingGrant::Name(effect.location.as_str().to_owned()));
    }
    let is_closed = repository::runs_git(footprint) && !repository::runs_only_git(footprint) && !grants.opens_repository();
    is_closed.then_some(MissingGrant::Git)
}

/// Whether everything that a command changes is in folders that are open, so that it does not matter how it makes the changes.
pub fn is_reached(effects: &[Effect], grants: &Grants) -> bool {
    changes(effects).all(|effect| match effect.extent {
        Extent::Tree => grants.opens_all(effect.location.as_str()),
        _ => grants.opens(effect.location.as_str()),
    })
}
