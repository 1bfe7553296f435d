//! Gemini CLI 0.61: its tools, from the declarations in its bundle, with the names of earlier versions.
//!
//! Without a terminal *ask* hangs for ever, and a hook cannot tell whether there is one, so *ask* becomes a denial. Its calls
//! have no id; one is derived from the call. Rewritten arguments are returned without a decision, so Gemini CLI's own policy
//! still decides. The model cannot be told anything before a tool runs, only after.

use serde_json::{Map, Value, json};

use super::Act::{Executes, Inert, Reads, Shell, Writes};
use super::ArgumentMeaning::{Command, Flag, Folder, List, Number, Path, ReadPath, Text, WrittenPath};
use super::payload::{self, SNAKE, Spelling};
use super::permissions::{self, Permissions, ServerTool};
use super::wiring::{
    Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, ShellCanary, SourceContent, Timeout, TrustRule,
};
use super::{AgentProgram, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, ProgramEvent, Tool, Wiring, hook_specific};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["gemini", "gemini-cli"],
    title: "Gemini CLI",
    tools: TOOLS,
    mcp_prefixes: &["mcp_SERVER_TOOL"],
    permissions: Some(Permissions {
        file: ".gemini/settings.json",
        form: permissions::PermissionsFormat::Json(permissions::server_trust),
    }),
    speech: Some(HookProtocol { project_variables: &["GEMINI_PROJECT_DIR"], limit, ..HookProtocol::new(EVENTS, read, answer) }),
    wiring: Some(Wiring {
        signs: &[SettingsPlace::Workspace(".gemini"), SettingsPlace::Home(".gemini")],
        commands: &["gemini"],
        settings: &[
            SettingsSource {
                place: SettingsPlace::Workspace(".gemini/settings.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::StartFolder,
            },
            SettingsSource {
                place: SettingsPlace::Home(".gemini/settings.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::Everywhere,
            },
        ],
        events: &["BeforeTool", "AfterTool", "SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"],
        every: Some(".*"),
        timeout: Timeout::MILLISECONDS,
        switches: &[("/hooksConfig/enabled", false)],
        trust: Some(TrustRule::Folders {
            file: SettingsPlace::Home(".gemini/trustedFolders.json"),
            variable: "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
            setting: "/security/folderTrust/enabled",
            default: true,
            remedy: "trust the folder when Gemini CLI asks at its start",
        }),
        servers: Some(SettingsPlace::Workspace(".gemini/settings.json")),
        ..Wiring::new(
            HooksFormat::Nested,
            Canary::Command { payload: canary, denial: ("/decision", "deny"), shell: Some(SHELL_CANARY) },
        )
    }),
    controls: &[
        SettingsPlace::Workspace(".gemini/settings.json"),
        SettingsPlace::Workspace(".gemini/hooks"),
        SettingsPlace::Workspace(".gemini/extensions"),
        SettingsPlace::Home(".gemini/settings.json"),
        SettingsPlace::Home(".gemini/hooks"),
        SettingsPlace::Home(".gemini/extensions"),
        SettingsPlace::Home(".gemini/trustedFolders.json"),
    ],
    processes: &["gemini", "gemini-cli"],
    variables: &["GEMINI_CLI"],
    ..AgentProgram::BARE
};

const SPELLING: Spelling = Spelling { response: &["prompt_response"], data: &["llm_request", "llm_response"], ..SNAKE };

const EVENTS: &[(&str, EventKind)] = &[
    ("BeforeTool", EventKind::BeforeTool),
    ("AfterTool", EventKind::AfterTool),
    ("SessionStart", EventKind::SessionStart),
    ("BeforeAgent", EventKind::BeforeAgent),
    ("BeforeModel", EventKind::BeforeModel),
    ("AfterModel", EventKind::AfterModel),
    ("BeforeToolSelection", EventKind::BeforeToolSelection),
    ("AfterAgent", EventKind::AfterAgent),
    ("SessionEnd", EventKind::SessionEnd),
];

/// The name of an MCP tool can be split in several ways; a separate field says which server and which tool are meant.
fn read(payload: Value, named: Option<&str>) -> ProgramEvent {
    let context = payload.get("mcp_context").cloned().unwrap_or_default();
    let mut event = payload::read(&SPELLING, EVENTS, payload, named, ending);
    if let Some(call) = &mut event.call {
        let text = |name: &str| context.get(name).and_then(Value::as_str).unwrap_or_default();
        let server = ServerTool::new(text("server_name"), text("tool_name"));
        call.server = server.map(|server| ServerTool { start: permissions::start_of_server(&context), ..server });
    }
    event
}

fn answer(event: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    let specific = |name: &str, value: Value| Some(json!({"hookSpecificOutput": {"hookEventName": event.name, name: value}}));
    match answer {
        HookAnswer::Ask(reason) | HookAnswer::Deny(reason) | HookAnswer::Stop(reason) => {
            Some(json!({"decision": "deny", "reason": reason}))
        }
        HookAnswer::Allow { args, .. } => args.and_then(|args| specific("tool_input", args)),
        // Its form of an answer that keeps a result from the model.
        HookAnswer::Withhold(reason) => Some(json!({"decision": "deny", "reason": reason})),
        HookAnswer::Tell(told) if told.is_empty() => None,
        HookAnswer::Tell(told) => match limit(event.kind()) {
            Some(_) => specific("additionalContext", told.into()),
            None => Some(json!({"systemMessage": told})),
        },
    }
}

fn limit(kind: EventKind) -> Option<Limit> {
    let takes = matches!(kind, EventKind::AfterTool | EventKind::BeforeAgent | EventKind::SessionStart);
    takes.then_some(Limit::Utf16(10_000))
}

fn ending(_: &str, payload: &Map<String, Value>) -> CallEnding {
    match payload.get("tool_response").and_then(|response| response.get("error")) {
        Some(error) if !error.is_null() => payload::failed_ending(Some(error)),
        _ => CallEnding::Done,
    }
}

fn canary(root: &str, file: &str) -> Value {
    hook_specific::canary(root, "BeforeTool", "write_file", &json!({"file_path": file, "content": "canary"}))
}

const SHELL_CANARY: ShellCanary = ShellCanary {
    payload: |root, command| hook_specific::canary(root, "BeforeTool", "run_shell_command", &json!({"command": command})),
    rewritten: Some("/hookSpecificOutput/tool_input/command"),
};

static TOOLS: &[Tool] = &[
    Tool {
        names: &["write_file"],
        act: Writes,
        args: &[
            ("file_path", Path),
            ("content", Text),
            ("modified_by_user", Flag),
            ("ai_proposed_content", Text),
            ("wait_for_previous", Flag),
        ],
    },
    Tool {
        names: &["replace", "edit"],
        act: Writes,
        args: &[
            ("file_path", Path),
            ("instruction", Text),
            ("old_string", Text),
            ("new_string", Text),
            ("expected_replacements", Number),
            ("allow_multiple", Flag),
            ("modified_by_user", Flag),
            ("ai_proposed_string", Text),
            ("ai_proposed_content", Text),
            ("wait_for_previous", Flag),
        ],
    },
    Tool {
        names: &["run_shell_command"],
        act: Shell,
        args: &[
            ("command", Command),
            ("description", Text),
            ("dir_path", Folder),
            ("is_background", Flag),
            ("delay_ms", Number),
            ("additional_permissions", List),
            ("wait_for_previous", Flag),
        ],
    },
    Tool {
        names: &["read_file", "list_directory", "get_internal_docs"],
        act: Reads,
        args: &[
            ("file_path", Path),
            ("absolute_path", Path),
            ("path", Path),
            ("dir_path", Path),
            ("start_line", Number),
            ("end_line", Number),
            ("offset", Number),
            ("limit", Number),
            ("ignore", List),
            ("file_filtering_options", List),
            ("wait_for_previous", Flag),
        ],
    },
    Tool {
        names: &["glob", "search_file_content", "grep_search", "read_many_files"],
        act: Reads,
        args: &[
            ("pattern", Text),
            ("dir_path", Path),
            ("path", Path),
            ("paths", Path),
            ("include", List),
            ("exclude", List),
            ("include_pattern", Text),
            ("exclude_pattern", Text),
            ("names_only", Flag),
            ("case_sensitive", Flag),
            ("fixed_strings", Flag),
            ("context", Number),
            ("before", Number),
            ("after", Number),
            ("no_ignore", Flag),
            ("max_matches_per_file", Number),
            ("total_max_matches", Number),
            ("respect_git_ignore", Flag),
            ("respect_gemini_ignore", Flag),
            ("recursive", Flag),
            ("useDefaultExcludes", Flag),
            ("file_filtering_options", List),
            ("wait_for_previous", Flag),
        ],
    },
    Tool {
        names: &[
            "google_web_search",
            "web_fetch",
            "write_todos",
            "ask_user",
            "activate_skill",
            "delegate_to_agent",
            "invoke_agent",
            "complete_task",
            "codebase_investigator",
            "cli_help",
            "enter_plan_mode",
            "exit_plan_mode",
            "update_topic",
            "tracker_create_task",
            "tracker_update_task",
            "tracker_get_task",
            "tracker_list_tasks",
            "tracker_add_dependency",
            "tracker_visualize",
            "list_mcp_resources",
            "read_mcp_resource",
            "list_background_processes",
            "read_background_output",
            "analyze_screenshot",
            "get_console_message",
            "get_tab_id",
            "list_console_messages",
            "list_network_requests",
            "list_pages",
            "wait_for",
        ],
        act: Inert,
        // A plan is referred to by its name, in the program's own folder.
        args: &[("plan_filename", Text), ("plan_path", Text)],
    },
    // What the browser shows; it may be saved.
    Tool {
        names: &["take_snapshot", "take_screenshot", "take_memory_snapshot", "get_network_request"],
        act: Inert,
        args: &[
            ("filePath", WrittenPath),
            ("requestFilePath", WrittenPath),
            ("responseFilePath", WrittenPath),
            ("verbose", Flag),
            ("format", Text),
            ("quality", Number),
            ("uid", Text),
            ("fullPage", Flag),
            ("reqid", Number),
        ],
    },
    // The effects of actions in the browser, such as a download, are not known.
    Tool {
        names: &[
            "click",
            "click_at",
            "close_page",
            "drag",
            "emulate",
            "evaluate_script",
            "fill",
            "fill_form",
            "handle_dialog",
            "hover",
            "navigate_page",
            "new_page",
            "press_key",
            "resize_page",
            "select_page",
            "type_text",
            "upload_file",
        ],
        act: Executes,
        args: &[
            ("filePath", ReadPath),
            ("url", Text),
            ("function", Text),
            ("args", List),
            ("initScript", Text),
            ("from_uid", Text),
            ("to_uid", Text),
            ("elements", List),
            ("text", Text),
            ("key", Text),
            ("action", Text),
            ("type", Text),
            ("value", Text),
            ("viewport", Text),
        ],
    },
    // Writes to the user's own notes, which belong to the program and not to the work.
    Tool { names: &["save_memory"], act: Executes, args: &[("fact", Text), ("scope", Text)] },
];
