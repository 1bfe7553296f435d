//! What happened: one line per changed file in `.orchestration/agent_trace.jsonl`, appended and never rewritten.

pub mod entry;
pub mod line_ranges;
pub mod mutation;
pub mod pending;

use crate::ports::{FileFault, Ports, Root};
use entry::Entry;

/// Where the ledger stands.
pub const PATH: &str = ".orchestration/agent_trace.jsonl";

/// Enters lines in one write and returns them as they were entered.
pub fn enter(entries: &[Entry], ports: &Ports) -> Result<Vec<String>, FileFault> {
    let lines: Result<Vec<_>, _> = entries.iter().map(serde_json::to_string).collect();
    let lines = lines.map_err(|_| FileFault::Other)?;
    if !lines.is_empty() {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        ports.records.append(Root::Project, PATH, text.as_bytes())?;
    }
    Ok(lines)
}
