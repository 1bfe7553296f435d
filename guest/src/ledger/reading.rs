//! Reads entries, newest first, without reading the whole file.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::PATH;
use super::entry::Entry;
use crate::glob::Glob;
use crate::json;
use crate::ports::{Facts, FileFault, FileKind, Ports, Root};

/// Number of bytes read at a time.
const CHUNK: u64 = 64 << 10;

/// After this many entries in a row that are too old, the rest counts as too old as well. Clocks and writers are not exactly in
/// step.
const OLD_ENOUGH: usize = 16;

/// Maximum length of a line; a longer one is not an entry of ours.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// Which entries are wanted; a field that is `None` accepts all.
#[derive(Debug, Default)]
pub struct Filter {
    /// Entries of this intent.
    pub intent: Option<String>,
    /// Entries about these files.
    pub file: Option<Files>,
    /// Entries of this session.
    pub session: Option<String>,
    /// Entries not before this; timestamps are compared as text, so that a day or an hour will do.
    pub since: Option<String>,
    /// Entries not after this; a day means to its end.
    pub until: Option<String>,
}

/// Files that entries are about: one, those in a folder, or those that match a glob.
#[derive(Debug)]
pub struct Files {
    written: String,
    glob: Option<Glob>,
}

impl Files {
    /// Accepts whatever a person may write.
    pub fn new(written: &str) -> Self {
        let written = written.strip_prefix("./").unwrap_or(written).trim_end_matches('/').to_owned();
        Self { glob: Glob::compile(&written).ok(), written }
    }

    fn has(&self, path: &str) -> bool {
        let below = path.strip_prefix(&*self.written).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below || self.glob.as_ref().is_some_and(|glob| glob.matches(path))
    }
}

impl Filter {
    /// A filter for the entries of an intent.
    pub fn of_intent(intent: &str) -> Self {
        Self { intent: Some(intent.to_owned()), ..Self::default() }
    }

    /// Whether a line may contain an entry that is wanted: finding out for certain costs a hundred times more.
    fn may_take(&self, line: &[u8]) -> bool {
        let file = self.file.as_ref().filter(|files| files.glob.is_none()).map(|files| &files.written);
        let Ok(line) = std::str::from_utf8(line) else { return true };
        let is_plain = |text: &&String| !text.contains(['"', '\\']) && !text.contains(char::is_control);
        [&self.intent, &self.session, &file.cloned()].into_iter().flatten().filter(is_plain).all(|text| line.contains(&**text))
    }

    fn is_too_old(&self, entry: &Entry) -> bool {
        self.since.as_ref().is_some_and(|since| *entry.timestamp < **since)
    }

    /// Whether an entry is wanted.
    pub fn takes(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|wanted| found == Some(wanted));
        is(&self.intent, entry.intent_id.as_ref().map(|id| id.as_str()))
            && is(&self.session, Some(&entry.session_id))
            && self.file.as_ref().is_none_or(|files| entry.path().is_some_and(|path| files.has(path)))
            && self.since.as_ref().is_none_or(|since| *entry.timestamp >= **since)
            && self.until.as_ref().is_none_or(|until| {
                let begun: String = entry.timestamp.chars().take(until.chars().count()).collect();
                begun <= *until
            })
    }
}

/// Where the ledger ended at some moment. It only grows, so what was entered since comes after that, unless it was archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerPosition {
    /// The identity of the file; see [`Facts::identity`].
    identity: u64,
    /// The length of the file.
    bytes: u64,
}

impl LedgerPosition {
    /// The end of the ledger, given what the host saw of it; `None` if the host cannot tell files apart.
    pub fn of(ledger: &Facts) -> Option<Self> {
        let is_known = ledger.kind == FileKind::File && ledger.identity != 0;
        is_known.then_some(Self { identity: ledger.identity, bytes: ledger.size })
    }

    /// The entries between this position and the end of the ledger, if it was still the same file at a later position and they are
    /// within the budget.
    pub fn entries_since(&self, later: Self, filter: &Filter, budget: u64, ports: &Ports) -> Option<Vec<Entry>> {
        if later.identity != self.identity || later.bytes < self.bytes {
            return None;
        }
        let (entries, more) = read_from(PATH, filter, self.bytes, budget, ports).ok()?;
        more.is_none().then_some(entries)
    }
}

/// A part of the ledger, read backwards.
#[derive(Debug, Default)]
pub struct Page {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// Where the next older page ends; `None` if there is nothing older.
    pub before: Option<u64>,
    /// The beginnings of lines that are not entries.
    pub foreign: Vec<String>,
}

/// The newest entries that a filter takes, from before an offset, looking at no more than `budget` bytes.
pub fn newest(filter: &Filter, limit: usize, before: Option<u64>, budget: u64, ports: &Ports) -> Result<Page, FileFault> {
    let mut end = match before {
        Some(before) => before,
        None => match ports.workspace.read_tail(Root::Project, PATH, 0) {
            Ok(tail) => tail.offset,
            Err(FileFault::Missing) => return Ok(Page::default()),
            Err(fault) => return Err(fault),
        },
    };
    let floor = end.saturating_sub(budget);
    let mut entries = VecDeque::new();
    let mut page = Page::default();
    let mut chunk = CHUNK;
    let mut old = 0;
    while end > floor && entries.len() < limit && old < OLD_ENOUGH {
        let start = end.saturating_sub(chunk);
        let bytes = ports.workspace.read_range(Root::Project, PATH, start, end - start)?;
        // The first line may have begun before this chunk; it is then read as a whole with the next one.
        let cut = match (start, bytes.iter().position(|byte| *byte == b'\n')) {
            (0, _) => 0,
            (_, Some(at)) if at + 1 < bytes.len() => at + 1,
            _ if chunk < MAX_LINE_BYTES => {
                chunk *= 4;
                continue;
            }
            _ => bytes.len(),
        };
        chunk = CHUNK;
        let mut at = end;
        for line in bytes.get(cut..).unwrap_or_default().split_inclusive(|byte| *byte == b'\n').rev() {
            at -= line.len() as u64;
            if !filter.may_take(line) {
                continue;
            }
            match parse(line) {
                Some(Ok(entry)) => {
                    old = if filter.is_too_old(&entry) { old + 1 } else { 0 };
                    if filter.takes(&entry) {
                        entries.push_front(entry);
                    }
                }
                Some(Err(begin)) => page.foreign.push(begin),
                None => {}
            }
            if entries.len() == limit || old == OLD_ENOUGH {
                break;
            }
        }
        end = if entries.len() == limit { at } else { start + cut as u64 };
        if cut == bytes.len() && start > 0 {
            end = start;
        }
    }
    page.entries = entries.into();
    page.before = (end > 0 && old < OLD_ENOUGH).then_some(end);
    Ok(page)
}

/// The entries of a file from an offset on that a filter takes, and where to continue; `None` at the end of the file.
pub fn read_from(
    file: &str,
    filter: &Filter,
    at: u64,
    budget: u64,
    ports: &Ports,
) -> Result<(Vec<Entry>, Option<u64>), FileFault> {
    let bytes = match ports.workspace.read_range(Root::Project, file, at, budget) {
        Err(FileFault::Missing) => Vec::new(),
        read => read?,
    };
    // A line that does not end here is read again with what follows; at the end of the file it is torn.
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes.get(..complete).unwrap_or_default().split(|byte| *byte == b'\n');
    let entries = lines.filter_map(parse).flatten().filter(|entry| filter.takes(entry)).collect();
    let at_end = (bytes.len() as u64) < budget;
    let next = if complete == 0 { bytes.len() } else { complete };
    Ok((entries, (!at_end).then_some(at + next as u64)))
}

/// The entry on a line; `None` for a blank line or one that names an archived part, the line's beginning if it is not an entry.
pub fn parse(line: &[u8]) -> Option<Result<Entry, String>> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"{\"archive\":") {
        return None;
    }
    Some(json::parse(line).map_err(|_| String::from_utf8_lossy(line).chars().take(60).collect()))
}

/// The entry that changed a file last, as far as the end of the ledger tells.
pub fn last_change(path: &str, ports: &Ports) -> Option<Entry> {
    const FAR_ENOUGH: u64 = 256 << 10;
    let filter = Filter { file: Some(Files { written: path.to_owned(), glob: None }), ..Filter::default() };
    // A call that failed or was rejected changed nothing.
    let changed = |entry: &Entry| entry.file.as_ref().is_some_and(|file| file.pre_hash != file.post_hash);
    newest(&filter, 50, None, FAR_ENOUGH, ports).ok()?.entries.into_iter().rfind(changed)
}
