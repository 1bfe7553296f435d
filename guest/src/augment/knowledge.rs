//! Looks up concepts in the sources and caches the answers.

use serde_json::Value;

use super::block::{Section, block, is_augmented};
use super::concept;
use super::insertion::insert_text;
use super::notes::NoteStore;
use super::programs;
use super::settings::{KnowledgeSource, Settings, SourceKind};
use super::{Augmentation, ListedNote, Lookup, LookupAnswer, LookupFinding, NoteListing, Plan, Program};
use crate::json::object;
use crate::ports::{LogLevel, Ports};
use crate::tool_call::{TextReader, ToolCall};

/// Maximum number of lookups for one call.
const MAX_LOOKUPS: usize = 32;

/// How long a source is not asked again about a concept that it did not know, or at all after it was unavailable.
const FORGET_MS: u64 = 60_000;

/// Maximum number of absences, and of planned calls, that are remembered.
const MAX_REMEMBERED: usize = 256;

/// Finds out how an MCP server is started: `None` if it has no program or is not declared, an error if it may not be started.
pub type ServerStarter<'s> = dyn Fn(&str) -> Result<Option<Program>, String> + 's;

/// The concepts that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedConcepts {
    /// The concepts, in order of first appearance.
    pub concepts: Vec<String>,
    /// Whether a number in the arguments would change if they were serialized again.
    pub inexact: bool,
}

/// State that is kept between calls. Losing it only costs time.
#[derive(Default)]
pub struct Knowledge {
    store: NoteStore,
    /// Sources that were unavailable and concepts that a source did not know, with the time until which that is assumed.
    absences: Vec<(String, u64)>,
    /// Calls whose lookups are under way, with the time at which they were planned.
    planned: Vec<(String, u64)>,
}

/// The result of searching the sources for a call's concepts.
#[derive(Default)]
struct LookupOutcome {
    sections: Vec<Section>,
    /// Whether an available source had nothing to say.
    in_vain: bool,
    late: bool,
}

impl Knowledge {
    /// The concepts that a call names, or why there is nothing to do. Makes no requests, because most calls end here.
    pub fn named_concepts(&self, call: &ToolCall, ports: &Ports) -> Result<NamedConcepts, &'static str> {
        let found = concept::find(&call.args);
        // A call that a block was added to before is not augmented again.
        let again =
            || call.args.as_object().is_some_and(|args| args.values().any(|value| value.as_str().is_some_and(is_augmented)));
        let reason = match (found.any_text, found.concepts.is_empty()) {
            (false, _) => "no_text_args",
            (true, false) if !again() => {
                if self.planned_index(call).is_none() {
                    let said = format!("names {}", join_concepts(&found.concepts));
                    log_call(LogLevel::Info, call, &said, "concepts", found.concepts.clone().into(), ports);
                }
                return Ok(NamedConcepts { concepts: found.concepts, inexact: found.inexact });
            }
            (true, _) => "no_concepts",
        };
        log_skipped(call, reason, ports);
        Err(reason)
    }

    /// Plans the lookups for a call. Once a source inside the gate knows a concept, later sources are not asked about it.
    pub fn plan(
        &mut self,
        call: &ToolCall,
        named: NamedConcepts,
        settings: &Settings,
        start: &ServerStarter<'_>,
        ports: &Ports,
    ) -> Plan {
        let begun = ports.clock.now().0;
        let NamedConcepts { concepts, .. } = named;
        remember(&mut self.planned, key(&call.session, &call.call), begun);
        self.refresh_notes(settings, ports);
        let mut lookups = Vec::new();
        for concept in &concepts {
            for source in &settings.sources {
                if let SourceKind::Notes(folder) = &source.kind {
                    if self.store.knows(folder, concept) {
                        break;
                    }
                } else if self.cached_absence(source, concept, begun).is_none()
                    && lookups.len() < MAX_LOOKUPS
                    && self.may_be_asked(source, begun, ports)
                {
                    let request = source.request(concept, self.start(source, begun, start, ports));
                    let lookup = |request| Lookup { concept: concept.clone(), source: source.name.clone(), request };
                    lookups.extend(request.map(lookup));
                }
            }
        }
        Plan { concepts, lookups, skipped: None }
    }

    /// Whether a source may be asked. A repository runs nothing without consent: a command that the workspace names is run only
    /// if the user's own settings list it.
    fn may_be_asked(&mut self, source: &KnowledgeSource, now: u64, ports: &Ports) -> bool {
        let Some(words) = source.command_of_workspace() else { return true };
        let allowed = programs::is_allowed_by_user(words, ports);
        if !allowed {
            let (name, own) = (&source.name, programs::SETTINGS);
            let line = serde_json::Value::from(words.to_vec());
            ports.warn(&format!(
                "the source `{name}` is not used: it runs a command that the workspace names; to allow it, add {line} to `augment.commands` in `~/{own}`"
            ));
            remember(&mut self.absences, key(name, ""), now + FORGET_MS);
        }
        allowed
    }

    /// How the server of an MCP source is started; `None` if it is not. The embedder may still be connected to it, so the source
    /// is asked all the same.
    fn start(&mut self, source: &KnowledgeSource, now: u64, start: &ServerStarter<'_>, ports: &Ports) -> Option<Program> {
        let SourceKind::Mcp { server, .. } = &source.kind else { return None };
        start(server).unwrap_or_else(|why| {
            // A key that no source and no concept has.
            let told = key("\0", server);
            if !self.absences.iter().any(|(key, until)| *until > now && *key == told) {
                ports.warn(&why);
                remember(&mut self.absences, told, now + FORGET_MS);
            }
            None
        })
    }

    /// Combines what the gate's own sources know with what the host found elsewhere, and decides where it goes.
    pub fn apply(
        &mut self,
        call: &ToolCall,
        named: NamedConcepts,
        reader: TextReader,
        found: &[LookupFinding],
        settings: &Settings,
        ports: &Ports,
    ) -> Augmentation {
        let now = ports.clock.now().0;
        let planned = self.planned_index(call).map(|at| self.planned.remove(at).1);
        let there = self.refresh_notes(settings, ports);
        let search = self.search(&named.concepts, found, settings, now, ports);
        let skipped = match (search.sections.is_empty(), search.late, search.in_vain || there) {
            (false, ..) => None,
            (true, true, _) if !search.in_vain => Some("timeout"),
            (true, _, false) => Some("source_unavailable"),
            (true, ..) => Some("no_context"),
        };
        if let Some(reason) = skipped {
            log_skipped(call, reason, ports);
            return Augmentation { skipped, ..Augmentation::default() };
        }
        let (text, used) = block(&search.sections, settings.budget_chars);
        let (mut concepts, mut sources) = (Vec::new(), Vec::new());
        for section in search.sections.into_iter().take(used) {
            concepts.push(section.concept);
            sources.push(section.source);
        }
        let first = sources.first().map_or("", String::as_str);
        let args = if named.inexact { None } else { insert_text(call, reader, &text, first, settings.literal) };
        let elapsed = ports.clock.now().0.saturating_sub(planned.unwrap_or(now));
        let said = format!("was given what is known about {} in {elapsed} ms", join_concepts(&concepts));
        log_call(LogLevel::Info, call, &said, "elapsed_ms", elapsed.into(), ports);
        let (added, text) = if args.is_some() { (Some(text), None) } else { (None, Some(text)) };
        Augmentation { args, added, text, concepts, sources, skipped: None }
    }

    /// The notes whose names contain these words.
    pub fn list_notes(&mut self, words: &str, limit: usize, settings: &Settings, ports: &Ports) -> NoteListing {
        self.refresh_notes(settings, ports);
        let mut listing = NoteListing { notes: Vec::new(), total: 0, done: self.store.is_read() };
        for source in &settings.sources {
            if let SourceKind::Notes(folder) = &source.kind {
                let (paths, found) = self.store.search(folder, words, limit.saturating_sub(listing.notes.len()));
                listing.total += found;
                for path in paths {
                    listing.notes.push(ListedNote { source: source.name.clone(), path: format!("{folder}/{path}") });
                }
            }
        }
        listing
    }

    /// Brings the sources inside the gate up to date; returns whether there are any.
    fn refresh_notes(&mut self, settings: &Settings, ports: &Ports) -> bool {
        let mut there = false;
        for source in &settings.sources {
            if let SourceKind::Notes(folder) = &source.kind {
                there |= self.store.open(folder, ports);
            }
        }
        there
    }

    /// Asks the sources in order; the first that knows a concept wins.
    fn search(
        &mut self,
        concepts: &[String],
        found: &[LookupFinding],
        settings: &Settings,
        now: u64,
        ports: &Ports,
    ) -> LookupOutcome {
        let mut search = LookupOutcome::default();
        let mut shown: Vec<(String, String)> = Vec::new();
        for concept in concepts {
            for source in &settings.sources {
                let known = match &source.kind {
                    SourceKind::Notes(folder) => self.store.find_note(folder, concept, ports).map(|known| {
                        let place = format!("{folder}/{}", known.path);
                        match shown.iter().find(|(path, _)| *path == place) {
                            // Both concepts name the same note.
                            Some((_, before)) => (format!("The same as [[{before}]]."), String::new()),
                            None => {
                                shown.push((place, concept.clone()));
                                (known.text, known.related)
                            }
                        }
                    }),
                    _ => {
                        self.answer_from_source(source, concept, found, &mut search, now, ports).map(|text| (text, String::new()))
                    }
                };
                if let Some((text, related)) = known {
                    search.sections.push(Section { concept: concept.clone(), source: source.name.clone(), text, related });
                    break;
                }
            }
        }
        search
    }

    /// What a source outside the gate says about a concept, or said not long ago.
    fn answer_from_source(
        &mut self,
        source: &KnowledgeSource,
        concept: &str,
        found: &[LookupFinding],
        search: &mut LookupOutcome,
        now: u64,
        ports: &Ports,
    ) -> Option<String> {
        let finding = found.iter().find(|finding| finding.concept == concept && finding.source == source.name);
        let answer = finding.map(|finding| &finding.answer);
        let failed = |why: &str| {
            let why: String = why.chars().take(200).collect();
            ports.warn(&format!("the source `{}` failed on [[{concept}]]: {why}", source.name));
        };
        let mut absent = |concept: &str| remember(&mut self.absences, key(&source.name, concept), now + FORGET_MS);
        match answer {
            Some(LookupAnswer::Text(text)) => match source.interpret_answer(text) {
                Ok(Some(text)) => return Some(text.to_owned()),
                Ok(None) => absent(concept),
                Err(why) => failed(why),
            },
            Some(LookupAnswer::Unknown) => absent(concept),
            Some(LookupAnswer::Failed(why)) => failed(why),
            Some(LookupAnswer::Late) => {
                search.late = true;
                ports.warn(&format!("the source `{}` did not answer in time about [[{concept}]]", source.name));
                return None;
            }
            Some(LookupAnswer::Unavailable) => {
                absent("");
                let said = format!("the source `{}` is not available", source.name);
                ports.log.write(LogLevel::Debug, &said, &Value::Null);
                return None;
            }
            None if self.cached_absence(source, concept, now) != Some(LookupAnswer::Unknown) => return None,
            None => {}
        }
        search.in_vain = true;
        None
    }

    /// The index of a planned call.
    fn planned_index(&self, call: &ToolCall) -> Option<usize> {
        let key = key(&call.session, &call.call);
        self.planned.iter().position(|(planned, _)| *planned == key)
    }

    /// Whether a source is still believed to be unavailable, or not to know a concept.
    fn cached_absence(&self, source: &KnowledgeSource, concept: &str, now: u64) -> Option<LookupAnswer> {
        let believed = |concept: &str| {
            let key = key(&source.name, concept);
            self.absences.iter().any(|(absent, until)| *until > now && *absent == key)
        };
        believed("").then_some(LookupAnswer::Unavailable).or_else(|| believed(concept).then_some(LookupAnswer::Unknown))
    }
}

/// Combines two names into one key.
fn key(one: &str, other: &str) -> String {
    format!("{one}\0{other}")
}

fn remember(memory: &mut Vec<(String, u64)>, key: String, time: u64) {
    memory.retain(|(known, _)| *known != key);
    if memory.len() >= MAX_REMEMBERED {
        memory.remove(0);
    }
    memory.push((key, time));
}

fn join_concepts(concepts: &[String]) -> String {
    format!("[[{}]]", concepts.join("]], [["))
}

fn log_skipped(call: &ToolCall, reason: &str, ports: &Ports) {
    log_call(LogLevel::Debug, call, &format!("was given nothing: {reason}"), "reason", reason.into(), ports);
}

fn log_call(level: LogLevel, call: &ToolCall, said: &str, key: &str, value: Value, ports: &Ports) {
    let details = object(&mut [("tool", call.tool.as_str().into()), ("session", call.session.as_str().into()), (key, value)]);
    ports.log.write(level, &format!("`{}` {said}", call.tool), &details);
}

#[cfg(test)]
mod tests;
