//! An instance of a third-party hook, and calls of its functions.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::InstancePre;
use wasmtime::{Store, Trap, UpdateDeadline};

use super::engine::LoadedComponent;
use super::hook_host::HookHost;
use super::limits::Deadline;
use crate::bindings::hook::exports::tollgate::hook::{augment, events, post_tool, pre_tool};
use crate::bindings::hook::tollgate::hook::types::{Call, Effect, Failure, Operation};
use crate::bindings::third_party::exports::tollgate::hooks::components as gate;
use crate::bindings::third_party::exports::tollgate::hooks::components::{Limits, Line, Question, Reply, Subject};
use crate::bindings::tollgate::hooks::types as gate_types;
use crate::files::Files;

/// Fault messages are truncated to this many characters.
const MAX_FAULT: usize = 300;

/// An instance of a hook's component.
pub(super) struct HookInstance {
    store: Store<HookHost>,
    pre_tool: Option<pre_tool::Guest>,
    post_tool: Option<post_tool::Guest>,
    augment: Option<augment::Guest>,
    events: Option<events::Guest>,
    /// Whether the first call is still to come. Starting and the first call share one time limit, because languages with an
    /// interpreter initialize much in either of them.
    is_first: bool,
    is_usable: bool,
}

impl HookInstance {
    /// Starts an instance of a component to answer a question.
    pub(super) fn start(loaded: &LoadedComponent, question: &Question, files: Arc<Files>) -> Result<Self, (Reply, Vec<Line>)> {
        let limits = &question.limits;
        let mut store = Store::new(loaded.engine(), HookHost::new(question, files, start_deadline(limits)));
        store.limiter(|host| &mut host.limiter);
        store.epoch_deadline_callback(|mut store| {
            if store.data().deadline.is_over() {
                store.data_mut().is_late = true;
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::Continue(1))
        });
        store.set_epoch_deadline(1);
        store.set_hostcall_fuel(max_lifted_bytes(limits));
        let pre = &loaded.instance;
        match exports(pre, &mut store) {
            Ok((pre_tool, post_tool, augment, events)) => {
                Ok(Self { store, pre_tool, post_tool, augment, events, is_first: true, is_usable: true })
            }
            Err(fault) => {
                let reply = describe_fault(&fault, &store);
                Err((reply, store.data_mut().take_log()))
            }
        }
    }

    /// Whether the instance can be called again. After a fault, the state of its memory is unknown.
    pub(super) fn is_usable(&self) -> bool {
        self.is_usable
    }

    pub(super) fn take_log(&mut self) -> Vec<Line> {
        self.store.data_mut().take_log()
    }

    /// Calls the function that handles a subject.
    pub(super) fn call(&mut self, subject: &Subject, limits: &Limits) -> Reply {
        let is_first = std::mem::take(&mut self.is_first);
        let deadline = (!is_first).then(|| Deadline::new(millis(limits.cpu_ms), millis(limits.wall_ms)));
        self.store.data_mut().start_call(deadline, limits.read_bytes);
        self.store.set_epoch_deadline(1);
        self.store.set_hostcall_fuel(max_lifted_bytes(limits));
        match self.call_function(subject) {
            Ok(Ok(reply)) => reply,
            Ok(Err(Failure::Settings(why))) => Reply::UnusableSettings(why),
            Ok(Err(Failure::Other(why))) => Reply::Failed(why),
            Err(fault) => {
                self.is_usable = false;
                describe_fault(&fault, &self.store)
            }
        }
    }

    fn call_function(&mut self, subject: &Subject) -> wasmtime::Result<Result<Reply, Failure>> {
        let store = &mut self.store;
        let missing = || wasmtime::format_err!("the component does not export the function to be called");
        Ok(match subject {
            Subject::PreTool(about) => {
                let guest = self.pre_tool.as_ref().ok_or_else(missing)?;
                guest.call_check(store, &call(about))?.map(|objection| objection.map_or(Reply::Nothing, objection_reply))
            }
            Subject::PostTool(ended) => {
                let guest = self.post_tool.as_ref().ok_or_else(missing)?;
                let outcome = match &ended.outcome {
                    gate::Outcome::Done(result) => post_tool::Outcome::Done(result.clone()),
                    gate::Outcome::Failed(error) => post_tool::Outcome::Failed(error.clone()),
                    gate::Outcome::Refused(why) => post_tool::Outcome::Refused(why.clone()),
                };
                let remark = guest.call_settle(store, &call(&ended.call), &outcome)?;
                remark.map(|remark| {
                    remark.map_or(Reply::Nothing, |post_tool::Remark { code, text, withhold }| {
                        Reply::Remark(gate::Remark { code, text, withhold })
                    })
                })
            }
            Subject::Augment(about) => {
                let guest = self.augment.as_ref().ok_or_else(missing)?;
                let advice = guest.call_apply(store, &call(about))?;
                advice.map(|advice| {
                    advice.map_or(Reply::Nothing, |augment::Advice { note, args }| Reply::Advice(gate::Advice { note, args }))
                })
            }
            Subject::Event(gate::Event { name, session, data }) => {
                let guest = self.events.as_ref().ok_or_else(missing)?;
                let event = events::Event { name: name.clone(), session: session.clone(), data: data.clone() };
                let reaction = guest.call_handle(store, &event)?;
                reaction.map(|reaction| {
                    reaction.map_or(Reply::Nothing, |events::Reaction { stop, message }| {
                        Reply::Reaction(gate::Reaction { stop, message })
                    })
                })
            }
        })
    }
}

type Exports = (Option<pre_tool::Guest>, Option<post_tool::Guest>, Option<augment::Guest>, Option<events::Guest>);

/// Instantiates a component and looks up its exports.
fn exports(pre: &InstancePre<HookHost>, store: &mut Store<HookHost>) -> wasmtime::Result<Exports> {
    let instance = pre.instantiate(&mut *store)?;
    Ok((
        pre_tool::GuestIndices::new(pre).ok().map(|found| found.load(&mut *store, &instance)).transpose()?,
        post_tool::GuestIndices::new(pre).ok().map(|found| found.load(&mut *store, &instance)).transpose()?,
        augment::GuestIndices::new(pre).ok().map(|found| found.load(&mut *store, &instance)).transpose()?,
        events::GuestIndices::new(pre).ok().map(|found| found.load(&mut *store, &instance)).transpose()?,
    ))
}

fn objection_reply(objection: pre_tool::Objection) -> Reply {
    let pre_tool::Objection { severity, code, reason } = objection;
    let severity = match severity {
        pre_tool::Severity::Ask => gate::Severity::Ask,
        pre_tool::Severity::Deny => gate::Severity::Deny,
    };
    Reply::Objection(gate::Objection { severity, code, reason })
}

fn call(call: &gate::Call) -> Call {
    let effect = |effect: &gate_types::Effect| Effect {
        path: effect.path.clone(),
        operation: match effect.operation {
            gate_types::Operation::Read => Operation::Read,
            gate_types::Operation::Create => Operation::Create,
            gate_types::Operation::Modify => Operation::Modify,
            gate_types::Operation::Delete => Operation::Delete,
            gate_types::Operation::Execute => Operation::Execute,
        },
    };
    Call {
        session: call.session.clone(),
        id: call.id.clone(),
        tool: call.tool.clone(),
        args: call.args.clone(),
        effects: call.effects.iter().map(effect).collect(),
        complete: call.complete,
        facts: call.facts.clone(),
    }
}

/// Describes the fault of a call.
fn describe_fault(fault: &wasmtime::Error, store: &Store<HookHost>) -> Reply {
    let host = store.data();
    if host.is_late {
        return Reply::Late;
    }
    let why = match (host.limiter.refused, fault.downcast_ref::<Trap>()) {
        (Some(what), _) => format!("it ran out of {what}"),
        (None, Some(trap)) => format!("it trapped: {trap}"),
        (None, None) => {
            let mut said: Vec<String> = fault.chain().map(ToString::to_string).collect();
            said.dedup();
            format!("it broke the contract: {}", said.join(": "))
        }
    };
    Reply::Broke(why.chars().take(MAX_FAULT).collect())
}

/// For starting and the first call: `start_ms` of processor time, because interpreters set themselves up, and no less elapsed
/// time than for any other call.
fn start_deadline(limits: &Limits) -> Deadline {
    Deadline::new(millis(limits.start_ms), millis(limits.start_ms.max(limits.wall_ms)))
}

fn millis(millis: u32) -> Duration {
    Duration::from_millis(u64::from(millis))
}

fn max_lifted_bytes(limits: &Limits) -> usize {
    usize::try_from(limits.lifted_bytes).unwrap_or(usize::MAX)
}
