//! `tollgate hooks run`: runs one hook now.

use clap::Args;
use serde_json::{Value, json};
use tollgate::hooks::Remote;

use super::record::line;
use crate::cli::client::{Gate, ask, text};
use crate::cli::interrupt::on_interrupt;
use crate::cli::output::{Output, escape_lines};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate hooks run`.
#[derive(Args)]
pub(crate) struct Options {
    /// The hook id, as shown by `tollgate hooks list`
    #[arg(value_name = "ID")]
    id: String,
    /// The event's data: one JSON object, such as '{"file":"src/a.ts"}'
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

/// Ctrl-C also ends the programs that the hook has started.
pub(super) fn shut_down_on_interrupt(remote: Remote) {
    on_interrupt(move |_| remote.shutdown(false));
}

pub(super) fn run(gate: &mut dyn Gate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let mut question = json!({"op": "hooks", "do": "run", "id": options.id});
    if let (Some(data), Some(question)) = (&options.data, question.as_object_mut()) {
        question.insert("data".to_owned(), object(data)?);
    }
    let answer = ask(gate, &question)?;
    let record = answer.get("record").unwrap_or(&Value::Null);
    if json {
        output.json(&answer)?;
    } else {
        let shown = line(record, output);
        output.line(&shown)?;
        let printed = text(record, "/output");
        if !printed.is_empty() {
            output.line(&escape_lines(printed))?;
        }
    }
    Ok(if text(record, "/status") == "success" { Outcome::Done } else { Outcome::No })
}

fn object(data: &str) -> Result<Value, CommandError> {
    let remedy = "write --data '{\"file\":\"src/a.ts\"}'";
    match serde_json::from_str(data) {
        Ok(data @ Value::Object(_)) => Ok(data),
        Ok(_) => Err(CommandError::failed(format!("`{data}` is not a JSON object; {remedy}"))),
        Err(why) => Err(CommandError::failed(format!("`{data}` is not valid JSON: {why}; {remedy}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    #[test]
    fn what_did_not_succeed_is_no() {
        for (status, outcome) in [("success", Outcome::Done), ("failed", Outcome::No), ("skipped", Outcome::No)] {
            let record =
                json!({"hook": "a", "status": status, "ended": "2026-11-16T10:00:00.000Z", "duration_ms": 1, "output": "x\ny\n"});
            let question = json!({"op": "hooks", "do": "run", "id": "a", "data": {"file": "f"}});
            let mut gate = Script::new([(question, json!({"record": record}))]);
            let options = Options { id: "a".to_owned(), data: Some(r#"{"file":"f"}"#.to_owned()) };
            let (came_to, out, _) = capture(|output| run(&mut gate, &options, false, output));
            gate.assert_finished();
            assert_eq!(came_to.unwrap(), outcome);
            assert!(out.starts_with("10:00:00  ") && out.ends_with("\nx\ny\n"), "{out}");
        }
    }

    #[test]
    fn data_that_is_none_is_named() {
        for (data, said) in [("[]", "`[]` is not a JSON object"), ("{", "`{` is not valid JSON")] {
            let options = Options { id: "a".to_owned(), data: Some(data.to_owned()) };
            let (came_to, _, _) = capture(|output| run(&mut Script::new([]), &options, false, output));
            let Err(CommandError::Failed(why)) = came_to else { panic!("{data}") };
            assert!(why.starts_with(said) && why.contains("--data"), "{why}");
        }
    }
}
