//! Commands of agent programs that run confined: how each program is told, and how a call ends whose command ran confined.

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::confine::RunDecision;
use tollgate_guest::confine::evidence::{self, EvidenceKey};
use tollgate_guest::engine::{Input, MachineReport, Order, RunEnding};
use tollgate_guest::exchange::{Exchanges, Progress, Reply};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, STATE};

const UNREAD: &str = "python3 src/auth/make.py";

struct Place {
    world: Rc<Memory>,
    gate: Gate,
    exchanges: Exchanges,
}

impl Place {
    fn new(confines: bool) -> Self {
        let world = Memory::new();
        world.write(
            ".orchestration/active_intents.yaml",
            "[{id: I, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', docs/auth.md]}]",
        );
        for path in ["src/auth/make.py", "docs/auth.md", "docs/other.md", "README.md"] {
            world.write(path, path);
        }
        world.write("/opt/bin/tollgate", "x".repeat(2 << 20));
        let mut gate = Gate::new(world.ports());
        gate.select("s", "I").unwrap();
        let mut place = Self { world, gate, exchanges: Exchanges::default() };
        place.step(Input::Machine(MachineReport {
            workspace: "/workspace".to_owned(),
            search_path: vec!["/opt/bin".to_owned()],
            confines,
            ..MachineReport::default()
        }));
        place
    }

    fn step(&mut self, input: Input) -> Vec<tollgate_guest::engine::Command> {
        self.exchanges.step(&mut self.gate, 0, &[input]).commands
    }

    fn respond(&mut self, program: &str, payload: &Value) -> Reply {
        match self.exchanges.respond(&mut self.gate, program, None, payload.to_string().as_bytes()) {
            Progress::Answered(reply) => reply,
            Progress::Waiting(_) => panic!("nothing to wait for"),
        }
    }

    fn answer(&mut self, program: &str, payload: &Value) -> Value {
        serde_json::from_str(&self.respond(program, payload).text).unwrap_or_default()
    }
}

fn payload(event: &str, tool: &str, call: &str, command: &str) -> Value {
    json!({"session_id": "s", "cwd": "/workspace", "hook_event_name": event, "tool_name": tool, "tool_use_id": call,
           "tool_input": {"command": command}, "tool_response": "PermissionError: [Errno 13] Permission denied"})
}

#[test]
fn each_program_is_given_the_command_that_confines() {
    let wrapped = format!("/opt/bin/tollgate confine --session s --call c -- bash -c '{UNREAD}'");
    let opencode = json!({"hook": "tool.execute.before", "input": {"tool": "bash", "sessionID": "s", "callID": "c"},
                          "output": {"args": {"command": UNREAD, "description": "d"}}, "directory": "/workspace"});
    let copilot = json!({"sessionId": "s", "cwd": "/workspace", "toolName": "bash", "toolUseId": "c",
                         "toolArgs": {"command": UNREAD, "description": "d"}});
    for (program, payload, pointer) in [
        ("opencode", opencode, "/output/args/command"),
        ("gemini", payload("BeforeTool", "run_shell_command", "c", UNREAD), "/hookSpecificOutput/tool_input/command"),
        ("codex", payload("PreToolUse", "Bash", "c", UNREAD), "/hookSpecificOutput/updatedInput/command"),
        ("copilot", copilot, "/modifiedArgs/command"),
    ] {
        // Copilot asks a person about every path outside the workspace, so only the name is used.
        let expected = if program == "copilot" { wrapped.trim_start_matches("/opt/bin/") } else { wrapped.as_str() };
        let answer = Place::new(true).answer(program, &payload);
        assert_eq!(answer.pointer(pointer).and_then(Value::as_str), Some(expected), "{program}: {answer}");
        // If the host cannot confine, nothing is different.
        let answer = Place::new(false).answer(program, &payload);
        assert_eq!(answer.pointer(pointer), None, "{program}: {answer}");
    }
}

#[test]
fn a_shell_that_goes_on_is_not_used_for_commands_that_run_as_they_are() {
    // Its effects are certain, and the kernel cannot express them: it runs unconfined.
    let command = "cd docs && echo x > ../README.md";
    let place = || {
        let mut place = Place::new(true);
        let scope = "[{id: I, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', README.md]}]";
        place.world.write(".orchestration/active_intents.yaml", scope);
        place.gate.select("s", "I").unwrap();
        place
    };
    let copilot =
        json!({"sessionId": "s", "cwd": "/workspace", "toolName": "bash", "toolUseId": "c", "toolArgs": {"command": command}});
    let mut kept = place();
    let answer = kept.answer("copilot", &copilot);
    let given = answer.pointer("/modifiedArgs/command").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(given, format!("tollgate confine --session s --call c -- bash -c '{command}'"));
    let kept_answer = kept.world.content(&format!("{STATE}/{}", EvidenceKey::of_call("s", "c").path())).unwrap();
    assert!(String::from_utf8(kept_answer).unwrap().contains(r#""run":"plain""#));
    // Other programs start a new shell for every command.
    for (program, event, tool) in [("gemini", "BeforeTool", "run_shell_command"), ("codex", "PreToolUse", "Bash")] {
        let reply = place().respond(program, &payload(event, tool, "c", command));
        assert!(reply.refused.is_none() && !reply.text.contains("tollgate confine"), "{program}: {}", reply.text);
    }
    // If nothing confines, there is nothing to run it.
    let mut without = place();
    without.world.write_home(".tollgate/config.json", r#"{"confine": "off"}"#);
    assert_eq!(without.answer("copilot", &copilot).pointer("/modifiedArgs"), None);
}

#[test]
fn what_cannot_be_confined_is_not_let_run_for_that() {
    let unknown = "python3 -c 'open(\"x\", \"w\")'";
    // Claude Code and Qwen Code accept no other command.
    for (program, tool) in [("claude-code", "Bash"), ("qwen", "run_shell_command")] {
        let answer = Place::new(true).answer(program, &payload("PreToolUse", tool, "c", unknown));
        let decision = answer.pointer("/hookSpecificOutput/permissionDecision").and_then(Value::as_str);
        assert!(matches!(decision, Some("ask" | "deny")), "{program}: {answer}");
    }
    for (program, event, tool) in [("gemini", "BeforeTool", "run_shell_command"), ("codex", "PreToolUse", "Bash")] {
        for command in ["docker run -v .:/w x", "git stash", "echo x > README.md"] {
            let reply = Place::new(true).respond(program, &payload(event, tool, "c", command));
            assert!(reply.refused.is_some(), "{program}: {command}");
        }
    }
}

#[test]
fn claude_code_runs_commands_through_its_settings() {
    let mut place = Place::new(true);
    let named = |path: &str| json!({"env": {"CLAUDE_CODE_SHELL_PREFIX": path}}).to_string();
    let asks = |place: &mut Place, call: &str| {
        let reply = place.respond("claude-code", &payload("PreToolUse", "Bash", call, "python3 -c 'open(\"x\", \"w\")'"));
        reply.refused.is_some()
    };
    assert!(asks(&mut place, "c1"));
    // Which of the user's settings it reads is not known here: a variable can name others.
    place.world.write_home(".claude/settings.json", named("/opt/bin/tollgate"));
    assert!(asks(&mut place, "c2"));
    place.world.write(".claude/settings.json", named("/opt/bin/tollgate"));
    assert!(!asks(&mut place, "c3"));
    for other in ["/usr/bin/env", "/workspace/tollgate", "tollgate", ""] {
        place.world.write(".claude/settings.local.json", named(other));
        assert!(asks(&mut place, "c4"), "{other}");
    }
    for (text, expected) in [("{ // mine\n}", false), ("{", true)] {
        place.world.write(".claude/settings.local.json", text);
        assert_eq!(asks(&mut place, "c5"), expected, "{text}");
    }
}

#[test]
fn the_end_of_a_call_is_told_under_the_command_that_ran() {
    // Gemini CLI has no ids; an id is derived from what the model asked for, before and after.
    let mut place = Place::new(true);
    let mut before = payload("BeforeTool", "run_shell_command", "", UNREAD);
    before.as_object_mut().unwrap().remove("tool_use_id");
    let answer = place.answer("gemini", &before);
    let command = answer.pointer("/hookSpecificOutput/tool_input/command").and_then(Value::as_str).unwrap().to_owned();
    let call = command.split(' ').nth(5).unwrap().to_owned();
    evidence::mark(&EvidenceKey::of_call("s", &call), RunDecision::Confined, &place.world.ports());
    let mut after = payload("AfterTool", "run_shell_command", "", &command);
    after.as_object_mut().unwrap().remove("tool_use_id");
    let told = place.answer("gemini", &after)["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(told.contains("ran confined to the scope of I"), "{told}");
    // A call that did not run confined is reported as well.
    place.respond("gemini", &before);
    let told = place.answer("gemini", &after)["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(told.contains("had to run confined and did not"), "{told}");
}

#[test]
fn changes_beside_the_scope_are_taken_back() {
    let mut place = Place::new(true);
    place.respond("codex", &payload("PreToolUse", "Bash", "c", UNREAD));
    evidence::mark(&EvidenceKey::of_call("s", "c"), RunDecision::Confined, &place.world.ports());
    place.world.write("docs/other.md", "changed");
    let after = payload("PostToolUse", "Bash", "c", UNREAD);
    let progress = place.exchanges.respond(&mut place.gate, "codex", None, after.to_string().as_bytes());
    let Progress::Waiting(number) = progress else { panic!("nothing is taken back: {progress:?}") };
    let commands = place.exchanges.step(&mut place.gate, 0, &[]).commands;
    let [command] = commands.as_slice() else { panic!("{commands:?}") };
    let Order::Run { argv, .. } = &command.order else { panic!("{command:?}") };
    assert_eq!((&*argv[0], &*argv[1], &*argv[2], &*argv[4]), ("/opt/bin/tollgate", "trace", "revert", "--restoring"));
    // Only this change may be reverted without a person, and only once.
    let ask = |line: Value| -> Value {
        serde_json::from_str(&perform(&mut Gate::new(place.world.ports()), line.to_string().as_bytes())).unwrap()
    };
    let plan = |entry: &str| ask(json!({"op": "revert", "step": "plan", "entry": entry, "restoring": true}));
    let entered = ask(json!({"op": "trace"}))["entries"].as_array().unwrap().clone();
    for other in entered.iter().map(|entry| entry["id"].as_str().unwrap()).filter(|id| *id != argv[3]).chain(["nonsense"]) {
        assert_eq!(plan(other)["error"]["code"], "needs_person", "{other}");
    }
    assert_eq!(plan(&argv[3])["path"], "docs/other.md");
    assert_eq!(plan(&argv[3])["error"]["code"], "needs_person");
    let ending = RunEnding::Exited { code: Some(2), stdout: String::new(), stderr: "it is gone\n".to_owned(), truncated: false };
    let commands = place.step(Input::Ended { command: command.id, ending });
    let reply = commands.iter().find_map(|command| match &command.order {
        Order::Reply { number: of, answer, .. } if *of == number => Some(String::from_utf8_lossy(answer).into_owned()),
        _ => None,
    });
    let told = reply.unwrap();
    assert!(told.contains("`docs/other.md`") && told.contains("was not reverted: it is gone"), "{told}");
}
