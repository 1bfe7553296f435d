//! The gate: rules on calls, settles them, and tracks which intent each session works for.

mod adopting;
mod aftermath;
mod check;
pub mod condition;
mod confined;
mod events;
mod guard;
mod late;
mod left_behind;
mod notices;
pub mod on_fault;
mod own_programs;
mod prompt;
mod reconcile;
mod recorder;
mod scratch;
mod servers;
mod settle;
mod third_party;
mod unentered;
mod unrecorded;

use std::rc::Rc;

use serde_json::Value;

use crate::augment::{Augmentation, Knowledge, LookupFinding, NoteListing, Plan};
use crate::call::{self, ToolCall};
use crate::config::confine::UserSettings;
use crate::config::{self, Config};
use crate::confine::{Confiner, evidence};
use crate::extensions::{self, Extensions};
use crate::hooks::Hooks;
use crate::hooks::components::feedback::HookFeedback;
use crate::hooks::event::Event;
use crate::hooks::registry::NeededHooks;
use crate::inflight::late as watch;
use crate::inflight::lease;
use crate::inflight::pending::{self, Ended};
use crate::inflight::rulings;
use crate::intents::context::{self, MAX_RECENT};
use crate::intents::diagnosis::Diagnosis;
use crate::intents::file::{self, Governance, Intents};
use crate::intents::guarded::GuardedFiles;
use crate::intents::intent::{Intent, IntentId};
use crate::intents::selection::{self, Selection};
use crate::ledger::LedgerJobs;
use crate::ledger::entry::Entry;
use crate::ledger::reading::{self, Filter};
use crate::ledger::{self, checkpoint};
use crate::ports::{Facts, FileFault, Ports, Question};
use crate::servers::hub::Hub;
use crate::state;
pub use confined::HostCommand;
use late::ComparisonTime;
use notices::Notices;
use on_fault::OnFault;
use recorder::Recorder;
pub use settle::{CallOutcome, Settlement};

/// How much of the ledger is searched for recent changes.
const RECENT_BYTES: u64 = 1 << 20;

/// The gate of one workspace. It keeps nothing in memory that it could not read again.
pub struct Gate {
    ports: Ports,
    intents: file::IntentsCache,
    config: config::ConfigCache,
    selections: selection::SelectionCache,
    /// Whether the workspace was governed when last inspected. If so, a call's files are asked for together with the gate's own,
    /// in one crossing; otherwise they are not inspected, because nothing will judge them.
    governed: bool,
    recorder: Recorder,
    /// The user's own files, which an agent may not change.
    guarded: GuardedFiles,
    /// The user's settings about confinement.
    user: UserSettings,
    /// The program that runs commands confined, if this host has one.
    confiner: Confiner,
    /// Programs of hooks under way that run confined.
    running: Vec<own_programs::Running>,
    notices: Notices,
    /// Operations that wait for third-party hooks, and the feedback of hooks that others wait for.
    waiting_for_hooks: Vec<third_party::PendingAnswer>,
    hook_feedback: Vec<(u64, HookFeedback)>,
    /// The agent program above the caller, if the host has reported one.
    pub(crate) agent_above: Option<String>,
    /// Work that takes longer than one answer.
    pub(crate) ledger_jobs: LedgerJobs,
    knowledge: Knowledge,
    hooks: Hooks,
    extensions: Extensions,
    /// Connections to MCP servers.
    servers: Hub,
}

/// Why an intent could not be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no intent with this id.
    #[error("there is no intent `{asked}`; choose one of: {open}")]
    UnknownIntent {
        /// The id that was asked for.
        asked: String,
        /// The open intents.
        open: String,
    },
    /// It is completed or abandoned.
    #[error("the intent {intent} is {status} and accepts no more changes; choose one of: {open}")]
    IntentClosed {
        /// The intent.
        intent: String,
        /// Its status.
        status: String,
        /// The open intents.
        open: String,
    },
    /// The workspace has no intents that can be read.
    #[error("{0}")]
    NotGoverned(String),
    /// The selection could not be saved.
    #[error("the selection cannot be saved: {0}")]
    NotKept(FileFault),
}

impl Refusal {
    /// The code of the refusal, stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownIntent { .. } => "unknown_intent",
            Self::IntentClosed { .. } => "intent_closed",
            Self::NotGoverned(_) => "not_governed",
            Self::NotKept(_) => "workspace_fault",
        }
    }
}

impl Gate {
    /// Creates a gate over a host's ports.
    pub fn new(ports: Ports) -> Self {
        let mut hooks = Hooks::default();
        hooks.registry.translate_with(call::claude_words::calls);
        Self {
            ports,
            intents: file::IntentsCache::default(),
            config: config::ConfigCache::default(),
            selections: selection::SelectionCache::default(),
            governed: false,
            recorder: Recorder::default(),
            guarded: GuardedFiles::default(),
            user: UserSettings::default(),
            confiner: Confiner::default(),
            running: Vec::new(),
            notices: Notices::default(),
            waiting_for_hooks: Vec::new(),
            hook_feedback: Vec::new(),
            agent_above: None,
            ledger_jobs: LedgerJobs::default(),
            knowledge: Knowledge::default(),
            hooks,
            extensions: Extensions::default(),
            servers: Hub::default(),
        }
    }

    /// The host's ports.
    pub(crate) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Makes an intent the session's only active one. Calls under way stay with the intent under which they were ruled on.
    pub fn select(&mut self, session: &str, intent: &str) -> Result<Intent, Refusal> {
        let found = self.selectable(intent)?;
        let now = self.ports.clock.now();
        self.intents.keep_parsed(now, &self.ports);
        let select = |selection: &mut Selection| {
            selection.intent = Some(found.id.clone());
            (selection.by, selection.since) = (None, Some(now.to_string()));
        };
        self.change(session, select).map_err(Refusal::NotKept)?;
        // A session begins here, which is a good moment to clean up what others left behind.
        self.settle_left_behind(Ended::Nothing, now);
        if self.look(&[watch::question()]).first().is_some_and(watch::is_open) {
            self.compare_late(ComparisonTime::Call);
        }
        lease::sweep(now, &self.ports);
        evidence::sweep(now, &self.ports);
        rulings::sweep(now, &self.ports);
        checkpoint::begin(&self.ports);
        Ok(found)
    }

    /// Whether an intent can be selected; nothing is changed.
    pub fn selectable(&mut self, intent: &str) -> Result<Intent, Refusal> {
        let (found, intents) = self.find(intent)?;
        if found.status.is_open() {
            return Ok(found);
        }
        Err(Refusal::IntentClosed { intent: found.to_string(), status: found.status.to_string(), open: intents.open_ones() })
    }

    /// Finds an intent; returns it with all intents.
    fn find(&mut self, intent: &str) -> Result<(Intent, Rc<Intents>), Refusal> {
        let intents = match self.governance() {
            Governance::By(intents) => intents,
            Governance::Unreadable(why) | Governance::Inaccessible(why) => return Err(Refusal::NotGoverned(why)),
            Governance::None => {
                let why = format!(
                    "there are no intents here: `{}` is missing; a person can set them up with `tollgate init`",
                    file::PATH
                );
                return Err(Refusal::NotGoverned(why));
            }
        };
        let id = IntentId::try_from(intent.to_owned()).ok();
        match id.and_then(|id| intents.find(&id).cloned()) {
            Some(found) => Ok((found, intents)),
            None => Err(Refusal::UnknownIntent { asked: intent.to_owned(), open: intents.open_ones() }),
        }
    }

    /// Lets a sub-agent's session work for its parent's intent until it selects one of its own.
    pub fn inherit(&mut self, session: &str, parent: &str) -> Result<(), FileFault> {
        match self.governance() {
            Governance::None => Ok(()),
            _ => self.change(session, |selection| selection.parent = Some(parent.to_owned())),
        }
    }

    /// The session's intent, if it has one that is still in the file.
    pub fn current(&mut self, session: &str) -> Option<Intent> {
        let Governance::By(intents) = self.governance() else { return None };
        self.selected_intent(session, &intents)
    }

    /// What the model should know about the session's intent; empty if it has none.
    pub fn context(&mut self, session: &str, limit_chars: usize) -> String {
        self.current(session).map_or_else(String::new, |intent| self.prompt_context(&intent, limit_chars))
    }

    /// The context for an intent, whichever session works for it.
    pub fn context_of(&mut self, intent: &str, limit_chars: usize) -> Result<String, Refusal> {
        let (intent, _) = self.find(intent)?;
        Ok(self.prompt_context(&intent, limit_chars))
    }

    fn prompt_context(&self, intent: &Intent, limit_chars: usize) -> String {
        let files = context::files_in_scope(intent, self.ports.workspace.as_ref());
        let recent = reading::newest(&Filter::of_intent(intent.id.as_str()), MAX_RECENT, None, RECENT_BYTES, &self.ports);
        let recent: Vec<String> = recent.unwrap_or_default().entries.iter().map(Entry::summary).collect();
        context::context(intent, &files, &recent, limit_chars)
    }

    /// Plans what to look up about the concepts that a call names.
    pub fn plan_lookups(&mut self, call: &ToolCall) -> Plan {
        match self.knowledge.named_concepts(call, &self.ports) {
            Err(skipped) => Plan { skipped: Some(skipped), ..Plan::default() },
            Ok(named) => {
                let config = self.settings();
                let start = |server: &str| crate::servers::start(server, &self.ports);
                let mut plan = self.knowledge.plan(call, named, &config.augment, &start, &self.ports);
                self.confine_servers(&mut plan, &call.session);
                plan
            }
        }
    }

    /// What is known about a call's concepts.
    pub fn augment(&mut self, call: &ToolCall, found: &[LookupFinding]) -> Augmentation {
        match self.knowledge.named_concepts(call, &self.ports) {
            Err(skipped) => Augmentation { skipped: Some(skipped), ..Augmentation::default() },
            Ok(named) => {
                let config = self.settings();
                let reader = call::reader(call, &config);
                self.knowledge.apply(call, named, reader, found, &config.augment, &self.ports)
            }
        }
    }

    /// The notes whose names contain these words.
    pub fn concepts(&mut self, words: &str, limit: usize) -> NoteListing {
        let config = self.settings();
        self.knowledge.list_notes(words, limit, &config.augment, &self.ports)
    }

    /// Retries entries that could not be appended to the ledger, once their delay is over.
    pub fn retry_ledger(&mut self) {
        self.recorder.retry(&self.ports);
    }

    /// How many milliseconds from now the next retry is due.
    pub fn retry_due_in(&self) -> Option<u64> {
        self.recorder.due_in(&self.ports)
    }

    /// Whether a call that may change something was allowed, and nothing has reported how it ended.
    pub(crate) fn is_under_way(&self, session: &str, call: &str) -> bool {
        self.recorder.recall(&pending::key(session, call), &self.ports).is_some()
    }

    /// The hooks as they are declared now, and the host's ports.
    pub(crate) fn hooks(&mut self) -> (&mut Hooks, &Ports) {
        self.hooks_needed(NeededHooks::All)
    }

    /// The same, if only some hooks are needed.
    pub(crate) fn hooks_needed(&mut self, needed: NeededHooks<'_>) -> (&mut Hooks, &Ports) {
        let config = self.settings();
        let facts = self.look(&extensions::questions());
        self.refresh_extensions(&facts, &config);
        self.hooks.refresh(needed, config.hooks, &self.ports);
        (&mut self.hooks, &self.ports)
    }

    /// The extensions as they are now, the hooks, and the host's ports.
    pub(crate) fn extensions(&mut self) -> (&Extensions, &Hooks, &Ports) {
        self.hooks();
        (&self.extensions, &self.hooks, &self.ports)
    }

    /// Refreshes the extensions from what the host saw of [`extensions::questions`], so that their hooks are in effect at once.
    fn refresh_extensions(&mut self, facts: &[Facts], config: &Config) {
        if self.extensions.refresh(facts, &config.extensions, self.hooks.machine(), &self.ports) {
            self.hooks.registry.set_extension_hooks(self.extensions.hooks());
        }
    }

    /// Reports an event to hooks. Returns whether any hook answers it; if so, a step brings the answer under this number.
    pub(crate) fn tell_hooks(&mut self, event: Event, number: u64) -> bool {
        self.hooks_needed(NeededHooks::For(&event.name)).0.queue_for_gate(event, number)
    }

    /// The same, if declarations were refreshed just now.
    pub(crate) fn tell_hooks_again(&mut self, event: Event, number: u64) -> bool {
        self.hooks.registry.load_for(&event.name, &self.ports);
        self.hooks.queue_for_gate(event, number)
    }

    /// What hooks answered to events that [`tell_hooks`](Self::tell_hooks) reported.
    pub(crate) fn take_hook_answers(&mut self) -> Vec<(u64, Value)> {
        self.hooks.take_answers()
    }

    /// A number that no command, run or question of this instance has yet.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.hooks.next_number()
    }

    /// Whether the user lets calls run that the gate could not judge.
    pub(crate) fn allows_on_fault(&self) -> bool {
        OnFault::of_user(&self.ports) == OnFault::Allow
    }

    /// Whether the workspace is governed.
    pub(crate) fn is_governed(&mut self) -> bool {
        !matches!(self.governance(), Governance::None)
    }

    /// The governance in force, and what is wrong with the file as it is now.
    pub(crate) fn intents(&mut self) -> (Governance, &[Diagnosis]) {
        let governance = self.governance();
        (governance, self.intents.diagnoses(&self.ports))
    }

    /// Refreshes the settings, so that ledger entries are redacted by the current ones.
    pub(crate) fn refresh_settings(&mut self) {
        self.settings();
    }

    fn settings(&mut self) -> Rc<Config> {
        if let Some(file) = self.look(&[Question::project(config::PATH)]).first() {
            self.config.refresh(file, &self.ports);
        }
        self.config.last()
    }

    fn change(&mut self, session: &str, change: impl FnOnce(&mut Selection)) -> Result<(), FileFault> {
        let mut selection = selection::read(session, &self.ports);
        session.clone_into(&mut selection.session);
        change(&mut selection);
        selection::keep(&selection, &self.ports)
    }

    fn governance(&mut self) -> Governance {
        let facts = self.look(&governance_questions());
        self.governance_by(&facts)
    }

    /// The governance, given what the host saw of [`governance_questions`].
    fn governance_by(&mut self, facts: &[Facts]) -> Governance {
        let governance = match facts {
            [folder, file, ..] => self.intents.governance(folder, file, &self.ports),
            _ => Governance::None,
        };
        self.governed = !matches!(governance, Governance::None);
        governance
    }

    fn look(&self, questions: &[Question]) -> Vec<Facts> {
        self.ports.workspace.inspect(questions)
    }
}

/// The questions that tell whether the ledger may have been replaced or changed.
fn ledger_questions() -> [Question; 2] {
    [state::question(checkpoint::KEPT), Question::project(ledger::PATH)]
}

/// The questions that tell whether and how a workspace is governed.
fn governance_questions() -> [Question; 3] {
    [Question::project(".orchestration"), Question::project(file::PATH), Question::project(config::PATH)]
}
