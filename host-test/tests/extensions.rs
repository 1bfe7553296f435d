//! Extensions through the `tollgate` command and real programs, using the sample in `examples/`.

#![cfg(unix)]

use std::fs;
use std::io::{BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::terminal::PersonCommand;
use serde_json::{Value, json};
use tollgate::hooks::{Hooks, Options};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/house-rules")
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A workspace with the sample extension in it.
fn sample_place() -> Place {
    let place = Place::new(&[]);
    copy_folder(&sample(), &place.root().join(".tollgate/extensions/house-rules"));
    place
}

/// Runs a command at a terminal, with a person who types these lines.
fn at_terminal(place: &Place, words: &[&str], typed: &'static str) -> (i32, String, String) {
    let (root, home) = (place.root(), place.home());
    let words = [words, &["--workspace", root.to_str().unwrap(), "--home", home.to_str().unwrap()]].concat();
    PersonCommand::new(&root, &words)
        .with_variable("PATH", std::env::var("PATH").unwrap_or_default())
        .with_input(typed)
        .at_terminal()
}

fn before_tool(place: &Place, args: &Value) -> Value {
    let mut hooks = Hooks::new(place.gate(), Options::new());
    let answer = hooks.event("before_tool", "s", &json!({"tool_name": "write", "args": args})).unwrap();
    serde_json::to_value(json!({"continue": answer.proceed, "message": answer.system_message})).unwrap()
}

#[test]
fn the_sample_extension_works_from_end_to_end() {
    let place = sample_place();
    let (code, out, _) = place.run(&["extensions", "list"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("house-rules  1.0.0    disabled  1 hook, 1 server, 2 skills, 2 settings"), "{out}");
    assert_eq!(before_tool(&place, &json!({"filePath": "LICENSE"}))["continue"], true);
    // Not without a person, and not against their will.
    let (code, _, err) = {
        let output = place.tollgate(&["extensions", "approve", "house-rules", "--yes"]).output().unwrap();
        (output.status.code().unwrap(), String::new(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(code, 2, "{err}");
    let (code, out, _) = at_terminal(&place, &["extensions", "approve", "house-rules"], "n\n");
    assert_eq!(code, 1, "{out}");
    for said in [
        "runs `node hooks/guard.mjs`",
        "starts `node server.mjs`",
        "reads the variable HOUSE_RULES_TOKEN",
        "skill `explain-rule`",
        "file         hooks/protected.mjs sha256:",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let (code, out, err) = at_terminal(&place, &["extensions", "approve", "house-rules"], "y\n");
    assert_eq!(code, 0, "{out}{err}");
    // The hook really runs, with the files next to it and its setting.
    let stopped = before_tool(&place, &json!({"filePath": "LICENSE"}));
    assert_eq!(
        stopped,
        json!({"continue": false, "message": "LICENSE is protected by the rules of the house; leave it as it is."})
    );
    assert_eq!(before_tool(&place, &json!({"filePath": "src/a.ts"}))["continue"], true);
    let (code, out, err) = at_terminal(&place, &["extensions", "set", "house-rules", "protected", "src/a.ts"], "");
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(before_tool(&place, &json!({"filePath": "src/a.ts"}))["continue"], false);
    assert_eq!(before_tool(&place, &json!({"filePath": "LICENSE"}))["continue"], true);
    // Its server is one of the MCP servers, and its tool is called through the gate.
    let (code, out, err) = place.run(&["mcp", "call", "rules", "list_rules", r#"{"about": "licence"}"#]);
    assert_eq!((code, out.as_str()), (0, "Leave the licence alone.\n"), "{err}");
    // Someone replaces a file: nothing of the extension runs, and the command says so.
    fs::write(place.root().join(".tollgate/extensions/house-rules/hooks/protected.mjs"), "export const protectedIn = () => 'x';")
        .unwrap();
    assert_eq!(before_tool(&place, &json!({"filePath": "src/a.ts"}))["continue"], true);
    let (_, out, _) = place.run(&["hooks", "history"]);
    assert!(out.contains("skipped") && out.contains("house-rules:guard"), "{out}");
    let (code, out, err) = place.run(&["mcp", "call", "rules", "list_rules"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("it has changed since it was approved"), "{err}");
}

#[test]
fn enabling_and_disabling_count_in_a_host_that_is_running() {
    let place = Place::new(&[]);
    copy_folder(&sample(), &place.home().join(".tollgate/extensions/house-rules"));
    let mut hooks = Hooks::new(place.gate(), Options::new());
    let mut goes_on = || hooks.event("before_tool", "s", &json!({"args": {"filePath": "LICENSE"}})).unwrap().proceed;
    assert!(goes_on());
    for (what, expected) in [("enable", false), ("disable", true), ("enable", false)] {
        let (code, out, err) = at_terminal(&place, &["extensions", what, "house-rules"], "y\n");
        assert_eq!(code, 0, "{out}{err}");
        assert_eq!(goes_on(), expected, "{what}");
    }
}

#[test]
fn a_secret_is_asked_for_and_kept_where_only_the_user_can_read_it() {
    let place = Place::new(&[]);
    copy_folder(&sample(), &place.home().join(".tollgate/extensions/house-rules"));
    at_terminal(&place, &["extensions", "enable", "house-rules"], "y\n");
    let (code, _, err) = at_terminal(&place, &["extensions", "set", "house-rules", "token", "in-plain-sight"], "");
    assert_eq!(code, 2);
    assert!(err.contains("is a secret, and every user of this machine can see a command's arguments"), "{err}");
    let (code, out, err) = at_terminal(&place, &["extensions", "set", "house-rules", "token"], "correct horse battery\n");
    assert_eq!(code, 0, "{out}{err}");
    assert!(!format!("{out}{err}").contains("correct horse"), "what is typed is not shown: {out}{err}");
    assert!(out.contains("token of house-rules is set, in ~/.tollgate/secrets.json; the extension is active"), "{out}");
    let file = place.home().join(".tollgate/secrets.json");
    assert!(fs::read_to_string(&file).unwrap().contains("correct horse battery"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (_, out, _) = place.run(&["extensions", "show", "house-rules"]);
    assert!(out.contains("token = [REDACTED] (secrets)") && !out.contains("correct horse"), "{out}");
    let (code, out, _) = at_terminal(&place, &["extensions", "set", "house-rules", "token", "--unset"], "");
    assert_eq!(code, 0, "{out}");
    assert!(!fs::read_to_string(&file).unwrap().contains("correct horse"));
}

#[test]
fn a_setting_is_read_from_the_environment_by_its_name_alone() {
    let place = Place::new(&[]);
    copy_folder(&sample(), &place.home().join(".tollgate/extensions/house-rules"));
    at_terminal(&place, &["extensions", "enable", "house-rules"], "y\n");
    let mut command = place.tollgate(&["extensions", "show", "house-rules", "--json"]);
    command.env("HOUSE_RULES_PROTECTED", "docs/x.md").env("HOUSE_RULES_TOKEN", "a secret of mine").env("OTHER", "not asked for");
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&shown["settings"][0]["value"], &shown["settings"][0]["from"]), (&json!("docs/x.md"), &json!("environment")));
    assert_eq!((&shown["settings"][1]["value"], &shown["settings"][1]["from"]), (&json!("[REDACTED]"), &json!("environment")));
    assert!(!out.contains("a secret of mine") && !out.contains("not asked for"));
}

#[test]
fn bad_manifests_are_reported_and_the_exit_code_says_so() {
    let place = Place::new(&[]);
    for (name, text) in [
        ("deep", format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200))),
        ("torn", "{".to_owned()),
        ("types", r#"{"name": ["x"], "version": 1, "hooks": "/etc/passwd", "settings": [{"name": "a", "description": "d", "envVar": "A=B"}]}"#.to_owned()),
        ("control", "{\"name\": \"a\\u001b[2J\", \"version\": \"1\"}".to_owned()),
    ] {
        let folder = place.root().join(".tollgate/extensions").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("manifest.json"), text).unwrap();
    }
    symlink("/etc", place.root().join(".tollgate/extensions/linked")).unwrap();
    symlink("/etc/passwd", place.root().join(".tollgate/extensions/torn/more")).unwrap();
    let (code, out, _) = place.run(&["extensions", "check"]);
    assert_eq!(code, 1, "{out}");
    for said in [
        ".tollgate/extensions/linked:1:1: error: `$` is a link",
        ".tollgate/extensions/deep/manifest.json:1:",
        "recursion limit exceeded",
        ".tollgate/extensions/torn/manifest.json:1:1: error: `$` is not valid JSON",
        "`$.name` must be a string of one line",
        "`$.hooks` names `/etc/passwd`",
        "`$.settings[0].envVar` must be the name of a variable",
        "4 extensions, 8 errors",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    assert!(!out.contains('\u{1b}'), "nothing moves the cursor: {out:?}");
    let (code, out, _) = place.run(&["extensions", "list", "--json"]);
    assert_eq!(code, 1);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed["faults"].as_array().unwrap().len(), 8, "{listed:#}");
    let (code, ..) = place.run(&["extensions", "show", "nobody"]);
    assert_eq!(code, 2);
}

#[test]
fn a_new_extension_can_be_approved_and_used() {
    let place = Place::new(&[]);
    let (code, out, err) = at_terminal(&place, &["extensions", "new", "fresh"], "");
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = at_terminal(&place, &["extensions", "approve", "fresh"], "y\n");
    assert_eq!(code, 0, "{out}{err}");
    let mut hooks = Hooks::new(place.gate(), Options::new());
    let answer = hooks.event("after_tool", "s", &json!({})).unwrap();
    assert_eq!(answer.system_message.as_deref(), Some("done"));
    let (code, out, _) = place.run(&["skills", "show", "explain", "file=a.rs"]);
    assert_eq!((code, out.as_str()), (0, "Explain a.rs to somebody who is new here.\n"));
    let (code, out, _) = place.run(&["skills", "list"]);
    assert!(code == 0 && out.contains("explain  file"), "{out}");
}

/// Sends one JSON-RPC message as a line, and reads the answer.
fn send_request(stdin: &mut impl std::io::Write, stdout: &mut impl std::io::BufRead, message: &Value) -> Value {
    writeln!(stdin, "{message}").unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn skills_are_prompts_of_the_mcp_server() {
    let place = sample_place();
    at_terminal(&place, &["extensions", "approve", "house-rules"], "y\n");
    let mut command = place.tollgate(&["mcp-serve"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let greeted = send_request(&mut stdin, &mut stdout, &hello);
    assert!(greeted["result"]["capabilities"].get("prompts").is_some(), "{greeted}");
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    let listed = send_request(&mut stdin, &mut stdout, &json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}));
    let names: Vec<&str> =
        listed["result"]["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["explain-rule", "release-notes"]);
    assert_eq!(listed["result"]["prompts"][0]["arguments"][0]["required"], true);
    let get = |id: u64, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": {"name": "explain-rule", "arguments": arguments}});
    let got = send_request(&mut stdin, &mut stdout, &get(3, json!({"topic": "tests"})));
    let said = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.starts_with("Explain the rule about tests"), "{got}");
    let wrong = send_request(&mut stdin, &mut stdout, &get(4, json!({})));
    assert!(wrong["error"]["message"].as_str().unwrap().contains("needs the parameter `topic`"), "{wrong}");
    drop(stdin);
    child.wait().unwrap();
}

/// A guard that was written for Claude Code stops a call of another program.
#[test]
fn hooks_for_claude_code_are_taken_over_and_stop_calls_elsewhere() {
    let place = Place::new(&[]);
    fs::create_dir_all(place.root().join(".claude/hooks")).unwrap();
    let script = "#!/bin/sh\ncommand=$(cat)\ncase \"$command\" in *'rm -rf'*) echo \"no rm -rf in $CLAUDE_PROJECT_DIR\" >&2; exit 2;; esac\n";
    fs::write(place.root().join(".claude/hooks/no-rm.sh"), script).unwrap();
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/no-rm.sh"}]}]}});
    fs::write(place.root().join(".claude/settings.json"), settings.to_string()).unwrap();
    let (code, out, err) = place.run(&["hooks", "import"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("+ pretooluse-no-rm.sh  PreToolUse Bash  ./.claude/hooks/no-rm.sh  (.tollgate/hooks.json)"), "{out}");
    assert!(err.contains("nothing was changed"), "{err}");
    let (code, out, err) = at_terminal(&place, &["hooks", "import", "--yes"], "");
    assert_eq!(code, 0, "{out}{err}");
    let mut hooks = Hooks::new(place.gate(), Options::new());
    let mut run = |program: &str, command: &str| {
        let data = json!({"program": program, "tool_name": "bash", "args": {"command": command}});
        let answer = hooks.event("before_tool", "s", &data).unwrap();
        (answer.proceed, answer.system_message)
    };
    assert_eq!(run("opencode", "ls"), (true, None));
    let (goes_on, message) = run("opencode", "rm -rf /");
    assert!(!goes_on && message.unwrap().contains(&format!("no rm -rf in {}", place.root().canonicalize().unwrap().display())));
    // Claude Code runs it itself.
    assert_eq!(run("claude-code", "rm -rf /"), (true, None));
}
