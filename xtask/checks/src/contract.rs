//! Checks the contract: released versions do not change, and components built against them still run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use wit_parser::{Resolve, UnresolvedPackageGroup, WorldId};

use crate::root;

/// The world that a gate implements.
const WORLD: &str = "plugin";

/// A version that no release has, so that the current contract can be compared with a release of the same version.
const PRESENT: &str = "999.0.0";

/// Compares the contract with its frozen copies.
pub(crate) fn check() -> Result<()> {
    let wit = root().join("wit");
    let now = texts(&wit)?;
    let version = version(&now)?;
    let frozen = texts(&wit.join("released").join(version)).with_context(|| {
        format!("wit/released/{version} is missing: a new version of the contract is frozen when it is released")
    })?;
    for name in now.keys().chain(frozen.keys()) {
        if now.get(name) != frozen.get(name) {
            bail!("wit/{name} is not what was released as {version}: give the contract a new version, and freeze that");
        }
    }
    let mut compared = 0;
    for entry in fs::read_dir(wit.join("released"))? {
        let folder = entry?.path();
        let released = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        compare(&texts(&folder)?, &now, version)
            .with_context(|| format!("a component built against {released} would no longer run"))?;
        compared += 1;
    }
    println!("contract: {} files as released in {version}; components of {compared} released versions still run", now.len());
    Ok(())
}

/// Whether a component built against one version runs in a host of the other.
fn compare(released: &BTreeMap<String, String>, now: &BTreeMap<String, String>, version: &str) -> Result<()> {
    let mut resolve = Resolve::default();
    let before = world(&mut resolve, released, None)?;
    let after = world(&mut resolve, now, Some(version))?;
    wit_component::semver_check(resolve, before, after)
}

fn world(resolve: &mut Resolve, texts: &BTreeMap<String, String>, renamed: Option<&str>) -> Result<WorldId> {
    let mut sources = wit_parser::SourceMap::default();
    for (name, text) in texts {
        let text = match renamed {
            Some(version) => text.replacen(&format!("tollgate:hooks@{version}"), &format!("tollgate:hooks@{PRESENT}"), 1),
            None => text.clone(),
        };
        sources.push_str(name, text);
    }
    let group: UnresolvedPackageGroup = sources.parse().map_err(|(_, fault)| anyhow::anyhow!("{fault}"))?;
    let package = resolve.push_group(group)?;
    resolve.select_world(&[package], Some(WORLD))
}

fn version(texts: &BTreeMap<String, String>) -> Result<&str> {
    let worlds = texts.get("worlds.wit").context("wit/worlds.wit is missing")?;
    let version = worlds.split_once("tollgate:hooks@").and_then(|(_, rest)| rest.split_once(';')).map(|(version, _)| version);
    version.context("wit/worlds.wit does not name the package's version")
}

fn texts(folder: &Path) -> Result<BTreeMap<String, String>> {
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
        let now = texts(&root().join("wit")).unwrap();
        let version = version(&now).unwrap();
        compare(&now, &now, version).unwrap();
        for (file, before, after) in [
            ("types.wit", "        reason: string,\n", "        reason: string,\n        more: string,\n"),
            ("records.wit", "append: func(root: root, path: string,", "append: func(root: root, path: u32,"),
            ("operations.wit", "longest-line: func() -> u64", "longest-line: func() -> u32"),
        ] {
            let mut changed = now.clone();
            let text = changed.get_mut(file).unwrap();
            assert!(text.contains(before), "{file}");
            *text = text.replacen(before, after, 1);
            assert!(compare(&now, &changed, version).is_err(), "{file}: {after}");
        }
    }
}
