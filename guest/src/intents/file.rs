//! All intents of a workspace, as `.orchestration/active_intents.yaml` declares them.

use std::cell::OnceCell;
use std::rc::Rc;

use super::diagnosis::{Diagnosis, Severity};
use super::intent::{Intent, IntentId};
use super::kept::KeptIntents;
use super::reading::{self, Reading};
use crate::digest::Digest;
use crate::ports::{Facts, FileFault, FileKind, Ports, Root, Timestamp};
use crate::state::{self, kept};

/// Path of the file that declares the intents.
pub const PATH: &str = ".orchestration/active_intents.yaml";

/// Maximum size of the file; a larger one is a mistake, and would take the guest's memory.
pub(super) const MAX_BYTES: u64 = 8 << 20;

/// Name under which the last good version is kept.
const COPY: &str = "active_intents.yaml";

/// Maximum number of log lines about one version of the file.
const MAX_LINES: usize = 10;

/// All intents, in the order of the file.
#[derive(Debug, Default)]
pub struct Intents {
    /// All intents, once they are needed.
    all: OnceCell<Vec<Intent>>,
    /// What an earlier process parsed, if this one did not.
    kept: Option<KeptIntents>,
}

impl Intents {
    fn new(all: Vec<Intent>) -> Self {
        Self { all: OnceCell::from(all), kept: None }
    }

    /// Parses the YAML text, or says why it cannot be used.
    pub fn parse(text: &[u8]) -> Result<Self, Diagnosis> {
        let reading = reading::read(text);
        reading.refused.map_or(Ok(Self::new(reading.intents)), Err)
    }

    /// All intents, in the order of the file.
    pub fn all(&self) -> &[Intent] {
        self.all.get_or_init(|| self.kept.as_ref().map(KeptIntents::all).unwrap_or_default())
    }

    /// The intent with this id.
    pub fn find(&self, id: &IntentId) -> Option<&Intent> {
        let kept = self.kept.as_ref().filter(|_| self.all.get().is_none());
        match kept.map(|kept| kept.find(id)) {
            Some(Ok(found)) => found,
            None | Some(Err(_)) => self.all().iter().find(|intent| intent.id == *id),
        }
    }

    /// The open intents, for a message: `INT-001 (Login hardening), …`.
    pub fn open_ones(&self) -> String {
        if let Some(kept) = &self.kept {
            return kept.open_ones().to_owned();
        }
        let open: Vec<_> =
            self.all().iter().filter(|intent| intent.status.is_open()).take(MAX_NAMED + 1).map(Intent::to_string).collect();
        if open.is_empty() { format!("none is open in `{PATH}`") } else { join_first(&open) }
    }
}

/// Maximum number of items that a message names before it says that there are more.
const MAX_NAMED: usize = 20;

/// The first items of a list, for a message.
pub fn join_first(items: &[String]) -> String {
    let named = items.get(..MAX_NAMED.min(items.len())).unwrap_or_default().join(", ");
    if items.len() > MAX_NAMED { format!("{named}, and more") } else { named }
}

/// How a workspace is governed.
#[derive(Debug, Clone)]
pub enum Governance {
    /// Not at all: there is no `.orchestration/`.
    None,
    /// There are no usable intents, and never were: the file is missing or broken; the reason.
    Unreadable(String),
    /// The file exists but the gate may not or cannot inspect it, and never could; the reason. The file may say anything.
    Inaccessible(String),
    /// By these intents. If the file has since become unusable, these are the last good ones.
    By(Rc<Intents>),
}

/// The intents, parsed once and kept until the file changes.
#[derive(Debug, Default)]
pub struct IntentsCache {
    stamp: Option<u64>,
    good: Option<Rc<Intents>>,
    fault: String,
    /// Whether there is a file that could not be inspected.
    inaccessible: bool,
    /// What is wrong with the file; `None` if it was not parsed, because an earlier process had parsed it.
    diagnoses: Option<Vec<Diagnosis>>,
    /// The version in force, if it was parsed and has not been stored yet.
    parsed: Option<ParsedVersion>,
}

/// A version of the file that was parsed.
#[derive(Debug)]
struct ParsedVersion {
    file: Facts,
    digest: Digest,
    /// The log lines about it.
    warnings: Vec<String>,
}

impl IntentsCache {
    /// Stores what was parsed for later processes, once the file can no longer change unnoticed.
    pub fn keep_parsed(&mut self, now: Timestamp, ports: &Ports) {
        let Some(parsed) = self.parsed.take_if(|parsed| !kept::may_change_unnoticed(&parsed.file, now)) else { return };
        if let Some(intents) = &self.good
            && kept::is_unchanged(PATH, &parsed.file, parsed.digest, ports)
        {
            KeptIntents::keep(&parsed.file, intents, &parsed.warnings, ports);
        }
    }

    /// The governance, given what the host saw of `.orchestration/` and of the file.
    pub fn governance(&mut self, folder: &Facts, file: &Facts, ports: &Ports) -> Governance {
        if folder.kind == FileKind::Unreadable {
            return Governance::Inaccessible("`.orchestration` cannot be inspected: access denied".to_owned());
        }
        if folder.kind != FileKind::Directory {
            return Governance::None;
        }
        if self.stamp != Some(file.stamp) {
            self.stamp = Some(file.stamp);
            self.load(file, ports);
        }
        match &self.good {
            Some(intents) => Governance::By(intents.clone()),
            None if self.inaccessible => Governance::Inaccessible(self.fault.clone()),
            None => Governance::Unreadable(self.fault.clone()),
        }
    }

    /// What was wrong with the file when it was last inspected, which need not be the version in force.
    pub fn diagnoses(&mut self, ports: &Ports) -> &[Diagnosis] {
        self.diagnoses.get_or_insert_with(|| match ports.workspace.read(Root::Project, PATH, MAX_BYTES) {
            Ok(text) => reading::read(&text).diagnoses,
            Err(fault) => vec![Diagnosis::new(Severity::Error, None, &unreadable(fault))],
        })
    }

    fn load(&mut self, file: &Facts, ports: &Ports) {
        self.parsed = None;
        if let Some(kept) = KeptIntents::open(file, ports) {
            kept.warnings().iter().for_each(|line| ports.warn(line));
            self.good = Some(Rc::new(Intents { all: OnceCell::new(), kept: Some(kept) }));
            (self.inaccessible, self.diagnoses) = (false, None);
            return;
        }
        let text = ports.workspace.read(Root::Project, PATH, MAX_BYTES);
        self.inaccessible = text.as_ref().is_err_and(|fault| *fault != FileFault::Missing);
        let fault = match text.as_deref().map(reading::read) {
            Err(fault) => {
                let why = unreadable(*fault);
                self.diagnoses = Some(vec![Diagnosis::new(Severity::Error, None, &why)]);
                why
            }
            Ok(Reading { intents, diagnoses, refused, .. }) => {
                let errors = diagnoses.iter().filter(|diagnosis| diagnosis.severity == Severity::Error).count();
                let warnings = warnings(&diagnoses);
                self.diagnoses = Some(diagnoses);
                let Some(refused) = refused else {
                    let text = text.as_deref().unwrap_or_default();
                    self.good = Some(Rc::new(Intents::new(intents)));
                    state::keep_good(COPY, text, ports);
                    warnings.iter().for_each(|line| ports.warn(line));
                    self.parsed = Some(ParsedVersion { file: file.clone(), digest: Digest::of(text), warnings });
                    return;
                };
                match errors {
                    0 | 1 => format!("`{PATH}` is invalid: {refused}"),
                    errors => format!("`{PATH}` is invalid: {refused} (and {} more errors)", errors - 1),
                }
            }
        };
        if self.good.is_none() {
            self.good = state::last_good(COPY, ports).and_then(|text| Intents::parse(&text).ok()).map(Rc::new);
        }
        let last = if self.good.is_some() { "; the last good version stays in force" } else { "" };
        ports.warn(&format!("{fault}{last}"));
        self.fault = fault;
    }
}

/// Why the file cannot be read, for a message.
fn unreadable(fault: FileFault) -> String {
    match fault {
        FileFault::TooLarge => format!("`{PATH}` is larger than {} MiB; move closed intents elsewhere", MAX_BYTES >> 20),
        fault => format!("`{PATH}` cannot be read: {fault}"),
    }
}

/// The log lines about a file that can be used.
fn warnings(diagnoses: &[Diagnosis]) -> Vec<String> {
    let all = diagnoses.len();
    let shown = if all > MAX_LINES { MAX_LINES - 1 } else { all };
    let mut lines: Vec<String> = diagnoses.iter().take(shown).map(|diagnosis| format!("`{PATH}`: {diagnosis}")).collect();
    if shown < all {
        lines.push(format!("`{PATH}`: {} more errors; `tollgate intents check` shows them", all - shown));
    }
    lines
}

/// Forgets the last good version if the file no longer exists: a person has removed it, so it no longer governs.
pub fn forget_missing(ports: &Ports) {
    if ports.workspace.read(Root::Project, PATH, MAX_BYTES) == Err(FileFault::Missing) {
        state::forget_good(COPY, ports);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intents::intent::Status;
    use crate::ports::Question;
    use crate::ports::memory::Memory;

    const INTENT: &str = "{id: INT-1, name: One, status: IN_PROGRESS, owned_scope: ['a/**']}";

    fn ids(text: &str) -> Vec<String> {
        Intents::parse(text.as_bytes()).unwrap().all().iter().map(|intent| intent.id.to_string()).collect()
    }

    #[test]
    fn three_forms() {
        for text in [format!("active_intents: [{INTENT}]"), format!("version: 1\nintents: [{INTENT}]"), format!("[{INTENT}]")] {
            assert_eq!(ids(&text), ["INT-1"], "{text}");
        }
        assert!(ids("active_intents:").is_empty());
        assert!(ids("").is_empty());
    }

    #[test]
    fn all_fields() {
        let text = "- {id: 1.10, name: 007, description: null, status: BLOCKED, owned_scope: [0x10], constraints: [yes, 1e3, true],\n   \
                    acceptance_criteria: ~, created_at: 2026-01-31, x: [1]}";
        let intents = Intents::parse(text.as_bytes()).unwrap();
        let [intent] = intents.all() else { panic!("{intents:?}") };
        assert_eq!((intent.id.as_str(), intent.name.as_str(), intent.status), ("1.10", "007", Status::Blocked));
        assert_eq!(intent.owned_scope.patterns(), ["0x10"]);
        assert_eq!(intent.constraints, ["yes", "1e3", "true"]);
        assert_eq!((&intent.description, intent.acceptance_criteria.len()), (&None, 0));
        assert_eq!((intent.created_at.as_deref(), &intent.updated_at), (Some("2026-01-31"), &None));
    }

    #[test]
    fn the_first_of_two_counts() {
        let text = format!("[{INTENT}, {{id: INT-1, name: Two, status: PLANNED}}]");
        let intents = Intents::parse(text.as_bytes()).unwrap();
        assert_eq!(intents.all().iter().map(|intent| intent.name.as_str()).collect::<Vec<_>>(), ["One"]);
    }

    #[test]
    fn faults_say_where() {
        for (text, said) in [
            ("active_intents:\n  - {id: A, name: B, status: DOING}", "line 2, column 30: `DOING` is not a status"),
            ("active_intents:\n  - {id: 'a b', name: B, status: PLANNED}", "line 2, column 10: `a b` is not an intent id"),
            ("active_intents:\n  - {name: B, status: PLANNED}", "line 2, column 5: the intent has no `id`"),
            ("other: 1", "line 1, column 1: there is no `active_intents:`"),
            ("- {id: A, name: B, status: PLANNED, owned_scopes: [a]}\n- 1", "line 2, column 3: an intent is text"),
            (
                "active_intents:\n  - {id: A, name: B, status: PLANNED, owned_scope: [unclosed\n",
                "line 2, column 52: the YAML cannot be read: this `[` is never closed",
            ),
        ] {
            let fault = Intents::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(fault.starts_with(said), "{text}: {fault}");
        }
    }

    /// What the log says after each version of the file, and which intents are in force.
    #[test]
    fn each_version_is_logged_once() {
        let world = Memory::new();
        let ports = world.ports();
        let mut cache = IntentsCache::default();
        let mut logged = 0;
        let unknown: String = (0..20).map(|n| format!("x{n}: 1, ")).collect();
        for (text, lines, ids) in [
            ("- A".to_owned(), &["` is invalid: line 1, column 3: an intent is text"][..], None),
            (format!("[{INTENT}]"), &[], Some(1)),
            (
                format!("[{INTENT},\n {{id: INT-1, status: PLANNED, name: N, owned_scope: ['[']}}]"),
                &["`: line 2, column 7: the id `INT-1`", "`: line 2, column 54: the pattern `[`"],
                Some(1),
            ),
            (
                "- A\n- B".to_owned(),
                &["an intent is text; write `id:`, `name:` and `status:`, each with its value (and 1 more errors)"],
                Some(1),
            ),
            (
                format!("[{{{unknown}id: A, name: A, status: PLANNED, owned_scope: [a]}}, {INTENT}]"),
                &[
                    "`x0`",
                    "`x1`",
                    "`x2`",
                    "`x3`",
                    "`x4`",
                    "`x5`",
                    "`x6`",
                    "`x7`",
                    "`x8`",
                    "11 more errors; `tollgate intents check`",
                ],
                Some(2),
            ),
        ] {
            world.write(PATH, &text);
            for _ in 0..2 {
                let facts = ports.workspace.inspect(&[Question::project(".orchestration"), Question::project(PATH)]);
                let governance = cache.governance(&facts[0], &facts[1], &ports);
                let found = if let Governance::By(intents) = &governance { Some(intents.all().len()) } else { None };
                assert_eq!(found, ids, "{text}");
            }
            let log = world.logged();
            let told: Vec<&String> = log.iter().skip(logged).map(|(_, line)| line).collect();
            assert_eq!(told.len(), lines.len(), "{text}: {told:#?}");
            for (told, words) in told.iter().zip(lines) {
                assert!(told.starts_with(&format!("`{PATH}`")) && told.contains(words), "{told}\n{words}");
            }
            logged = log.len();
            assert_eq!(cache.diagnoses(&ports).is_empty(), lines.is_empty());
        }
        world.delete(PATH);
        let facts = ports.workspace.inspect(&[Question::project(".orchestration"), Question::project(PATH)]);
        assert!(matches!(cache.governance(&facts[0], &facts[1], &ports), Governance::By(_)));
        assert_eq!(cache.diagnoses(&ports).first().unwrap().message, format!("`{PATH}` cannot be read: no such file"));
    }
}
