//! The part of the workspace that an intent owns.

use std::cell::OnceCell;

use super::control::Control;
use crate::effects::Extent;
use crate::effects::path::WorkspacePath;
use crate::glob::{Glob, GlobFault};

/// What a scope says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It belongs to the intent.
    Within,
    /// It does not.
    Beyond,
    /// A control file that no pattern names literally.
    Control,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// Not relative to the workspace, or out of it.
    #[error("the pattern `{0}` leaves the workspace; write it relative to the workspace's root")]
    Leaves(String),
    /// Not a glob.
    #[error("the pattern `{pattern}` does not compile: {why}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// What the glob compiler says.
        why: GlobFault,
    },
    /// Longer than any path that it could match.
    #[error("the pattern `{}…` is {} bytes long and {LONGEST} is the most; write several", .0.chars().take(40).collect::<String>(), .0.len())]
    TooLong(String),
}

impl PatternFault {
    /// The pattern, as it was written.
    pub fn pattern(&self) -> &str {
        match self {
            Self::Leaves(pattern) | Self::Syntax { pattern, .. } | Self::TooLong(pattern) => pattern,
        }
    }
}

/// Braces in braces are compiled one call deep for each, and come to up to 256 copies of the pattern.
const LONGEST: usize = 1024;

/// Compiled patterns. `*` and `?` stay within one name, `**` spans any depth, a leading dot is like any other character,
/// and one matching pattern suffices.
#[derive(Debug, Clone)]
pub struct Scope {
    written: Vec<String>,
    faults: Vec<PatternFault>,
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// Relative to the workspace, as it is compiled.
    text: String,
    /// Compiled once a path comes close.
    glob: OnceCell<Option<Glob>>,
}

impl Pattern {
    /// A pattern that is known to compile.
    fn new(text: String) -> Self {
        Self { text, glob: OnceCell::new() }
    }

    fn glob(&self) -> Option<&Glob> {
        self.glob.get_or_init(|| Glob::compile(&self.text).ok()).as_ref()
    }

    /// Whether the pattern may say anything about a path, or about what lies above it: it begins alike. Of ten thousand patterns most
    /// do not, and need not be compiled.
    fn comes_close(&self, path: &str) -> bool {
        let special = |c: char| matches!(c, '*' | '?' | '[' | '{' | '\\');
        let literal = self.text.split(special).next().unwrap_or_default();
        path == "." || path.starts_with(literal) || literal.starts_with(path)
    }

    /// Whether the pattern may speak about a path that these control.
    fn names(&self, controls: &[Control]) -> bool {
        controls.iter().all(|control| control.is_named_by(&self.text))
    }
}

impl Scope {
    /// Compiles the patterns that can be compiled; the others own nothing.
    pub fn compile(written: Vec<String>) -> Self {
        let (mut patterns, mut faults) = (Vec::new(), Vec::new());
        for pattern in &written {
            match compile(pattern) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => faults.push(fault),
            }
        }
        Self { patterns, faults, written }
    }

    /// The scope of patterns of which it is known which of them compile.
    pub(super) fn known(written: Vec<String>, compiles: impl Fn(usize) -> bool) -> Self {
        let usable = written.iter().enumerate().filter(|(at, _)| compiles(*at));
        let patterns = usable.map(|(_, pattern)| Pattern::new(relative(pattern))).collect();
        Self { patterns, faults: Vec::new(), written }
    }

    /// The places of the patterns that do not compile.
    pub(super) fn unusable(&self) -> impl Iterator<Item = usize> {
        let is_faulty = |pattern: &String| self.faults.iter().any(|fault| fault.pattern() == pattern);
        self.written.iter().enumerate().filter(move |(_, pattern)| !self.faults.is_empty() && is_faulty(pattern)).map(|(at, _)| at)
    }

    /// The patterns as they were written.
    pub fn patterns(&self) -> &[String] {
        &self.written
    }

    /// The patterns that can be used, relative to the workspace; a folder with its slash ends in `**`.
    pub fn usable(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// The patterns that own nothing, and why.
    pub fn faults(&self) -> &[PatternFault] {
        &self.faults
    }

    /// What the scope says about a path.
    pub fn reach(&self, path: &WorkspacePath) -> Reach {
        // A file where the folder of a control file belongs is a link or a folder moved there, with that file in it.
        let governs_us = Control::is_below(path);
        self.judge(path, governs_us, |glob| glob.matches(path.as_str()))
    }

    /// What the scope says about a folder with everything that is or may come to be in it.
    pub fn reach_tree(&self, folder: &WorkspacePath) -> Reach {
        let governs_us = Control::is_below(folder);
        self.judge(folder, governs_us, |glob| glob.covers_tree(folder.as_str()))
    }

    /// What the scope says about making a folder: those that its files need are its own.
    pub fn reach_folder(&self, folder: &WorkspacePath) -> Reach {
        let path = folder.as_str();
        self.judge(folder, false, |glob| glob.matches(path) || glob.covers_tree(path) || glob.leads_through(path))
    }

    /// What the scope says about as much of a path as an effect is about.
    pub fn reach_of(&self, path: &WorkspacePath, extent: Extent) -> Reach {
        match extent {
            Extent::Itself => self.reach(path),
            Extent::Folder => self.reach_folder(path),
            Extent::Tree => self.reach_tree(path),
            Extent::Listed => Reach::Within,
        }
    }

    fn judge(&self, path: &WorkspacePath, governs_us: bool, fits: impl Fn(&Glob) -> bool) -> Reach {
        let controls = Control::over(path);
        let may_speak = |pattern: &&Pattern| if governs_us { pattern.text == path.as_str() } else { pattern.names(&controls) };
        let close = self.patterns.iter().filter(|pattern| pattern.comes_close(path.as_str()));
        if close.filter(may_speak).any(|pattern| pattern.glob().is_some_and(&fits)) {
            Reach::Within
        } else if governs_us || !controls.is_empty() {
            Reach::Control
        } else {
            Reach::Beyond
        }
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::compile(Vec::new())
    }
}

fn compile(written: &str) -> Result<Pattern, PatternFault> {
    if written.len() > LONGEST {
        return Err(PatternFault::TooLong(written.to_owned()));
    }
    let text = relative(written);
    if text.starts_with('/') || text.split('/').any(|name| name == "..") {
        return Err(PatternFault::Leaves(written.to_owned()));
    }
    let glob = Glob::compile(&text).map_err(|why| PatternFault::Syntax { pattern: written.to_owned(), why })?;
    Ok(Pattern { text, glob: OnceCell::from(Some(glob)) })
}

/// A pattern relative to the workspace. A folder with its slash means what is in it.
fn relative(written: &str) -> String {
    let relative = written.strip_prefix("./").unwrap_or(written);
    if relative.ends_with('/') { format!("{relative}**") } else { relative.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::path::Location;

    fn reach(patterns: &[&str], path: &str) -> Reach {
        let scope = Scope::compile(patterns.iter().map(|&pattern| pattern.to_owned()).collect());
        assert!(scope.faults().is_empty(), "{:?}", scope.faults());
        match Location::reported(path) {
            Location::Inside(path) => scope.reach(&path),
            Location::Outside(path) => panic!("{path} is outside"),
        }
    }

    #[test]
    fn patterns() {
        for (patterns, path, expected) in [
            (&["src/auth/**"][..], "src/auth/a.ts", Reach::Within),
            (&["src/auth/**"], "src/auth/x/y/.z", Reach::Within),
            (&["src/auth/**"], "src/authX/a.ts", Reach::Beyond),
            (&["src/auth/**"], "x/src/auth/a.ts", Reach::Beyond),
            (&["./src/auth/**"], "src/auth/a.ts", Reach::Within),
            (&["src/auth/"], "src/auth/a/b.ts", Reach::Within),
            (&["tests/*.ts"], "tests/a.ts", Reach::Within),
            (&["tests/*.ts"], "tests/deep/a.ts", Reach::Beyond),
            (&["**/*.md"], "README.md", Reach::Within),
            (&["a", "b"], "b", Reach::Within),
            (&[], "b", Reach::Beyond),
            (&["**"], ".orchestration/active_intents.yaml", Reach::Control),
            (&["**"], ".git/config", Reach::Control),
            (&[".orch*/**"], ".orchestration/active_intents.yaml", Reach::Control),
            (&[".orchestration/*.yaml"], ".orchestration/active_intents.yaml", Reach::Within),
        ] {
            assert_eq!(reach(patterns, path), expected, "{patterns:?} {path}");
        }
    }

    #[test]
    fn folders() {
        for (pattern, path, tree, folder) in [
            ("src/auth/**", "src/auth", Reach::Within, Reach::Within),
            ("src/auth/**", "src/auth/x", Reach::Within, Reach::Within),
            ("src/auth/**", "src", Reach::Beyond, Reach::Within),
            ("src/auth/**", "lib", Reach::Beyond, Reach::Beyond),
            ("src/auth/*.ts", "src/auth", Reach::Beyond, Reach::Within),
            ("**", "src", Reach::Within, Reach::Within),
            ("**", ".", Reach::Control, Reach::Within),
            ("**", ".github", Reach::Control, Reach::Within),
            ("**", ".git", Reach::Control, Reach::Control),
            (".codex/**", ".codex", Reach::Within, Reach::Within),
            ("**", ".tollgate/x", Reach::Control, Reach::Control),
        ] {
            let scope = Scope::compile(vec![pattern.to_owned()]);
            let Location::Inside(path) = Location::reported(path) else { panic!("{path} is outside") };
            assert_eq!(scope.reach_of(&path, Extent::Tree), tree, "{pattern} over all of {path}");
            assert_eq!(scope.reach_of(&path, Extent::Folder), folder, "{pattern} for making {path}");
        }
    }

    /// What is known to compile says the same as what was compiled.
    #[test]
    fn patterns_that_wait_to_be_compiled_say_the_same() {
        let written = ["src/auth/**", "[", "docs/*.md", "a{b,c}/**", "./x/", "**/t?st", "deep/er/file"];
        let written: Vec<String> = written.iter().map(|&pattern| pattern.to_owned()).collect();
        let compiled = Scope::compile(written.clone());
        let unusable: Vec<usize> = compiled.unusable().collect();
        assert_eq!(unusable, [1]);
        let known = Scope::known(written, |at| !unusable.contains(&at));
        assert_eq!(known.usable().collect::<Vec<_>>(), compiled.usable().collect::<Vec<_>>());
        for path in ["src/auth/a", "src", "src/other", "docs/a.md", "docs", "ab/x", "ad/x", "x/y", "x", "a/test", "deep", "deep/er", "."] {
            let Location::Inside(path) = Location::reported(path) else { panic!("{path} is outside") };
            for extent in [Extent::Itself, Extent::Folder, Extent::Tree] {
                let plain = compiled.patterns.iter().any(|pattern| {
                    let glob = Glob::compile(&pattern.text).unwrap();
                    let name = path.as_str();
                    match extent {
                        Extent::Itself => glob.matches(name),
                        Extent::Tree => glob.covers_tree(name),
                        _ => glob.matches(name) || glob.covers_tree(name) || glob.leads_through(name),
                    }
                });
                assert_eq!(known.reach_of(&path, extent), compiled.reach_of(&path, extent), "{path:?} {extent:?}");
                let is_root = path.as_str() == ".";
                assert_eq!(is_root || known.reach_of(&path, extent) == Reach::Within, is_root || plain, "{path:?} {extent:?}");
            }
        }
    }

    #[test]
    fn faults_name_the_pattern() {
        let long = "x".repeat(1025);
        for (pattern, said) in [("../x", "leaves"), ("/etc/**", "leaves"), ("a[", "does not compile"), (&long, "1025 bytes")] {
            let fault = Scope::compile(vec![pattern.to_owned()]).faults().first().unwrap().to_string();
            let begin: String = pattern.chars().take(40).collect();
            assert!(fault.contains(said) && fault.contains(&begin) && fault.len() < 200, "{fault}");
        }
    }

    #[test]
    fn the_deepest_braces_compile() {
        let pattern = format!("{}a{}", "{".repeat(511), "}".repeat(511));
        assert_eq!(reach(&[&pattern], "a"), Reach::Within);
    }
}
