//! Paths as agents write them, and the locations that they resolve to.

use std::fmt;

/// A path inside the workspace: relative, names separated by `/`, without `.`, `..` or empty names. `.` is the workspace itself.
///
/// It can only be made from a path that a host reported after following every link, so two of them are the same place exactly if
/// they are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its names, from the top down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| *name != ".")
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// What a path resolves to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// Into the workspace.
    Inside(WorkspacePath),
    /// Outside the workspace; absolute.
    Outside(String),
}

impl Location {
    /// Classifies a path that a host reported.
    pub fn from_host(path: &str) -> Self {
        let names = |name: &str| !name.is_empty() && name != "." && name != "..";
        if path == "." || (!is_absolute(path) && path.split('/').all(names)) {
            Self::Inside(WorkspacePath(path.to_owned()))
        } else {
            Self::Outside(path.to_owned())
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Inside(path) => path.as_str(),
            Self::Outside(path) => path,
        }
    }
}

/// Why a path is rejected before it is resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// It is empty.
    #[error("the path is empty; name a file")]
    Empty,
    /// It contains a control character, which no legitimate path contains.
    #[error("the path `{0}` contains a control character; remove it")]
    ControlCharacter(String),
    /// It is a URI, not a path.
    #[error("`{0}` is a URI, not a path; give the file's path")]
    Uri(String),
    /// It names a network share or a drive letter.
    #[error("`{0}` names a drive or a network share; give a path in the workspace")]
    Drive(String),
    /// It starts in another user's home folder.
    #[error("`{0}` starts in another user's home folder; give a path in the workspace")]
    OtherHome(String),
    /// It goes through a device or through a process's own links, which lead elsewhere for every process that follows them.
    #[error("`{0}` goes through `/proc` or `/dev` and may lead anywhere; give the file's own path")]
    Magic(String),
    /// It is longer than any supported system accepts.
    #[error("the path is {0} bytes long; use at most {MAX_PATH_BYTES}")]
    TooLong(usize),
}

/// The longest path, in bytes. No known system opens a longer one.
const MAX_PATH_BYTES: usize = 4096;

/// Devices that discard what is written to them.
const SINKS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/stdin"];

/// Rejects text that is not a path, and joins a relative path to the working directory. Redundant separators and `.` are removed;
/// `..` is kept, because only a host that sees the links can resolve it; `~` is kept at the start of a path in the home folder.
///
/// Unicode is left alone: there is no normalization and no case folding, and zero-width or bidirectional characters are
/// characters of a name like any other.
pub fn normalize(path: &str, cwd: Option<&str>) -> Result<String, PathFault> {
    if path.is_empty() {
        return Err(PathFault::Empty);
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(PathFault::TooLong(path.len()));
    }
    if path.chars().any(char::is_control) {
        return Err(PathFault::ControlCharacter(path.escape_debug().to_string()));
    }
    if has_scheme(path) {
        return Err(PathFault::Uri(path.to_owned()));
    }
    if path.starts_with(r"\\") || is_drive(path) {
        return Err(PathFault::Drive(path.to_owned()));
    }
    if is_other_home(path) {
        return Err(PathFault::OtherHome(path.to_owned()));
    }
    let joined = join(cwd.unwrap_or_default(), path);
    if joined.chars().any(char::is_control) {
        return Err(PathFault::ControlCharacter(joined.escape_debug().to_string()));
    }
    Ok(joined)
}

/// Every location that a path may mean when something is changed there: none for a device that discards data, two where `\` may
/// be either a character of a name or a separator.
pub fn candidates(path: &str, cwd: Option<&str>) -> Result<Vec<String>, PathFault> {
    let mut places = Vec::new();
    for reading in [Some(path.to_owned()), path.contains('\\').then(|| path.replace('\\', "/"))].into_iter().flatten() {
        let place = normalize(&reading, cwd)?;
        if is_persistent(&place)? && !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// Whether data written to the path is kept. Paths that lead through devices or processes are rejected.
pub fn is_persistent(path: &str) -> Result<bool, PathFault> {
    if SINKS.contains(&path) {
        return Ok(false);
    }
    let names = lexical(path);
    let process = |name: &str| name == "self" || name == "thread-self" || name.bytes().all(|byte| byte.is_ascii_digit());
    let link = |name: &str| ["cwd", "root", "exe", "fd", "task", "map_files"].contains(&name);
    let through_process = names.windows(3).any(|three| matches!(three, ["proc", id, rest] if process(id) && link(rest)));
    let special = is_absolute(path) && matches!(names.first(), Some(&("proc" | "dev")));
    // A relative path with `..` may reach `/proc` from anywhere.
    if special || (through_process && (is_absolute(path) || path.contains(".."))) {
        return Err(PathFault::Magic(path.to_owned()));
    }
    Ok(true)
}

/// The system's shared folders for temporary files, by their real paths.
const TEMPORARY_FOLDERS: &[&str] = &["/tmp/", "/var/tmp/", "/private/tmp/", "/private/var/tmp/"];

/// For a real path in a temporary folder: the folder's entry that it is or lies below, and whether it is that entry itself.
pub fn temporary_entry(path: &str) -> Option<(&str, bool)> {
    let folder = TEMPORARY_FOLDERS.iter().find(|folder| path.starts_with(**folder))?;
    let name = path.get(folder.len()..)?.split('/').next().filter(|name| !name.is_empty())?;
    let entry = path.get(..folder.len() + name.len())?;
    Some((entry, entry.len() == path.len()))
}

/// The names of a path with `..` resolved textually: where it leads if there are no links.
pub fn lexical(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names
}

/// Joins a path to a folder, unless the path is absolute or starts in the home folder, and removes redundant parts. A trailing
/// separator is kept: after a link it means the folder that the link leads to.
pub fn join(folder: &str, path: &str) -> String {
    let own = path.starts_with('/') || path == "~" || path.starts_with("~/");
    let whole = if own || folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let mut tidy = String::with_capacity(whole.len());
    if whole.starts_with('/') {
        tidy.push('/');
    }
    for name in whole.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if !tidy.is_empty() && !tidy.ends_with('/') {
            tidy.push('/');
        }
        tidy.push_str(name);
    }
    if tidy.is_empty() {
        tidy.push('.');
    } else if matches!(whole.rsplit('/').next(), Some("" | ".")) && !tidy.ends_with('/') {
        tidy.push('/');
    }
    // Without the prefix, this name looks like something else, such as a drive.
    if is_special(&tidy) && !is_special(&whole) {
        tidy.insert_str(0, "./");
    }
    tidy
}

/// Whether the beginning of a path has a special meaning, also where `\` is a separator.
fn is_special(path: &str) -> bool {
    let path = &path.replace('\\', "/");
    below_home(path).is_some() || is_other_home(path) || is_drive(path) || has_scheme(path)
}

/// What follows `~/`, if a path begins in the home folder.
pub fn below_home(path: &str) -> Option<&str> {
    if path == "~" { Some(".") } else { path.strip_prefix("~/").map(|rest| if rest.is_empty() { "." } else { rest }) }
}

fn is_other_home(path: &str) -> bool {
    let Some((user, _)) = path.strip_prefix('~').and_then(|rest| rest.split_once('/')) else { return false };
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    !user.is_empty() && user.chars().all(fits)
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_drive(path)
}

/// `C:`, `C:\x`, `C:/x`, and `C:x` with an upper-case letter, as Windows writes it; `a:b` is an ordinary name.
fn is_drive(path: &str) -> bool {
    match path.as_bytes() {
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() => {
            letter.is_ascii_uppercase() || matches!(rest, [] | [b'/' | b'\\', ..])
        }
        _ => false,
    }
}

fn has_scheme(path: &str) -> bool {
    const BARE: &[&str] =
        &["file", "http", "https", "ftp", "data", "untitled", "vscode", "git", "ssh", "sftp", "smb", "urn", "jar"];
    let Some((scheme, rest)) = path.split_once(':') else { return false };
    let scheme = scheme.to_ascii_lowercase();
    let formed = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    formed && (rest.starts_with("//") || BARE.contains(&scheme.as_str()) || scheme.starts_with("vscode-"))
}

/// A path for use in messages: names come from programs, and a line break in one must not look like a line of the message.
pub fn printable(path: &str) -> String {
    path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_paths_are_refused() {
        for (path, fault) in [
            ("", "empty"),
            ("a\0b", "control character"),
            ("a\nb", "control character"),
            ("a\u{85}b", "control character"),
            ("file:///etc/passwd", "URI"),
            ("FILE:/etc/passwd", "URI"),
            ("https://example.org/x", "URI"),
            ("vscode-remote://ssh/x", "URI"),
            ("untitled:Untitled-1", "URI"),
            (r"\\server\share", "network share"),
            (r"\\?\C:\x", "network share"),
            (r"C:\x", "drive"),
            ("C:/x", "drive"),
            ("c:/x", "drive"),
            ("C:x", "drive"),
            ("~root/x", "another user's home"),
            (&"a/".repeat(3000), "6000 bytes"),
        ] {
            let said = normalize(path, None).unwrap_err().to_string();
            assert!(said.contains(fault), "{path:?}: {said}");
        }
    }

    #[test]
    fn the_rest_is_joined_and_tidied() {
        for (path, cwd, expected) in [
            ("a/../b", None, "a/../b"),
            ("a", Some("sub"), "sub/a"),
            ("/a", Some("sub"), "/a"),
            ("ein Ü:x", Some(""), "ein Ü:x"),
            ("a:b", None, "a:b"),
            ("./src//auth/./x", None, "src/auth/x"),
            ("//server/share", None, "/server/share"),
            (".", None, "."),
            (".", Some("sub/"), "sub/"),
            ("a/.", None, "a/"),
            ("/", None, "/"),
            ("~", None, "~"),
            ("~/x", Some("sub"), "~/x"),
            ("./~/x", None, "./~/x"),
            ("~$x.docx", Some("a"), "a/~$x.docx"),
            ("a", Some("~/b"), "~/b/a"),
            ("e\u{301}\u{200b}\u{202e}", None, "e\u{301}\u{200b}\u{202e}"),
        ] {
            assert_eq!(normalize(path, cwd).unwrap(), expected, "{path}");
            assert_eq!(normalize(expected, None).unwrap(), expected, "twice: {path}");
        }
    }

    #[test]
    fn places_of_a_change() {
        for (path, expected) in [
            ("a", Some(&["a"][..])),
            ("/dev/null", Some(&[])),
            ("/dev//stdout", Some(&[])),
            (r"a\b", Some(&[r"a\b", "a/b"])),
            (r"a/..\..\b", Some(&[r"a/..\..\b", "a/../../b"])),
            ("/dev/fd/3", None),
            ("/dev/sda", None),
            ("/proc/self/cwd/a", None),
            ("/tmp/../proc/self/root/a", None),
            ("../../proc/1234/cwd/a", None),
            (r"\proc\self\cwd\a", None),
            ("tests/proc/self/cwd", Some(&["tests/proc/self/cwd"])),
            ("/process/x", Some(&["/process/x"])),
        ] {
            assert_eq!(
                candidates(path, None).ok().as_deref(),
                expected.map(|places| places.iter().map(|&place| place.to_owned()).collect::<Vec<_>>()).as_deref(),
                "{path}"
            );
        }
    }

    #[test]
    fn entries_of_temporary_folders() {
        for (path, expected) in [
            ("/tmp/a", Some(("/tmp/a", true))),
            ("/tmp/a/b", Some(("/tmp/a", false))),
            ("/private/tmp/a", Some(("/private/tmp/a", true))),
            ("/tmp", None),
            ("/tmp/", None),
            ("/tmpx/a", None),
            ("/etc/tmp/a", None),
            ("tmp/a", None),
        ] {
            assert_eq!(temporary_entry(path), expected, "{path}");
        }
    }

    #[test]
    fn only_a_normal_path_is_inside() {
        for path in ["../x", "a/../b", "a//b", "/a", "a/./b", "", "C:/x"] {
            assert!(matches!(Location::from_host(path), Location::Outside(_)), "{path}");
        }
        for path in [".", "a", "a/b c/.d"] {
            assert!(matches!(Location::from_host(path), Location::Inside(_)), "{path}");
        }
    }
}
