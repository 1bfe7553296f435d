//! Calls third-party hooks on behalf of another process, with JSON lines: one line per round, and one line with the answers.
//!
//! Input: `{"subject": {"pre_tool": CALL}, "questions": [QUESTION]}`. The subject is one of `augment`, `pre_tool`, `post_tool`
//! (with an `outcome` next to its `call`) and `event`. Output: `{"answers": [{"hook", "reply": {NAME: VALUE}, "took_us",
//! "log"}]}`, or `{"error": …}` if the line is invalid. Names are those of the contract, with `_` instead of `-`.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Components;
use crate::bindings::third_party::exports::tollgate::hooks::components::{
    Advice, Answer, Call, EndedCall, Event, Limits, Line, Objection, Outcome, Question, Reaction, Remark, Reply, Round, Severity,
    Subject,
};
use crate::bindings::tollgate::hooks::types::{Effect, Operation};
use crate::error::Error;
use crate::files::Files;

/// Calls the third-party hooks of one workspace for another process.
pub struct Runner {
    components: Components,
}

impl Runner {
    /// Opens a workspace. The home folder contains the approved components and their native code.
    pub fn open(workspace: &Path, home: &Path) -> Result<Self, Error> {
        let files = Files::open(workspace, Some(home), None)?;
        let mut components = Components::new(Arc::new(files), None);
        // A runner is opened to call hooks, so the engine is needed in any case. If this fails, the first call says why.
        let _ = components.engine();
        Ok(Self { components })
    }

    /// Answers one line.
    pub fn answer(&mut self, line: &str) -> String {
        match HookRound::read(line) {
            Ok(round) => self.call(&round).to_line(),
            Err(why) => json!({"error": why}).to_string(),
        }
    }

    /// Calls the hooks of a round one after the other.
    pub fn call(&mut self, round: &HookRound) -> HookAnswers {
        HookAnswers(self.components.call(&round.0))
    }

    /// Loads a component ahead of its first call, from the native code in the home folder. Fails if it has not been compiled yet,
    /// and starts compiling it.
    pub fn load(&mut self, digest: &str) -> Result<(), String> {
        self.components.load(digest).map(drop)
    }
}

/// A round: the hooks to call about one subject.
pub struct HookRound(Round);

impl HookRound {
    /// Parses a line. The error says what is wrong with it.
    pub fn read(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|why| why.to_string())?;
        parse_round(&value).map(Self).ok_or_else(|| "it is not a round of calls".to_owned())
    }
}

/// The answers of the hooks of a round.
pub struct HookAnswers(Vec<Answer>);

impl HookAnswers {
    /// Formats the answers as a JSON line.
    pub fn to_line(&self) -> String {
        json!({"answers": self.0.iter().map(answer_json).collect::<Vec<Value>>()}).to_string()
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// A string field that may be missing or null.
fn optional_text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn parse_round(value: &Value) -> Option<Round> {
    let (kind, about) = value.get("subject")?.as_object()?.iter().next()?;
    let subject = match kind.as_str() {
        "augment" => Subject::Augment(parse_call(about)?),
        "pre_tool" => Subject::PreTool(parse_call(about)?),
        "post_tool" => {
            let (how, word) = about.get("outcome")?.as_object()?.iter().next()?;
            let outcome = match how.as_str() {
                "done" => Outcome::Done(word.as_str().map(str::to_owned)),
                "failed" => Outcome::Failed(word.as_str()?.to_owned()),
                "refused" => Outcome::Refused(word.as_str()?.to_owned()),
                _ => return None,
            };
            Subject::PostTool(EndedCall { call: parse_call(about.get("call")?)?, outcome })
        }
        "event" => Subject::Event(Event {
            name: text(about, "name")?,
            session: optional_text(about, "session"),
            data: text(about, "data")?,
        }),
        _ => return None,
    };
    let questions = value.get("questions")?.as_array()?.iter().map(parse_question).collect::<Option<_>>()?;
    Some(Round { subject, questions })
}

fn parse_call(value: &Value) -> Option<Call> {
    let effect = |effect: &Value| {
        let operation = match effect.get("operation")?.as_str()? {
            "read" => Operation::Read,
            "create" => Operation::Create,
            "modify" => Operation::Modify,
            "delete" => Operation::Delete,
            "execute" => Operation::Execute,
            _ => return None,
        };
        Some(Effect { path: text(effect, "path")?, operation })
    };
    Some(Call {
        session: text(value, "session")?,
        id: text(value, "id")?,
        tool: text(value, "tool")?,
        args: text(value, "args")?,
        effects: value.get("effects")?.as_array()?.iter().map(effect).collect::<Option<_>>()?,
        complete: value.get("complete")?.as_bool()?,
        facts: text(value, "facts")?,
    })
}

fn parse_question(value: &Value) -> Option<Question> {
    let globs =
        |list: &Value| -> Option<Vec<String>> { list.as_array()?.iter().map(|glob| glob.as_str().map(str::to_owned)).collect() };
    let limits = value.get("limits")?;
    let number = |key: &str| limits.get(key).and_then(Value::as_u64);
    let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
    Some(Question {
        hook: text(value, "hook")?,
        component: text(value, "component")?,
        files: value.get("files")?.as_array()?.iter().map(globs).collect::<Option<_>>()?,
        settings: text(value, "settings")?,
        limits: Limits {
            cpu_ms: small("cpu_ms")?,
            wall_ms: small("wall_ms")?,
            start_ms: small("start_ms")?,
            memory_bytes: number("memory_bytes")?,
            lifted_bytes: number("lifted_bytes")?,
            read_bytes: number("read_bytes")?,
        },
    })
}

fn answer_json(answer: &Answer) -> Value {
    let reply = match &answer.reply {
        Reply::Nothing => json!({"nothing": null}),
        Reply::Advice(Advice { note, args }) => json!({"advice": {"note": note, "args": args}}),
        Reply::Objection(Objection { severity, code, reason }) => {
            let severity = match severity {
                Severity::Ask => "ask",
                Severity::Deny => "deny",
            };
            json!({"objection": {"severity": severity, "code": code, "reason": reason}})
        }
        Reply::Remark(Remark { code, text, withhold }) => json!({"remark": {"code": code, "text": text, "withhold": withhold}}),
        Reply::Reaction(Reaction { stop, message }) => json!({"reaction": {"stop": stop, "message": message}}),
        Reply::UnusableSettings(why) => json!({"unusable_settings": why}),
        Reply::Failed(why) => json!({"failed": why}),
        Reply::Broke(why) => json!({"broke": why}),
        Reply::Late => json!({"late": null}),
        Reply::Absent(why) => json!({"absent": why}),
    };
    let line = |line: &Line| json!({"level": line.level, "text": line.text});
    json!({"hook": answer.hook, "reply": reply, "took_us": answer.took_us, "log": answer.log.iter().map(line).collect::<Vec<_>>()})
}
