//! What a host should look at before it asks what to change or how things are.

use std::collections::BTreeSet;

use super::ground::Ground;
use super::plan::{self, Scope};
use super::receipt::Receipt;
use super::source::sources;
use crate::programs::Wiring;
use crate::programs::wiring::{Canary, Place, Trust};

/// Runtimes that can run a trial's script, the one that programs prefer first.
pub const RUNTIMES: [&str; 2] = ["bun", "node"];

/// What a host should look at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Files to read.
    pub files: BTreeSet<String>,
    /// Folders whose files with one of the endings are to be read.
    pub folders: BTreeSet<(String, &'static [&'static str])>,
    /// Paths of which it matters whether they exist.
    pub signs: BTreeSet<String>,
    /// Commands of which it matters whether they are on the search path.
    pub commands: BTreeSet<&'static str>,
}

/// The variables in which programs name folders and files of their own.
pub fn variables<'a>(wirings: impl Iterator<Item = &'a Wiring>) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for wiring in wirings {
        let settings = wiring.settings.iter().map(|settings| &settings.place);
        for place in settings.chain(wiring.signs).chain(&wiring.servers) {
            if let Place::Own { variable, .. } = place {
                names.insert(*variable);
            }
        }
        match wiring.trust {
            Some(Trust::Folders { variable, .. }) => drop(names.insert(variable)),
            Some(Trust::Hooks { file: Place::Own { variable, .. }, .. }) => drop(names.insert(variable)),
            _ => {}
        }
    }
    names
}

impl Look {
    /// What matters for these programs.
    pub fn at<'a>(wirings: impl Iterator<Item = &'a Wiring>, ground: &Ground) -> Self {
        let mut look = Self::default();
        for wiring in wirings {
            for source in sources(wiring, ground) {
                match source.holds.endings() {
                    Some(endings) => drop(look.folders.insert((source.path, endings))),
                    None => drop(look.files.insert(source.path)),
                }
            }
            look.files.extend(trust_file(wiring, ground));
            for scope in [Scope::Workspace, Scope::User] {
                look.files.extend(plan::target(wiring, scope, ground));
            }
            look.files.extend(wiring.servers.and_then(|place| ground.path(place)));
            look.signs.extend(wiring.signs.iter().filter_map(|place| ground.path(*place)));
            look.commands.extend(wiring.commands);
            if let Canary::Script(_) = wiring.canary {
                look.commands.extend(RUNTIMES);
            }
        }
        look.files.insert(plan::intents_file(ground));
        let above: Vec<String> = look.files.iter().flat_map(|file| ground.folders_above(file)).map(str::to_owned).collect();
        look.signs.extend(above);
        look
    }

    /// What matters for taking back what was done.
    pub fn at_receipts(receipt: &Receipt, others: &[Receipt]) -> Self {
        let files = receipt.files.iter().map(|file| file.path.clone()).collect();
        let signs = others.iter().map(|other| other.workspace.clone()).collect();
        Self { files, signs, ..Self::default() }
    }
}

/// The file in which a program keeps whom it trusts.
pub fn trust_file(wiring: &Wiring, ground: &Ground) -> Option<String> {
    match wiring.trust? {
        Trust::Hooks { file, .. } => ground.path(file),
        Trust::Folders { file, variable, .. } => ground.variables.get(variable).cloned().or_else(|| ground.path(file)),
    }
}
