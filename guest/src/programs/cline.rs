//! Cline, of which Roo Code is a fork: the tools have the same names but different arguments.

use super::Act::{CallsServer, Inert, Patches, Reads, Shell, Writes};
use super::ArgumentMeaning::{Command, Flag, List, Number, Patch, Path, Server, ServerArguments, ServerTool, Text};
use super::{AgentProgram, Tool};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    names: &["cline"],
    title: "Cline",
    tools: TOOLS,
    processes: &["cline"],
    variables: &["CLINE_ACTIVE"],
    ..AgentProgram::BARE
};

static TOOLS: &[Tool] = &[
    Tool {
        names: &["write_to_file", "new_rule"],
        act: Writes,
        args: &[("path", Path), ("content", Text), ("task_progress", Text)],
    },
    Tool { names: &["replace_in_file"], act: Writes, args: &[("path", Path), ("diff", Text), ("task_progress", Text)] },
    Tool { names: &["apply_patch"], act: Patches, args: &[("input", Patch), ("task_progress", Text)] },
    Tool {
        names: &["execute_command"],
        act: Shell,
        args: &[("command", Command), ("requires_approval", Flag), ("timeout", Number), ("task_progress", Text)],
    },
    Tool {
        names: &["read_file", "list_files", "search_files", "list_code_definition_names"],
        act: Reads,
        args: &[("path", Path), ("recursive", Flag), ("regex", Text), ("file_pattern", Text)],
    },
    // A command may demonstrate the completed task.
    Tool { names: &["attempt_completion"], act: Inert, args: &[("result", Text), ("command", Command), ("task_progress", Text)] },
    Tool {
        names: &[
            "browser_action",
            "ask_followup_question",
            "new_task",
            "access_mcp_resource",
            "plan_mode_respond",
            "load_mcp_documentation",
            "web_fetch",
            "focus_chain",
            "condense",
            "summarize_task",
        ],
        act: Inert,
        args: &[("options", List), ("context", Text)],
    },
    Tool {
        names: &["use_mcp_tool"],
        act: CallsServer,
        args: &[("server_name", Server), ("tool_name", ServerTool), ("arguments", ServerArguments), ("task_progress", Text)],
    },
];
