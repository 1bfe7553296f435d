//! Commands that run confined: how confinement changes a ruling, and the grants given to the kernel.

use std::cell::OnceCell;

use super::check::RuleInputs;
use super::scratch::Scratch;
use super::{Gate, governance_questions};
use crate::call::{self, ShellCommand, ToolCall, shell};
use crate::config::confine::{Capability, ConfineMode, Confinement, user_question};
use crate::config::{Config, Policy};
use crate::confine::evidence::{self, EvidenceKey};
use crate::confine::wrapping::{self, Wrapping};
use crate::confine::{self, Context, Grants, RunDecision, RunPlan, is_reached, missing_grant};
use crate::effects::{Effect, Footprint, Operation, Unconfinable};
use crate::inflight::pending;
use crate::intents::file::Governance;
use crate::intents::guarded::GuardedFiles;
use crate::intents::intent::Intent;
use crate::intents::scope::Scope;
use crate::json::document::Document;
use crate::ports::{Expectation, Ports, Root};
use crate::programs::wiring::{SettingsPlace, SourceContent};
use crate::programs::{self, AgentProgram, Wiring};
use crate::ruling::{Code, Ruling};
use crate::state;
use serde_json::Value;

/// How the kernel would hold a command.
pub(super) struct ConfinementPlan<'a> {
    session: &'a str,
    capability: Capability,
    settings: Confinement,
    footprint: &'a Footprint,
    scratch: Vec<String>,
    /// The words that the command line ends with.
    words: Vec<String>,
    /// The key under which whoever runs the command finds what it may change.
    key: EvidenceKey,
    /// Whether every command goes through the confining program, even one that runs unconfined.
    runs_all: bool,
    /// The grants, computed on demand.
    grants: OnceCell<Grants>,
}

impl<'a> ConfinementPlan<'a> {
    /// Describes how a command of a session would be held.
    pub(super) fn new(
        session: &'a str,
        footprint: &'a Footprint,
        settings: Confinement,
        capability: Capability,
        key: EvidenceKey,
    ) -> Self {
        let (scratch, words) = (Vec::new(), Vec::new());
        Self { session, capability, settings, footprint, scratch, words, key, runs_all: false, grants: OnceCell::new() }
    }

    /// The plan for a command that runs confined.
    pub(super) fn run_plan(
        &self,
        intent: Option<&Intent>,
        scope: Option<&Scope>,
        guarded: &GuardedFiles,
        ports: &Ports,
    ) -> RunPlan {
        let Confinement { mode, network, .. } = self.settings;
        let grants = self.grants(scope, guarded, ports).clone();
        RunPlan { run: RunDecision::Confined, mode, network, intent: intent.cloned(), grants, say: None }
    }

    /// What the command may change, given what its intent owns.
    fn grants(&self, scope: Option<&Scope>, guarded: &GuardedFiles, ports: &Ports) -> &Grants {
        self.grants.get_or_init(|| {
            confine::grants(&Context {
                session: self.session,
                scope,
                settings: &self.settings,
                guarded,
                scratch: &self.scratch,
                footprint: self.footprint,
                capability: self.capability,
                ports,
            })
        })
    }

    /// Whether every command runs confined.
    pub(super) fn confines_all(&self) -> bool {
        self.settings.mode == ConfineMode::Always
    }

    /// Why the kernel cannot confine the command: another process does its work.
    pub(super) fn why_done_elsewhere(&self) -> Option<&String> {
        self.footprint.unconfinable.iter().find_map(|why| match why {
            Unconfinable::Elsewhere(why) => Some(why),
            Unconfinable::HalfWay(_) => None,
        })
    }

    /// Why confinement would stop the command half-way.
    fn why_stopped_half_way(&self) -> Option<&String> {
        self.footprint.unconfinable.iter().find_map(|why| match why {
            Unconfinable::HalfWay(why) => Some(why),
            Unconfinable::Elsewhere(_) => None,
        })
    }

    /// The ruling on a command that is in scope as far as can be seen; `None` if confinement makes no difference.
    pub(super) fn rule(
        &self,
        scope: &Scope,
        effects: &[Effect],
        unknowns: &[String],
        config: &Config,
        inputs: &RuleInputs<'_>,
    ) -> Option<Ruling> {
        let runs_program = effects.iter().any(|effect| effect.operation == Operation::Execute);
        let is_certain = unknowns.is_empty() && !runs_program;
        if is_certain && !self.confines_all() || self.why_done_elsewhere().is_some() {
            return None;
        }
        if let Some(why) = self.why_stopped_half_way() {
            let reason = format!(
                "commands run confined, and {why}; name the files in scope that it is for (`git restore --source BRANCH FILE`), or let a person run it"
            );
            return Some(Ruling::deny(Code::NotConfinable, reason, Vec::new()));
        }
        let is_denied = |is_meant: bool, policy: Policy| is_meant && policy == Policy::Deny;
        if is_denied(!unknowns.is_empty(), config.unknown) || is_denied(runs_program, config.programs) {
            return None;
        }
        let grants = self.grants(Some(scope), inputs.guarded, inputs.ports);
        if is_certain {
            // If the kernel cannot express what a command may do whose effects are certain, the command runs unconfined.
            let confined = is_reached(effects, grants);
            return Some(Ruling { confined, ..Ruling::allow(Code::InScope, Vec::new()) });
        }
        Some(match missing_grant(effects, self.footprint, grants) {
            Some(hindrance) => Ruling::deny(Code::NotConfinable, hindrance.reason(), Vec::new()),
            None => Ruling { confined: true, ..Ruling::allow(Code::Confined, Vec::new()) },
        })
    }
}

/// The key of a call in the evidence. If the agent program passes its commands to a program named in its settings, only the
/// command is known there.
pub(super) fn evidence_key(call: &ToolCall, command: Option<&ShellCommand>) -> EvidenceKey {
    let has_prefix = wiring_of(call).is_some_and(|wiring| wiring.shell_prefix.is_some());
    match command {
        Some(ShellCommand::Text { command, .. }) if has_prefix => {
            EvidenceKey::of_call(&call.session, &evidence::key_of_command(command))
        }
        _ => EvidenceKey::of_call(&call.session, &call.call),
    }
}

/// How the agent program of a call is wired.
fn wiring_of(call: &ToolCall) -> Option<&'static Wiring> {
    call.host.as_deref().and_then(programs::find)?.wiring.as_ref()
}

/// A command that a host is about to run.
#[derive(Debug, Clone, Copy)]
pub struct HostCommand<'a> {
    /// The session that it runs for.
    pub session: &'a str,
    /// The call that the gate has ruled on.
    pub call: Option<&'a str>,
    /// The program and its arguments.
    pub words: &'a [String],
    /// The folder in which it runs.
    pub cwd: &'a str,
    /// The confinement that the system can enforce.
    pub capability: Capability,
    /// Why the system cannot confine it, if it cannot.
    pub why: Option<&'a str>,
}

impl Gate {
    /// How the kernel would hold a call; `None` if it does not run a command, or if the settings or the system do not confine it.
    pub(super) fn plan_confinement<'a>(
        &mut self,
        call: &'a ToolCall,
        capability: Capability,
        footprint: &'a Footprint,
        config: &Config,
    ) -> Option<ConfinementPlan<'a>> {
        let command = call::shell_command(call, config).filter(|_| capability != Capability::None)?;
        let settings = self.confinement(config);
        if settings.mode == ConfineMode::Off {
            return None;
        }
        let key = evidence_key(call, Some(&command));
        let runs_all = wiring_of(call).is_some_and(|wiring| wiring.shell_prefix.is_some() || wiring.keeps_shell);
        let words = match command {
            ShellCommand::Text { command, .. } => vec!["-c".to_owned(), command],
            ShellCommand::Words(words) => words,
        };
        let scratch = Scratch::of(&call.session, &self.ports);
        let plan = ConfinementPlan::new(&call.session, footprint, settings, capability, key);
        Some(ConfinementPlan { scratch, words, runs_all, ..plan })
    }

    /// Saves the grants of a command that is to run confined, for the program that runs it. A program that runs every command is
    /// also told which one runs unconfined.
    pub(super) fn prepare(&self, intent: Option<&Intent>, plan: &ConfinementPlan<'_>, confined: bool) {
        if confined {
            let scope = intent.map(|intent| &intent.owned_scope);
            self.save_run_plan(plan, &plan.run_plan(intent, scope, &self.guarded, &self.ports));
        } else if plan.runs_all {
            let Confinement { mode, network, .. } = plan.settings;
            let (intent, grants) = (intent.cloned(), Grants::default());
            self.save_run_plan(plan, &RunPlan { run: RunDecision::Plain, mode, network, intent, grants, say: None });
        }
    }

    /// Whether an unconfined command goes through the confining program all the same, so that it runs in a shell of its own: in a
    /// shell that outlives the call, the next command would start in a different folder than the gate assumes.
    pub(crate) fn needs_own_shell(&self, call: &ToolCall) -> bool {
        let keeps_shell = wiring_of(call).is_some_and(|wiring| wiring.keeps_shell);
        let key = || evidence_key(call, call::shell_command(call, &self.config.last()).as_ref());
        keeps_shell && evidence::is_prepared(&key(), &self.ports)
    }

    fn save_run_plan(&self, plan: &ConfinementPlan<'_>, answer: &RunPlan) {
        let words = plan.words.iter().cloned().map(Some).collect();
        // If that is not possible, the host asks again. A command inside a confined one cannot access the state, and the outer
        // one has already reported the call.
        let _ = evidence::prepare(&plan.key, words, answer, self.ports.clock.now(), &self.ports);
    }

    /// The program that runs commands confined; `None` if this host has none, or the program is missing.
    pub(crate) fn confiner(&self) -> Option<&str> {
        self.confiner.program(&self.ports)
    }

    /// Whether an agent program's settings make it pass its commands to the confining program. One settings file that says
    /// otherwise is enough to make it false.
    pub(crate) fn has_shell_prefix(&self, program: &AgentProgram) -> bool {
        const MAX_BYTES: u64 = 1 << 20;
        let Some(wiring) = &program.wiring else { return false };
        // If nothing confines, the settings need not be read.
        let Some(prefix) = wiring.shell_prefix.as_ref().filter(|_| self.confiner.can_confine()) else { return false };
        let pointer = format!("/env/{}", prefix.variable);
        let named = wiring.settings.iter().filter(|settings| settings.content == SourceContent::Hooks).filter_map(|settings| {
            let (root, path) = match settings.place {
                SettingsPlace::Workspace(path) => (Root::Project, path),
                SettingsPlace::Home(path) => (Root::Home, path),
                SettingsPlace::Own { .. } => return None,
            };
            let text = self.ports.workspace.read(root, path, MAX_BYTES).ok()?;
            // A file that cannot be read may say otherwise.
            let Ok(settings) = Document::parse(&String::from_utf8_lossy(&text)) else { return Some(String::new()) };
            settings.value().pointer(&pointer).map(|value| value.as_str().unwrap_or_default().to_owned())
        });
        let named: Vec<String> = named.collect();
        !named.is_empty() && named.iter().all(|path| self.confiner.is_confiner(path, &self.ports))
    }

    /// The arguments of a call whose command runs confined; `None` if nothing could run it confined.
    pub(crate) fn confined_args(&self, call: &ToolCall) -> Option<Value> {
        let path = self.confiner()?;
        let program = match wiring_of(call) {
            Some(wiring) if wiring.checks_paths => self.confiner.name(&self.ports).unwrap_or(path),
            _ => path,
        };
        let wrapping = Wrapping { program, shell: wrapping::SHELL, session: &call.session, call: &call.call };
        call::with_command(call, &self.config.last(), |command| match command {
            ShellCommand::Text { command, shell } => {
                Wrapping { shell: shell.as_deref().unwrap_or(wrapping::SHELL), ..wrapping }.text(&command).into()
            }
            ShellCommand::Words(words) => wrapping.words(&words).into(),
        })
    }

    /// The confinement settings in force.
    pub(super) fn confinement(&mut self, config: &Config) -> Confinement {
        let user = match self.look(&[user_question()]).first() {
            Some(facts) => self.user.refresh(facts, &self.ports).clone(),
            None => Default::default(),
        };
        Confinement::new(&user, &config.confine)
    }

    /// Whether the user has turned confinement off.
    pub(crate) fn is_confinement_off(&mut self) -> bool {
        self.confinement(&Config::default()).mode == ConfineMode::Off
    }

    /// Plans a command that a host is about to run: how it runs and what it may change.
    pub fn confine(&mut self, command: &HostCommand<'_>) -> RunPlan {
        let HostCommand { session, call, words, cwd, capability, why } = *command;
        let facts = self.look(&governance_questions());
        let governance = self.governance_by(&facts);
        if let Some(file) = facts.get(2) {
            self.config.refresh(file, &self.ports);
        }
        let config = self.config.last();
        let settings = self.confinement(&config);
        let plain = |say: Option<String>, intent: Option<Intent>| RunPlan {
            run: RunDecision::Plain,
            mode: settings.mode,
            network: settings.network,
            intent,
            grants: Grants::default(),
            say,
        };
        let intents = match governance {
            Governance::By(intents) => Some(intents),
            Governance::Unreadable(_) | Governance::Inaccessible(_) if config.strict => None,
            _ => return plain(None, None),
        };
        if settings.mode == ConfineMode::Off {
            return plain(None, None);
        }
        // The intent that the call was ruled under, whatever has been selected since.
        let pending = call.and_then(|call| self.recorder.recall(&pending::key(session, call), &self.ports));
        let is_held = pending.as_ref().is_some_and(|pending| pending.confined && pending.open_ended.is_some());
        let intent = match (&intents, pending) {
            (Some(intents), Some(pending)) => intents.find(&pending.intent).cloned(),
            (Some(intents), None) => self.selected_intent(session, intents),
            (None, _) => None,
        };
        let intent = intent.filter(|intent| intent.status.is_open());
        if capability == Capability::None {
            if let Some(call) = call {
                evidence::mark(&EvidenceKey::of_call(session, call), RunDecision::Plain, &self.ports);
            }
            let why = why.unwrap_or("this system cannot confine commands");
            if is_held {
                let say =
                    format!("the command does not run: it was allowed only because it was going to run confined, and {why}");
                return RunPlan { run: RunDecision::Refused, ..plain(Some(say), intent) };
            }
            if config.strict {
                let say = format!("the command does not run: {why}, and the settings are strict; let a person run it");
                return RunPlan { run: RunDecision::Refused, ..plain(Some(say), intent) };
            }
            let say = self.is_first(session).then(|| format!("commands run unconfined: {why}"));
            return plain(say, intent);
        }
        self.guarded.look_up(&self.ports);
        let footprint = shell::footprint_of_words(words, cwd, &*self.ports.workspace);
        let key = EvidenceKey::of_call(session, call.unwrap_or_default());
        let plan = ConfinementPlan {
            scratch: Scratch::of(session, &self.ports),
            words: words.to_vec(),
            ..ConfinementPlan::new(session, &footprint, settings, capability, key)
        };
        let scope = intent.as_ref().map(|intent| &intent.owned_scope);
        let answer = plan.run_plan(intent.as_ref(), scope, &self.guarded, &self.ports);
        if call.is_some() {
            self.save_run_plan(&plan, &answer);
            evidence::mark(&plan.key, RunDecision::Confined, &self.ports);
        }
        answer
    }

    /// Whether this is the first time that a session is told that its commands run unconfined.
    fn is_first(&self, session: &str) -> bool {
        let path = state::path("unconfined", &[session]);
        state::replace(&path, b"{}", Expectation::Absent, &self.ports).is_ok()
    }
}
