//! Finds the paths in a tool's arguments.

use serde_json::{Map, Value};

use super::super::CallFault;
use super::words::words;
use crate::json;
use crate::programs::{ArgumentMeaning, Tool};

/// How deeply lists and objects are searched for paths.
const MAX_DEPTH: usize = 4;

/// The most paths in the arguments of a call; a patch may name more.
const MAX_PATHS: usize = 1_000;

/// Arguments that contain one or several paths in any tool; written in lower case without `_` and `-`.
const PATHS: &[&str] = &[
    "path",
    "paths",
    "filepath",
    "filepaths",
    "filename",
    "filenames",
    "file",
    "files",
    "targetfile",
    "targetpath",
    "notebookpath",
    "targetnotebook",
    "absolutepath",
    "absolutefilepath",
    "relativepath",
    "relativefilepath",
    "relativeworkspacepath",
    "dirpath",
    "directorypath",
    "directory",
    "dir",
    "folder",
    "folderpath",
    "oldpath",
    "newpath",
    "sourcepath",
    "destinationpath",
];

/// Arguments that contain objects with paths of their own.
const CONTAINERS: &[&str] = &["edits", "replacements", "args", "arguments", "operations", "changes", "items"];

/// Words that show that an unfamiliar argument is a path.
const PATH_WORDS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filepath",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "target",
    "dest",
    "destination",
    "output",
    "uri",
];

/// Words that show that it is something else after all.
const OTHER_WORDS: &[&str] = &[
    "content",
    "contents",
    "text",
    "type",
    "types",
    "format",
    "encoding",
    "language",
    "mode",
    "size",
    "count",
    "limit",
    "id",
    "extension",
    "extensions",
    "pattern",
    "patterns",
    "glob",
    "branch",
    "lines",
    "line",
    "max",
    "min",
];

/// A path and the argument that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) argument: String,
    pub(super) path: String,
}

/// Which arguments are treated as paths.
#[derive(Clone, Copy)]
pub(super) enum PathArguments<'a> {
    /// Those that any program's tools use, except where this tool's record says otherwise.
    Known(&'a Tool),
    /// Also those whose names suggest files.
    Likely,
    /// Exactly these.
    These(&'a [String]),
}

impl PathArguments<'_> {
    fn holds_path(self, argument: &str) -> bool {
        match self {
            Self::Known(tool) => match tool.meaning_of(argument) {
                Some(kind) => matches!(kind, ArgumentMeaning::Path | ArgumentMeaning::Paths),
                None => is_known(argument),
            },
            Self::Likely => is_path(argument),
            Self::These(names) => names.iter().any(|name| name == argument),
        }
    }

    /// Whether a value that is not a path is a fault. If the name was only a hint, the argument is of another kind.
    fn must_be_path(self, argument: &str) -> bool {
        matches!(self, Self::These(_) | Self::Known(_)) || is_known(argument)
    }
}

/// Whether a name suggests several paths.
fn is_plural(argument: &str) -> bool {
    words(argument).iter().any(|word| ["paths", "files", "filepaths", "filenames"].contains(&word.as_str()))
}

/// All paths in the arguments, in order.
pub(super) fn paths(args: &Map<String, Value>, keys: PathArguments<'_>) -> Result<Vec<NamedPath>, CallFault> {
    let mut found = Vec::new();
    collect(args, keys, MAX_DEPTH, &mut found)?;
    Ok(found)
}

fn collect(
    args: &Map<String, Value>,
    keys: PathArguments<'_>,
    depth: usize,
    found: &mut Vec<NamedPath>,
) -> Result<(), CallFault> {
    for (argument, value) in args {
        if keys.holds_path(argument) {
            take(argument, value, keys, depth, found)?;
        } else if CONTAINERS.contains(&fold_name(argument).as_str()) && depth > 0 {
            match value {
                Value::Array(list) => {
                    list.iter().filter_map(Value::as_object).try_for_each(|object| collect(object, keys, depth - 1, found))?
                }
                Value::Object(object) => collect(object, keys, depth - 1, found)?,
                Value::String(text) => {
                    found.extend(tagged_paths(text).map(|path| NamedPath { argument: argument.clone(), path: path.to_owned() }))
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn take(
    argument: &str,
    value: &Value,
    keys: PathArguments<'_>,
    depth: usize,
    found: &mut Vec<NamedPath>,
) -> Result<(), CallFault> {
    if found.len() > MAX_PATHS {
        return Err(CallFault::Argument { name: argument.to_owned(), expected: "at most 1,000 paths" });
    }
    match value {
        Value::Null => Ok(()),
        Value::String(path) => {
            // A list sent as a string: a tool that parses it as a list sees other paths. If a single path is expected, the string
            // may also be an unusual name.
            if let (true, Ok(Value::Array(list))) = (path.trim_start().starts_with('['), json::value(path)) {
                take(argument, &Value::Array(list), keys, depth, found)?;
                if is_plural(argument) {
                    return Ok(());
                }
            }
            found.push(NamedPath { argument: argument.to_owned(), path: path.clone() });
            Ok(())
        }
        Value::Array(list) if depth > 0 => list.iter().try_for_each(|item| take(argument, item, keys, depth - 1, found)),
        Value::Object(object) if depth > 0 => collect(object, keys, depth - 1, found),
        _ if keys.must_be_path(argument) => {
            Err(CallFault::Argument { name: argument.to_owned(), expected: "a path (a string) or a list of paths" })
        }
        _ => Ok(()),
    }
}

/// Older versions of Roo Code sent several files as tags: `<file><path>…</path></file>`.
fn tagged_paths(text: &str) -> impl Iterator<Item = &str> {
    text.split("<path>").skip(1).filter_map(|rest| rest.split("</path>").next()).map(str::trim)
}

/// Whether an argument refers to a symbol within a file, in the notation of language servers: `Class/method`.
pub(super) fn is_symbol(argument: &str) -> bool {
    ["namepath", "namepathpattern", "symbolpath"].contains(&fold_name(argument).as_str())
}

/// Whether the objects in an argument are searched for paths.
pub(super) fn takes_objects(argument: &str) -> bool {
    is_path(argument) || CONTAINERS.contains(&fold_name(argument).as_str())
}

/// Whether an argument has a name that is used for paths in any program's tools.
pub(super) fn is_common(argument: &str) -> bool {
    is_known(argument)
}

/// Whether an argument has a name for paths.
pub(super) fn is_path(argument: &str) -> bool {
    is_known(argument) || is_likely(argument)
}

fn is_known(argument: &str) -> bool {
    PATHS.contains(&fold_name(argument).as_str())
}

fn is_likely(argument: &str) -> bool {
    let words = words(argument);
    let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    any(PATH_WORDS) && !any(OTHER_WORDS) && !is_symbol(argument)
}

/// Whether two names are the same apart from case, `_` and `-`.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    fold_chars(one).eq(fold_chars(other))
}

fn fold_chars(argument: &str) -> impl Iterator<Item = char> {
    argument.chars().filter(|c| !"_-".contains(*c)).flat_map(char::to_lowercase)
}

/// Makes `filePath`, `file_path` and `FILE-PATH` equal.
pub(super) fn fold_name(argument: &str) -> String {
    fold_chars(argument).collect()
}
