//! The operation that finds the workspace of a command.
//!
//! | op | answer |
//! | --- | --- |
//! | `find-workspace` `{cwd, home?}` | `{"workspace":…}`: the one that a command in a folder is for; null if there is none, and then `why` |

use serde_json::{Map, Value, json};

use super::{OperationFault, check_fields};
use crate::exchange::workspace_search;
use crate::gate::Gate;
use crate::ports::{FileKind, Question};

/// Answers the op above.
pub(super) fn answer(gate: &Gate, op: &str, fields: &Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields(op, &["cwd"], fields)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let here = text("cwd").unwrap_or_default();
    if !workspace_search::is_absolute(here) {
        return Err(OperationFault::InvalidField { op: op.to_owned(), field: "cwd", expected: "an absolute path" });
    }
    let look = |path: &str| {
        let facts = gate.ports().workspace.inspect(&[Question::project(path)]).into_iter().next()?;
        facts.real_path.filter(|_| !matches!(facts.kind, FileKind::Missing | FileKind::Unreadable))
    };
    Ok(match workspace_search::for_command(here, text("home"), &look) {
        Ok(workspace) => json!({"workspace": workspace}),
        Err(why) => json!({"workspace": null, "why": why}),
    })
}
