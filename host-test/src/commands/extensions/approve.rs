//! `tollgate extensions approve` and `revoke`.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::preview;
use crate::cli::client::{Gate, ask, flag, text};
use crate::cli::confirm::{APPROVALS, Confirmation, Person};
use crate::cli::output::{Output, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate extensions approve` and `revoke`.
#[derive(Args)]
pub(crate) struct Options {
    /// The extension, as `tollgate extensions list` shows it
    #[arg(value_name = "NAME")]
    name: String,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(gate: &mut dyn Gate, root: &Path, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let person = Person::require(gate, root, &["extensions", "approve", &options.name], options.yes)?;
    let (outcome, changed) = approve(gate, &options.name, |question| person.ask(question), json, output)?;
    if !changed.is_empty() {
        person.record(gate, &changed)?;
    }
    Ok(outcome)
}

pub(super) fn revoke(gate: &mut dyn Gate, root: &Path, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let name = escape(&options.name);
    let person = Person::require(gate, root, &["extensions", "revoke", &options.name], options.yes)?;
    if let Some(outcome) = person.ask(&format!("withdraw the approval of {name}?")).refusal(output)? {
        return Ok(outcome);
    }
    let answer = ask(gate, &json!({"op": "extensions", "do": "revoke", "id": options.name}))?;
    if json {
        output.json(&answer)?;
    }
    if !flag(&answer, "revoked") {
        output
            .note(&format!("`{name}` is not approved in this workspace; `tollgate extensions list` shows which extensions are"));
        return Ok(Outcome::No);
    }
    if !json {
        output.line(&format!("{name} is no longer approved and provides nothing"))?;
    }
    person.record(gate, &[APPROVALS.to_owned()])?;
    Ok(Outcome::Done)
}

fn approve(
    gate: &mut dyn Gate,
    name: &str,
    ask_person: impl FnOnce(&str) -> Confirmation,
    json: bool,
    output: &mut Output<'_>,
) -> Result<(Outcome, Vec<String>), CommandError> {
    let extension = ask(gate, &json!({"op": "extensions", "do": "show", "id": name}))?;
    let preview = preview::render(&extension, output);
    output.preview(&preview, json)?;
    let question = format!("approve everything that {} provides, as it is now?", escape(name));
    // If it cannot be approved, no question is asked: the gate gives the reason.
    let can_be_approved = extension.get("digest").is_some();
    if can_be_approved && let Some(outcome) = ask_person(&question).refusal(output)? {
        return Ok((outcome, Vec::new()));
    }
    // Approves only what was shown, even if the files have changed since.
    let digest = extension.get("digest").unwrap_or(&Value::Null);
    let answer = ask(gate, &json!({"op": "extensions", "do": "approve", "id": name, "digest": digest}))?;
    if json {
        output.json(&answer)?;
    } else {
        output.line(&format!("{} is approved as it is now, and {}", escape(name), escape(text(&answer, "/state"))))?;
        let why = text(&answer, "/why");
        if !why.is_empty() {
            output.note(why);
        }
    }
    Ok((Outcome::Done, vec![APPROVALS.to_owned(), text(&answer, "/digest").to_owned()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    fn show_exchange() -> (Value, Value) {
        let brings = ["hook `h`: at `before_tool` runs `node h.mjs`", "MCP server `s`: talks to a.example (https://a.example/)"];
        let extension = json!({"name": "x", "version": "1", "source": "workspace", "folder": ".tollgate/extensions/x", "state": "unapproved",
            "digest": "sha256:1", "shows": {"brings": brings, "files": [["manifest.json", "sha256:2"]]},
            "settings": [{"name": "t", "required": true, "sensitive": true}]});
        (json!({"op": "extensions", "do": "show", "id": "x"}), extension)
    }

    #[test]
    fn only_what_was_shown_and_agreed_to_is_approved() {
        let approved = || {
            let question = json!({"op": "extensions", "do": "approve", "id": "x", "digest": "sha256:1"});
            (question, json!({"id": "x", "digest": "sha256:1", "state": "active"}))
        };
        for (answer, exchanges, expected) in [
            (Confirmation::Yes, vec![show_exchange(), approved()], Ok(Outcome::Done)),
            (Confirmation::No, vec![show_exchange()], Ok(Outcome::No)),
            (Confirmation::NoTerminal, vec![show_exchange()], Err("--yes")),
        ] {
            let mut gate = Script::new(exchanges);
            let (came_to, out, _) = capture(|output| approve(&mut gate, "x", |_| answer, false, output));
            gate.assert_finished();
            let expected_lines = "\
x 1 (workspace extension, .tollgate/extensions/x): unapproved
  provides     hook `h`: at `before_tool` runs `node h.mjs`
  provides     MCP server `s`: talks to a.example (https://a.example/)
  set          t = not set, and required
  file         manifest.json sha256:2
  digest       sha256:1
";
            assert!(out.starts_with(expected_lines), "{out}");
            match (came_to, expected) {
                (Ok((came_to, changed)), Ok(expected)) => {
                    assert_eq!((came_to, changed.is_empty()), (expected, expected == Outcome::No));
                }
                (Err(CommandError::Failed(why)), Err(said)) => assert!(why.contains(said), "{why}"),
                (came_to, expected) => panic!("{came_to:?} instead of {expected:?}"),
            }
        }
    }
}
