//! Claude Code 2.1.325: its tools, from the schemas that its package publishes (`sdk-tools.d.ts`) and from those of earlier
//! versions.
//!
//! *Ask* opens its permission dialog; without a terminal it counts as a denial. An explicit *allow* skips that dialog, so it is
//! given in one case only: together with the rewritten prompt of a sub-agent, which Claude Code starts without asking. Its deny
//! and ask rules apply whatever a hook says. In all other cases the arguments stay as they are, and the model is told.

use serde_json::{Value, json};

use super::Act::{Executes, Inert, Opaque, PowerShell, Reads, Shell, Writes};
use super::ArgumentMeaning::{Command, Flag, List, Number, Path, Paths, ReadPath, Text, WrittenPath};
use super::permissions::{self, Permissions, ServerTool};
use super::wiring::{Canary, HooksFormat, SettingsPlace, SettingsReach, SettingsSource, ShellCanary, ShellPrefix, SourceContent};
use super::{AgentProgram, EventKind, HookProtocol, Limit, ProgramEvent, Tool, Wiring, hook_specific, shell_prefix};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["claude-code", "claude"],
    title: "Claude Code",
    tools: TOOLS,
    mcp_prefixes: &["mcp__SERVER__TOOL"],
    permissions: Some(Permissions {
        file: ".claude/settings.json",
        form: permissions::PermissionsFormat::Json(permissions::rules),
    }),
    speech: Some(HookProtocol {
        project_variables: &["CLAUDE_PROJECT_DIR"],
        limit,
        asks: |event| !event.asks_nobody,
        rewrites: |event| event.call.as_ref().is_some_and(|call| UNASKED.contains(&call.tool.as_str())),
        ..HookProtocol::new(hook_specific::EVENTS, read, hook_specific::answer)
    }),
    wiring: Some(Wiring {
        signs: &[SettingsPlace::Workspace(".claude"), own("")],
        commands: &["claude"],
        settings: &[
            SettingsSource {
                place: SettingsPlace::Workspace(".claude/settings.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::StartFolder,
            },
            SettingsSource {
                place: SettingsPlace::Workspace(".claude/settings.local.json"),
                content: SourceContent::Hooks,
                reach: SettingsReach::StartFolder,
            },
            SettingsSource { place: own("settings.json"), content: SourceContent::Hooks, reach: SettingsReach::Everywhere },
        ],
        events: hook_specific::EVENT_NAMES,
        every: Some("*"),
        switches: &[("/disableAllHooks", true)],
        shell_prefix: Some(ShellPrefix {
            variable: shell_prefix::VARIABLE,
            file: SettingsPlace::Workspace(".claude/settings.local.json"),
        }),
        servers: Some(SettingsPlace::Workspace(".mcp.json")),
        ..Wiring::new(
            HooksFormat::Nested,
            Canary::Command { payload: canary, denial: hook_specific::DENIAL, shell: Some(SHELL_CANARY) },
        )
    }),
    controls: &[
        SettingsPlace::Workspace(".claude/settings.json"),
        SettingsPlace::Workspace(".claude/settings.local.json"),
        SettingsPlace::Workspace(".claude/hooks"),
        SettingsPlace::Workspace(".mcp.json"),
        SettingsPlace::Home(".claude/settings.json"),
        SettingsPlace::Home(".claude/settings.local.json"),
        SettingsPlace::Home(".claude/hooks"),
        SettingsPlace::Home(".claude/plugins"),
        SettingsPlace::Home(".claude.json"),
    ],
    processes: &["claude", "claude-code"],
    variables: &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"],
    ..AgentProgram::BARE
};

/// A path in Claude Code's own folder.
const fn own(path: &'static str) -> SettingsPlace {
    SettingsPlace::Own { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", path }
}

/// Tools that it starts without asking anyone.
const UNASKED: [&str; 2] = ["Agent", "Task"];

fn read(payload: Value, named: Option<&str>) -> ProgramEvent {
    // In this mode, a person lets everything run without being asked, so nobody is asked.
    let asks_nobody = payload.get("permission_mode").and_then(Value::as_str) == Some("bypassPermissions");
    let server = payload.pointer("/mcp_server/name").and_then(Value::as_str).map(str::to_owned);
    let mut event = ProgramEvent { asks_nobody, ..hook_specific::read(payload, named) };
    if let Some(call) = &mut event.call {
        call.server = server.and_then(|server| ServerTool::of_server(&server, &call.tool));
    }
    event
}

/// Longer text goes into a file, and the model is told the file's name.
fn limit(kind: EventKind) -> Option<Limit> {
    (!matches!(kind, EventKind::AfterAgent | EventKind::SessionEnd)).then_some(Limit::Utf16(10_000))
}

fn canary(root: &str, file: &str) -> Value {
    hook_specific::canary(root, "PreToolUse", "Write", &json!({"file_path": file, "content": "canary"}))
}

const SHELL_CANARY: ShellCanary = ShellCanary {
    payload: |root, command| hook_specific::canary(root, "PreToolUse", "Bash", &json!({"command": command})),
    rewritten: None,
};

static TOOLS: &[Tool] = &[
    Tool { names: &["Write"], act: Writes, args: &[("file_path", Path), ("content", Text)] },
    Tool {
        names: &["Edit"],
        act: Writes,
        args: &[("file_path", Path), ("old_string", Text), ("new_string", Text), ("replace_all", Flag)],
    },
    Tool { names: &["MultiEdit"], act: Writes, args: &[("file_path", Path), ("edits", List)] },
    Tool {
        names: &["NotebookEdit"],
        act: Writes,
        args: &[
            ("notebook_path", Path),
            ("cell_id", Text),
            ("cell_number", Number),
            ("new_source", Text),
            ("cell_type", Text),
            ("edit_mode", Text),
        ],
    },
    Tool {
        names: &["Bash"],
        act: Shell,
        args: &[
            ("command", Command),
            ("timeout", Number),
            ("description", Text),
            ("run_in_background", Flag),
            ("dangerouslyDisableSandbox", Flag),
        ],
    },
    // Watches the output of a command, or what a server sends.
    Tool {
        names: &["Monitor"],
        act: Inert,
        args: &[("command", Command), ("description", Text), ("timeout_ms", Number), ("persistent", Flag), ("ws", List)],
    },
    Tool {
        names: &["PowerShell"],
        act: PowerShell,
        args: &[("command", Command), ("timeout", Number), ("description", Text), ("run_in_background", Flag)],
    },
    Tool {
        names: &["Read", "NotebookRead"],
        act: Reads,
        args: &[
            ("file_path", Path),
            ("notebook_path", Path),
            ("cell_id", Text),
            ("offset", Number),
            ("limit", Number),
            ("pages", Text),
            ("allow_large", Flag),
        ],
    },
    Tool { names: &["Glob"], act: Reads, args: &[("pattern", Text), ("path", Path)] },
    Tool {
        names: &["Grep"],
        act: Reads,
        args: &[
            ("pattern", Text),
            ("path", Path),
            ("glob", Text),
            ("output_mode", Text),
            ("-B", Number),
            ("-A", Number),
            ("-C", Number),
            ("context", Number),
            ("-n", Flag),
            ("-i", Flag),
            ("-o", Flag),
            ("type", Text),
            ("head_limit", Number),
            ("offset", Number),
            ("multiline", Flag),
        ],
    },
    Tool { names: &["LS"], act: Reads, args: &[("path", Path), ("ignore", List)] },
    Tool {
        names: &["LSP"],
        act: Reads,
        args: &[("operation", Text), ("filePath", Path), ("line", Number), ("character", Number), ("query", Text)],
    },
    // Publishes a file elsewhere, and fetches assets into a folder.
    Tool {
        names: &["Artifact"],
        act: Reads,
        args: &[
            ("file_path", ReadPath),
            ("file_paths", Paths),
            ("out_dir", WrittenPath),
            ("action", Text),
            ("title", Text),
            ("description", Text),
            ("label", Text),
            ("url", Text),
            ("prompt", Text),
            ("favicon", Text),
            ("icon", Text),
            ("scope", Text),
            ("page_token", Text),
            ("asset_id", Text),
            ("after", Text),
            ("contract", Text),
            ("capabilities", List),
        ],
    },
    // A workflow's script starts agents; git creates and removes worktrees.
    Tool {
        names: &["Workflow"],
        act: Executes,
        args: &[
            ("script", Text),
            ("scriptPath", ReadPath),
            ("name", Text),
            ("args", List),
            ("resumeFromRunId", Text),
            ("description", Text),
            ("title", Text),
        ],
    },
    Tool {
        names: &["EnterWorktree", "ExitWorktree"],
        act: Executes,
        args: &[("name", Text), ("path", ReadPath), ("action", Text), ("discard_changes", Flag)],
    },
    // Agents, lists, clocks, questions. The command of a skill is text for the model.
    Tool {
        names: &["Skill", "SlashCommand"],
        act: Inert,
        args: &[("skill", Text), ("command", Text), ("args", Text), ("name", Text)],
    },
    Tool {
        names: &[
            "Task",
            "Agent",
            "TaskCreate",
            "TaskUpdate",
            "TaskGet",
            "TaskList",
            "TaskOutput",
            "TaskStop",
            "TodoRead",
            "TodoWrite",
            "BashOutput",
            "KillShell",
            "KillBash",
            "WebFetch",
            "WebSearch",
            "EnterPlanMode",
            "ExitPlanMode",
            "exit_plan_mode",
            "AskUserQuestion",
            "ToolSearch",
            "SendMessage",
            "TeamCreate",
            "TeamDelete",
            "ListMcpResourcesTool",
            "ReadMcpResourceTool",
            "ReadMcpResourceDirTool",
            "RefreshMcpTools",
            "ReportFindings",
            "ScheduleWakeup",
            "CronCreate",
            "CronDelete",
            "CronList",
            "PushNotification",
            "ReadNotifications",
            "ProposeGoal",
            "ProposeSkills",
            "SendFeedback",
            "ShowOnboardingRolePicker",
            "OfferChromeSetup",
            "EndConversation",
            "FetchInboxMessage",
            "GetTask",
            "ListAgents",
            "ListConnectors",
            "ListPlugins",
            "ListSkills",
            "ObserverReport",
            "Poll",
            "propose_skills",
            "ReadWidgetContext",
            "request_computer",
            "SearchMcpRegistry",
            "SearchPlugins",
            "SearchSkills",
            "SendToProjectContext",
            "SendUserMessage",
            "StructuredOutput",
            "SubagentHandback",
            "SuggestConnectors",
            "SuggestPluginInstall",
            "SuggestSkills",
            "TestingPermission",
            "WaitForMcpServers",
            "WrapUp",
            "Yield",
            "memory_list",
            "self_hosted_runner_get_pool",
            "self_hosted_runner_list_runners",
            "self_hosted_runner_list_secrets",
            "self_hosted_runner_list_sessions",
            "self_hosted_runner_read_health",
            "self_hosted_runner_read_metrics",
            "self_hosted_runner_tail_log",
        ],
        act: Inert,
        args: &[("shell_id", Text), ("bash_id", Text), ("to", Text)],
    },
    // These act on other machines, or on a store of the program's own.
    Tool {
        names: &[
            "RemoteTrigger",
            "Projects",
            "ClaudeDesign",
            "DesignSync",
            "ArtifactCheck",
            "ArtifactComments",
            "ArtifactData",
            "PublishPlugin",
            "SendToProject",
            "ShareOnboardingGuide",
            "memory_write",
            "self_hosted_runner_requeue_session",
            "self_hosted_runner_spawn_local",
        ],
        act: Opaque,
        args: &[],
    },
    // These hand files to the user or to another session.
    Tool { names: &["SendUserFile"], act: Reads, args: &[("files", Paths), ("caption", Text), ("status", Text)] },
    Tool { names: &["SendFile"], act: Opaque, args: &[("files", Paths), ("to", Text)] },
    // Its memory has its own kind of paths.
    Tool { names: &["memory_read"], act: Inert, args: &[("store", Text), ("path", Text)] },
    // Scripts in the program's own interpreter, which may call any other tool.
    Tool { names: &["REPL", "AppifactRepl"], act: Opaque, args: &[("code", Text), ("description", Text)] },
];
