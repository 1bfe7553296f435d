//! Appends entries to the ledger.

use super::PATH;
use super::chain;
use super::checkpoint::{self, LedgerEnd};
use super::entry::Entry;
use crate::digest::Digest;
use crate::json;
use crate::ports::{FileFault, Ports, Root, Tail};

/// Maximum size of one write, so that the next writer's window reaches beyond it.
const MAX_AT_ONCE: usize = 24 << 10;

/// How often a line is appended again if it landed after a torn one.
const MAX_TIMES: usize = 4;

/// Enters entries. Their lines are added to `lines` as they are entered, even if that ends half-way. Returns a notice about the
/// ledger itself, if there is one.
pub fn enter(entries: &[Entry], lines: &mut Vec<String>, ports: &Ports) -> Result<Option<String>, FileFault> {
    let end = enter_unchecked(entries, lines, ports)?;
    Ok(end.and_then(|end| checkpoint::advance(&end, ports)))
}

/// Enters entries and returns the end of the ledger afterwards; `None` if there was nothing to enter.
pub(super) fn enter_unchecked(entries: &[Entry], lines: &mut Vec<String>, ports: &Ports) -> Result<Option<LedgerEnd>, FileFault> {
    let mut last = None;
    while lines.len() < entries.len() {
        let seen = LedgerEnd::read(ports)?;
        let mut batch: Vec<String> = Vec::new();
        let mut length = 0;
        for entry in entries.iter().skip(lines.len()) {
            let mut entry = entry.clone();
            match batch.last() {
                None => entry.saw = Some(seen.end.heads.clone()),
                Some(before) => entry.follows = Some(Digest::of(before.as_bytes())),
            }
            let line = json::line(&entry);
            length += line.len();
            if length > MAX_AT_ONCE && !batch.is_empty() {
                break;
            }
            batch.push(line);
        }
        match append(&batch, seen, ports) {
            Ok(end) => last = Some(end),
            Err(fault) => {
                // If a write ran out of space, its first lines may have been written.
                lines.extend(appended_lines(batch, ports));
                return Err(fault);
            }
        }
        lines.append(&mut batch);
    }
    Ok(last)
}

fn appended_lines(batch: Vec<String>, ports: &Ports) -> Vec<String> {
    let length: usize = batch.iter().map(|line| line.len() + 1).sum();
    let tail = end_of_file(length as u64 + chain::READ, ports).unwrap_or(Tail { offset: 0, bytes: Vec::new() });
    let mut whole: Vec<&[u8]> = tail.bytes.split(|byte| *byte == b'\n').collect();
    // The last one has no end yet.
    whole.pop();
    batch.into_iter().take_while(|line| whole.contains(&line.as_bytes())).collect()
}

/// Appends one line of another kind, linked like an entry; `make` is given the heads.
pub fn enter_line(make: impl FnOnce(&[Digest]) -> String, ports: &Ports) -> Result<String, FileFault> {
    let seen = LedgerEnd::read(ports)?;
    let batch = [make(&seen.end.heads)];
    let end = append(&batch, seen, ports)?;
    checkpoint::advance(&end, ports);
    let [line] = batch;
    Ok(line)
}

/// Appends lines in one write. A writer that was stopped may have left a line without an end, before our read or after it, and
/// what looks like one may be a write under way. So nothing is put between, but the first line is entered again if it ended up
/// after something torn. What is not on a line of its own is not entered. Returns the end of the ledger afterwards.
fn append(batch: &[String], seen: LedgerEnd, ports: &Ports) -> Result<LedgerEnd, FileFault> {
    let mut text = String::new();
    for line in batch {
        text.push_str(line);
        text.push('\n');
    }
    let mut end = seen;
    let Some(first) = batch.first() else { return Ok(end) };
    for _ in 0..MAX_TIMES {
        ports.records.append(Root::Project, PATH, text.as_bytes())?;
        end = end.read_again(text.len() as u64, ports)?;
        if !follows_torn_line(first, &end.tail) {
            break;
        }
        text = format!("{first}\n");
    }
    Ok(end)
}

fn follows_torn_line(line: &str, tail: &Tail) -> bool {
    let mut found = false;
    for whole in tail.bytes.split(|byte| *byte == b'\n') {
        if whole == line.as_bytes() {
            return false;
        }
        found |= whole.ends_with(line.as_bytes());
    }
    found
}

/// The last bytes of the ledger; empty if there is none.
pub(super) fn end_of_file(length: u64, ports: &Ports) -> Result<Tail, FileFault> {
    match ports.workspace.read_tail(Root::Project, PATH, length) {
        Err(FileFault::Missing) => Ok(Tail { offset: 0, bytes: Vec::new() }),
        read => read,
    }
}
