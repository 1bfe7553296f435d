//! Checks the built component: what it imports, and its size.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use wasmparser::{Parser, Payload};

/// The size limit of the uncompressed component, which every host maps and Node reads once per process. Speed decides how it is
/// built (see the profile `component` in `Cargo.toml`): built for size, it is 0.6 MB smaller, but checks take 3 to 7 percent
/// longer. The limit makes sure that growth is noticed and has a reason; connections to MCP servers take 180 KB, hooks of third
/// parties 160 KB.
const MAX_BYTES: usize = 4_300_000;
/// The size limit of the compressed component: what it adds to a download of the npm package.
const MAX_BYTES_COMPRESSED: usize = 1_650_000;

/// Everything that the component may import, in any patch release of WASI. Rust's standard library brings the imports below
/// `wasi:cli` and `wasi:io`; no host implements them.
const ALLOWED_IMPORTS: &[&str] = &[
    "tollgate:hooks/environment",
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

/// Checks the component in a file.
pub(crate) fn check(path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("reading {}; build it first", path.display()))?;
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
        ensure!(ALLOWED_IMPORTS.contains(&interface), "the component imports `{name}`, which no host provides");
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

    /// A component with a single import of this name.
    fn component_importing(name: &str) -> Vec<u8> {
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        // The header; an import section with one import; its name; its type, a resource.
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
            let checked = imports(&component_importing(name));
            assert_eq!(checked.is_ok(), is_allowed, "{name}: {checked:?}");
        }
    }

    #[test]
    fn a_component_beyond_the_budget_is_refused() {
        assert!(size(&[0; 100]).is_ok());
        assert!(size(&vec![0; MAX_BYTES + 1]).is_err());
    }
}
