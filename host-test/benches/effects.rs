//! Measures how long it takes to analyse and check a call, natively and in wasmtime, in one run: `cargo xtask bench`.
//!
//! Every line is a whole ruling: the call is analysed, its files are looked up, and it is checked. Both columns use the same real
//! files and the same host code, so their ratio is the overhead of the component.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod comparison;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::native::NativeGate;

use comparison::{measure_alternately, row, single_row};

fn main() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    let native = NativeGate::open(folder.path(), folder.path()).unwrap();
    let mut component = Tollgate::builder().workspace(folder.path()).home(folder.path()).open().unwrap();
    let select = json!({"op": "select-intent", "session": "s", "intent": "INT-1"}).to_string();
    native.perform(select.as_bytes());
    component.perform(select.as_bytes()).unwrap();

    for (what, call) in [
        ("a write", json!({"tool": "write", "args": {"path": "src/a0.ts"}})),
        ("a shell line of 50 commands", json!({"tool": "bash", "args": {"command": shell_line()}})),
        ("a shell line of 50 commands that only read", json!({"tool": "bash", "args": {"command": read_line()}})),
        ("a patch of 1,000 lines, 20 files", json!({"tool": "apply_patch", "args": {"patchText": patch()}})),
    ] {
        let line = line(&call);
        let mut ours = || drop(std::hint::black_box(native.perform(&line)));
        let mut theirs = || drop(std::hint::black_box(component.perform(&line).unwrap()));
        let (native, wasmtime) = measure_alternately(200, &mut ours, &mut theirs);
        row(&format!("wasmtime / native: {what}"), &native, &wasmtime);
    }
    measure_analysis();
}

/// Only the analysis, natively and in memory.
fn measure_analysis() {
    use tollgate_guest::call::{patch, shell};
    let world = tollgate_guest::ports::memory::Memory::new();
    (0..50).for_each(|number| world.write(&format!("src/a{number}.ts"), "export const a = 1;\n"));
    let (line, text) = (shell_line(), patch());
    let mut commands = || drop(std::hint::black_box(shell::footprint(&line, "", &*world)));
    let mut files = || drop(std::hint::black_box(patch::changes(&text, patch::PatchDialect::Any)));
    let (commands, files) = measure_alternately(200, &mut commands, &mut files);
    single_row("native: effects of 50 commands, without file access", &commands);
    single_row("native: effects of a patch of 1,000 lines, without file access", &files);
}

fn workspace(root: &Path) {
    fs::create_dir_all(root.join(".orchestration")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    let intents = "[{id: INT-1, name: Bench, status: IN_PROGRESS, owned_scope: ['src/**']}]";
    fs::write(root.join(".orchestration/active_intents.yaml"), intents).unwrap();
    for number in 0..50 {
        fs::write(root.join(format!("src/a{number}.ts")), "export const a = 1;\n").unwrap();
    }
}

fn line(call: &Value) -> Vec<u8> {
    let mut line = json!({"op": "pre-tool", "session": "s", "call": "c"});
    for (name, value) in call.as_object().unwrap() {
        line[name] = value.clone();
    }
    line.to_string().into_bytes()
}

fn shell_line() -> String {
    let command = |number: usize| match number % 5 {
        0 => format!("echo \"export const a = {number};\" > src/a{number}.ts"),
        1 => format!("sed -i 's/1/{number}/' src/a{number}.ts"),
        2 => format!("if [ -f src/a{number}.ts ]; then cp src/a{number}.ts src/b{number}.ts; fi"),
        3 => format!("grep -n export src/a{number}.ts | head -{number} >> src/log.txt"),
        _ => format!("(cd src && rm -f c{number}.ts)"),
    };
    (0..50).map(command).collect::<Vec<_>>().join(" && ")
}

fn read_line() -> String {
    (0..50).map(|number| format!("grep -n 'a = {number}' src/a{number}.ts | sort | uniq -c")).collect::<Vec<_>>().join("; ")
}

fn patch() -> String {
    let mut text = String::from("*** Begin Patch\n");
    for file in 0..20 {
        text.push_str(&format!("*** Update File: src/a{file}.ts\n@@\n"));
        (0..24).for_each(|line| text.push_str(&format!("-const before{line} = {line};\n+const after{line} = {line};\n")));
    }
    text + "*** End Patch\n"
}
