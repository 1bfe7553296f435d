//! Looking things up for the gate: what [`Tollgate::plan_lookups`](crate::Tollgate::plan_lookups) asks for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bindings::exports::tollgate::hooks::augment::{Answer, Finding, Lookup, Plan};
use crate::mcp::Servers;
use crate::process::{self, Ending, MOST_OUTPUT, Program};

/// What an embedder knows about a concept, as Markdown; nothing where it knows nothing; a text where it failed.
pub type Function = dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync;

/// Calls a tool of an MCP server for the embedder: the server, the tool, its arguments.
pub type McpTool = dyn Fn(&str, &str, &Value) -> Result<Option<String>, String> + Send + Sync;

/// Who can be asked outside the gate: commands, functions of the embedder, MCP servers.
///
/// A server is started when it is first asked, and kept for this and its clones; when the last of them goes, so does the server.
#[derive(Clone)]
pub struct Lookups {
    callers: Callers,
    servers: Arc<Servers>,
}

/// Who is asked in a thread of its own, which may go on when nobody waits for it any more.
#[derive(Clone)]
struct Callers {
    folder: PathBuf,
    functions: HashMap<String, Arc<Function>>,
    mcp: Option<Arc<McpTool>>,
}

impl Lookups {
    /// Commands and MCP servers are run in a folder, usually the workspace.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let callers = Callers { folder: folder.into(), functions: HashMap::new(), mcp: None };
        Self { callers, servers: Arc::default() }
    }

    /// Gives a function under the name of a source that the settings declare with `"function": true`.
    #[must_use]
    pub fn function(
        mut self,
        source: &str,
        function: impl Fn(&str) -> Result<Option<String>, String> + Send + Sync + 'static,
    ) -> Self {
        self.callers.functions.insert(source.to_owned(), Arc::new(function));
        self
    }

    /// Says how a tool of an MCP server is called. Without it, the servers that the user's settings name are started here, and
    /// others are not there.
    #[must_use]
    pub fn mcp(mut self, call: impl Fn(&str, &str, &Value) -> Result<Option<String>, String> + Send + Sync + 'static) -> Self {
        self.callers.mcp = Some(Arc::new(call));
        self
    }

    /// Looks everything up at once, each within its time and all within the plan's. What is late is reported as late.
    pub fn carry_out(&self, plan: &Plan) -> Vec<Finding> {
        let deadline = Instant::now() + Duration::from_millis(plan.total_ms.into());
        let (sender, receiver) = mpsc::channel();
        for (number, lookup) in plan.lookups.iter().enumerate() {
            let (sender, lookup, callers) = (sender.clone(), lookup.clone(), self.callers.clone());
            // A function that never comes back must not keep the servers.
            let servers = Arc::downgrade(&self.servers);
            thread::spawn(move || {
                let most =
                    Duration::from_millis(lookup.timeout_ms.into()).min(deadline.saturating_duration_since(Instant::now()));
                let _ = sender.send((number, callers.ask(&lookup, &servers, most)));
            });
        }
        drop(sender);
        let mut answers = vec![Answer::Late; plan.lookups.len()];
        // A function cannot be stopped, so it is left alone once its time is up.
        while let Ok((number, answer)) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if let Some(place) = answers.get_mut(number) {
                *place = answer;
            }
        }
        let finding = |(lookup, answer): (&Lookup, Answer)| Finding {
            concept: lookup.concept.clone(),
            source: lookup.source.clone(),
            answer,
        };
        plan.lookups.iter().zip(answers).map(finding).collect()
    }
}

impl Callers {
    fn ask(&self, lookup: &Lookup, servers: &Weak<Servers>, most: Duration) -> Answer {
        let request: Value = serde_json::from_slice(&lookup.request).unwrap_or_default();
        if let Some(run) = request.get("run") {
            return command(run, &self.folder, most);
        }
        let known = match (request.get("mcp"), &self.mcp) {
            (Some(asked), Some(call)) => {
                let text = |key: &str| asked.get(key).and_then(Value::as_str).unwrap_or_default();
                Some(call(text("server"), text("tool"), asked.get("arguments").unwrap_or(&Value::Null)))
            }
            (Some(asked), None) => {
                return servers.upgrade().map_or(Answer::Late, |servers| servers.ask(asked, &self.folder, most));
            }
            (None, _) => {
                let function = request.get("function").and_then(|_| self.functions.get(&lookup.source));
                function.map(|function| function(&lookup.concept))
            }
        };
        match known {
            Some(Ok(Some(text))) => Answer::Text(text),
            Some(Ok(None)) => Answer::Unknown,
            Some(Err(why)) => Answer::Failed(why),
            None => Answer::Unavailable,
        }
    }
}

fn command(run: &Value, folder: &Path, most: Duration) -> Answer {
    let words = |key: &str| run.get(key).map(process::words).unwrap_or_default();
    let input = run.get("stdin").and_then(Value::as_str).unwrap_or_default();
    let (argv, inherit) = (words("argv"), words("inherit"));
    let inherit: Vec<&str> = inherit.iter().map(String::as_str).collect();
    let program =
        Program { argv: &argv, input: input.as_bytes(), folder, inherit: &inherit, set: &[], output_bytes: MOST_OUTPUT };
    match process::run(&program, most) {
        Ending::Ended { status, output, .. } if status.success() => Answer::Text(String::from_utf8_lossy(&output).into_owned()),
        Ending::Ended { status, complaint, .. } => {
            let complaint = String::from_utf8_lossy(&complaint);
            let first = complaint.lines().next().unwrap_or_default();
            Answer::Failed(format!("{status}: {}", first.chars().take(200).collect::<String>()))
        }
        Ending::Missing => Answer::Unavailable,
        Ending::Late | Ending::Canceled => Answer::Late,
        Ending::Failed(fault) => Answer::Failed(fault.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(requests: &[(&str, &str)], total_ms: u32) -> Plan {
        let lookup = |(source, request): &(&str, &str)| Lookup {
            concept: "auth".into(),
            source: (*source).into(),
            request: request.as_bytes().into(),
            timeout_ms: 300,
        };
        Plan { concepts: vec!["auth".into()], lookups: requests.iter().map(lookup).collect(), total_ms, skipped: None }
    }

    /// Sources that answer, know nothing, print garbage, fail, hang, or are not there, all at once.
    #[test]
    fn every_source_ends_by_itself() {
        let lookups = Lookups::new("/")
            .function("known", |concept| Ok(Some(format!("about {concept}"))))
            .function("ignorant", |_| Ok(None))
            .mcp(|server, tool, arguments| Ok(Some(format!("{server} {tool} {arguments}"))))
            .function("broken", |_| Err("no network".to_owned()))
            .function("slow", |_| {
                thread::sleep(Duration::from_secs(60));
                Ok(None)
            });
        let start = Instant::now();
        let found = lookups.carry_out(&plan(
            &[
                ("said", r#"{"run":{"argv":["echo","hello"],"stdin":null,"inherit":["PATH"]}}"#),
                ("garbage", r#"{"run":{"argv":["printf","\\377\\000x"],"stdin":null,"inherit":["PATH"]}}"#),
                ("failing", r#"{"run":{"argv":["sh","-c","echo why >&2; exit 3"],"stdin":null,"inherit":["PATH"]}}"#),
                ("hanging", r#"{"run":{"argv":["sleep","60"],"stdin":null,"inherit":["PATH"]}}"#),
                ("absent", r#"{"run":{"argv":["no-such-program-here"],"stdin":null,"inherit":["PATH"]}}"#),
                ("known", r#"{"function":{"name":"known","concept":"auth"}}"#),
                ("ignorant", r#"{"function":{}}"#),
                ("broken", r#"{"function":{}}"#),
                ("slow", r#"{"function":{}}"#),
                ("nobody", r#"{"function":{}}"#),
                ("graph", r#"{"mcp":{"server":"s","tool":"t","arguments":{"name":"auth"}}}"#),
                ("strange", "no JSON"),
            ],
            1_500,
        ));
        assert!(start.elapsed() < Duration::from_secs(30));
        let answers: Vec<Answer> = found.into_iter().map(|finding| finding.answer).collect();
        assert_eq!(
            answers,
            [
                Answer::Text("hello\n".into()),
                Answer::Text("\u{fffd}\0x".into()),
                Answer::Failed("exit status: 3: why".into()),
                Answer::Late,
                Answer::Unavailable,
                Answer::Text("about auth".into()),
                Answer::Unknown,
                Answer::Failed("no network".into()),
                Answer::Late,
                Answer::Unavailable,
                Answer::Text(r#"s t {"name":"auth"}"#.into()),
                Answer::Unavailable,
            ]
        );
    }
}
