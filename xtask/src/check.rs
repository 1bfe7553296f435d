//! `cargo xtask check`: what can be said of the project without running it.

use std::fs;
use std::io::Write as _;

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use wasmparser::{Parser, Payload};

use crate::build;
use crate::contract;
use crate::docs;
use crate::house::{cargo, command, component, house, run, target};
use crate::licences;
use crate::module_order;
use crate::npm;

/// The component's size as it is: what every host maps and Node reads once per process. Speed decides what it is built for (see
/// the profile `component` in `Cargo.toml`); the limit is there so that growth is noticed and gets a reason.
const MAX_BYTES: usize = 4_000_000;
/// Its size compressed: what the npm package adds to a download.
const MAX_BYTES_COMPRESSED: usize = 1_500_000;

/// Everything that the component may import, whatever the patch release of WASI. The names below `wasi:cli` and `wasi:io`
/// come with Rust's standard library; no host gives them anything to do.
const ALLOWED_IMPORTS: &[&str] = &[
    "tollgate:hooks/log",
    "tollgate:hooks/records",
    "tollgate:hooks/types",
    "tollgate:hooks/workspace",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// Format, links, order of modules, licences, contract, lints, docs, fuzz targets, types, imports and size.
pub(crate) fn check() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    for apart in ["fuzz/Cargo.toml", "guest/oracle/Cargo.toml"] {
        run(&mut cargo(&["fmt", "--check", "--manifest-path", apart]))?;
    }
    docs::check()?;
    module_order::check()?;
    licences::check()?;
    contract::check()?;
    build::build()?;
    // The release profile, because what it takes is built already.
    run(&mut cargo(&[
        "clippy",
        "--release",
        "--locked",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "--deny",
        "warnings",
    ]))?;
    run(cargo(&["doc", "--release", "--locked", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))?;
    // The targets compile without the fuzzer, which cargo-fuzz links with a nightly compiler.
    run(cargo(&["check", "--locked", "--no-default-features", "--manifest-path", "fuzz/Cargo.toml"])
        .arg("--target-dir")
        .arg(target().join("fuzz")))?;
    npm::install()?;
    run(command("npm", &["run", "--silent", "check"]).current_dir(house().join("npm-wrapper")))?;
    let bytes = fs::read(component())?;
    imports(&bytes)?;
    size(&bytes)
}

fn imports(component: &[u8]) -> Result<()> {
    let mut depth = 0;
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    found.push(import?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    ensure!(!found.is_empty(), "no import was found; this check would pass anything");
    for name in &found {
        let interface = name.split('@').next().unwrap_or(name);
        ensure!(ALLOWED_IMPORTS.contains(&interface), "the component imports `{name}`, which no host lends");
    }
    println!("imports: {} interfaces, all allowed", found.len());
    Ok(())
}

fn size(component: &[u8]) -> Result<()> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(component)?;
    let compressed = compressed.finish()?.len();
    println!("size: {} bytes, {compressed} compressed", component.len());
    ensure!(component.len() <= MAX_BYTES, "the component is larger than {MAX_BYTES} bytes");
    ensure!(compressed <= MAX_BYTES_COMPRESSED, "the compressed component is larger than {MAX_BYTES_COMPRESSED} bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that imports something of this name, and nothing else.
    fn importing(name: &str) -> Vec<u8> {
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        // The header; a section of imports with one in it; its name; that it is a resource.
        let mut bytes = vec![0, b'a', b's', b'm', 0x0d, 0, 1, 0, 10, length + 5, 1, 0, length];
        bytes.extend(name.as_bytes());
        bytes.extend([3, 1]);
        bytes
    }

    #[test]
    fn only_what_hosts_lend_may_be_imported() {
        for (name, is_allowed) in [
            ("tollgate:hooks/workspace@0.2.0", true),
            ("wasi:clocks/wall-clock@0.2.9", true),
            ("wasi:filesystem/types@0.2.0", false),
            ("wasi:sockets/tcp@0.2.0", false),
            ("wasi:http/outgoing-handler@0.2.0", false),
        ] {
            let checked = imports(&importing(name));
            assert_eq!(checked.is_ok(), is_allowed, "{name}: {checked:?}");
        }
    }

    #[test]
    fn a_component_beyond_the_budget_is_refused() {
        assert!(size(&[0; 100]).is_ok());
        assert!(size(&vec![0; MAX_BYTES + 1]).is_err());
    }
}
