//! Intents that an earlier process parsed, each loaded when it is needed.

use std::cell::OnceCell;
use std::fmt;

use super::file::{Intents, MAX_BYTES, PATH};
use super::intent::{Intent, IntentId, Status};
use super::reading;
use super::scope::Scope;
use crate::ports::{Facts, Ports, Root};
use crate::state::kept::{Damaged, KeptFile, keep};
use crate::state::record::{RecordReader, RecordWriter};

/// The name under which they are kept.
const NAME: &str = "intents";

/// Intents that an earlier process parsed from the same version of the file.
pub(super) struct KeptIntents {
    kept: KeptFile,
    ports: Ports,
    /// The open intents, for a message.
    open: String,
    /// The log lines about the file.
    warnings: Vec<String>,
    /// The intents that have been loaded, by position; `None` if damaged.
    loaded: Vec<OnceCell<Option<Box<Intent>>>>,
}

impl fmt::Debug for KeptIntents {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("KeptIntents").field("count", &self.kept.len()).finish_non_exhaustive()
    }
}

impl KeptIntents {
    /// Opens what was kept of the version of the file that the host reports.
    pub(super) fn open(file: &Facts, ports: &Ports) -> Option<Self> {
        let kept = KeptFile::open(NAME, file, ports)?;
        let mut front = RecordReader(kept.front());
        let (open, warnings) = (front.text()?, front.texts()?);
        let loaded = (0..kept.len()).map(|_| OnceCell::new()).collect();
        Some(Self { open, warnings, loaded, ports: ports.clone(), kept })
    }

    /// Stores intents for later processes, which parse the file themselves if that fails.
    pub(super) fn keep(file: &Facts, intents: &Intents, warnings: &[String], ports: &Ports) {
        let mut front = RecordWriter::default();
        front.text(&intents.open_ones()).texts(warnings.iter().map(String::as_str));
        let intents = intents.all().iter().enumerate();
        let records: Vec<(&str, Vec<u8>)> = intents.map(|(at, intent)| (intent.id.as_str(), write(at, intent))).collect();
        let _ = keep(NAME, file, &front.into_bytes(), &records, ports);
    }

    /// The open intents, for a message.
    pub(super) fn open_ones(&self) -> &str {
        &self.open
    }

    /// The log lines about the file.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The intent with this id.
    pub(super) fn find(&self, id: &IntentId) -> Result<Option<&Intent>, Damaged> {
        for position in self.kept.positions(id.as_str()) {
            let cell = self.loaded.get(position).ok_or(Damaged)?;
            let load = || {
                let (_, intent) = read(&self.kept.record(position).ok()?)?;
                Some(Box::new(intent))
            };
            let intent = cell.get_or_init(load).as_ref().ok_or(Damaged)?;
            if intent.id == *id {
                return Ok(Some(intent));
            }
        }
        Ok(None)
    }

    /// All intents, in the order of the file. If one is damaged, the file is parsed again.
    pub(super) fn all(&self) -> Vec<Intent> {
        let records = self.kept.records().unwrap_or_default();
        let intents: Option<Vec<(usize, Intent)>> = records.iter().map(|record| read(record)).collect();
        match intents {
            Some(mut intents) if intents.len() == self.kept.len() => {
                intents.sort_by_key(|(at, _)| *at);
                intents.into_iter().map(|(_, intent)| intent).collect()
            }
            _ => {
                let text = self.ports.workspace.read(Root::Project, PATH, MAX_BYTES).unwrap_or_default();
                let reading = reading::read(&text);
                if reading.refused.is_some() { Vec::new() } else { reading.intents }
            }
        }
    }
}

/// The record of an intent and its position in the file.
fn write(at: usize, intent: &Intent) -> Vec<u8> {
    let mut record = RecordWriter::default();
    record.number(at).text(intent.id.as_str()).text(&intent.name).option(intent.description.as_deref());
    record.text(intent.status.as_str()).texts(intent.owned_scope.patterns().iter().map(String::as_str));
    let unusable = intent.owned_scope.unusable();
    record.number(unusable.len());
    for at in unusable {
        record.number(*at);
    }
    for texts in [&intent.constraints, &intent.acceptance_criteria] {
        record.texts(texts.iter().map(String::as_str));
    }
    record.option(intent.created_at.as_deref()).option(intent.updated_at.as_deref());
    record.into_bytes()
}

/// The intent of a record, and its position in the file.
fn read(record: &[u8]) -> Option<(usize, Intent)> {
    let mut record = RecordReader(record);
    let at = record.number()?;
    let id = IntentId::try_from(record.text()?).ok()?;
    let (name, description) = (record.text()?, record.option()?);
    let status = Status::from_name(&record.text()?)?;
    let (patterns, unusable) = (record.texts()?, record.numbers()?);
    let owned_scope = Scope::restore(patterns, unusable);
    let (constraints, acceptance_criteria) = (record.texts()?, record.texts()?);
    let (created_at, updated_at) = (record.option()?, record.option()?);
    let intent = Intent { id, name, description, status, owned_scope, constraints, acceptance_criteria, created_at, updated_at };
    Some((at, intent))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::intents::file::{Governance, IntentsCache};
    use crate::ports::Question;
    use crate::ports::memory::{Memory, STATE};

    const TEXT: &str = "- {id: B, name: Bé, status: BLOCKED, owned_scope: ['b/**', '[', c], description: d, constraints: [x, y],\n   \
                        acceptance_criteria: [z], created_at: 2026-01-31}\n- {id: A, name: A, status: COMPLETED}\n";

    fn facts(ports: &Ports) -> Facts {
        ports.workspace.inspect(&[Question::project(PATH)]).pop().unwrap()
    }

    /// A world with intents that have been kept.
    fn world() -> (Rc<Memory>, Intents) {
        let world = Memory::new();
        world.write(PATH, TEXT);
        world.pass(60_000);
        let intents = Intents::parse(TEXT.as_bytes()).unwrap();
        let ports = world.ports();
        KeptIntents::keep(&facts(&ports), &intents, &["w".to_owned()], &ports);
        (world, intents)
    }

    fn describe(intent: &Intent) -> String {
        let usable: Vec<&str> = intent.owned_scope.usable().collect();
        let Intent { id, name, description, status, constraints, acceptance_criteria, created_at, updated_at, .. } = intent;
        let texts = (constraints, acceptance_criteria, intent.owned_scope.patterns());
        format!("{id} {name} {description:?} {status} {usable:?} {texts:?} {created_at:?} {updated_at:?}")
    }

    fn id(id: &str) -> IntentId {
        IntentId::try_from(id.to_owned()).unwrap()
    }

    #[test]
    fn intents_are_read_as_they_were_written() {
        let (world, intents) = world();
        let ports = world.ports();
        let kept = KeptIntents::open(&facts(&ports), &ports).unwrap();
        assert_eq!((kept.open_ones(), kept.warnings()), ("B (Bé)", &["w".to_owned()][..]));
        let all: Vec<String> = kept.all().iter().map(describe).collect();
        assert_eq!(all, intents.all().iter().map(describe).collect::<Vec<_>>());
        for intent in intents.all() {
            assert_eq!(kept.find(&intent.id).unwrap().map(describe), Some(describe(intent)));
        }
        assert!(kept.find(&id("C")).unwrap().is_none());
        world.write(PATH, TEXT);
        assert!(KeptIntents::open(&facts(&ports), &ports).is_none(), "the file was written again");
    }

    #[test]
    fn what_is_damaged_is_parsed_again() {
        let (world, intents) = world();
        let ports = world.ports();
        let kept = KeptIntents::open(&facts(&ports), &ports).unwrap();
        let path = format!("{STATE}/kept/{NAME}");
        let mut bytes = world.content(&path).unwrap();
        let end = bytes.len();
        bytes[end - 90..].fill(b'x');
        world.write(&path, &bytes);
        assert!(intents.all().iter().any(|intent| kept.find(&intent.id).is_err()));
        assert_eq!(kept.all().iter().map(|intent| intent.id.as_str().to_owned()).collect::<Vec<_>>(), ["B", "A"]);
    }

    /// A second process, whether or not it may use what the first one kept, has the same intents and logs the same lines.
    #[test]
    fn a_later_process_has_the_same_intents() {
        for (passed, is_kept) in [(0, false), (60_000, true)] {
            let world = Memory::new();
            world.write(PATH, TEXT);
            world.pass(passed);
            let ports = world.ports();
            let process = || {
                let logged = world.logged().len();
                let mut cache = IntentsCache::default();
                let facts = ports.workspace.inspect(&[Question::project(".orchestration"), Question::project(PATH)]);
                let Governance::By(intents) = cache.governance(&facts[0], &facts[1], &ports) else { panic!("no intents") };
                let found = intents.find(&id("B")).map(describe);
                let all: Vec<String> = intents.all().iter().map(describe).collect();
                let again = intents.find(&id("B")).map(describe);
                let diagnoses = cache.diagnoses(&ports).to_vec();
                cache.keep_parsed(ports.clock.now(), &ports);
                let log: Vec<_> = world.logged().into_iter().skip(logged).collect();
                format!("{found:?} {all:?} {again:?} {} {diagnoses:?} {log:?}", intents.open_ones())
            };
            let first = process();
            assert_eq!(world.content(&format!("{STATE}/kept/{NAME}")).is_some(), is_kept);
            assert_eq!(process(), first);
            assert!(first.contains("the pattern `[`"), "{first}");
        }
    }

    #[test]
    fn a_state_folder_in_the_workspace_is_not_trusted() {
        let (world, _) = world();
        let ports = world.ports();
        assert!(KeptIntents::open(&facts(&ports), &ports).is_some());
        let kept = world.content(&format!("{STATE}/kept/{NAME}")).unwrap();
        world.write("shipped/kept/intents", &kept);
        world.delete(STATE);
        world.symlink("/workspace/shipped", STATE);
        assert!(KeptIntents::open(&facts(&ports), &ports).is_none());
    }
}
