//! Determines which program reads the text of a call, and therefore whether adding text to it is harmless.

use serde_json::Value;

use super::super::shell::ignores_comments;
use super::super::{TextReader, ToolCall};
use super::commands::{has_arguments_beside, is_posix};
use super::verbs::{self, Verb};
use crate::config::Config;
use crate::programs::{self, Act};

/// Hosts that pass a command to `sh -c` and ignore arguments that a tool does not know. Other hosts check the text of a command
/// before it runs, type it into a terminal, or reject unknown arguments.
const LENIENT: [&str; 3] = ["opencode", "kilo", "kilocode"];

/// Tools that run a shell with `-c`, for calls without a host.
const SHELLS: [&str; 4] = ["bash", "shell", "shell_command", "run_shell_command"];

/// Tools whose text is given to another model.
const MODELS: [&str; 8] =
    ["task", "agent", "new_task", "delegate_to_agent", "spawn_agent", "send_input", "sendmessage", "runsubagent"];

pub(in crate::call) fn reader(call: &ToolCall, config: &Config) -> TextReader {
    let is_in = |name: &str, list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(name));
    let lenient = call.host.as_deref().is_none_or(|host| is_in(host, &LENIENT));
    // What the workspace declares about a tool does not say how the tool treats its text.
    if config.tool(&call.tool).is_some() {
        return TextReader::default();
    }
    match programs::act(call.host.as_deref(), &call.tool) {
        Some(Act::Shell) if lenient && is_in(&call.tool, &SHELLS) => {
            TextReader { is_shell: reads_comments(call), ..TextReader::default() }
        }
        Some(Act::Inert) => {
            TextReader { is_model: is_in(&call.tool, &MODELS), ignores_properties: lenient, ..TextReader::default() }
        }
        Some(Act::Reads) => TextReader { ignores_properties: lenient, ..TextReader::default() },
        // An embedder's own tool that takes a prompt or a question. What an MCP tool does with a text is not known.
        None if lenient && names_no_recipient(&call.tool) => {
            TextReader { is_model: true, ignores_properties: true, ..TextReader::default() }
        }
        _ => TextReader::default(),
    }
}

/// Whether a tool's name does not suggest that its text goes to a file, to a server or to people.
fn names_no_recipient(tool: &str) -> bool {
    const RECIPIENT_VERBS: [&str; 8] = ["comment", "email", "mail", "notify", "post", "publish", "reply", "send"];
    let name = tool.to_ascii_lowercase();
    let quiet = !name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| RECIPIENT_VERBS.contains(&word));
    quiet && !tool.contains("__") && matches!(verbs::verb(tool), Verb::Reads | Verb::Unclear)
}

/// Whether the command is a single string for a POSIX shell, to which comments can be added.
fn reads_comments(call: &ToolCall) -> bool {
    let Some(args) = call.args.as_object() else { return false };
    let posix = args.get("shell").is_none_or(|shell| shell.as_str().is_some_and(is_posix));
    let windows = |path: &str| path.contains('\\') || path.as_bytes().get(1) == Some(&b':');
    posix
        && !call.cwd.as_deref().is_some_and(windows)
        && !has_arguments_beside(args)
        && args.get("command").and_then(Value::as_str).is_some_and(ignores_comments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn readers() {
        let [shell, model, lenient, nobody] =
            [(true, false, false), (false, true, true), (false, false, true), (false, false, false)];
        let echo = json!({"command": "echo a | cat"});
        let config = Config::parse(br#"{"tools": {"task": "read", "my_shell": "shell"}}"#).unwrap();
        for (host, tool, args, cwd, expected) in [
            (None, "bash", &echo, None, shell),
            (Some("opencode"), "bash", &echo, Some("src"), shell),
            (None, "Bash", &echo, None, shell),
            (None, "bash", &json!({"command": "ls"}), None, shell),
            (None, "bash", &json!({"command": ["echo", "a"]}), None, nobody),
            (None, "bash", &json!({"command": "echo", "args": ["a"]}), None, nobody),
            (None, "bash", &json!({"command": "echo a", "shell": "pwsh"}), None, nobody),
            (None, "bash", &json!({"command": "echo a", "shell": "/bin/zsh"}), None, shell),
            (None, "bash", &echo, Some("C:/x"), nobody),
            (Some("claude-code"), "Bash", &echo, None, nobody),
            (None, "execute_command", &echo, None, nobody),
            (None, "powershell", &echo, None, nobody),
            (None, "my_shell", &echo, None, nobody),
            (None, "Agent", &json!({}), None, model),
            (Some("claude-code"), "Agent", &json!({}), None, (false, true, false)),
            (None, "WebSearch", &json!({}), None, lenient),
            (None, "read", &json!({}), None, lenient),
            (Some("claude-code"), "Read", &json!({}), None, nobody),
            (None, "task", &json!({}), None, nobody),
            (None, "write", &json!({}), None, nobody),
            (None, "mcp__x__search", &json!({}), None, nobody),
            (None, "nobody_knows", &json!({}), None, model),
            (Some("claude-code"), "nobody_knows", &json!({}), None, nobody),
            (None, "post_message", &json!({}), None, nobody),
            (None, "write_note", &json!({}), None, nobody),
        ] {
            let call = ToolCall {
                session: String::new(),
                agent: None,
                call: String::new(),
                host: host.map(str::to_owned),
                tool: tool.to_owned(),
                server: None,
                args: args.clone(),
                cwd: cwd.map(str::to_owned),
            };
            let TextReader { is_shell, is_model, ignores_properties } = reader(&call, &config);
            assert_eq!((is_shell, is_model, ignores_properties), expected, "{host:?} {tool} {args}");
        }
    }
}
