//! `tollgate intents select`: selects the intent for new sessions or for a given session.

use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::cli::client::{Gate, ask, text};
use crate::cli::confirm::{Confirmation, Person};
use crate::cli::output::{Output, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate intents select`.
#[derive(Args)]
pub(crate) struct Options {
    /// The intent id, as shown by `tollgate intents list`
    #[arg(value_name = "ID", required_unless_present = "none")]
    intent: Option<String>,
    /// The session, as shown by `tollgate intents sessions` [default: every new session]
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Remove the intent of new sessions or of the given session
    #[arg(long, conflicts_with = "intent")]
    none: bool,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(gate: &mut dyn Gate, root: &Path, wanted: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let intent = wanted.intent.as_deref().unwrap_or("--none");
    let mut words = vec!["intents", "select", intent];
    if let Some(session) = &wanted.session {
        words.extend(["--session", session]);
    }
    let person = Person::require(gate, root, &words, wanted.yes)?;
    let changed = select(gate, wanted, |question| person.ask(question), json, output)?;
    match changed {
        None => Ok(Outcome::No),
        Some(changed) => {
            person.record(gate, &[changed])?;
            Ok(Outcome::Done)
        }
    }
}

/// Selects the intent after confirmation and returns a description of the change.
fn select(
    gate: &mut dyn Gate,
    wanted: &Options,
    ask_person: impl FnOnce(&str) -> Confirmation,
    json: bool,
    output: &mut Output<'_>,
) -> Result<Option<String>, CommandError> {
    let who = match &wanted.session {
        Some(session) => format!("session {}", escape(session)),
        None => "every new session".to_owned(),
    };
    let question = match &wanted.intent {
        Some(intent) => format!("select {} for {who}?", escape(intent)),
        None => format!("clear the intent of {who}?"),
    };
    if ask_person(&question).refusal(output)?.is_some() {
        return Ok(None);
    }
    let answer = match (&wanted.session, &wanted.intent) {
        (None, intent) => ask(gate, &json!({"op": "select-default", "intent": intent}))?,
        (Some(session), Some(intent)) => ask(gate, &json!({"op": "select-intent", "session": session, "intent": intent}))?,
        (Some(session), None) => ask(gate, &json!({"op": "clear-intent", "session": session}))?,
    };
    let (id, name) = (escape(text(&answer, "/intent/id")), escape(text(&answer, "/intent/name")));
    if json {
        output.json(&answer)?;
    } else if id.is_empty() {
        output.line(&format!("{who} now has no intent"))?;
    } else {
        output.line(&format!("{who} now works for {id} ({name})"))?;
    }
    Ok(Some(format!("the intent of {who}")))
}

#[cfg(test)]
mod tests {
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;
    use serde_json::Value;

    use super::*;

    fn select_options(intent: Option<&str>, session: Option<&str>) -> Options {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Options { intent: text(intent), session: text(session), none: intent.is_none(), yes: false }
    }

    #[test]
    fn without_a_session_it_is_the_default() {
        let login = json!({"intent": {"id": "INT-1", "name": "Login", "status": "IN_PROGRESS"}});
        let nothing = json!({"intent": null});
        for (intent, session, exchange, asked, said) in [
            (
                Some("INT-1"),
                Some("s9"),
                (json!({"op": "select-intent", "session": "s9", "intent": "INT-1"}), login.clone()),
                "select INT-1 for session s9?",
                "session s9 now works for INT-1 (Login)\n",
            ),
            (
                Some("INT-1"),
                None,
                (json!({"op": "select-default", "intent": "INT-1"}), login.clone()),
                "select INT-1 for every new session?",
                "every new session now works for INT-1 (Login)\n",
            ),
            (
                None,
                None,
                (json!({"op": "select-default", "intent": null}), nothing.clone()),
                "clear the intent of every new session?",
                "every new session now has no intent\n",
            ),
            (
                None,
                Some("s9"),
                (json!({"op": "clear-intent", "session": "s9"}), nothing.clone()),
                "clear the intent of session s9?",
                "session s9 now has no intent\n",
            ),
        ] {
            let mut gate = Script::new([exchange]);
            let mut question = String::new();
            let yes = |text: &str| {
                question = text.to_owned();
                Confirmation::Yes
            };
            let (changed, out, _) = capture(|output| select(&mut gate, &select_options(intent, session), yes, false, output));
            assert!(changed.unwrap().is_some());
            assert_eq!((question.as_str(), out.as_str()), (asked, said));
            gate.assert_finished();
        }
    }

    #[test]
    fn nothing_is_asked_of_the_gate_without_a_yes() {
        for (word, expected) in [(Confirmation::No, None), (Confirmation::NoTerminal, Some("--yes"))] {
            let mut gate = Script::new([] as [(Value, Value); 0]);
            let (came_to, _, _) =
                capture(|output| select(&mut gate, &select_options(Some("INT-1"), None), |_| word, false, output));
            match (came_to, expected) {
                (Ok(None), None) => {}
                (Err(CommandError::Failed(why)), Some(said)) => assert!(why.contains(said), "{why}"),
                (came_to, _) => panic!("{came_to:?}"),
            }
        }
    }
}
