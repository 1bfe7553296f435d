//! Splits a scope pattern into its literal base folder and the components after it.

use crate::glob::Glob;

/// The most patterns that are opened.
pub(super) const MAX_PATTERNS: usize = 500;

/// A pattern without braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    /// The folder that the pattern names before its first wildcard, `.` for the workspace; for a pattern without wildcards, the
    /// whole path.
    pub(super) base: String,
    /// The names after it.
    pub(super) rest: Vec<String>,
}

/// How a pattern is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// One path: `docs/auth.md`.
    Path,
    /// Files directly in a folder: `docs/*.md`.
    Files,
    /// A folder with everything in it: `src/**`.
    Tree,
    /// Files at any depth below a folder: `src/**/*.ts`.
    FilesBelow,
    /// Folders directly in a folder, and what is in them: `packages/*/src/**`.
    Folders,
    /// Folders at any depth, and what is in them: `src/**/test/*.ts`.
    FoldersBelow,
}

impl PathPattern {
    /// The brace-free patterns that a text stands for. Invalid patterns are left out and own nothing.
    pub(super) fn all(text: &str) -> Vec<Self> {
        Glob::alternatives(text).unwrap_or_default().iter().filter_map(|plain| Self::new(".", plain.split('/'))).collect()
    }

    /// A pattern of a folder and the names after it. Leading names without a wildcard are added to the folder.
    pub(super) fn new<'n>(base: &str, names: impl Iterator<Item = &'n str>) -> Option<Self> {
        let mut names = names.peekable();
        let mut base = if base == "." { String::new() } else { base.to_owned() };
        while let Some(name) = names.next_if(|name| !is_wild(name)) {
            if matches!(name, "" | "." | "..") {
                return None;
            }
            base = below(&base, name);
        }
        let rest: Vec<String> = names.map(str::to_owned).collect();
        let base = if base.is_empty() { ".".to_owned() } else { base };
        (base != "." || !rest.is_empty()).then_some(Self { base, rest })
    }

    /// How the pattern is opened.
    pub(super) fn shape(&self) -> Shape {
        let names: Vec<&str> = self.rest.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] => Shape::Path,
            ["**"] | ["**", "*"] | ["**", "**"] => Shape::Tree,
            [_] => Shape::Files,
            ["**", name] if *name != "**" => Shape::FilesBelow,
            ["**", ..] => Shape::FoldersBelow,
            _ => Shape::Folders,
        }
    }

    /// The whole pattern as text.
    pub(super) fn text(&self) -> String {
        self.rest.iter().fold(if self.base == "." { String::new() } else { self.base.clone() }, |text, name| below(&text, name))
    }

    /// The same pattern without its last name: it matches the folders that may contain the files.
    pub(super) fn folders(&self) -> Option<Glob> {
        let shorter = Self { base: self.base.clone(), rest: self.rest.split_last()?.1.to_vec() };
        Glob::compile(&shorter.text()).ok()
    }
}

fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '[', '\\'])
}

/// Joins a folder, relative to the workspace, and a name; an empty folder is the workspace.
pub(super) fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The parent folder of a path.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for (text, base, shape) in [
            ("docs/auth.md", "docs/auth.md", Shape::Path),
            ("README.md", "README.md", Shape::Path),
            ("docs/*.md", "docs", Shape::Files),
            ("*.md", ".", Shape::Files),
            ("src/auth/**", "src/auth", Shape::Tree),
            ("src/auth/**/*", "src/auth", Shape::Tree),
            ("**", ".", Shape::Tree),
            ("src/**/*.ts", "src", Shape::FilesBelow),
            ("**/*.md", ".", Shape::FilesBelow),
            ("packages/*/src/**", "packages", Shape::Folders),
            ("packages/*/package.json", "packages", Shape::Folders),
            ("src/**/test/*.ts", "src", Shape::FoldersBelow),
            ("**/test/**", ".", Shape::FoldersBelow),
            ("a\\*b/c", ".", Shape::Folders),
        ] {
            let patterns = PathPattern::all(text);
            assert_eq!(
                patterns.iter().map(|pattern| (&*pattern.base, pattern.shape())).collect::<Vec<_>>(),
                [(base, shape)],
                "{text}"
            );
        }
        let bases = |text: &str| PathPattern::all(text).into_iter().map(|pattern| pattern.base).collect::<Vec<_>>();
        assert_eq!(bases("{a,b}/**"), ["a", "b"]);
        for text in ["", ".", "a//b", "../x/**", "a[", "a/./b"] {
            assert_eq!(bases(text), [] as [&str; 0], "{text}");
        }
    }
}
