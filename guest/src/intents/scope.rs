//! The part of the workspace that an intent owns.

use serde::Deserialize;

use crate::call::path::WorkspacePath;
use crate::glob::{Glob, GlobFault};

/// Folders that govern the gate and its hosts. A wildcard never reaches into them.
const CONTROL_FOLDERS: &[&str] = &[".orchestration", ".tollgate", ".git"];

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
}

/// Compiled patterns. `*` and `?` stay within one name, `**` spans any depth, a leading dot is like any other character,
/// and one matching pattern suffices.
#[derive(Debug, Clone)]
pub struct Scope {
    written: Vec<String>,
    faults: Vec<PatternFault>,
    patterns: Vec<Glob>,
    /// The patterns that name a control folder literally, once more by themselves.
    control: Vec<Glob>,
}

impl Scope {
    /// Compiles the patterns that can be compiled; the others own nothing.
    pub fn compile(written: Vec<String>) -> Self {
        let (mut patterns, mut control) = (Vec::new(), Vec::new());
        let mut faults = Vec::new();
        for pattern in &written {
            match compile(pattern) {
                Ok(glob) => {
                    if names_control_folder(pattern) {
                        control.push(glob.clone());
                    }
                    patterns.push(glob);
                }
                Err(fault) => faults.push(fault),
            }
        }
        Self { patterns, control, faults, written }
    }

    /// The patterns as they were written.
    pub fn patterns(&self) -> &[String] {
        &self.written
    }

    /// The patterns that own nothing, and why.
    pub fn faults(&self) -> &[PatternFault] {
        &self.faults
    }

    /// What the scope says about a path.
    pub fn reach(&self, path: &WorkspacePath) -> Reach {
        let governs_us = path.names().next().is_some_and(|first| CONTROL_FOLDERS.contains(&first));
        let (patterns, otherwise) = if governs_us { (&self.control, Reach::Control) } else { (&self.patterns, Reach::Beyond) };
        if patterns.iter().any(|glob| glob.matches(path.as_str())) { Reach::Within } else { otherwise }
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `owned_scope:` with nothing behind it is YAML's null, and means no patterns.
        Ok(Self::compile(Option::deserialize(deserializer)?.unwrap_or_default()))
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::compile(Vec::new())
    }
}

fn compile(pattern: &str) -> Result<Glob, PatternFault> {
    let relative = pattern.strip_prefix("./").unwrap_or(pattern);
    if relative.starts_with('/') || relative.split('/').any(|name| name == "..") {
        return Err(PatternFault::Leaves(pattern.to_owned()));
    }
    // A folder with its slash means what is in it.
    let meant = if relative.ends_with('/') { format!("{relative}**") } else { relative.to_owned() };
    Glob::compile(&meant).map_err(|why| PatternFault::Syntax { pattern: pattern.to_owned(), why })
}

fn names_control_folder(pattern: &str) -> bool {
    let relative = pattern.strip_prefix("./").unwrap_or(pattern);
    relative.split('/').next().is_some_and(|first| CONTROL_FOLDERS.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::path::Location;

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
    fn faults_name_the_pattern() {
        for (pattern, said) in [("../x", "leaves"), ("/etc/**", "leaves"), ("a[", "does not compile")] {
            let fault = Scope::compile(vec![pattern.to_owned()]).faults().first().unwrap().to_string();
            assert!(fault.contains(said) && fault.contains(pattern), "{fault}");
        }
    }
}
