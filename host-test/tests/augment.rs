//! `tollgate augment` and `tollgate concepts`, with notes and with a `maenifold` on the path.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::place::wait_until;
use crate::program_copy::write_script;

struct TestWorkspace {
    workspace: tempfile::TempDir,
    home: tempfile::TempDir,
    programs: tempfile::TempDir,
}

impl TestWorkspace {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = || tempfile::tempdir().unwrap();
        let workspace = Self { workspace: folder(), home: folder(), programs: folder() };
        for (path, text) in files {
            write(workspace.workspace.path(), path, text);
        }
        fs::create_dir_all(workspace.workspace.path().join(".tollgate")).unwrap();
        workspace
    }

    fn program(&self, name: &str, script: &str) {
        write_script(&self.programs.path().join(name), &format!("#!/bin/sh\n{script}\n"));
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let path = format!("{}:{}", self.programs.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(words).arg("--workspace").arg(self.workspace.path()).arg("--home").arg(self.home.path());
        let output = command.env("PATH", path).stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The same, repeated until there was time for these concepts: on a busy machine, starting a program may take longer than a lookup
    /// may.
    fn run_in_time(&self, words: &[&str], concepts: &[&str]) -> (i32, String, String) {
        let is_late = |line: &str| {
            line.ends_with("took too long") && concepts.iter().any(|concept| line.contains(&format!("[[{concept}]]: ")))
        };
        wait_until(|| Some(self.run(words)).filter(|(_, _, err)| !err.lines().any(is_late)), "lookups in time")
    }
}

fn write(root: &Path, path: &str, text: &str) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), text).unwrap();
}

#[test]
fn it_shows_what_would_be_added_and_from_where() {
    let workspace = TestWorkspace::new(&[(".tollgate/concepts/auth.md", "Logins are limited.\n")]);
    let (code, out, err) = workspace.run(&["augment", "--tool", "bash", "--args", r#"{"command":"echo [[auth]]"}"#]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("auth from notes\n`command` becomes:\necho [[auth]]\n# "), "{out}");
    let (_, out, _) =
        workspace.run(&["augment", "--json", "--tool", "write", "--args", r#"{"filePath":"a","content":"[[auth]]"}"#]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["args"]["content"], "[[auth]]");
    assert!(answer["additional_context"].as_str().unwrap().contains("Logins are limited."));
    for (args, said) in [("[1]", "is not a JSON object"), ("{", "is not valid JSON")] {
        let (code, _, err) = workspace.run(&["augment", "--tool", "bash", "--args", args]);
        assert!(code == 2 && err.contains(said) && err.contains("--args"), "{err}");
    }
}

/// The command receives the payload that it expects, once for each concept and in parallel; results that are late, failed,
/// invalid or empty are left out.
#[test]
fn maenifold_is_asked_where_the_notes_know_nothing() {
    let workspace = TestWorkspace::new(&[(".tollgate/concepts/auth.md", "A note.\n")]);
    workspace.program(
        "maenifold",
        r#"case "$*" in
            *'"conceptName":"good"'*) echo "about good: $*" ;;
            *slow*) sleep 60 ;;
            *bad*) echo "no such graph" >&2; exit 3 ;;
            *) ;;
        esac"#,
    );
    let args = r#"{"prompt":"[[auth]] [[good]] [[slow]] [[bad]] [[nothing]]"}"#;
    let (code, out, err) = workspace.run_in_time(&["augment", "--tool", "task", "--args", args], &["good", "bad", "nothing"]);
    assert_eq!(code, 0);
    assert!(out.contains("auth from notes\n") && out.contains("good from maenifold\n"), "{out}");
    assert!(
        out.contains(r#"--tool buildcontext --payload {"conceptName":"good","depth":1,"includeContent":true,"maxEntities":5}"#),
        "{out}"
    );
    assert!(!out.contains("## [[slow]]") && !out.contains("## [[bad]]") && !out.contains("## [[nothing]]"), "{out}");
    assert!(err.contains("[[slow]]: maenifold took too long") && err.contains("failed: exit status: 3: no such graph"), "{err}");
}

#[test]
fn a_command_of_the_workspace_runs_only_if_the_user_allows_it() {
    let source = r#"["wiki","{concept}"]"#;
    let config = format!(r#"{{"augment":{{"sources":[{{"name":"wiki","command":{source}}}]}}}}"#);
    let workspace = TestWorkspace::new(&[(".tollgate/config.json", &config)]);
    workspace.program("wiki", "touch \"$PWD/ran\"; echo about $1");
    let ask = || workspace.run_in_time(&["augment", "--tool", "task", "--args", r#"{"prompt":"[[x]]"}"#], &["x"]);
    let (_, _, err) = ask();
    assert!(err.contains("add [\"wiki\",\"{concept}\"] to `augment.commands` in `~/.tollgate/config.json`"), "{err}");
    assert!(!workspace.workspace.path().join("ran").exists());
    write(workspace.home.path(), ".tollgate/config.json", &format!(r#"{{"augment":{{"commands":[{source}]}}}}"#));
    let (_, out, _) = ask();
    assert!(out.contains("x from wiki") && out.contains("about x"), "{out}");
}

#[test]
fn concepts_are_listed_and_searched() {
    let workspace = TestWorkspace::new(&[
        (".tollgate/concepts/auth.md", "---\naliases: [sign-in]\n---\nx\n"),
        (".tollgate/concepts/deep/Billing.md", "y\n"),
    ]);
    let (code, out, _) = workspace.run(&["concepts"]);
    assert_eq!((code, out.lines().count()), (0, 2), "{out}");
    assert!(workspace.run(&["concepts", "SIGN"]).1.starts_with("auth "));
    let (_, out, err) = workspace.run(&["concepts", "nobody"]);
    assert!(out.is_empty() && err.contains("`nobody`"), "{err}");
    let answer: Value = serde_json::from_str(&workspace.run(&["concepts", "--json"]).1).unwrap();
    assert_eq!(answer["total"], 2);
}
