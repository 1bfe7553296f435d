//! Malicious hooks: the host survives each of them, answers in time, leaks nothing, and reports what happened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod hostile;
mod program_copy;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use hostile::{HookWorkspace, checker, component, module};
use program_copy::copy_program;

/// The most elapsed time that one call may take: twice the elapsed-time limit, plus a margin for a busy machine.
const MAX_ELAPSED: Duration = Duration::from_millis(1_000);

/// An objection as the answer, at address 100. `code` and `reason` each consist of an address and a length in bytes.
fn objection(severity: u32, code: (u32, u32), reason: (u32, u32)) -> String {
    format!(
        r#"(i32.store8 (i32.const 100) (i32.const 0)) (i32.store8 (i32.const 104) (i32.const 1)) (i32.store8 (i32.const 108) (i32.const {severity}))
        (i32.store (i32.const 112) (i32.const {})) (i32.store (i32.const 116) (i32.const {}))
        (i32.store (i32.const 120) (i32.const {})) (i32.store (i32.const 124) (i32.const {}))
        (i32.const 100)"#,
        code.0, code.1, reason.0, reason.1
    )
}

const CODE: &str = r#"(data (i32.const 200) "no") (data (i32.const 300) "hello\0a\1b[2J\e2\80\ae there")"#;
const LOG: &str = r#"(import "tollgate:hook/log@0.2.0" "write" (func $log (param i32 i32 i32)))"#;
const READ: &str = r#"(import "tollgate:hook/files@0.2.0" "read" (func $read (param i32 i32 i32 i32)))"#;

#[test]
fn a_good_hook_objects() {
    let mut workspace =
        HookWorkspace::new(&component("checker", &module("", CODE, &objection(1, (200, 2), (300, 19))), &json!({})));
    for _ in 0..3 {
        let (answer, _) = workspace.write("src/a.ts");
        assert_eq!((&answer["verdict"], &answer["code"]), (&json!("deny"), &json!("h/no")), "{answer}");
        assert_eq!(answer["reason"], "hook h: hello [2J there");
    }
    let record = workspace.record();
    assert_eq!((&record["status"], &record["said"]["severity"]), (&json!("success"), &json!("deny")));
    assert!(record["duration_us"].is_u64());
}

/// `tollgate eval` waits for hooks before it answers a line, also if no line was about hooks before.
#[test]
fn eval_answers_with_the_objection() {
    let mut workspace =
        HookWorkspace::new(&component("checker", &module("", CODE, &objection(1, (200, 2), (300, 19))), &json!({})));
    let before = workspace.record();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["eval", "--workspace"]).arg(workspace.root()).arg("--home").arg(workspace.home());
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let call = json!({"session": "s1", "call": "c1", "tool": "write", "args": {"path": "src/a.ts", "content": "x"}});
    for op in [json!({"op": "pre-tool"}), json!({"op": "post-tool", "success": true})] {
        let mut line = call.clone();
        line.as_object_mut().unwrap().extend(op.as_object().unwrap().clone());
        writeln!(child.stdin.as_ref().unwrap(), "{line}").unwrap();
    }
    let answers = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&answers[0]["verdict"], &answers[0]["code"]), (&json!("deny"), &json!("h/no")), "{answers:?}");
    assert!(answers[1]["entries"].is_array(), "{answers:?}");
    assert_ne!(workspace.record(), before);
}

/// The same set of hooks runs in Node and Bun (`npm-wrapper/test/third_party.test.js`). Every fault counts as no objection and is
/// recorded, and the next call is answered by a fresh instance.
#[test]
fn faults_are_survived() {
    let text = include_str!("../../fixtures/hostile_hooks.jsonl");
    assert!(text.lines().count() >= 20);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let name = case["name"].as_str().unwrap();
        let mut workspace = HookWorkspace::new(&component("checker", case["wat"].as_str().unwrap(), &json!({})));
        for round in 0..2 {
            let (answer, took) = workspace.write("src/a.ts");
            assert_eq!(answer["verdict"], case.get("verdict").cloned().unwrap_or_else(|| "allow".into()), "{name}: {answer}");
            assert!(took < MAX_ELAPSED, "{name} took {took:?}");
            let record = workspace.record();
            assert_eq!(record["status"], case["status"], "{name}, round {round}: {record}");
            match case["why"].as_str() {
                Some(why) => assert!(record["reason"].as_str().unwrap().starts_with(why), "{name}: {record}"),
                None => assert!(record.get("reason").is_none(), "{name}: {record}"),
            }
            if let Some(reason) = case["reason"].as_str() {
                assert_eq!(answer["reason"], reason);
            }
        }
    }
}

#[test]
fn a_hook_rests_after_three_faults_and_comes_back_when_approved() {
    let mut workspace = HookWorkspace::new(&component("checker", &checker("unreachable"), &json!({})));
    for _ in 0..3 {
        workspace.write("src/a.ts");
    }
    let before = workspace.perform(&json!({"op": "hooks", "do": "history", "limit": 100}))["records"].as_array().unwrap().len();
    workspace.write("src/a.ts");
    let after = workspace.perform(&json!({"op": "hooks", "do": "history", "limit": 100}))["records"].as_array().unwrap().len();
    assert_eq!((before, after), (3, 3), "it is not called any more");
    workspace.perform(&json!({"op": "hooks", "do": "approve", "id": "h"}));
    workspace.write("src/a.ts");
    assert_eq!(workspace.perform(&json!({"op": "hooks", "do": "history", "limit": 100}))["records"].as_array().unwrap().len(), 4);
}

#[test]
fn a_flood_of_log_lines_is_bounded() {
    let body = r#"(loop $again
        (call $log (i32.const 3) (i32.const 300) (i32.const 5000))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5000))))
      (i32.const 64)"#;
    let mut workspace = HookWorkspace::new(&component(
        "checker",
        &module(LOG, &format!("(data (i32.const 300) \"{}\")", "x".repeat(5_000)), body),
        &json!({"limits": {"cpu_ms": 1000, "wall_ms": 2000, "lifted_kb": 4096}}),
    ));
    workspace.write("src/a.ts");
    let record = workspace.record();
    let lines = record["log"].as_array().cloned().unwrap_or_default();
    assert_eq!(lines.len(), 100, "{}", record["status"]);
    assert!(lines.iter().all(|line| line["text"].as_str().unwrap().chars().count() <= 1_001));
}

/// A path that is not granted is denied whether it exists or not, and links do not lead out of the granted files.
#[test]
fn files_are_read_only_where_granted() {
    // Reads the path at 400, whose length is at 396, and answers with the fault as the severity of an objection, or denies with the text.
    let body = |path: &str| {
        format!(
            r#"(call $read (i32.const 400) (i32.const {}) (i32.const 100) (i32.const 64))
            (if (i32.load8_u (i32.const 64))
              (then (i32.store8 (i32.const 200) (i32.add (i32.const 97) (i32.load8_u (i32.const 68)))) (i32.store (i32.const 116) (i32.const 1)))
              (else (i32.store8 (i32.const 200) (i32.const 122)) (i32.store (i32.const 116) (i32.const 1))))
            (i32.store8 (i32.const 100) (i32.const 0)) (i32.store8 (i32.const 104) (i32.const 1)) (i32.store8 (i32.const 108) (i32.const 1))
            (i32.store (i32.const 112) (i32.const 200)) (i32.store (i32.const 120) (i32.const 200)) (i32.store (i32.const 124) (i32.const 1))
            (i32.const 100)"#,
            path.len()
        )
    };
    // The code's letter: `z` if the file was read, otherwise `a` for denied, `b` for missing, `c` for too large, `d` for not
    // text, `e` for another kind.
    for (path, code) in [
        ("src/a.txt", "z"),
        ("src/none.txt", "b"),
        ("src/sub", "e"),
        ("src/long.txt", "c"),
        ("secret.txt", "a"),
        ("no-such-secret.txt", "a"),
        ("src/../secret.txt", "a"),
        ("./src/a.txt", "a"),
        ("/etc/passwd", "a"),
        ("/no/such/file", "a"),
        ("src/link.txt", "a"),
        ("src/out.txt", "a"),
        ("src/dir-link/x", "a"),
        ("", "a"),
    ] {
        let text = module(READ, &format!("(data (i32.const 400) \"{path}\")"), &body(path));
        let mut workspace = HookWorkspace::new(&component("checker", &text, &json!({"read": ["src/**"]})));
        let root = workspace.root();
        fs::create_dir(root.join("src/sub")).unwrap();
        fs::write(root.join("src/long.txt"), "x".repeat(101)).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../secret.txt", root.join("src/link.txt")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", root.join("src/out.txt")).unwrap();
            std::os::unix::fs::symlink("/etc", root.join("src/dir-link")).unwrap();
        }
        let (answer, _) = workspace.write("src/b.ts");
        assert_eq!(answer["code"], format!("h/{code}"), "{path}: {answer}");
    }
}

/// A component that cannot be a hook is refused when it is approved or compiled, and is never called.
#[test]
fn what_cannot_be_a_hook_is_refused() {
    let good = component("checker", &checker("(i32.const 64)"), &json!({}));
    let mut cut = good.clone();
    cut.truncate(good.len() / 2);
    let core = wat::parse_str(checker("(i32.const 64)")).unwrap();
    let steal = wat::parse_str(r#"(component (import "evil:corp/steal@1.0.0" (instance)) )"#).unwrap();
    let old = wat::parse_str(r#"(component (instance $i) (export "tollgate:hooks/pre-tool@0.1.0" (instance $i)))"#).unwrap();
    let empty = wat::parse_str(r#"(component (instance $i) (export "tollgate:hook/pre-tool@0.2.0" (instance $i)))"#).unwrap();
    for (name, bytes, said) in [
        ("text", b"(component)".to_vec(), "does not begin with"),
        ("native code", b"\x7fELF\x02\x01\x01\0\0\0\0\0".to_vec(), "does not begin with"),
        ("a core module", core, "core WebAssembly module"),
        ("cut short", cut, "damaged"),
        ("an unknown import", steal, "evil:corp/steal@1.0.0"),
        ("contract 0.1.0", old, "tollgate:hooks@0.1.0"),
        (
            "no manifest's JSON",
            [good.clone(), tollgate_guest::hooks::components::binary::custom_section("tollgate:hook", b"{}")].concat(),
            "more than one section",
        ),
    ] {
        let why = HookWorkspace::try_new(&bytes, json!({})).err().unwrap_or_else(|| panic!("{name} was approved"));
        assert!(why.contains(said), "{name}: {why}");
    }
    // Its export names are right, but not the exported items: it can be started but not called.
    if let Ok(mut workspace) = HookWorkspace::try_new(&empty, json!({})) {
        assert_eq!(workspace.write("src/a.ts").0["verdict"], "allow");
        assert_ne!(workspace.record()["status"], "success");
    }
}

/// Compiling a small module that needs gigabytes is given up, together with the compiler process: the compiler keeps a table of
/// all blocks for every local that is read after many blocks.
#[test]
#[cfg(target_os = "linux")]
fn a_compile_bomb_is_given_up() {
    let (locals, blocks) = (10_000, 60_000);
    let body = format!(
        "{} {} (local.set $i (i32.const 64)) {}",
        "(local i32)".repeat(locals),
        "(block (br_if 0 (local.get $i)))".repeat(blocks),
        (0..locals).map(|local| format!("(drop (local.get {local}))")).collect::<String>(),
    );
    let bomb = format!("(func (export \"bomb\") (local $i i32) {body})");
    let bytes = component("checker", &module("", &bomb, "(i32.const 64)"), &json!({}));
    assert!(bytes.len() < 1 << 20, "it is small: {}", bytes.len());
    let why = HookWorkspace::try_new(&bytes, json!({})).err().unwrap();
    assert_eq!(why, "it cannot be compiled: compiling it takes more time or memory than is allowed");
}

/// Without `tollgate-compiler` next to it or in `PATH`, `tollgate` says what to install.
#[test]
fn a_missing_compiler_is_named() {
    let workspace = HookWorkspace::new(&component("checker", &checker("(i32.const 64)"), &json!({})));
    fs::remove_dir_all(workspace.home().join(".tollgate/cache")).unwrap();
    let kept = fs::read_dir(workspace.home().join(".tollgate/components")).unwrap().next().unwrap().unwrap().path();
    let digest = format!("sha256:{}", kept.file_stem().unwrap().to_str().unwrap());
    let alone = tempfile::tempdir().unwrap();
    let program = alone.path().join("tollgate");
    copy_program(Path::new(env!("CARGO_BIN_EXE_tollgate")), &program);
    let mut runner = Command::new(&program)
        .args(["hook-runner", "--workspace"])
        .arg(workspace.root())
        .arg("--home")
        .arg(workspace.home())
        .env("PATH", alone.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let limits = json!({"cpu_ms": 50, "wall_ms": 250, "start_ms": 400, "memory_bytes": 64 << 20, "lifted_bytes": 1 << 20, "read_bytes": 4 << 20});
    let question = json!({"hook": "h", "component": digest, "files": [], "settings": "{}", "limits": limits});
    let event = json!({"name": "session_start", "session": null, "data": "{}"});
    writeln!(runner.stdin.take().unwrap(), "{}", json!({"subject": {"event": event}, "questions": [question]})).unwrap();
    let answers: Value = serde_json::from_slice(&runner.wait_with_output().unwrap().stdout).unwrap();
    let why = answers["answers"][0]["reply"]["absent"].as_str().unwrap_or_else(|| panic!("{answers}"));
    assert!(why.starts_with("there is no `tollgate-compiler`, neither beside this program nor in `PATH`; install it"), "{why}");
}

#[test]
fn nothing_leaks_over_many_calls_and_faults() {
    let trap_each_other = module(
        "",
        "(global $n (mut i32) (i32.const 0))",
        "(global.set $n (i32.add (global.get $n) (i32.const 1))) (if (i32.eq (global.get $n) (i32.const 2)) (then unreachable)) (i32.const 64)",
    );
    let mut workspace = HookWorkspace::new(&component("checker", &trap_each_other, &json!({})));
    let rss = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or("VmRSS: 0 kB").to_owned();
        line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or_default()
    };
    for _ in 0..200 {
        workspace.write("src/a.ts");
    }
    let before = rss();
    for _ in 0..10_000 {
        assert_eq!(workspace.write("src/a.ts").0["verdict"], "allow");
    }
    let grown = rss().saturating_sub(before);
    assert!(grown < 24 << 10, "{grown} kB more after 10,000 calls, of which every other was a fault");
}

/// A repository cannot ship native code, and code that others could have written is not loaded.
#[test]
#[cfg(unix)]
fn native_code_that_others_could_write_is_not_loaded() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut workspace =
        HookWorkspace::new(&component("checker", &module("", CODE, &objection(1, (200, 2), (300, 5))), &json!({})));
    let cache = workspace.home().join(".tollgate/cache");
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o077, 0, "nobody else may enter");
    let version = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let code = fs::read_dir(&version)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|kind| kind == "cwasm"))
        .unwrap();
    fs::set_permissions(&code, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(workspace.write("src/a.ts").0["verdict"], "allow");
    let record = workspace.record();
    assert!(record["reason"].as_str().unwrap().contains("could have been written by another user"), "{record}");
    let _: Value = record;
}
