//! Checks the contract: released versions do not change, and components built against them still run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use wit_parser::{Resolve, UnresolvedPackageGroup, WorldId};

use crate::root;

/// A version that no release has, so that the current contract can be compared with a release of the same version.
const PRESENT: &str = "999.0.0";

/// A contract: its folder, the name of its package, and the world whose components must keep running.
struct Contract {
    folder: &'static str,
    package: &'static str,
    world: &'static str,
}

/// The gate's own contract, and the one that third parties implement.
const CONTRACTS: [Contract; 2] = [
    Contract { folder: "wit", package: "tollgate:hooks", world: "plugin" },
    Contract { folder: "wit/hook", package: "tollgate:hook", world: "hook" },
];

/// Compares the contracts with their frozen copies.
pub(crate) fn check() -> Result<()> {
    CONTRACTS.iter().try_for_each(Contract::check)
}

impl Contract {
    fn check(&self) -> Result<()> {
        let Self { folder, package, .. } = self;
        let wit = root().join(folder);
        let now = read_wit_files(&wit)?;
        let version = self.version(&now)?;
        let frozen = read_wit_files(&wit.join("released").join(version)).with_context(|| {
            format!("{folder}/released/{version} is missing: a new version of the contract is frozen when it is released")
        })?;
        for name in now.keys().chain(frozen.keys()) {
            if now.get(name) != frozen.get(name) {
                bail!("{folder}/{name} is not what was released as {version}: give the contract a new version, and freeze that");
            }
        }
        let mut compared = 0;
        for entry in fs::read_dir(wit.join("released"))? {
            let released_folder = entry?.path();
            let released = released_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.compare(&read_wit_files(&released_folder)?, &now, version)
                .with_context(|| format!("a component built against {package}@{released} would no longer run"))?;
            compared += 1;
        }
        println!(
            "contract {package}: {} files as released in {version}; components of {compared} released versions go on running",
            now.len()
        );
        Ok(())
    }

    /// Whether a component built against the one runs in a host of the other.
    fn compare(&self, released: &BTreeMap<String, String>, now: &BTreeMap<String, String>, version: &str) -> Result<()> {
        let mut resolve = Resolve::default();
        let before = self.parse_world(&mut resolve, released, None)?;
        let after = self.parse_world(&mut resolve, now, Some(version))?;
        wit_component::semver_check(resolve, before, after)
    }

    fn parse_world(&self, resolve: &mut Resolve, texts: &BTreeMap<String, String>, renamed: Option<&str>) -> Result<WorldId> {
        let package = self.package;
        let mut sources = wit_parser::SourceMap::default();
        for (name, text) in texts {
            let text = match renamed {
                Some(version) => text.replacen(&format!("{package}@{version}"), &format!("{package}@{PRESENT}"), 1),
                None => text.clone(),
            };
            sources.push_str(name, text);
        }
        let group: UnresolvedPackageGroup = sources.parse().map_err(|(_, fault)| anyhow::anyhow!("{fault}"))?;
        let package = resolve.push_group(group)?;
        resolve.select_world(&[package], Some(self.world))
    }

    fn version<'t>(&self, texts: &'t BTreeMap<String, String>) -> Result<&'t str> {
        let named = format!("package {}@", self.package);
        let version = texts.values().find_map(|text| Some(text.split_once(&named)?.1.split_once(';')?.0));
        version.with_context(|| format!("no file of {} names the package's version", self.folder))
    }
}

fn read_wit_files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wit") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            texts.insert(name, fs::read_to_string(&path)?);
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_breaks_components_is_noticed() {
        let [gate, hook] = &CONTRACTS;
        for (contract, file, before, after) in [
            (gate, "types.wit", "        reason: string,\n", "        reason: string,\n        more: string,\n"),
            (gate, "records.wit", "append: func(root: root, path: string,", "append: func(root: root, path: u32,"),
            (gate, "operations.wit", "longest-line: func() -> u64", "longest-line: func() -> u32"),
            (hook, "hook.wit", "        reason: string,\n", "        reason: string,\n        more: string,\n"),
            (hook, "hook.wit", "        deny,\n", "        deny,\n        %allow,\n"),
        ] {
            let now = read_wit_files(&root().join(contract.folder)).unwrap();
            let version = contract.version(&now).unwrap();
            contract.compare(&now, &now, version).unwrap();
            let mut changed = now.clone();
            let text = changed.get_mut(file).unwrap();
            assert!(text.contains(before), "{file}");
            *text = text.replacen(before, after, 1);
            assert!(contract.compare(&now, &changed, version).is_err(), "{file}: {after}");
        }
    }
}
