//! What is added to a prompt: the intent once, and what is known about the concepts that the prompt names.

use crate::project::{INTENTS, Project};
use serde_json::{Value, json};
use tollgate_guest::augment::{LookupAnswer, LookupFinding};
use tollgate_guest::ports::{FileFault, LogLevel};

const LIMIT: usize = 16_000;

impl Project {
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
    let mut project = Project::new();
    assert!(project.gives_context("s", false));
    assert!(!project.gives_context("s", false));
    assert!(project.gives_context("t", false), "every session");
    assert!(!project.gives_context("t", false));
    assert!(project.gives_context("s", true), "after a compaction");
    assert!(!project.gives_context("s", false));
    // What the session itself does is no news to it.
    project.run(("s", "c"), "echo x > src/auth/a.ts");
    project.world.write("src/auth/more.ts", "x");
    assert!(!project.gives_context("s", false));
}

#[test]
fn a_change_is_told() {
    type Step = fn(&mut Project);
    let cases: &[(&str, Step)] = &[
        ("another intent", |project| drop(project.ask(json!({"op": "select-intent", "session": "s", "intent": "PAY"})))),
        ("a wider scope", |project| project.intents("docs/auth.md]", "docs/**]")),
        ("a status", |project| project.intents("Login, status: IN_PROGRESS", "Login, status: BLOCKED")),
        ("a constraint", |project| project.intents("docs/auth.md]}", "docs/auth.md], constraints: [keep it small]}")),
    ];
    for (case, change) in cases {
        let mut project = Project::new();
        assert!(project.gives_context("s", false), "{case}");
        change(&mut project);
        assert!(project.gives_context("s", false), "{case}");
        assert!(!project.gives_context("s", false), "{case}");
    }
    let mut project = Project::new();
    assert!(project.gives_context("s", false));
    project.intents("Payments", "Paying");
    assert!(!project.gives_context("s", false), "somebody else's intent");
}

#[test]
fn without_an_intent_nothing_is_told() {
    let mut project = Project::new();
    assert!(!project.gives_context("nobody", false) && !project.gives_context("nobody", true));
    assert!(project.gives_context("s", false));
    project.ask(json!({"op": "clear-intent", "session": "s"}));
    assert!(!project.gives_context("s", false));
    project.ask(json!({"op": "select-intent", "session": "s", "intent": "LOGIN"}));
    assert!(project.gives_context("s", false), "it comes back to it");
}

#[test]
fn what_had_no_room_has_not_been_told() {
    let mut project = Project::new();
    assert_eq!(project.gate.context_if_new("s", 10, false), "");
    assert!(project.gives_context("s", false));
    // Nor does an intent count as told if that could not be recorded.
    let mut project = Project::new();
    project.world.refuse_writes(Some(FileFault::Full));
    assert!(project.gives_context("s", false) && project.gives_context("s", false));
    assert_eq!(project.warned("the intent is sent again"), 2);
}

#[test]
fn concepts_in_a_prompt_are_looked_up() {
    let mut project = Project::new();
    project.world.write(".tollgate/concepts/Rate limits.md", "Five logins a minute.\n");
    let asked = "Please add [[Rate limits]] to the login, see [[Rate limits]] and [[ -f x ]].";
    let plan = project.gate.plan_lookups_for_text("s", asked);
    assert_eq!((plan.concepts, plan.lookups.len(), plan.skipped), (vec!["Rate limits".to_owned()], 0, None));
    let text = project.gate.augment_text("s", asked, &[]).unwrap();
    assert!(text.contains("Five logins a minute.") && text.contains("[[Rate limits]]"), "{text}");
    assert!(project.world.logged().iter().any(|(level, line)| *level == LogLevel::Info && line.contains("`prompt` names")));
    for prompt in ["nothing here", "", "[[Nobody knows]]"] {
        assert_eq!(project.gate.augment_text("s", prompt, &[]), None, "{prompt}");
    }
    // What was told before is not part of what the person asks.
    assert_eq!(project.gate.augment_text("s", &text, &[]), None);
}

#[test]
fn sources_outside_the_gate_are_asked_too() {
    let mut project = Project::new();
    let sources = json!([{"name": "mine", "function": true}]);
    project.world.write(".tollgate/config.json", json!({"augment": {"sources": sources}}).to_string());
    let plan = project.gate.plan_lookups_for_text("s", "What is [[OAuth]]?");
    assert_eq!(plan.lookups.len(), 1, "{plan:?} {:?}", project.world.logged());
    let lookup = &plan.lookups[0];
    assert_eq!((&*lookup.concept, &*lookup.source), ("OAuth", "mine"));
    let [concept, source] = ["OAuth", "mine"].map(str::to_owned);
    let finding = LookupFinding { concept, source, answer: LookupAnswer::Text("A protocol.".to_owned()) };
    let text = project.gate.augment_text("s", "What is [[OAuth]]?", &[finding]).unwrap();
    assert!(text.contains("A protocol."), "{text}");
}

#[test]
fn the_same_as_lines() {
    let mut project = Project::new();
    project.world.write(".tollgate/concepts/JWT.md", "A token.\n");
    let told = project.ask(json!({"op": "context", "session": "s", "if_new": true}));
    assert!(told["text"].as_str().unwrap().contains("Intent: LOGIN"), "{told}");
    let ask = |project: &mut Project, again: bool| {
        project.ask(json!({"op": "context", "session": "s", "if_new": true, "again": again}))
    };
    assert_eq!(ask(&mut project, false), json!({"text": ""}));
    assert_eq!(ask(&mut project, true), told);
    let plan = project.ask(json!({"op": "plan-lookups", "session": "s", "prompt": "[[JWT]]"}));
    assert_eq!((&plan["concepts"], &plan["skipped"]), (&json!(["JWT"]), &Value::Null));
    let text = project.ask(json!({"op": "augment", "session": "s", "prompt": "[[JWT]]"}));
    assert!(text["text"].as_str().unwrap().contains("A token."), "{text}");
    assert_eq!(project.ask(json!({"op": "augment", "session": "s", "prompt": "none"})), json!({"text": null}));
    let fault = project.ask(json!({"op": "augment", "prompt": "x"}));
    assert_eq!(fault["error"]["code"], "missing_field", "{fault}");
    let fault = project.ask(json!({"op": "augment", "session": "s", "prompt": 5}));
    assert_eq!(fault["error"]["code"], "invalid_field", "{fault}");
}
