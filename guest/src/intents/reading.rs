//! The intents in a text, and what is wrong with it.
//!
//! One bad intent does not hide the faults of the others. What cannot be understood makes the whole file unusable, because
//! nobody knows what was meant; what is understood but wrong only counts for nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::date::is_date;
use super::diagnosis::{Diagnosis, Severity};
use super::document::{self, Field, Found, LISTS, Node, Part};
use super::field::{FIELDS, nearest};
use super::intent::{Intent, IntentId, Status};
use super::place::Place;
use super::scope::Scope;

/// More than anybody reads.
const MAX_DIAGNOSES: usize = 1000;

/// What all patterns may come to once their braces are written out, in characters.
const MAX_IN_PATTERNS: usize = 1 << 20;

/// What a text says.
#[derive(Default)]
pub(super) struct Reading {
    /// In the order of the file.
    pub(super) intents: Vec<Intent>,
    /// By line.
    pub(super) diagnoses: Vec<Diagnosis>,
    /// Why the intents cannot be used, where they cannot.
    pub(super) refused: Option<Diagnosis>,
    more: usize,
    /// The nearest place that is known, for what has none of its own.
    near: Option<Place>,
    /// The lines of the ids.
    ids: BTreeMap<String, u32>,
    in_patterns: usize,
}

/// Reads the YAML text.
pub(super) fn read(text: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let mut lists = 0;
    let mut meant: Option<Node> = None;
    let walked = document::walk(text, &mut |part| match part {
        Part::Key(key) if LISTS.contains(&key.text()) => {
            lists += 1;
            reading.near = key.place;
            if lists > 1 {
                reading.refuse(key.place, &format!("the list `{}:` is a second one; put all intents in one list", key.text()));
            }
        }
        Part::Key(key) => {
            if meant.is_none() && nearest(key.text(), &LISTS).is_some() {
                meant = Some(key);
            }
        }
        Part::List(list) => {
            if let Found::Text(_) | Found::Map(_) = list.found {
                let said = format!("`active_intents:` is {}; write a list, each intent after a `- `", kind(&list.found));
                reading.refuse(list.place, &said);
            }
        }
        Part::Entry(entry) => reading.entry(entry),
    });
    match walked {
        Err((place, why)) => reading.refuse(Some(place), &why),
        Ok(top) => match top.found {
            Found::Text(_) => reading.refuse(top.place, "this is text; write `active_intents:` and a list of intents below it"),
            Found::Map(_) if lists == 0 => {
                let (place, hint) = match meant {
                    Some(key) => (key.place, format!("did you mean that by `{}:`?", key.text())),
                    None => (top.place, "write it and a list of intents below it".to_owned()),
                };
                reading.refuse(place.or(Some(Place::START)), &format!("there is no `active_intents:`; {hint}"));
            }
            _ if reading.refused.is_none() => reading.all_together(),
            _ => {}
        },
    }
    if reading.more > 0 {
        let said = format!("{} more faults are not shown; mend these first", reading.more);
        reading.diagnoses.push(Diagnosis::new(Severity::Warning, None, &said));
    }
    reading
}

impl Reading {
    fn say(&mut self, diagnosis: Diagnosis) {
        if self.diagnoses.len() == MAX_DIAGNOSES {
            self.more += 1;
            return;
        }
        let place = |told: &Diagnosis| (told.line.is_none(), told.line, told.column);
        let later = self.diagnoses.iter().rev().take_while(|told| place(told) > place(&diagnosis)).count();
        self.diagnoses.insert(self.diagnoses.len() - later, diagnosis);
    }

    fn warn(&mut self, place: Option<Place>, message: &str) {
        self.say(Diagnosis::new(Severity::Warning, place.or(self.near), message));
    }

    fn error(&mut self, place: Option<Place>, message: &str) {
        self.say(Diagnosis::new(Severity::Error, place.or(self.near), message));
    }

    /// An error that makes the whole file unusable.
    fn refuse(&mut self, place: Option<Place>, message: &str) {
        let place = place.or(self.near).unwrap_or(Place::START);
        let diagnosis = Diagnosis::new(Severity::Error, Some(place), message);
        self.refused.get_or_insert_with(|| diagnosis.clone());
        self.say(diagnosis);
    }

    fn all_together(&mut self) {
        self.near = None;
        if self.intents.is_empty() {
            self.warn(None, "there are no intents, so nothing can be changed here; add one below `active_intents:`");
        } else if !self.intents.iter().any(|intent| intent.status.is_open()) {
            self.warn(None, "no intent is open, so nothing can be changed here; add one, or set one to IN_PROGRESS");
        }
    }

    fn entry(&mut self, entry: Node) {
        self.near = entry.place.or(self.near);
        let Found::Map(fields) = entry.found else {
            let said = format!("an intent is {}; write `id:`, `name:` and `status:`, each with its value", kind(&entry.found));
            return self.refuse(entry.place, &said);
        };
        let mut fields = self.known(fields);
        let place_of = |name: &str| fields.iter().find(|field| field.key.text() == name).and_then(|field| field.key.place);
        let (id_place, status_place, scope_place) = (place_of("id"), place_of("status"), place_of("owned_scope"));
        let written_id = self.text(&mut fields, "id");
        let whose = match &written_id {
            Said::Text(id) => format!("the intent `{id}`"),
            _ => "the intent".to_owned(),
        };
        let id = self.id(written_id, id_place);
        let status = match self.text(&mut fields, "status") {
            Said::Text(status) => Status::named(&status).or_else(|| {
                self.refuse(status_place, &format!("`{status}` is no status; say one of {}", statuses()));
                None
            }),
            Said::Absent | Said::Nothing => {
                self.refuse(status_place, &format!("{whose} has no `status`; say one of {}", statuses()));
                None
            }
            Said::Wrong => None,
        };
        let name = match self.text(&mut fields, "name") {
            Said::Text(name) => Some(name),
            Said::Absent => {
                self.refuse(None, &format!("{whose} has no `name`; give it a few words"));
                None
            }
            Said::Nothing => {
                self.warn(None, &format!("{whose} has an empty `name`; give it a few words"));
                Some(String::new())
            }
            Said::Wrong => None,
        };
        let description = self.text(&mut fields, "description").some();
        let [created_at, updated_at] = ["created_at", "updated_at"].map(|name| self.date(&mut fields, name));
        let mut texts = |name| self.list(&mut fields, name).unwrap_or_default().into_iter().map(|(text, _)| text).collect();
        let (constraints, acceptance_criteria) = (texts("constraints"), texts("acceptance_criteria"));
        let patterns = self.list(&mut fields, "owned_scope");
        if patterns.as_ref().is_some_and(Vec::is_empty) && status.is_some_and(Status::is_open) {
            let said = format!("{whose} owns nothing, so no change can be made under it; list patterns under `owned_scope:`");
            self.warn(scope_place, &said);
        }
        let owned_scope = self.scope(patterns.unwrap_or_default());
        if let (Some(id), Some(name), Some(status)) = (id, name, status) {
            self.intents.push(Intent {
                id,
                name,
                description,
                status,
                owned_scope,
                constraints,
                acceptance_criteria,
                created_at,
                updated_at,
            });
        }
    }

    /// The fields that are known, each once.
    fn known(&mut self, fields: Vec<Field>) -> Vec<Field> {
        let mut seen = BTreeSet::new();
        let mut kept = Vec::new();
        for field in fields {
            let (key, place) = (field.key.text(), field.key.place);
            if !matches!(field.key.found, Found::Text(_)) {
                self.warn(place, "a key that is no text counts for nothing; take it out");
                continue;
            }
            let is_known = FIELDS.contains(&key);
            if !seen.insert(key.to_owned()) {
                let said = format!("the key `{key}` stands twice in one intent; keep one of them");
                if is_known { self.refuse(place, &said) } else { self.error(place, &said) }
            } else if is_known {
                kept.push(field);
            } else {
                let hint = match nearest(key, &FIELDS) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("known are: {}", FIELDS.join(", ")),
                };
                self.warn(place, &format!("the key `{key}` is not known and counts for nothing; {hint}"));
            }
        }
        kept
    }

    /// The id, if it can be one and is the first of its kind.
    fn id(&mut self, written: Said, place: Option<Place>) -> Option<IntentId> {
        let id = match written {
            Said::Text(id) => IntentId::try_from(id),
            Said::Absent | Said::Nothing => {
                self.refuse(place, "the intent has no `id`; give it one, such as `id: INT-001`");
                return None;
            }
            Said::Wrong => return None,
        };
        let id = match id {
            Ok(id) => id,
            Err(fault) => {
                self.refuse(place, &fault.to_string());
                return None;
            }
        };
        if let Some(first) = self.ids.get(id.as_str()) {
            let said = format!("the id `{id}` stands twice, and the one in line {first} counts; give this one another id");
            self.error(place, &said);
            return None;
        }
        self.ids.insert(id.as_str().to_owned(), place.or(self.near).map_or(1, |place| place.line));
        Some(id)
    }

    fn text(&mut self, fields: &mut Vec<Field>, name: &str) -> Said {
        let Some(field) = take(fields, name) else { return Said::Absent };
        match field.value.found {
            Found::Text(text) => Said::Text(text),
            Found::Nothing => Said::Nothing,
            found => {
                self.refuse(field.key.place, &format!("`{name}` is {}; write text", kind(&found)));
                Said::Wrong
            }
        }
    }

    fn date(&mut self, fields: &mut Vec<Field>, name: &str) -> Option<String> {
        let place = fields.iter().find(|field| field.key.text() == name).and_then(|field| field.key.place);
        let date = self.text(fields, name).some()?;
        if !is_date(&date) {
            let said = format!("`{name}` is `{date}`, which is no RFC 3339 date; write one such as 2026-01-31T12:00:00Z");
            self.warn(place, &said);
        }
        Some(date)
    }

    /// The items with their places; none where no list stands.
    fn list(&mut self, fields: &mut Vec<Field>, name: &str) -> Option<Vec<(String, Option<Place>)>> {
        let Some(Field { key, value }) = take(fields, name) else { return Some(Vec::new()) };
        let mut texts = Vec::new();
        match value.found {
            Found::List(items) => {
                for item in items {
                    match item.found {
                        Found::Text(text) => texts.push((text, item.place)),
                        Found::Nothing => {
                            self.warn(item.place.or(key.place), &format!("an item of `{name}` is empty; take it out"))
                        }
                        found => {
                            let said =
                                format!("an item of `{name}` is {}; write text, in quotes where it holds a `:`", kind(&found));
                            self.refuse(item.place.or(key.place), &said);
                        }
                    }
                }
            }
            Found::Nothing => {}
            found => {
                let said = format!("`{name}` is {}; write a list, each item after a `- `", kind(&found));
                self.refuse(key.place, &said);
                return None;
            }
        }
        Some(texts)
    }

    fn scope(&mut self, patterns: Vec<(String, Option<Place>)>) -> Scope {
        for (pattern, place) in &patterns {
            // Each comma in braces can at most double what a pattern stands for, and 256 times is where it fails.
            let commas = pattern.bytes().filter(|byte| *byte == b',').take(8).count();
            self.in_patterns += pattern.len() << commas;
            if self.in_patterns > MAX_IN_PATTERNS {
                self.refuse(*place, "up to here the patterns come to more than can be kept; use fewer, or fewer braces");
                return Scope::default();
            }
        }
        let (texts, places): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let scope = Scope::compile(texts);
        let mut written = scope.patterns().iter().zip(places);
        for fault in scope.faults() {
            let place = written.find(|(pattern, _)| *pattern == fault.pattern()).and_then(|(_, place)| place);
            self.error(place, &fault.to_string());
        }
        scope
    }
}

/// What stands where a text belongs.
enum Said {
    /// Not even the key.
    Absent,
    /// The key, and nothing behind it.
    Nothing,
    /// Something else; that has been told.
    Wrong,
    Text(String),
}

impl Said {
    fn some(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

fn take(fields: &mut Vec<Field>, name: &str) -> Option<Field> {
    let at = fields.iter().position(|field| field.key.text() == name)?;
    Some(fields.swap_remove(at))
}

fn kind(found: &Found) -> &'static str {
    match found {
        Found::Nothing => "empty",
        Found::Text(_) => "text",
        Found::List(_) => "a list",
        Found::Map(_) => "a map",
    }
}

fn statuses() -> String {
    Status::ALL.map(Status::as_str).join(", ")
}
