//! `tollgate hooks show`, `approve` and `revoke`: a person's word.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::deed;
use crate::cli::client::{Gate, ask, is, text};
use crate::cli::confirm::{Person, Word};
use crate::cli::output::{Screen, plain};
use crate::cli::{Outcome, Stop};

/// The options of `tollgate hooks approve` and `revoke`.
#[derive(Args)]
pub(super) struct Options {
    /// The hook, as `tollgate hooks list` shows it
    #[arg(value_name = "ID")]
    id: String,
    /// Say yes beforehand; it takes a terminal even so
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn show(gate: &mut dyn Gate, id: &str, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let hook = ask(gate, &json!({"op": "hooks", "do": "show", "id": id}))?;
    if json {
        screen.json(&hook)?;
    } else {
        deed::lines(&hook, screen).iter().try_for_each(|line| screen.line(line))?;
    }
    Ok(Outcome::Done)
}

/// Where approvals are kept, for the ledger.
const APPROVALS: &str = "~/.tollgate/trusted-hooks.json";

pub(super) fn run(
    gate: &mut dyn Gate,
    root: &Path,
    options: &Options,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Outcome, Stop> {
    let person = Person::require(gate, root, &["hooks", "approve", &options.id], options.yes)?;
    let (outcome, changed) = approve(gate, &options.id, |question| person.ask(question), json, screen)?;
    if !changed.is_empty() {
        person.record(gate, &changed)?;
    }
    Ok(outcome)
}

pub(super) fn run_revoke(
    gate: &mut dyn Gate,
    root: &Path,
    options: &Options,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Outcome, Stop> {
    let person = Person::require(gate, root, &["hooks", "revoke", &options.id], options.yes)?;
    if let Some(outcome) = person.ask(&format!("take back the approval of {}?", plain(&options.id))).refusal(screen)? {
        return Ok(outcome);
    }
    let outcome = revoke(gate, &options.id, json, screen)?;
    if outcome == Outcome::Done {
        person.record(gate, &[APPROVALS.to_owned()])?;
    }
    Ok(outcome)
}

fn approve(
    gate: &mut dyn Gate,
    id: &str,
    ask_person: impl FnOnce(&str) -> Word,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<(Outcome, Vec<String>), Stop> {
    let hook = ask(gate, &json!({"op": "hooks", "do": "show", "id": id}))?;
    let shown = deed::lines(&hook, screen);
    if json {
        shown.iter().for_each(|line| drop(writeln!(screen.err, "{line}")));
    } else {
        shown.iter().try_for_each(|line| screen.line(line))?;
        screen.out.flush()?;
    }
    if text(&hook, "/trust") != "approved"
        && let Some(outcome) = ask_person(&format!("let {} run?", plain(id))).refusal(screen)?
    {
        return Ok((outcome, Vec::new()));
    }
    // Only what was shown is approved, whatever it has become meanwhile.
    let digest = hook.get("digest").unwrap_or(&Value::Null);
    let answer = ask(gate, &json!({"op": "hooks", "do": "approve", "id": id, "digest": digest}))?;
    if json {
        screen.json(&answer)?;
    } else {
        screen.line(&format!("{} may run as it is now", plain(id)))?;
    }
    Ok((Outcome::Done, vec![APPROVALS.to_owned(), text(&answer, "/digest").to_owned()]))
}

fn revoke(gate: &mut dyn Gate, id: &str, json: bool, screen: &mut Screen<'_>) -> Result<Outcome, Stop> {
    let answer = ask(gate, &json!({"op": "hooks", "do": "revoke", "id": id}))?;
    if json {
        screen.json(&answer)?;
    } else if is(&answer, "revoked") {
        screen.line(&format!("{} may no longer run", plain(id)))?;
    } else {
        screen.note(&format!("`{}` was not approved in this workspace; `tollgate hooks list` shows which are", plain(id)));
        return Ok(Outcome::No);
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;

    fn shown(trust: &str) -> (Value, Value) {
        let hook = json!({"id": "a", "source": "workspace", "file": "f", "trigger": "t", "trust": trust, "digest": "sha256:1",
                          "shows": {"runs": ["/bin/true"]}, "before": null});
        (json!({"op": "hooks", "do": "show", "id": "a"}), hook)
    }

    fn approved() -> (Value, Value) {
        let question = json!({"op": "hooks", "do": "approve", "id": "a", "digest": "sha256:1"});
        (question, json!({"id": "a", "digest": "sha256:1"}))
    }

    #[test]
    fn only_what_was_shown_and_agreed_to_is_approved() {
        for (trust, word, exchanges, expected) in [
            ("new", Word::Yes, vec![shown("new"), approved()], Ok(Outcome::Done)),
            ("changed", Word::Yes, vec![shown("changed"), approved()], Ok(Outcome::Done)),
            ("new", Word::No, vec![shown("new")], Ok(Outcome::No)),
            ("new", Word::Nobody, vec![shown("new")], Err("--yes")),
        ] {
            let mut gate = Script::new(exchanges);
            let (came_to, out, _) = printed(|screen| approve(&mut gate, "a", |_| word, false, screen));
            gate.end();
            assert!(out.contains("  runs         /bin/true\n"), "{trust}: {out}");
            match (came_to, expected) {
                (Ok((came_to, changed)), Ok(expected)) => {
                    assert_eq!((came_to, changed.is_empty()), (expected, expected == Outcome::No));
                    assert_eq!(out.ends_with("a may run as it is now\n"), expected == Outcome::Done);
                }
                (Err(Stop::Fault(why)), Err(said)) => assert!(why.contains(said), "{why}"),
                (came_to, expected) => panic!("{came_to:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn programs_get_one_object() {
        let mut gate = Script::new([shown("new"), approved()]);
        let (_, out, err) = printed(|screen| approve(&mut gate, "a", |_| Word::Yes, true, screen));
        assert_eq!(out, "{\"id\":\"a\",\"digest\":\"sha256:1\"}\n");
        assert!(err.starts_with("a (workspace hook, f)"), "{err}");
    }

    #[test]
    fn what_was_never_approved_cannot_be_taken_back() {
        for (revoked, expected) in [(true, Outcome::Done), (false, Outcome::No)] {
            let answer = json!({"id": "a", "revoked": revoked});
            let mut gate = Script::new([(json!({"op": "hooks", "do": "revoke", "id": "a"}), answer)]);
            let (came_to, _, _) = printed(|screen| revoke(&mut gate, "a", false, screen));
            assert_eq!(came_to.unwrap(), expected);
        }
    }
}
