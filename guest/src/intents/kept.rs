//! Intents as they were read by an earlier process, each loaded when it is needed.

use std::cell::OnceCell;
use std::fmt;

use super::file::{MAX_BYTES, PATH};
use super::intent::{Intent, IntentId, Status};
use super::reading;
use super::scope::Scope;
use crate::ports::{Facts, Ports, Root};
use crate::state::kept::{Damaged, Fields, Kept, Reader, keep};

/// What they are kept as.
const NAME: &str = "intents";

/// Intents that an earlier process read from the same file in the same state.
pub(super) struct KeptIntents {
    kept: Kept,
    ports: Ports,
    /// Those that work may go on under, for a message.
    open: String,
    /// What was to be said about the file.
    warnings: Vec<String>,
    /// Those that have been loaded, by their place.
    loaded: Vec<OnceCell<Option<Box<Intent>>>>,
}

impl fmt::Debug for KeptIntents {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("KeptIntents").field("count", &self.kept.len()).finish_non_exhaustive()
    }
}

impl KeptIntents {
    /// Those that were read of a file in the state that the host saw.
    pub(super) fn open(file: &Facts, ports: &Ports) -> Option<Self> {
        let kept = Kept::open(NAME, file, ports)?;
        let mut front = Reader(kept.front());
        let (open, warnings) = (front.text()?, front.texts()?);
        let loaded = (0..kept.len()).map(|_| OnceCell::new()).collect();
        Some(Self { open, warnings, loaded, ports: ports.clone(), kept })
    }

    /// Keeps what was read. It is for those who come later, so what goes wrong does not matter.
    pub(super) fn keep(file: &Facts, intents: &[Intent], open: &str, warnings: &[String], ports: &Ports) {
        let mut front = Fields::default();
        front.text(open).texts(warnings.iter().map(String::as_str));
        let records: Vec<(&str, Vec<u8>)> =
            intents.iter().enumerate().map(|(at, intent)| (intent.id.as_str(), record_of(at, intent))).collect();
        let _ = keep(NAME, file, &front.into_bytes(), &records, ports);
    }

    /// Those that work may go on under, for a message.
    pub(super) fn open_ones(&self) -> &str {
        &self.open
    }

    /// What was to be said about the file.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The intent of that id.
    pub(super) fn find(&self, id: &IntentId) -> Result<Option<&Intent>, Damaged> {
        for place in self.kept.places(id.as_str()) {
            let cell = self.loaded.get(place).ok_or(Damaged)?;
            let load = || self.kept.record(place).ok().and_then(|record| intent_of(&record)).map(|(_, intent)| Box::new(intent));
            let intent = cell.get_or_init(load).as_ref().ok_or(Damaged)?;
            if intent.id == *id {
                return Ok(Some(intent));
            }
        }
        Ok(None)
    }

    /// All of them, in the order of the file. What was damaged is read anew.
    pub(super) fn all(&self) -> Vec<Intent> {
        let load = |place: usize| self.kept.record(place).ok().and_then(|record| intent_of(&record));
        let all: Option<Vec<(usize, Intent)>> = (0..self.kept.len()).map(load).collect();
        match all {
            Some(mut all) => {
                all.sort_by_key(|(at, _)| *at);
                all.into_iter().map(|(_, intent)| intent).collect()
            }
            None => {
                let text = self.ports.workspace.read(Root::Project, PATH, MAX_BYTES).unwrap_or_default();
                let reading = reading::read(&text);
                if reading.refused.is_some() { Vec::new() } else { reading.intents }
            }
        }
    }
}

fn record_of(at: usize, intent: &Intent) -> Vec<u8> {
    let mut record = Fields::default();
    let unusable: Vec<usize> = intent.owned_scope.unusable().collect();
    record.number(at).text(intent.id.as_str()).text(&intent.name).option(intent.description.as_deref());
    record.text(intent.status.as_str()).texts(intent.owned_scope.patterns().iter().map(String::as_str));
    record.number(unusable.len());
    unusable.iter().for_each(|place| drop(record.number(*place)));
    for texts in [&intent.constraints, &intent.acceptance_criteria] {
        record.texts(texts.iter().map(String::as_str));
    }
    record.option(intent.created_at.as_deref()).option(intent.updated_at.as_deref());
    record.into_bytes()
}

/// An intent, and its place in the file.
fn intent_of(record: &[u8]) -> Option<(usize, Intent)> {
    let mut record = Reader(record);
    let at = record.number()?;
    let id = IntentId::try_from(record.text()?).ok()?;
    let (name, description) = (record.text()?, record.option()?);
    let status = Status::named(&record.text()?)?;
    let patterns = record.texts()?;
    let count = record.number()?;
    let unusable: Vec<usize> = (0..count).map(|_| record.number()).collect::<Option<_>>()?;
    let owned_scope = Scope::known(patterns, |place| !unusable.contains(&place));
    let (constraints, acceptance_criteria) = (record.texts()?, record.texts()?);
    let (created_at, updated_at) = (record.option()?, record.option()?);
    let intent =
        Intent { id, name, description, status, owned_scope, constraints, acceptance_criteria, created_at, updated_at };
    Some((at, intent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intents::file::Intents;
    use crate::ports::Question;
    use crate::ports::memory::{Memory, STATE};

    const TEXT: &str = "- {id: B, name: Bé, status: BLOCKED, owned_scope: ['b/**', '[', c], description: d, constraints: [x, y],\n   \
                        acceptance_criteria: [z], created_at: 2026-01-31}\n- {id: A, name: A, status: COMPLETED}\n";

    fn facts(ports: &Ports) -> Facts {
        ports.workspace.inspect(&[Question::project(PATH)]).pop().unwrap()
    }

    #[test]
    fn intents_read_back_as_they_were() {
        let world = Memory::new();
        let ports = world.ports();
        world.write(PATH, TEXT);
        world.pass(60_000);
        let read = Intents::parse(TEXT.as_bytes()).unwrap();
        KeptIntents::keep(&facts(&ports), read.all(), "open", &["w".to_owned()], &ports);
        let kept = KeptIntents::open(&facts(&ports), &ports).unwrap();
        assert_eq!((kept.open_ones(), kept.warnings()), ("open", &["w".to_owned()][..]));
        let shown = |intent: &Intent| {
            let usable: Vec<String> = intent.owned_scope.usable().map(str::to_owned).collect();
            let Intent { id, name, description, status, constraints, acceptance_criteria, created_at, updated_at, .. } = intent;
            let texts = (constraints.clone(), acceptance_criteria.clone(), intent.owned_scope.patterns().to_vec());
            format!("{id} {name} {description:?} {status} {usable:?} {texts:?} {created_at:?} {updated_at:?}")
        };
        let all: Vec<String> = kept.all().iter().map(shown).collect();
        assert_eq!(all, read.all().iter().map(shown).collect::<Vec<_>>());
        for intent in read.all() {
            assert_eq!(kept.find(&intent.id).unwrap().map(shown), Some(shown(intent)));
        }
        assert!(kept.find(&IntentId::try_from("C".to_owned()).unwrap()).unwrap().is_none());
        world.write(PATH, TEXT);
        assert!(KeptIntents::open(&facts(&ports), &ports).is_none(), "the file was written again");
    }

    #[test]
    fn what_is_damaged_is_read_anew() {
        let world = Memory::new();
        let ports = world.ports();
        world.write(PATH, TEXT);
        world.pass(60_000);
        let read = Intents::parse(TEXT.as_bytes()).unwrap();
        KeptIntents::keep(&facts(&ports), read.all(), "", &[], &ports);
        let kept = KeptIntents::open(&facts(&ports), &ports).unwrap();
        let path = format!("{STATE}/kept/{NAME}");
        let mut bytes = world.content(&path).unwrap();
        let end = bytes.len();
        bytes[end - 90..].fill(b'x');
        world.write(&path, &bytes);
        assert!(read.all().iter().any(|intent| kept.find(&intent.id).is_err()));
        assert_eq!(kept.all().iter().map(|intent| intent.id.as_str().to_owned()).collect::<Vec<_>>(), ["B", "A"]);
    }
}
