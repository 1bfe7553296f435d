//! `.orchestration/intent_map.md`: which files each intent has changed, for people.
//!
//! The map is updated as entries come in, and rebuilt from the ledger on demand.

use super::entry::{Entry, ScopeValidation};
use super::mutation::MutationClass;
use super::{ARCHIVE, PATH as LEDGER, archive, reading};
use crate::ports::{Expectation, FileFault, Ports, Root};

/// Path of the map.
pub const PATH: &str = ".orchestration/intent_map.md";

const MAX_BYTES: u64 = 8 << 20;

/// Number of bytes read in one step.
const STEP: u64 = 4 << 20;

const HEADER: &str =
    "# Intent map\n\nThe files that each intent has changed. `tollgate trace map` rebuilds this page from the ledger.\n";

/// The lines of the page, sorted: an intent, and below it its files, each with the intent before it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Map(Vec<String>);

/// Separates an intent from a file; no id contains it.
const OF: char = '\n';

impl Map {
    /// Parses the page.
    fn parse(text: &str) -> Self {
        let mut map = Self::default();
        let mut intent = None;
        for line in text.lines() {
            if let Some(id) = line.strip_prefix("## ") {
                intent = Some(id.to_owned());
            } else if let (Some(path), Some(intent)) = (line.strip_prefix("- `").and_then(|rest| rest.strip_suffix('`')), &intent)
            {
                map.insert(intent, path);
            }
        }
        map
    }

    fn page(&self) -> String {
        let mut page = HEADER.to_owned();
        let mut last = "";
        for (intent, file) in self.rows() {
            if intent != last {
                page.push_str(&format!("\n## {intent}\n\n"));
            }
            page.push_str(&format!("- `{file}`\n"));
            last = intent;
        }
        page
    }

    fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|row| row.split_once(OF))
    }

    fn insert(&mut self, intent: &str, path: &str) -> bool {
        let row = format!("{intent}{OF}{path}");
        let place = self.0.binary_search(&row);
        if let Err(at) = place {
            self.0.insert(at, row);
        }
        place.is_err()
    }

    fn remove(&mut self, intent: &str, path: &str) -> bool {
        let place = self.0.binary_search(&format!("{intent}{OF}{path}"));
        if let Ok(at) = place {
            self.0.remove(at);
        }
        place.is_ok()
    }

    /// Takes in an entry; returns whether that changed anything.
    fn take(&mut self, entry: &Entry) -> bool {
        // A file that was not the intent's to change is not listed under it.
        let gone = entry.mutation_class == MutationClass::FileDeletion;
        let counts = entry.success && (entry.scope_validation == ScopeValidation::Pass || gone);
        let (Some(intent), Some(path), true) = (&entry.intent_id, entry.path(), counts) else { return false };
        // A name with a line break would begin a line of its own.
        if path.contains(['\n', '\r']) {
            return false;
        }
        match entry.mutation_class {
            MutationClass::FileDeletion => self.remove(intent.as_str(), path),
            _ => self.insert(intent.as_str(), path),
        }
    }
}

/// Takes in new entries. The map can be rebuilt, so failures are only logged.
pub fn update(entries: &[Entry], ports: &Ports) {
    // Other processes may do the same right now; the second one looks again.
    for _ in 0..4 {
        let (bytes, expected) = match ports.workspace.read(Root::Project, PATH, MAX_BYTES) {
            Ok(bytes) => {
                let digest = crate::digest::Digest::of(&bytes);
                (bytes, Expectation::Digest(digest))
            }
            Err(FileFault::Missing) => (Vec::new(), Expectation::Absent),
            Err(fault) => return ports.warn(&format!("`{PATH}` cannot be read: {fault}")),
        };
        let mut map = Map::parse(&String::from_utf8_lossy(&bytes));
        let changes = entries.iter().filter(|entry| map.take(entry)).count();
        if changes == 0 {
            return;
        }
        match ports.records.replace(Root::Project, PATH, map.page().as_bytes(), expected) {
            Err(FileFault::Changed | FileFault::Exists) => {}
            Ok(()) => return,
            Err(fault) => return ports.warn(&format!("`{PATH}` cannot be written: {fault}")),
        }
    }
}

/// A rebuild under way.
pub struct Rebuild {
    map: Map,
    /// Files still to be read, the next one last.
    ahead: Vec<String>,
    at: u64,
    rest: Vec<u8>,
}

/// The result of a rebuild.
#[derive(Debug)]
pub struct Rebuilt {
    /// The number of intents.
    pub intents: usize,
    /// The number of files in all.
    pub files: usize,
}

impl Rebuild {
    /// Starts with the oldest part of the ledger.
    pub fn new(ports: &Ports) -> Self {
        let mut ahead = vec![LEDGER.to_owned()];
        ahead.extend(archive::names(ports).into_iter().rev().map(|name| format!("{ARCHIVE}/{name}")));
        Self { map: Map::default(), ahead, at: 0, rest: Vec::new() }
    }

    /// Continues for a while; returns the result once there is nothing left.
    pub fn step(&mut self, ports: &Ports) -> Result<Option<Rebuilt>, FileFault> {
        let Some(path) = self.ahead.last() else {
            ports.records.replace(Root::Project, PATH, self.map.page().as_bytes(), Expectation::Anything)?;
            let mut intents: Vec<&str> = self.map.rows().map(|(intent, _)| intent).collect();
            intents.dedup();
            return Ok(Some(Rebuilt { intents: intents.len(), files: self.map.0.len() }));
        };
        let bytes = match ports.workspace.read_range(Root::Project, path, self.at, STEP) {
            Err(FileFault::Missing) => Vec::new(),
            read => read?,
        };
        if bytes.is_empty() {
            self.ahead.pop();
            self.at = 0;
            self.rest.clear();
            return Ok(None);
        }
        self.at += bytes.len() as u64;
        let mut text = std::mem::take(&mut self.rest);
        text.extend_from_slice(&bytes);
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in text.get(..complete).unwrap_or_default().split(|byte| *byte == b'\n') {
            if let Some(Ok(entry)) = reading::parse(line) {
                self.map.take(&entry);
            }
        }
        self.rest = text.get(complete..).unwrap_or_default().to_vec();
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_back() {
        let map = Map::parse("## B\n- `b/x`\n\n## A\n\n- `z`\n- `a b`\nother\n");
        assert_eq!(map.page(), format!("{HEADER}\n## A\n\n- `a b`\n- `z`\n\n## B\n\n- `b/x`\n"));
        assert_eq!(Map::parse(&map.page()), map);
    }
}
