//! `tollgate concepts`: what the notes of a workspace are about.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::client::{Gate, ask, is, list, number, text};
use crate::cli::output::{Cell, Screen, Style, count};
use crate::cli::workspace::Place;
use crate::cli::{Outcome, Stop};

/// Rounds that a large folder may take to be read; each takes less than half a second.
const MOST_ROUNDS: usize = 1_000;

/// The options of `tollgate concepts`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only those with this in one of their names
    #[arg(value_name = "WORDS")]
    query: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
    #[command(flatten)]
    place: Place,
}

/// Lists and searches.
pub(crate) fn run(options: &Options) -> ExitCode {
    options.place.run(|opened, screen| show(&mut opened.gate, options, screen))
}

fn show(gate: &mut dyn Gate, options: &Options, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let question = json!({"op": "concepts", "query": options.query.as_deref().unwrap_or_default(), "limit": options.limit});
    let mut answer = ask(gate, &question)?;
    for _ in 0..MOST_ROUNDS {
        if is(&answer, "done") {
            break;
        }
        answer = ask(gate, &question)?;
    }
    if options.place.json {
        screen.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let concepts = list(&answer, "concepts");
    let row = |note: &Value| {
        vec![Cell::styled(text(note, "/concept"), Style::Bold), Cell::new(text(note, "/source")), Cell::new(text(note, "/path"))]
    };
    for line in screen.rows(&concepts.iter().map(row).collect::<Vec<_>>()) {
        screen.line(&line)?;
    }
    let total = number(&answer, "total");
    if total == 0 {
        let of = options.query.as_ref().map_or_else(String::new, |query| format!(" with `{query}` in a name"));
        screen.note(&format!("there is no note{of}; `.tollgate/concepts/` is where they are looked for, unless `.tollgate/config.json` says otherwise"));
    } else if total > concepts.len() as u64 {
        screen.note(&format!("{} in all; --limit shows more", count(total, "note", "notes")));
    }
    Ok(Outcome::Done)
}
