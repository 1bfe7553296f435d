//! Reads the ledger in pages from its end, because one answer of the gate covers a limited part of it.

use serde_json::{Map, Value};

use crate::cli::CommandError;
use crate::cli::client::{Gate, ask, unexpected_answer};

/// The state of reading pages.
pub(super) struct Pages {
    question: Map<String, Value>,
    before: Option<u64>,
    ended: bool,
}

impl Pages {
    pub(super) fn new(question: Map<String, Value>) -> Self {
        Self { question, before: None, ended: false }
    }

    /// The next older page with at most this many entries; `None` if there is nothing older.
    pub(super) fn next(&mut self, gate: &mut dyn Gate, limit: usize) -> Result<Option<Value>, CommandError> {
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
        // A position that does not advance would never end.
        if let (Some(now), Some(last)) = (before, self.before)
            && now >= last
        {
            return Err(unexpected_answer(&question));
        }
        self.ended = before.is_none();
        self.before = before;
        Ok(Some(answer))
    }

    /// The position before which there may be older entries.
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
        gate.assert_finished();
    }
}
