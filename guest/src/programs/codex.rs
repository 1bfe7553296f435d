//! Codex 0.166, from the specifications of its tools. In what hooks see, the names of a namespace and of its tool are joined
//! without a separator: `clock` and `curr_time` become `clockcurr_time`.
//!
//! An unknown field makes the whole answer invalid, and then the tool runs. *Ask* is invalid too, so *ask* becomes a denial; a
//! reason must not be empty. *Allow* counts only together with rewritten arguments and does not answer Codex's own approval
//! questions, so rewriting does not permit anything more.

use serde_json::{Map, Value, json};

use super::Act::{Executes, Inert, Opaque, Patches, Reads, Shell as RunsShell, Types, Writes};
use super::ArgumentMeaning::{
    Command, Flag, Folder, List, Number, Patch, Path, ReadPath, Shell, Text, Typed, Words, WrittenPath,
};
use super::payload::{self, SNAKE};
use super::permissions::{self, Permissions};
use super::wiring::{
    Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, ShellCanary, SourceContent, Timeout, TrustRule,
};
use super::{AgentProgram, CallEnding, EventKind, HookProtocol, Limit, PatchDialect, Tool, Wiring, hook_specific};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["codex"],
    title: "Codex",
    dialect: PatchDialect::Codex,
    tools: TOOLS,
    mcp_prefixes: &["mcp__SERVER__TOOL"],
    permissions: Some(Permissions {
        file: ".codex/config.toml",
        form: permissions::PermissionsFormat::Toml(permissions::approvals),
    }),
    speech: Some(HookProtocol {
        limit,
        ..HookProtocol::new(EVENTS, |payload, named| payload::read(&SNAKE, EVENTS, payload, named, ending), hook_specific::answer)
    }),
    wiring: Some(Wiring {
        signs: &[SettingsPlace::Workspace(".codex"), own("")],
        commands: &["codex"],
        settings: &[
            SettingsSource { place: own("hooks.json"), content: SourceContent::Hooks, reach: SettingsReach::Everywhere },
            SettingsSource {
                place: SettingsPlace::Workspace(".codex/hooks.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::Project,
            },
        ],
        events: &["PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"],
        // Codex limits hooks at the end of a session to three seconds, and warns at every start if more is requested.
        timeout: Timeout { shorter: &[(EventKind::SessionEnd, 3)], ..Timeout::SECONDS },
        trust: Some(TrustRule::Hooks {
            file: own("config.toml"),
            remedy: "open `/hooks` in Codex and trust the hooks of Tollgate",
        }),
        sandboxes: true,
        note: Some(
            "it runs hooks only once you trust them: open `/hooks` in Codex and trust those of Tollgate; \
             for its tools, run `codex mcp add tollgate -- tollgate mcp-serve`",
        ),
        ..Wiring::new(
            HooksFormat::Nested,
            Canary::Command { payload: canary, denial: hook_specific::DENIAL, shell: Some(SHELL_CANARY) },
        )
    }),
    controls: &[SettingsPlace::Workspace(".codex"), SettingsPlace::Home(".codex")],
    processes: &["codex"],
    variables: &["CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
};

const EVENTS: &[(&str, EventKind)] = &[
    ("PreToolUse", EventKind::BeforeTool),
    ("PostToolUse", EventKind::AfterTool),
    ("SessionStart", EventKind::SessionStart),
    ("UserPromptSubmit", EventKind::BeforeAgent),
    ("Stop", EventKind::AfterAgent),
    ("SessionEnd", EventKind::SessionEnd),
];

/// A path in Codex's own folder.
const fn own(path: &'static str) -> SettingsPlace {
    SettingsPlace::Own { variable: "CODEX_HOME", folder: ".codex", path }
}

/// Codex accepts some 2,500 tokens and counts four bytes for each; the rest goes into a file. The limit leaves a fifth of that free.
fn limit(kind: EventKind) -> Option<Limit> {
    (!matches!(kind, EventKind::AfterAgent | EventKind::SessionEnd)).then_some(Limit::Bytes(8_000))
}

/// There is one event for tools that succeeded and tools that failed. A patch reports its result in the first line, a server's
/// tool in a field, a command not at all.
fn ending(_: &str, payload: &Map<String, Value>) -> CallEnding {
    match payload.get("tool_response") {
        Some(Value::String(said)) => match said.strip_prefix("Exit code: ").and_then(|rest| rest.lines().next()) {
            Some(code) if code.trim() != "0" => CallEnding::Failed(said.chars().take(500).collect()),
            _ => CallEnding::Done,
        },
        Some(Value::Object(result)) if result.get("isError") == Some(&Value::Bool(true)) => {
            payload::failed_ending(result.get("content").and_then(|content| content.pointer("/0/text")))
        }
        _ => CallEnding::Done,
    }
}

fn canary(root: &str, _: &str) -> Value {
    let patch = json!({"command": "*** Begin Patch\n*** Add File: canary.txt\n+canary\n*** End Patch\n"});
    hook_specific::canary(root, "PreToolUse", "apply_patch", &patch)
}

const SHELL_CANARY: ShellCanary = ShellCanary {
    payload: |root, command| hook_specific::canary(root, "PreToolUse", "Bash", &json!({"command": command})),
    rewritten: Some("/hookSpecificOutput/updatedInput/command"),
};

static TOOLS: &[Tool] = &[
    // Hooks get `command`; the model sends `input`.
    Tool { names: &["apply_patch"], act: Patches, args: &[("command", Patch), ("input", Patch)] },
    // What hooks get for `exec_command`.
    Tool { names: &["Bash"], act: RunsShell, args: &[("command", Command), ("description", Text)] },
    Tool {
        names: &["exec_command"],
        act: RunsShell,
        args: &[
            ("cmd", Command),
            ("workdir", Folder),
            ("shell", Shell),
            ("login", Flag),
            ("tty", Flag),
            ("yield_time_ms", Number),
            ("max_output_tokens", Number),
            ("environment_id", Text),
            ("sandbox_permissions", Text),
            ("additional_permissions", List),
            ("justification", Text),
            ("prefix_rule", List),
        ],
    },
    Tool {
        names: &["shell_command"],
        act: RunsShell,
        args: &[
            ("command", Command),
            ("workdir", Folder),
            ("login", Flag),
            ("timeout_ms", Number),
            ("sandbox_permissions", Text),
            ("with_escalated_permissions", Flag),
            ("justification", Text),
            ("prefix_rule", List),
        ],
    },
    Tool {
        names: &["shell", "container.exec"],
        act: RunsShell,
        args: &[
            ("command", Words),
            ("workdir", Folder),
            ("timeout_ms", Number),
            ("timeout", Number),
            ("sandbox_permissions", Text),
            ("with_escalated_permissions", Flag),
            ("justification", Text),
            ("prefix_rule", List),
        ],
    },
    Tool {
        names: &["local_shell"],
        act: RunsShell,
        args: &[("type", Text), ("command", Words), ("working_directory", Folder), ("timeout_ms", Number)],
    },
    Tool {
        names: &["write_stdin"],
        act: Types,
        args: &[("session_id", Number), ("chars", Typed), ("yield_time_ms", Number), ("max_output_tokens", Number)],
    },
    Tool {
        names: &["view_image", "read_file", "list_dir", "grep_files"],
        act: Reads,
        args: &[
            ("path", Path),
            ("file_path", Path),
            ("dir_path", Path),
            ("detail", Text),
            ("environment_id", Text),
            ("offset", Number),
            ("limit", Number),
            ("depth", Number),
            ("mode", Text),
            ("indentation", List),
            ("pattern", Text),
            ("include", Text),
        ],
    },
    Tool {
        names: &["spawn_agents_on_csv"],
        act: Writes,
        args: &[
            ("csv_path", ReadPath),
            ("output_csv_path", WrittenPath),
            ("instruction", Text),
            ("id_column", Text),
            ("output_schema", List),
            ("max_concurrency", Number),
            ("max_workers", Number),
            ("max_runtime_seconds", Number),
        ],
    },
    Tool {
        names: &[
            "update_plan",
            "web_search",
            "webrun",
            "list_mcp_resources",
            "list_mcp_resource_templates",
            "read_mcp_resource",
            "request_user_input",
            "request_user_input_async",
            "send_message_to_user_async",
            "send_user_message_async",
            "request_permissions",
            "tool_search",
            "list_available_plugins_to_install",
            "get_context_remaining",
            "new_context",
            "wait_for_environment",
            "test_sync_tool",
            "report_agent_job_result",
            "get_goal",
            "create_goal",
            "update_goal",
            "clockcurr_time",
            "clocksleep",
            "curr_time",
            "image_generation",
            "image_genimagegen",
            "spawn_agent",
            "wait_agent",
            "send_input",
            "wait",
            "close_agent",
            "resume_agent",
            "list_agents",
            "send_message",
            "followup_task",
            "interrupt_agent",
            "multi_agent_v1spawn_agent",
            "multi_agent_v1wait_agent",
            "multi_agent_v1send_input",
            "multi_agent_v1close_agent",
            "multi_agent_v1resume_agent",
            "collaborationspawn_agent",
            "collaborationwait_agent",
            "collaborationlist_agents",
            "collaborationsend_message",
            "collaborationfollowup_task",
            "collaborationinterrupt_agent",
            "collaborationclose_agent",
            "collaborationcreate_channel",
            "collaborationget_channels",
            "collaborationlist_threads",
            "collaborationpost",
            "collaborationread_post",
            "collaborationread_thread",
            "collaborationsearch_posts",
            "collaborationsubscribe",
            "collaborationunsubscribe",
            "mcp__codex_tui__create_thread",
            "mcp__codex_tui__fork_thread",
            "mcp__codex_tui__list_archived_threads",
            "mcp__codex_tui__list_threads",
            "mcp__codex_tui__list_worktrees",
            "mcp__codex_tui__read_thread",
            "mcp__codex_tui__send_message_to_thread",
            "mcp__codex_tui__set_thread_archived",
            "mcp__codex_tui__set_thread_title",
            "mcp__codex_tui__wait_threads",
            "mcp__codex_worktrees__list_worktrees",
        ],
        act: Inert,
        // Agents have their own kind of paths, such as `/root/task`.
        args: &[
            ("target", Text),
            ("targets", List),
            ("target_agent", Text),
            ("path_prefix", Text),
            ("environment_id", Text),
            ("new_channel_name", Text),
            ("agents_to_notify", List),
        ],
    },
    // Notes, memories and skills, with names that look like paths.
    Tool {
        names: &[
            "historylist_windows",
            "historylist_items",
            "historyread_item",
            "historysearch_contents",
            "noteslist_files_by_prefix",
            "notesread_file",
            "notessearch_contents",
            "notesappend_to_file",
            "noteswrite_file",
            "memorieslist",
            "memoriesread",
            "memoriessearch",
            "skillslist",
            "skillsread",
            "skillsinstallations",
        ],
        act: Inert,
        args: &[("path", Text), ("path_prefix", Text), ("content", Text), ("package", Text), ("resource", Text)],
    },
    // Writes to the user's own notes, which belong to the program and not to the work.
    Tool { names: &["memoriesadd_ad_hoc_note"], act: Executes, args: &[] },
    Tool {
        names: &["multi_env_copy_file"],
        act: Writes,
        args: &[
            ("source_environment_id", Text),
            ("source_path", ReadPath),
            ("target_environment_id", Text),
            ("target_path", WrittenPath),
        ],
    },
    // Git creates worktrees.
    Tool {
        names: &["mcp__codex_worktrees__create_worktree", "mcp__codex_tui__create_worktree"],
        act: Executes,
        args: &[("ref", Text), ("allowAsync", Flag)],
    },
    // A script in the program's own interpreter, which may call any other tool.
    Tool { names: &["exec"], act: Opaque, args: &[("input", Text), ("code", Text)] },
    Tool { names: &["request_plugin_install"], act: Opaque, args: &[] },
];
