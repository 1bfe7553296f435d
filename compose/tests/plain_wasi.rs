//! The composed gate in plain wasmtime with wasmtime-wasi: it answers like the command, with nothing but opened folders.
//!
//! `TOLLGATE_GATE` names the gate's component, `TOLLGATE_HELPER` the helper's, `TOLLGATE_COMMAND` the command to compare with,
//! `TOLLGATE_PRECOMPILE` the program that compiles the composed gate; without them, those that `cargo xtask build` and
//! `cargo xtask compose` leave in the target folder.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tollgate_compose::compose;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

#[path = "../../host-test/src/engine_config.rs"]
mod engine_config;

fn built_file(variable: &str, path: &str) -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target").join(path);
    let file = std::env::var_os(variable).map_or_else(usual, PathBuf::from);
    assert!(file.exists(), "`{}` is missing; `cargo xtask build` and `cargo xtask compose` build it", file.display());
    file
}

fn compose_gate() -> Vec<u8> {
    let gate = fs::read(built_file("TOLLGATE_GATE", "tollgate.wasm")).unwrap();
    let helper = fs::read(built_file("TOLLGATE_HELPER", "compose/wasm32-wasip2/release/tollgate_wasi_helper.wasm")).unwrap();
    compose(&gate, &helper).unwrap()
}

/// Compiles the composed gate to native code, with a program that has already been built. Doing it in this process would mean
/// compiling Cranelift once more.
fn precompile_gate(engine: &Engine, folder: &Path) -> Component {
    let (component, code) = (folder.join("gate.wasm"), folder.join("gate.cwasm"));
    fs::write(&component, compose_gate()).unwrap();
    let program = built_file("TOLLGATE_PRECOMPILE", &format!("compiler/release/precompile{EXE_SUFFIX}"));
    let status = Command::new(program).arg(&component).arg(&code).status().unwrap();
    assert!(status.success(), "{status}");
    // SAFETY: the file was just written by our own compiler, in a folder that nobody else knows.
    unsafe { Component::deserialize_file(engine, &code) }.unwrap()
}

struct Host {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A workspace with a link out of it, and folders for home and state.
fn workspace(root: &Path) {
    for folder in ["work/.orchestration", "work/src", "home", "state"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let intents = "[{id: INT-1, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]";
    fs::write(root.join("work/.orchestration/active_intents.yaml"), intents).unwrap();
    fs::write(root.join("work/src/a.ts"), "one\n").unwrap();
    fs::write(root.join("work/README.md"), "read me\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../README.md", root.join("work/src/link.md")).unwrap();
}

fn lines() -> Vec<String> {
    let write = |path: &str| json!({"op": "pre-tool", "session": "s1", "call": path, "tool": "write", "args": {"path": path, "content": "x"}});
    let mut lines = vec![json!({"op": "select-intent", "session": "s1", "intent": "INT-1"})];
    lines.extend(
        ["src/a.ts", "src/new/b.ts", "README.md", "src/../README.md", "src/link.md", "../outside.txt", ".orchestration/x"]
            .map(write),
    );
    lines.push(json!({"op": "pre-tool", "session": "s1", "call": "c", "tool": "bash", "args": {"command": "cd src && rm a.ts && echo x > ../README.md"}}));
    lines.push(json!({"op": "post-tool", "session": "s1", "call": "src/a.ts", "tool": "write", "args": {"path": "src/a.ts", "content": "x"}, "success": true, "error": null}));
    lines.push(json!({"op": "context", "session": "s1"}));
    lines.push(json!({"op": "no-such"}));
    lines.iter().map(Value::to_string).collect()
}

/// An answer without ids, times and folders, which differ on every run.
fn comparable(answer: &str, root: &Path) -> Value {
    fn remove_varying_fields(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for name in ["id", "timestamp", "hash", "prev", "entry_hash", "previous_hash"] {
                    if fields.get(name).is_some_and(|found| !found.as_str().is_some_and(|text| text.starts_with("INT-"))) {
                        fields.insert(name.to_owned(), Value::Null);
                    }
                }
                fields.values_mut().for_each(remove_varying_fields);
            }
            Value::Array(items) => items.iter_mut().for_each(remove_varying_fields),
            Value::String(text) => {
                *text = text.split(' ').map(|word| if is_time(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
            }
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(&answer.replace(root.to_str().unwrap(), "ROOT")).unwrap();
    remove_varying_fields(&mut value);
    value
}

/// Whether a word is a time such as `2026-01-31T12:00:00.000Z`.
fn is_time(word: &str) -> bool {
    word.len() == 24 && word.ends_with('Z') && word.as_bytes().get(10) == Some(&b'T')
}

fn run_in_wasmtime(root: &Path) -> Vec<String> {
    let engine = Engine::new(&engine_config::engine_config(cfg!(windows))).unwrap();
    let component = precompile_gate(&engine, root);
    // Only WASI is left to import, and types, which need no implementation.
    for (name, _) in component.component_type().imports(&engine) {
        assert!(name.starts_with("wasi:") || name.starts_with("tollgate:hooks/types@"), "`{name}` is not WASI");
    }
    let mut linker = Linker::<Host>::new(&engine);
    wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
    let mut wasi = WasiCtxBuilder::new();
    for (variable, folder) in [("TOLLGATE_WORKSPACE", "work"), ("TOLLGATE_HOME", "home"), ("TOLLGATE_STATE", "state")] {
        let folder = root.join(folder);
        wasi.env(variable, folder.to_str().unwrap());
        wasi.preopened_dir(&folder, folder.to_str().unwrap(), FsPerms::ReadWrite).unwrap();
    }
    let mut store = Store::new(&engine, Host { wasi: wasi.build(), table: ResourceTable::new() });
    // Nothing advances the epoch here, so no call is interrupted.
    store.set_epoch_deadline(1);
    let instance = linker.instantiate(&mut store, &component).unwrap();
    let (_, operations) = instance.get_export(&mut store, None, "tollgate:hooks/operations@0.2.0").unwrap();
    let (_, perform) = instance.get_export(&mut store, Some(&operations), "perform").unwrap();
    let perform = instance.get_typed_func::<(Vec<u8>,), (Vec<u8>,)>(&mut store, &perform).unwrap();
    let mut answers = Vec::new();
    let lines = lines();
    for line in &lines {
        let (answer,) = perform.call(&mut store, (line.clone().into_bytes(),)).unwrap();
        answers.push(String::from_utf8(answer).unwrap());
    }
    let start = Instant::now();
    for _ in 0..200 {
        perform.call(&mut store, (lines[3].clone().into_bytes(),)).unwrap();
    }
    println!("a check takes {:?}", start.elapsed() / 200);
    answers
}

#[test]
fn the_composed_gate_answers_like_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (one, other) = (root.join("one"), root.join("two"));
    workspace(&one);
    workspace(&other);
    let ours = run_in_wasmtime(&one);
    let word = |at: usize, name: &str| serde_json::from_str::<Value>(&ours[at]).unwrap()[name].clone();
    for (at, verdict, code) in [
        (1, "allow", "in_scope"),
        (2, "allow", "in_scope"),
        (3, "deny", "out_of_scope"),
        (4, "deny", "out_of_scope"),
        (5, "deny", "out_of_scope"),
    ] {
        assert_eq!(word(at, "verdict"), verdict, "{}", ours[at]);
        assert_eq!(word(at, "code"), code, "{}", ours[at]);
    }
    // A path that cannot be inspected is never treated as missing.
    assert_ne!(word(6, "verdict"), "allow", "{}", ours[6]);
    let command = built_file("TOLLGATE_COMMAND", "release/tollgate");
    let mut child = Command::new(command)
        .args(["eval", "--workspace"])
        .arg(other.join("work"))
        .arg("--home")
        .arg(other.join("home"))
        .env("XDG_STATE_HOME", other.join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines().join("\n").as_bytes()).unwrap();
    let theirs = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    for (at, (ours, theirs)) in ours.iter().zip(theirs.lines()).enumerate() {
        // A path outside of all opened folders cannot be inspected here.
        if at != 6 {
            assert_eq!(comparable(ours, &one), comparable(theirs, &other), "line {at}");
        }
    }
    assert_eq!(ours.len(), theirs.lines().count());
}
