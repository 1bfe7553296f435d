//! The log of runs, `.tollgate/logs/hooks.log`: one JSON object per line; the previous log is kept as `hooks.log.1`.
//!
//! A write may have been cut off, so each begins with a line break; empty lines mean nothing.

use serde_json::Value;

use crate::digest::Digest;
use crate::json;
use crate::ports::{Expectation, FileFault, Ports, Question, Root};

/// Path of the log.
pub const PATH: &str = ".tollgate/logs/hooks.log";
const BEFORE: &str = ".tollgate/logs/hooks.log.1";
const IGNORE: &str = ".tollgate/logs/.gitignore";

/// Maximum size of a log; a longer one is rotated.
const MAX_BYTES: u64 = 1 << 20;

/// Appends lines in one write. A log that cannot be written stops nothing.
pub fn write(lines: &str, ports: &Ports) {
    let lines = format!("\n{lines}");
    let facts = ports.workspace.inspect(&[Question::project(PATH)]);
    let size = facts.first().map_or(0, |facts| facts.size);
    if size == 0 {
        let _ = ports.records.replace(Root::Project, IGNORE, b"*\n", Expectation::Absent);
    } else if size + lines.len() as u64 > MAX_BYTES {
        rotate(ports);
    }
    if let Err(fault) = ports.records.append(Root::Project, PATH, lines.as_bytes()) {
        ports.warn(&format!("`{PATH}` cannot be written, so runs of hooks are not in it: {fault}"));
    }
}

/// Rotates the log. If another process wrote to it meanwhile, it stays, and the next writer tries again.
fn rotate(ports: &Ports) {
    let Ok(full) = ports.workspace.read(Root::Project, PATH, 16 * MAX_BYTES) else {
        // Tollgate itself never lets it grow this long.
        let _ = ports.records.replace(Root::Project, PATH, b"", Expectation::Anything);
        return;
    };
    // Another process has just rotated it.
    if (full.len() as u64) < MAX_BYTES / 2 {
        return;
    }
    if ports.records.replace(Root::Project, BEFORE, &full, Expectation::Anything).is_ok() {
        let _ = ports.records.replace(Root::Project, PATH, b"", Expectation::Digest(Digest::of(&full)));
    }
}

/// The newest runs, of one hook or of all.
pub fn newest(hook: Option<&str>, limit: usize, ports: &Ports) -> Result<Vec<Value>, FileFault> {
    let mut found = Vec::new();
    for path in [PATH, BEFORE] {
        let text = match ports.workspace.read_tail(Root::Project, path, 2 * MAX_BYTES) {
            Err(FileFault::Missing) => continue,
            tail => tail?.bytes,
        };
        for line in text.split(|byte| *byte == b'\n').rev().filter(|line| !line.is_empty()) {
            if found.len() == limit {
                return Ok(found);
            }
            if let Ok(record) = serde_json::from_slice::<Value>(line)
                && hook.is_none_or(|hook| json::text(&record, "hook") == Some(hook))
            {
                found.push(record);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    #[test]
    fn the_line_after_one_that_was_cut_off_is_not_lost() {
        let world = Memory::new();
        let ports = world.ports();
        write("{\"hook\":\"one\"}\n", &ports);
        ports.records.append(Root::Project, PATH, b"\n{\"hook\":\"tw").unwrap();
        write("{\"hook\":\"three\"}\n{\"hook\":\"four\"}\n", &ports);
        let hooks: Vec<Value> = newest(None, 10, &ports).unwrap().into_iter().map(|run| run["hook"].clone()).collect();
        assert_eq!(hooks, ["four", "three", "one"]);
    }
}
