//! Checks licences and sources of dependencies against `deny.toml`.
//!
//! cargo-deny itself is not available on a fresh machine and takes longer to build than everything it checks here. This reads the
//! same two sections of the same file, so that cargo-deny can be used where it is installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::{cargo, root};

/// npm packages without a licence in `package.json`, and the licence that their `LICENSE` and `README.md` state.
const NPM_LICENCES: &[(&str, &str)] = &[("node_modules/@bytecodealliance/componentize-js", "Apache-2.0 WITH LLVM-exception")];

/// Checks every crate and npm package in the lock files.
pub(crate) fn check() -> Result<()> {
    let rules: Rules = toml::from_str(&fs::read_to_string(root().join("deny.toml"))?).context("reading deny.toml")?;
    let mut packages = npm_packages()?;
    for manifest in manifests(root())? {
        packages.extend(crates(&manifest)?);
    }
    let faults: Result<Vec<Option<String>>> = packages.iter().map(|package| rules.fault(package)).collect();
    let faults: Vec<String> = faults?.into_iter().flatten().collect();
    ensure!(faults.is_empty(), "deny.toml does not allow:\n  {}", faults.join("\n  "));
    println!("licences and sources: {} packages, all allowed", packages.len());
    Ok(())
}

/// The parts of `deny.toml` that are checked.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licences,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: Vec<String>,
    exceptions: Vec<Exception>,
}

/// Additional licences for one crate.
#[derive(Debug, Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
    allow_git: Vec<String>,
}

impl Rules {
    /// The licences that are allowed for a package.
    fn allowed_licences(&self, package: &str) -> Result<Vec<LicenseReq>> {
        let exceptions = self.licenses.exceptions.iter().filter(|exception| exception.name == package);
        let mut allowed = Vec::new();
        for name in self.licenses.allow.iter().chain(exceptions.flat_map(|exception| &exception.allow)) {
            let licence = Expression::parse(name).with_context(|| format!("deny.toml: `{name}` is not a licence"))?;
            allowed.extend(licence.requirements().map(|requirement| requirement.req.clone()));
        }
        Ok(allowed)
    }

    /// Why a package is not allowed, if so.
    fn fault(&self, package: &Package) -> Result<Option<String>> {
        let Package { name, version, .. } = package;
        if let Some(source) = &package.source {
            let is_known = match source.split_once('+') {
                Some(("registry" | "sparse", url)) => self.sources.allow_registry.iter().any(|known| known == url),
                Some(("git", url)) => self.sources.allow_git.iter().any(|known| url.starts_with(known)),
                _ => false,
            };
            if !is_known {
                return Ok(Some(format!("{name} {version} from {source}")));
            }
        }
        let Some(licence) = &package.license else { return Ok(Some(format!("{name} {version} without a licence"))) };
        // Older packages write `MIT/Apache-2.0`.
        let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
            return Ok(Some(format!("{name} {version}, whose licence `{licence}` cannot be read")));
        };
        let allowed = self.allowed_licences(name)?;
        let is_allowed = expression.evaluate(|needed| allowed.contains(needed));
        Ok((!is_allowed).then(|| format!("{name} {version} under {licence}")))
    }
}

/// A dependency as `cargo metadata` or `package-lock.json` describes it.
#[derive(Debug, Deserialize)]
struct Package {
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
    license: Option<String>,
    /// `None` for members of this repository.
    source: Option<String>,
}

/// The manifests of all crates and workspaces that have a lock file.
fn manifests(repository: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![repository.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            if entry.file_type()?.is_dir() && ![".git", "target", "node_modules"].iter().any(|other| name == *other) {
                open.push(entry.path());
            } else if name == "Cargo.lock" {
                found.push(folder.join("Cargo.toml"));
            }
        }
    }
    found.sort();
    ensure!(found.contains(&repository.join("Cargo.toml")), "the repository's own lock file was not found");
    Ok(found)
}

fn crates(manifest: &Path) -> Result<Vec<Package>> {
    let name = manifest.display();
    let words =
        ["metadata", "--format-version=1", "--locked", "--offline", "--manifest-path", manifest.to_str().context("the path")?];
    let mut output = cargo(&words).output()?;
    if !output.status.success() {
        // A fresh machine has not downloaded the packages for other systems.
        ensure!(
            cargo(&["fetch", "--locked", "--manifest-path"]).arg(manifest).status()?.success(),
            "cargo fetch failed for {name}"
        );
        output = cargo(&words).output()?;
    }
    ensure!(output.status.success(), "cargo metadata for {name}: {}", String::from_utf8_lossy(&output.stderr));
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let Metadata { packages } = serde_json::from_slice(&output.stdout)?;
    if !packages.iter().any(|package| package.source.is_some()) {
        bail!("{name} has no dependencies; this check would pass anything");
    }
    Ok(packages)
}

/// The dependencies of the npm package. All of them come from the registry that npm is configured for.
fn npm_packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Lock {
        packages: BTreeMap<String, Package>,
    }
    let lock: Lock = serde_json::from_slice(&fs::read(root().join("npm-wrapper/package-lock.json"))?)?;
    ensure!(lock.packages.len() > 1, "package-lock.json names no package; this check would pass anything");
    let package = |(name, package): (String, Package)| {
        let known = NPM_LICENCES.iter().find(|(known, _)| *known == name).map(|(_, licence)| (*licence).to_owned());
        Package { license: package.license.or(known), name, ..package }
    };
    Ok(lock.packages.into_iter().map(package).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_dependency_passes() {
        check().unwrap();
    }

    #[test]
    fn only_what_is_on_the_lists_passes() {
        let rules: Rules = toml::from_str(&fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap();
        let crates_io = "registry+https://github.com/rust-lang/crates.io-index";
        for (license, source, passes) in [
            (Some("MIT"), None, true),
            (Some("MIT"), Some(crates_io), true),
            (Some("MIT/Apache-2.0"), Some(crates_io), true),
            (Some("MIT OR Apache-2.0 OR LGPL-2.1-or-later"), Some(crates_io), true),
            (Some("(MIT OR Apache-2.0) AND Unicode-3.0"), Some(crates_io), true),
            (Some("Apache-2.0 WITH LLVM-exception"), Some(crates_io), true),
            (Some("GPL-3.0-only"), Some(crates_io), false),
            (Some("MIT AND GPL-3.0-only"), Some(crates_io), false),
            (Some("MPL-2.0"), None, false),
            (Some("whatever"), Some(crates_io), false),
            (None, Some(crates_io), false),
            (Some("MIT"), Some("registry+https://example.org/index"), false),
            (Some("MIT"), Some("git+https://github.com/example/example?branch=main"), false),
        ] {
            let package = Package {
                name: "example".to_owned(),
                version: "1.0.0".to_owned(),
                license: license.map(str::to_owned),
                source: source.map(str::to_owned),
            };
            let fault = rules.fault(&package).unwrap();
            assert_eq!(fault.is_none(), passes, "{license:?} from {source:?}: {fault:?}");
        }
    }
}
