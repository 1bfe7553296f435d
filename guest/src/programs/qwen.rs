//! Qwen Code 0.24, a fork of Gemini CLI with hooks in the style of Claude Code, from the code of its package.
//!
//! *Ask* blocks the call like a denial, but with a message that someone has to be asked, so *ask* becomes a denial. Qwen Code
//! does not accept rewritten arguments from a hook. Context given before a tool runs or at the start of a session is not shown to
//! the model.

use serde_json::{Value, json};

use super::Act::{Executes, Inert, Opaque, Reads, Shell, Writes};
use super::ArgumentMeaning::{Command, Flag, Folder, List, Number, Path, ReadPath, Text};
use super::wiring::{Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, SourceContent, Timeout, TrustRule};
use super::{AgentProgram, EventKind, HookProtocol, Limit, Tool, Wiring, hook_specific};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["qwen", "qwen-code"],
    title: "Qwen Code",
    tools: TOOLS,
    mcp_prefixes: &["mcp__SERVER__TOOL"],
    speech: Some(HookProtocol {
        project_variables: &["QWEN_PROJECT_DIR"],
        limit,
        rewrites: |_| false,
        ..HookProtocol::new(hook_specific::EVENTS, hook_specific::read, hook_specific::answer)
    }),
    wiring: Some(Wiring {
        signs: &[SettingsPlace::Workspace(".qwen"), own("")],
        commands: &["qwen"],
        settings: &[
            SettingsSource {
                place: SettingsPlace::Workspace(".qwen/settings.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::StartFolder,
            },
            SettingsSource { place: own("settings.json"), content: SourceContent::Hooks, reach: SettingsReach::Everywhere },
        ],
        events: hook_specific::EVENT_NAMES,
        every: Some(".*"),
        timeout: Timeout::MILLISECONDS,
        switches: &[("/disableAllHooks", true)],
        trust: Some(TrustRule::Folders {
            file: own("trustedFolders.json"),
            variable: "QWEN_CODE_TRUSTED_FOLDERS_PATH",
            setting: "/security/folderTrust/enabled",
            default: false,
            remedy: "trust the folder when Qwen Code asks at its start",
        }),
        servers: Some(SettingsPlace::Workspace(".qwen/settings.json")),
        ..Wiring::new(HooksFormat::Nested, Canary::Command { payload: canary, denial: hook_specific::DENIAL, shell: None })
    }),
    controls: &[
        SettingsPlace::Workspace(".qwen/settings.json"),
        SettingsPlace::Workspace(".qwen/hooks"),
        SettingsPlace::Home(".qwen/settings.json"),
        SettingsPlace::Home(".qwen/hooks"),
        SettingsPlace::Home(".qwen/trustedFolders.json"),
    ],
    processes: &["qwen", "qwen-code"],
    variables: &["QWEN_CODE"],
    ..AgentProgram::BARE
};

/// A path in Qwen Code's own folder.
const fn own(path: &'static str) -> SettingsPlace {
    SettingsPlace::Own { variable: "QWEN_HOME", folder: ".qwen", path }
}

fn limit(kind: EventKind) -> Option<Limit> {
    let takes = matches!(kind, EventKind::AfterTool | EventKind::BeforeAgent | EventKind::SubagentStart);
    takes.then_some(Limit::Utf16(10_000))
}

fn canary(root: &str, file: &str) -> Value {
    hook_specific::canary(root, "PreToolUse", "write_file", &json!({"file_path": file, "content": "canary"}))
}

static TOOLS: &[Tool] = &[
    Tool {
        names: &["write_file"],
        act: Writes,
        args: &[("file_path", Path), ("content", Text), ("modified_by_user", Flag), ("ai_proposed_content", Text)],
    },
    Tool {
        names: &["edit", "replace"],
        act: Writes,
        args: &[
            ("file_path", Path),
            ("old_string", Text),
            ("new_string", Text),
            ("replace_all", Flag),
            ("modified_by_user", Flag),
            ("ai_proposed_content", Text),
        ],
    },
    Tool {
        names: &["run_shell_command"],
        act: Shell,
        args: &[("command", Command), ("description", Text), ("directory", Folder), ("is_background", Flag), ("timeout", Number)],
    },
    // Watches the output of a command.
    Tool {
        names: &["monitor"],
        act: Inert,
        args: &[
            ("command", Command),
            ("description", Text),
            ("directory", Folder),
            ("max_events", Number),
            ("idle_timeout_ms", Number),
        ],
    },
    Tool {
        names: &["read_file"],
        act: Reads,
        args: &[("file_path", Path), ("offset", Number), ("limit", Number), ("pages", Text)],
    },
    Tool {
        names: &["list_directory", "glob", "grep_search", "search_file_content"],
        act: Reads,
        args: &[
            ("path", Path),
            ("pattern", Text),
            ("glob", Text),
            ("limit", Number),
            ("ignore", List),
            ("file_filtering_options", List),
        ],
    },
    Tool {
        names: &["lsp"],
        act: Reads,
        args: &[
            ("operation", Text),
            ("filePath", Path),
            ("line", Number),
            ("character", Number),
            ("endLine", Number),
            ("endCharacter", Number),
            ("query", Text),
            ("limit", Number),
            ("serverName", Text),
            ("callHierarchyItem", List),
        ],
    },
    Tool {
        names: &[
            "agent",
            "task",
            "ask_user_question",
            "cron_create",
            "cron_delete",
            "cron_list",
            "exit_plan_mode",
            "send_message",
            "skill",
            "structured_output",
            "task_stop",
            "todo_write",
            "tool_search",
            "web_fetch",
            "web_search",
            "create_sub_session",
            "enter_plan_mode",
            "get_goal",
            "list_agents",
            "loop_wakeup",
            "propose_goal",
            "read_mcp_resource",
            "report_findings",
            "request_shutdown",
            "task_create",
            "task_list",
            "task_update",
            "team_create",
            "team_delete",
            "team_plan_approval",
            "update_goal",
        ],
        act: Inert,
        args: &[("prompt", Text), ("url", Text), ("plan", Text), ("cron", Text), ("args", Text), ("working_dir", Text)],
    },
    Tool {
        names: &["notebook_edit"],
        act: Writes,
        args: &[("notebook_path", Path), ("cell_id", Text), ("new_source", Text), ("cell_type", Text), ("edit_mode", Text)],
    },
    // Publishes a file elsewhere.
    Tool { names: &["artifact"], act: Reads, args: &[("file_path", Path), ("title", Text)] },
    Tool {
        names: &["zoom_image", "display_image"],
        act: Reads,
        args: &[("file_path", Path), ("x1", Number), ("y1", Number), ("x2", Number), ("y2", Number)],
    },
    // A workflow's script starts agents; git creates and removes worktrees.
    Tool {
        names: &["workflow", "enter_worktree", "exit_worktree"],
        act: Executes,
        args: &[
            ("script", Text),
            ("scriptPath", ReadPath),
            ("name", Text),
            ("args", List),
            ("resumeFromRunId", Text),
            ("action", Text),
            ("discard_changes", Flag),
        ],
    },
    // A script, a forwarded call, and generated media: their effects are not known.
    Tool {
        names: &[
            "exec",
            "tool_call",
            "image_gen",
            "record_artifact",
            "record_source",
            "omni_downsample_image",
            "omni_downscale_video",
            "omni_downsample_audio",
            "omni_extract_keyframes",
            "omni_extract_audio",
            "omni_clip_video",
            "omni_convert_image",
            "omni_transcribe_audio",
            "omni_clip_image",
            "omni_clip_audio",
            "omni_caption_image",
            "omni_caption_audio",
            "omni_ocr_image",
            "omni_understand_video_segments",
            "omni_recall_media_memory",
        ],
        act: Opaque,
        args: &[],
    },
    // Writes to the user's own notes, which belong to the program and not to the work.
    Tool { names: &["save_memory"], act: Executes, args: &[("fact", Text), ("scope", Text)] },
];
