//! `tollgate extensions enable` and `disable`.

use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::cli::client::{Gate, ask, text};
use crate::cli::confirm::Person;
use crate::cli::output::{Output, escape};
use crate::cli::{CommandResult, Outcome};

/// The options of `tollgate extensions enable` and `disable`.
#[derive(Args)]
pub(crate) struct Options {
    /// The extension, as `tollgate extensions list` shows it
    #[arg(value_name = "NAME")]
    name: String,
    /// Change the workspace's .tollgate/config.json, for everyone who works here, instead of your own
    #[arg(long)]
    shared: bool,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(
    gate: &mut dyn Gate,
    root: &Path,
    options: &Options,
    is_on: bool,
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let (what, name) = (if is_on { "enable" } else { "disable" }, escape(&options.name));
    let person = Person::require(gate, root, &["extensions", what, &options.name], options.yes)?;
    // Fails if there is no such extension, before the person is asked.
    ask(gate, &json!({"op": "extensions", "do": "show", "id": options.name}))?;
    if let Some(outcome) = person.ask(&format!("{what} {name}?")).refusal(output)? {
        return Ok(outcome);
    }
    let answer = ask(gate, &json!({"op": "extensions", "do": what, "id": options.name, "shared": options.shared}))?;
    if json {
        output.json(&answer)?;
    } else {
        output.line(&format!("{name} is {}", escape(text(&answer, "/state"))))?;
        let why = text(&answer, "/why");
        if !why.is_empty() && is_on {
            output.note(why);
        }
    }
    person.record(gate, &[text(&answer, "/file").to_owned()])?;
    Ok(Outcome::Done)
}
