//! How the sessions in one program went.

use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::house::run;

/// Other people's programs are slow at times for reasons of their own, so what fails is run again; what fails every time has
/// failed.
const MAX_RUNS: u32 = 2;

/// How sessions ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// They passed at once.
    Passed,
    /// They failed, and passed when they were run again.
    Flaky,
    /// They failed every time.
    Failed,
    /// They were not played, for this reason.
    Skipped(String),
}

/// The sessions in one program.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) program: &'static str,
    version: String,
    ending: Ending,
    runs: u32,
    seconds: u64,
}

impl Played {
    /// Sessions that took no time.
    pub(super) fn new(program: &'static str, version: &str, ending: Ending) -> Self {
        if let Ending::Skipped(why) = &ending {
            println!("\nskipped: the sessions in {program} {version}: {why}");
        }
        Self { program, version: version.to_owned(), ending, runs: 0, seconds: 0 }
    }

    /// Runs the tests, and once more where they fail, which counts as flaky.
    pub(super) fn measure(program: &'static str, version: &str, tests: impl Fn() -> Command) -> Self {
        let begun = Instant::now();
        let (ending, runs) = repeat(|| match run(&mut tests()) {
            Ok(()) => true,
            Err(fault) => {
                println!("\n{fault:#}");
                false
            }
        });
        Self { runs, seconds: begun.elapsed().as_secs(), ..Self::new(program, version, ending) }
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

/// Runs what passes or fails until it passes, at most [`MAX_RUNS`] times.
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
        let flaky = Played { runs: 2, seconds: 7, ..Played::new("codex", "0.166.0", Ending::Flaky) };
        let line = r#"e2e {"program":"codex","version":"0.166.0","result":"flaky","runs":2,"seconds":7}"#;
        assert_eq!(flaky.line(), line);
        assert!(!flaky.has_failed());
        let skipped = Played::new("codex", "0.166.0", Ending::Skipped("no network".to_owned()));
        assert!(skipped.line().ends_with(r#""result":"skipped","runs":0,"seconds":0,"why":"no network"}"#), "{}", skipped.line());
    }
}
