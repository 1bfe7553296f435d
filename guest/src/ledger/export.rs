//! Exports entries as Agent Trace 0.1 records.
//!
//! That format has files, conversations and line ranges. It has no place for intents and for hashes before a change, so those go
//! into its field for a vendor's own data; the chain is left out.

use serde_json::{Value, json};

use super::entry::Entry;

/// The name under which our own data is.
const VENDOR: &str = "dev.tollgate";

/// One entry as a record; `None` for an entry that changed no file.
pub fn agent_trace(entry: &Entry) -> Option<Value> {
    let file = entry.file.as_ref()?;
    let range = |range: &super::line_ranges::LineRange| json!({"start_line": range.start, "end_line": range.end});
    let conversation = json!({
        "contributor": {"type": "ai"},
        "ranges": file.line_ranges.iter().map(range).collect::<Vec<_>>(),
    });
    let mut entry_without_chain = json!({
        "intent_id": entry.intent_id,
        "session_id": entry.session_id,
        "agent": entry.agent,
        "tool_name": entry.tool_name,
        "mutation_class": entry.mutation_class,
        "pre_hash": file.pre_hash,
        "post_hash": file.post_hash,
        "scope_validation": entry.scope_validation,
        "success": entry.success,
        "error": entry.error,
    });
    if let Some(fields) = entry_without_chain.as_object_mut() {
        fields.extend(entry.host.as_ref().map(|host| ("host".to_owned(), json!(host))));
        fields.extend(entry.late.as_ref().map(|late| ("late".to_owned(), json!(late))));
    }
    Some(json!({
        "version": "0.1",
        "id": entry.id,
        "timestamp": entry.timestamp,
        "files": [{"path": file.relative_path, "conversations": [conversation]}],
        "metadata": {VENDOR: entry_without_chain},
    }))
}
