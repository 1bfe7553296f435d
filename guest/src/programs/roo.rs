//! Roo Code: its native tools, with the names of earlier versions.
//!
//! It is archived and has no hooks; this protocol is for forks that call a hook, in Roo Code's own terms. In: `{"event",
//! "taskId", "parentTaskId"?, "cwd", "toolUseId"?, "name", "params", "result"?, "error"?}` with the event `before_tool`,
//! `after_tool`, `session_start`, `before_agent`, `after_agent` or `session_end`. Out: `{"decision": "deny" | "ask", "reason"}`,
//! `{"params"}` for rewritten arguments, `{"context"}` for what the model should be told, `{}` for nothing.

use serde_json::{Map, Value, json};

use super::Act::{CallsServer, Diffs, Inert, Patches, Reads, Shell, Types, Writes};
use super::ArgumentMeaning::{
    Command, Flag, Folder, List, Number, Patch, Path, Paths, ReadPath, Server, ServerArguments, ServerTool, Text, Typed,
    WrittenPath,
};
use super::payload::{self, Spelling};
use super::{AgentProgram, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, ProgramEvent, Tool};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["roo", "roo-code"],
    title: "Roo Code",
    tools: TOOLS,
    mcp_prefixes: &["mcp--SERVER--TOOL"],
    speech: Some(HookProtocol {
        limit: |_| Some(Limit::Utf16(16_000)),
        // Its own approval dialog can show any call.
        asks: |_| true,
        silence: "{}",
        person: None,
        ..HookProtocol::new(EVENTS, |payload, named| payload::read(&SPELLING, EVENTS, payload, named, ending), answer)
    }),
    processes: &["roo"],
    variables: &["ROO_ACTIVE"],
    ..AgentProgram::BARE
};

const SPELLING: Spelling = Spelling {
    event: &["event"],
    session: &["taskId"],
    agent: &[],
    parent: &["parentTaskId"],
    cwd: &["cwd"],
    roots: &[],
    tool: &["name"],
    args: &["params"],
    call: &["toolUseId"],
    result: &["result"],
    prompt: &["prompt"],
    response: &["response"],
    source: &["source"],
    reason: &["reason"],
    data: &[],
};

const EVENTS: &[(&str, EventKind)] = &[
    ("before_tool", EventKind::BeforeTool),
    ("after_tool", EventKind::AfterTool),
    ("session_start", EventKind::SessionStart),
    ("before_agent", EventKind::BeforeAgent),
    ("after_agent", EventKind::AfterAgent),
    ("session_end", EventKind::SessionEnd),
];

fn answer(_: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    match answer {
        HookAnswer::Ask(reason) => Some(json!({"decision": "ask", "reason": reason})),
        HookAnswer::Deny(reason) | HookAnswer::Stop(reason) => Some(json!({"decision": "deny", "reason": reason})),
        HookAnswer::Allow { args: Some(args), .. } => Some(json!({"params": args})),
        HookAnswer::Allow { args: None, told } | HookAnswer::Tell(told) | HookAnswer::Withhold(told) => {
            (!told.is_empty()).then(|| json!({"context": told}))
        }
    }
}

fn ending(_: &str, payload: &Map<String, Value>) -> CallEnding {
    match payload.get("error") {
        Some(error) if !error.is_null() => payload::failed_ending(Some(error)),
        _ => CallEnding::Done,
    }
}

static TOOLS: &[Tool] = &[
    Tool {
        names: &["write_to_file", "new_rule"],
        act: Writes,
        args: &[("path", Path), ("content", Text), ("line_count", Number)],
    },
    Tool {
        names: &["edit", "edit_file", "search_replace"],
        act: Writes,
        args: &[
            ("file_path", Path),
            ("path", Path),
            ("old_string", Text),
            ("new_string", Text),
            ("replace_all", Flag),
            ("expected_replacements", Number),
            ("target_file", Path),
            ("instructions", Text),
            ("code_edit", Text),
        ],
    },
    Tool {
        names: &["search_and_replace"],
        act: Writes,
        args: &[
            ("path", Path),
            ("operations", List),
            ("search", Text),
            ("replace", Text),
            ("start_line", Number),
            ("end_line", Number),
            ("use_regex", Flag),
            ("ignore_case", Flag),
        ],
    },
    Tool {
        names: &["insert_content", "insert_code_block"],
        act: Writes,
        args: &[("path", Path), ("line", Number), ("content", Text), ("operations", List)],
    },
    Tool { names: &["generate_image"], act: Writes, args: &[("prompt", Text), ("path", Path), ("image", ReadPath)] },
    Tool {
        names: &["apply_diff"],
        act: Diffs,
        args: &[("path", Path), ("diff", Patch), ("args", List), ("start_line", Number), ("end_line", Number)],
    },
    Tool { names: &["apply_patch"], act: Patches, args: &[("patch", Patch)] },
    Tool { names: &["execute_command"], act: Shell, args: &[("command", Command), ("cwd", Folder), ("timeout", Number)] },
    Tool {
        names: &["read_file"],
        act: Reads,
        args: &[
            ("path", Path),
            ("files", Paths),
            ("args", List),
            ("start_line", Number),
            ("end_line", Number),
            ("line_range", Text),
            ("mode", Text),
            ("offset", Number),
            ("limit", Number),
            ("indentation", List),
        ],
    },
    Tool {
        names: &["list_files", "search_files", "list_code_definition_names", "codebase_search", "fetch_instructions"],
        act: Reads,
        args: &[("path", Path), ("recursive", Flag), ("regex", Text), ("file_pattern", Text), ("query", Text), ("task", Text)],
    },
    // A screenshot may be saved.
    Tool {
        names: &["browser_action"],
        act: Inert,
        args: &[("action", Text), ("url", Text), ("coordinate", Text), ("text", Text), ("size", Text), ("path", WrittenPath)],
    },
    Tool {
        names: &[
            "ask_followup_question",
            "attempt_completion",
            "new_task",
            "switch_mode",
            "update_todo_list",
            "access_mcp_resource",
            "read_command_output",
            "skill",
        ],
        act: Inert,
        args: &[("args", Text)],
    },
    // The command is a slash command of the program, and becomes text for the model.
    Tool { names: &["run_slash_command"], act: Inert, args: &[("command", Text), ("args", Text)] },
    Tool { names: &["write_stdin"], act: Types, args: &[("session_id", Number), ("chars", Typed)] },
    Tool {
        names: &["use_mcp_tool"],
        act: CallsServer,
        args: &[("server_name", Server), ("tool_name", ServerTool), ("arguments", ServerArguments)],
    },
];
