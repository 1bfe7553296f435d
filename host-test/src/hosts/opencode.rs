//! OpenCode 1.18, for a plugin in another language: its hooks are functions, and this is one call of them as JSON.
//!
//! In: `{"hook", "input", "output"}` as the function gets them, and `directory` as the plugin got it. Out: `{"throw": message}`
//! for what the function should throw, else `{"output": …}` with the fields to set in `output`, in place. There is no *ask*, so
//! it becomes a block. OpenCode looks at its own permissions when the tool runs, whatever its arguments are by then.

use serde_json::{Map, Value, json};

use super::fields::{self, first};
use super::{Answer, Call, Event, Host, Limit, Moment};

pub(super) struct OpenCode;

const MOMENTS: &[(&str, Moment)] = &[
    ("tool.execute.before", Moment::BeforeTool),
    ("tool.execute.after", Moment::AfterTool),
    ("chat.message", Moment::BeforeAgent),
    ("experimental.chat.system.transform", Moment::Prompt),
    ("session.created", Moment::SessionStart),
    ("session.idle", Moment::AfterAgent),
    ("session.deleted", Moment::SessionEnd),
];

impl Host for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn moments(&self) -> &'static [(&'static str, Moment)] {
        MOMENTS
    }

    fn read(&self, payload: Value, named: Option<&str>) -> Event {
        let Value::Object(mut fields) = payload else {
            return Event { fault: Some("the payload is no JSON object".to_owned()), ..Event::default() };
        };
        let take = |fields: &mut Map<String, Value>, name: &str| fields.remove(name).unwrap_or_default();
        let (mut input, mut output) = (take(&mut fields, "input"), take(&mut fields, "output"));
        let hook = named.or_else(|| first(&fields, &["hook"])).unwrap_or_default();
        // What happened is told by one hook for everything.
        let happened = (hook == "event").then(|| input.pointer("/event/type").and_then(Value::as_str)).flatten();
        let properties = input.pointer("/event/properties").cloned().unwrap_or_default();
        let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mut event = Event {
            session: text(&input, "/sessionID").or_else(|| text(&properties, "/sessionID")).unwrap_or_default(),
            parent: text(&properties, "/info/parentID"),
            cwd: first(&fields, &["directory", "worktree"]).map(str::to_owned),
            ..Event::default()
        };
        match fields::moment(MOMENTS, happened.unwrap_or(hook)) {
            Some((name, moment)) => (event.name, event.moment) = (name, Some(moment)),
            None if hook.is_empty() => event.fault = Some("the payload has no `hook`".to_owned()),
            None => return event,
        }
        if event.session.is_empty() && event.moment != Some(Moment::Prompt) {
            event.fault.get_or_insert_with(|| "the payload has no `input.sessionID`".to_owned());
        }
        if matches!(event.moment, Some(Moment::BeforeTool | Moment::AfterTool)) {
            let args = if event.moment == Some(Moment::BeforeTool) { output.get_mut("args") } else { input.get_mut("args") };
            let args = args.map(Value::take).unwrap_or_default();
            match text(&input, "/tool") {
                Some(tool) => {
                    let id = text(&input, "/callID").unwrap_or_else(|| fields::derived(&event.session, &tool, &args));
                    event.call = Some(Call { id, tool, args, outcome: fields::done() });
                }
                None => drop(event.fault.get_or_insert_with(|| "the payload has no `input.tool`".to_owned())),
            }
        }
        event.rest = output;
        event
    }

    fn answer(&self, event: &Event, answer: Answer) -> Option<Value> {
        match answer {
            Answer::Ask(reason) | Answer::Deny(reason) | Answer::Stop(reason) => Some(json!({"throw": reason})),
            Answer::Allow { args, .. } => args.map(|args| json!({"output": {"args": args}})),
            Answer::Tell(told) if told.is_empty() => None,
            Answer::Tell(told) => match event.moment() {
                Moment::AfterTool => Some(json!({"output": beside_result(&event.rest, &told)})),
                Moment::Prompt => {
                    let mut system = event.rest.get("system").and_then(Value::as_array).cloned().unwrap_or_default();
                    system.push(told.into());
                    Some(json!({"output": {"system": system}}))
                }
                _ => None,
            },
        }
    }

    fn limit(&self, moment: Moment) -> Option<Limit> {
        matches!(moment, Moment::AfterTool | Moment::Prompt).then_some(Limit::Utf16(16_000))
    }

    fn asks(&self, _: &Event) -> bool {
        false
    }

    fn rewrites(&self, _: &Event) -> bool {
        true
    }

    fn silence(&self) -> &'static str {
        "{}"
    }
}

/// A tool's result with something said behind it: a text of OpenCode's own tools, a list of pieces of a server's.
fn beside_result(result: &Value, told: &str) -> Value {
    if let Some(pieces) = result.get("content").and_then(Value::as_array) {
        let mut pieces = pieces.clone();
        pieces.push(json!({"type": "text", "text": told}));
        return json!({"content": pieces});
    }
    let said = result.get("output").and_then(Value::as_str).unwrap_or_default();
    json!({"output": if said.is_empty() { told.to_owned() } else { format!("{said}\n\n{told}") }})
}
