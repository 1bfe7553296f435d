//! Scopes: the part of the workspace that an intent owns.

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
    /// It does not belong to the intent.
    Beyond,
    /// A control file that no pattern names literally.
    Control,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeFault {
    /// It is not relative to the workspace, or leads out of it.
    #[error("the pattern `{0}` leaves the workspace; write it relative to the workspace's root")]
    Leaves(String),
    /// It is not a glob.
    #[error("the pattern `{pattern}` does not compile: {why}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// What the glob compiler says.
        why: GlobFault,
    },
    /// It is longer than any path that it could match.
    #[error("the pattern `{}…` is {} bytes long; split it into patterns of at most {MAX_PATTERN_BYTES} bytes", .0.chars().take(40).collect::<String>(), .0.len())]
    TooLong(String),
}

impl ScopeFault {
    /// The pattern, as written.
    pub fn pattern(&self) -> &str {
        match self {
            Self::Leaves(pattern) | Self::Syntax { pattern, .. } | Self::TooLong(pattern) => pattern,
        }
    }
}

/// Maximum length of a pattern: nested braces are compiled one call deep for each, and expand to up to 256 copies of the pattern.
const MAX_PATTERN_BYTES: usize = 1024;

/// Compiled patterns. `*` and `?` stay within one name, `**` spans any depth, a leading dot is like any other character, and one
/// matching pattern is enough.
#[derive(Debug, Clone)]
pub struct Scope {
    written: Vec<String>,
    faults: Vec<ScopeFault>,
    /// The positions of the patterns that cannot be used, in ascending order.
    unusable: Vec<usize>,
    patterns: Vec<ScopePattern>,
}

#[derive(Debug, Clone)]
struct ScopePattern {
    /// The pattern relative to the workspace, as it is compiled.
    text: String,
    /// The length of the text before its first wildcard.
    literal: usize,
    /// The glob, compiled when it is needed; `None` if it does not compile.
    glob: OnceCell<Option<Glob>>,
}

impl ScopePattern {
    fn new(text: String) -> Self {
        let literal = text.find(['*', '?', '[', '{', '\\']).unwrap_or(text.len());
        Self { text, literal, glob: OnceCell::new() }
    }

    fn glob(&self) -> Option<&Glob> {
        self.glob.get_or_init(|| Glob::compile(&self.text).ok()).as_ref()
    }

    /// Whether the pattern may match the path, a folder above it or something below it, by the text before its first wildcard. Of
    /// ten thousand patterns, most are ruled out and never compiled.
    fn may_concern(&self, path: &str) -> bool {
        let literal = self.text.get(..self.literal).unwrap_or_default();
        path == "." || path.starts_with(literal) || literal.starts_with(path)
    }

    /// Whether the pattern names all of these control files literally.
    fn names(&self, controls: &[Control]) -> bool {
        controls.iter().all(|control| control.is_named_by(&self.text))
    }
}

impl Scope {
    /// Compiles the patterns that can be compiled; the others own nothing.
    pub fn compile(written: Vec<String>) -> Self {
        let (mut patterns, mut faults, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
        for (at, pattern) in written.iter().enumerate() {
            match compile(pattern) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => {
                    faults.push(fault);
                    unusable.push(at);
                }
            }
        }
        Self { patterns, faults, unusable, written }
    }

    /// Restores a scope of which some patterns are known not to compile; their positions are in ascending order. The others are
    /// compiled when they are needed.
    pub(super) fn restore(written: Vec<String>, unusable: Vec<usize>) -> Self {
        let usable = |(at, pattern): (usize, &String)| {
            let is_usable = unusable.binary_search(&at).is_err();
            relative_text(pattern).ok().filter(|_| is_usable).map(ScopePattern::new)
        };
        let patterns = written.iter().enumerate().filter_map(usable).collect();
        Self { patterns, faults: Vec::new(), unusable, written }
    }

    /// The positions of the patterns that do not compile, in ascending order.
    pub(super) fn unusable(&self) -> &[usize] {
        &self.unusable
    }

    /// The patterns as written.
    pub fn patterns(&self) -> &[String] {
        &self.written
    }

    /// The patterns that can be used, relative to the workspace; a folder with a trailing slash ends in `**`.
    pub fn usable(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// The patterns that own nothing, and why.
    pub fn faults(&self) -> &[ScopeFault] {
        &self.faults
    }

    /// What the scope says about a path.
    pub fn reach(&self, path: &WorkspacePath) -> Reach {
        // A file in place of a control file's folder is a link or a folder moved there, with that file in it.
        let governs_us = Control::has_any_below(path);
        self.judge(path, governs_us, |glob| glob.matches(path.as_str()))
    }

    /// What the scope says about a folder with everything that is or may come to be in it.
    pub fn reach_tree(&self, folder: &WorkspacePath) -> Reach {
        let governs_us = Control::has_any_below(folder);
        self.judge(folder, governs_us, |glob| glob.covers_tree(folder.as_str()))
    }

    /// What the scope says about making a folder: folders that its files need are its own.
    pub fn reach_folder(&self, folder: &WorkspacePath) -> Reach {
        let path = folder.as_str();
        self.judge(folder, false, |glob| glob.matches(path) || glob.covers_tree(path) || glob.leads_through(path))
    }

    /// What the scope says about a path, to the extent of an effect.
    pub fn reach_of(&self, path: &WorkspacePath, extent: Extent) -> Reach {
        match extent {
            Extent::Itself => self.reach(path),
            Extent::Folder => self.reach_folder(path),
            Extent::Tree => self.reach_tree(path),
            Extent::Listed => Reach::Within,
        }
    }

    fn judge(&self, path: &WorkspacePath, governs_us: bool, fits: impl Fn(&Glob) -> bool) -> Reach {
        let controls = Control::containing(path);
        let may_speak =
            |pattern: &&ScopePattern| if governs_us { pattern.text == path.as_str() } else { pattern.names(&controls) };
        let concerned = self.patterns.iter().filter(|pattern| pattern.may_concern(path.as_str()));
        if concerned.filter(may_speak).any(|pattern| pattern.glob().is_some_and(&fits)) {
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

fn compile(written: &str) -> Result<ScopePattern, ScopeFault> {
    let text = relative_text(written)?;
    let glob = Glob::compile(&text).map_err(|why| ScopeFault::Syntax { pattern: written.to_owned(), why })?;
    Ok(ScopePattern { glob: OnceCell::from(Some(glob)), ..ScopePattern::new(text) })
}

/// Makes a pattern relative to the workspace.
fn relative_text(written: &str) -> Result<String, ScopeFault> {
    if written.len() > MAX_PATTERN_BYTES {
        return Err(ScopeFault::TooLong(written.to_owned()));
    }
    let relative = written.strip_prefix("./").unwrap_or(written);
    if relative.starts_with('/') || relative.split('/').any(|name| name == "..") {
        return Err(ScopeFault::Leaves(written.to_owned()));
    }
    // A folder with a trailing slash means what is in it.
    Ok(if relative.ends_with('/') { format!("{relative}**") } else { relative.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::effects::path::Location;

    fn reach(patterns: &[&str], path: &str) -> Reach {
        let scope = Scope::compile(patterns.iter().map(|&pattern| pattern.to_owned()).collect());
        assert!(scope.faults().is_empty(), "{:?}", scope.faults());
        match Location::from_host(path) {
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
            let Location::Inside(path) = Location::from_host(path) else { panic!("{path} is outside") };
            assert_eq!(scope.reach_of(&path, Extent::Tree), tree, "{pattern} over all of {path}");
            assert_eq!(scope.reach_of(&path, Extent::Folder), folder, "{pattern} for making {path}");
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

    #[test]
    fn a_restored_scope_leaves_out_what_does_not_compile() {
        let written: Vec<String> = ["a/**", "[", "../x", "b/"].map(str::to_owned).into();
        let compiled = Scope::compile(written.clone());
        assert_eq!(compiled.unusable(), [1, 2]);
        let restored = Scope::restore(written.clone(), compiled.unusable().to_vec());
        assert_eq!(restored.usable().collect::<Vec<_>>(), ["a/**", "b/**"]);
        assert_eq!(restored.patterns(), compiled.patterns());
        // This holds even if the list of patterns that do not compile is wrong.
        assert_eq!(Scope::restore(written, Vec::new()).usable().collect::<Vec<_>>(), ["a/**", "[", "b/**"]);
    }

    const PIECES: [&str; 16] = ["a", "b", "ab", "/", "/", "/", "*", "**", "?", "[ab]", "{a,b}", "{a/b,b}", "\\a", ".", "./", "é"];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        /// Whether it is compiled at once or when needed, and whether or not the text before the first wildcard is checked first,
        /// a pattern says the same about every path.
        #[test]
        fn a_restored_scope_says_the_same(
            pattern in prop::collection::vec(prop::sample::select(&PIECES[..]), 1..7),
            path in prop::collection::vec(prop::sample::select(&["a", "b", "ab", "é", "."][..]), 1..4),
        ) {
            let (pattern, path) = (pattern.concat(), path.join("/"));
            let compiled = Scope::compile(vec![pattern.clone()]);
            let restored = Scope::restore(vec![pattern.clone()], compiled.unusable().to_vec());
            let Location::Inside(path) = Location::from_host(&path) else { return Ok(()) };
            let name = path.as_str();
            for extent in [Extent::Itself, Extent::Folder, Extent::Tree] {
                let reach = restored.reach_of(&path, extent);
                prop_assert_eq!(reach, compiled.reach_of(&path, extent));
                let matches = |glob: &Glob| match extent {
                    Extent::Itself => glob.matches(name),
                    Extent::Tree => glob.covers_tree(name),
                    _ => glob.matches(name) || glob.covers_tree(name) || glob.leads_through(name),
                };
                let is_matched = compiled.patterns.iter().filter_map(ScopePattern::glob).any(matches);
                // A path that contains control files needs more than a matching pattern.
                if Control::containing(&path).is_empty() && !Control::has_any_below(&path) {
                    prop_assert_eq!(reach == Reach::Within, is_matched, "{} {} {:?}", pattern, name, extent);
                }
            }
        }
    }
}
