//! `tollgate hooks history`: lists recent runs.

use clap::Args;
use serde_json::json;

use super::record::row;
use crate::cli::client::{Gate, ask, list};
use crate::cli::output::Output;
use crate::cli::{CommandResult, Outcome};

/// The options of `tollgate hooks history`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only runs of this hook
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Show at most N runs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

pub(super) fn show(gate: &mut dyn Gate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let mut question = json!({"op": "hooks", "do": "history", "limit": options.limit});
    if let (Some(id), Some(question)) = (&options.id, question.as_object_mut()) {
        question.insert("id".to_owned(), id.as_str().into());
    }
    let answer = ask(gate, &question)?;
    if json {
        output.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let records = list(&answer, "records");
    if records.is_empty() {
        let of = options.id.as_ref().map_or_else(String::new, |id| format!(" of `{id}`"));
        output.note(&format!("no runs{of} are in `.tollgate/logs/hooks.log`"));
    }
    let rows: Vec<_> = records.iter().rev().map(row).collect();
    output.rows(&rows).iter().try_for_each(|row| output.line(row))?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    #[test]
    fn the_newest_run_stands_last() {
        let record = |hook: &str, at: &str| json!({"hook": hook, "status": "success", "ended": at, "duration_ms": 1});
        let records = [record("b", "2026-11-16T10:00:00.000Z"), record("a", "2026-11-16T09:00:00.000Z")];
        for (id, question) in [
            (None, json!({"op": "hooks", "do": "history", "limit": 2})),
            (Some("a"), json!({"op": "hooks", "do": "history", "limit": 2, "id": "a"})),
        ] {
            let mut gate = Script::new([(question, json!({"records": records}))]);
            let options = Options { id: id.map(str::to_owned), limit: 2 };
            let (_, out, _) = capture(|output| show(&mut gate, &options, false, output));
            gate.assert_finished();
            assert_eq!(out, "09:00:00  success  a  1 ms\n10:00:00  success  b  1 ms\n");
        }
    }
}
