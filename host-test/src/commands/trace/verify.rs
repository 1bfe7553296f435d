//! `tollgate trace verify`: verifies the ledger.

use std::io;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask_until_done, flag, list, number, text, texts};
use crate::cli::output::{Output, Style, count, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// At most this many faults are shown.
const MAX_FAULTS: usize = 20;

/// The options of `tollgate trace verify`.
#[derive(Args)]
pub(super) struct Options {
    /// A hash printed by an earlier run; fails if the ledger no longer contains it, because then something was cut off
    #[arg(long, value_name = "HASH", value_parser = parse_digest)]
    expect: Option<String>,
}

/// A typing error must not look like a ledger that was tampered with.
fn parse_digest(given: &str) -> Result<String, String> {
    let hex = given.strip_prefix("sha256:").unwrap_or(given).to_ascii_lowercase();
    if hex.len() == 64 && hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(format!("sha256:{hex}"));
    }
    Err("expected `sha256:` and 64 hex digits, as printed by `tollgate trace verify`".to_owned())
}

pub(super) fn run(gate: &mut dyn Gate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let mut question = json!({"op": "verify"});
    if let (Some(question), Some(expect)) = (question.as_object_mut(), &options.expect) {
        question.insert("expect".to_owned(), expect.as_str().into());
    }
    let answer = ask_until_done(gate, &question)?;
    let printed = if json { output.json(&answer) } else { show(&answer, output) };
    match printed.map_err(CommandError::from) {
        Ok(()) | Err(CommandError::OutputClosed) => Ok(if flag(&answer, "ok") { Outcome::Done } else { Outcome::No }),
        Err(stop) => Err(stop),
    }
}

fn show(answer: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let faults = list(answer, "faults");
    for fault in faults.iter().take(MAX_FAULTS) {
        output.line(&output.paint(Style::Red, &finding(fault)))?;
    }
    if faults.len() > MAX_FAULTS {
        output.line(&format!("and {} more", faults.len() - MAX_FAULTS))?;
    }
    for note in list(answer, "notes") {
        output.line(&format!("note: {}", finding(note)))?;
    }
    let files = texts(answer, "files");
    let found = format!(
        "{}, {}, {}",
        count(files.len() as u64, "file", "files"),
        count(number(answer, "lines"), "line", "lines"),
        count(number(answer, "entries"), "entry", "entries")
    );
    if flag(answer, "ok") {
        output.line(&format!("{}: {found}", output.paint(Style::Green, "ok")))?;
    } else {
        let faults = count(faults.len() as u64, "error", "errors");
        output.line(&format!("{}: {faults} in {found}", output.paint(Style::Red, "not ok")))?;
    }
    print_heads(answer, output)
}

/// `file:line: what is wrong`
fn finding(finding: &Value) -> String {
    let line = finding.get("line").and_then(Value::as_u64).map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}: {}", escape(text(finding, "/file")), escape(text(finding, "/what")))
}

fn print_heads(answer: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let heads = texts(answer, "heads");
    let proof = flag(answer, "ok");
    match (heads.as_slice(), proof) {
        ([], _) => Ok(()),
        ([head], true) => output.line(&format!("keep this to prove later that nothing was cut off: {}", escape(head))),
        (heads, true) => {
            output.line("keep these to prove later that nothing was cut off, each with --expect:")?;
            heads.iter().try_for_each(|head| output.line(&format!("  {}", escape(head))))
        }
        // The end of a damaged ledger proves nothing, but it distinguishes one state from another.
        (heads, false) => output.line(&format!("it ends in: {}", escape(&heads.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    const LEDGER: &str = ".orchestration/agent_trace.jsonl";

    fn run_verify(answer: &Value, expect: Option<&str>) -> (Outcome, String) {
        let mut question = json!({"op": "verify"});
        if let Some(expect) = expect {
            question["expect"] = expect.into();
        }
        let mut gate = Script::new([(question, json!({"done": false})), (json!({"op": "verify", "more": true}), answer.clone())]);
        let options = Options { expect: expect.map(str::to_owned) };
        let (came_to, out, err) = capture(|output| run(&mut gate, &options, false, output));
        gate.assert_finished();
        assert_eq!(err, "");
        (came_to.unwrap(), out)
    }

    #[test]
    fn a_whole_ledger_leaves_something_to_keep() {
        let mut answer = json!({"done": true, "ok": true, "files": [LEDGER], "lines": 2, "entries": 1, "heads": ["sha256:aa"], "faults": [],
            "notes": [{"file": LEDGER, "line": 1, "what": "of an older version"}]});
        let expected = "note: .orchestration/agent_trace.jsonl:1: of an older version\nok: 1 file, 2 lines, 1 entry\n\
            keep this to prove later that nothing was cut off: sha256:aa\n";
        assert_eq!(run_verify(&answer, Some("sha256:bb")), (Outcome::Done, expected.to_owned()));
        answer["heads"] = json!(["sha256:aa", "sha256:bb"]);
        let (_, out) = run_verify(&answer, None);
        assert!(out.ends_with("cut off, each with --expect:\n  sha256:aa\n  sha256:bb\n"), "{out}");
    }

    #[test]
    fn the_first_fault_comes_first_and_the_last_ones_are_counted() {
        let fault = |line: Option<u64>| json!({"file": LEDGER, "line": line, "what": "does not follow"});
        for (faults, first, more) in [
            (vec![fault(None)], ".orchestration/agent_trace.jsonl: does not follow", None),
            ((17..37).map(|line| fault(Some(line))).collect(), ".orchestration/agent_trace.jsonl:17: does not follow", None),
            (
                (17..40).map(|line| fault(Some(line))).collect(),
                ".orchestration/agent_trace.jsonl:17: does not follow",
                Some("and 3 more"),
            ),
        ] {
            let answer = json!({"done": true, "ok": false, "files": [LEDGER], "lines": 40, "entries": 40, "heads": ["sha256:aa"], "faults": faults, "notes": []});
            let (outcome, out) = run_verify(&answer, None);
            assert_eq!((outcome, out.lines().next()), (Outcome::No, Some(first)));
            assert_eq!(out.lines().find(|line| line.starts_with("and ")), more);
            assert!(out.contains("not ok: ") && out.ends_with("it ends in: sha256:aa\n"), "{out}");
        }
    }

    #[test]
    fn an_answer_that_nobody_reads_is_still_no() {
        struct ClosedWriter;
        impl io::Write for ClosedWriter {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let answer = json!({"done": true, "ok": false, "faults": [{"file": LEDGER, "line": 1, "what": "x"}]});
        let mut gate = Script::new([(json!({"op": "verify"}), answer)]);
        let mut output = Output { out: &mut ClosedWriter, err: &mut io::sink(), colour: false };
        assert_eq!(run(&mut gate, &Options { expect: None }, false, &mut output).unwrap(), Outcome::No);
    }

    #[test]
    fn a_misspelt_hash_is_no_fault_of_the_ledger() {
        let hex = "0123456789abcdef".repeat(4);
        assert_eq!(parse_digest(&hex.to_uppercase()), Ok(format!("sha256:{hex}")));
        assert_eq!(parse_digest(&format!("sha256:{hex}")), Ok(format!("sha256:{hex}")));
        assert!(parse_digest("01234567").is_err() && parse_digest(&hex.replace('0', "g")).is_err());
    }
}
