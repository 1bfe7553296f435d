//! Cursor, by its documentation of hooks and the tools that its agent is known to have.

use super::super::super::patch::Dialect;
use super::super::schema::Act::{CallsServer, Deletes, Inert, Patches, Reads, Shell, Writes};
use super::super::schema::Kind::{
    Command, Flag, Folder, List, Number, Patch, Path, Server, ServerArguments, ServerTool, Text, WrittenPath,
};
use super::super::schema::{Program, Tool};

pub(super) const PROGRAM: Program = Program {
    names: &["cursor"],
    dialect: Dialect::Any,
    tools: &[
        Tool {
            names: &["Write"],
            act: Writes,
            args: &[("path", Path), ("file_path", Path), ("contents", Text), ("content", Text)],
        },
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
        Tool {
            names: &["FetchMcpResource"],
            act: Reads,
            args: &[("server", Text), ("uri", Text), ("downloadPath", WrittenPath)],
        },
        Tool {
            names: &["CallMcpTool"],
            act: CallsServer,
            args: &[("server", Server), ("toolName", ServerTool), ("arguments", ServerArguments), ("description", Text)],
        },
    ],
};
