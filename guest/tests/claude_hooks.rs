//! Hooks that were written for Claude Code, in every program: what they read, and what their answers do.

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::engine::{Input, MachineReport, Order, RunEnding};
use tollgate_guest::exchange::{Exchanges, Progress, Reply};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

const SETTINGS: &str = ".claude/settings.json";
const GUARD: &str = "#!/bin/sh\n";

struct Place {
    world: Rc<Memory>,
    gate: Gate,
    exchanges: Exchanges,
    now: u64,
}

/// What a hook was run with.
struct Run {
    argv: Vec<String>,
    payload: Value,
    set: Vec<(String, String)>,
}

/// How a hook ends: exit code, standard output and standard error.
type End = (i32, &'static str, &'static str);

impl Place {
    fn new() -> Self {
        let world = Memory::new();
        world.write(".orchestration/active_intents.yaml", "[{id: I, name: Login, status: IN_PROGRESS, owned_scope: ['src/**']}]");
        for path in ["src/a.ts", "src/b.ts", "README.md"] {
            world.write(path, path);
        }
        world.write("/bin/sh", "\u{7f}ELF");
        world.write(".claude/hooks/check.sh", GUARD);
        let mut gate = Gate::new(world.ports());
        gate.select("s", "I").unwrap();
        let mut place = Self { world, gate, exchanges: Exchanges::default(), now: 0 };
        let machine = MachineReport {
            workspace: "/workspace".to_owned(),
            search_path: vec!["/bin".to_owned()],
            ..MachineReport::default()
        };
        place.step(Input::Machine(machine));
        place
    }

    /// A place with Claude Code hooks that were taken over and approved.
    fn with(hooks: Value) -> Self {
        let mut place = Self::new();
        place.world.write(SETTINGS, json!({"hooks": hooks}).to_string());
        place.import();
        place
    }

    fn import(&mut self) {
        let done = self.ask(json!({"op": "hooks", "do": "import", "take": true}));
        for taken in done["taken"].as_array().unwrap_or_else(|| panic!("{done}")) {
            let approved = self.ask(json!({"op": "hooks", "do": "approve", "id": taken["hook"]["id"]}));
            assert!(approved.get("digest").is_some(), "{approved}");
        }
    }

    fn ask(&mut self, line: Value) -> Value {
        serde_json::from_str(&perform(&mut self.gate, line.to_string().as_bytes())).unwrap()
    }

    fn step(&mut self, input: Input) -> Vec<tollgate_guest::engine::Command> {
        self.exchanges.step(&mut self.gate, self.now, &[input]).commands
    }

    /// The answer to a payload, and the hooks that ran for it; each ends as the next of `ends` says.
    fn respond(&mut self, program: &str, payload: &Value, ends: &[End]) -> (Reply, Vec<Run>) {
        let mut runs = Vec::new();
        let number = match self.exchanges.respond(&mut self.gate, program, None, payload.to_string().as_bytes()) {
            Progress::Answered(reply) => return (reply, runs),
            Progress::Waiting(number) => number,
        };
        let mut ends = ends.iter();
        let mut commands = self.exchanges.step(&mut self.gate, self.now, &[]).commands;
        loop {
            let mut ended = Vec::new();
            for command in commands {
                match command.order {
                    Order::Run { argv, stdin, surroundings, .. } => {
                        runs.push(Run { argv, payload: serde_json::from_str(&stdin).unwrap(), set: surroundings.set });
                        let (code, stdout, stderr) = *ends.next().expect("more hooks run than expected");
                        let ending = RunEnding::Exited {
                            code: Some(code),
                            stdout: stdout.to_owned(),
                            stderr: stderr.to_owned(),
                            truncated: false,
                        };
                        ended.push(Input::Ended { command: command.id, ending });
                    }
                    Order::Reply { number: of, answer, refused } if of == number => {
                        return (Reply { text: String::from_utf8(answer).unwrap(), refused }, runs);
                    }
                    _ => {}
                }
            }
            assert!(!ended.is_empty(), "nothing more happens, and there is no answer");
            commands = self.exchanges.step(&mut self.gate, self.now, &ended).commands;
        }
    }
}

fn handler(matcher: &str) -> Value {
    json!([{"matcher": matcher, "hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.sh"}]}])
}

fn opencode(tool: &str, args: Value) -> Value {
    json!({"hook": "tool.execute.before", "input": {"tool": tool, "sessionID": "s", "callID": "c"}, "output": {"args": args}, "directory": "/workspace"})
}

fn claude(event: &str, tool: &str, args: Value) -> Value {
    json!({"session_id": "s", "cwd": "/workspace", "hook_event_name": event, "tool_name": tool, "tool_use_id": "c", "tool_input": args})
}

#[test]
fn a_hook_gets_the_payload_that_claude_code_would_give_it() {
    let gemini = claude("BeforeTool", "run_shell_command", json!({"command": "ls"}));
    let copilot = json!({"sessionId": "s", "cwd": "/workspace", "toolName": "create", "toolUseId": "c", "toolArgs": {"path": "/workspace/src/n.ts", "file_text": "x"}});
    for (program, payload, tool, input) in [
        (
            "opencode",
            opencode("write", json!({"filePath": "src/a.ts", "content": "x"})),
            "Write",
            json!({"content": "x", "file_path": "/workspace/src/a.ts"}),
        ),
        (
            "opencode",
            opencode("bash", json!({"command": "ls", "description": "d"})),
            "Bash",
            json!({"description": "d", "command": "ls"}),
        ),
        ("gemini", gemini, "Bash", json!({"command": "ls"})),
        ("copilot", copilot, "Write", json!({"content": "x", "file_path": "/workspace/src/n.ts"})),
    ] {
        let mut place = Place::with(json!({"PreToolUse": handler("*")}));
        let (_, runs) = place.respond(program, &payload, &[(0, "", "")]);
        let [run] = runs.as_slice() else { panic!("{program}: {} runs", runs.len()) };
        assert_eq!(run.argv, ["/bin/sh", ".claude/hooks/check.sh"], "it runs from a checked copy");
        let expected = json!({"session_id": "s", "transcript_path": "", "cwd": "/workspace", "permission_mode": "default",
                              "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": run.payload["tool_use_id"]});
        assert_eq!(run.payload, expected, "{program}");
        assert!(run.set.contains(&("CLAUDE_PROJECT_DIR".to_owned(), "/workspace".to_owned())));
    }
}

#[test]
fn what_it_answers_is_understood_everywhere() {
    let deny = r#"{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not today"}}"#;
    let write = || opencode("write", json!({"filePath": "src/a.ts", "content": "x"}));
    let answers: [(End, Option<&str>); 9] = [
        ((0, "", ""), None),
        ((2, "", "no rm here"), Some("no rm here")),
        ((0, deny, ""), Some("not today")),
        ((0, r#"{"decision": "block", "reason": "old style"}"#, ""), Some("old style")),
        ((0, r#"{"continue": false, "stopReason": "enough"}"#, ""), Some("enough")),
        // OpenCode cannot ask anyone.
        ((0, r#"{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}"#, ""), Some("sure?")),
        ((0, r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#, ""), None),
        // Any other code is an error of the hook, and stops nothing.
        ((1, deny, "broken"), None),
        ((0, "all good", ""), None),
    ];
    for (end, refused) in answers {
        let mut place = Place::with(json!({"PreToolUse": handler("Write|Edit")}));
        let (reply, _) = place.respond("opencode", &write(), &[end]);
        match refused {
            None => assert_eq!(reply.refused, None, "{end:?}"),
            Some(said) => assert!(reply.refused.as_deref().is_some_and(|why| why.contains(said)), "{end:?}: {reply:?}"),
        }
    }
    // If the program can ask, it asks.
    let mut place = Place::with(json!({"PreToolUse": handler("*")}));
    place.world.delete(SETTINGS);
    let ask = r#"{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}}"#;
    let (reply, _) = place.respond(
        "claude-code",
        &claude("PreToolUse", "Write", json!({"file_path": "/workspace/src/a.ts", "content": "x"})),
        &[(0, ask, "")],
    );
    let answer: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(answer.pointer("/hookSpecificOutput/permissionDecision"), Some(&json!("ask")), "{answer}");
}

#[test]
fn what_a_hook_allows_is_still_ruled_on() {
    let mut place = Place::with(json!({"PreToolUse": handler("*")}));
    let allow = r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#;
    let (reply, runs) =
        place.respond("opencode", &opencode("write", json!({"filePath": "README.md", "content": "x"})), &[(0, allow, "")]);
    assert!(runs.is_empty() && reply.refused.is_some_and(|why| why.contains("out_of_scope")));
}

#[test]
fn a_matcher_selects_by_claude_codes_names() {
    for (matcher, tool, args, is_run) in [
        ("Bash", "bash", json!({"command": "ls"}), true),
        ("Bash", "write", json!({"filePath": "src/a.ts", "content": ""}), false),
        ("Write|Edit", "edit", json!({"filePath": "src/a.ts", "oldString": "a", "newString": "b"}), true),
        ("^W", "write", json!({"filePath": "src/a.ts", "content": ""}), true),
        ("write", "write", json!({"filePath": "src/a.ts", "content": ""}), false),
        ("mcp__.*", "bash", json!({"command": "ls"}), false),
    ] {
        let mut place = Place::with(json!({"PreToolUse": handler(matcher)}));
        let (_, runs) = place.respond("opencode", &opencode(tool, args), &[(0, "", "")]);
        assert_eq!(runs.len(), usize::from(is_run), "{matcher} {tool}");
    }
}

#[test]
fn a_patch_is_told_file_by_file() {
    let patch = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-src/a.ts\n+x\n*** Delete File: src/b.ts\n*** End Patch";
    let mut place = Place::with(json!({"PreToolUse": handler("*")}));
    let call = opencode("apply_patch", json!({"patchText": patch}));
    let (reply, runs) = place.respond("opencode", &call, &[(0, "", ""), (2, "", "b stays")]);
    let told: Vec<String> = runs
        .iter()
        .map(|run| {
            format!("{} {}", run.payload["tool_name"], run.payload["tool_input"].as_object().unwrap().values().next().unwrap())
        })
        .collect();
    assert_eq!(told, [r#""Edit" "/workspace/src/a.ts""#, r#""Bash" "rm -rf -- /workspace/src/b.ts""#]);
    assert!(reply.refused.is_some_and(|why| why.contains("b stays")));
    // A call with more files than anybody would run a hook for is not let through unheard.
    let many: String = (0..300).map(|at| format!("*** Add File: src/n{at}.ts\n+x\n")).collect();
    let call = opencode("apply_patch", json!({"patchText": format!("*** Begin Patch\n{many}*** End Patch")}));
    let (reply, runs) = Place::with(json!({"PreToolUse": handler("Edit")})).respond("opencode", &call, &[]);
    assert!(runs.is_empty() && reply.refused.is_some_and(|why| why.contains("more than 256 files")));
}

#[test]
fn a_hook_can_change_the_arguments_where_the_program_can() {
    let wants = |path: &str| -> &'static str {
        let answer = json!({"hookSpecificOutput": {"updatedInput": {"content": "safer", "file_path": path}}});
        Box::leak(answer.to_string().into_boxed_str())
    };
    let write = || opencode("write", json!({"filePath": "src/a.ts", "content": "x"}));
    let mut place = Place::with(json!({"PreToolUse": handler("Write")}));
    let (reply, _) = place.respond("opencode", &write(), &[(0, wants("/workspace/src/b.ts"), "")]);
    let answer: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(answer["output"]["args"], json!({"filePath": "/workspace/src/b.ts", "content": "safer"}), "{answer}");
    // The arguments that it wants are ruled on like any others.
    let mut place = Place::with(json!({"PreToolUse": handler("Write")}));
    let (reply, _) = place.respond("opencode", &write(), &[(0, wants("/workspace/README.md"), "")]);
    assert!(reply.refused.is_some_and(|why| why.contains("out_of_scope")));
    // If a program cannot be given other arguments, the call does not run with the old ones.
    let mut place = Place::with(json!({"PreToolUse": handler("Write")}));
    place.world.delete(SETTINGS);
    let call = claude("PreToolUse", "Write", json!({"file_path": "/workspace/src/a.ts", "content": "x"}));
    let (reply, _) = place.respond("claude-code", &call, &[(0, wants("/workspace/src/b.ts"), "")]);
    assert!(
        reply
            .refused
            .as_deref()
            .is_some_and(|why| why.contains("Claude Code does not let a hook replace them") && why.contains("safer")),
        "{reply:?}"
    );
}

#[test]
fn events_of_a_session_reach_it_too() {
    let hooks = json!({
        "UserPromptSubmit": handler(""), "PostToolUse": handler("Write"), "PostToolUseFailure": handler("*"),
        "SessionStart": handler("startup"), "Stop": handler(""),
    });
    let mut place = Place::with(hooks);
    let submit = json!({"session_id": "s", "cwd": "/workspace", "hook_event_name": "UserPromptSubmit", "prompt": "do it"});
    place.world.delete(SETTINGS);
    let (reply, runs) = place.respond("claude-code", &submit, &[(0, "mind the gap", "")]);
    assert_eq!((runs.len(), &runs[0].payload["prompt"]), (1, &json!("do it")));
    assert!(reply.text.contains("mind the gap"), "plain text is context: {}", reply.text);
    let (reply, _) = place.respond("claude-code", &submit, &[(2, "", "not this prompt")]);
    assert!(reply.refused.is_some_and(|why| why.contains("not this prompt")));
    let call = opencode("write", json!({"filePath": "src/a.ts", "content": "x"}));
    place.respond("opencode", &call, &[]);
    let after = json!({"hook": "tool.execute.after", "input": {"tool": "write", "sessionID": "s", "callID": "c", "args": {"filePath": "src/a.ts", "content": "x"}},
                       "output": {"title": "t", "output": "written", "metadata": {}}, "directory": "/workspace"});
    let (reply, runs) = place.respond("opencode", &after, &[(2, "", "format it")]);
    assert_eq!(
        (&runs[0].payload["hook_event_name"], &runs[0].payload["tool_response"]),
        (&json!("PostToolUse"), &json!("written")),
        "{:?}",
        runs[0].payload
    );
    assert!(reply.refused.is_none() && reply.text.contains("format it"), "{}", reply.text);
    let start =
        |source: &str| json!({"session_id": "s9", "cwd": "/workspace", "hook_event_name": "SessionStart", "source": source});
    assert_eq!(place.respond("claude-code", &start("startup"), &[(0, "", "")]).1.len(), 1);
    assert_eq!(place.respond("claude-code", &start("resume"), &[]).1.len(), 0);
}

#[test]
fn in_claude_code_it_does_not_run_twice() {
    let call = claude("PreToolUse", "Write", json!({"file_path": "/workspace/src/a.ts", "content": "x"}));
    let mut place = Place::with(json!({"PreToolUse": handler("Write")}));
    assert_eq!(place.respond("claude-code", &call, &[]).1.len(), 0, "Claude Code runs it");
    assert_eq!(
        place.respond("opencode", &opencode("write", json!({"filePath": "src/a.ts", "content": "x"})), &[(0, "", "")]).1.len(),
        1
    );
    // Once removed from Claude Code's settings, it runs here.
    place.world.write(SETTINGS, r#"{"hooks": {}}"#);
    assert_eq!(place.respond("claude-code", &call, &[(0, "", "")]).1.len(), 1);
    // Another hook there is not this one.
    place.world.write(SETTINGS, json!({"hooks": {"PreToolUse": handler("Bash")}}).to_string());
    assert_eq!(place.respond("claude-code", &call, &[(0, "", "")]).1.len(), 1);
}

#[test]
fn what_is_taken_over_is_shown_and_needs_approval() {
    let mut place = Place::new();
    let settings = json!({
        "permissions": {},
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "jq -r .tool_input.command | sh $CLAUDE_PROJECT_DIR/.claude/hooks/check.sh"}]},
                {"matcher": "*", "hooks": [{"type": "command", "command": "tollgate hook claude-code", "timeout": 30}]},
            ],
            "Notification": [{"hooks": [{"type": "command", "command": "say hi"}]}],
        },
    });
    place.world.write(SETTINGS, format!("// mine\n{settings}"));
    let own = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]}});
    place.world.write_home(SETTINGS, own.to_string());
    let shown = place.ask(json!({"op": "hooks", "do": "import"}));
    let taken: Vec<String> =
        shown["taken"].as_array().unwrap().iter().map(|taken| format!("{} {}", taken["file"], taken["hook"])).collect();
    assert_eq!(
        taken,
        [
            r#"".tollgate/hooks.json" {"id":"pretooluse-jq","trigger":"PreToolUse","format":"claude-code","matcher":"Bash","command":"jq -r .tool_input.command | sh $CLAUDE_PROJECT_DIR/.claude/hooks/check.sh","shell":true,"timeoutMs":60000,"files":[".claude/hooks/check.sh"],"from":".claude/settings.json"}"#,
            r#""~/.tollgate/hooks.json" {"id":"stop-notify-send","trigger":"Stop","format":"claude-code","command":["notify-send","done"],"timeoutMs":60000,"from":"~/.claude/settings.json"}"#,
        ]
    );
    let left: Vec<&str> = shown["left_out"].as_array().unwrap().iter().map(|left| left["path"].as_str().unwrap()).collect();
    assert_eq!(left, ["$.hooks.Notification[0].hooks[0]"]);
    assert!(place.world.content(".tollgate/hooks.json").is_none(), "nothing is written until somebody says so");
    let changed = place.ask(json!({"op": "hooks", "do": "import", "take": true, "digest": "sha256:00"}));
    assert!(changed["error"]["message"].as_str().unwrap().contains("have changed since they were shown"));
    // What is in the file stays, comments included.
    place.world.write(
        ".tollgate/hooks.json",
        "{\n  // ours\n  \"hooks\": [\n    {\"id\": \"a\", \"trigger\": \"t\", \"prompt\": \"p\"}\n  ]\n}\n",
    );
    let taken = place.ask(json!({"op": "hooks", "do": "import", "take": true, "digest": shown["digest"]}));
    assert_eq!(taken["taken"].as_array().unwrap().len(), 2, "{taken}");
    let text = String::from_utf8(place.world.content(".tollgate/hooks.json").unwrap()).unwrap();
    assert!(text.contains("// ours") && text.contains("pretooluse-jq"), "{text}");
    // A file with comments is not one that hooks are read from, so the comment is removed for what follows.
    place.world.write(".tollgate/hooks.json", text.replace("  // ours\n", ""));
    let listed = place.ask(json!({"op": "hooks", "do": "list"}));
    let states: Vec<String> = listed["hooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| format!("{} {}", hook["id"].as_str().unwrap(), hook["trust"].as_str().unwrap()))
        .collect();
    assert_eq!(states, ["stop-notify-send trusted", "a new", "pretooluse-jq new"]);
    let again = place.ask(json!({"op": "hooks", "do": "import"}));
    assert_eq!((again["taken"].as_array().unwrap().len(), &again["known"]), (0, &json!(2)), "{again}");
}

#[test]
fn a_plugins_hooks_are_an_extensions() {
    let mut place = Place::new();
    place.world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    let plugin = json!({"description": "d", "hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/guard.sh strict"}]}]}});
    let folder = ".tollgate/extensions/plugin";
    place.world.write(&format!("{folder}/manifest.json"), r#"{"name": "plugin", "version": "1", "hooks": "hooks/hooks.json"}"#);
    place.world.write(&format!("{folder}/hooks/hooks.json"), plugin.to_string());
    place.world.write(&format!("{folder}/hooks/guard.sh"), GUARD);
    let approved = place.ask(json!({"op": "extensions", "do": "approve", "id": "plugin"}));
    assert_eq!(approved["state"], "active", "{approved}");
    let (reply, runs) =
        place.respond("opencode", &opencode("write", json!({"filePath": "src/a.ts", "content": "x"})), &[(2, "", "no")]);
    assert_eq!(runs[0].argv, ["/bin/sh", ".tollgate/extensions/plugin/hooks/guard.sh", "strict"]);
    assert!(runs[0].set.contains(&("CLAUDE_PLUGIN_ROOT".to_owned(), "/workspace/.tollgate/extensions/plugin".to_owned())));
    assert!(reply.refused.is_some());
    // The file of declarations is checked like the manifest.
    place.world.write(&format!("{folder}/hooks/hooks.json"), r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "agent"}]}]}}"#);
    let listed = place.ask(json!({"op": "extensions", "do": "list"}));
    assert_eq!(listed["faults"][0]["file"], ".tollgate/extensions/plugin/hooks/hooks.json", "{listed}");
}

#[test]
fn a_hook_that_has_to_agree_stops_when_it_fails() {
    let strict = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh", "onFailure": "block"}]}]});
    let mut place = Place::with(strict);
    let (reply, _) = place.respond("opencode", &opencode("bash", json!({"command": "ls"})), &[(1, "", "crashed")]);
    assert!(reply.refused.as_deref().is_some_and(|why| why.contains("a required hook failed")), "{reply:?}");
}
