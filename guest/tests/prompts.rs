//! What is added to a prompt: the intent once, and what is known about the concepts that the prompt names.

use crate::house::{House, INTENTS};
use serde_json::{Value, json};
use tollgate_guest::augment::{LookupAnswer, LookupFinding};
use tollgate_guest::ports::{FileFault, LogLevel};

const LIMIT: usize = 16_000;

impl House {
    fn gives_context(&mut self, session: &str, again: bool) -> bool {
        let text = self.gate.context_if_new(session, LIMIT, again);
        assert!(text.is_empty() || text == self.gate.context(session, LIMIT), "{text}");
        self.restart();
        !text.is_empty()
    }

    fn intents(&self, from: &str, to: &str) {
        let changed = INTENTS.replace(from, to);
        assert_ne!(changed, INTENTS);
        self.world.write(".orchestration/active_intents.yaml", changed);
    }
}

#[test]
fn an_intent_is_told_once_in_a_session() {
    let mut house = House::new();
    assert!(house.gives_context("s", false));
    assert!(!house.gives_context("s", false));
    assert!(house.gives_context("t", false), "every session");
    assert!(!house.gives_context("t", false));
    assert!(house.gives_context("s", true), "after a compaction");
    assert!(!house.gives_context("s", false));
    // What the session itself does is no news to it.
    house.run(("s", "c"), "echo x > src/auth/a.ts");
    house.world.write("src/auth/more.ts", "x");
    assert!(!house.gives_context("s", false));
}

#[test]
fn a_change_is_told() {
    type Step = fn(&mut House);
    let cases: &[(&str, Step)] = &[
        ("another intent", |house| drop(house.ask(json!({"op": "select-intent", "session": "s", "intent": "PAY"})))),
        ("a wider scope", |house| house.intents("docs/auth.md]", "docs/**]")),
        ("a status", |house| house.intents("Login, status: IN_PROGRESS", "Login, status: BLOCKED")),
        ("a constraint", |house| house.intents("docs/auth.md]}", "docs/auth.md], constraints: [keep it small]}")),
    ];
    for (case, change) in cases {
        let mut house = House::new();
        assert!(house.gives_context("s", false), "{case}");
        change(&mut house);
        assert!(house.gives_context("s", false), "{case}");
        assert!(!house.gives_context("s", false), "{case}");
    }
    let mut house = House::new();
    assert!(house.gives_context("s", false));
    house.intents("Payments", "Paying");
    assert!(!house.gives_context("s", false), "somebody else's intent");
}

#[test]
fn without_an_intent_nothing_is_told() {
    let mut house = House::new();
    assert!(!house.gives_context("nobody", false) && !house.gives_context("nobody", true));
    assert!(house.gives_context("s", false));
    house.ask(json!({"op": "clear-intent", "session": "s"}));
    assert!(!house.gives_context("s", false));
    house.ask(json!({"op": "select-intent", "session": "s", "intent": "LOGIN"}));
    assert!(house.gives_context("s", false), "it comes back to it");
}

#[test]
fn what_had_no_room_has_not_been_told() {
    let mut house = House::new();
    assert_eq!(house.gate.context_if_new("s", 10, false), "");
    assert!(house.gives_context("s", false));
    // Nor does an intent count as told if that could not be recorded.
    let mut house = House::new();
    house.world.refuse_writes(Some(FileFault::Full));
    assert!(house.gives_context("s", false) && house.gives_context("s", false));
    assert_eq!(house.warned("the intent is sent again"), 2);
}

#[test]
fn concepts_in_a_prompt_are_looked_up() {
    let mut house = House::new();
    house.world.write(".tollgate/concepts/Rate limits.md", "Five logins a minute.\n");
    let asked = "Please add [[Rate limits]] to the login, see [[Rate limits]] and [[ -f x ]].";
    let plan = house.gate.plan_lookups_for_text("s", asked);
    assert_eq!((plan.concepts, plan.lookups.len(), plan.skipped), (vec!["Rate limits".to_owned()], 0, None));
    let text = house.gate.augment_text("s", asked, &[]).unwrap();
    assert!(text.contains("Five logins a minute.") && text.contains("[[Rate limits]]"), "{text}");
    assert!(house.world.logged().iter().any(|(level, line)| *level == LogLevel::Info && line.contains("`prompt` names")));
    for prompt in ["nothing here", "", "[[Nobody knows]]"] {
        assert_eq!(house.gate.augment_text("s", prompt, &[]), None, "{prompt}");
    }
    // What was told before is not part of what the person asks.
    assert_eq!(house.gate.augment_text("s", &text, &[]), None);
}

#[test]
fn sources_outside_the_gate_are_asked_too() {
    let mut house = House::new();
    let sources = json!([{"name": "mine", "function": true}]);
    house.world.write(".tollgate/config.json", json!({"augment": {"sources": sources}}).to_string());
    let plan = house.gate.plan_lookups_for_text("s", "What is [[OAuth]]?");
    assert_eq!(plan.lookups.len(), 1, "{plan:?} {:?}", house.world.logged());
    let lookup = &plan.lookups[0];
    assert_eq!((&*lookup.concept, &*lookup.source), ("OAuth", "mine"));
    let [concept, source] = ["OAuth", "mine"].map(str::to_owned);
    let finding = LookupFinding { concept, source, answer: LookupAnswer::Text("A protocol.".to_owned()) };
    let text = house.gate.augment_text("s", "What is [[OAuth]]?", &[finding]).unwrap();
    assert!(text.contains("A protocol."), "{text}");
}

#[test]
fn the_same_as_lines() {
    let mut house = House::new();
    house.world.write(".tollgate/concepts/JWT.md", "A token.\n");
    let told = house.ask(json!({"op": "context", "session": "s", "if_new": true}));
    assert!(told["text"].as_str().unwrap().contains("Intent: LOGIN"), "{told}");
    let ask =
        |house: &mut House, again: bool| house.ask(json!({"op": "context", "session": "s", "if_new": true, "again": again}));
    assert_eq!(ask(&mut house, false), json!({"text": ""}));
    assert_eq!(ask(&mut house, true), told);
    let plan = house.ask(json!({"op": "plan-lookups", "session": "s", "prompt": "[[JWT]]"}));
    assert_eq!((&plan["concepts"], &plan["skipped"]), (&json!(["JWT"]), &Value::Null));
    let text = house.ask(json!({"op": "augment", "session": "s", "prompt": "[[JWT]]"}));
    assert!(text["text"].as_str().unwrap().contains("A token."), "{text}");
    assert_eq!(house.ask(json!({"op": "augment", "session": "s", "prompt": "none"})), json!({"text": null}));
    let fault = house.ask(json!({"op": "augment", "prompt": "x"}));
    assert_eq!(fault["error"]["code"], "missing_field", "{fault}");
    let fault = house.ask(json!({"op": "augment", "session": "s", "prompt": 5}));
    assert_eq!(fault["error"]["code"], "invalid_field", "{fault}");
}
