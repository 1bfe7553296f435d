//! Extracts the command of a call that does nothing but run a command, for a shell or for the system.

use serde_json::Value;

use super::super::ToolCall;
use super::commands::{RUNNER, has_arguments_beside, is_posix};
use crate::config::{Config, ToolEffect};
use crate::programs::{self, Act, ArgumentMeaning, Tool};

/// The command given to a shell tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellCommand {
    /// A single string, and the shell that it is for if the call names one.
    Text {
        /// The text.
        command: String,
        /// The shell.
        shell: Option<String>,
    },
    /// A program with its arguments.
    Words(Vec<String>),
}

/// The command that a call runs; `None` if the call does something else, or if what runs the command is not known.
pub(in crate::call) fn shell_command(call: &ToolCall, config: &Config) -> Option<ShellCommand> {
    let args = call.args.as_object()?;
    let tool: &Tool = match config.tool(&call.tool) {
        Some(rule) if rule.effect == ToolEffect::Shell => &RUNNER,
        Some(_) => return None,
        None => {
            let tools = programs::tools(call.host.as_deref(), &call.tool);
            let first = tools.first()?;
            tools.iter().all(|tool| tool.act == Act::Shell).then_some(first)?
        }
    };
    if has_arguments_beside(args) {
        return None;
    }
    let is_command = |kind: Option<ArgumentMeaning>| matches!(kind, Some(ArgumentMeaning::Command | ArgumentMeaning::Words));
    let given: Vec<&Value> = args
        .iter()
        .filter(|(name, value)| is_command(tool.meaning_of(name)) && !value.is_null())
        .map(|(_, value)| value)
        .collect();
    let shell = tool.arguments(ArgumentMeaning::Shell).find_map(|name| args.get(name)).filter(|shell| !shell.is_null());
    if !shell.is_none_or(|shell| shell.as_str().is_some_and(is_posix)) {
        return None;
    }
    match given.as_slice() {
        [Value::String(command)] => {
            Some(ShellCommand::Text { command: command.clone(), shell: shell.and_then(Value::as_str).map(str::to_owned) })
        }
        [Value::Array(words)] => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.filter(|words| !words.is_empty()).map(ShellCommand::Words)
        }
        _ => None,
    }
}

/// The arguments of a call with its command replaced; `None` if the call does not run a command.
pub(in crate::call) fn with_command(
    call: &ToolCall,
    config: &Config,
    replace: impl FnOnce(ShellCommand) -> Value,
) -> Option<Value> {
    let command = shell_command(call, config)?;
    let given = match &command {
        ShellCommand::Text { command, .. } => Value::from(command.as_str()),
        ShellCommand::Words(words) => Value::from(words.as_slice()),
    };
    let mut args = call.args.clone();
    let fields = args.as_object_mut()?;
    let name = fields.iter().find(|(name, value)| **value == given && is_command_name(call, config, name))?.0.clone();
    fields.insert(name, replace(command));
    Some(args)
}

fn is_command_name(call: &ToolCall, config: &Config, name: &str) -> bool {
    let tool =
        config.tool(&call.tool).map(|_| &RUNNER).or_else(|| programs::tools(call.host.as_deref(), &call.tool).first().copied());
    tool.is_some_and(|tool| matches!(tool.meaning_of(name), Some(ArgumentMeaning::Command | ArgumentMeaning::Words)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commands_of_calls() {
        let config = Config::parse(br#"{"tools": {"my_shell": "shell", "Bash": "read"}}"#).unwrap();
        let text = |command: &str| Some(ShellCommand::Text { command: command.to_owned(), shell: None });
        for (host, tool, args, expected) in [
            (None, "bash", json!({"command": "ls"}), text("ls")),
            (Some("gemini"), "run_shell_command", json!({"command": "ls", "description": "x"}), text("ls")),
            (None, "my_shell", json!({"command": "ls"}), text("ls")),
            (None, "Bash", json!({"command": "ls"}), None),
            (None, "write", json!({"command": "ls"}), None),
            (None, "powershell", json!({"command": "ls"}), None),
            (None, "bash", json!({"command": "ls", "args": ["-l"]}), None),
            (None, "bash", json!({}), None),
            (None, "bash", json!(["ls"]), None),
            (None, "nobody_knows", json!({"command": "ls"}), None),
        ] {
            let call = ToolCall {
                session: String::new(),
                agent: None,
                call: String::new(),
                host: host.map(str::to_owned),
                server: None,
                tool: tool.to_owned(),
                args: args.clone(),
                cwd: None,
            };
            assert_eq!(shell_command(&call, &config), expected, "{host:?} {tool} {args}");
        }
    }
}
