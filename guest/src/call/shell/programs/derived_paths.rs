//! Derives paths from arguments: the folder of a path, a name below a path, and what is at a path.

use super::Invocation;
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::state::ShellState;
use crate::call::shell::reader::{ShellReader, is_below, lexical};
use crate::effects::Access;
use crate::ports::FileKind;

/// What is known about something that is copied or moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A regular file, or nothing at all.
    Plain,
    /// A symbolic link.
    Link,
    /// A folder.
    Folder,
    /// May be any of these.
    Unknown,
}

/// What is at a path, without following a link at its end, provided that the command itself has not changed it.
pub(super) fn entry_kind(reader: &ShellReader<'_>, state: &ShellState, arg: &Arg) -> EntryKind {
    let Some(facts) = state.locate(arg).filter(|path| !reader.is_touched(path)).and_then(|_| reader.facts(state, arg)) else {
        return EntryKind::Unknown;
    };
    if facts.real_path.as_deref().is_some_and(|real| reader.is_touched(real)) {
        return EntryKind::Unknown;
    }
    match facts.kind {
        _ if facts.real_path != facts.entry_path => EntryKind::Link,
        FileKind::File | FileKind::Missing => EntryKind::Plain,
        FileKind::Directory => EntryKind::Folder,
        FileKind::Other | FileKind::Unreadable => EntryKind::Unknown,
    }
}

/// Whether there is a folder at a path, following links; `None` if that is not certain.
pub(super) fn is_folder(reader: &ShellReader<'_>, state: &ShellState, arg: &Arg) -> Option<bool> {
    match entry_kind(reader, state, arg) {
        EntryKind::Plain => Some(false),
        EntryKind::Folder => Some(true),
        EntryKind::Link => reader.kind(state, arg).map(|kind| kind == FileKind::Directory),
        EntryKind::Unknown => None,
    }
}

/// Records that a file is put in place of what is at a path. A link there may be replaced or written through, so both are
/// recorded.
pub(super) fn replace(reader: &mut ShellReader<'_>, call: &Invocation<'_>, arg: &Arg) {
    if entry_kind(reader, call.state, arg) == EntryKind::Link {
        reader.touch(call.state, call.name, arg, Access::Delete);
    }
    reader.touch(call.state, call.name, arg, Access::Write);
}

/// Whether the working directory may be a given folder or be inside it. If the paths cannot be compared, the answer is true.
pub(super) fn may_hold_working_directory(state: &ShellState, arg: &Arg) -> bool {
    let (Some(folder), Some(cwd)) = (state.locate(arg), state.cwd.as_deref()) else { return true };
    let (folder, cwd) = (lexical(&folder), lexical(cwd));
    let is_relative = |path: &str| !path.starts_with(['/', '~']);
    is_relative(&folder) != is_relative(&cwd) || folder == cwd || is_below(&cwd, &folder)
}

/// The last name of a path; `None` if it is `.`, `..`, a root, or not certain.
pub(super) fn base_name(arg: &Arg) -> Option<&str> {
    let path = match arg {
        Arg::Known(path) | Arg::Below(_, path) => path.trim_end_matches('/'),
        Arg::One(_) | Arg::Many(_) => return None,
    };
    path.rsplit('/').next().filter(|name| !matches!(*name, "" | "." | ".."))
}

/// Appends a name to a folder's path.
pub(super) fn below(folder: &Arg, name: &str) -> Arg {
    let join = |path: &str| format!("{path}{}{name}", if path.ends_with('/') { "" } else { "/" });
    match folder {
        Arg::Known(path) if path.is_empty() => Arg::known(""),
        Arg::Known(path) => Arg::Known(join(path)),
        Arg::Below(base, rest) => Arg::Below(*base, join(rest)),
        Arg::One(_) | Arg::Many(_) => Arg::One(String::new()),
    }
}

/// The parent folder of a path.
pub(super) fn parent(arg: &Arg) -> Arg {
    let cut = |path: &str| path.trim_end_matches('/').rsplit_once('/').map(|(folder, _)| folder.to_owned());
    match arg {
        Arg::Known(path) => Arg::Known(match cut(path) {
            Some(folder) if folder.is_empty() => "/".to_owned(),
            Some(folder) => folder,
            None => ".".to_owned(),
        }),
        Arg::Below(base, rest) => cut(rest).map_or_else(|| Arg::One(String::new()), |folder| Arg::Below(*base, folder)),
        Arg::One(_) | Arg::Many(_) => Arg::One(String::new()),
    }
}

/// Appends a suffix to a path's last name.
pub(super) fn append_suffix(arg: &Arg, suffix: &str) -> Arg {
    match arg {
        Arg::Known(path) => Arg::Known(format!("{path}{suffix}")),
        Arg::Below(base, rest) => Arg::Below(*base, format!("{rest}{suffix}")),
        Arg::One(_) | Arg::Many(_) => Arg::One(String::new()),
    }
}

/// Removes a suffix from a path; `None` if the path does not end with it.
pub(super) fn remove_suffix(arg: &Arg, suffix: &str) -> Option<Arg> {
    let strip = |path: &str| path.strip_suffix(suffix).filter(|stem| !stem.is_empty() && !stem.ends_with('/')).map(str::to_owned);
    match arg {
        Arg::Known(path) => strip(path).map(Arg::Known),
        Arg::Below(base, rest) => strip(rest).map(|stem| Arg::Below(*base, stem)),
        Arg::One(_) | Arg::Many(_) => None,
    }
}
