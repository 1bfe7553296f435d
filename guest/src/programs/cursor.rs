//! Cursor, from its documentation of hooks and the known tools of its agent.
//!
//! Its schema accepts *ask* from `preToolUse`, but then the tool runs, so *ask* becomes a denial. Rewritten arguments need
//! `"permission": "allow"`; only the prompt of a sub-agent is ever rewritten, and no approval precedes that. Cursor also runs the
//! hooks of `.claude/settings.json`: they get the same conversation and call ids, so a call that is reported twice is recorded
//! once.

use serde_json::{Map, Value, json};

use super::Act::{CallsServer, Deletes, Inert, Patches, Reads, Shell, Writes};
use super::ArgumentMeaning::{
    Command, Flag, Folder, List, Number, Patch, Path, Server, ServerArguments, ServerTool, Text, WrittenPath,
};
use super::payload::{self, SNAKE, Spelling};
use super::wiring::{Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, SourceContent};
use super::{AgentProgram, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, ProgramEvent, Tool, Wiring};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["cursor"],
    title: "Cursor",
    tools: TOOLS,
    mcp_prefixes: &["MCP:TOOL"],
    speech: Some(HookProtocol {
        project_variables: &["CURSOR_PROJECT_DIR"],
        limit,
        rewrites: |event| event.call.as_ref().is_some_and(|call| call.tool == "Task"),
        silence: "{}",
        person: None,
        ..HookProtocol::new(EVENTS, |payload, named| payload::read(&SPELLING, EVENTS, payload, named, ending), answer)
    }),
    wiring: Some(Wiring {
        signs: &[SettingsPlace::Workspace(".cursor"), SettingsPlace::Home(".cursor")],
        commands: &["cursor", "cursor-agent"],
        settings: &[
            SettingsSource {
                place: SettingsPlace::Workspace(".cursor/hooks.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Home(".cursor/hooks.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::Everywhere,
            },
        ],
        // If a version of Cursor does not know one of the names, it rejects the whole file, so only the necessary events are
        // listed.
        events: &["preToolUse", "postToolUse", "sessionStart", "sessionEnd"],
        servers: Some(SettingsPlace::Workspace(".cursor/mcp.json")),
        ..Wiring::new(HooksFormat::Flat, Canary::Command { payload: canary, denial: ("/permission", "deny"), shell: None })
    }),
    controls: &[
        SettingsPlace::Workspace(".cursor/hooks.json"),
        SettingsPlace::Workspace(".cursor/hooks"),
        SettingsPlace::Workspace(".cursor/mcp.json"),
        SettingsPlace::Home(".cursor/hooks.json"),
        SettingsPlace::Home(".cursor/hooks"),
        SettingsPlace::Home(".cursor/mcp.json"),
    ],
    processes: &["cursor-agent"],
    variables: &["CURSOR_AGENT"],
    ..AgentProgram::BARE
};

const SPELLING: Spelling = Spelling {
    session: &["conversation_id", "session_id"],
    result: &["tool_output", "tool_response"],
    response: &[],
    source: &[],
    reason: &["reason", "status"],
    ..SNAKE
};

const EVENTS: &[(&str, EventKind)] = &[
    ("preToolUse", EventKind::BeforeTool),
    ("postToolUse", EventKind::AfterTool),
    ("postToolUseFailure", EventKind::AfterTool),
    ("sessionStart", EventKind::SessionStart),
    ("beforeSubmitPrompt", EventKind::BeforeAgent),
    ("stop", EventKind::AfterAgent),
    ("sessionEnd", EventKind::SessionEnd),
];

fn answer(_: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    match answer {
        HookAnswer::Ask(reason) | HookAnswer::Deny(reason) => {
            Some(json!({"permission": "deny", "user_message": reason, "agent_message": reason}))
        }
        HookAnswer::Stop(reason) => Some(json!({"continue": false, "user_message": reason})),
        HookAnswer::Allow { args, .. } => args.map(|args| json!({"permission": "allow", "updated_input": args})),
        HookAnswer::Tell(told) | HookAnswer::Withhold(told) => (!told.is_empty()).then(|| json!({"additional_context": told})),
    }
}

/// Longer text is dropped.
fn limit(kind: EventKind) -> Option<Limit> {
    matches!(kind, EventKind::AfterTool | EventKind::SessionStart).then_some(Limit::Utf16(10_000))
}

fn ending(event: &str, payload: &Map<String, Value>) -> CallEnding {
    if event == "postToolUseFailure" {
        return payload::failed_ending(payload.get("error_message").or_else(|| payload.get("error")));
    }
    match payload.get("error") {
        Some(error) if !error.is_null() => payload::failed_ending(Some(error)),
        _ => CallEnding::Done,
    }
}

fn canary(root: &str, file: &str) -> Value {
    json!({"conversation_id": "tollgate-doctor", "generation_id": "canary", "hook_event_name": "preToolUse",
           "workspace_roots": [root], "cwd": root, "tool_name": "Write",
           "tool_input": {"file_path": file, "content": "canary"}, "tool_use_id": "canary"})
}

static TOOLS: &[Tool] = &[
    Tool { names: &["Write"], act: Writes, args: &[("path", Path), ("file_path", Path), ("contents", Text), ("content", Text)] },
    Tool {
        names: &["Edit", "StrReplace", "MultiEdit", "search_replace"],
        act: Writes,
        args: &[
            ("path", Path),
            ("file_path", Path),
            ("old_string", Text),
            ("new_string", Text),
            ("replace_all", Flag),
            ("edits", List),
        ],
    },
    Tool {
        names: &["edit_file", "reapply"],
        act: Writes,
        args: &[("target_file", Path), ("instructions", Text), ("code_edit", Text)],
    },
    Tool {
        names: &["EditNotebook", "edit_notebook"],
        act: Writes,
        args: &[
            ("target_notebook", Path),
            ("cell_idx", Number),
            ("is_new_cell", Flag),
            ("cell_language", Text),
            ("old_string", Text),
            ("new_string", Text),
        ],
    },
    Tool {
        names: &["GenerateImage"],
        act: Writes,
        args: &[("filename", Path), ("description", Text), ("reference_image_paths", List)],
    },
    Tool { names: &["ApplyPatch"], act: Patches, args: &[("patch", Patch), ("input", Patch)] },
    Tool {
        names: &["Delete", "delete_file"],
        act: Deletes,
        args: &[("path", Path), ("target_file", Path), ("explanation", Text)],
    },
    Tool {
        names: &["Shell"],
        act: Shell,
        args: &[
            ("command", Command),
            ("working_directory", Folder),
            ("timeout", Number),
            ("block_until_ms", Number),
            ("description", Text),
            ("is_background", Flag),
            ("required_permissions", List),
        ],
    },
    Tool {
        names: &["run_terminal_cmd", "run_terminal_command"],
        act: Shell,
        args: &[
            ("command", Command),
            ("is_background", Flag),
            ("require_user_approval", Flag),
            ("required_permissions", List),
            ("explanation", Text),
        ],
    },
    Tool {
        names: &[
            "Read",
            "Grep",
            "Glob",
            "LS",
            "SemanticSearch",
            "ReadLints",
            "read_file",
            "list_dir",
            "grep_search",
            "file_search",
            "codebase_search",
            "glob_file_search",
            "read_lints",
        ],
        act: Reads,
        args: &[
            ("path", Path),
            ("paths", Path),
            ("file_path", Path),
            ("target_file", Path),
            ("target_directory", Path),
            ("target_directories", Path),
            ("relative_workspace_path", Path),
            ("pattern", Text),
            ("glob_pattern", Text),
            ("glob", Text),
            ("query", Text),
            ("output_mode", Text),
            ("include_pattern", Text),
            ("exclude_pattern", Text),
            ("ignore_globs", List),
            ("explanation", Text),
            ("-A", Number),
            ("-B", Number),
            ("-C", Number),
            ("-i", Flag),
        ],
    },
    Tool {
        names: &[
            "Task",
            "TodoWrite",
            "WebSearch",
            "WebFetch",
            "web_search",
            "todo_write",
            "fetch_rules",
            "create_diagram",
            "AskQuestion",
            "SwitchMode",
            "CreatePlan",
            "Await",
            "ListMcpResources",
        ],
        act: Inert,
        args: &[("target_mode_id", Text), ("shell_id", Text), ("attachments", List), ("file_attachments", List)],
    },
    Tool { names: &["FetchMcpResource"], act: Reads, args: &[("server", Text), ("uri", Text), ("downloadPath", WrittenPath)] },
    Tool {
        names: &["CallMcpTool"],
        act: CallsServer,
        args: &[("server", Server), ("toolName", ServerTool), ("arguments", ServerArguments), ("description", Text)],
    },
];
