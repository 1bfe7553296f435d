//! GitHub Copilot: the command line and the agent in VS Code, which runs the same hook files. Taken from their documentation and
//! the extension's manifest.
//!
//! The command line's own payloads do not name their event, so `tollgate init` writes `--event`; without it, the event is
//! recognised by the payload's fields. VS Code and events in Claude Code's spelling do name it, and expect Claude Code's answers.
//! Rewritten arguments are returned without a decision, so Copilot's own permissions still decide. The model can be told
//! something only after a tool.

use serde_json::{Map, Value, json};

use super::Act::{Edits, Executes, Inert, MakesFolders, Opaque, Patches, PowerShell, Reads, Shell, Types, Writes};
use super::ArgumentMeaning::{Command, Flag, Function, List, Number, Patch, Path, Paths, Text, Typed};
use super::payload::{self, Spelling};
use super::wiring::{Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, ShellCanary, SourceContent, TrustRule};
use super::{
    AgentProgram, ArgumentMeaning, CallEnding, EventKind, HookAnswer, HookProtocol, Limit, ProgramEvent, Tool, Wiring,
    hook_specific,
};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["copilot", "copilot-cli", "github-copilot", "vscode"],
    title: "Copilot",
    tools: TOOLS,
    mcp_prefixes: &["SERVER-TOOL", "mcp_SERVER_TOOL"],
    speech: Some(HookProtocol {
        limit: |kind| (kind == EventKind::AfterTool).then_some(Limit::Bytes(10_000)),
        asks: |_| true,
        // VS Code accepts rewritten arguments only with an explicit *allow*, which skips its own question.
        rewrites: |event| !is_claude_codes(event.name),
        person: None,
        ..HookProtocol::new(EVENTS, read, answer)
    }),
    wiring: Some(Wiring {
        signs: &[SettingsPlace::Workspace(".github/hooks"), SettingsPlace::Workspace(".github/copilot-instructions.md"), own("")],
        commands: &["copilot"],
        settings: &[
            SettingsSource {
                place: SettingsPlace::Workspace(".github/hooks/tollgate.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::Project,
            },
            SettingsSource {
                place: SettingsPlace::Workspace(".github/hooks"),
                content: SourceContent::HookFiles,
                reach: SettingsReach::Project,
            },
            SettingsSource { place: own("hooks"), content: SourceContent::HookFiles, reach: SettingsReach::Everywhere },
        ],
        events: &["preToolUse", "postToolUse", "sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd"],
        trust: Some(TrustRule::FolderList {
            file: own("config.json"),
            remedy: "trust it when Copilot asks at its start, or add it to `trustedFolders` in ~/.copilot/config.json",
        }),
        keeps_shell: true,
        checks_paths: true,
        note: Some("for Tollgate's tools, add the MCP server `tollgate mcp-serve` with `/mcp add`"),
        ..Wiring::new(
            HooksFormat::Shells,
            Canary::Command { payload: canary, denial: ("/permissionDecision", "deny"), shell: Some(SHELL_CANARY) },
        )
    }),
    controls: &[
        SettingsPlace::Workspace(".github/hooks"),
        SettingsPlace::Home(".copilot/hooks"),
        SettingsPlace::Home(".copilot/config.json"),
    ],
    processes: &["copilot"],
    variables: &["COPILOT_CLI"],
    ..AgentProgram::BARE
};

/// A path in Copilot's own folder.
const fn own(path: &'static str) -> SettingsPlace {
    SettingsPlace::Own { variable: "COPILOT_HOME", folder: ".copilot", path }
}

const SPELLING: Spelling = Spelling {
    event: &["hook_event_name", "hookEventName"],
    session: &["sessionId", "session_id"],
    agent: &["agentId", "agent_id"],
    parent: &["parentSessionId", "parent_session_id"],
    cwd: &["cwd"],
    roots: &["workspaceRoots", "workspace_roots"],
    tool: &["toolName", "tool_name"],
    args: &["toolArgs", "tool_input"],
    call: &["toolUseId", "toolCallId", "tool_use_id"],
    result: &["toolResult", "tool_result", "tool_response"],
    prompt: &["prompt"],
    response: &["last_assistant_message"],
    source: &["source"],
    reason: &["reason", "stopReason", "stop_reason"],
    data: &["initialPrompt"],
};

const EVENTS: &[(&str, EventKind)] = &[
    ("preToolUse", EventKind::BeforeTool),
    ("postToolUse", EventKind::AfterTool),
    ("postToolUseFailure", EventKind::AfterTool),
    ("sessionStart", EventKind::SessionStart),
    ("userPromptSubmitted", EventKind::BeforeAgent),
    ("agentStop", EventKind::AfterAgent),
    ("sessionEnd", EventKind::SessionEnd),
    // The same in Claude Code's spelling.
    ("PreToolUse", EventKind::BeforeTool),
    ("PostToolUse", EventKind::AfterTool),
    ("PostToolUseFailure", EventKind::AfterTool),
    ("SessionStart", EventKind::SessionStart),
    ("UserPromptSubmit", EventKind::BeforeAgent),
    ("Stop", EventKind::AfterAgent),
    ("SessionEnd", EventKind::SessionEnd),
];

fn read(payload: Value, named: Option<&str>) -> ProgramEvent {
    // A payload that names its event expects an answer under that name.
    let own = payload.as_object().and_then(|fields| payload::first_text(fields, SPELLING.event)).map(str::to_owned);
    let named = own.as_deref().or(named).or_else(|| guess_event(&payload));
    payload::read(&SPELLING, EVENTS, payload, named.map(str::to_owned).as_deref(), ending)
}

fn answer(event: &ProgramEvent, answer: HookAnswer) -> Option<Value> {
    if is_claude_codes(event.name) {
        return hook_specific::answer(event, answer);
    }
    let decided =
        |decision: &str, reason: String| Some(json!({"permissionDecision": decision, "permissionDecisionReason": reason}));
    match answer {
        HookAnswer::Ask(reason) => decided("ask", reason),
        HookAnswer::Deny(reason) => decided("deny", reason),
        HookAnswer::Allow { args, .. } => args.map(|args| json!({"modifiedArgs": args})),
        HookAnswer::Tell(told) | HookAnswer::Withhold(told) => (!told.is_empty()).then(|| json!({"additionalContext": told})),
        // Copilot does not read a hook's answer to a prompt.
        HookAnswer::Stop(_) => None,
    }
}

fn is_claude_codes(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

/// Guesses the event of a payload that does not name it.
fn guess_event(payload: &Value) -> Option<&'static str> {
    let has = |name: &str| payload.get(name).is_some();
    match () {
        () if has("toolName") && has("toolResult") => Some("postToolUse"),
        () if has("toolName") && has("error") => Some("postToolUseFailure"),
        () if has("toolName") || has("toolArgs") => Some("preToolUse"),
        () if has("source") => Some("sessionStart"),
        () if has("prompt") => Some("userPromptSubmitted"),
        () if has("reason") => Some("sessionEnd"),
        () => None,
    }
}

fn ending(event: &str, payload: &Map<String, Value>) -> CallEnding {
    if event.eq_ignore_ascii_case("postToolUseFailure") {
        return payload::failed_ending(payload.get("error"));
    }
    let result = payload.get("toolResult").or_else(|| payload.get("tool_result"));
    let said = |names: &[&str]| names.iter().find_map(|name| result?.get(*name)?.as_str()).unwrap_or_default().to_owned();
    match said(&["resultType", "result_type"]).as_str() {
        "failure" => CallEnding::Failed(said(&["textResultForLlm", "text_result_for_llm"]).chars().take(500).collect()),
        "denied" | "rejected" => CallEnding::Refused("denied in the host".to_owned()),
        _ => CallEnding::Done,
    }
}

fn canary(root: &str, file: &str) -> Value {
    json!({"sessionId": "tollgate-doctor", "timestamp": 0, "cwd": root, "toolName": "create",
           "toolArgs": {"path": file, "file_text": "canary"}})
}

const SHELL_CANARY: ShellCanary = ShellCanary {
    payload: |root, command| json!({"sessionId": "tollgate-doctor", "timestamp": 0, "cwd": root, "toolName": "bash", "toolArgs": {"command": command}}),
    rewritten: Some("/modifiedArgs/command"),
};

/// The arguments of a command in one of the command line's own shell sessions.
const SESSION: &[(&str, ArgumentMeaning)] = &[
    ("command", Command),
    ("description", Text),
    ("sessionId", Text),
    ("shellId", Text),
    ("mode", Text),
    ("initial_wait", Number),
    ("timeout", Number),
    ("async", Flag),
    ("detach", Flag),
];

static TOOLS: &[Tool] = &[
    Tool {
        names: &["edit", "create"],
        act: Writes,
        args: &[("path", Path), ("old_str", Text), ("new_str", Text), ("file_text", Text)],
    },
    Tool { names: &["create_file"], act: Writes, args: &[("filePath", Path), ("content", Text)] },
    Tool { names: &["insert_edit_into_file"], act: Writes, args: &[("explanation", Text), ("filePath", Path), ("code", Text)] },
    Tool {
        names: &["replace_string_in_file"],
        act: Writes,
        args: &[("explanation", Text), ("filePath", Path), ("oldString", Text), ("newString", Text)],
    },
    Tool { names: &["multi_replace_string_in_file"], act: Writes, args: &[("explanation", Text), ("replacements", Paths)] },
    Tool {
        names: &["edit_notebook_file"],
        act: Writes,
        args: &[
            ("explanation", Text),
            ("filePath", Path),
            ("cellId", Text),
            ("newCode", List),
            ("language", Text),
            ("editType", Text),
        ],
    },
    Tool {
        names: &["str_replace_editor", "str_replace_based_edit_tool"],
        act: Edits,
        args: &[
            ("command", Function),
            ("path", Path),
            ("old_path", Path),
            ("new_path", Path),
            ("file_text", Text),
            ("old_str", Text),
            ("new_str", Text),
            ("insert_line", Number),
            ("insert_text", Text),
            ("view_range", List),
        ],
    },
    Tool { names: &["create_directory"], act: MakesFolders, args: &[("dirPath", Path)] },
    Tool { names: &["apply_patch"], act: Patches, args: &[("input", Patch), ("explanation", Text)] },
    Tool { names: &["bash"], act: Shell, args: SESSION },
    Tool { names: &["powershell"], act: PowerShell, args: SESSION },
    Tool {
        names: &["run_in_terminal"],
        act: Shell,
        args: &[
            ("command", Command),
            ("explanation", Text),
            ("goal", Text),
            ("isBackground", Flag),
            ("mode", Text),
            ("timeout", Number),
        ],
    },
    Tool {
        names: &["write_bash", "write_powershell", "send_to_terminal"],
        act: Types,
        args: &[("sessionId", Text), ("shellId", Text), ("id", Text), ("input", Typed), ("command", Typed), ("delay", Number)],
    },
    Tool {
        names: &["run_task", "runTests", "run_tests", "run_notebook_cell"],
        act: Executes,
        args: &[
            ("workspaceFolder", Text),
            ("id", Text),
            ("files", List),
            ("testNames", List),
            ("mode", Text),
            ("coverageFiles", List),
            ("filePath", Text),
            ("cellId", Text),
            ("reason", Text),
            ("continueOnError", Flag),
        ],
    },
    // Databases can be told to write files; memories and branch names are not in the workspace.
    Tool { names: &["sql", "session_store_sql", "store_memory", "vote_memory", "rename_branch"], act: Opaque, args: &[] },
    // The task is also saved in the editor's settings.
    Tool { names: &["create_and_run_task"], act: Opaque, args: &[] },
    Tool {
        names: &["run_vscode_command", "install_extension", "create_new_workspace", "create_new_jupyter_notebook"],
        act: Opaque,
        args: &[],
    },
    Tool {
        names: &[
            "view",
            "lsp",
            "read_file",
            "grep",
            "glob",
            "rg",
            "list_dir",
            "file_search",
            "grep_search",
            "semantic_search",
            "get_errors",
            "get_changed_files",
            "list_code_usages",
            "test_search",
            "view_image",
            "view_file_chunked",
            "read_notebook_cell_output",
            "copilot_getNotebookSummary",
        ],
        act: Reads,
        args: &[
            ("path", Path),
            ("paths", Path),
            ("filePath", Path),
            ("filePaths", Paths),
            ("repositoryPath", Path),
            ("query", Text),
            ("pattern", Text),
            ("glob", Text),
            ("output_mode", Text),
            ("type", Text),
            ("includePattern", Text),
            ("isRegexp", Flag),
            ("sourceControlState", List),
            ("symbolName", Text),
            ("view_range", List),
            ("ranges", List),
            ("-A", Number),
            ("-B", Number),
            ("-C", Number),
            ("-i", Flag),
            ("-n", Flag),
        ],
    },
    Tool {
        names: &[
            "report_intent",
            "ask_user",
            "ask_questions",
            "update_todo",
            "manage_todo_list",
            "read_bash",
            "stop_bash",
            "list_bash",
            "read_powershell",
            "stop_powershell",
            "list_powershell",
            "get_terminal_output",
            "terminal_last_command",
            "terminal_selection",
            "get_task_output",
            "get_search_view_results",
            "get_vscode_api",
            "get_project_setup_info",
            "fetch",
            "fetch_webpage",
            "web_fetch",
            "web_search",
            "github_repo",
            "runSubagent",
            "search_subagent",
            "renderMermaidDiagram",
            "skill",
            "task",
            "think",
            "advisor",
            "context_board",
            "exit_plan_mode",
            "fetch_copilot_cli_documentation",
            "list_agents",
            "manage_schedule",
            "read_agent",
            "read_inbox",
            "task_complete",
            "write_agent",
        ],
        act: Inert,
        args: &[("workspaceFolder", Text), ("shellId", Text)],
    },
];
