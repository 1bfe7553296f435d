//! Complete runs: what is looked at, planned, written, found and undone, for every program.

mod doctor;
mod init;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gate::Gate;
use crate::operations::perform;
use crate::ports::memory::Memory;

/// The files on a machine where a host would run.
#[derive(Clone)]
struct Machine {
    files: BTreeMap<String, Value>,
    place: Value,
    receipts: BTreeMap<String, String>,
}

impl Machine {
    fn new() -> Self {
        let place = json!({"workspace": "/w", "start": "/w", "home": "/h"});
        Self { files: BTreeMap::new(), place, receipts: BTreeMap::new() }
    }

    fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.into());
        self
    }

    fn started_in(mut self, folder: &str) -> Self {
        self.place["start"] = folder.into();
        self
    }

    fn in_workspace(mut self, folder: &str) -> Self {
        self.place["workspace"] = folder.into();
        self.place["start"] = folder.into();
        self
    }

    fn text(&self, path: &str) -> &str {
        self.files.get(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{path} is missing: {:?}", self.files.keys()))
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(self.text(path)).unwrap()
    }

    fn json_with_comments(&self, path: &str) -> Value {
        crate::json::document::Document::parse(self.text(path)).unwrap().value()
    }

    fn ask(&self, question: Value) -> Value {
        let world = Memory::new();
        world.write(".orchestration/active_intents.yaml", "[{id: A, name: A, status: PLANNED, owned_scope: [a]}]");
        let answer: Value =
            serde_json::from_str(&perform(&mut Gate::new(world.ports()), question.to_string().as_bytes())).unwrap();
        assert_eq!(answer.get("error"), None, "{question}");
        answer
    }

    /// A question together with what a host sees when told what to look at.
    fn see(&self, mut question: Value) -> Value {
        question["op"] = "wiring".into();
        question["place"] = self.place.clone();
        let mut look = question.clone();
        look["do"] = "files".into();
        let look = self.ask(look);
        let list = |name: &str| look[name].as_array().unwrap().clone();
        let mut files: BTreeMap<&str, Value> = BTreeMap::new();
        let listed = list("files");
        for path in &listed {
            files.insert(path.as_str().unwrap(), self.files.get(path.as_str().unwrap()).cloned().unwrap_or_default());
        }
        for folder in list("folders") {
            let endings = folder["endings"].as_array().unwrap().clone();
            let is_in = |path: &str| path.rsplit_once('/').unwrap().0 == folder["path"];
            let has_ending = |path: &str| endings.iter().any(|ending| path.ends_with(ending.as_str().unwrap()));
            for (path, text) in self.files.iter().filter(|(path, _)| is_in(path) && has_ending(path)) {
                files.insert(path, text.clone());
            }
        }
        let exists = |sign: &Value| {
            let sign = sign.as_str().unwrap();
            self.receipts.contains_key(sign) || self.files.keys().any(|path| crate::wiring::layout::is_within(path, sign))
        };
        let signs: Vec<Value> = list("signs").into_iter().filter(exists).collect();
        question["seen"] = json!({"files": files, "signs": signs, "on_path": ["node"]});
        question
    }

    fn receipts(&self) -> (Value, Vec<String>) {
        let workspace = self.place["workspace"].as_str().unwrap();
        let own = self.receipts.get(workspace).map_or(Value::Null, |text| text.as_str().into());
        (own, self.receipts.iter().filter(|(other, _)| *other != workspace).map(|(_, text)| text.clone()).collect())
    }

    fn carry_out(&mut self, change: &Value) {
        let path = change["path"].as_str().unwrap();
        assert_eq!(self.files.get(path).cloned().unwrap_or_default(), change["before"], "{path}");
        match &change["after"] {
            Value::Null => drop(self.files.remove(path)),
            after => drop(self.files.insert(path.to_owned(), after.clone())),
        }
    }

    fn init(&mut self, mut question: Value) -> Value {
        question["do"] = "plan".into();
        let mut question = self.see(question);
        let (own, others) = self.receipts();
        (question["receipt"], question["others"]) = (own, others.into());
        let plan = self.ask(question);
        plan["changes"].as_array().unwrap().iter().for_each(|change| self.carry_out(change));
        let workspace = self.place["workspace"].as_str().unwrap().to_owned();
        self.receipts.insert(workspace, plan["receipt"].as_str().unwrap().to_owned());
        plan
    }

    fn undo(&mut self) -> Value {
        let (own, others) = self.receipts();
        let question = self.see(json!({"do": "undo", "receipt": own, "others": others}));
        let undo = self.ask(question);
        for step in undo["steps"].as_array().unwrap().iter().filter(|step| !step["change"].is_null()) {
            self.carry_out(&step["change"]);
        }
        self.receipts.remove(self.place["workspace"].as_str().unwrap());
        undo
    }

    /// How a program is judged if all trials have the same outcome.
    fn doctor(&self, host: &str, outcome: Value) -> Value {
        let judged = self.judge(&json!({}), |_| outcome.clone());
        judged["hosts"].as_array().unwrap().iter().find(|found| found["host"] == host).cloned().unwrap_or_default()
    }

    /// The judgement if trials are run like this. `more` is added to every question.
    fn judge(&self, more: &Value, run: impl Fn(&Value) -> Value) -> Value {
        let question = |what: &str, outcomes: &[Value]| {
            let mut question = json!({"do": what, "trial_folder": "/tmp/c", "outcomes": outcomes});
            question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            self.ask(self.see(question))
        };
        let mut outcomes = Vec::new();
        for round in 0.. {
            let examined = question("examine", &outcomes);
            let trials = examined["trials"].as_array().unwrap();
            if trials.is_empty() {
                break;
            }
            assert!(round < 4, "no end: {examined}");
            for trial in trials {
                let mut outcome = run(trial);
                outcome["id"] = trial["id"].clone();
                outcomes.push(outcome);
            }
        }
        question("judge", &outcomes)
    }
}

const DENIED: &str = r#"{"hookSpecificOutput": {"permissionDecision": "deny"}, "decision": "deny", "permission": "deny", "permissionDecision": "deny"}"#;

fn denied() -> Value {
    json!({"stdout": DENIED, "code": 0})
}
