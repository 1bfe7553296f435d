//! Looks up concepts for the gate: carries out what [`Tollgate::plan_lookups`](crate::Tollgate::plan_lookups) returns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bindings::exports::tollgate::hooks::augment::{Answer, Finding, Lookup, McpTool, Plan, Program as Ordered, Request};
use crate::gate::Tollgate;
use crate::mcp::RequestNumber;
use crate::process::{self, Ending, MAX_OUTPUT, Program};

/// Returns what an embedder knows about a concept as Markdown, `None` if it is unknown, or an error message.
pub type Function = dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync;

/// Calls a tool of an MCP server: the server, the tool and its arguments.
pub type CallMcpTool = dyn Fn(&str, &str, &Value) -> Result<Option<String>, String> + Send + Sync;

/// Sources of information outside the gate: commands, functions of the embedder, MCP servers.
///
/// The gate owns the connections to MCP servers: one is made when it is first needed, and kept as long as the gate is open.
#[derive(Clone)]
pub struct Lookups {
    folder: PathBuf,
    functions: HashMap<String, Arc<Function>>,
    mcp: Option<Arc<CallMcpTool>>,
}

impl Lookups {
    /// Commands run in this folder, usually the workspace.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), functions: HashMap::new(), mcp: None }
    }

    /// Adds a function for a source that the settings declare with `"function": true`.
    #[must_use]
    pub fn function(
        mut self,
        source: &str,
        function: impl Fn(&str) -> Result<Option<String>, String> + Send + Sync + 'static,
    ) -> Self {
        self.functions.insert(source.to_owned(), Arc::new(function));
        self
    }

    /// Sets how tools of MCP servers are called. Default: the gate connects to the servers that are declared.
    #[must_use]
    pub fn mcp(mut self, call: impl Fn(&str, &str, &Value) -> Result<Option<String>, String> + Send + Sync + 'static) -> Self {
        self.mcp = Some(Arc::new(call));
        self
    }

    /// Runs all lookups of a plan in parallel, each within its own time limit and all within the plan's.
    pub(crate) fn run(&self, gate: &mut Tollgate, plan: &Plan) -> Vec<Finding> {
        let deadline = Instant::now() + Duration::from_millis(plan.total_ms.into());
        let (sender, receiver) = mpsc::channel();
        let wake = sender.clone();
        gate.servers().wake_with(move || drop(wake.send(None)));
        for (number, lookup) in plan.lookups.iter().enumerate() {
            let sender = sender.clone();
            self.begin(gate, lookup.clone(), move |answer| drop(sender.send(Some((number, answer)))));
        }
        let mut answers: Vec<Option<Answer>> = vec![None; plan.lookups.len()];
        // A function cannot be stopped, so it is abandoned when its time is up.
        while answers.contains(&None) && Instant::now() < deadline {
            // If the gate fails, the callers that wait for a server have been answered.
            let _ = gate.drive_servers();
            let left = deadline.saturating_duration_since(Instant::now());
            let due = gate.servers().due_in_ms().map_or(left, |due| Duration::from_millis(due).min(left));
            for (number, answer) in receiver.recv_timeout(due).into_iter().chain(receiver.try_iter()).flatten() {
                if let Some(place) = answers.get_mut(number) {
                    *place = Some(answer);
                }
            }
        }
        let finding = |(lookup, answer): (&Lookup, Option<Answer>)| Finding {
            concept: lookup.concept.clone(),
            source: lookup.source.clone(),
            answer: answer.unwrap_or(Answer::Late),
        };
        plan.lookups.iter().zip(answers).map(finding).collect()
    }

    /// Starts a lookup and reports its answer: from its own thread, or from the one that drives the gate's connections. A lookup
    /// that exceeds its time limit is late.
    pub(crate) fn begin(&self, gate: &mut Tollgate, lookup: Lookup, done: impl FnOnce(Answer) + Send + 'static) {
        if let (Request::Mcp(McpTool { server, tool, arguments, .. }), None) = (&lookup.request, &self.mcp) {
            let arguments: Value = serde_json::from_slice(arguments).unwrap_or_default();
            let params = json!({"server": server, "tool": tool, "arguments": arguments, "timeout_ms": lookup.timeout_ms});
            let answered = Box::new(move |answer: Result<Value, String>| {
                done(answer.map_or_else(Answer::Failed, |answer| read_answer(&answer)))
            });
            gate.servers().request(RequestNumber::next(), "lookup", params, answered);
            return;
        }
        let asked = self.clone();
        let timeout = Duration::from_millis(lookup.timeout_ms.into());
        let work = move || done(asked.ask(&lookup, timeout));
        // Without a thread there is no answer, and the gate gives up after its own time limit.
        let _ = thread::Builder::new().name("tollgate-lookup".to_owned()).spawn(work);
    }

    fn ask(&self, lookup: &Lookup, timeout: Duration) -> Answer {
        let known = match (&lookup.request, &self.mcp) {
            (Request::Run(program), _) => return command(program, &self.folder, timeout),
            (Request::Mcp(McpTool { server, tool, arguments, .. }), Some(call)) => {
                Some(call(server, tool, &serde_json::from_slice(arguments).unwrap_or_default()))
            }
            (Request::Mcp(_), None) => None,
            (Request::Function, _) => self.functions.get(&lookup.source).map(|function| function(&lookup.concept)),
        };
        match known {
            Some(Ok(Some(text))) => Answer::Text(text),
            Some(Ok(None)) => Answer::Unknown,
            Some(Err(why)) => Answer::Failed(why),
            None => Answer::Unavailable,
        }
    }
}

/// Reads an answer of the gate.
fn read_answer(answer: &Value) -> Answer {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
    match answer.as_str() {
        Some("unknown") => Answer::Unknown,
        Some("late") => Answer::Late,
        Some(_) => Answer::Unavailable,
        None => text("text").map_or_else(|| Answer::Failed(text("failed").unwrap_or_default()), Answer::Text),
    }
}

fn command(ordered: &Ordered, folder: &Path, timeout: Duration) -> Answer {
    let inherit: Vec<&str> = ordered.inherit.iter().map(String::as_str).collect();
    let set: Vec<(&str, &str)> = ordered.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let input = ordered.stdin.as_bytes();
    let (output_bytes, plan) = (MAX_OUTPUT, None);
    let program = Program { argv: &ordered.argv, input, folder, inherit: &inherit, set: &set, output_bytes, plan };
    match process::run(&program, timeout) {
        Ending::Exited { status, stdout, .. } if status.success() => Answer::Text(String::from_utf8_lossy(&stdout).into_owned()),
        Ending::Exited { status, stderr, .. } => {
            // The same words in every host and on every system.
            let status = format!("exit status: {}", process::exit_code(status));
            let complaint = process::first_complaint(&String::from_utf8_lossy(&stderr));
            Answer::Failed(if complaint.is_empty() { status } else { format!("{status}: {complaint}") })
        }
        Ending::NotFound => Answer::Unavailable,
        Ending::TimedOut | Ending::Canceled => Answer::Late,
        Ending::Failed(fault) => Answer::Failed(fault.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(requests: &[(&str, Request)], total_ms: u32) -> Plan {
        let lookup = |(source, request): &(&str, Request)| Lookup {
            concept: "auth".into(),
            source: (*source).into(),
            request: request.clone(),
            // A busy machine may take long to start a program that answers.
            timeout_ms: if *source == "hanging" { 300 } else { 60_000 },
        };
        Plan { concepts: vec!["auth".into()], lookups: requests.iter().map(lookup).collect(), total_ms, skipped: None }
    }

    /// Sources that answer, know nothing, print garbage, fail, hang, or do not exist, all in parallel.
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
        let folder = tempfile::tempdir().unwrap();
        let mut gate = Tollgate::builder().workspace(folder.path()).home(folder.path()).open().unwrap();
        let start = Instant::now();
        let run = |argv: &[&str]| {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            Request::Run(Ordered { argv, stdin: String::new(), inherit: vec!["PATH".to_owned()], set: Vec::new() })
        };
        let graph = McpTool { server: "s".into(), tool: "t".into(), arguments: br#"{"name":"auth"}"#.into(), start: None };
        // A function cannot be ended, so the time limit of the whole plan counts.
        let [late] = lookups.run(&mut gate, &plan(&[("slow", Request::Function)], 300)).try_into().unwrap();
        assert_eq!(late.answer, Answer::Late);
        let found = lookups.run(
            &mut gate,
            &plan(
                &[
                    ("said", run(&["echo", "hello"])),
                    ("garbage", run(&["printf", "\\377\\000x"])),
                    ("failing", run(&["sh", "-c", "printf '\\n why\\r\\nmore' >&2; exit 3"])),
                    ("killed", run(&["sh", "-c", "kill -9 $$"])),
                    ("hanging", run(&["sleep", "60"])),
                    ("absent", run(&["no-such-program-here"])),
                    ("known", Request::Function),
                    ("ignorant", Request::Function),
                    ("broken", Request::Function),
                    ("nobody", Request::Function),
                    ("graph", Request::Mcp(graph)),
                ],
                60_000,
            ),
        );
        assert!(start.elapsed() < Duration::from_secs(30));
        let answers: Vec<Answer> = found.into_iter().map(|finding| finding.answer).collect();
        assert_eq!(
            answers,
            [
                Answer::Text("hello\n".into()),
                Answer::Text("\u{fffd}\0x".into()),
                Answer::Failed("exit status: 3: why".into()),
                Answer::Failed("exit status: 137".into()),
                Answer::Late,
                Answer::Unavailable,
                Answer::Text("about auth".into()),
                Answer::Unknown,
                Answer::Failed("no network".into()),
                Answer::Unavailable,
                Answer::Text(r#"s t {"name":"auth"}"#.into()),
            ]
        );
    }
}
