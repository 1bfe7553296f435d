//! Checks that source files begin with the licence header: reads every source file that a call created or changed, and reports
//! those without the header.

wit_bindgen::generate!({ path: "../../wit/hook", world: "watcher" });

use exports::tollgate::hook::post_tool::{Call, Failure, Guest, Outcome, Remark};
use serde_json::Value;
use tollgate::hook::types::Operation;
use tollgate::hook::{files, settings};

/// Larger files are not checked: they are hardly written by hand.
const MAX_BYTES: u32 = 256 << 10;

struct LicenceHeader;

impl Guest for LicenceHeader {
    fn settle(call: Call, outcome: Outcome) -> Result<Option<Remark>, Failure> {
        if !matches!(outcome, Outcome::Done(_)) {
            return Ok(None);
        }
        let settings: Value = serde_json::from_str(&settings::get()).map_err(|why| Failure::Settings(why.to_string()))?;
        let header = settings["header"].as_str().unwrap_or("SPDX-License-Identifier:");
        let endings: Vec<&str> = match settings["endings"].as_array() {
            Some(endings) => endings.iter().filter_map(Value::as_str).collect(),
            None => vec![".rs", ".ts", ".js", ".py", ".go"],
        };
        let is_changed = |operation| matches!(operation, Operation::Create | Operation::Modify);
        let mut missing: Vec<&str> = call
            .effects
            .iter()
            .filter(|effect| is_changed(effect.operation) && endings.iter().any(|ending| effect.path.ends_with(ending)))
            .map(|effect| effect.path.as_str())
            // A file that is not granted, no longer exists, or is not text cannot be checked.
            .filter(|path| files::read_text(path, MAX_BYTES).is_ok_and(|text| !has_header(&text, header)))
            .collect();
        missing.dedup();
        if missing.is_empty() {
            return Ok(None);
        }
        let text = format!("the licence header is missing in {}; put `{header}` into the first lines", missing.join(", "));
        Ok(Some(Remark { code: "no_header".into(), text, withhold: false }))
    }
}

fn has_header(text: &str, header: &str) -> bool {
    text.lines().take(5).any(|line| line.contains(header))
}

export!(LicenceHeader);
