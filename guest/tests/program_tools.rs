//! Every tool of an agent program is in the program's record, and tools that only read, ask or plan are not refused.
//!
//! `fixtures/tools` holds the complete list of each program's tools, for one version.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::programs::{self, ArgumentMeaning, Tool};

const INTENTS: &str = "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]";

/// What may be done without an intent: looking, asking and telling people, the program's own lists, goals and waits, starting and
/// steering agents (whose calls are judged one by one), showing a file elsewhere.
const FREE: &[&str] = &["read", "ask", "plan", "agent", "publish"];

/// What changes something, or may change it: files, commands, scripts and stores, the browser, worktrees and plugins, other
/// machines.
const CHANGING: &[&str] = &["write", "shell", "script", "browser", "setup", "remote"];

/// The lists: each program's name, and its tools.
fn lists() -> Vec<(String, Vec<Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/tools");
    let mut lists = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let list: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(list["program"], json!(name));
        assert!(list["version"].as_str().is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())), "{name}");
        lists.push((name, list["tools"].as_array().unwrap().clone()));
    }
    lists.sort_by(|(one, _), (other, _)| one.cmp(other));
    lists
}

fn text<'a>(tool: &'a Value, field: &str) -> &'a str {
    tool[field].as_str().unwrap_or_else(|| panic!("{tool} has no `{field}`"))
}

/// The ruling on a call of a session with this intent.
fn ruling(intent: Option<&str>, program: &str, tool: &str, args: &Value) -> Value {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", INTENTS);
    world.write("src/auth/a.ts", "one\n");
    let mut gate = Gate::new(world.ports());
    if let Some(intent) = intent {
        perform(&mut gate, json!({"op": "select-intent", "session": "s", "intent": intent}).to_string().as_bytes());
    }
    let call = json!({"op": "pre-tool", "session": "s", "call": "c", "host": program, "tool": tool, "args": args});
    serde_json::from_str(&perform(&mut gate, call.to_string().as_bytes())).unwrap()
}

/// Whether a tool may change something by what it does, or by a command that it is given.
fn changes(tool: &Tool) -> bool {
    tool.act.changes()
        || tool.arguments(ArgumentMeaning::Command).next().is_some()
        || tool.arguments(ArgumentMeaning::WrittenPath).next().is_some()
}

#[test]
fn every_tool_is_in_its_programs_record() {
    let mut missing = Vec::new();
    for (program, tools) in lists() {
        let record = programs::find(&program).unwrap_or_else(|| panic!("there is no record of `{program}`"));
        for tool in &tools {
            let name = text(tool, "name");
            let Some(known) = record.tools.iter().find(|known| known.names.contains(&name)) else {
                missing.push(format!("{program} {name}"));
                continue;
            };
            let kind = text(tool, "kind");
            assert!(FREE.contains(&kind) || CHANGING.contains(&kind), "{program} {name}: `{kind}` is not a kind");
            assert!(
                !CHANGING.contains(&kind) || changes(known),
                "{program} {name} is `{kind}`, and its record says {:?}",
                known.act
            );
        }
    }
    assert!(missing.is_empty(), "no record has: {missing:#?}");
}

#[test]
fn what_only_reads_asks_or_plans_needs_no_intent() {
    let mut refused = Vec::new();
    for (program, tools) in lists() {
        for tool in tools.iter().filter(|tool| FREE.contains(&text(tool, "kind"))) {
            let name = text(tool, "name");
            let given = tool.get("args").cloned().unwrap_or_else(|| json!({}));
            for args in [json!({}), given] {
                let answer = ruling(None, &program, name, &args);
                if answer["verdict"] != "allow" {
                    refused.push(format!("{program} {name} {args}: {answer}"));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{} refused: {refused:#?}", refused.len());
}

#[test]
fn what_changes_something_needs_an_intent() {
    for (program, tool, args) in [
        (
            "codex",
            "multi_env_copy_file",
            json!({"source_environment_id": "a", "source_path": "/x", "target_environment_id": "b", "target_path": "/y"}),
        ),
        ("codex", "exec", json!({"input": "1"})),
        ("codex", "mcp__codex_tui__create_worktree", json!({})),
        ("gemini", "click", json!({"uid": "1"})),
        ("gemini", "take_snapshot", json!({"filePath": "src/billing/page.txt"})),
        ("claude-code", "REPL", json!({"code": "1"})),
        ("copilot", "sql", json!({"query": "ATTACH DATABASE 'src/billing/x' AS x", "description": "x"})),
        ("qwen", "tool_call", json!({"name": "write_file", "arguments": {}})),
    ] {
        let answer = ruling(None, program, tool, &args);
        assert_ne!(answer["verdict"], "allow", "{program} {tool}: {answer}");
    }
}

#[test]
fn what_runs_programs_is_allowed_under_an_intent() {
    for (program, tool, args) in [
        ("claude-code", "Workflow", json!({"script": "export const meta = {}", "name": "x"})),
        ("claude-code", "EnterWorktree", json!({"name": "x"})),
        ("claude-code", "ExitWorktree", json!({"action": "keep"})),
        ("codex", "mcp__codex_worktrees__create_worktree", json!({"ref": "main"})),
        ("gemini", "click", json!({"uid": "1"})),
        ("qwen", "workflow", json!({"script": "x"})),
    ] {
        let answer = ruling(Some("LOGIN"), program, tool, &args);
        assert_eq!(answer["verdict"], "allow", "{program} {tool}: {answer}");
    }
}
