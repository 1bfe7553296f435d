//! Looks up concepts for the gate: carries out what [`Tollgate::plan_lookups`](crate::Tollgate::plan_lookups) returns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bindings::exports::tollgate::hooks::augment::{Answer, Finding, Lookup, McpTool, Plan, Program as Ordered, Request};
use crate::mcp::Servers;
use crate::process::{self, Ending, MAX_OUTPUT, Program};

/// Returns what an embedder knows about a concept as Markdown, `None` if it is unknown, or an error message.
pub type Function = dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync;

/// Calls a tool of an MCP server: the server, the tool and its arguments.
pub type CallMcpTool = dyn Fn(&str, &str, &Value) -> Result<Option<String>, String> + Send + Sync;

/// Sources of information outside the gate: commands, functions of the embedder, MCP servers.
///
/// A server is started when it is first needed and shared by all clones. It is ended when the last clone is dropped.
#[derive(Clone)]
pub struct Lookups {
    callers: Callers,
    servers: Arc<Servers>,
}

/// What a lookup thread needs. The thread may outlive the call that started it.
#[derive(Clone)]
struct Callers {
    folder: PathBuf,
    functions: HashMap<String, Arc<Function>>,
    mcp: Option<Arc<CallMcpTool>>,
}

impl Lookups {
    /// Commands and MCP servers run in this folder, usually the workspace.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let callers = Callers { folder: folder.into(), functions: HashMap::new(), mcp: None };
        Self { callers, servers: Arc::default() }
    }

    /// Adds a function for a source that the settings declare with `"function": true`.
    #[must_use]
    pub fn function(
        mut self,
        source: &str,
        function: impl Fn(&str) -> Result<Option<String>, String> + Send + Sync + 'static,
    ) -> Self {
        self.callers.functions.insert(source.to_owned(), Arc::new(function));
        self
    }

    /// Sets how tools of MCP servers are called. Default: servers from the user's settings are started, and others are
    /// unavailable.
    #[must_use]
    pub fn mcp(mut self, call: impl Fn(&str, &str, &Value) -> Result<Option<String>, String> + Send + Sync + 'static) -> Self {
        self.callers.mcp = Some(Arc::new(call));
        self
    }

    /// Runs all lookups of a plan in parallel, each within its own time limit and all within the plan's. Lookups that exceed it
    /// are reported as late.
    pub fn run(&self, plan: &Plan) -> Vec<Finding> {
        let deadline = Instant::now() + Duration::from_millis(plan.total_ms.into());
        let (sender, receiver) = mpsc::channel();
        for (number, lookup) in plan.lookups.iter().enumerate() {
            let (sender, lookup, callers) = (sender.clone(), lookup.clone(), self.callers.clone());
            // A function that never returns must not keep the servers alive.
            let servers = Arc::downgrade(&self.servers);
            thread::spawn(move || {
                let timeout =
                    Duration::from_millis(lookup.timeout_ms.into()).min(deadline.saturating_duration_since(Instant::now()));
                let _ = sender.send((number, callers.ask(&lookup, &servers, timeout)));
            });
        }
        drop(sender);
        let mut answers = vec![Answer::Late; plan.lookups.len()];
        // A function cannot be stopped, so it is abandoned when its time is up.
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

impl Lookups {
    /// The tool lists that MCP servers have reported since the last call, as lines for
    /// [`Tollgate::perform`](crate::Tollgate::perform). Only for a host that carries out plans itself; `augment_with` and
    /// [`Hooks`](crate::hooks::Hooks) pass them on.
    pub fn server_tools(&self) -> Vec<Value> {
        let line = |(server, tools)| json!({"op": "server-tools", "server": server, "tools": tools});
        self.servers.take_lists().into_iter().map(line).collect()
    }

    /// Starts a lookup in its own thread, which reports the answer. A lookup that exceeds its time limit is late.
    pub(crate) fn begin(&self, lookup: Lookup, done: impl FnOnce(Answer) + Send + 'static) {
        let (callers, servers) = (self.callers.clone(), Arc::downgrade(&self.servers));
        let work = move || {
            let timeout = Duration::from_millis(lookup.timeout_ms.into());
            done(callers.ask(&lookup, &servers, timeout));
        };
        // Without a thread there is no answer, and the gate gives up after its own time limit.
        let _ = thread::Builder::new().name("tollgate-lookup".to_owned()).spawn(work);
    }
}

impl Callers {
    fn ask(&self, lookup: &Lookup, servers: &Weak<Servers>, timeout: Duration) -> Answer {
        let known = match (&lookup.request, &self.mcp) {
            (Request::Run(program), _) => return command(program, &self.folder, timeout),
            (Request::Mcp(McpTool { server, tool, arguments, .. }), Some(call)) => {
                Some(call(server, tool, &serde_json::from_slice(arguments).unwrap_or_default()))
            }
            (Request::Mcp(asked), None) => {
                return servers.upgrade().map_or(Answer::Late, |servers| servers.ask(asked, &self.folder, timeout));
            }
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

fn command(ordered: &Ordered, folder: &Path, timeout: Duration) -> Answer {
    let inherit: Vec<&str> = ordered.inherit.iter().map(String::as_str).collect();
    let set: Vec<(&str, &str)> = ordered.set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let input = ordered.stdin.as_bytes();
    let (output_bytes, plan) = (MAX_OUTPUT, None);
    let program = Program { argv: &ordered.argv, input, folder, inherit: &inherit, set: &set, output_bytes, plan };
    match process::run(&program, timeout) {
        Ending::Exited { status, stdout, .. } if status.success() => Answer::Text(String::from_utf8_lossy(&stdout).into_owned()),
        Ending::Exited { status, stderr, .. } => {
            let stderr = String::from_utf8_lossy(&stderr);
            let first = stderr.lines().next().unwrap_or_default();
            Answer::Failed(format!("{status}: {}", first.chars().take(200).collect::<String>()))
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
            timeout_ms: 300,
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
        let start = Instant::now();
        let run = |argv: &[&str]| {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            Request::Run(Ordered { argv, stdin: String::new(), inherit: vec!["PATH".to_owned()], set: Vec::new() })
        };
        let graph = McpTool { server: "s".into(), tool: "t".into(), arguments: br#"{"name":"auth"}"#.into(), start: None };
        let found = lookups.run(&plan(
            &[
                ("said", run(&["echo", "hello"])),
                ("garbage", run(&["printf", "\\377\\000x"])),
                ("failing", run(&["sh", "-c", "echo why >&2; exit 3"])),
                ("hanging", run(&["sleep", "60"])),
                ("absent", run(&["no-such-program-here"])),
                ("known", Request::Function),
                ("ignorant", Request::Function),
                ("broken", Request::Function),
                ("slow", Request::Function),
                ("nobody", Request::Function),
                ("graph", Request::Mcp(graph)),
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
            ]
        );
    }
}
