//! Archives a large ledger without breaking the chain.
//!
//! The host renames the file, which takes nothing from writers: a process that opened the file before appends to its end, one
//! that opens it afterwards begins a new file. Then a line in the new ledger names the old file with its digest, and from there
//! on it is part of what the chain protects. Such a line looks like this:
//! `{"archive":{"file":"agent_trace-0001.jsonl","bytes":…,"sha256":"sha256:…"},"timestamp":…,"saw":[…]}`.

use serde::{Deserialize, Serialize};

use super::{ARCHIVE, PATH, writing};
use crate::digest::Digest;
use crate::json;
use crate::ports::{FileFault, FileKind, ListingLimits, Ports, Question, Root};

/// Maximum number of parts that are looked for.
const MAX_PARTS: u32 = 10_000;

/// An archived part of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// Its name in the archive.
    pub file: String,
    /// Its length at that time.
    pub bytes: u64,
    /// The digest of that content.
    pub sha256: Digest,
}

/// A line that names a part.
#[derive(Deserialize)]
struct ArchiveLine {
    archive: Archived,
}

/// The part that a line names.
pub fn archived_part(line: &[u8]) -> Option<Archived> {
    if !line.starts_with(b"{\"archive\":") {
        return None;
    }
    let ArchiveLine { archive } = json::parse(line).ok()?;
    (!archive.file.contains(['/', '\\'])).then_some(archive)
}

/// The names of all parts there are, oldest first.
pub fn names(ports: &Ports) -> Vec<String> {
    let reach = ListingLimits { depth: 1, limit: MAX_PARTS, skip: Vec::new() };
    let listing = ports.workspace.list(Root::Project, ARCHIVE, &reach).map(|listing| listing.entries).unwrap_or_default();
    let is_part = |name: &String| name.starts_with("agent_trace-") && name.ends_with(".jsonl");
    listing.into_iter().filter(|entry| entry.kind == FileKind::File).map(|entry| entry.path).filter(is_part).collect()
}

/// The name of the next part.
pub fn next_name(ports: &Ports) -> String {
    let number = |name: &String| name.strip_prefix("agent_trace-")?.strip_suffix(".jsonl")?.parse::<u32>().ok();
    let last = names(ports).iter().filter_map(number).max().unwrap_or(0);
    format!("agent_trace-{:04}.jsonl", last + 1)
}

/// The parts that no line of the ledger names: the process that archived them was stopped before it wrote the line.
pub fn unlinked_parts(ports: &Ports) -> Vec<String> {
    let named = linked_parts(ports);
    names(ports).into_iter().filter(|name| !named.contains(name)).collect()
}

/// Adds lines to the ledger that name those parts.
pub fn link_parts(ports: &Ports) -> Result<Vec<String>, FileFault> {
    let mut tied = Vec::new();
    for name in unlinked_parts(ports) {
        let question = Question { root: Root::Project, path: format!("{ARCHIVE}/{name}"), digest: true };
        let facts = ports.workspace.inspect(&[question]).pop();
        let Some((sha256, bytes)) = facts.and_then(|facts| Some((facts.digest?, facts.size))) else {
            return Err(FileFault::Other);
        };
        let archived = Archived { file: name.clone(), bytes, sha256 };
        let timestamp = ports.clock.now().to_string();
        writing::enter_line(
            |heads| serde_json::json!({"archive": archived, "timestamp": timestamp, "saw": heads}).to_string(),
            ports,
        )?;
        tied.push(name);
    }
    Ok(tied)
}

/// The parts that a line names. Such a line is among the first of its file: it is written when the part before is archived.
fn linked_parts(ports: &Ports) -> Vec<String> {
    const FAR_ENOUGH: u64 = 1 << 20;
    let mut files = vec![PATH.to_owned()];
    files.extend(names(ports).into_iter().map(|name| format!("{ARCHIVE}/{name}")));
    let mut named = Vec::new();
    for file in files {
        let first = ports.workspace.read_range(Root::Project, &file, 0, FAR_ENOUGH).unwrap_or_default();
        // If the line was forgotten then, it was added later.
        let last = ports.workspace.read_tail(Root::Project, &file, FAR_ENOUGH).map(|tail| tail.bytes).unwrap_or_default();
        for bytes in [first, last] {
            named.extend(bytes.split(|byte| *byte == b'\n').filter_map(archived_part).map(|archived| archived.file));
        }
    }
    named
}
