//! MCP servers as sources, working and broken, using the same test cases as the npm package.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod skip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::{Value, json};
use skip::report_skip;
use tollgate::{Answer, Lookup, Lookups, McpTool, Plan, Request, Tollgate, ToolCall};

/// A busy machine may take long to start a server.
const PATIENCE: Duration = Duration::from_secs(60);

/// The real server, if `cargo xtask test` has installed it.
fn everything_server() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let file = target.join("mcp-servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    file.exists().then_some(file)
}

fn rows() -> Vec<Value> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/mcp/lookups.jsonl")).unwrap();
    let text = everything_server().map_or(text.clone(), |file| text.replace("{everything}", file.to_str().unwrap()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A gate whose user declares the server of a row as `graph`. Servers run in the workspace.
fn open_gate(folder: &Path, row: &Value) -> Tollgate {
    let (workspace, home) = (folder.join("repo"), folder.join("home"));
    fs::create_dir_all(&workspace).unwrap();
    fs::create_dir_all(home.join(".tollgate")).unwrap();
    let servers = if row["server"].is_null() { json!({}) } else { json!({"graph": row["server"]}) };
    fs::write(home.join(".tollgate/config.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    Tollgate::builder().workspace(&workspace).home(&home).open().unwrap()
}

fn look_up(gate: &mut Tollgate, row: &Value) -> Answer {
    let arguments = row["arguments"].to_string().into_bytes();
    let tool = row["tool"].as_str().unwrap().to_owned();
    let request = Request::Mcp(McpTool { server: "graph".into(), tool, arguments, start: None });
    let lookup = Lookup { concept: "auth".into(), source: "graph".into(), request, timeout_ms: 500 };
    let plan = Plan { concepts: vec!["auth".into()], lookups: vec![lookup], total_ms: 5_000, skipped: None };
    let begin = Instant::now();
    let answer = gate.look_up(&plan, &Lookups::new("/")).remove(0).answer;
    assert!(begin.elapsed() < Duration::from_secs(4), "{row}: {:?}", begin.elapsed());
    answer
}

/// A process that has ended may still be waiting for its parent to reap it.
fn is_gone(pid: &str) -> bool {
    let begin = Instant::now();
    loop {
        let state = Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output().unwrap().stdout;
        if state.trim_ascii().is_empty() || state.starts_with(b"Z") {
            return true;
        }
        if begin.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn main() {
    let rows = rows();
    assert!(rows.len() >= 10, "only {} rows", rows.len());
    let mut trials: Vec<Trial> = rows
        .into_iter()
        .map(|row| Trial::ignorable_test(format!("servers/{}", row["name"].as_str().unwrap()), move || ask_server(&row)))
        .collect();
    let named: [(&str, fn()); 3] = [
        ("a_server_is_kept_until_it_ends", a_server_is_kept_until_it_ends),
        ("a_trusted_server_says_what_its_tools_do", a_trusted_server_says_what_its_tools_do),
        ("a_home_folder_in_the_workspace_is_not_trusted", a_home_folder_in_the_workspace_is_not_trusted),
    ];
    for (name, test) in named {
        trials.push(Trial::test(name, move || {
            test();
            Ok(())
        }));
    }
    // The servers are small scripts that require Unix.
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(!cfg!(unix))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn ignored(why: &str) -> Completion {
    report_skip(why);
    Completion::ignored_with(why)
}

/// Asks the server without blocking.
fn ask_server(row: &Value) -> Result<Completion, Failed> {
    if row.to_string().contains("{everything}") {
        return Ok(ignored("`cargo xtask test` has not installed the server"));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut gate = open_gate(folder.path(), row);
    let expected = row["expect"].as_str().unwrap();
    let until = row["until"].as_str().map(|name| folder.path().join("repo").join(name));
    let begin = Instant::now();
    // The connection continues to be established, so that a later lookup is answered.
    let answer = loop {
        let answer = look_up(&mut gate, row);
        let there = until.as_ref().is_none_or(|file| file.exists());
        if (answer != Answer::Late || expected == "late") && there || begin.elapsed() > PATIENCE {
            break answer;
        }
    };
    let (kind, text) = match answer {
        Answer::Text(text) => ("text", text),
        Answer::Failed(why) => ("failed", why),
        Answer::Unknown => ("unknown", String::new()),
        Answer::Unavailable => ("unavailable", String::new()),
        Answer::Late => ("late", String::new()),
    };
    assert_eq!(kind, expected, "{}: {text}", row["name"]);
    assert!(text.contains(row["says"].as_str().unwrap_or_default()), "{}: {text}", row["name"]);
    assert!(!text.contains("CARGO_MANIFEST_DIR"), "{}: {text}", row["name"]);
    let begin = Instant::now();
    drop(gate);
    assert!(begin.elapsed() < Duration::from_secs(4), "{}: ending took {:?}", row["name"], begin.elapsed());
    for file in ["pid", "child", "called"] {
        let Ok(pid) = fs::read_to_string(folder.path().join("repo").join(file)) else { continue };
        assert!(is_gone(&pid), "{}: {file} {pid} is still there", row["name"]);
    }
    Ok(Completion::Completed)
}

/// One connection serves many lookups, in parallel and one after the other, and a server that ended is started again.
fn a_server_is_kept_until_it_ends() {
    let mut row = rows().into_iter().find(|row| row["name"] == "it dies in the call").unwrap();
    let script = row["server"]["args"][1].as_str().unwrap();
    let script = script.replace(
        "process.exit(1)",
        "params.name==='end'?process.exit(0):say(id,{content:[{type:'text',text:String(process.pid)}]})",
    );
    row["server"]["args"][1] = script.into();
    let folder = tempfile::tempdir().unwrap();
    let mut gate = open_gate(folder.path(), &row);
    let mut ask = |tool: &str, times: usize| {
        let lookup = Lookup {
            concept: "auth".into(),
            source: "graph".into(),
            request: Request::Mcp(McpTool { server: "graph".into(), tool: tool.into(), arguments: b"{}".into(), start: None }),
            timeout_ms: 500,
        };
        let plan = Plan { concepts: Vec::new(), lookups: vec![lookup; times], total_ms: 5_000, skipped: None };
        let begin = Instant::now();
        loop {
            let answers: Vec<Answer> = gate.look_up(&plan, &Lookups::new("/")).into_iter().map(|found| found.answer).collect();
            if !answers.contains(&Answer::Late) || begin.elapsed() > PATIENCE {
                return answers;
            }
        }
    };
    let first = ask("pid", 1).remove(0);
    let again = ask("pid", 8);
    assert!(matches!(&first, Answer::Text(_)), "{first:?}");
    assert!(again.iter().all(|answer| *answer == first), "{again:?} after {first:?}");
    let ended = ask("end", 1).remove(0);
    assert!(matches!(&ended, Answer::Failed(why) if why.contains("ended before `end` had answered")), "{ended:?}");
    let anew = ask("pid", 1).remove(0);
    assert!(matches!(&anew, Answer::Text(_)) && anew != first, "{anew:?} after {first:?}");
}

/// The annotations of a server count if a person trusts the server, and only the current ones.
fn a_trusted_server_says_what_its_tools_do() {
    let row = rows().into_iter().find(|row| row["name"] == "it knows nothing").unwrap();
    let tools = r#"[{"name":"frobnicate","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"wipe","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}]"#;
    let script = row["server"]["args"][1].as_str().unwrap().replace("tools:[]", &format!("tools:{tools}"));
    let start = json!({"command": "node", "args": ["-e", script], "trust": true});
    let source = json!({"name": "graph", "mcp": {"server": "graph", "tool": "about"}});

    let folder = tempfile::tempdir().unwrap();
    let (root, home) = (folder.path().join("repo"), folder.path().join("home"));
    for (path, text) in [
        (
            root.join(".orchestration/active_intents.yaml"),
            "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]".to_owned(),
        ),
        (root.join(".tollgate/config.json"), json!({"augment": {"sources": [source]}}).to_string()),
        (home.join(".tollgate/config.json"), json!({"mcpServers": {"graph": start}}).to_string()),
    ] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut gate = Tollgate::builder().workspace(&root).home(&home).open().unwrap();
    let lookups = Lookups::new(&root);
    let call = |tool: &str, args: Value| ToolCall::new("s", "c", tool, &args).unwrap();
    assert_eq!(gate.pre_tool(&call("mcp__graph__frobnicate", json!({}))).unwrap().code, "no_active_intent");
    let begin = Instant::now();
    while gate.pre_tool(&call("mcp__graph__frobnicate", json!({}))).unwrap().code != "read_only" {
        assert!(begin.elapsed() < PATIENCE, "the gate never learned what the server says");
        gate.augment_with(&call("bash", json!({"command": "echo '[[Auth]]'"})), &lookups).unwrap();
    }
    for (tool, code) in [("wipe", "no_active_intent"), ("other", "no_active_intent")] {
        assert_eq!(gate.pre_tool(&call(&format!("mcp__graph__{tool}"), json!({}))).unwrap().code, code, "{tool}");
    }
    // It is no longer trusted.
    let settings = home.join(".tollgate/config.json");
    fs::write(&settings, fs::read_to_string(&settings).unwrap().replace("true}", "false}")).unwrap();
    assert_eq!(gate.pre_tool(&call("mcp__graph__frobnicate", json!({}))).unwrap().code, "no_active_intent");
}

/// A home folder in the workspace may come from the repository.
fn a_home_folder_in_the_workspace_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let (root, beside) = (folder.path().join("repo"), folder.path().join("home"));
    let inside = root.join("home");
    fs::create_dir_all(root.join(".orchestration")).unwrap();
    let intents = "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]";
    fs::write(root.join(".orchestration/active_intents.yaml"), intents).unwrap();
    for (home, expected) in [(&beside, "in_scope"), (&inside, "unknown_effects")] {
        fs::create_dir_all(home.join(".claude")).unwrap();
        fs::write(home.join(".claude/settings.json"), r#"{"permissions": {"allow": ["mcp__x"]}}"#).unwrap();
        let mut gate = Tollgate::builder().workspace(&root).home(home).state(folder.path().join("state")).open().unwrap();
        gate.select_intent("s", "I").unwrap();
        let call = ToolCall::new("s", "c", "mcp__x__frobnicate", &json!({})).unwrap().host("claude-code");
        assert_eq!(gate.pre_tool(&call).unwrap().code, expected, "{}", home.display());
    }
}
