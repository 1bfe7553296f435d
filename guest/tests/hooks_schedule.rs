//! A thousand random schedules of hooks under a virtual clock: no limit is ever exceeded, every run ends exactly once, no event
//! is lost, and nothing goes on forever.

use std::collections::HashMap;

use crate::dice::{Dice, check};
use crate::virtual_host::Project;
use serde_json::{Value, json};

const SAVE: &str = "onDidSaveTextDocument";

struct Schedule<'d> {
    project: Project,
    dice: &'d mut Dice,
    hooks: Vec<Value>,
    slots: usize,
    /// Events that each hook has to answer.
    owed: HashMap<String, u64>,
    asked: Vec<u64>,
}

impl<'d> Schedule<'d> {
    fn new(dice: &'d mut Dice) -> Self {
        let hooks: Vec<Value> = (0..1 + dice.below(5))
            .map(|at| {
                json!({
                    "id": format!("h{at}"),
                    "trigger": if dice.below(2) == 0 { SAVE } else { "before_tool" },
                    "command": ["x"],
                    "concurrency": 1 + dice.below(3),
                    "timeoutMs": 1_000 + dice.below(2_000),
                    "debounceMs": ([0, 0, 50, 700][dice.below(4)]),
                    "retry": {"count": dice.below(3), "backoffMs": dice.below(400), "jitter": dice.below(2) == 1},
                })
            })
            .collect();
        let project = Project::with_user_hooks(&hooks);
        let slots = 1 + dice.below(5);
        let settings = json!({"hooks": {
            "concurrency": slots,
            "queue": 1 + dice.below(12),
            "when_full": if dice.below(2) == 0 { "refuse" } else { "drop_oldest" },
        }});
        project.world.write(".tollgate/config.json", settings.to_string());
        Self { project, dice, hooks, slots, owed: HashMap::new(), asked: Vec::new() }
    }

    fn ids(&self, trigger: &str) -> Vec<String> {
        let waits = |hook: &&Value| hook["trigger"] == trigger;
        self.hooks.iter().filter(waits).map(|hook| hook["id"].as_str().unwrap().to_owned()).collect()
    }

    fn save(&mut self) {
        let file = format!("f{}", self.dice.below(4));
        self.project.notify(SAVE, json!({"file": file}));
        for id in self.ids(SAVE) {
            *self.owed.entry(id).or_default() += 1;
        }
    }

    fn tool(&mut self) {
        let ids = self.ids("before_tool");
        if !ids.is_empty() {
            self.asked.push(self.project.ask("before_tool", json!({})));
            for id in ids {
                *self.owed.entry(id).or_default() += 1;
            }
        }
    }

    fn outcome(&mut self) -> Value {
        match self.dice.below(5) {
            0 | 1 => json!({"exit": 0, "stdout": "{}"}),
            2 => json!({"exit": 0, "stdout": "{\"continue\": false}"}),
            3 => json!({"failed": "no"}),
            _ => json!({"exit": 1, "stderr": "no"}),
        }
    }

    /// The host reports some of the runs that have ended, in any order. What it was told to end, it ends before anything else.
    fn report(&mut self, at_most: usize) {
        let cancelled = self.project.cancelled();
        for run in self.project.runs() {
            if cancelled.contains(&run["id"].as_u64().unwrap()) {
                self.project.done(&run, json!({"canceled": true}));
            }
        }
        for _ in 0..at_most {
            let runs = self.project.runs();
            if runs.is_empty() {
                return;
            }
            let run = &runs[self.dice.below(runs.len())];
            let outcome = self.outcome();
            self.project.done(run, outcome);
            // A host that reports an end twice changes nothing.
            if self.dice.once_in(5) {
                let outcome = self.outcome();
                self.project.done(run, outcome);
            }
        }
    }

    fn check_limits(&self) {
        let runs = self.project.runs();
        assert!(runs.len() <= self.slots, "{} of {} slots", runs.len(), self.slots);
        for hook in &self.hooks {
            let own = runs.iter().filter(|run| run["hook"] == hook["id"]).count() as u64;
            assert!(own <= hook["concurrency"].as_u64().unwrap(), "{hook}: {own} at the same time");
        }
    }

    fn play(mut self) {
        for _ in 0..60 {
            match self.dice.below(10) {
                0..=3 => self.save(),
                4..=5 => self.tool(),
                6..=7 => {
                    let some = self.dice.below(4);
                    self.report(some);
                }
                8 => {
                    let runs = self.project.runs();
                    if !runs.is_empty() {
                        let run = runs[self.dice.below(runs.len())]["run"].clone();
                        self.project.input(json!({"type": "cancel", "run": run}));
                        self.report(0);
                    }
                }
                _ => {
                    let millis = self.dice.below(900) as u64;
                    self.project.pass(millis);
                    self.report(0);
                }
            }
            self.check_limits();
        }
        let drain = !self.dice.once_in(4);
        self.project.input(json!({"type": "shutdown", "drain": drain}));
        let mut rounds = 0;
        while !self.project.is_stopped() {
            rounds += 1;
            assert!(rounds < 2_000, "it goes on for ever");
            self.report(2);
            self.check_limits();
            self.project.pass(100);
        }
        self.check_the_end();
    }

    fn check_the_end(self) {
        let records = self.project.records();
        let mut endings: HashMap<&str, u64> = HashMap::new();
        let mut answered: HashMap<&str, u64> = HashMap::new();
        for record in &records {
            let id = record["id"].as_str().unwrap();
            let count = endings.entry(id).or_default();
            assert_eq!(*count, 0, "{id} goes on after its end: {record}");
            if record.get("ended").is_some() {
                *count += 1;
                *answered.entry(record["hook"].as_str().unwrap()).or_default() += record["events"].as_u64().unwrap_or(1);
                let status = record["status"].as_str().unwrap();
                assert!(["success", "failed", "timeout", "canceled", "skipped"].contains(&status), "{record}");
            }
        }
        assert!(endings.values().all(|count| *count == 1), "a run never ended");
        for (id, owed) in &self.owed {
            assert_eq!(answered.get(id.as_str()), Some(owed), "events of {id} were lost, or answered twice");
        }
        for number in self.asked {
            self.project.answer(number);
        }
        assert_eq!(self.project.deadline, None);
    }
}

#[test]
fn a_thousand_schedules() {
    check(1, 1_000, 800, |dice| Schedule::new(dice).play());
}
