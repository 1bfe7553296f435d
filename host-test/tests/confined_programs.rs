//! Commands of agent programs from start to end: the hook determines what runs, it is run, and its end is reported to the hook.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::confined::{World, output_result};
use serde_json::{Value, json};

/// A path that cannot be analysed, because it is computed at run time.
fn writes(path: &str) -> String {
    let (one, other) = path.split_at(path.len() / 2);
    format!("python3 -c 'open(\"{one}\" + \"{other}\", \"w\").write(\"by program\")'")
}

/// A folder of the search path with the program that confines commands.
fn bin(world: &World) -> PathBuf {
    let folder = world.top.join("bin");
    if !folder.exists() {
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tollgate"), folder.join("tollgate")).unwrap();
    }
    folder
}

fn set_path(world: &World, mut command: Command) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(bin(world)).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    command
}

fn hook(world: &World, program: &str, payload: &Value) -> Value {
    let mut command = set_path(world, world.plain(env!("CARGO_BIN_EXE_tollgate"), &["hook", program]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn payload(world: &World, event: &str, tool: &str, call: &str, command: &str) -> Value {
    json!({"session_id": "s", "cwd": world.ws(), "hook_event_name": event, "tool_name": tool, "tool_use_id": call,
           "tool_input": {"command": command}, "tool_response": ""})
}

#[test]
fn gemini_runs_what_it_is_given() {
    let Some(world) = World::if_confinable("'src/auth/**', docs/auth.md") else { return };
    let run = |command: &str| {
        let answer = hook(&world, "gemini", &payload(&world, "BeforeTool", "run_shell_command", "c", command));
        let given =
            answer.pointer("/hookSpecificOutput/tool_input/command").and_then(Value::as_str).expect("a command").to_owned();
        let (success, text) = output_result(set_path(&world, world.plain("bash", &["-c", &given])).output().unwrap());
        let told = hook(&world, "gemini", &payload(&world, "AfterTool", "run_shell_command", "c", &given));
        let told = told.pointer("/hookSpecificOutput/additionalContext").and_then(Value::as_str).unwrap_or_default().to_owned();
        (success, text, told)
    };
    let (success, text, told) = run(&writes("src/auth/new.ts"));
    assert!(success && told.is_empty(), "{text} {told}");
    assert_eq!(world.read("ws/src/auth/new.ts"), "by program");
    let (success, text, _) = run(&writes("src/billing/pay.ts"));
    assert!(!success && text.contains("Permission denied"), "{text}");
    assert_eq!(world.read("ws/src/billing/pay.ts"), "pay\n");
    // It could be written because it is next to a file in scope, so it is restored.
    let (success, text, told) = run(&writes("docs/other.md"));
    assert!(success, "{text}");
    assert!(told.contains("were restored") && !told.contains("was not reverted"), "{told}");
    assert_eq!(world.read("ws/docs/other.md"), "other\n");
}

/// What Claude Code 2.1.325 passes to the program in its settings.
fn claude_code_command(command: &str, folder_file: &str) -> String {
    let quoted = command.replace('\'', r#"'"'"'"#);
    format!(
        "source /nowhere/snapshot-bash-1.sh 2>/dev/null || true && {{ \\builtin shopt -u extglob || \\builtin setopt NO_BRACE_CCL; }} >/dev/null 2>&1 \
         || true && eval '{quoted}' < /dev/null && pwd -P >| {folder_file}"
    )
}

#[test]
fn claude_code_gives_its_commands_to_the_program() {
    let Some(world) = World::if_confinable("'src/auth/**'") else { return };
    let program = bin(&world).join("tollgate");
    let settings = json!({"env": {"CLAUDE_CODE_SHELL_PREFIX": program}}).to_string();
    world.write("ws/.claude/settings.json", &settings);
    let folder_file = world.top.join("claude-cwd").display().to_string();
    let prefixed = |agent: &str, given: &str| {
        let mut command = world.plain(program.to_str().unwrap(), &[given]);
        command.env("CLAUDE_CODE_SHELL_PREFIX", &program).env("CLAUDE_CODE_SESSION_ID", "s").env("AI_AGENT", agent);
        output_result(command.output().unwrap())
    };
    let run = |command: &str| {
        let _ = fs::remove_file(&folder_file);
        let answer = hook(&world, "claude-code", &payload(&world, "PreToolUse", "Bash", "c", command));
        assert_eq!(answer, Value::Null, "{command}");
        let (success, text) = prefixed("claude-code_2-1-325_agent", &claude_code_command(command, &folder_file));
        let told = hook(&world, "claude-code", &payload(&world, "PostToolUse", "Bash", "c", command));
        assert!(!told.to_string().contains("did not"), "{told}");
        (success, text)
    };
    let (success, text) = run(&format!("{}; cd src", writes("src/auth/new.ts")));
    assert!(success, "{text}");
    assert_eq!(fs::read_to_string(&folder_file).unwrap().trim(), world.ws().join("src").to_str().unwrap());
    assert_eq!(world.read("ws/src/auth/new.ts"), "by program");
    let (success, text) = run(&writes("src/billing/pay.ts"));
    assert!(!success && text.contains("Permission denied"), "{text}");
    let (success, text) = run("git add src/auth/new.ts && git commit -qm new");
    assert!(success, "{text}");
    // A command that was analysed completely runs unconfined, even if the kernel could not express its scope.
    world.write(
        "ws/.orchestration/active_intents.yaml",
        "[{id: I, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', NEW.md]}]",
    );
    let (success, text) = run("echo new > NEW.md");
    assert!(success, "{text}");
    // Whatever the command contains, it stays within its quotes.
    let (_, text) =
        prefixed("claude-code_2-1-325_agent", &claude_code_command("true' && echo out > README.md && eval '", &folder_file));
    assert_eq!(world.read("ws/README.md"), "# Readme\n", "{text}");
    // Commands that Claude Code runs for itself do not come from the model.
    let (success, text) = prefixed("claude-code_2-1-325_harness", "echo hook > README.md");
    assert!(success, "{text}");
    assert_eq!(world.read("ws/README.md"), "hook\n");
    // Tollgate's own commands are recognized there, too.
    let (success, text) = prefixed("claude-code_2-1-325_agent", "--version");
    assert!(success && text.starts_with("tollgate "), "{text}");
}
