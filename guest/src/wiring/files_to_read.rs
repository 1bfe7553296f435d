//! Lists the files that a host should read before it plans or examines a wiring.

use std::collections::BTreeSet;

use super::layout::Layout;
use super::plan::{self, SettingsScope};
use super::receipt::Receipt;
use super::source::sources;
use crate::programs::Wiring;
use crate::programs::wiring::{Canary, SettingsPlace, TrustRule};

/// Runtimes that can run a trial's script, in the order in which programs prefer them.
pub const RUNTIMES: [&str; 2] = ["bun", "node"];

/// What a host should read and check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilesToRead {
    /// Files to read.
    pub files: BTreeSet<String>,
    /// Folders of which all files with one of these endings are to be read.
    pub folders: BTreeSet<(String, &'static [&'static str])>,
    /// Paths whose existence is to be checked.
    pub signs: BTreeSet<String>,
    /// Commands to look for on the search path.
    pub commands: BTreeSet<&'static str>,
}

/// The variables with which users can move the folders and files of programs.
pub fn variables<'a>(wirings: impl Iterator<Item = &'a Wiring>) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for wiring in wirings {
        let settings = wiring.settings.iter().map(|settings| settings.place);
        let others = wiring.signs.iter().copied().chain(wiring.servers).chain(wiring.trust.map(TrustRule::file));
        for place in settings.chain(others) {
            if let SettingsPlace::Own { variable, .. } = place {
                names.insert(variable);
            }
        }
        names.extend(wiring.trust.and_then(TrustRule::variable));
    }
    names
}

impl FilesToRead {
    /// What is relevant for these programs.
    pub fn for_wirings<'a>(wirings: impl Iterator<Item = &'a Wiring>, layout: &Layout) -> Self {
        let mut look = Self::default();
        for wiring in wirings {
            for source in sources(wiring, layout) {
                match source.content.endings() {
                    Some(endings) => drop(look.folders.insert((source.path, endings))),
                    None => drop(look.files.insert(source.path)),
                }
            }
            look.files.extend(trust_file(wiring, layout));
            for scope in [SettingsScope::Workspace, SettingsScope::User] {
                look.files.extend(plan::target(wiring, scope, layout));
            }
            look.files.extend(wiring.servers.and_then(|place| layout.path(place)));
            look.signs.extend(wiring.signs.iter().filter_map(|place| layout.path(*place)));
            look.commands.extend(wiring.commands);
            if let Canary::Script(_) = wiring.canary {
                look.commands.extend(RUNTIMES);
            }
        }
        look.files.insert(plan::intents_file(layout));
        let above: Vec<String> = look.files.iter().flat_map(|file| layout.folders_above(file)).map(str::to_owned).collect();
        look.signs.extend(above);
        look
    }

    /// What is relevant for undoing what a receipt lists.
    pub fn for_receipts(receipt: &Receipt, others: &[Receipt]) -> Self {
        let files = receipt.files.iter().map(|file| file.path.clone()).collect();
        let signs = others.iter().map(|other| other.workspace.clone()).collect();
        Self { files, signs, ..Self::default() }
    }
}

/// The file in which a program records what it trusts.
pub fn trust_file(wiring: &Wiring, layout: &Layout) -> Option<String> {
    let trust = wiring.trust?;
    let named = trust.variable().and_then(|variable| layout.variables.get(variable));
    named.cloned().or_else(|| layout.path(trust.file()))
}
