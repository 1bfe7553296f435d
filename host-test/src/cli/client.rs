//! Sends JSON requests to the gate and reads its answers.

use std::borrow::BorrowMut;

use serde_json::{Value, json};
use tollgate::hooks::Hooks;
use tollgate::{Error, Tollgate};

use super::CommandError;

/// Answers one JSON line: the gate itself, or a script in tests.
pub(crate) trait Gate {
    fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error>;
}

impl Gate for Tollgate {
    fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        self.perform(line)
    }
}

/// The gate together with its hooks, which may take time before they answer.
impl<G: BorrowMut<Tollgate>> Gate for Hooks<G> {
    fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        self.perform(line)
    }
}

/// Sends one request and returns the answer, or the gate's error.
pub(crate) fn ask(gate: &mut dyn Gate, question: &Value) -> Result<Value, CommandError> {
    let answer = gate.answer(question.to_string().as_bytes()).map_err(CommandError::failed)?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|_| unexpected_answer(question))?;
    match answer.get("error") {
        None => Ok(answer),
        Some(error) => {
            let message = text(error, "/message").to_owned();
            Err(CommandError::Refused { message, answer })
        }
    }
}

/// Repeats a request until the gate is done, because it works through a long ledger in pieces.
pub(crate) fn ask_until_done(gate: &mut dyn Gate, question: &Value) -> Result<Value, CommandError> {
    let mut answer = ask(gate, question)?;
    let mut more = json!({"op": question.get("op")});
    if let (Some(more), Some(step)) = (more.as_object_mut(), question.get("step")) {
        more.insert("step".to_owned(), step.clone());
    }
    if let Some(more) = more.as_object_mut() {
        more.insert("more".to_owned(), true.into());
    }
    loop {
        match answer.get("done").and_then(Value::as_bool) {
            Some(true) => return Ok(answer),
            Some(false) => answer = ask(gate, &more)?,
            None => return Err(unexpected_answer(question)),
        }
    }
}

/// The error for an answer that this version of the command cannot interpret.
pub(crate) fn unexpected_answer(question: &Value) -> CommandError {
    let op = text(question, "/op");
    CommandError::Failed(format!("the gate's answer to `{op}` cannot be understood; this is a bug in Tollgate, please report it"))
}

/// The string at a JSON pointer, or an empty string.
pub(crate) fn text<'a>(answer: &'a Value, pointer: &str) -> &'a str {
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The array in a field, or an empty slice.
pub(crate) fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings of the array in a field.
pub(crate) fn texts<'a>(answer: &'a Value, name: &str) -> Vec<&'a str> {
    list(answer, name).iter().filter_map(Value::as_str).collect()
}

/// The number in a field, or 0.
pub(crate) fn number(answer: &Value, name: &str) -> u64 {
    answer.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Whether a field is `true`.
pub(crate) fn flag(answer: &Value, name: &str) -> bool {
    answer.get(name).and_then(Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The expected requests, each with its answer.
    pub(crate) struct Script(Vec<(Value, Value)>);

    impl Script {
        pub(crate) fn new(exchanges: impl IntoIterator<Item = (Value, Value)>) -> Self {
            let mut exchanges: Vec<_> = exchanges.into_iter().collect();
            exchanges.reverse();
            Self(exchanges)
        }

        /// Fails if an expected request was never sent.
        pub(crate) fn assert_finished(self) {
            assert_eq!(self.0, [], "questions that were not asked");
        }
    }

    impl Gate for Script {
        fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
            let question: Value = serde_json::from_slice(line).unwrap();
            let (expected, answer) = self.0.pop().unwrap_or_else(|| panic!("nobody expected {question}"));
            assert_eq!(question, expected);
            Ok(answer.to_string().into_bytes())
        }
    }

    #[test]
    fn a_long_question_is_repeated_until_done() {
        let mut gate = Script::new([
            (json!({"op": "archive", "step": "tie", "x": 1}), json!({"done": false})),
            (json!({"op": "archive", "step": "tie", "more": true}), json!({"done": false})),
            (json!({"op": "archive", "step": "tie", "more": true}), json!({"done": true, "tied": []})),
        ]);
        let answer = ask_until_done(&mut gate, &json!({"op": "archive", "step": "tie", "x": 1})).unwrap();
        assert_eq!(answer, json!({"done": true, "tied": []}));
        gate.assert_finished();
    }

    #[test]
    fn an_answer_without_done_does_not_go_on_for_ever() {
        let mut gate = Script::new([(json!({"op": "map"}), json!({"path": "x"}))]);
        let Err(CommandError::Failed(why)) = ask_until_done(&mut gate, &json!({"op": "map"})) else { panic!() };
        assert!(why.contains("`map`"), "{why}");
    }

    #[test]
    fn an_error_is_kept_whole() {
        let error = json!({"error": {"code": "unknown_op", "message": "no such op"}});
        let mut gate = Script::new([(json!({"op": "x"}), error.clone())]);
        let Err(CommandError::Refused { message, answer }) = ask(&mut gate, &json!({"op": "x"})) else { panic!() };
        assert_eq!((message.as_str(), answer), ("no such op", error));
    }
}
