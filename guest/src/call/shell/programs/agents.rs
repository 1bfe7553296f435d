//! Agent programs. Starting one counts as running a program; changing its tools, hooks or settings changes what asks the gate.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::spec::{Invocation, ParsedArguments, ProgramSpec};
use super::tollgate::control;

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec { answers: &["--version", "-v", "--help", "mcp list"], rule: Some(wiring), ..ProgramSpec::opaque(&["claude"]) },
    ProgramSpec { answers: &["--version", "-V", "--help", "mcp list"], rule: Some(wiring), ..ProgramSpec::opaque(&["codex"]) },
    ProgramSpec {
        answers: &["--version", "-v", "--help", "mcp list", "extensions list"],
        rule: Some(wiring),
        ..ProgramSpec::opaque(&["gemini"])
    },
    ProgramSpec {
        answers: &["--version", "--help", "mcp list"],
        rule: Some(wiring),
        ..ProgramSpec::opaque(&["opencode", "cursor-agent", "copilot", "qwen"])
    },
];

/// Commands that change what an agent program is connected to.
const WIRING: &[&str] = &[
    "config",
    "extension",
    "extensions",
    "features",
    "hook",
    "hooks",
    "mcp",
    "plugin",
    "plugins",
    "settings",
    "skills",
    "trust",
    "uninstall",
];

/// Subcommands of these that only show something.
const READ_ONLY_COMMANDS: &[&str] = &["get", "help", "list", "ls", "show"];

/// Options that start an agent program with other settings than its own, and so without the gate.
const OTHER_SETTINGS: &[&str] = &[
    "--bare",
    "--config",
    "--disable",
    "--ignore-user-config",
    "--plugin-dir",
    "--profile",
    "--pure",
    "--setting-sources",
    "--settings",
    "-c",
];

fn wiring(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let mut words = parsed.operands.iter().filter_map(|arg| arg.text()).skip_while(|word| !WIRING.contains(word));
    if let Some(group) = words.next() {
        let command = words.next();
        if !command.is_some_and(|word| READ_ONLY_COMMANDS.contains(&word)) {
            let name = format!("{} {group} {}", call.name, command.unwrap_or_default());
            control(reader, call.state, name.trim_end().to_owned());
        }
        return;
    }
    let option = |arg: &Arg| arg.text().and_then(|text| text.split('=').next()).map(str::to_owned);
    // `claude -c` continues the last conversation.
    let is_other = |option: &String| OTHER_SETTINGS.contains(&option.as_str()) && !(option == "-c" && call.name != "codex");
    if let Some(option) = call.args.iter().filter_map(option).find(is_other) {
        control(reader, call.state, format!("{} {option}", call.name));
    }
    if let Some(variable) = &call.state.influence {
        reader.add_unknown(format!("`{variable}` may change which settings `{}` uses", call.name));
    }
}
