//! Starts and ends runs.

use std::rc::Rc;

use serde_json::Value;

use super::super::bundle::Checked;
use super::super::claude;
use super::super::declaration::{Action, Hook};
use super::super::event;
use super::super::outcome::RunOutcome;
use super::super::program::{Copied, ResolvedProgram};
use super::super::registry::{MAX_PARTS, Source, TOO_MANY};
use super::super::run::{Run, RunStage, RunStatus};
use super::super::schedule::RunKey;
use super::super::trust::{self, Fingerprint, Trust};
use super::Hooks;
use crate::engine::{Confine, Copy, Order, RunEnding, RunEnvironment};
use crate::json::object;
use crate::ports::{Ports, Question, Root};

/// The variables that a program inherits. The rest may contain secrets.
const ENVIRONMENT: &[&str] = &["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "SystemRoot"];

/// How much of each output stream the host keeps.
const OUTPUT_BYTES: u64 = 1 << 20;

/// Maximum number of runs of hooks without approval examined in one step, because each may mean reading a folder.
pub(super) const MAX_EXAMINED: usize = 256;

/// The folder for copies of scripts while they run, below the home folder.
const COPIES: &str = ".tollgate/run";

/// The default time limits for commands of lifecycle events, and for everything else.
const LIFECYCLE_MS: u64 = 30_000;
const BACKGROUND_MS: u64 = 60_000;

impl Hooks {
    /// Hands a run that has its slot to the host, unless it may not run.
    pub(super) fn begin(&mut self, key: RunKey, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        let (hook, source) = (run.hook.clone(), run.source);
        if run.part == TOO_MANY {
            return self.finish(key, too_many_parts(), ports);
        }
        if matches!(hook.action, Action::Component(_)) {
            return self.begin_component(key, ports);
        }
        let program = match self.find_permitted(&hook, source, ports) {
            Ok(program) => program,
            Err(outcome) => return self.finish(key, *outcome, ports),
        };
        let now = (self.now, ports.clock.now());
        let Some(run) = self.schedule.get_mut(key) else { return };
        run.began.get_or_insert(now);
        run.attempts += 1;
        let run = run.clone();
        let order = match self.order(&run, program, ports) {
            Ok(order) => order,
            Err(outcome) => return self.finish(key, *outcome, ports),
        };
        let command = self.command(order);
        self.schedule.mark_running(key, command, self.now.saturating_add(self.time_ms(&run)));
        self.report_status(key, RunStatus::Running, ports);
    }

    /// What may run, if anything. A workspace's hook is examined each time, so that what runs is what was approved.
    fn find_permitted(
        &mut self,
        hook: &Rc<Hook>,
        source: Source,
        ports: &Ports,
    ) -> Result<Option<ResolvedProgram>, Box<RunOutcome>> {
        if source != Source::Workspace {
            return Ok(None);
        }
        let id = &hook.id;
        if let Some(owner) = &hook.owner {
            let failed = |why: String| RunOutcome::boxed(RunStatus::Failed, &ports.secrets.redact_with(&why, &hook.secrets));
            let fingerprint = trust::command_fingerprint(hook, false, &self.machine, ports).map_err(failed)?;
            let trust = trust::of_owner(owner, &fingerprint, &self.machine, ports).map_err(failed)?;
            if trust == Trust::Approved {
                return Ok(fingerprint.program);
            }
            let name = &owner.extension;
            let why = format!(
                "the extension `{name}` has changed since it was approved; a person can review and approve it: `tollgate extensions approve {name}`"
            );
            ports.warn(&format!("the hook `{id}` does not run: {why}"));
            return Err(RunOutcome::boxed(RunStatus::Skipped, &why));
        }
        // Such hooks do not run in any case, so a flood of them is not examined and does not delay other hooks.
        if !self.approvals.was_approved(id, &self.machine, ports) {
            self.examined += 1;
            if self.examined > MAX_EXAMINED {
                return Err(skipped_outcome(id, Trust::New.reason()));
            }
        }
        let fingerprint = trust::command_fingerprint(hook, false, &self.machine, ports)
            .map_err(|why| RunOutcome::boxed(RunStatus::Failed, &ports.secrets.redact_with(&why, &hook.secrets)))?;
        match self.approvals.trust(hook, &fingerprint, &self.machine, ports) {
            Trust::Approved => Ok(fingerprint.program),
            trust => Err(self.request_approval(id, &fingerprint, trust, ports)),
        }
    }

    /// Tells a person, once, that a hook waits for approval. Returns how its run ends.
    pub(super) fn request_approval(
        &mut self,
        id: &str,
        fingerprint: &Fingerprint,
        trust: Trust,
        ports: &Ports,
    ) -> Box<RunOutcome> {
        let (name, why, notice, before) = (trust.as_str(), trust.reason(), trust.notice(), trust.previous());
        let digest = fingerprint.digest.to_string();
        if !self.asked.iter().any(|(known, asked)| known == id && *asked == digest) {
            self.asked.retain(|(known, _)| known != id);
            self.asked.push((id.to_owned(), digest.clone()));
            ports.warn(&format!("the hook `{id}` of this workspace does not run: {why}; `tollgate hooks show {id}` shows it"));
            let mut shows = fingerprint.describe(ports);
            if let Some(fields) = shows.as_object_mut() {
                fields.insert("before".to_owned(), before);
            }
            let notice = notice.map(str::to_owned);
            self.command(Order::Approval { hook: id.to_owned(), digest, why: name, notice, shows });
        }
        skipped_outcome(id, why)
    }

    /// The order for the host to carry out a run.
    fn order(&self, run: &Run, program: Option<ResolvedProgram>, ports: &Ports) -> Result<Order, Box<RunOutcome>> {
        let data = (*run.event.data).clone();
        let mut event = vec![("event", Value::from(&*run.event.name)), ("hook", run.hook.id.as_str().into())];
        event.push(("session_id", run.event.session.as_deref().map(Value::from).unwrap_or_default()));
        event.push(("data", data));
        let mut event = match &run.hook.claude {
            Some(declared) => {
                let call = self.claude_call(run, &run.event.data);
                claude::payload::payload(declared, &run.event, call, &self.machine)
            }
            None => object(&mut event),
        };
        let surroundings = self.run_environment(run);
        match &run.hook.action {
            Action::Command { words, shell } => {
                let copied = program.as_ref().and_then(|program| program.copied.as_ref());
                let copy = copied.map(|copied| self.copy_order(copied, ports)).transpose()?;
                let argv = match program {
                    Some(program) => program.argv,
                    None if *shell => ["sh", "-c"].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect(),
                    None => words.clone(),
                };
                let session = run.event.session.as_deref().map(str::to_owned);
                let confine = run.hook.confine.then_some(Confine { session });
                Ok(Order::Run { argv, stdin: event.to_string(), copy, surroundings, confine })
            }
            Action::Prompt(prompt) => {
                let runner = self.registry.user_settings().prompt_runner.clone().filter(|_| !self.prompts_by_host);
                if runner.is_none() && !self.prompts_by_host {
                    let why = "nothing is configured to run prompts; name a command in `hooks.prompt_runner` of `~/.tollgate/config.json`";
                    return Err(RunOutcome::boxed(RunStatus::Failed, why));
                }
                // Secrets are looked for in the texts themselves, before JSON writes line breaks and quotes in its own way.
                ports.secrets.redact_value(&mut event, &run.hook.secrets);
                let prompt = format!("{prompt}\n\nThis was triggered by the event:\n{event}\n");
                let text = ports.secrets.redact_with(&prompt, &run.hook.secrets).into_owned();
                let words = runner.as_ref().and_then(Value::as_array).into_iter().flatten();
                let argv = words.filter_map(|word| word.as_str().map(str::to_owned)).collect();
                Ok(Order::Prompt { text, argv, surroundings })
            }
            // Components are called, not run; see `asking`.
            Action::Component(_) => Err(RunOutcome::boxed(RunStatus::Failed, "a component was about to be run as a program")),
        }
    }

    /// The call that a run of a Claude Code hook is about.
    pub(super) fn claude_call(&self, run: &Run, data: &Value) -> Option<claude::call::ClaudeCall> {
        let folder = claude::payload::folder(&run.event, &self.machine);
        (self.registry.translate)(data, &folder).into_iter().nth(run.part)
    }

    fn run_environment(&self, run: &Run) -> RunEnvironment {
        let mut set = vec![
            ("PATH", self.machine.path_variable()),
            ("TOLLGATE_EVENT", (*run.event.name).to_owned()),
            ("TOLLGATE_HOOK", run.hook.id.clone()),
        ];
        if run.hook.claude.is_some() {
            set.push(("CLAUDE_PROJECT_DIR", self.machine.workspace.clone()));
        }
        let owner = run.hook.owner.as_deref();
        if let Some(owner) = owner {
            let folder = self.machine.absolute(&owner.folder);
            set.extend([("TOLLGATE_EXTENSION", folder.clone()), ("CLAUDE_PLUGIN_ROOT", folder)]);
        }
        let settings = owner.into_iter().flat_map(|owner| owner.variables.iter().cloned());
        RunEnvironment {
            hook: run.hook.id.clone(),
            run: self.run_id(run),
            cwd: String::new(),
            inherit: ENVIRONMENT.iter().map(|name| (*name).to_owned()).collect(),
            // What the gate sets comes last, so that no setting of an extension can replace it.
            set: settings.chain(set.into_iter().map(|(name, value)| (name.to_owned(), value))).collect(),
            output_bytes: OUTPUT_BYTES,
        }
    }

    /// The order to copy a script: the files, the digest that each must have, the words that become paths of the copy, and the
    /// folders in which the copy may be, best first.
    fn copy_order(&self, copied: &Copied, ports: &Ports) -> Result<Copy, Box<RunOutcome>> {
        let folders = self.copy_folders(ports);
        if folders.is_empty() {
            let why = "its script cannot be copied: your home folder and the folder for temporary files are in the workspace; set TMPDIR to another";
            return Err(RunOutcome::boxed(RunStatus::Failed, why));
        }
        let file = |(path, digest): &Checked| (path.clone(), digest.to_string());
        Ok(Copy { files: copied.files.iter().map(file).collect(), arguments: copied.words.clone(), folders })
    }

    /// The folders in which a copy may be. The user's own folder is better than the one for temporary files, where interpreters
    /// may find other people's files in the folders above. Neither is used if it is in the workspace, because anyone who can
    /// write there could replace the copy.
    fn copy_folders(&self, ports: &Ports) -> Vec<String> {
        let home = Question { root: Root::Home, path: COPIES.to_owned(), digest: false };
        let temp = self.machine.temp.as_ref().map(Question::project);
        let looked_at = ports.workspace.inspect(&std::iter::once(home).chain(temp).collect::<Vec<_>>());
        let paths = looked_at.into_iter().filter_map(|facts| facts.real_path);
        paths.filter(|path| self.machine.is_absolute(path)).collect()
    }

    pub(super) fn stop(&mut self, key: RunKey, status: RunStatus) {
        if let Some(command) = self.schedule.stop(key, status, self.now) {
            self.command(Order::Cancel(command));
        }
    }

    pub(super) fn cancel_run(&mut self, key: RunKey, why: &str, ports: &Ports) {
        match self.schedule.get(key).map(|run| run.stage) {
            Some(RunStage::Running { .. }) => self.stop(key, RunStatus::Canceled),
            Some(stage) if !stage.is_active() => self.finish(key, RunOutcome::of(RunStatus::Canceled, why), ports),
            _ => {}
        }
    }

    pub(super) fn finish_run(&mut self, key: RunKey, ending: &RunEnding, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        if matches!(run.stage, RunStage::Ending { .. }) {
            return self.confirm_end(key, ports);
        }
        let outcome = RunOutcome::of_hook(ending, &run.hook, ports);
        self.settle(key, outcome, ports);
    }

    /// Settles a run that was told to end, once it has ended or did not report back.
    pub(super) fn confirm_end(&mut self, key: RunKey, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        let RunStage::Ending { status, .. } = run.stage else { return };
        let reason = if status == RunStatus::Timeout {
            format!("it took longer than {} ms", self.time_ms(run))
        } else {
            "it was canceled".to_owned()
        };
        if status == RunStatus::Timeout {
            ports.warn(&format!("the hook `{}` was stopped: {reason}", run.hook.id));
        }
        self.settle(key, RunOutcome::of(status, &reason), ports);
    }

    /// The time limit of a run.
    fn time_ms(&self, run: &Run) -> u64 {
        let is_lifecycle = matches!(run.hook.action, Action::Command { .. }) && !event::is_background(&run.event.name);
        let usual = if is_lifecycle { LIFECYCLE_MS } else { BACKGROUND_MS };
        // A workspace does not decide how long the user's own hooks may take: a guard that runs out of time guards nothing.
        let of_workspace = run.source == Source::Workspace;
        let configured = if of_workspace { self.settings.timeout_ms } else { None };
        let configured = configured.or(self.registry.user_settings().timeout_ms);
        run.hook.timeout_ms.or(configured).unwrap_or(usual)
    }

    /// Ends a run, or lets it wait for a retry.
    pub(super) fn settle(&mut self, key: RunKey, outcome: RunOutcome, ports: &Ports) {
        let Some(run) = self.schedule.get(key) else { return };
        let again = matches!(outcome.status, Some(RunStatus::Failed | RunStatus::Timeout))
            && run.attempts <= run.hook.retry.count
            && self.closing.is_none();
        if again {
            let chance = if run.hook.retry.jitter {
                ports.random.random_bytes().iter().fold(0, |sum, byte| sum << 4 ^ u64::from(*byte))
            } else {
                0
            };
            let wait = run.hook.retry.wait_ms(run.attempts, chance);
            self.schedule.wait_for_retry(key, self.now.saturating_add(wait));
            self.report_status(key, RunStatus::Queued, ports);
        } else {
            self.finish(key, outcome, ports);
        }
    }

    pub(super) fn finish(&mut self, key: RunKey, outcome: RunOutcome, ports: &Ports) {
        let Some(run) = self.schedule.end(key) else { return };
        let record = self.record_end(&run, outcome, ports);
        let Some(chain) = run.chain else { return };
        if let Some(chain) = self.chains.get_mut(&chain) {
            chain.record = record;
        }
        self.advance(chain, ports);
    }
}

/// The outcome of a call with more parts than a hook is run for: it is denied, because the hook has not seen all of it.
fn too_many_parts() -> RunOutcome {
    let why = format!("the call changes more than {MAX_PARTS} files, more than a hook can be told about; split it");
    let answer = [("continue".to_owned(), false.into()), ("systemMessage".to_owned(), why.as_str().into())];
    RunOutcome { answer: Some(answer.into_iter().collect()), ..RunOutcome::of(RunStatus::Failed, &why) }
}

/// The outcome of a run whose hook has not been approved in its current form.
pub(super) fn skipped_outcome(id: &str, why: &str) -> Box<RunOutcome> {
    let remedy = format!("a person can review and approve it: `tollgate hooks approve {id}`");
    RunOutcome::boxed(RunStatus::Skipped, &format!("{why}; {remedy}"))
}
