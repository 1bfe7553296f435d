//! The files of a host, as a guest sees them through rulings: what is accessible, and what is not.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use tollgate::Tollgate;

const INTENTS: &str = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]";

fn perform(gate: &mut Tollgate, line: &str) -> String {
    String::from_utf8(gate.perform(line.as_bytes()).unwrap()).unwrap()
}

fn pre_tool(gate: &mut Tollgate, path: &str) -> String {
    perform(gate, &format!(r#"{{"op":"pre-tool","session":"s","call":"c","tool":"write","args":{{"path":"{path}"}}}}"#))
}

fn post_tool(gate: &mut Tollgate, path: &str) -> String {
    let args = format!(r#""tool":"write","args":{{"path":"{path}"}},"success":true"#);
    perform(gate, &format!(r#"{{"op":"post-tool","session":"s","call":"c",{args}}}"#))
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let place = tempfile::tempdir().unwrap();
    let (root, outside, home) = (place.path().join("repo"), place.path().join("outside"), place.path().join("home"));
    fs::create_dir_all(root.join(".orchestration")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(root.join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    symlink(&outside, root.join(".tollgate")).unwrap();
    symlink(outside.join("ledger"), root.join(".orchestration/agent_trace.jsonl")).unwrap();
    let mut gate = Tollgate::builder().workspace(&root).home(&home).open().unwrap();
    perform(&mut gate, r#"{"op":"select-intent","session":"s","intent":"INT-1"}"#);
    assert!(pre_tool(&mut gate, "src/a").contains(r#""verdict":"allow""#));
    let settled = post_tool(&mut gate, "src/a");
    assert!(settled.contains("cannot be written: access denied"), "{settled}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

/// State between calls is accessible only to the user, in the given home folder or a folder of its own.
#[test]
fn the_state_stands_outside_the_workspace_and_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let (root, home, state) = (place.path().join("repo"), place.path().join("home"), place.path().join("state"));
    fs::create_dir_all(root.join(".orchestration")).unwrap();
    fs::write(root.join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    for (named, below) in [(None, home.join(".local/state/tollgate")), (Some(&state), state.clone())] {
        let builder = Tollgate::builder().workspace(&root).home(&home);
        let mut gate =
            named.map_or(builder, |state| Tollgate::builder().workspace(&root).home(&home).state(state)).open().unwrap();
        let kept = gate.state_folder().unwrap().to_owned();
        assert_eq!(kept, tollgate::state_folder(&root, Some(&home), named.map(|state| state.as_path())).unwrap());
        assert!(kept.parent() == Some(&below.canonicalize().unwrap_or(below.clone())) && !kept.exists(), "{}", kept.display());
        perform(&mut gate, r#"{"op":"select-intent","session":"s","intent":"INT-1"}"#);
        assert!(pre_tool(&mut gate, "src/a").contains(r#""verdict":"allow""#));
        assert_eq!(
            fs::read_to_string(kept.join("workspace")).unwrap().trim_end(),
            root.canonicalize().unwrap().to_str().unwrap()
        );
        let mut folders = vec![below, kept.clone()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
            for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    files += 1;
                    assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", entry.display());
                }
            }
        }
        assert!(files > 4, "only {files} files");
    }
    assert!(!root.join(".tollgate").exists(), "nothing of it stands in the workspace");
}

/// A workspace contains links to user files, and hooks that would write there.
#[test]
fn a_link_in_the_workspace_does_not_reach_the_users_files() {
    let place = tempfile::tempdir().unwrap();
    let (root, home) = (place.path().join("repo"), place.path().join("home"));
    let own = home.join(".tollgate/hooks.json");
    for folder in [root.join(".tollgate/state/good"), root.join(".tollgate/logs"), home.join(".tollgate")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(&own, r#"{"hooks":[{"id":"mine","trigger":"t","command":["true"]}]}"#).unwrap();
    for link in [".tollgate/state/good/.tollgate-hooks.json", ".tollgate/logs/hooks.log"] {
        symlink(&own, root.join(link)).unwrap();
    }
    let before = fs::read(&own).unwrap();
    fs::write(root.join(".tollgate/hooks.json"), r#"{"hooks":[{"id":"evil","trigger":"t","command":["true"]}]}"#).unwrap();
    let mut gate = Tollgate::builder().workspace(&root).home(&home).open().unwrap();
    let listed = perform(&mut gate, r#"{"op":"hooks","do":"list"}"#);
    assert!(listed.contains(r#""id":"mine""#) && listed.contains(r#""id":"evil""#), "{listed}");
    assert_eq!(fs::read(&own).unwrap(), before);
}

/// Names and links that the contract's strings cannot represent do not bypass the search of a tree.
#[test]
fn a_tree_with_something_unspeakable_in_it_is_not_written_through() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = tempfile::tempdir().unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff");
    for folder in [".orchestration", "src", "other"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    let mut gate = Tollgate::builder().workspace(root.path()).home(root.path()).open().unwrap();
    perform(&mut gate, r#"{"op":"select-intent","session":"s","intent":"INT-1"}"#);
    let mut unpack = || {
        let args = r#"{"command":"tar xf x.tar -C src"}"#;
        perform(&mut gate, &format!(r#"{{"op":"pre-tool","session":"s","call":"c","tool":"bash","args":{args}}}"#))
    };
    assert!(unpack().contains(r#""verdict":"allow""#), "{}", unpack());
    for (target, name, said) in [
        (std::ffi::OsStr::new("../other"), odd, "`src/odd\u{fffd}` cannot be inspected"),
        (odd, std::ffi::OsStr::new("link"), "`src/link` is a link that cannot be followed"),
    ] {
        symlink(target, root.path().join("src").join(name)).unwrap();
        let answer = unpack();
        assert!(answer.contains(r#""verdict":"ask""#) && answer.contains(said), "{answer}");
        fs::remove_file(root.path().join("src").join(name)).unwrap();
    }
    assert!(Command::new("mkfifo").arg(root.path().join("src/pipe")).status().unwrap().success());
    assert!(unpack().contains(r#""verdict":"allow""#), "{}", unpack());
}

#[test]
fn a_pipe_is_neither_read_nor_waited_for() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join(".orchestration")).unwrap();
    let pipe = root.path().join(".orchestration/active_intents.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut gate = Tollgate::builder().workspace(root.path()).home(root.path().join("home")).open().unwrap();
    let answer = pre_tool(&mut gate, "src/a");
    assert!(answer.contains("intents_unreadable"), "{answer}");
}

#[test]
fn a_workspace_behind_a_link_is_the_same_workspace() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("repo");
    fs::create_dir_all(root.join(".orchestration")).unwrap();
    fs::write(root.join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    let link = place.path().join("link");
    symlink(&root, &link).unwrap();
    let mut gate = Tollgate::builder().workspace(&link).home(place.path()).open().unwrap();
    perform(&mut gate, r#"{"op":"select-intent","session":"s","intent":"INT-1"}"#);
    let answer = pre_tool(&mut gate, link.join("src/a").to_str().unwrap());
    assert!(answer.contains(r#""verdict":"allow""#) && answer.contains(r#""path":"src/a""#), "{answer}");
}

#[test]
fn a_ledger_that_is_a_pipe_holds_nobody_up() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join(".orchestration")).unwrap();
    fs::write(root.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    let pipe = root.path().join(".orchestration/agent_trace.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut gate = Tollgate::builder().workspace(root.path()).home(root.path().join("home")).open().unwrap();
    perform(&mut gate, r#"{"op":"select-intent","session":"s","intent":"INT-1"}"#);
    assert!(pre_tool(&mut gate, "src/a").contains(r#""verdict":"allow""#));
    let settled = perform(
        &mut gate,
        r#"{"op":"post-tool","session":"s","call":"c","tool":"write","args":{"path":"src/a"},"success":true}"#,
    );
    assert!(settled.starts_with(r#"{"entries":[],"notice":"`.orchestration/agent_trace.jsonl` cannot be written"#), "{settled}");
}

/// If a program puts a file where it cannot be looked up, the change is recorded under the name of that place.
#[test]
fn what_cannot_be_looked_at_does_not_go_unnoticed() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = tempfile::tempdir().unwrap();
    for folder in [".orchestration", "src", "docs"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    let mut gate = Tollgate::builder().workspace(root.path()).home(root.path().join("home")).open().unwrap();
    perform(&mut gate, r#"{"op":"select-intent","session":"s","intent":"INT-1"}"#);
    let mut settle = |name: Option<&[u8]>| {
        let call = r#""session":"s","call":"c","tool":"bash","args":{"command":"make"}"#;
        perform(&mut gate, &format!(r#"{{"op":"pre-tool",{call}}}"#));
        if let Some(name) = name {
            fs::write(root.path().join("docs").join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
        }
        perform(&mut gate, &format!(r#"{{"op":"post-tool",{call},"success":true}}"#))
    };
    let settled = settle(Some(b"a\xff"));
    let is_recorded =
        settled.contains("\"relative_path\":\"docs/a\u{fffd}\"") && settled.contains(r#""scope_validation":"FAIL""#);
    assert!(is_recorded, "{settled}");
    assert_eq!(settle(None), r#"{"entries":[]}"#, "what was there before is not recorded again");
}
