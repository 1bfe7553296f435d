//! The gate of one workspace.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use wasmtime::component::Instance as Started;
use wasmtime::{Store, StoreLimits, StoreLimitsBuilder};

use crate::bindings::Plugin;
use crate::bindings::exports::tollgate::hooks::augment::{Augmented, Finding, Plan};
use crate::bindings::exports::tollgate::hooks::engine::{Input, Turn};
use crate::bindings::exports::tollgate::hooks::post_tool::{Outcome, Settlement};
use crate::bindings::exports::tollgate::hooks::programs::{Answer as Reply, Progress};
use crate::bindings::exports::tollgate::hooks::sessions::Intent;
use crate::bindings::third_party::ThirdParty;
use crate::bindings::third_party::exports::tollgate::hooks::components::{Answer as HookAnswer, Ask};
use crate::bindings::tollgate::hooks::types::Ruling;
use crate::builder::Builder;
use crate::call::ToolCall;
use crate::error::Error;
use crate::files::Files;
use crate::hooks;
use crate::imports::{HostServices, Imports};
use crate::lookups::Lookups;
use crate::mcp::Servers;
use crate::runtime::Runtime;

/// The gate of one workspace. See the [crate documentation](crate) for an example.
pub struct Tollgate {
    runtime: Runtime,
    files: Arc<Files>,
    /// The imports for the next instance; `None` while an instance uses them.
    idle: Option<Imports>,
    instance: Option<GateInstance>,
    /// The number of instances that have been started.
    started: u64,
    /// The number of the last instance that was told about this machine.
    introduced: Option<u64>,
    /// Connections to MCP servers.
    servers: Servers,
}

struct GateInstance {
    store: Store<Imports>,
    plugin: Plugin,
    started: Started,
    third_party: Option<ThirdParty>,
}

impl Tollgate {
    /// Returns a builder with default settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new(runtime: Runtime, files: Files, services: HostServices) -> Self {
        let (files, limits) = (Arc::new(files), limits(runtime.limits().memory_bytes));
        let servers = Servers::new(files.workspace().to_owned());
        Self {
            runtime,
            idle: Some(Imports::new(Arc::clone(&files), services, limits)),
            files,
            instance: None,
            started: 0,
            introduced: None,
            servers,
        }
    }

    /// The files of the workspace.
    pub(crate) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// The folder in which the gate keeps its state for this workspace. It may not exist yet.
    pub fn state_folder(&self) -> Option<&Path> {
        self.files.state()
    }

    /// The number of the running instance: a new instance does not know what an earlier one was told.
    pub(crate) fn running_instance(&self) -> Option<u64> {
        self.instance.as_ref().map(|_| self.started)
    }

    /// Decides whether a call may run. Do not run it on `deny`; on `ask`, run it only if a person agrees.
    pub fn pre_tool(&mut self, call: &ToolCall) -> Result<Ruling, Error> {
        let call = call.contract();
        self.run(|plugin, store| plugin.tollgate_hooks_pre_tool().call_check(store, &call))
    }

    /// Records in the ledger what a finished call changed.
    pub fn post_tool(&mut self, call: &ToolCall, outcome: &Outcome) -> Result<Settlement, Error> {
        let call = call.contract();
        self.run(|plugin, store| plugin.tollgate_hooks_post_tool().call_settle(store, &call, outcome))
    }

    /// Returns what to look up before calling [`augment`](Self::augment).
    pub fn plan_lookups(&mut self, call: &ToolCall) -> Result<Plan, Error> {
        self.introduce()?;
        let call = call.contract();
        self.run(|plugin, store| plugin.tollgate_hooks_augment().call_plan_lookups(store, &call))
    }

    /// Adds what is known about the concepts that a call mentions.
    pub fn augment(&mut self, call: &ToolCall, found: &[Finding]) -> Result<Augmented, Error> {
        let call = call.contract();
        self.run(|plugin, store| plugin.tollgate_hooks_augment().call_apply(store, &call, found))
    }

    /// Plans, looks up and augments in one step. Waits for the lookups, at most five seconds.
    pub fn augment_with(&mut self, call: &ToolCall, lookups: &Lookups) -> Result<Augmented, Error> {
        let plan = self.plan_lookups(call)?;
        let found = self.look_up(&plan, lookups);
        self.augment(call, &found)
    }

    /// Runs all lookups of a plan in parallel, each within its own time limit and all within the plan's. Lookups that exceed it
    /// are reported as late.
    pub fn look_up(&mut self, plan: &Plan, lookups: &Lookups) -> Vec<Finding> {
        lookups.run(self, plan)
    }

    /// Connections to MCP servers.
    pub(crate) fn servers(&mut self) -> &mut Servers {
        &mut self.servers
    }

    /// Ends all connections to MCP servers, and waits until the servers have ended, as dropping this gate does.
    #[doc(hidden)]
    pub fn end_servers(&mut self) {
        self.servers.forget("the process ends");
    }

    /// Describes this machine to the running instance, unless that has been done: how servers are started depends on it.
    fn introduce(&mut self) -> Result<(), Error> {
        if self.introduced.is_none() || self.introduced != self.running_instance() {
            // Nothing here listens for the events that hooks wait for.
            let machine = hooks::host_info(self.files.workspace(), false);
            self.step(0, &[machine])?;
        }
        Ok(())
    }

    /// Processes everything that has happened on connections to MCP servers.
    pub(crate) fn drive_servers(&mut self) -> Result<(), Error> {
        while let Some(line) = self.servers.line() {
            self.introduce()?;
            let answer = self.perform(line.as_bytes())?;
            let turn: Value = serde_json::from_slice(&answer).unwrap_or_default();
            self.servers.execute(&turn);
        }
        Ok(())
    }

    /// Makes an intent the only active one of a session.
    pub fn select_intent(&mut self, session: &str, intent: &str) -> Result<Intent, Error> {
        Ok(self.run(|plugin, store| plugin.tollgate_hooks_sessions().call_select(store, session, intent))??)
    }

    /// Removes the intent of a session.
    pub fn clear_intent(&mut self, session: &str) -> Result<(), Error> {
        Ok(self.run(|plugin, store| plugin.tollgate_hooks_sessions().call_clear(store, session))??)
    }

    /// The intent of a session: its own or its parent's.
    pub fn current_intent(&mut self, session: &str) -> Result<Option<Intent>, Error> {
        self.run(|plugin, store| plugin.tollgate_hooks_sessions().call_current(store, session))
    }

    /// Lets a sub-agent's session use its parent's intent until it selects its own.
    pub fn inherit_intent(&mut self, session: &str, parent: &str) -> Result<(), Error> {
        Ok(self.run(|plugin, store| plugin.tollgate_hooks_sessions().call_inherit(store, session, parent))??)
    }

    /// What the model should know about the session's intent; empty if there is none.
    pub fn context(&mut self, session: &str, limit_chars: u32) -> Result<String, Error> {
        self.run(|plugin, store| plugin.tollgate_hooks_sessions().call_context(store, session, limit_chars))
    }

    /// Processes inputs of the hooks engine and returns its commands, at a monotonic time chosen by the caller.
    pub fn step(&mut self, now_ms: u64, inputs: &[Input]) -> Result<Turn, Error> {
        let turn = self.run(|plugin, store| plugin.tollgate_hooks_engine().call_step(store, now_ms, inputs))?;
        if inputs.iter().any(|input| matches!(input, Input::Machine(_))) {
            self.introduced = self.running_instance();
        }
        Ok(turn)
    }

    /// The third-party hooks that are to be called now; see [`Hooks`](crate::hooks::Hooks), which calls them.
    pub(crate) fn due(&mut self) -> Result<Vec<Ask>, Error> {
        Ok(self.run_third_party(|gate, store| gate.tollgate_hooks_components().call_due(store))?.unwrap_or_default())
    }

    /// Reports the answers of third-party hooks that were called.
    pub(crate) fn report(&mut self, number: u64, answers: &[HookAnswer]) -> Result<(), Error> {
        self.run_third_party(|gate, store| gate.tollgate_hooks_components().call_report(store, number, answers)).map(drop)
    }

    /// Calls a function that the component exports for third-party hooks. Returns `None` if the component is older than those
    /// functions, or has not been started.
    fn run_third_party<T>(
        &mut self,
        call: impl FnOnce(&ThirdParty, &mut Store<Imports>) -> wasmtime::Result<T>,
    ) -> Result<Option<T>, Error> {
        let Some(indices) = self.runtime.third_party() else { return Ok(None) };
        let Some(mut instance) = self.instance.take() else { return Ok(None) };
        instance.store.set_epoch_deadline(self.runtime.deadline_ticks());
        let loaded = match instance.third_party.take() {
            Some(loaded) => Ok(loaded),
            None => indices.load(&mut instance.store, &instance.started),
        };
        match loaded.and_then(|loaded| Ok((call(&loaded, &mut instance.store)?, loaded))) {
            Ok((answer, loaded)) => {
                instance.third_party = Some(loaded);
                self.instance = Some(instance);
                Ok(Some(answer))
            }
            Err(fault) => {
                self.idle = Some(instance.store.into_data());
                Err(Error::Trap(fault))
            }
        }
    }

    /// Handles a hook payload of an agent program. If the answer takes time, [`Hooks::respond`] waits for it.
    ///
    /// [`Hooks::respond`]: crate::hooks::Hooks::respond
    pub fn respond(&mut self, program: &str, event: Option<&str>, payload: &[u8]) -> Result<Progress, Error> {
        self.run(|plugin, store| plugin.tollgate_hooks_programs().call_respond(store, program, event, payload))
    }

    /// The answer to a payload on which [`respond`](Self::respond) failed: asks a person where the program supports that.
    pub fn respond_to_fault(&mut self, program: &str, event: Option<&str>, payload: &[u8], why: &str) -> Result<Reply, Error> {
        self.run(|plugin, store| plugin.tollgate_hooks_programs().call_failed(store, program, event, payload, why))
    }

    /// Answers one JSON line, as `tollgate eval` does. Which hooks, extensions and skills are approved depends on the machine, so
    /// requests about them belong to [`Hooks::perform`](crate::hooks::Hooks::perform), which describes it.
    pub fn perform(&mut self, line: &[u8]) -> Result<Vec<u8>, Error> {
        self.run(|plugin, store| plugin.tollgate_hooks_operations().call_perform(store, line))
    }

    /// The length limit of a JSON line, in bytes.
    pub fn longest_line(&mut self) -> Result<u64, Error> {
        self.run(|plugin, store| plugin.tollgate_hooks_operations().call_longest_line(store))
    }

    /// Calls the guest with a deadline. After a failure the instance is discarded, because the state of its memory is unknown.
    fn run<T>(&mut self, call: impl FnOnce(&Plugin, &mut Store<Imports>) -> wasmtime::Result<T>) -> Result<T, Error> {
        let mut instance = match self.instance.take() {
            Some(instance) => instance,
            None => self.start()?,
        };
        instance.store.set_epoch_deadline(self.runtime.deadline_ticks());
        match call(&instance.plugin, &mut instance.store) {
            Ok(answer) => {
                self.instance = Some(instance);
                Ok(answer)
            }
            Err(fault) => {
                self.idle = Some(instance.store.into_data());
                self.servers.forget("the gate failed and was restarted; try again");
                Err(Error::Trap(fault))
            }
        }
    }

    fn start(&mut self) -> Result<GateInstance, Error> {
        let Some(imports) = self.idle.take() else {
            return Err(Error::Internal("the gate failed earlier; open it again".to_owned()));
        };
        let mut store = Store::new(self.runtime.engine(), imports);
        store.limiter(|imports| imports.limits());
        store.set_epoch_deadline(self.runtime.deadline_ticks());
        match self.runtime.start(&mut store) {
            Ok((plugin, started)) => {
                self.started += 1;
                Ok(GateInstance { store, plugin, started, third_party: None })
            }
            Err(fault) => {
                self.idle = Some(store.into_data());
                Err(Error::Trap(fault.context("the gate cannot be started")))
            }
        }
    }
}

fn limits(memory_bytes: usize) -> StoreLimits {
    StoreLimitsBuilder::new().memory_size(memory_bytes).build()
}
