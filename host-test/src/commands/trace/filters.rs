//! Options that select ledger entries.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};

use crate::cli::CommandError;

/// Options that select entries.
#[derive(Args, Debug, Default, PartialEq, Eq)]
pub(super) struct Filters {
    /// Only changes made for this intent
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    /// Only changes to this file, folder or glob ('src/**') of the workspace, or of the current folder with ./
    #[arg(long, value_name = "PATH-OR-GLOB")]
    pub(super) file: Option<String>,
    /// Only changes of this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only changes since this time: 2026-11-16, 2026-11-16T09:30:00Z, or an age: 90m, 2h, 3d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only changes until this time, in the same format as --since
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Filters {
    /// The fields of a question to the gate about the workspace at `root`, asked from the folder `here`.
    pub(super) fn question(&self, op: &str, root: &Path, here: &Path) -> Result<Map<String, Value>, CommandError> {
        let mut question = Map::new();
        question.insert("op".to_owned(), op.into());
        let file = match &self.file {
            Some(given) => workspace_pattern(given, root, here)?,
            None => None,
        };
        let fields = [
            ("intent", &self.intent),
            ("file", &file),
            ("session", &self.session),
            ("since", &self.since),
            ("until", &self.until),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                question.insert(name.to_owned(), value.as_str().into());
            }
        }
        Ok(question)
    }
}

/// Whether a path is relative to the workspace rather than to the current folder.
pub(super) fn is_workspace_relative(given: &str) -> bool {
    !matches!(Path::new(given).components().next(), Some(Component::CurDir | Component::ParentDir))
}

/// A path or glob as the ledger spells it; `None` for the whole workspace.
fn workspace_pattern(given: &str, root: &Path, here: &Path) -> Result<Option<String>, CommandError> {
    let meant = normalize(&if is_workspace_relative(given) { root.join(given) } else { here.join(given) });
    // The ledger contains canonical paths, without links.
    let real = meant.canonicalize().unwrap_or_else(|_| meant.clone());
    let folder = given.ends_with('/') || real.is_dir();
    let below = real.strip_prefix(root).or_else(|_| meant.strip_prefix(root));
    let below = below.map_err(|_| CommandError::Failed(format!("`{given}` is not in the workspace `{}`", root.display())))?;
    let names: Option<Vec<&str>> = below.iter().map(|name| name.to_str()).collect();
    let names = names.ok_or_else(|| {
        CommandError::Failed(format!("`{given}` is not valid UTF-8, and the ledger has no entries for such files"))
    })?;
    if names.is_empty() {
        return Ok(None);
    }
    let spelled = names.join("/");
    Ok(Some(if folder { format!("{spelled}/**") } else { spelled }))
}

/// Resolves `.` and `..` without looking at the file system.
fn normalize(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normalize, component| {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normalize.pop()),
            component => normalize.push(component),
        }
        normalize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_workspace_or_from_here() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let here = root.join("src/auth");
        std::fs::create_dir_all(&here).unwrap();
        std::fs::write(here.join("a[1].ts"), "").unwrap();
        let absolute = |path: &str| root.join(path).to_str().unwrap().to_owned();
        for (given, expected) in [
            ("src/x.ts", Some("src/x.ts")),
            ("x.ts", Some("x.ts")),
            ("**/*.{ts,rs}", Some("**/*.{ts,rs}")),
            ("./x.ts", Some("src/auth/x.ts")),
            ("./a[1].ts", Some("src/auth/a[1].ts")),
            ("../*.ts", Some("src/*.ts")),
            ("src", Some("src/**")),
            ("./", Some("src/auth/**")),
            ("gone/", Some("gone/**")),
            ("../..", None),
            (&absolute("src/x.ts"), Some("src/x.ts")),
            (&absolute("src"), Some("src/**")),
        ] {
            assert_eq!(workspace_pattern(given, &root, &here).unwrap().as_deref(), expected, "{given}");
        }
        for outside in ["../../../x", "/etc/hosts"] {
            let Err(CommandError::Failed(why)) = workspace_pattern(outside, &root, &here) else { panic!("{outside}") };
            assert!(why.contains(outside) && why.contains("not in the workspace"), "{why}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_file_behind_a_link_is_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real")).unwrap();
        std::fs::write(root.join("real/a"), "").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert_eq!(workspace_pattern("link/a", &root, &root).unwrap().as_deref(), Some("real/a"));
        std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
        assert_eq!(workspace_pattern("out/hosts", &root, &root).unwrap().as_deref(), Some("out/hosts"));
    }

    #[test]
    fn only_what_is_given_is_asked() {
        let filters = Filters { intent: Some("INT-1".to_owned()), since: Some("2h".to_owned()), ..Filters::default() };
        let question = Value::Object(filters.question("trace", Path::new("/w"), Path::new("/w")).unwrap());
        assert_eq!(question, serde_json::json!({"op": "trace", "intent": "INT-1", "since": "2h"}));
    }
}
