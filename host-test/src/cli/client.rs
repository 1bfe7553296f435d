//! Asking the gate.

use std::borrow::BorrowMut;

use serde_json::{Value, json};
use tollgate::hooks::Hooks;
use tollgate::{Error, Tollgate};

use super::Stop;

/// Whoever answers a JSON line: the gate, and in tests a script.
pub(crate) trait Gate {
    fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error>;
}

impl Gate for Tollgate {
    fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        self.perform(line)
    }
}

/// The gate, with whatever its hooks take until they have answered.
impl<G: BorrowMut<Tollgate>> Gate for Hooks<G> {
    fn answer(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        self.perform(line)
    }
}

/// One question, one answer.
pub(crate) fn ask(gate: &mut dyn Gate, question: &Value) -> Result<Value, Stop> {
    let answer = gate.answer(question.to_string().as_bytes()).map_err(Stop::fault)?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|_| strange(question))?;
    match answer.get("error") {
        None => Ok(answer),
        Some(error) => {
            let message = text(error, "/message").to_owned();
            Err(Stop::Refused { message, answer })
        }
    }
}

/// Asks until the gate is done: it works through a long ledger piece by piece.
pub(crate) fn ask_until_done(gate: &mut dyn Gate, question: &Value) -> Result<Value, Stop> {
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
            None => return Err(strange(question)),
        }
    }
}

/// An answer that this version of the command does not understand.
pub(crate) fn strange(question: &Value) -> Stop {
    let op = text(question, "/op");
    Stop::Fault(format!("the gate's answer to `{op}` cannot be understood; this is a defect of Tollgate, please report it"))
}

/// A string of an answer; empty where there is none.
pub(crate) fn text<'a>(answer: &'a Value, pointer: &str) -> &'a str {
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A list of an answer; empty where there is none.
pub(crate) fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings in a list of an answer.
pub(crate) fn texts<'a>(answer: &'a Value, name: &str) -> Vec<&'a str> {
    list(answer, name).iter().filter_map(Value::as_str).collect()
}

/// A number of an answer; 0 where there is none.
pub(crate) fn number(answer: &Value, name: &str) -> u64 {
    answer.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Whether a field of an answer is true.
pub(crate) fn is(answer: &Value, name: &str) -> bool {
    answer.get(name).and_then(Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The questions to come, each with its answer.
    pub(crate) struct Script(Vec<(Value, Value)>);

    impl Script {
        pub(crate) fn new(exchanges: impl IntoIterator<Item = (Value, Value)>) -> Self {
            let mut exchanges: Vec<_> = exchanges.into_iter().collect();
            exchanges.reverse();
            Self(exchanges)
        }

        /// Fails where a question was never asked.
        pub(crate) fn end(self) {
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
        gate.end();
    }

    #[test]
    fn an_answer_without_done_does_not_go_on_for_ever() {
        let mut gate = Script::new([(json!({"op": "map"}), json!({"path": "x"}))]);
        let Err(Stop::Fault(why)) = ask_until_done(&mut gate, &json!({"op": "map"})) else { panic!() };
        assert!(why.contains("`map`"), "{why}");
    }

    #[test]
    fn an_error_is_kept_whole() {
        let error = json!({"error": {"code": "unknown_op", "message": "no such op"}});
        let mut gate = Script::new([(json!({"op": "x"}), error.clone())]);
        let Err(Stop::Refused { message, answer }) = ask(&mut gate, &json!({"op": "x"})) else { panic!() };
        assert_eq!((message.as_str(), answer), ("no such op", error));
    }
}
