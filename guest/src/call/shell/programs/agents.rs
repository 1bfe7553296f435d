//! Agent programs. To run one is to run a program; to change its tools, hooks or settings is to change what asks the gate.

use super::super::reader::Reader;
use super::spec::{Call, Parsed, Program};
use super::tollgate::change_gate;

pub(super) const ROWS: &[Program] = &[
    Program { answers: &["--version", "-v", "--help", "mcp list"], rule: Some(wiring), ..Program::opaque(&["claude"]) },
    Program { answers: &["--version", "-V", "--help", "mcp list"], rule: Some(wiring), ..Program::opaque(&["codex"]) },
    Program {
        answers: &["--version", "-v", "--help", "mcp list", "extensions list"],
        rule: Some(wiring),
        ..Program::opaque(&["gemini"])
    },
    Program {
        answers: &["--version", "--help", "mcp list"],
        rule: Some(wiring),
        ..Program::opaque(&["opencode", "cursor-agent", "copilot", "qwen"])
    },
];

/// Commands that change what an agent program is connected to.
const WIRING: &[&str] = &["config", "extension", "extensions", "hook", "hooks", "mcp", "plugin", "plugins", "settings", "skills"];

/// What stands behind such a command and only looks.
const LOOK: &[&str] = &["get", "help", "list", "ls", "show"];

fn wiring(reader: &mut Reader<'_>, _: &Call<'_>, parsed: &Parsed<'_>) {
    let mut words = parsed.operands.iter().filter_map(|arg| arg.text()).skip_while(|word| !WIRING.contains(word));
    if words.next().is_some() && !words.next().is_some_and(|word| LOOK.contains(&word)) {
        change_gate(reader);
    }
}
