//! Run records: counts, status reports and the log.

use serde_json::Value;

use super::super::claude;
use super::super::declaration::Action;
use super::super::outcome::RunOutcome;
use super::super::run::{Run, RunStatus};
use super::super::schedule::RunKey;
use super::Hooks;
use crate::engine::Order;
use crate::json::object;
use crate::ports::Ports;

/// How runs ended, and how long they took.
#[derive(Debug, Default)]
pub(super) struct Counts {
    ended: [u64; 5],
    attempts: u64,
    waited_ms: u64,
    took_ms: u64,
    longest_ms: u64,
    began: u64,
}

const ENDINGS: [RunStatus; 5] =
    [RunStatus::Success, RunStatus::Failed, RunStatus::Timeout, RunStatus::Canceled, RunStatus::Skipped];

impl Hooks {
    /// How runs have ended so far, and the current state.
    pub fn stats(&self) -> Value {
        let Counts { ended, attempts, waited_ms, took_ms, longest_ms, began } = &self.counts;
        let ended_all: Vec<(&str, Value)> =
            ENDINGS.iter().zip(ended).map(|(status, count)| (status.as_str(), (*count).into())).collect();
        let mut fields = ended_all;
        let (waiting, active) = self.schedule.load();
        let average = |sum: u64| sum.checked_div(*began).unwrap_or(0);
        fields.extend([
            ("queued", waiting.into()),
            ("running", active.into()),
            ("attempts", (*attempts).into()),
            ("average_wait_ms", average(*waited_ms).into()),
            ("average_ms", average(*took_ms).into()),
            ("longest_ms", (*longest_ms).into()),
        ]);
        object(&mut fields)
    }

    /// Counts, reports and logs how a run ended, and notifies its chain.
    pub(super) fn record_end(&mut self, run: &Run, mut outcome: RunOutcome, ports: &Ports) -> Value {
        let status = outcome.status.unwrap_or(RunStatus::Failed);
        if let Some(declared) = &run.hook.claude
            && matches!(status, RunStatus::Failed | RunStatus::Timeout)
            && outcome.answer.is_none()
        {
            outcome.answer = claude::answer::answer_for_failure(declared, outcome.reason.as_deref().unwrap_or_default());
        }
        let call = run.hook.claude.as_ref().and_then(|_| self.claude_call(run, &run.event.data));
        let took = run.began.map_or(0, |(began, _)| self.now.saturating_sub(began));
        if let Some(count) = ENDINGS.iter().position(|ending| *ending == status).and_then(|at| self.counts.ended.get_mut(at)) {
            *count += 1;
        }
        self.counts.attempts += run.attempts;
        if let Some((began, _)) = run.began {
            self.counts.began += 1;
            self.counts.waited_ms += began.saturating_sub(run.queued);
            self.counts.took_ms += took;
            self.counts.longest_ms = self.counts.longest_ms.max(took);
        }
        if outcome.is_malformed && run.chain.is_some() && matches!(run.hook.action, Action::Command { .. }) {
            ports.fail(&format!(
                "the hook `{}` printed something that is not a JSON object; it counts as `continue`",
                run.hook.id
            ));
        }
        if status == RunStatus::Failed {
            let why = outcome.reason.as_deref().unwrap_or("it failed");
            ports.warn(&format!("the hook `{}` failed: {why}", run.hook.id));
        }
        if let (Some(answer), Some(chain)) = (outcome.answer, run.chain.and_then(|chain| self.chains.get_mut(&chain))) {
            for (key, value) in answer {
                match key.as_str() {
                    "continue" => chain.goes_on &= value != Value::Bool(false),
                    "systemMessage" => chain
                        .messages
                        .extend(value.as_str().map(|message| ports.secrets.redact_with(message, &run.hook.secrets).into_owned())),
                    claude::answer::UPDATED if run.hook.claude.is_some() => {
                        claude::answer::add_wanted_args(&mut chain.data, call.as_ref(), value);
                    }
                    _ => drop(chain.data.insert(key, value)),
                }
            }
        }
        let mut fields = self.fields(run, status, ports);
        fields.push(("ended", ports.clock.now().to_string().into()));
        fields.push(("duration_ms", took.into()));
        let optional = [
            ("exit_code", outcome.exit_code.map(Value::from)),
            ("reason", outcome.reason.map(Value::from)),
            ("output", outcome.output.map(Value::from)),
        ];
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
        let record = object(&mut fields);
        self.lines.push_str(&record.to_string());
        self.lines.push('\n');
        self.command(Order::Record(record.clone()));
        record
    }

    /// Reports the status of a run to observers.
    pub(super) fn report_status(&mut self, key: RunKey, status: RunStatus, ports: &Ports) {
        if let Some(run) = self.schedule.get(key).cloned() {
            let record = object(&mut self.fields(&run, status, ports));
            self.command(Order::Record(record));
        }
    }

    fn fields(&mut self, run: &Run, status: RunStatus, ports: &Ports) -> Vec<(&'static str, Value)> {
        self.name_process(ports);
        let clean = |text: &str| Value::from(ports.secrets.redact_with(text, &run.hook.secrets));
        let mut fields = vec![
            ("id", self.run_id(run).into()),
            ("hook", run.hook.id.as_str().into()),
            ("trigger", (*run.event.name).into()),
            ("status", status.as_str().into()),
            ("attempts", run.attempts.into()),
        ];
        let optional = [
            ("file", run.event.file().map(clean)),
            ("session", run.event.session.as_deref().map(clean)),
            ("events", (run.events > 1).then(|| run.events.into())),
            ("started", run.began.map(|(_, began)| began.to_string().into())),
        ];
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key, value?))));
        fields
    }

    /// The id of a record that is not a run's.
    pub(super) fn record_id(&mut self, number: u64, ports: &Ports) -> String {
        self.name_process(ports);
        format!("{}-{number}", self.name)
    }

    /// Names this process, because the runs of other processes are in the same log.
    fn name_process(&mut self, ports: &Ports) {
        if self.name.is_empty() {
            self.name = ports.random.random_bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        }
    }

    pub(super) fn run_id(&self, run: &Run) -> String {
        format!("{}-{}", self.name, run.number)
    }
}
