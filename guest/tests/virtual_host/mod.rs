//! A host without processes: it records what it is told to do, and its clock moves when a test says so.

#![allow(dead_code)]

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::engine::Input;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;

pub(crate) struct Project {
    pub(crate) world: Rc<Memory>,
    gate: Gate,
    pub(crate) now: u64,
    pub(crate) deadline: Option<u64>,
    commands: Vec<Value>,
    open: Vec<Value>,
}

impl Project {
    pub(crate) fn new() -> Self {
        let world = Memory::new();
        let gate = Gate::new(world.ports());
        Self { world, gate, now: 1_000, deadline: None, commands: Vec::new(), open: Vec::new() }
    }

    /// A project with user hooks, which run without approval.
    pub(crate) fn with_user_hooks(hooks: &[Value]) -> Self {
        let mut project = Self::new();
        project.world.write_home(".tollgate/hooks.json", json!({"hooks": hooks}).to_string());
        project.hello();
        project
    }

    pub(crate) fn hello(&mut self) {
        self.input(json!({"type": "machine", "workspace": "/workspace", "search_path": ["/usr/bin", "/bin"]}));
    }

    pub(crate) fn perform(&mut self, line: &Value) -> Value {
        serde_json::from_str(&perform(&mut self.gate, line.to_string().as_bytes())).unwrap()
    }

    /// Reports an event and starts the hooks that wait for it.
    pub(crate) fn ask(&mut self, event: &str, data: Value) -> u64 {
        let answer = self.perform(&json!({"op": "event", "event": event, "session": "s1", "data": data}));
        let number = answer["waiting"].as_u64().unwrap_or_else(|| panic!("nobody waits for {event}: {answer}"));
        self.step(&[]);
        number
    }

    pub(crate) fn notify(&mut self, event: &str, data: Value) {
        self.input(json!({"type": "event", "event": event, "data": data}));
    }

    pub(crate) fn input(&mut self, input: Value) {
        self.step(&[input]);
    }

    pub(crate) fn step(&mut self, inputs: &[Value]) {
        let inputs: Vec<Input> = inputs.iter().map(Input::from_json).collect();
        let turn = self.gate.step(self.now, &inputs);
        self.deadline = turn.next_deadline_ms;
        for command in turn.commands {
            let mut body = command.order.to_json();
            body["id"] = if body["type"] == "cancel" { body["id"].clone() } else { command.id.into() };
            if matches!(body["type"].as_str(), Some("run" | "prompt")) {
                self.open.push(body.clone());
            }
            self.commands.push(body);
        }
    }

    /// Moves the clock, stepping at every deadline on the way.
    pub(crate) fn pass(&mut self, millis: u64) {
        let end = self.now + millis;
        while let Some(deadline) = self.deadline.filter(|deadline| *deadline <= end) {
            assert!(deadline >= self.now, "a deadline in the past would be stepped for ever");
            self.world.pass(deadline - self.now);
            self.now = deadline;
            self.step(&[]);
            assert!(self.deadline.is_none_or(|next| next > deadline), "a step at its deadline leaves nothing due");
        }
        self.world.pass(end - self.now);
        self.now = end;
    }

    pub(crate) fn done(&mut self, run: &Value, outcome: Value) {
        self.open.retain(|open| open["id"] != run["id"]);
        let mut input = outcome;
        input["type"] = "ended".into();
        input["command"] = run["id"].clone();
        self.input(input);
    }

    /// The runs in progress.
    pub(crate) fn runs(&self) -> Vec<Value> {
        self.open.clone()
    }

    pub(crate) fn only_run(&self) -> Value {
        assert_eq!(self.open.len(), 1, "{:?}", self.open);
        self.open[0].clone()
    }

    fn of_type(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.commands.iter().filter(move |command| command["type"] == kind)
    }

    pub(crate) fn answer(&self, number: u64) -> Value {
        let answers: Vec<&Value> = self.of_type("reply").filter(|answer| answer["number"] == number).collect();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0]["answer"].clone()
    }

    pub(crate) fn cancelled(&self) -> Vec<u64> {
        self.of_type("cancel").map(|cancel| cancel["id"].as_u64().unwrap()).collect()
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.of_type("record").map(|command| command["record"].clone()).collect()
    }

    /// Hook and status of every finished run, in order.
    pub(crate) fn ended(&self) -> Vec<String> {
        let text = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
        let over = |record: &&Value| record.get("ended").is_some();
        self.records().iter().filter(over).map(|record| format!("{} {}", text(record, "hook"), text(record, "status"))).collect()
    }

    pub(crate) fn listening(&self) -> Vec<String> {
        self.of_type("listen").map(|command| command["trigger"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn approvals(&self) -> Vec<Value> {
        self.of_type("approval").cloned().collect()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.of_type("stopped").count() == 1
    }

    pub(crate) fn history(&mut self) -> Vec<Value> {
        self.perform(&json!({"op": "hooks", "do": "history"}))["records"].as_array().unwrap().clone()
    }

    pub(crate) fn log_text(&self) -> String {
        self.world.logged().iter().map(|(_, line)| format!("{line}\n")).collect()
    }

    pub(crate) fn wall_ms(&self) -> u64 {
        self.world.ports().clock.now().0
    }
}
