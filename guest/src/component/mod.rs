//! The WebAssembly component: the exports over [`Gate`] and [`Exchanges`], the imports as ports.
//!
//! The only module that touches generated bindings; everything else is plain Rust and runs natively too.

mod components;
mod engine;
mod imports;

use std::cell::RefCell;

use serde_json::Value;

use crate::augment::{LOOKUP_MS, Lookup, LookupAnswer, LookupFinding, LookupRequest, Program, TOTAL_MS};
use crate::call::ToolCall;
use crate::effects::{Effect, Operation};
use crate::exchange::{self, Exchanges, Progress, Reply, workspace_search};
use crate::gate::{CallOutcome, Gate, Refusal};
use crate::intents::intent::Intent;
use crate::operations;
use crate::ports::{FileKind, Question};
use crate::ruling::Verdict;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::all)]
mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "gate" });
    export!(Component);
    use super::Component;
}

use bindings::exports::tollgate::hooks::{augment, operations as lines, post_tool, pre_tool, programs as spoken, sessions};
use bindings::tollgate::hooks::{log, types};

/// A third of the work on a shell command is allocation, and the standard library's allocator for WebAssembly is slow at it.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

thread_local! {
    /// One instance serves one workspace and is called by one thread.
    static GATE: RefCell<(Gate, Exchanges)> = RefCell::new((open(), Exchanges::default()));
}

/// Opens the gate. A panic ends the instance; before it does, its location is written to the host's log.
fn open() -> Gate {
    std::panic::set_hook(Box::new(|panic| log::write(log::Level::Error, &panic.to_string(), &[])));
    Gate::new(imports::ports())
}

fn with_gate<T>(work: impl FnOnce(&mut Gate) -> T) -> T {
    GATE.with_borrow_mut(|(gate, _)| work(gate))
}

fn with_exchanges<T>(work: impl FnOnce(&mut Gate, &mut Exchanges) -> T) -> T {
    GATE.with_borrow_mut(|(gate, exchanges)| work(gate, exchanges))
}

struct Component;

impl pre_tool::Guest for Component {
    fn check(call: types::ToolCall) -> types::Ruling {
        let ruling = with_gate(|gate| gate.check(&tool_call(call)));
        let pre_hash = |effect: &Effect| {
            Some(types::PreHash { path: effect.location.as_str().to_owned(), digest: effect.pre_hash?.to_string() })
        };
        types::Ruling {
            verdict: match ruling.verdict {
                Verdict::Allow => types::Verdict::Allow,
                Verdict::Ask => types::Verdict::Ask,
                Verdict::Deny => types::Verdict::Deny,
            },
            code: ruling.code.as_str().to_owned(),
            reason: ruling.reason,
            pre_hashes: ruling.effects.iter().filter_map(pre_hash).collect(),
            effects: ruling.effects.iter().map(effect).collect(),
        }
    }
}

impl post_tool::Guest for Component {
    fn settle(call: types::ToolCall, outcome: post_tool::Outcome) -> post_tool::Settlement {
        let outcome = match outcome {
            post_tool::Outcome::Done(_) => CallOutcome::Done,
            post_tool::Outcome::Failed(error) => CallOutcome::Failed(error),
            post_tool::Outcome::Refused(why) => CallOutcome::Refused(why),
        };
        let settled = with_gate(|gate| gate.settle(&tool_call(call), &outcome));
        post_tool::Settlement { entries: settled.lines, notice: settled.notice }
    }
}

impl augment::Guest for Component {
    fn plan_lookups(call: types::ToolCall) -> augment::Plan {
        let plan = with_gate(|gate| gate.plan_lookups(&tool_call(call)));
        augment::Plan {
            concepts: plan.concepts,
            lookups: plan.lookups.into_iter().map(lookup).collect(),
            total_ms: TOTAL_MS,
            skipped: plan.skipped.map(str::to_owned),
        }
    }

    fn apply(call: types::ToolCall, found: Vec<augment::Finding>) -> augment::Augmented {
        let args = call.args.clone();
        let finding = |finding: augment::Finding| LookupFinding {
            concept: finding.concept,
            source: finding.source,
            answer: answer(finding.answer),
        };
        let found: Vec<_> = found.into_iter().map(finding).collect();
        let augmentation = with_gate(|gate| gate.augment(&tool_call(call), &found));
        augment::Augmented {
            args: augmentation.args.map_or(args, |args| args.to_string().into_bytes()),
            added: augmentation.added,
            additional_context: augmentation.text,
            concepts: augmentation.concepts,
            skipped: augmentation.skipped.map(str::to_owned),
        }
    }
}

fn lookup(lookup: Lookup) -> augment::Lookup {
    let program = |program: Program| augment::Program {
        argv: program.argv,
        stdin: String::new(),
        inherit: program.inherit,
        set: program.set,
    };
    let request = match lookup.request {
        LookupRequest::Run(run) => augment::Request::Run(program(run)),
        LookupRequest::Mcp { server, tool, arguments, start } => augment::Request::Mcp(augment::McpTool {
            server,
            tool,
            arguments: arguments.to_string().into_bytes(),
            start: start.map(program),
        }),
        LookupRequest::Function { .. } => augment::Request::Function,
    };
    augment::Lookup { concept: lookup.concept, source: lookup.source, request, timeout_ms: LOOKUP_MS }
}

fn answer(answer: augment::Answer) -> LookupAnswer {
    match answer {
        augment::Answer::Text(text) => LookupAnswer::Text(text),
        augment::Answer::Unknown => LookupAnswer::Unknown,
        augment::Answer::Unavailable => LookupAnswer::Unavailable,
        augment::Answer::Late => LookupAnswer::Late,
        augment::Answer::Failed(why) => LookupAnswer::Failed(why),
    }
}

impl spoken::Guest for Component {
    fn names() -> Vec<String> {
        exchange::programs_with_hooks().map(str::to_owned).collect()
    }

    fn silence(program: String) -> String {
        exchange::empty_answer(&program).to_owned()
    }

    fn variables(program: String) -> Vec<String> {
        workspace_search::variables(&program).iter().map(|name| (*name).to_owned()).collect()
    }

    fn locate(program: String, event: Option<String>, payload: Vec<u8>, surroundings: spoken::Surroundings) -> Option<String> {
        let spoken::Surroundings { cwd, state, variables } = surroundings;
        let surroundings = workspace_search::HostEnvironment { cwd, state, variables };
        with_gate(|gate| {
            let look = |path: &str| {
                let facts = gate.ports().workspace.inspect(&[Question::project(path)]).into_iter().next()?;
                facts.real_path.filter(|_| facts.kind == FileKind::Directory)
            };
            workspace_search::locate(&program, event.as_deref(), &payload, &surroundings, &look)
        })
    }

    fn respond(program: String, event: Option<String>, payload: Vec<u8>) -> spoken::Progress {
        match with_exchanges(|gate, exchanges| exchanges.respond(gate, &program, event.as_deref(), &payload)) {
            Progress::Answered(reply) => spoken::Progress::Answered(reply_of(reply)),
            Progress::Waiting(number) => spoken::Progress::Waiting(number),
        }
    }

    fn failed(program: String, event: Option<String>, payload: Vec<u8>, why: String) -> spoken::Answer {
        reply_of(with_gate(|gate| Exchanges::fail(gate, &program, event.as_deref(), &payload, &why)))
    }
}

fn reply_of(reply: Reply) -> spoken::Answer {
    spoken::Answer { text: reply.text.into_bytes(), refused: reply.refused }
}

impl sessions::Guest for Component {
    fn select(session: String, intent: String) -> Result<sessions::Intent, sessions::Refusal> {
        with_gate(|gate| gate.select(&session, &intent)).map(summary).map_err(|refusal| {
            let said = refusal.to_string();
            match refusal {
                Refusal::UnknownIntent { .. } => sessions::Refusal::UnknownIntent(said),
                Refusal::IntentClosed { .. } => sessions::Refusal::IntentClosed(said),
                Refusal::NotGoverned(_) => sessions::Refusal::NotGoverned(said),
                Refusal::NotKept(_) => sessions::Refusal::NotKept(said),
            }
        })
    }

    fn clear(session: String) -> Result<(), sessions::Fault> {
        with_gate(|gate| gate.clear(&session)).map_err(|fault| sessions::Fault::NotKept(fault.to_string()))
    }

    fn current(session: String) -> Option<sessions::Intent> {
        with_gate(|gate| gate.current(&session)).map(summary)
    }

    fn inherit(session: String, parent: String) -> Result<(), sessions::Fault> {
        with_gate(|gate| gate.inherit(&session, &parent)).map_err(|fault| sessions::Fault::NotKept(fault.to_string()))
    }

    fn context(session: String, limit_chars: u32) -> String {
        with_gate(|gate| gate.context(&session, limit_chars as usize))
    }
}

impl lines::Guest for Component {
    fn perform(line: Vec<u8>) -> Vec<u8> {
        with_gate(|gate| operations::perform(gate, &line)).into_bytes()
    }

    fn longest_line() -> u64 {
        operations::MAX_LINE_BYTES as u64
    }
}

/// Arguments that are not JSON become null, which the gate refuses like any other non-object.
fn tool_call(call: types::ToolCall) -> ToolCall {
    let types::ToolCall { session, agent, call, host, tool, args, cwd } = call;
    let args = serde_json::from_slice(&args).unwrap_or(Value::Null);
    ToolCall { session, agent, call, host, tool, server: None, args, cwd }
}

fn summary(intent: Intent) -> sessions::Intent {
    sessions::Intent { id: intent.id.to_string(), status: intent.status.to_string(), name: intent.name }
}

fn effect(effect: &Effect) -> types::Effect {
    types::Effect { path: effect.location.as_str().to_owned(), operation: operation(effect.operation) }
}

fn operation(operation: Operation) -> types::Operation {
    match operation {
        Operation::Read => types::Operation::Read,
        Operation::Create => types::Operation::Create,
        Operation::Modify => types::Operation::Modify,
        Operation::Delete => types::Operation::Delete,
        Operation::Execute => types::Operation::Execute,
    }
}
