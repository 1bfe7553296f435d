//! Paths: as an agent writes them, and where they lead.

use std::fmt;

/// A path inside the workspace: relative, `/` between names, no `.`, no `..`, no empty name. `.` is the workspace itself.
///
/// It can only be made from what a host reported after walking every link, so two of them are the same place exactly if
/// they are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its names from the top.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| *name != ".")
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// Into the workspace.
    Inside(WorkspacePath),
    /// Out of it; absolute.
    Outside(String),
}

impl Location {
    /// Takes a path that a host reported.
    pub fn reported(path: &str) -> Self {
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

/// Why a path is refused before anybody looks at it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// There is none.
    #[error("the path is empty; name a file")]
    Empty,
    /// It holds a character that no path of ours holds.
    #[error("the path `{0}` holds a control character; take it out")]
    ControlCharacter(String),
    /// It is no path.
    #[error("`{0}` is a URI, not a path; give the file's path")]
    Uri(String),
    /// It names a network share or a drive of its own.
    #[error("`{0}` names a drive or a network share; give a path in the workspace")]
    Drive(String),
}

/// Refuses what is no path, and joins the rest to the working directory without touching `..`, which only a host that
/// sees the links can walk.
pub fn written(path: &str, cwd: Option<&str>) -> Result<String, PathFault> {
    if path.is_empty() {
        return Err(PathFault::Empty);
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
    Ok(match cwd {
        Some(cwd) if !is_absolute(path) && !cwd.is_empty() => format!("{cwd}/{path}"),
        _ => path.to_owned(),
    })
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_drive(path)
}

fn is_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', rest @ ..]
        if letter.is_ascii_alphabetic() && matches!(rest, [] | [b'/' | b'\\', ..]))
}

fn has_scheme(path: &str) -> bool {
    let scheme = |name: &str| {
        name.len() > 1
            && name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    path.split_once(':').is_some_and(|(name, rest)| scheme(name) && (rest.starts_with("//") || name.eq_ignore_ascii_case("file")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_path_is_refused() {
        for (path, fault) in [
            ("", "empty"),
            ("a\0b", "control character"),
            ("a\nb", "control character"),
            ("file:///etc/passwd", "URI"),
            ("file:/etc/passwd", "URI"),
            ("https://example.org/x", "URI"),
            (r"\\server\share", "network share"),
            (r"C:\x", "drive"),
            ("C:/x", "drive"),
        ] {
            let said = written(path, None).unwrap_err().to_string();
            assert!(said.contains(fault), "{path:?}: {said}");
        }
    }

    #[test]
    fn the_rest_is_joined_and_left_alone() {
        for (path, cwd, expected) in [
            ("a/../b", None, "a/../b"),
            ("a", Some("sub"), "sub/a"),
            ("/a", Some("sub"), "/a"),
            ("ein Ü:x", Some(""), "ein Ü:x"),
            ("a:b", None, "a:b"),
        ] {
            assert_eq!(written(path, cwd).unwrap(), expected);
        }
    }

    #[test]
    fn only_a_normal_path_is_inside() {
        for path in ["../x", "a/../b", "a//b", "/a", "a/./b", "", "C:/x"] {
            assert!(matches!(Location::reported(path), Location::Outside(_)), "{path}");
        }
        for path in [".", "a", "a/b c/.d"] {
            assert!(matches!(Location::reported(path), Location::Inside(_)), "{path}");
        }
    }
}
