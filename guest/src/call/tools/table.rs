//! What each host's tools do: the one table.

/// What a tool does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Looks at the files it names.
    Reads,
    /// Touches no file, whatever its arguments say.
    Inert,
    /// Gives content to every file it names.
    Writes,
    /// Takes away every file it names.
    Deletes,
    /// Makes every folder it names.
    MakesFolders,
    /// Applies a patch that names its files itself.
    Patches,
    /// Applies a diff to the file it names, or to those that the diff names.
    Diffs,
    /// An editor in one tool, whose `command` says what it does.
    Edits,
    /// Runs a shell command.
    Shell,
    /// Runs a PowerShell command.
    PowerShell,
    /// Writes into a program that runs already.
    Types,
    /// Runs something whose effects cannot be seen.
    Executes,
    /// Passes a call on to an MCP server.
    CallsServer,
}

use Manner::{
    CallsServer, Deletes, Diffs, Edits, Executes, Inert, MakesFolders, Patches, PowerShell, Reads, Shell, Types, Writes,
};

/// A host, the names it goes by, and its tools.
pub(super) struct Host {
    pub(super) names: &'static [&'static str],
    tools: &'static [(Manner, &'static [&'static str])],
}

/// The gate's own tools, the same in every host.
const OWN: &[&str] = &["select_active_intent", "clear_active_intent"];

/// Hosts in the order in which a call without one looks through them.
const HOSTS: &[Host] = &[
    Host {
        names: &["roo", "roo-code", "cline"],
        tools: &[
            (
                Writes,
                &[
                    "write_to_file",
                    "edit",
                    "edit_file",
                    "search_replace",
                    "search_and_replace",
                    "insert_content",
                    "insert_code_block",
                    "replace_in_file",
                    "new_rule",
                    "generate_image",
                ],
            ),
            (Diffs, &["apply_diff"]),
            (Patches, &["apply_patch"]),
            (Shell, &["execute_command"]),
            (
                Reads,
                &[
                    "read_file",
                    "list_files",
                    "search_files",
                    "list_code_definition_names",
                    "codebase_search",
                    "fetch_instructions",
                ],
            ),
            (
                Inert,
                &[
                    "browser_action",
                    "ask_followup_question",
                    "attempt_completion",
                    "new_task",
                    "switch_mode",
                    "update_todo_list",
                    "access_mcp_resource",
                    "run_slash_command",
                    "plan_mode_respond",
                    "read_command_output",
                    "web_fetch",
                ],
            ),
            (CallsServer, &["use_mcp_tool"]),
        ],
    },
    Host {
        names: &["opencode", "kilo", "kilocode"],
        tools: &[
            (Writes, &["write", "edit", "multiedit"]),
            (Patches, &["patch", "apply_patch"]),
            (Shell, &["bash", "shell"]),
            (Reads, &["read", "glob", "grep", "list", "lsp", "lsp_hover", "lsp_diagnostics", "codesearch"]),
            (
                Inert,
                &[
                    "task",
                    "todowrite",
                    "todoread",
                    "webfetch",
                    "websearch",
                    "skill",
                    "question",
                    "invalid",
                    "plan_enter",
                    "plan_exit",
                ],
            ),
        ],
    },
    Host {
        names: &["claude-code", "claude"],
        tools: &[
            (Writes, &["Write", "Edit", "MultiEdit", "NotebookEdit"]),
            (Shell, &["Bash", "Monitor"]),
            (PowerShell, &["PowerShell"]),
            (Reads, &["Read", "NotebookRead", "Glob", "Grep", "LS", "LSP"]),
            (
                Inert,
                &[
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
                    "Skill",
                    "SlashCommand",
                    "AskUserQuestion",
                    "ToolSearch",
                    "SendMessage",
                    "ListMcpResourcesTool",
                    "ReadMcpResourceTool",
                ],
            ),
        ],
    },
    Host {
        names: &["gemini", "gemini-cli"],
        tools: &[
            (Writes, &["write_file", "replace", "edit"]),
            (Shell, &["run_shell_command"]),
            (
                Reads,
                &[
                    "read_file",
                    "read_many_files",
                    "list_directory",
                    "glob",
                    "search_file_content",
                    "grep_search",
                    "get_internal_docs",
                ],
            ),
            (
                Inert,
                &[
                    "google_web_search",
                    "web_fetch",
                    "write_todos",
                    "ask_user",
                    "activate_skill",
                    "delegate_to_agent",
                    "codebase_investigator",
                    "enter_plan_mode",
                    "exit_plan_mode",
                ],
            ),
            // It writes into the user's own notes, for the host and not for the work.
            (Executes, &["save_memory"]),
        ],
    },
    Host {
        names: &["codex"],
        tools: &[
            (Patches, &["apply_patch"]),
            (Shell, &["Bash", "shell", "local_shell", "shell_command", "exec_command", "container.exec", "unified_exec"]),
            (Types, &["write_stdin"]),
            (Reads, &["view_image", "read_file", "list_dir", "grep_files"]),
            (
                Inert,
                &[
                    "update_plan",
                    "web_search",
                    "list_mcp_resources",
                    "list_mcp_resource_templates",
                    "read_mcp_resource",
                    "request_user_input",
                    "spawn_agent",
                    "send_input",
                    "wait",
                    "close_agent",
                    "resume_agent",
                    "tool_search",
                    "get_goal",
                ],
            ),
        ],
    },
    Host {
        names: &["cursor"],
        tools: &[
            (
                Writes,
                &[
                    "Write",
                    "Edit",
                    "StrReplace",
                    "MultiEdit",
                    "EditNotebook",
                    "edit_file",
                    "search_replace",
                    "reapply",
                    "edit_notebook",
                ],
            ),
            (Deletes, &["Delete", "delete_file"]),
            (Shell, &["Shell", "run_terminal_cmd", "run_terminal_command"]),
            (
                Reads,
                &[
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
            ),
            (
                Inert,
                &[
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
                ],
            ),
        ],
    },
    Host {
        names: &["copilot", "copilot-cli", "github-copilot", "vscode"],
        tools: &[
            (
                Writes,
                &[
                    "edit",
                    "create",
                    "create_file",
                    "insert_edit_into_file",
                    "replace_string_in_file",
                    "multi_replace_string_in_file",
                    "edit_notebook_file",
                ],
            ),
            (Edits, &["str_replace_editor", "str_replace_based_edit_tool"]),
            (MakesFolders, &["create_directory"]),
            (Patches, &["apply_patch"]),
            (Shell, &["bash", "run_in_terminal", "create_and_run_task"]),
            (PowerShell, &["powershell"]),
            (Types, &["write_bash", "write_powershell", "send_to_terminal"]),
            (Executes, &["run_task", "runTests", "run_tests", "run_notebook_cell"]),
            (
                Reads,
                &[
                    "view",
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
                    "view_image",
                ],
            ),
            (
                Inert,
                &[
                    "report_intent",
                    "ask_user",
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
                    "fetch",
                    "fetch_webpage",
                    "web_fetch",
                    "web_search",
                    "github_repo",
                    "runSubagent",
                    "skill",
                    "task",
                    "think",
                ],
            ),
        ],
    },
];

/// What a tool does: by its exact name in its own host, then in any host, then the same without case.
pub(super) fn manner(host: Option<&str>, tool: &str) -> Option<Manner> {
    if OWN.contains(&tool) {
        return Some(Manner::Inert);
    }
    let own =
        || HOSTS.iter().filter(|known| host.is_some_and(|host| known.names.iter().any(|name| name.eq_ignore_ascii_case(host))));
    let exact = |name: &str| name == tool;
    let loosely = |name: &str| name.eq_ignore_ascii_case(tool);
    find(own(), exact)
        .or_else(|| find(own(), loosely))
        .or_else(|| find(HOSTS.iter(), exact))
        .or_else(|| find(HOSTS.iter(), loosely))
}

fn find<'a>(mut hosts: impl Iterator<Item = &'a Host>, fits: impl Fn(&str) -> bool) -> Option<Manner> {
    hosts.find_map(|host| host.tools.iter().find(|(_, names)| names.iter().any(|name| fits(name))).map(|(manner, _)| *manner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (host, tool, expected) in [
            (None, "write_to_file", Some(Writes)),
            (None, "WRITE_TO_FILE", Some(Writes)),
            (Some("opencode"), "apply_patch", Some(Patches)),
            (Some("claude-code"), "write_to_file", Some(Writes)),
            (Some("Claude-Code"), "bash", Some(Shell)),
            (Some("somebody"), "Bash", Some(Shell)),
            (Some("roo"), "select_active_intent", Some(Inert)),
            (None, "launch", None),
        ] {
            assert_eq!(manner(host, tool), expected, "{host:?} {tool}");
        }
    }

    /// A call without a host takes the first host that knows the name, so hosts may not disagree about one.
    #[test]
    fn no_two_hosts_disagree() {
        for host in HOSTS {
            for (manner, names) in host.tools {
                for name in *names {
                    assert_eq!(super::manner(None, name), Some(*manner), "{name} of {:?}", host.names);
                }
            }
        }
    }
}
