//! The result of the sessions in one program.

use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::repository::run_beside_others;

/// Other programs are sometimes slow for reasons of their own, so failed sessions are run again; those that fail every time have
/// failed.
const MAX_RUNS: u32 = 2;

/// How the sessions ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// They passed the first time.
    Passed,
    /// They failed at first and passed when they were run again.
    Flaky,
    /// They failed every time.
    Failed,
    /// They did not run, for this reason.
    Skipped(String),
}

/// The sessions in one program.
#[derive(Debug)]
pub(super) struct SessionResult {
    pub(super) program: &'static str,
    version: String,
    ending: Ending,
    runs: u32,
    seconds: u64,
}

impl SessionResult {
    /// A result without a measured time.
    pub(super) fn new(program: &'static str, version: &str, ending: Ending) -> Self {
        Self { program, version: version.to_owned(), ending, runs: 0, seconds: 0 }
    }

    /// Runs the tests, and again if they fail, which counts as flaky.
    pub(super) fn measure(program: &'static str, version: &str, tests: impl Fn() -> Command) -> Self {
        let begun = Instant::now();
        let (ending, runs) = repeat(|| match run_beside_others(&mut tests()) {
            Ok(()) => true,
            Err(fault) => {
                println!("\n{fault:#}");
                false
            }
        });
        Self { runs, seconds: begun.elapsed().as_secs(), ..Self::new(program, version, ending) }
    }

    /// What was skipped, and why.
    pub(super) fn skipped(&self) -> Option<String> {
        let Ending::Skipped(why) = &self.ending else { return None };
        Some(format!("the sessions in {} {}: {why}", self.program, self.version))
    }

    pub(super) fn has_failed(&self) -> bool {
        self.ending == Ending::Failed
    }

    /// One line for people and programs: `e2e {"program":…,"version":…,"result":…,"runs":…,"seconds":…}`.
    pub(super) fn line(&self) -> String {
        let (result, why) = match &self.ending {
            Ending::Passed => ("passed", None),
            Ending::Flaky => ("flaky", None),
            Ending::Failed => ("failed", None),
            Ending::Skipped(why) => ("skipped", Some(why)),
        };
        let mut fields = json!({
            "program": self.program,
            "version": self.version,
            "result": result,
            "runs": self.runs,
            "seconds": self.seconds,
        });
        if let (Some(fields), Some(why)) = (fields.as_object_mut(), why) {
            fields.insert("why".to_owned(), why.as_str().into());
        }
        format!("e2e {fields}")
    }
}

/// Calls `passes` until it returns `true`, at most [`MAX_RUNS`] times.
fn repeat(mut passes: impl FnMut() -> bool) -> (Ending, u32) {
    for runs in 1..=MAX_RUNS {
        if passes() {
            return (if runs == 1 { Ending::Passed } else { Ending::Flaky }, runs);
        }
        if runs < MAX_RUNS {
            println!("tried once more");
        }
    }
    (Ending::Failed, MAX_RUNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_when_it_is_run_again_is_flaky() {
        for (passes, expected) in
            [([true, true], (Ending::Passed, 1)), ([false, true], (Ending::Flaky, 2)), ([false, false], (Ending::Failed, 2))]
        {
            let mut left = passes.into_iter();
            assert_eq!(repeat(|| left.next() == Some(true)), expected, "{passes:?}");
        }
    }

    #[test]
    fn a_line_for_each_program() {
        let flaky = SessionResult { runs: 2, seconds: 7, ..SessionResult::new("codex", "0.166.0", Ending::Flaky) };
        let line = r#"e2e {"program":"codex","version":"0.166.0","result":"flaky","runs":2,"seconds":7}"#;
        assert_eq!(flaky.line(), line);
        assert!(!flaky.has_failed());
        let skipped = SessionResult::new("codex", "0.166.0", Ending::Skipped("no network".to_owned()));
        assert_eq!((flaky.skipped(), skipped.skipped().as_deref()), (None, Some("the sessions in codex 0.166.0: no network")));
        assert!(skipped.line().ends_with(r#""result":"skipped","runs":0,"seconds":0,"why":"no network"}"#), "{}", skipped.line());
    }
}
