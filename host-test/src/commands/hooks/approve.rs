//! `tollgate hooks show`, `approve` and `revoke`.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tollgate::components::{Cache, compile_now};

use super::preview;
use crate::cli::client::{Gate, ask, flag, text};
use crate::cli::confirm::{APPROVALS, Confirmation, Person};
use crate::cli::output::{Output, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate hooks approve` and `revoke`.
#[derive(Args)]
pub(crate) struct Options {
    /// The hook id, as shown by `tollgate hooks list`
    #[arg(value_name = "ID")]
    id: String,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn show(gate: &mut dyn Gate, id: &str, json: bool, output: &mut Output<'_>) -> CommandResult {
    let hook = ask(gate, &json!({"op": "hooks", "do": "show", "id": id}))?;
    if json {
        output.json(&hook)?;
    } else {
        preview::render(&hook, output).iter().try_for_each(|line| output.line(line))?;
    }
    Ok(Outcome::Done)
}

pub(super) fn run(
    gate: &mut dyn Gate,
    (root, home): (&Path, Option<&Path>),
    options: &Options,
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let person = Person::require(gate, root, &["hooks", "approve", &options.id], options.yes)?;
    let (outcome, changed) = approve(gate, &options.id, |question| person.ask(question), json, output)?;
    if !changed.is_empty() {
        person.record(gate, &changed)?;
    }
    // The last item is the component, if the hook is one. It is compiled now, while the person waits, and not on the first call.
    if let Some(component) = changed.get(2) {
        compile(component, home, json, output);
    }
    Ok(outcome)
}

/// Compiles a component. Prints a note if that takes long, and a warning if it fails, because then the hook is never called.
fn compile(digest: &str, home: Option<&Path>, json: bool, output: &mut Output<'_>) {
    let Some(home) = home.and_then(|home| home.canonicalize().ok()) else { return };
    let waiting = |took: Duration| {
        if !json {
            output.note(&format!("compiling it … {} s", took.as_secs_f32().round()));
        }
    };
    if let Err(why) = compile_now(&Cache::new(&home), digest, None, waiting) {
        output.note(&format!("it is approved, but cannot be called: {why}"));
    }
}

pub(super) fn run_revoke(
    gate: &mut dyn Gate,
    root: &Path,
    wanted: &Options,
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let person = Person::require(gate, root, &["hooks", "revoke", &wanted.id], wanted.yes)?;
    if let Some(outcome) = person.ask(&format!("revoke the approval of {}?", escape(&wanted.id))).refusal(output)? {
        return Ok(outcome);
    }
    let outcome = revoke(gate, &wanted.id, json, output)?;
    if outcome == Outcome::Done {
        person.record(gate, &[APPROVALS.to_owned()])?;
    }
    Ok(outcome)
}

pub(super) fn approve(
    gate: &mut dyn Gate,
    id: &str,
    ask_person: impl FnOnce(&str) -> Confirmation,
    json: bool,
    output: &mut Output<'_>,
) -> Result<(Outcome, Vec<String>), CommandError> {
    let hook = ask(gate, &json!({"op": "hooks", "do": "show", "id": id}))?;
    let preview = preview::render(&hook, output);
    output.preview(&preview, json)?;
    if text(&hook, "/trust") != "approved"
        && let Some(outcome) = ask_person(&format!("let {} run?", escape(id))).refusal(output)?
    {
        return Ok((outcome, Vec::new()));
    }
    // Exactly what was shown is approved, even if the hook has changed in the meantime.
    let digest = hook.get("digest").unwrap_or(&Value::Null);
    let answer = ask(gate, &json!({"op": "hooks", "do": "approve", "id": id, "digest": digest}))?;
    if json {
        output.json(&answer)?;
    } else {
        output.line(&format!("{} may run as it is now", escape(id)))?;
    }
    let mut changed = vec![APPROVALS.to_owned(), text(&answer, "/digest").to_owned()];
    changed.extend(Some(text(&answer, "/component")).filter(|digest| !digest.is_empty()).map(str::to_owned));
    Ok((Outcome::Done, changed))
}

fn revoke(gate: &mut dyn Gate, id: &str, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = ask(gate, &json!({"op": "hooks", "do": "revoke", "id": id}))?;
    if json {
        output.json(&answer)?;
    } else if flag(&answer, "revoked") {
        output.line(&format!("{} may no longer run", escape(id)))?;
    } else {
        output.note(&format!("`{}` was not approved in this workspace; `tollgate hooks list` shows which are", escape(id)));
        return Ok(Outcome::No);
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;

    fn show_exchange(trust: &str) -> (Value, Value) {
        let hook = json!({"id": "a", "source": "workspace", "file": "f", "trigger": "t", "trust": trust, "digest": "sha256:1",
                          "shows": {"runs": ["/bin/true"]}, "before": null});
        (json!({"op": "hooks", "do": "show", "id": "a"}), hook)
    }

    fn approve_exchange() -> (Value, Value) {
        let question = json!({"op": "hooks", "do": "approve", "id": "a", "digest": "sha256:1"});
        (question, json!({"id": "a", "digest": "sha256:1"}))
    }

    #[test]
    fn only_what_was_shown_and_agreed_to_is_approved() {
        for (trust, word, exchanges, expected) in [
            ("new", Confirmation::Yes, vec![show_exchange("new"), approve_exchange()], Ok(Outcome::Done)),
            ("changed", Confirmation::Yes, vec![show_exchange("changed"), approve_exchange()], Ok(Outcome::Done)),
            ("new", Confirmation::No, vec![show_exchange("new")], Ok(Outcome::No)),
            ("new", Confirmation::NoTerminal, vec![show_exchange("new")], Err("--yes")),
        ] {
            let mut gate = Script::new(exchanges);
            let (came_to, out, _) = capture(|output| approve(&mut gate, "a", |_| word, false, output));
            gate.assert_finished();
            assert!(out.contains("  runs         /bin/true\n"), "{trust}: {out}");
            match (came_to, expected) {
                (Ok((came_to, changed)), Ok(expected)) => {
                    assert_eq!((came_to, changed.is_empty()), (expected, expected == Outcome::No));
                    assert_eq!(out.ends_with("a may run as it is now\n"), expected == Outcome::Done);
                }
                (Err(CommandError::Failed(why)), Err(said)) => assert!(why.contains(said), "{why}"),
                (came_to, expected) => panic!("{came_to:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn programs_get_one_object() {
        let mut gate = Script::new([show_exchange("new"), approve_exchange()]);
        let (_, out, err) = capture(|output| approve(&mut gate, "a", |_| Confirmation::Yes, true, output));
        assert_eq!(out, "{\"id\":\"a\",\"digest\":\"sha256:1\"}\n");
        assert!(err.starts_with("a (workspace hook, f)"), "{err}");
    }

    #[test]
    fn what_was_never_approved_cannot_be_taken_back() {
        for (revoked, expected) in [(true, Outcome::Done), (false, Outcome::No)] {
            let answer = json!({"id": "a", "revoked": revoked});
            let mut gate = Script::new([(json!({"op": "hooks", "do": "revoke", "id": "a"}), answer)]);
            let (came_to, _, _) = capture(|output| revoke(&mut gate, "a", false, output));
            assert_eq!(came_to.unwrap(), expected);
        }
    }
}
