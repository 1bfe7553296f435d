//! `tollgate concepts`: lists the concepts that the notes of a workspace describe.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, flag, list, number, text};
use crate::cli::output::{Cell, Output, Style, count};
use crate::cli::workspace::WorkspaceArgs;
use crate::cli::{CommandResult, Outcome};

/// At most this many requests for a large folder; each takes less than half a second.
const MAX_ROUNDS: usize = 1_000;

/// The options of `tollgate concepts`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only concepts whose name contains this
    #[arg(value_name = "WORDS")]
    query: Option<String>,
    /// Show at most N concepts
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    #[command(flatten)]
    workspace: WorkspaceArgs,
}

/// Lists and searches concepts.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.workspace.run(|opened, output| show(&mut opened.gate, options, output))
}

fn show(gate: &mut dyn Gate, options: &Options, output: &mut Output<'_>) -> CommandResult {
    let question = json!({"op": "concepts", "query": options.query.as_deref().unwrap_or_default(), "limit": options.limit});
    let mut answer = ask(gate, &question)?;
    for _ in 0..MAX_ROUNDS {
        if flag(&answer, "done") {
            break;
        }
        answer = ask(gate, &question)?;
    }
    if options.workspace.json {
        output.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let concepts = list(&answer, "concepts");
    let row = |note: &Value| {
        vec![Cell::styled(text(note, "/concept"), Style::Bold), Cell::new(text(note, "/source")), Cell::new(text(note, "/path"))]
    };
    for line in output.rows(&concepts.iter().map(row).collect::<Vec<_>>()) {
        output.line(&line)?;
    }
    let total = number(&answer, "total");
    if total == 0 {
        let of = options.query.as_ref().map_or_else(String::new, |query| format!(" with `{query}` in a name"));
        output.note(&format!(
            "no note{of} was found; notes are read from `.tollgate/concepts/`, unless `.tollgate/config.json` sets another folder"
        ));
    } else if total > concepts.len() as u64 {
        output.note(&format!("{} in all; --limit shows more", count(total, "note", "notes")));
    }
    Ok(Outcome::Done)
}
