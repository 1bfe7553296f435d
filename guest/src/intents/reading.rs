//! Parses `active_intents.yaml` into intents and diagnostics.
//!
//! One bad intent does not hide the faults of the others. What cannot be understood makes the whole file unusable, because
//! it is not clear what was meant; what is understood but wrong is only ignored.

use std::collections::{BTreeMap, BTreeSet};

use super::date::is_date;
use super::diagnosis::{Diagnosis, Severity};
use super::field::{FIELDS, nearest};
use super::intent::{Intent, IntentId, Status};
use super::scope::Scope;
use crate::yaml::{self, MapFields, Mark, Node, NodeKind};

#[cfg(test)]
mod tests;

/// The keys under which the list of intents can be.
const LISTS: [&str; 2] = ["active_intents", "intents"];

/// Maximum number of diagnoses: more than anybody reads.
const MAX_DIAGNOSES: usize = 1000;

/// Maximum size of all patterns once their braces are written out, in characters.
const MAX_IN_PATTERNS: usize = 1 << 20;

/// The result of parsing.
#[derive(Default)]
pub(super) struct Reading {
    /// The intents, in the order of the file.
    pub(super) intents: Vec<Intent>,
    /// The diagnoses, by line.
    pub(super) diagnoses: Vec<Diagnosis>,
    /// Why the intents cannot be used, if they cannot.
    pub(super) refused: Option<Diagnosis>,
    /// How many diagnoses were left out.
    more: usize,
    /// The line of each id.
    ids: BTreeMap<String, u32>,
    in_patterns: usize,
}

/// A field of an intent.
#[derive(Clone, Copy)]
struct IntentField<'d> {
    name: &'static str,
    key: Mark,
    value: Node<'d>,
}

/// Parses the YAML text.
pub(super) fn read(text: &[u8]) -> Reading {
    let document = yaml::parse(text);
    let (root, is_whole) = (document.root(), document.fault().is_none());
    let mut reading = Reading::default();
    // Reported before the intents, so that a thousand faults in them do not hide it.
    if let Some(fault) = document.fault() {
        reading.refuse(fault.mark, &fault.message);
    }
    match root.kind() {
        NodeKind::List(items) => items.for_each(|item| reading.entry(item)),
        NodeKind::Map(fields) => reading.top(root.mark(), fields, is_whole),
        NodeKind::Text(_) if is_whole => {
            reading.refuse(root.mark(), "this is text; write `active_intents:` and a list of intents below it");
        }
        NodeKind::Text(_) | NodeKind::Null => {}
    }
    if reading.refused.is_none() {
        reading.check_all();
    }
    if reading.more > 0 {
        let message = format!("{} more errors are not shown; fix these first", reading.more);
        reading.diagnoses.push(Diagnosis::new(Severity::Warning, None, &message));
    }
    reading
}

impl Reading {
    fn add(&mut self, diagnosis: Diagnosis) {
        if self.diagnoses.len() == MAX_DIAGNOSES {
            self.more += 1;
            return;
        }
        let place = |other: &Diagnosis| (other.line.is_none(), other.line, other.column);
        let later = self.diagnoses.iter().rev().take_while(|other| place(other) > place(&diagnosis)).count();
        self.diagnoses.insert(self.diagnoses.len() - later, diagnosis);
    }

    fn warn(&mut self, mark: Mark, message: &str) {
        self.add(Diagnosis::new(Severity::Warning, Some(mark), message));
    }

    fn error(&mut self, mark: Mark, message: &str) {
        self.add(Diagnosis::new(Severity::Error, Some(mark), message));
    }

    /// An error that makes the whole file unusable.
    fn refuse(&mut self, mark: Mark, message: &str) {
        let diagnosis = Diagnosis::new(Severity::Error, Some(mark), message);
        self.refused.get_or_insert_with(|| diagnosis.clone());
        self.add(diagnosis);
    }

    /// Reports what is missing in a file that can be used.
    fn check_all(&mut self) {
        let message = if self.intents.is_empty() {
            "there are no intents, so nothing can be changed here; add one below `active_intents:`"
        } else if !self.intents.iter().any(|intent| intent.status.is_open()) {
            "no intent is open, so nothing can be changed here; add one, or set one to IN_PROGRESS"
        } else {
            return;
        };
        self.add(Diagnosis::new(Severity::Warning, None, message));
    }

    /// Reads a document that is a map. If the document is not whole, what is missing may still come.
    fn top(&mut self, mark: Mark, fields: MapFields<'_>, is_whole: bool) {
        let mut has_list = false;
        let mut similar: Option<(Mark, &str)> = None;
        for (key, value) in fields {
            let name = key.text().unwrap_or_default();
            if !LISTS.contains(&name) {
                similar = similar.or_else(|| nearest(name, &LISTS).map(|_| (key.mark(), name)));
                continue;
            }
            if has_list {
                self.refuse(key.mark(), &format!("`{name}:` is a second list of intents; put all intents in one list"));
            }
            has_list = true;
            match value.kind() {
                NodeKind::List(items) => items.for_each(|item| self.entry(item)),
                NodeKind::Null => {}
                NodeKind::Text(_) | NodeKind::Map(_) => {
                    let found = describe(value);
                    self.refuse(value.mark(), &format!("`{name}:` is {found}; write a list, each intent after a `- `"));
                }
            }
        }
        if !has_list && is_whole {
            let (mark, hint) = match similar {
                Some((mark, key)) => (mark, format!("rename `{key}:` if it was meant to be that")),
                None => (mark, "write it and a list of intents below it".to_owned()),
            };
            self.refuse(mark, &format!("there is no `active_intents:`; {hint}"));
        }
    }

    fn entry(&mut self, entry: Node<'_>) {
        if !entry.is_whole() {
            return;
        }
        let NodeKind::Map(fields) = entry.kind() else {
            let found = describe(entry);
            let message = format!("an intent is {found}; write `id:`, `name:` and `status:`, each with its value");
            return self.refuse(entry.mark(), &message);
        };
        let [id, name, description, status, owned_scope, constraints, acceptance_criteria, created_at, updated_at] =
            self.known_fields(fields);
        let whose = match id.and_then(|id| id.value.text()) {
            Some(id) => format!("the intent `{id}`"),
            None => "the intent".to_owned(),
        };
        let id = self.id(id, entry.mark());
        let status = self.status(status, &whose, entry.mark());
        let name = match self.text(name) {
            FieldText::Text(name) => Some(name.to_owned()),
            FieldText::Absent => {
                self.refuse(entry.mark(), &format!("{whose} has no `name`; give it a few words"));
                None
            }
            FieldText::Empty(key) => {
                self.warn(key, &format!("{whose} has an empty `name`; give it a few words"));
                Some(String::new())
            }
            FieldText::Wrong => None,
        };
        let description = self.text(description).some();
        let [created_at, updated_at] = [created_at, updated_at].map(|field| self.date(field));
        let [constraints, acceptance_criteria] = [constraints, acceptance_criteria].map(|field| {
            let items = self.list(field).unwrap_or_default();
            items.into_iter().filter_map(Node::text).map(str::to_owned).collect()
        });
        let patterns = self.list(owned_scope);
        if patterns.as_ref().is_some_and(Vec::is_empty) && status.is_some_and(Status::is_open) {
            let message = format!("{whose} owns nothing, so no change can be made under it; list patterns under `owned_scope:`");
            self.warn(owned_scope.map_or(entry.mark(), |field| field.key), &message);
        }
        let owned_scope = self.scope(&patterns.unwrap_or_default());
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

    /// The known fields, in the order of [`FIELDS`].
    fn known_fields<'d>(&mut self, fields: MapFields<'d>) -> [Option<IntentField<'d>>; FIELDS.len()] {
        let mut known = [None; FIELDS.len()];
        let mut unknown = BTreeSet::new();
        for (key, value) in fields {
            let mark = key.mark();
            let Some(name) = key.text() else {
                self.warn(mark, "this key is not text and is ignored; remove it");
                continue;
            };
            let twice = || format!("the key `{name}` appears twice in one intent; keep one of them");
            let field = FIELDS.into_iter().zip(&mut known).find(|(known, _)| *known == name);
            match field {
                Some((_, Some(_))) => self.refuse(mark, &twice()),
                Some((name, field)) => *field = Some(IntentField { name, key: mark, value }),
                None if !unknown.insert(name) => self.error(mark, &twice()),
                None => {
                    let hint = match nearest(name, &FIELDS) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => format!("expected one of: {}", FIELDS.join(", ")),
                    };
                    self.warn(mark, &format!("the key `{name}` is not known and is ignored; {hint}"));
                }
            }
        }
        known
    }

    /// The id, if it can be one and is the first of its kind.
    fn id(&mut self, field: Option<IntentField<'_>>, entry: Mark) -> Option<IntentId> {
        let (id, mark) = match (self.text(field), field) {
            (FieldText::Text(id), Some(field)) => (id, field.value.mark()),
            (FieldText::Wrong, _) => return None,
            _ => {
                let mark = field.map_or(entry, |field| field.key);
                self.refuse(mark, "the intent has no `id`; give it one, such as `id: INT-001`");
                return None;
            }
        };
        let id = IntentId::try_from(id.to_owned()).map_err(|fault| self.refuse(mark, &fault.to_string())).ok()?;
        if let Some(first) = self.ids.get(id.as_str()) {
            let message = format!("the id `{id}` appears twice, and the one on line {first} is used; give this one another id");
            self.error(mark, &message);
            return None;
        }
        self.ids.insert(id.as_str().to_owned(), mark.line);
        Some(id)
    }

    fn status(&mut self, field: Option<IntentField<'_>>, whose: &str, entry: Mark) -> Option<Status> {
        let (mark, message) = match (self.text(field), field) {
            (FieldText::Text(status), Some(field)) => match Status::from_name(status) {
                Some(status) => return Some(status),
                None => (field.value.mark(), format!("`{status}` is not a status; use one of {}", statuses())),
            },
            (FieldText::Wrong, _) => return None,
            (_, field) => {
                let mark = field.map_or(entry, |field| field.key);
                (mark, format!("{whose} has no `status`; use one of {}", statuses()))
            }
        };
        self.refuse(mark, &message);
        None
    }

    fn text<'d>(&mut self, field: Option<IntentField<'d>>) -> FieldText<'d> {
        let Some(IntentField { name, key, value }) = field else { return FieldText::Absent };
        match value.kind() {
            NodeKind::Text(text) => FieldText::Text(text),
            NodeKind::Null => FieldText::Empty(key),
            NodeKind::List(_) | NodeKind::Map(_) => {
                self.refuse(value.mark(), &format!("`{name}` is {}; write text", describe(value)));
                FieldText::Wrong
            }
        }
    }

    fn date(&mut self, field: Option<IntentField<'_>>) -> Option<String> {
        let date = self.text(field).some()?;
        if let Some(IntentField { name, value, .. }) = field
            && !is_date(&date)
        {
            let example = "write one such as 2026-01-31T12:00:00Z";
            self.warn(value.mark(), &format!("`{name}` is `{date}`, which is not an RFC 3339 date; {example}"));
        }
        Some(date)
    }

    /// The items that are text; `None` if the field is something other than a list.
    fn list<'d>(&mut self, field: Option<IntentField<'d>>) -> Option<Vec<Node<'d>>> {
        let Some(IntentField { name, value, .. }) = field else { return Some(Vec::new()) };
        let mut texts = Vec::new();
        match value.kind() {
            NodeKind::List(items) => {
                for item in items {
                    match item.kind() {
                        NodeKind::Text(_) => texts.push(item),
                        NodeKind::Null => self.warn(item.mark(), &format!("an item of `{name}` is empty; remove it")),
                        NodeKind::List(_) | NodeKind::Map(_) => {
                            let found = describe(item);
                            let message = format!("an item of `{name}` is {found}; write text, in quotes if it contains a `:`");
                            self.refuse(item.mark(), &message);
                        }
                    }
                }
            }
            NodeKind::Null => {}
            NodeKind::Text(_) | NodeKind::Map(_) => {
                let found = describe(value);
                self.refuse(value.mark(), &format!("`{name}` is {found}; write a list, each item after a `- `"));
                return None;
            }
        }
        Some(texts)
    }

    fn scope(&mut self, patterns: &[Node<'_>]) -> Scope {
        let mut texts = Vec::with_capacity(patterns.len());
        for (node, pattern) in patterns.iter().filter_map(|node| Some((node, node.text()?))) {
            // Each comma in braces can at most double what a pattern expands to, and 256 times is where compilation fails.
            let commas = pattern.bytes().filter(|byte| *byte == b',').take(8).count();
            self.in_patterns += pattern.len() << commas;
            if self.in_patterns > MAX_IN_PATTERNS {
                let message = "this pattern exceeds the limit for all intents together; use fewer patterns or fewer braces";
                self.refuse(node.mark(), message);
                return Scope::default();
            }
            texts.push(pattern.to_owned());
        }
        let scope = Scope::compile(texts);
        let mut written = patterns.iter();
        for fault in scope.faults() {
            if let Some(node) = written.find(|node| node.text() == Some(fault.pattern())) {
                self.error(node.mark(), &fault.to_string());
            }
        }
        scope
    }
}

/// What a field contains where text belongs.
enum FieldText<'d> {
    /// The key is missing.
    Absent,
    /// The key has no value.
    Empty(Mark),
    /// The value is something else, which has been reported.
    Wrong,
    Text(&'d str),
}

impl FieldText<'_> {
    fn some(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text.to_owned()) } else { None }
    }
}

fn describe(node: Node<'_>) -> &'static str {
    match node.kind() {
        NodeKind::Null => "empty",
        NodeKind::Text(_) => "text",
        NodeKind::List(_) => "a list",
        NodeKind::Map(_) => "a map",
    }
}

fn statuses() -> String {
    Status::ALL.map(Status::as_str).join(", ")
}
