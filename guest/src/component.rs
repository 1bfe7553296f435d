//! The WebAssembly face of the gate: the contract's exports over [`Gate`], its imports as [`Ports`].
//!
//! The only file that touches generated bindings; everything else is plain Rust and runs natively too.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::augment::{Answer, Finding, LOOKUP_MS, Lookup, TOTAL_MS};
use crate::call::ToolCall;
use crate::call::effect::{Effect, Operation};
use crate::gate::{Gate, Outcome, Refusal};
use crate::hooks::Command;
use crate::intents::intent::Intent;
use crate::operations;
use crate::ports::{
    Clock, Entry, Expectation, Facts, FileFault, Kind, Level, Listing, Log, Ports, Question, Random, Reach, Records, Root, Tail,
    Timestamp, Workspace,
};
use crate::ruling::Verdict;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::all)]
mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "plugin" });
    export!(Component);
    use super::Component;
}

use bindings::exports::tollgate::hooks::{augment, engine, operations as lines, post_tool, pre_tool, sessions};
use bindings::tollgate::hooks::{log, records, types, workspace};

/// A third of the work on a shell command is allocation, and the standard library's allocator for WebAssembly is slow at it.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

thread_local! {
    /// One instance serves one workspace and is called by one thread.
    static GATE: RefCell<Gate> = RefCell::new(open());
}

/// A panic ends the instance. Before it does, the host's log learns where.
fn open() -> Gate {
    std::panic::set_hook(Box::new(|panic| log::write(log::Level::Error, &panic.to_string(), &[])));
    Gate::new(ports())
}

fn with_gate<T>(work: impl FnOnce(&mut Gate) -> T) -> T {
    GATE.with_borrow_mut(work)
}

struct Component;

impl pre_tool::Guest for Component {
    fn check(call: types::ToolCall) -> Result<types::Ruling, types::Fault> {
        let ruling = with_gate(|gate| gate.check(&tool_call(call)));
        let pre_hash = |effect: &Effect| {
            Some(types::PreHash { path: effect.location.as_str().to_owned(), digest: effect.pre_hash?.to_string() })
        };
        Ok(types::Ruling {
            verdict: match ruling.verdict {
                Verdict::Allow => types::Verdict::Allow,
                Verdict::Ask => types::Verdict::Ask,
                Verdict::Deny => types::Verdict::Deny,
            },
            code: ruling.code.as_str().to_owned(),
            reason: ruling.reason,
            pre_hashes: ruling.effects.iter().filter_map(pre_hash).collect(),
            effects: ruling.effects.iter().map(effect).collect(),
        })
    }
}

impl post_tool::Guest for Component {
    fn settle(call: types::ToolCall, outcome: post_tool::Outcome) -> Result<post_tool::Settlement, types::Fault> {
        let outcome = match outcome {
            post_tool::Outcome::Done(_) => Outcome::Done,
            post_tool::Outcome::Failed(error) => Outcome::Failed(error),
            post_tool::Outcome::Refused(why) => Outcome::Refused(why),
        };
        let settled = with_gate(|gate| gate.settle(&tool_call(call), &outcome));
        Ok(post_tool::Settlement { entries: settled.lines, notice: settled.notice })
    }
}

impl augment::Guest for Component {
    fn plan_lookups(call: types::ToolCall) -> Result<augment::Plan, types::Fault> {
        let plan = with_gate(|gate| gate.plan_lookups(&tool_call(call)));
        let lookup = |lookup: Lookup| augment::Lookup {
            concept: lookup.concept,
            source: lookup.source,
            request: lookup.request.to_string().into_bytes(),
            timeout_ms: LOOKUP_MS,
        };
        Ok(augment::Plan {
            concepts: plan.concepts,
            lookups: plan.lookups.into_iter().map(lookup).collect(),
            total_ms: TOTAL_MS,
            skipped: plan.skipped.map(str::to_owned),
        })
    }

    fn apply(call: types::ToolCall, found: Vec<augment::Finding>) -> Result<augment::Augmented, types::Fault> {
        let args = call.args.clone();
        let finding = |finding: augment::Finding| Finding {
            concept: finding.concept,
            source: finding.source,
            answer: match finding.answer {
                augment::Answer::Text(text) => Answer::Text(text),
                augment::Answer::Unknown => Answer::Unknown,
                augment::Answer::Unavailable => Answer::Unavailable,
                augment::Answer::Late => Answer::Late,
                augment::Answer::Failed(why) => Answer::Failed(why),
            },
        };
        let found: Vec<_> = found.into_iter().map(finding).collect();
        let directions = with_gate(|gate| gate.augment(&tool_call(call), &found));
        Ok(augment::Augmented {
            args: directions.args.map_or(args, |args| args.to_string().into_bytes()),
            additional_context: directions.text,
            concepts: directions.concepts,
            skipped: directions.skipped.map(str::to_owned),
        })
    }
}

impl sessions::Guest for Component {
    fn select(session: String, intent: String) -> Result<sessions::Intent, sessions::Refusal> {
        with_gate(|gate| gate.select(&session, &intent)).map(summary).map_err(|refusal| {
            let said = refusal.to_string();
            match refusal {
                Refusal::UnknownIntent { .. } => sessions::Refusal::UnknownIntent(said),
                Refusal::IntentClosed { .. } => sessions::Refusal::IntentClosed(said),
                Refusal::NotGoverned(_) => sessions::Refusal::NotGoverned(said),
                Refusal::NotKept(_) => sessions::Refusal::Fault(types::Fault::Workspace(said)),
            }
        })
    }

    fn clear(session: String) -> Result<(), types::Fault> {
        with_gate(|gate| gate.clear(&session)).map_err(|fault| types::Fault::Workspace(fault.to_string()))
    }

    fn current(session: String) -> Result<Option<sessions::Intent>, types::Fault> {
        Ok(with_gate(|gate| gate.current(&session)).map(summary))
    }

    fn inherit(session: String, parent: String) -> Result<(), types::Fault> {
        with_gate(|gate| gate.inherit(&session, &parent)).map_err(|fault| types::Fault::Workspace(fault.to_string()))
    }

    fn context(session: String, limit_chars: u32) -> Result<String, types::Fault> {
        Ok(with_gate(|gate| gate.context(&session, limit_chars as usize)))
    }
}

impl engine::Guest for Component {
    /// What is no JSON becomes null, which the hooks name like any other report that they do not know.
    fn step(now_ms: u64, inputs: Vec<engine::Input>) -> Result<engine::Turn, types::Fault> {
        let inputs: Vec<Value> = inputs.iter().map(|input| serde_json::from_slice(input).unwrap_or_default()).collect();
        let (commands, next_deadline_ms) = with_gate(|gate| gate.step(now_ms, &inputs));
        let command = |command: Command| engine::Command { id: command.id, body: command.body.to_string().into_bytes() };
        Ok(engine::Turn { commands: commands.into_iter().map(command).collect(), next_deadline_ms })
    }
}

impl lines::Guest for Component {
    fn perform(line: Vec<u8>) -> Vec<u8> {
        with_gate(|gate| operations::perform(gate, &line)).into_bytes()
    }

    fn longest_line() -> u64 {
        operations::LONGEST_LINE as u64
    }
}

/// Arguments that are no JSON become null here, which the gate refuses by name like any other non-object.
fn tool_call(call: types::ToolCall) -> ToolCall {
    let types::ToolCall { session, agent, call, host, tool, args, cwd } = call;
    let args = serde_json::from_slice(&args).unwrap_or(Value::Null);
    ToolCall { session, agent, call, host, tool, args, cwd }
}

fn summary(intent: Intent) -> sessions::Intent {
    sessions::Intent { id: intent.id.to_string(), status: intent.status.to_string(), name: intent.name }
}

fn effect(effect: &Effect) -> types::Effect {
    types::Effect {
        path: effect.location.as_str().to_owned(),
        operation: match effect.operation {
            Operation::Read => types::Operation::Read,
            Operation::Create => types::Operation::Create,
            Operation::Modify => types::Operation::Modify,
            Operation::Delete => types::Operation::Delete,
            Operation::Execute => types::Operation::Execute,
        },
    }
}

/// The contract's imports.
struct Imports;

fn ports() -> Ports {
    let imports = Rc::new(Imports);
    Ports {
        workspace: imports.clone(),
        records: imports.clone(),
        log: imports.clone(),
        clock: imports.clone(),
        random: imports,
        secrets: Rc::default(),
    }
}

impl Workspace for Imports {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        let question = |question: &Question| workspace::Question {
            root: root(question.root),
            path: question.path.clone(),
            digest: question.digest,
        };
        let facts = |facts: workspace::Facts| Facts {
            kind: kind(facts.kind),
            real_path: facts.real_path,
            entry_path: facts.entry_path,
            link: facts.link,
            hard_links: facts.hard_links,
            identity: facts.identity,
            stamp: facts.stamp,
            size: facts.size,
            digest: facts.digest.and_then(|digest| digest.parse().ok()),
        };
        workspace::inspect(&questions.iter().map(question).collect::<Vec<_>>()).into_iter().map(facts).collect()
    }

    fn read(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        workspace::read(root(at), path, limit_bytes).map_err(fault)
    }

    fn read_range(&self, at: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        workspace::read_range(root(at), path, offset, limit_bytes).map_err(fault)
    }

    fn read_tail(&self, at: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        let tail = workspace::read_tail(root(at), path, limit_bytes).map_err(fault)?;
        Ok(Tail { offset: tail.offset, bytes: tail.bytes })
    }

    fn list(&self, at: Root, directory: &str, reach: &Reach) -> Result<Listing, FileFault> {
        let reach = workspace::Reach { depth: reach.depth, limit: reach.limit, skip: reach.skip.clone() };
        let listing = workspace::list(root(at), directory, &reach).map_err(fault)?;
        let entry = |entry: workspace::Entry| Entry {
            path: entry.path,
            kind: kind(entry.kind),
            link: entry.link,
            hard_links: entry.hard_links,
            identity: entry.identity,
            stamp: entry.stamp,
            size: entry.size,
        };
        Ok(Listing {
            entries: listing.entries.into_iter().map(entry).collect(),
            truncated: listing.truncated,
            unseen: listing.unseen,
        })
    }
}

impl Records for Imports {
    fn append(&self, at: Root, path: &str, bytes: &[u8]) -> Result<(), FileFault> {
        records::append(root(at), path, bytes).map_err(fault)
    }

    fn replace(&self, at: Root, path: &str, bytes: &[u8], expected: Expectation) -> Result<(), FileFault> {
        let expected = match expected {
            Expectation::Anything => records::Expectation::Anything,
            Expectation::Absent => records::Expectation::Absent,
            Expectation::Digest(digest) => records::Expectation::Digest(digest.to_string()),
        };
        records::replace(root(at), path, bytes, &expected).map_err(fault)
    }

    fn remove(&self, at: Root, path: &str) -> Result<(), FileFault> {
        records::remove(root(at), path).map_err(fault)
    }
}

impl Log for Imports {
    fn write(&self, level: Level, message: &str, details: &Value) {
        let level = match level {
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
            Level::Error => log::Level::Error,
        };
        let details = if details.is_null() { Vec::new() } else { details.to_string().into_bytes() };
        log::write(level, message, &details);
    }
}

impl Clock for Imports {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Random for Imports {
    fn sixteen(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            log::write(log::Level::Warn, "the host gives no random bytes; ids may repeat", &[]);
        }
        bytes
    }
}

fn root(root: Root) -> workspace::Root {
    match root {
        Root::Project => workspace::Root::Project,
        Root::Home => workspace::Root::Home,
        Root::State => workspace::Root::State,
    }
}

fn kind(kind: workspace::Kind) -> Kind {
    match kind {
        workspace::Kind::Missing => Kind::Missing,
        workspace::Kind::File => Kind::File,
        workspace::Kind::Directory => Kind::Directory,
        workspace::Kind::Other => Kind::Other,
        workspace::Kind::Unreadable => Kind::Unreadable,
    }
}

fn fault(fault: workspace::Fault) -> FileFault {
    match fault {
        workspace::Fault::Denied => FileFault::Denied,
        workspace::Fault::Missing => FileFault::Missing,
        workspace::Fault::Exists => FileFault::Exists,
        workspace::Fault::Changed => FileFault::Changed,
        workspace::Fault::TooLarge => FileFault::TooLarge,
        workspace::Fault::Busy => FileFault::Busy,
        workspace::Fault::Full => FileFault::Full,
        workspace::Fault::Other => FileFault::Other,
    }
}
