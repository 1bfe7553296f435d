//! `tollgate mcp-serve` with an MCP client and with plain lines.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::{RoleClient, ServiceError, ServiceExt as _, service::RunningService};
use serde_json::{Value, json};

const INTENTS: &str = "active_intents:
  - id: INT-001
    name: Login hardening
    status: IN_PROGRESS
    owned_scope: [\"src/auth/**\"]
    constraints: [Keep the old tokens valid]
  - id: INT-002
    name: Billing
    status: COMPLETED
    owned_scope: [\"src/billing/**\"]
";

const ENTRY_TOOL: &str =
    r#"{"op":"pre-tool","session":"s1","call":"c1","tool":"write","args":{"filePath":"src/auth/a.ts","content":"x"}}"#;

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".orchestration")).unwrap();
    fs::write(folder.path().join(".orchestration/active_intents.yaml"), INTENTS).unwrap();
    folder
}

fn command(folder: &tempfile::TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(words).arg("--workspace").arg(folder.path()).arg("--home").arg(folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Writes lines, closes the input, and waits.
fn lines(folder: &tempfile::TempDir, words: &[&str], lines: &[&str]) -> Output {
    let mut child = command(folder, words).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

type Client = RunningService<RoleClient, ()>;

async fn call(client: &Client, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())).await
}

/// The text of a tool result, and whether it is an error.
async fn call_text(client: &Client, tool: &'static str, arguments: Value) -> (bool, String) {
    let result = call(client, tool, arguments).await.unwrap();
    let text = result.content[0].as_text().unwrap().text.clone();
    (result.is_error == Some(true), text)
}

#[test]
fn every_tool_answers_from_the_gate() {
    let folder = workspace();
    // A file has been changed.
    let select = r#"{"op":"select-intent","session":"s1","intent":"INT-001"}"#;
    let post = ENTRY_TOOL.replace("pre-tool", "post-tool").replace("}}", r#"},"success":true}"#);
    fs::create_dir_all(folder.path().join("src/auth")).unwrap();
    let traced = lines(&folder, &["eval"], &[select, ENTRY_TOOL, &post]);
    assert!(traced.status.success(), "{traced:?}");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut child = tokio::process::Command::from(command(&folder, &["mcp-serve"])).spawn().unwrap();
        let client = ().serve((child.stdout.take().unwrap(), child.stdin.take().unwrap())).await.unwrap();
        assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "tollgate");

        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        let offered = ["select_active_intent", "clear_active_intent", "list_intents", "intent_context", "recent_trace"];
        assert_eq!(names, offered);
        let hints = |tool: &rmcp::model::Tool| tool.annotations.as_ref().unwrap().read_only_hint;
        assert_eq!(tools.iter().filter_map(hints).collect::<Vec<_>>(), [false, false, true, true, true]);
        assert_eq!(tools[0].input_schema["required"], json!(["intent_id"]));

        let (_, none) = call_text(&client, "intent_context", json!({})).await;
        assert!(none.contains("`select_active_intent`"), "{none}");
        for (tool, arguments, wrong, says) in [
            (
                "select_active_intent",
                json!({"intent_id": "INT-001"}),
                false,
                "The active intent is INT-001 (Login hardening, IN_PROGRESS).",
            ),
            ("select_active_intent", json!({"intent_id": "INT-001"}), false, "Keep the old tokens valid"),
            (
                "select_active_intent",
                json!({"intent_id": "INT-009"}),
                true,
                "there is no intent `INT-009`; choose one of: INT-001",
            ),
            ("select_active_intent", json!({"intent_id": "INT-002"}), true, "accepts no more changes; choose one of"),
            ("select_active_intent", json!({}), true, "`select_active_intent` needs `intent_id`"),
            (
                "select_active_intent",
                json!({"intent_id": 1}),
                true,
                "`intent_id` of `select_active_intent` cannot be 1; give a non-empty string",
            ),
            ("select_active_intent", json!({"goal": "INT-001"}), true, "has no argument `goal`; it takes: `intent_id`"),
            ("list_intents", json!({}), false, r#""name": "Billing""#),
            ("list_intents", json!({}), false, r#""active": "INT-001""#),
            ("list_intents", json!({"all": true}), true, "has no argument `all`; it takes: none"),
            ("intent_context", json!({}), false, "src/auth/**"),
            ("intent_context", json!({"intent_id": "INT-002"}), false, "src/billing/**"),
            ("intent_context", json!({"intent_id": "x"}), true, "there is no intent `x`"),
            ("recent_trace", json!({}), false, "src/auth/a.ts"),
            ("recent_trace", json!({"file": "src/other.ts", "limit": 5}), false, r#""entries": []"#),
            (
                "recent_trace",
                json!({"limit": 0}),
                true,
                "`limit` of `recent_trace` cannot be 0; give a whole number from 1 to 100",
            ),
            ("recent_trace", json!({"limit": "5"}), true, "a whole number"),
        ] {
            let (error, text) = call_text(&client, tool, arguments.clone()).await;
            assert!(error == wrong && text.contains(says), "{tool} {arguments}: {text}");
        }
        let structured = call(&client, "list_intents", json!({})).await.unwrap().structured_content.unwrap();
        assert_eq!(structured["intents"][0]["id"], "INT-001");
        assert_eq!(call_text(&client, "clear_active_intent", json!({})).await, (false, "No intent is active now.".to_owned()));
        assert!(call_text(&client, "intent_context", json!({})).await.0);
        assert!(!call_text(&client, "select_active_intent", json!({"intent_id": "INT-001"})).await.0);
        let Err(ServiceError::McpError(fault)) = call(&client, "delete_intent", json!({})).await else { panic!() };
        assert!(fault.message.contains("`delete_intent`") && fault.message.contains("list_intents"), "{fault}");

        client.cancel().await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(0));
    });
    // For hosts without hooks.
    let sessions = lines(&folder, &["eval"], &[r#"{"op":"list-sessions"}"#]);
    let sessions: Value = serde_json::from_slice(&sessions.stdout).unwrap();
    assert!(
        sessions["sessions"].as_array().unwrap().iter().any(|one| one["session"] == "mcp" && one["intent"] == "INT-001"),
        "{sessions}"
    );
}

#[test]
fn garbage_is_passed_over_and_the_end_of_input_is_the_end() {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_intents","arguments":{}}}"#;
    for (given, answers) in [
        (vec![], vec![]),
        (vec!["garbage"], vec![]),
        (vec!["garbage", initialize, "{", "\u{1}", initialized, "{}", list], vec![1, 2]),
    ] {
        let output = lines(&workspace(), &["mcp-serve"], &given);
        assert_eq!(output.status.code(), Some(0), "{given:?}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let messages: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: Vec<u64> = messages.iter().filter_map(|message| message["id"].as_u64()).collect();
        assert_eq!(ids, answers, "{given:?}: {text}");
    }
    let nowhere =
        Command::new(env!("CARGO_BIN_EXE_tollgate")).args(["mcp-serve", "--workspace", "/no/such/folder"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
}
