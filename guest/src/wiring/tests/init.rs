//! What `tollgate init` writes and undoes.

use serde_json::{Value, json};

use super::{Machine, denied};
use crate::programs::PROGRAMS;

/// Every program with a record is wired, detected and unwired, for the workspace and for the user.
#[test]
fn every_program_is_wired_and_taken_back() {
    for program in PROGRAMS.iter().filter(|program| program.wiring.is_some()) {
        for scope in [Value::Null, "workspace".into(), "user".into()] {
            let mut machine = Machine::new().with("/w/mine.txt", "").with("/h/mine.txt", "");
            let plan = machine.init(json!({"programs": [program.name()], "scope": scope}));
            assert_eq!((&plan["programs"], &plan["problems"]), (&json!([program.name()]), &json!([])), "{}", program.title);
            let of_user = scope == "user" || program.name() == "codex";
            let changes = plan["changes"].as_array().unwrap();
            let settings = changes.iter().rfind(|change| change["program"] == program.name()).unwrap();
            assert_eq!(settings["path"].as_str().unwrap().starts_with("/h/"), of_user, "{settings}");
            let said = plan["notes"][0].as_str().unwrap();
            assert!(said.starts_with(&format!("{}: set up in {}", program.title, settings["shown"].as_str().unwrap())), "{said}");

            let again = machine.clone().init(json!({"programs": [program.name()], "scope": scope}));
            assert_eq!(again["changes"], json!([]), "{}", program.title);
            assert_eq!(again["receipt"], plan["receipt"], "{}", program.title);

            machine.undo();
            let left: Vec<&String> = machine.files.keys().collect();
            assert_eq!(left, ["/h/mine.txt", "/w/mine.txt"], "{}", program.title);
        }
    }
}

#[test]
fn settings_with_comments_are_edited() {
    let text = "{\n  // mine\n  \"model\": \"opus\", // the best\n}\n";
    let mut machine = Machine::new().with("/w/.claude/settings.json", text);
    let plan = machine.init(json!({}));
    assert_eq!(plan["programs"], json!(["claude-code"]));
    let now = machine.text("/w/.claude/settings.json");
    let diff: Vec<&str> = plan["changes"][2]["diff"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(diff[..3], ["    // mine", "    \"model\": \"opus\", // the best", "+   \"hooks\": {"], "{diff:?}");
    assert!(now.starts_with("{\n  // mine\n  \"model\": \"opus\", // the best\n  \"hooks\": {\n    \"PreToolUse\": ["), "{now}");
    machine.undo();
    assert_eq!(machine.text("/w/.claude/settings.json"), text);
}

#[test]
fn one_file_that_cannot_be_edited_does_not_stop_the_others() {
    for (content, said) in [
        (json!("{\"hooks\": []}"), "`hooks` is not an object"),
        (json!("{\"hooks\": {\"PreToolUse\": 3}}"), "`hooks.PreToolUse` is not a list"),
        (json!("[1]"), "it is not an object"),
        (json!("{\"hooks\""), "it is not valid JSON"),
        (json!({"fault": "Is a directory"}), "Is a directory"),
    ] {
        let mut machine = Machine::new().with("/w/.gemini/settings.json", "{}");
        machine.files.insert("/w/.claude/settings.json".to_owned(), content.clone());
        let plan = machine.init(json!({"programs": ["claude-code", "gemini"]}));
        assert_eq!(plan["programs"], json!(["gemini"]));
        assert_eq!(plan["problems"][0]["program"], "claude-code");
        let why = plan["problems"][0]["message"].as_str().unwrap();
        assert!(why.starts_with("Claude Code: `.claude/settings.json` is left as it is: ") && why.contains(said), "{why}");
        // A program that could not be wired is not left half-wired.
        assert!(!machine.files.contains_key("/w/.mcp.json"));
        assert_eq!(machine.files.get("/w/.claude/settings.json"), Some(&content));
        assert!(machine.text("/w/.gemini/settings.json").contains("tollgate hook gemini"));
    }
}

#[test]
fn a_hook_that_serves_two_workspaces_goes_with_the_last() {
    let before = "{\"hooks\": {}} // mine\n";
    for before in [None, Some(before)] {
        let machine = Machine::new().with("/w/a", "").with("/v/a", "");
        let mut machine = before.into_iter().fold(machine, |machine, text| machine.with("/h/.codex/hooks.json", text));
        machine.init(json!({"programs": ["codex"]}));
        let mut machine = machine.in_workspace("/v");
        let plan = machine.init(json!({"programs": ["codex"]}));
        assert!(!plan["changes"].to_string().contains("hooks.json"), "{plan}");

        let wired = machine.text("/h/.codex/hooks.json").to_owned();
        let mut machine = machine.in_workspace("/w");
        let undone = machine.undo();
        assert!(undone["notes"].to_string().contains("because /v uses it too"), "{undone}");
        assert_eq!(machine.text("/h/.codex/hooks.json"), wired);
        assert!(!machine.files.contains_key("/w/.orchestration/active_intents.yaml"));

        let mut machine = machine.in_workspace("/v");
        machine.undo();
        assert_eq!(machine.files.get("/h/.codex/hooks.json").and_then(Value::as_str), before);
    }
}

/// A workspace that has been deleted no longer uses any file.
#[test]
fn a_workspace_that_is_gone_keeps_nothing() {
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["codex"]}));
    let gone = machine.receipts["/w"].replace("\"/w\"", "\"/gone\"");
    let question = machine.see(json!({"do": "undo", "receipt": machine.receipts["/w"], "others": [gone]}));
    assert!(machine.ask(question)["steps"].to_string().contains("\"words\":\"remove\",\"path\":\"/h/.codex/hooks.json\""));
}

#[test]
fn what_was_changed_since_loses_only_what_is_ours() {
    let mut machine = Machine::new().with("/w/.claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    machine.init(json!({"programs": ["claude-code"]}));
    let edited = machine.text("/w/.claude/settings.json").replace("opus", "sonnet");
    let mine =
        "\"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"./mine.sh\"\n          },";
    let edited = edited.replacen("\"hooks\": [", mine, 1);
    let mut machine = machine.with("/w/.claude/settings.json", &edited);
    machine.undo();
    let now = machine.json("/w/.claude/settings.json");
    // In the first entry, the other hook stays, with its matcher.
    let entry = json!({"matcher": "*", "hooks": [{"type": "command", "command": "./mine.sh"}]});
    assert_eq!(now, json!({"model": "sonnet", "hooks": {"PreToolUse": [entry]}}));
}

#[test]
fn timeouts_that_the_program_does_not_accept_are_mended() {
    let hook = |timeout: u64| json!({"hooks": [{"type": "command", "command": "tollgate hook codex", "timeout": timeout}]});
    let text = json!({"hooks": {"SessionEnd": [hook(30)], "Stop": [hook(60)]}}).to_string();
    let mut machine = Machine::new().with("/h/.codex/hooks.json", &text);
    machine.init(json!({"programs": ["codex"]}));
    let now = machine.json("/h/.codex/hooks.json");
    assert_eq!((&now["hooks"]["SessionEnd"], &now["hooks"]["Stop"]), (&json!([hook(3)]), &json!([hook(60)])));

    let text = json!({"hooks": {"BeforeTool": [{"hooks": [{"command": "tollgate hook gemini", "timeout": 30}]}]}}).to_string();
    let mut machine = Machine::new().with("/w/.gemini/settings.json", &text);
    machine.init(json!({"programs": ["gemini"]}));
    assert_eq!(machine.json("/w/.gemini/settings.json")["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 30_000);
}

#[test]
fn the_settings_that_count_are_chosen() {
    let chosen = |machine: Machine| {
        let mut machine = machine;
        let plan = machine.init(json!({"programs": ["claude-code"]}));
        let settings = plan["changes"].as_array().unwrap().iter().rfind(|change| change["program"] == "claude-code");
        (settings.map(|change| change["shown"].clone()), plan["notes"][0].as_str().unwrap().to_owned())
    };
    let (shown, why) = chosen(Machine::new());
    assert_eq!(shown, Some(json!(".claude/settings.json")));
    assert!(why.contains("a team can commit") && why.contains("--scope user"), "{why}");
    let (shown, why) = chosen(Machine::new().started_in("/w/sub"));
    assert_eq!(shown, Some(json!("~/.claude/settings.json")));
    assert!(why.contains("started in `/w/sub`, it would not read those of the workspace"), "{why}");
    // If the user's own settings are wired already, no second hook is needed.
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["claude-code"], "scope": "user"}));
    let (shown, why) = chosen(machine);
    assert_eq!(shown, None);
    assert!(why.contains("already set up in ~/.claude/settings.json"), "{why}");
}

#[test]
fn a_path_with_spaces_is_one_word_for_the_shell_and_for_servers() {
    let mut machine = Machine::new();
    machine.init(json!({"programs": ["claude-code"], "run_as": "/my tools/it's/tollgate"}));
    let settings = machine.json("/w/.claude/settings.json");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "'/my tools/it'\\''s/tollgate' hook claude-code");
    assert_eq!(machine.json("/w/.mcp.json")["mcpServers"]["tollgate"]["command"], "/my tools/it's/tollgate");
    assert_eq!(machine.doctor("claude-code", denied())["state"], "live");
}

const LOCAL: &str = "/w/.claude/settings.local.json";

/// The path differs from machine to machine, so it is in settings that a team does not share, and is removed with the rest.
#[test]
fn shell_commands_are_given_to_the_native_program() {
    for before in [None, Some("{\n  // mine\n  \"env\": {\"A\": \"/opt/tollgate\"}\n}\n")] {
        let machine = Machine::new().with("/w/.claude/settings.json", "{}\n").with("/w/mine.txt", "");
        let mut machine = before.into_iter().fold(machine, |machine, text| machine.with(LOCAL, text));
        let question = json!({"programs": ["claude-code", "gemini"], "confiner": "/opt/tollgate"});
        let plan = machine.init(question.clone());
        assert_eq!(machine.json_with_comments(LOCAL)["env"]["CLAUDE_CODE_SHELL_PREFIX"], "/opt/tollgate");
        assert!(!machine.text("/w/.claude/settings.json").contains("/opt/tollgate"));
        let notes = plan["notes"].to_string();
        assert_eq!(notes.matches("run confined, because .claude/settings.local.json names").count(), 1, "{notes}");
        let again = machine.clone().init(question);
        assert_eq!((&again["changes"], &again["receipt"]), (&json!([]), &plan["receipt"]));

        // If the file was changed since, the changes of others stay.
        let edited = machine.text(LOCAL).replace("\"env\": {", "\"env\": {\"B\": \"/opt/tollgate\", ");
        let mut changed = machine.clone().with(LOCAL, &edited);
        changed.undo();
        let env = changed.json_with_comments(LOCAL)["env"].clone();
        assert_eq!((&env["B"], env.get("CLAUDE_CODE_SHELL_PREFIX")), (&json!("/opt/tollgate"), None), "{env}");

        machine.undo();
        assert_eq!(machine.files.get(LOCAL).and_then(Value::as_str), before);
    }
}

#[test]
fn a_prefix_of_somebody_else_is_left_alone() {
    let foreign = r#"{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/mine/log"}}"#;
    for (file, text, confiner, scope, said) in [
        (
            "/w/.claude/settings.json",
            foreign,
            "/opt/tollgate",
            Value::Null,
            "in .claude/settings.json is \"/mine/log\" and is kept",
        ),
        (LOCAL, foreign, "/opt/tollgate", Value::Null, "in .claude/settings.local.json is \"/mine/log\" and is kept"),
        ("/h/.claude/settings.json", foreign, "/opt/tollgate", Value::Null, "is \"/mine/log\" and is kept"),
        ("/h/x", "", "/opt/tollgate", "user".into(), "it can only be set together with hooks in the workspace's settings"),
        ("/h/x", "", "/w/bin/tollgate", Value::Null, "cannot be named"),
        ("/h/x", "", "/npm/tollgate.js", Value::Null, "cannot be named"),
        ("/h/x", "", "tollgate", Value::Null, "cannot be named"),
        ("/h/x", "", "/my -apps/tollgate", Value::Null, "cannot be named"),
    ] {
        let mut machine = Machine::new().with("/w/.claude/a", "").with(file, text);
        let plan = machine.init(json!({"programs": ["claude-code"], "confiner": confiner, "scope": scope}));
        let notes = plan["notes"].to_string().replace("\\\"", "\"");
        assert!(notes.contains("its commands run unconfined: ") && notes.contains(said), "{notes}");
        let names = |text: &Value| text.to_string().contains(confiner) && text.to_string().contains("SHELL_PREFIX");
        assert!(!machine.files.values().any(names), "{file}");
        assert_eq!(plan["problems"], json!([]));
    }
    // If the system cannot confine, confinement is not mentioned and nothing is done about it.
    let plan = Machine::new().with("/w/.claude/a", "").init(json!({"programs": ["claude-code"]}));
    assert!(!plan.to_string().contains("confined"), "{plan}");
}
