//! OpenCode 1.18 and Kilo, by the schemas of its tools.

use super::super::super::patch::Dialect;
use super::super::schema::Act::{Inert, Opaque, Patches, Reads, Shell, Writes};
use super::super::schema::Kind::{Command, Flag, Folder, List, Number, Patch, Path, Text};
use super::super::schema::{Program, Tool};

pub(super) const PROGRAM: Program = Program {
    names: &["opencode", "kilo", "kilocode"],
    dialect: Dialect::OpenCode,
    tools: &[
        Tool { names: &["write"], act: Writes, args: &[("filePath", Path), ("content", Text)] },
        Tool {
            names: &["edit"],
            act: Writes,
            args: &[("filePath", Path), ("oldString", Text), ("newString", Text), ("replaceAll", Flag)],
        },
        Tool { names: &["multiedit"], act: Writes, args: &[("filePath", Path), ("edits", List)] },
        Tool { names: &["patch", "apply_patch"], act: Patches, args: &[("patchText", Patch)] },
        Tool {
            names: &["bash", "shell"],
            act: Shell,
            args: &[("command", Command), ("timeout", Number), ("workdir", Folder), ("description", Text)],
        },
        Tool { names: &["read"], act: Reads, args: &[("filePath", Path), ("offset", Number), ("limit", Number)] },
        Tool {
            names: &["glob", "grep", "list", "codesearch"],
            act: Reads,
            args: &[
                ("pattern", Text),
                ("path", Path),
                ("include", Text),
                ("ignore", List),
                ("query", Text),
                ("tokensNum", Number),
            ],
        },
        Tool {
            names: &["lsp", "lsp_hover", "lsp_diagnostics"],
            act: Reads,
            args: &[
                ("operation", Text),
                ("filePath", Path),
                ("path", Path),
                ("file", Path),
                ("line", Number),
                ("character", Number),
                ("query", Text),
            ],
        },
        Tool {
            names: &[
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
                "list_mcp_resources",
                "list_mcp_resource_templates",
                "read_mcp_resource",
            ],
            act: Inert,
            // The slash command from which a task came, which nobody runs.
            args: &[("command", Text)],
        },
        // A script in the program's own interpreter, which may call the tools of MCP servers.
        Tool { names: &["execute"], act: Opaque, args: &[("code", Text)] },
    ],
};
