//! Judges tools without a record, mostly MCP tools. The name only hints at what the tool does: a call counts as reading only if
//! every argument has a harmless name and a harmless value.

use serde_json::{Map, Value};

use super::super::CallFault;
use super::arguments::{self, NamedPath, PathArguments};
use super::commands::RUNNER;
use super::unfamiliar::{self, is_folder, is_plain_word, is_suspect};
use super::verbs::{self, Verb};
use super::words::words;
use super::{FootprintBuilder, MAX_DEPTH, queries};
use crate::effects::Access;
use crate::effects::path::{candidates, join};
use crate::servers::Treatment;

/// The last words of names of values that are only looked up, used as filters or counted.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "account", "after", "app", "area", "assignee", "author", "before", "board", "branch", "by",
    "category", "channel", "chars", "city", "collection", "column", "columns", "component", "conversation", "count",
    "country", "created", "currency", "cursor", "customer", "dashboard", "database", "dataset", "date", "day", "days",
    "depth", "description", "direction", "document", "domain", "email", "encoding", "end", "entity", "event", "exclude",
    "excludes", "expand", "extension", "extensions", "field", "fields", "filter", "filters", "format", "framework",
    "frameworks", "from", "glob", "globs", "group", "hash", "head", "host", "id", "identifier", "ids", "include", "includes",
    "index", "issue", "issues", "item", "job", "jql", "key", "keys", "keyword", "keywords", "kind", "label",
    "labels", "language", "languages", "length", "level", "library", "limit", "line", "lines", "locale", "mask", "max",
    "metric", "milestone", "min", "mode", "model", "module", "month", "name", "names", "namespace", "node",
    "nodes", "number", "numbers", "offset", "order", "org", "organization", "owner", "package", "page", "pages",
    "pagination", "parent", "pattern", "patterns", "phrase", "pod", "priority", "product", "project", "projects",
    "pull", "q", "qualifier", "query", "question", "range", "ref", "regex", "region", "release", "repo", "repos",
    "repository", "resource", "resources", "revision", "role", "schema", "scope", "search", "section", "selector",
    "service", "severity", "sha", "since", "size", "skip", "slug", "sort", "source", "start", "state", "states", "status",
    "step", "substring", "symbol", "table", "tables", "tag", "tags", "tail", "team", "tenant", "term", "terms",
    "thread", "ticket", "time", "timestamp", "timezone", "title", "token", "tokens", "top", "topic", "topics",
    "trace", "type", "types", "unit", "units", "until", "updated", "uri", "uris", "url", "urls", "user", "username", "users",
    "version", "view", "visibility", "week", "workflow", "year",
];

/// Words for what a tool puts into the files that it names.
#[rustfmt::skip]
const CONTENT: &[&str] = &[
    "body", "changes", "content", "contents", "data", "edits", "entries", "insert", "json", "line", "lines", "markdown",
    "message", "new", "newtext", "old", "oldtext", "operations", "replace", "replacement", "replacements", "search",
    "source", "str", "string", "symbol", "text", "title", "value",
];

/// Functions of editors that are selected with an argument `command`.
const FUNCTIONS: &[&str] =
    &["append", "create", "edit", "insert", "read", "replace", "str_replace", "undo_edit", "view", "write"];

/// The kind of an argument to a tool whose name says that it reads.
enum ArgumentRisk {
    /// The argument does no harm.
    Harmless,
    /// It names what is read.
    Looked,
    /// It may name where something is saved.
    Saved,
    /// It could be anything.
    Unclear,
}

impl FootprintBuilder<'_> {
    /// Judges a tool without a record.
    pub(super) fn apply_name(&mut self) -> Result<(), CallFault> {
        let unclear = format!("what the tool `{}` does is not known; {}", self.tool, self.remedy());
        match verbs::verb(self.tool) {
            Verb::Reads => self.record_reads(),
            Verb::Runs => self.run(unclear),
            Verb::Unclear => self.record_unclear(unclear),
            verb => {
                match verb {
                    Verb::Moves => self.relocate(Access::Delete)?,
                    Verb::Copies => self.relocate(Access::Read)?,
                    Verb::Deletes => drop(self.record_paths(Access::Delete, PathArguments::Likely)?),
                    Verb::MakesFolders => drop(self.record_paths(Access::MakeFolder, PathArguments::Likely)?),
                    _ => {
                        self.record_paths(Access::Write, PathArguments::Likely)?;
                        self.patch_beside()?;
                    }
                }
                if self.found.touches.is_empty() {
                    return self.record_unfamiliar(unclear);
                }
                self.check_writer()
            }
        }
    }

    /// Judges a tool whose name says that it reads.
    fn record_reads(&mut self) -> Result<(), CallFault> {
        for (argument, value) in self.args {
            match self.risk_of(argument, value) {
                ArgumentRisk::Harmless => {}
                ArgumentRisk::Looked => {
                    let one = Map::from_iter([(argument.clone(), value.clone())]);
                    for NamedPath { path, .. } in arguments::paths(&one, PathArguments::Likely)? {
                        self.touch(&path, Access::Read)?;
                    }
                }
                ArgumentRisk::Saved => {
                    self.record_save_location(value);
                    self.record_doubt(argument)?;
                }
                ArgumentRisk::Unclear => self.record_doubt(argument)?,
            }
        }
        Ok(())
    }

    /// Records a location where something may be saved, if the value is a path.
    fn record_save_location(&mut self, value: &Value) {
        if let Some(Ok(places)) = value.as_str().map(|path| candidates(path, self.cwd)) {
            places.into_iter().for_each(|place| self.found.touch(place, Access::Write));
        }
    }

    fn record_doubt(&mut self, argument: &str) -> Result<(), CallFault> {
        self.record_unfamiliar(format!("what `{}` does with `{argument}` is not known; {}", self.tool, self.remedy()))
    }

    /// Reports that something about a call is not known because the tool has no record, unless a person has vouched for the tool.
    pub(super) fn record_unfamiliar(&mut self, why: String) -> Result<(), CallFault> {
        match self.treatment {
            Treatment::Unknown => {
                self.found.unfamiliar = true;
                self.unknown(why)
            }
            Treatment::Reads => Ok(()),
            Treatment::Runs => self.execute(),
        }
    }

    /// The same for a tool whose name does not even say what it does with its paths. Paths that it is clearly given count as
    /// written, unless the tool only reads.
    pub(super) fn record_unclear(&mut self, why: String) -> Result<(), CallFault> {
        let access = if self.treatment == Treatment::Reads { Access::Read } else { Access::Write };
        if self.treatment != Treatment::Unknown {
            match self.places_named(access) {
                Ok(places) => places.into_iter().for_each(|place| self.found.touch(place, access)),
                Err(_) => return self.unknown(why),
            }
        }
        self.record_unfamiliar(why)
    }

    /// Every location that an argument names as a path.
    fn places_named(&self, access: Access) -> Result<Vec<String>, CallFault> {
        let mut places = Vec::new();
        for NamedPath { path, .. } in arguments::paths(self.args, PathArguments::Likely)? {
            places.extend(self.candidates(&path, access)?);
        }
        Ok(places)
    }

    /// How a person can declare what a tool does: the exact command, if the tool's name can be part of one.
    fn remedy(&self) -> String {
        let is_plain = self.tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c));
        if is_plain && !self.tool.starts_with('-') {
            format!("a person can declare what it does, for instance `tollgate tools allow '{}' read`", self.tool)
        } else {
            format!("a person can declare what it does in `{}`", crate::config::PATH)
        }
    }

    fn risk_of(&self, argument: &str, value: &Value) -> ArgumentRisk {
        const SAVES: &[&str] = &[
            "dest",
            "destination",
            "download",
            "export",
            "out",
            "outdir",
            "outfile",
            "output",
            "outpath",
            "save",
            "saveas",
            "write",
            "writes",
        ];
        let words = words(argument);
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let plain = value.as_str().is_some_and(is_plain_word);
        match value {
            Value::Null | Value::Number(_) => return ArgumentRisk::Harmless,
            Value::Bool(yes) => {
                let dry = has(&["dry", "dryrun", "readonly", "preview", "simulate"]);
                let acts = words.iter().any(|word| verbs::is_action(word));
                return if (acts && *yes && !dry) || (dry && !yes) { ArgumentRisk::Unclear } else { ArgumentRisk::Harmless };
            }
            _ => {}
        }
        match words.last().map(String::as_str) {
            // `output: "json"`, `target: "main"`, `country_code: "DE"` are choices, not paths.
            Some("output" | "target") if plain && words.len() == 1 => ArgumentRisk::Harmless,
            Some("code" | "mode" | "format" | "type") if plain && words.len() > 1 => ArgumentRisk::Harmless,
            Some("sql") if value.as_str().is_some_and(queries::is_select) => ArgumentRisk::Harmless,
            _ if has(SAVES) => ArgumentRisk::Saved,
            Some("uri" | "uris" | "url" | "urls") if self.is_harmless(value, MAX_DEPTH) => ArgumentRisk::Harmless,
            _ if arguments::is_symbol(argument) && self.is_harmless(value, MAX_DEPTH) => ArgumentRisk::Harmless,
            _ if arguments::is_path(argument) && !has(&["target", "targets"]) && is_paths(value, MAX_DEPTH) => {
                ArgumentRisk::Looked
            }
            // One of the choices may be to change something.
            Some("method" | "action" | "operation") if value.as_str().is_some_and(is_reading_choice) => ArgumentRisk::Harmless,
            Some("mode" | "type" | "kind") if value.as_str().is_some_and(is_changing_choice) => ArgumentRisk::Unclear,
            Some("text" | "string") if verbs::suggests_search(self.tool) && self.is_harmless(value, MAX_DEPTH) => {
                ArgumentRisk::Harmless
            }
            Some(last) if HARMLESS.contains(&last) && !has(&["command", "cmd", "script", "code", "shell", "sql", "target"]) => {
                if self.is_harmless(value, MAX_DEPTH) {
                    ArgumentRisk::Harmless
                } else {
                    ArgumentRisk::Unclear
                }
            }
            Some(last) if ["to", "target"].contains(&last) => ArgumentRisk::Saved,
            _ if is_suspect(argument) && value.is_string() && arguments::is_path(argument) => ArgumentRisk::Saved,
            _ => ArgumentRisk::Unclear,
        }
    }

    /// Whether a value is neither an option, nor a command, nor a statement that changes something.
    fn is_harmless(&self, value: &Value, depth: usize) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) if verbs::suggests_queries(self.tool) => {
                !text.starts_with('-') && !queries::is_command(text) && (queries::is_prose(text) || queries::is_select(text))
            }
            Value::String(text) => {
                let searched = verbs::suggests_search(self.tool);
                !queries::is_statement(text) && (searched || !(text.starts_with('-') || queries::is_command(text)))
            }
            Value::Array(list) => depth > 0 && list.iter().all(|value| self.is_harmless(value, depth - 1)),
            Value::Object(object) => {
                let harmless =
                    |(name, value): (&String, &Value)| !is_suspect(name) && self.is_harmless(value, depth.saturating_sub(1));
                depth > 0 && object.iter().all(harmless)
            }
        }
    }

    /// Checks the other arguments of a tool that says what it does to the files it names: content, or nothing important.
    fn check_writer(&mut self) -> Result<(), CallFault> {
        const PATCHES: &[&str] = &["patch", "patchtext", "diff"];
        let runs = verbs::suggests_running(self.tool);
        let gives_content = verbs::verb(self.tool) == Verb::Writes;
        let mut folders = 0;
        let mut files = 0;
        for (argument, value) in self.args {
            let words = words(argument);
            let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
            let last = words.last().map_or("", String::as_str);
            let harmless = match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => true,
                _ if PATCHES.contains(&arguments::fold_name(argument).as_str()) => true,
                Value::String(text) if argument == "command" && !runs => FUNCTIONS.contains(&text.as_str()),
                _ if self.is_relocated(argument) || arguments::is_path(argument) => {
                    if is_folder(argument) && argument != "path" {
                        folders += 1
                    } else {
                        files += 1
                    }
                    true
                }
                _ if arguments::is_symbol(argument) => true,
                _ if is_suspect(argument) => false,
                // They select files, but it is not known which.
                _ if has(&["exclude", "excludes", "glob", "globs", "include", "includes", "mask"]) => false,
                _ if has(&["pattern", "patterns", "filter", "regex"]) && !gives_content => false,
                _ => has(CONTENT) || HARMLESS.contains(&last),
            };
            let taken: Option<fn(&str) -> bool> = arguments::takes_objects(argument).then_some(arguments::is_path);
            if !harmless || unfamiliar::contains_suspect(value, taken, MAX_DEPTH) {
                self.record_doubt(argument)?;
            }
            if let Some(command) = value.as_str().filter(|_| unfamiliar_command(argument, value, runs)) {
                let footprint = self.judge_text(&RUNNER, command, &join("", self.cwd.unwrap_or(".")))?;
                self.merge(footprint)?;
            }
        }
        // It is not known whether one is relative to the other.
        if folders > 0 && files > 0 {
            return self.record_unfamiliar(format!(
                "`{}` names a folder as well as files, and whether they are relative to it is not known",
                self.tool
            ));
        }
        Ok(())
    }

    /// Whether a move or a copy treats the argument as one of its ends.
    fn is_relocated(&self, argument: &str) -> bool {
        let words = words(argument);
        matches!(verbs::verb(self.tool), Verb::Moves | Verb::Copies)
            && words.iter().any(|word| super::SOURCES.contains(&word.as_str()) || super::TARGETS.contains(&word.as_str()))
    }
}

/// Whether an argument is a command besides files. A single word is more likely one of the tool's own functions, unless the
/// tool's name suggests running something.
fn unfamiliar_command(argument: &str, value: &Value, runs: bool) -> bool {
    let several = value.as_str().is_some_and(|text| text.trim().contains(char::is_whitespace));
    ["command", "cmd"].contains(&argument) && value.is_string() && (runs || several)
}

/// Whether a value contains only paths: strings, and lists or objects of strings.
fn is_paths(value: &Value, depth: usize) -> bool {
    match value {
        Value::String(text) => !text.starts_with('-'),
        Value::Array(list) => depth > 0 && list.iter().all(|value| is_paths(value, depth - 1)),
        Value::Object(object) => {
            depth > 0 && object.iter().all(|(name, value)| arguments::is_path(name) && is_paths(value, depth - 1))
        }
        _ => false,
    }
}

/// Whether a choice says that something is changed: in words, or as a mode of opening a file.
fn is_changing_choice(choice: &str) -> bool {
    words(choice).iter().any(|word| verbs::is_action(word))
        || ["w", "a", "x", "wb", "ab", "w+", "a+", "r+", "rw"].contains(&choice)
}

/// Whether a choice says that something is only read.
fn is_reading_choice(choice: &str) -> bool {
    is_plain_word(choice) && matches!(verbs::verb(choice), Verb::Reads)
}
