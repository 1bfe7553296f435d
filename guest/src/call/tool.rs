//! What each host's tools do, and where their paths are.

use serde_json::{Map, Value};

use super::CallFault;
use super::effect::{Deed, Footprint};
use super::path::written;

/// What a tool does with the paths in its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Looks at files, or touches none.
    Reads,
    /// Gives content to every file it names.
    Writes,
    /// Chooses an intent; the gate's own tool.
    Selects,
}

/// The one list of tools. A tool that stands here under several hosts does the same in each.
const TOOLS: &[(Manner, &[&str])] = &[
    (
        Manner::Writes,
        &[
            "write_to_file",
            "apply_diff",
            "edit",
            "search_replace",
            "insert_code_block",
            "write",
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "write_file",
            "replace",
            "create",
        ],
    ),
    (
        Manner::Reads,
        &[
            "read_file",
            "list_files",
            "search_files",
            "list_code_definition_names",
            "browser_action",
            "read",
            "Read",
            "glob",
            "Glob",
            "grep",
            "Grep",
            "list",
            "LS",
            "view",
            "todowrite",
            "TodoWrite",
            "webfetch",
            "WebFetch",
        ],
    ),
    (Manner::Selects, &["select_active_intent"]),
];

/// Every argument that may hold the path of a file.
const PATH_ARGUMENTS: &[&str] = &["path", "file_path", "filePath", "notebook_path"];

/// What the call does, by its tool and its arguments.
pub(super) fn footprint(tool: &str, args: &Map<String, Value>, cwd: Option<&str>) -> Result<Footprint, CallFault> {
    let known = TOOLS.iter().find(|(_, names)| names.contains(&tool));
    let deed = match known {
        Some((Manner::Writes, _)) => Deed::Write,
        Some((Manner::Reads, _)) => Deed::Read,
        Some((Manner::Selects, _)) => return Ok(Footprint::default()),
        None => return Ok(Footprint::unknown(format!("what the tool `{tool}` does is not known"))),
    };
    let mut footprint = Footprint::default();
    for name in PATH_ARGUMENTS {
        match args.get(*name) {
            None | Some(Value::Null) => {}
            Some(Value::String(path)) => footprint.touch(written(path, cwd)?, deed),
            Some(_) => return Err(CallFault::Argument { name: (*name).to_owned(), expected: "a string" }),
        }
    }
    if footprint.touches.is_empty() && deed == Deed::Write {
        return Err(CallFault::NoPath { tool: tool.to_owned() });
    }
    Ok(footprint)
}
