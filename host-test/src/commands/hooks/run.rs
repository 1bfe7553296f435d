//! `tollgate hooks run`: one run of one hook, now.

use clap::Args;
use serde_json::{Value, json};
use tollgate::hooks::Remote;

use super::record::line;
use crate::cli::client::{Gate, ask, text};
use crate::cli::interrupt::on_interrupt;
use crate::cli::output::{Screen, lines};
use crate::cli::{Outcome, Stop};

/// The options of `tollgate hooks run`.
#[derive(Args)]
pub(super) struct Options {
    /// The hook, as `tollgate hooks list` shows it
    #[arg(value_name = "ID")]
    id: String,
    /// What it is told about the event: one JSON object, such as '{"file":"src/a.ts"}'
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

/// Ctrl-C ends what the hook has started, too.
pub(super) fn end_with_us(remote: Remote) {
    on_interrupt(move |_| remote.shutdown(false));
}

pub(super) fn run(gate: &mut dyn Gate, options: &Options, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let mut question = json!({"op": "hooks", "do": "run", "id": options.id});
    if let (Some(data), Some(question)) = (&options.data, question.as_object_mut()) {
        question.insert("data".to_owned(), object(data)?);
    }
    let answer = ask(gate, &question)?;
    let record = answer.get("record").unwrap_or(&Value::Null);
    if json {
        screen.json(&answer)?;
    } else {
        let shown = line(record, screen);
        screen.line(&shown)?;
        let output = text(record, "/output");
        if !output.is_empty() {
            screen.line(&lines(output))?;
        }
    }
    Ok(if text(record, "/status") == "success" { Outcome::Done } else { Outcome::No })
}

fn object(data: &str) -> Result<Value, Stop> {
    let remedy = "write --data '{\"file\":\"src/a.ts\"}'";
    match serde_json::from_str(data) {
        Ok(data @ Value::Object(_)) => Ok(data),
        Ok(_) => Err(Stop::fault(format!("`{data}` is no JSON object; {remedy}"))),
        Err(why) => Err(Stop::fault(format!("`{data}` is no JSON: {why}; {remedy}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

    #[test]
    fn what_did_not_succeed_is_no() {
        for (status, outcome) in [("success", Outcome::Done), ("failed", Outcome::No), ("skipped", Outcome::No)] {
            let record =
                json!({"hook": "a", "status": status, "ended": "2026-11-16T10:00:00.000Z", "duration_ms": 1, "output": "x\ny\n"});
            let question = json!({"op": "hooks", "do": "run", "id": "a", "data": {"file": "f"}});
            let mut gate = Script::new([(question, json!({"record": record}))]);
            let options = Options { id: "a".to_owned(), data: Some(r#"{"file":"f"}"#.to_owned()) };
            let (came_to, out, _) = printed(|screen| run(&mut gate, &options, false, screen));
            gate.end();
            assert_eq!(came_to.unwrap(), outcome);
            assert!(out.starts_with("10:00:00  ") && out.ends_with("\nx\ny\n"), "{out}");
        }
    }

    #[test]
    fn data_that_is_none_is_named() {
        for (data, said) in [("[]", "`[]` is no JSON object"), ("{", "`{` is no JSON")] {
            let options = Options { id: "a".to_owned(), data: Some(data.to_owned()) };
            let (came_to, _, _) = printed(|screen| run(&mut Script::new([]), &options, false, screen));
            let Err(Stop::Fault(why)) = came_to else { panic!("{data}") };
            assert!(why.starts_with(said) && why.contains("--data"), "{why}");
        }
    }
}
