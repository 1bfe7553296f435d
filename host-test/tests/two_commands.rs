//! `tollgate init`, `doctor`, `intents`, `extensions` and `skills` of this host and of the npm package have the same output and write the same
//! files.
//!
//! `cargo xtask test` builds the package first and sets `TOLLGATE_NODE`; without it there is nothing to compare with.

#![cfg(unix)]

use crate::terminal;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::{WITHOUT_NODE, report_skip};
use serde_json::json;

/// The commands, and their folders in the repository.
const STEPS: &[(&str, &[&str])] = &[
    ("../other", &["intents", "list"]),
    ("../other", &["intents", "list", "--json"]),
    ("../other", &["intents", "check"]),
    ("", &["extensions", "list"]),
    ("", &["extensions", "list", "--json"]),
    ("", &["extensions", "show", "house-rules"]),
    ("", &["extensions", "show", "nobody", "--json"]),
    ("", &["extensions", "check"]),
    ("", &["extensions", "check", ".tollgate/extensions/house-rules"]),
    ("", &["skills", "list"]),
    ("", &["skills", "show", "notes"]),
    ("", &["skills", "show", "notes", "arguments=since\u{1b} May"]),
    ("", &["skills", "show", "notes", "arguments"]),
    ("", &["doctor"]),
    ("", &["init", "--host", "qwen"]),
    ("", &["init", "--yes"]),
    ("", &["init", "--yes", "--json"]),
    ("", &["intents", "list"]),
    ("", &["doctor"]),
    ("", &["doctor", "--json"]),
    ("src", &["doctor", "--json"]),
    ("src", &["init", "--yes", "--host", "claude-code", "--host", "gemini"]),
    ("src", &["doctor"]),
    ("", &["init", "--yes", "--host", "opencode", "--scope", "user", "--json"]),
    ("", &["init", "--yes", "--host", "codex", "--workspace", "../other"]),
    ("", &["init", "--undo"]),
    ("", &["init", "--undo", "--yes", "--json"]),
    ("", &["init", "--undo", "--yes"]),
    ("../other", &["init", "--undo", "--yes"]),
];

/// The output of a command at every step, and the files afterwards.
#[derive(Debug, PartialEq)]
struct Run {
    said: Vec<(Vec<&'static str>, i32, String, String)>,
    files: Vec<BTreeMap<PathBuf, String>>,
}

/// A machine with a repository and a user of several programs.
fn machine(tollgate: &Path) -> tempfile::TempDir {
    let machine = tempfile::tempdir().unwrap();
    let top = machine.path().canonicalize().unwrap();
    for folder in ["repo/.git", "repo/src", "other/.git", "home", "tools", "native", "tmp"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    for (path, text) in [
        ("repo/.claude/settings.json", "{\n  // mine\n  \"model\": \"opus\", // the best\n}\n"),
        ("repo/.gemini/settings.json", "{\r\n\t\"theme\": \"dark\"\r\n}\r\n"),
        ("repo/.cursor/hooks.json", "{\"hooks\": []}"),
        ("repo/opencode.json", "{\"plugin\": [\"other\"]}\n"),
        ("repo/.tollgate/hooks.json", "{\"hooks\": [{\"id\": \"lint\", \"trigger\": \"after_tool\", \"command\": [\"true\"]}]}"),
        ("home/.codex/config.toml", "model = \"x\"\n"),
        ("repo/.tollgate/extensions/house-rules/manifest.json", include_str!("../../examples/house-rules/manifest.json")),
        ("repo/.tollgate/extensions/broken/manifest.json", "{\n  \"name\": \"broken\\u001b\"\n}\n"),
        ("repo/.claude/skills/notes/SKILL.md", "---\nname: notes\ndescription: Release notes\n---\nWrite notes.\n\n$ARGUMENTS\n"),
        ("home/.copilot/config.json", "// made by Copilot\n{\"trustedFolders\": []}\n"),
    ] {
        fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
        fs::write(top.join(path), text).unwrap();
    }
    let trusted = json!({top.join("repo").to_str().unwrap(): "TRUST_FOLDER"}).to_string();
    fs::create_dir_all(top.join("home/.gemini")).unwrap();
    fs::write(top.join("home/.gemini/trustedFolders.json"), trusted).unwrap();
    symlink(tollgate, top.join("tools/tollgate")).unwrap();
    symlink(env!("CARGO_BIN_EXE_tollgate"), top.join("native/tollgate")).unwrap();
    let search = std::env::var_os("PATH").unwrap();
    for name in ["node", "sh", "env"] {
        let found = std::env::split_paths(&search).map(|folder| folder.join(name)).find(|path| path.exists());
        symlink(found.unwrap().canonicalize().unwrap(), top.join("tools").join(name)).unwrap();
    }
    machine
}

/// Executes the steps. The machine's own path is removed from everything.
fn run(tollgate: &Path) -> Run {
    let machine = machine(tollgate);
    let top = machine.path().canonicalize().unwrap();
    // Each uses the native program if it finds it.
    let bare = |text: &str| text.replace(top.to_str().unwrap(), "{top}").replace("{top}/native/", "{top}/tools/");
    let mut run = Run { said: Vec::new(), files: Vec::new() };
    let search = std::env::join_paths([top.join("tools"), top.join("native")]).unwrap();
    for (folder, words) in STEPS {
        let mut command = terminal::PersonCommand::new(&top.join("repo").join(folder), words);
        command.words[0] = top.join("tools/tollgate").display().to_string();
        command = command
            .with_variable("HOME", top.join("home"))
            .with_variable("PATH", &search)
            .with_variable("TMPDIR", top.join("tmp"));
        let (code, out, err) = if terminal::has_yes_flag(words) { command.at_terminal() } else { command.without_terminal() };
        run.said.push((words.to_vec(), code, without_confinement(&without_trial_folders(&bare(&out))), bare(&err)));
        run.files.push(files(&top, &bare));
    }
    run
}

/// Test folders have a different name every time.
fn without_trial_folders(text: &str) -> String {
    let mut pieces = text.split("tollgate-doctor-");
    let first = pieces.next().unwrap_or_default().to_owned();
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    pieces.fold(first, |text, piece| format!("{text}tollgate-doctor{}", piece.trim_start_matches(is_name)))
}

/// Only the native program can test confinement.
fn without_confinement(text: &str) -> String {
    let line = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut judged) if judged.get("version").is_some() => {
            judged.as_object_mut().unwrap().shift_remove("confinement");
            judged.to_string()
        }
        _ => line.to_owned(),
    };
    let lines = text.lines().filter(|line| !line.starts_with("confinement: ")).map(line);
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// The digest of a file that contains the machine's own path differs.
fn without_digests(text: &str) -> String {
    let mut pieces = text.split("sha256:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| format!("{text}sha256:{}", piece.trim_start_matches(|c: char| c.is_ascii_hexdigit())))
}

/// All files except the ledgers, which contain times; of the gate's state, only what was set up.
fn files(top: &Path, bare: &impl Fn(&str) -> String) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![top.join("repo"), top.join("other"), top.join("home"), top.join("tmp")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_state = entry.starts_with(top.join("home/.local"));
            if entry.is_dir() {
                folders.push(entry);
            } else if !is_state && !entry.ends_with("agent_trace.jsonl") {
                files.insert(entry.strip_prefix(top).unwrap().to_owned(), bare(&fs::read_to_string(&entry).unwrap()));
            } else if entry.ends_with("init.json") {
                let receipt = without_digests(&bare(&fs::read_to_string(&entry).unwrap()));
                let workspace = if receipt.contains("\"workspace\": \"{top}/other\"") { "other" } else { "repo" };
                files.insert(PathBuf::from(format!("the receipt of {workspace}")), receipt);
            }
        }
    }
    files
}

#[test]
fn both_commands_do_the_same() {
    let Ok(node) = std::env::var("TOLLGATE_NODE") else {
        report_skip(WITHOUT_NODE);
        return;
    };
    assert!(Command::new(node).arg("--version").output().unwrap().status.success());
    let ours = run(Path::new(env!("CARGO_BIN_EXE_tollgate")));
    let theirs = run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../npm-wrapper/bin/tollgate.js").canonicalize().unwrap());
    for (at, ((ours_said, theirs_said), (ours_files, theirs_files))) in
        ours.said.iter().zip(&theirs.said).zip(ours.files.iter().zip(&theirs.files)).enumerate()
    {
        assert_eq!(ours_said, theirs_said, "step {at}");
        assert_eq!(ours_files, theirs_files, "step {at}: {:?}", ours_said.0);
    }
    // Each of them has an effect.
    let codes: Vec<i32> = ours.said.iter().map(|(_, code, ..)| *code).collect();
    assert_eq!(
        codes,
        [0, 0, 1, 1, 1, 0, 2, 1, 0, 0, 0, 0, 2, 1, 2, 2, 2, 0, 1, 1, 1, 0, 1, 0, 0, 2, 0, 0, 0],
        "{:#?}",
        ours.said
    );
}
