//! The outcome of a run, as the host reports it.

use serde_json::{Map, Value};

use super::claude;
use super::declaration::Hook;
use super::run::RunStatus;
use crate::engine::RunEnding;
use crate::ports::Ports;
use crate::redact::Pattern;

/// Maximum number of characters kept of a run's output.
const MAX_CHARS: usize = 8_000;

/// If the host cut the output, a secret may have been cut in two: the last word is dropped too, up to this many bytes.
const LONGEST_TORN: usize = 4_096;

/// The outcome of a run.
#[derive(Debug, Default)]
pub(super) struct RunOutcome {
    pub(super) status: Option<RunStatus>,
    pub(super) exit_code: Option<i64>,
    pub(super) reason: Option<String>,
    /// What it printed, without its secrets.
    pub(super) output: Option<String>,
    /// Its answer, if it printed an object.
    pub(super) answer: Option<Map<String, Value>>,
    /// Whether it printed something that is not an answer.
    pub(super) is_malformed: bool,
}

impl RunOutcome {
    /// A run that ended before it produced a result.
    pub(super) fn of(status: RunStatus, reason: &str) -> Self {
        Self { status: Some(status), reason: Some(reason.to_owned()), ..Self::default() }
    }

    /// The same, boxed, which keeps results small when all is well.
    pub(super) fn boxed(status: RunStatus, reason: &str) -> Box<Self> {
        Box::new(Self::of(status, reason))
    }

    /// Reads what the host reports about a run of a hook.
    pub(super) fn of_hook(ending: &RunEnding, hook: &Hook, ports: &Ports) -> Self {
        let mut outcome = Self::read(ending, &hook.secrets, ports);
        if let Some(declared) = &hook.claude {
            outcome.answer = claude::answer::read(declared, ending);
            outcome.is_malformed = false;
            // Stopping something is what such a hook is for, and not a failure.
            if outcome.exit_code == Some(2) {
                (outcome.status, outcome.reason) = (Some(RunStatus::Success), None);
            }
        }
        outcome
    }

    /// Reads what the host reports about a run.
    pub(super) fn read(ending: &RunEnding, secrets: &[Pattern], ports: &Ports) -> Self {
        let clean = |text: &str| ports.secrets.redact_with(text, secrets).into_owned();
        let (code, printed, complained, is_cut) = match ending {
            RunEnding::Exited { code, stdout, stderr, truncated } => (*code, stdout.as_str(), stderr.as_str(), *truncated),
            RunEnding::Changed(path) => {
                let why = format!(
                    "`{path}` has changed since it was approved; a person can review and approve it: `tollgate hooks approve ID`"
                );
                return Self::of(RunStatus::Skipped, &clean(&why));
            }
            RunEnding::Missing => {
                return Self::of(RunStatus::Failed, "nothing can run it: the program, or the prompt runner, is missing");
            }
            RunEnding::Canceled => return Self::of(RunStatus::Canceled, "the host canceled it"),
            RunEnding::Failed(why) if why.is_empty() => {
                return Self::of(RunStatus::Failed, "the host did not say why it could not be run");
            }
            RunEnding::Failed(why) => return Self::of(RunStatus::Failed, &clean(why)),
        };
        let success = code == Some(0);
        let answer = serde_json::from_str::<Value>(printed).ok().and_then(|answer| match answer {
            Value::Object(answer) => Some(answer),
            _ => None,
        });
        // Each stream was cut on its own.
        let [said, complaint] = [printed, complained].map(|text| if is_cut { drop_last_word(text) } else { text }.trim_end());
        let whole = [said, complaint].join(if said.is_empty() || complaint.is_empty() { "" } else { "\n" });
        let mut output: String = clean(&whole);
        if let Some((cut, _)) = output.char_indices().nth(MAX_CHARS) {
            output.truncate(cut);
            output.push('…');
        }
        Self {
            status: Some(if success { RunStatus::Success } else { RunStatus::Failed }),
            exit_code: code.map(i64::from),
            reason: (!success)
                .then(|| code.map_or("it was terminated by a signal".to_owned(), |code| format!("it exited with code {code}"))),
            output: Some(output).filter(|output| !output.is_empty()),
            is_malformed: success && answer.is_none() && !printed.trim().is_empty(),
            answer: answer.filter(|_| success),
        }
    }
}

/// Drops the last word, part of which may be missing.
fn drop_last_word(text: &str) -> &str {
    let from = text.len().saturating_sub(LONGEST_TORN);
    let tail = text.as_bytes().get(from..).unwrap_or_default();
    let keep = tail.iter().rposition(u8::is_ascii_whitespace).map_or(from, |at| from + at);
    let keep = (0..=keep).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..keep).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    fn output(done: RunEnding, patterns: &[&str]) -> String {
        let patterns: Vec<Pattern> = patterns.iter().map(|text| Pattern::compile(text).unwrap()).collect();
        RunOutcome::read(&done, &patterns, &Memory::new().ports()).output.unwrap_or_default()
    }

    #[test]
    fn secrets_do_not_come_back() {
        let done = |text: &str, truncated: bool| RunEnding::Exited {
            code: Some(0),
            stdout: text.to_owned(),
            stderr: String::new(),
            truncated,
        };
        assert_eq!(
            output(done("key ACME-123456 and token=abcdef123456", false), &["ACME-[0-9]+"]),
            "key [REDACTED] and token=[REDACTED]"
        );
        // The host may have cut a secret in two, and half a secret cannot be recognised.
        assert_eq!(output(done("all is well ghp_0123456789", true), &[]), "all is well");
        assert_eq!(output(done(&"x".repeat(5_000), true), &[]).len(), 5_000 - 4_096);
        // Cut in two by the gate itself: redacted before it is cut.
        let long = format!("{} ghp_0123456789abcdef0123456789", "x".repeat(MAX_CHARS - 10));
        assert!(output(done(&long, false), &[]).ends_with(" [REDACTED…"));
    }
}
