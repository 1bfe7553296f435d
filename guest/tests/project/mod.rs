//! A workspace with intents, and sessions that work in it.

#![allow(dead_code)]

use std::rc::Rc;

use serde_json::{Value, json};
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::LogLevel;
use tollgate_guest::ports::memory::Memory;

pub(crate) const INTENTS: &str = "
- {id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', docs/auth.md]}
- {id: PAY, name: Payments, status: IN_PROGRESS, owned_scope: ['src/pay/**']}
";
pub(crate) const SHARED: &str = "
- {id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**', docs/auth.md]}
- {id: ALL, name: Everything, status: IN_PROGRESS, owned_scope: ['**']}
";
/// The error in entries of calls whose end was not reported.
pub(crate) const UNKNOWN: &str = "how the call ended is not known; this is what changed since it was allowed";
pub(crate) const LEDGER: &str = ".orchestration/agent_trace.jsonl";

pub(crate) struct Project {
    pub(crate) world: Rc<Memory>,
    pub(crate) gate: Gate,
    /// The agent program that makes the calls.
    pub(crate) host: Option<&'static str>,
}

impl Project {
    /// A workspace in which calls of unknown effect are allowed, with three sessions.
    pub(crate) fn new() -> Self {
        let paths = ["src/auth/a.ts", "src/auth/b.ts", "src/pay/c.ts", "README.md"];
        let mut files = paths.map(|path| (path, format!("{path}\n"))).to_vec();
        files.push((".tollgate/config.json", r#"{"unknown": "allow"}"#.to_owned()));
        Self::with(INTENTS, &files, &[("s", "LOGIN"), ("t", "LOGIN"), ("p", "PAY")])
    }

    /// A workspace with intents and files, and the sessions that have selected one of the intents.
    pub(crate) fn with(intents: &str, files: &[(&str, impl AsRef<[u8]>)], sessions: &[(&str, &str)]) -> Self {
        let world = Memory::new();
        world.write(".orchestration/active_intents.yaml", intents);
        files.iter().for_each(|(path, content)| world.write(path, content));
        let mut project = Self::over(world);
        for (session, intent) in sessions {
            project.ask(json!({"op": "select-intent", "session": session, "intent": intent}));
        }
        project
    }

    /// A gate over files.
    pub(crate) fn over(world: Rc<Memory>) -> Self {
        Self { gate: Gate::new(world.ports()), world, host: None }
    }

    pub(crate) fn of(host: &'static str) -> Self {
        Self { host: Some(host), ..Self::new() }
    }

    pub(crate) fn ask(&mut self, op: Value) -> Value {
        serde_json::from_str(&perform(&mut self.gate, op.to_string().as_bytes())).unwrap()
    }

    /// One step of a call.
    pub(crate) fn call(&mut self, op: &str, (session, call): (&str, &str), tool: &str, args: Value) -> Value {
        let mut line = json!({"op": op, "session": session, "call": call, "tool": tool, "args": args, "success": true});
        if let Some(host) = self.host {
            line["host"] = host.into();
        }
        self.ask(line)
    }

    /// Before a call.
    pub(crate) fn pre(&mut self, call: (&str, &str), tool: &str, args: Value) -> Value {
        self.call("pre-tool", call, tool, args)
    }

    /// After a call.
    pub(crate) fn post(&mut self, call: (&str, &str), tool: &str, args: Value) -> Value {
        self.call("post-tool", call, tool, args)
    }

    /// A shell command from beginning to end.
    #[track_caller]
    pub(crate) fn run(&mut self, call: (&str, &str), command: &str) -> Value {
        let args = json!({"command": command});
        let ruling = self.pre(call, "bash", args.clone());
        assert_eq!(ruling["verdict"], "allow", "{ruling}");
        self.post(call, "bash", args)
    }

    /// A read of a file by another session; returns what there is to say.
    #[track_caller]
    pub(crate) fn read(&mut self, session: &str) -> String {
        let ruling = self.pre((session, "look"), "read", json!({"filePath": "docs/none.md"}));
        assert_eq!((&ruling["verdict"], &ruling["code"]), (&json!("allow"), &json!("read_only")), "{ruling}");
        ruling["reason"].as_str().unwrap().to_owned()
    }

    /// An event; returns what is said about it.
    pub(crate) fn event(&mut self, event: &str, session: &str) -> String {
        let answer = self.ask(json!({"op": "event", "event": event, "session": session, "data": {}}));
        assert_eq!(answer["continue"], true, "{answer}");
        answer["system_message"].as_str().unwrap_or_default().to_owned()
    }

    /// A new process, as with a hook command: nothing is remembered that is not in a file.
    pub(crate) fn restart(&mut self) {
        self.gate = Gate::new(self.world.ports());
    }

    /// Verifies the whole ledger.
    pub(crate) fn verify(&mut self) -> Value {
        let answer = self.ask(json!({"op": "verify"}));
        self.finish("verify", answer)
    }

    /// Asks for more until the work on the whole ledger is done.
    pub(crate) fn finish(&mut self, op: &str, mut answer: Value) -> Value {
        for _ in 0..1_000 {
            if answer["done"] != false {
                return answer;
            }
            answer = self.ask(json!({"op": op, "more": true}));
        }
        panic!("`{op}` is never done: {answer}");
    }

    /// The content of the ledger, as text.
    pub(crate) fn ledger_text(&self) -> String {
        String::from_utf8(self.world.content(LEDGER).unwrap_or_default()).unwrap()
    }

    /// The entries of the ledger.
    pub(crate) fn entries(&self) -> Vec<Value> {
        self.ledger_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The entries of the ledger, in short: `session path PASS`, and `late` if it is.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let short = |entry: &Value| {
            let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
            let late = if entry.get("late").is_some() { " late" } else { "" };
            format!("{} {} {}{late}", text("/session_id"), text("/file/relative_path"), text("/scope_validation"))
        };
        self.entries().iter().map(short).collect()
    }

    pub(crate) fn warned(&self, text: &str) -> usize {
        self.world.logged().iter().filter(|(level, line)| *level != LogLevel::Debug && line.contains(text)).count()
    }
}

/// The entries that a settled call made, in short: `PASS path`.
pub(crate) fn scopes(settled: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let short = |entry: &Value| format!("{} {}", text(&entry["scope_validation"]), text(&entry["file"]["relative_path"]));
    settled["entries"].as_array().unwrap().iter().map(short).collect()
}

/// A workspace that two sessions share. Calls of unknown effect ask.
pub(crate) fn shared() -> Project {
    let files = [("src/auth/a.ts", "one\n"), ("src/auth/b.ts", "two\n"), ("README.md", "read me\n")];
    Project::with(SHARED, &files, &[("s", "LOGIN"), ("t", "LOGIN")])
}

/// The arguments of a write.
pub(crate) fn write(path: &str) -> Value {
    json!({"filePath": path, "content": "new"})
}

#[track_caller]
pub(crate) fn expect(answer: &Value, verdict: &str, code: &str) {
    assert_eq!((&answer["verdict"], &answer["code"]), (&json!(verdict), &json!(code)), "{answer}");
}

/// What the ledger contains: path, success, error and scope of each entry.
pub(crate) fn entered(project: &Project) -> Vec<(Value, Value, Value, Value)> {
    project
        .entries()
        .iter()
        .map(|entry| {
            let part = |name: &str| entry[name].clone();
            (entry["file"]["relative_path"].clone(), part("success"), part("error"), part("scope_validation"))
        })
        .collect()
}
