//! The ledger, page by page from its end: one answer of the gate covers a bounded part of it.

use serde_json::{Map, Value};

use crate::cli::Stop;
use crate::cli::client::{Gate, ask, strange};

/// Where the reading is.
pub(super) struct Pages {
    question: Map<String, Value>,
    before: Option<u64>,
    ended: bool,
}

impl Pages {
    pub(super) fn new(question: Map<String, Value>) -> Self {
        Self { question, before: None, ended: false }
    }

    /// The next older page, with at most so many entries; none once there is nothing older.
    pub(super) fn next(&mut self, gate: &mut dyn Gate, limit: usize) -> Result<Option<Value>, Stop> {
        if self.ended {
            return Ok(None);
        }
        self.question.insert("limit".to_owned(), limit.into());
        if let Some(before) = self.before {
            self.question.insert("before".to_owned(), before.into());
        }
        let question = Value::Object(self.question.clone());
        let answer = ask(gate, &question)?;
        let before = answer.get("before").and_then(Value::as_u64);
        // A place that does not move would be asked for ever.
        if let (Some(now), Some(last)) = (before, self.before)
            && now >= last
        {
            return Err(strange(&question));
        }
        self.ended = before.is_none();
        self.before = before;
        Ok(Some(answer))
    }

    /// Whether something older may be left.
    pub(super) fn before(&self) -> Option<u64> {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::client::tests::Script;

    #[test]
    fn a_place_that_does_not_move_ends_it() {
        let mut gate = Script::new([
            (json!({"op": "trace", "limit": 2}), json!({"entries": [], "before": 7})),
            (json!({"op": "trace", "limit": 2, "before": 7}), json!({"entries": [], "before": 7})),
        ]);
        let mut pages = Pages::new(Map::from_iter([("op".to_owned(), "trace".into())]));
        assert!(pages.next(&mut gate, 2).unwrap().is_some());
        assert!(pages.next(&mut gate, 2).is_err());
        gate.end();
    }
}
