//! `tollgate intents select`: which intent new sessions work for, or one that is named.

use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::cli::client::{Gate, ask, text};
use crate::cli::confirm::{Person, Word};
use crate::cli::output::{Screen, plain};
use crate::cli::{Outcome, Stop};

/// The options of `tollgate intents select`.
#[derive(Args)]
pub(super) struct Options {
    /// The intent, as `tollgate intents list` shows it
    #[arg(value_name = "ID", required_unless_present = "none")]
    intent: Option<String>,
    /// The session, as `tollgate intents sessions` shows it [default: every new session]
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Leave new sessions, or the one that is named, without an intent
    #[arg(long, conflicts_with = "intent")]
    none: bool,
    /// Say yes beforehand; it takes a terminal even so
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(
    gate: &mut dyn Gate,
    root: &Path,
    wanted: &Options,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Outcome, Stop> {
    let intent = wanted.intent.as_deref().unwrap_or("--none");
    let mut words = vec!["intents", "select", intent];
    if let Some(session) = &wanted.session {
        words.extend(["--session", session]);
    }
    let person = Person::require(gate, root, &words, wanted.yes)?;
    let changed = select(gate, wanted, |question| person.ask(question), json, screen)?;
    match changed {
        None => Ok(Outcome::No),
        Some(changed) => {
            person.record(gate, &[changed])?;
            Ok(Outcome::Done)
        }
    }
}

/// Selects, once a person agrees, and says what that changed.
fn select(
    gate: &mut dyn Gate,
    wanted: &Options,
    ask_person: impl FnOnce(&str) -> Word,
    json: bool,
    screen: &mut Screen<'_>,
) -> Result<Option<String>, Stop> {
    let who = match &wanted.session {
        Some(session) => format!("session {}", plain(session)),
        None => "every new session".to_owned(),
    };
    let question = match &wanted.intent {
        Some(intent) => format!("let {who} work for {}?", plain(intent)),
        None => format!("leave {who} without an intent?"),
    };
    if ask_person(&question).refusal(screen)?.is_some() {
        return Ok(None);
    }
    let answer = match (&wanted.session, &wanted.intent) {
        (None, intent) => ask(gate, &json!({"op": "select-default", "intent": intent}))?,
        (Some(session), Some(intent)) => ask(gate, &json!({"op": "select-intent", "session": session, "intent": intent}))?,
        (Some(session), None) => ask(gate, &json!({"op": "clear-intent", "session": session}))?,
    };
    let (id, name) = (plain(text(&answer, "/intent/id")), plain(text(&answer, "/intent/name")));
    if json {
        screen.json(&answer)?;
    } else if id.is_empty() {
        screen.line(&format!("{who} now has no intent"))?;
    } else {
        screen.line(&format!("{who} now works for {id} ({name})"))?;
    }
    Ok(Some(format!("the intent of {who}")))
}

#[cfg(test)]
mod tests {
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::printed;
    use serde_json::Value;

    use super::*;

    fn wanted(intent: Option<&str>, session: Option<&str>) -> Options {
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
                "let session s9 work for INT-1?",
                "session s9 now works for INT-1 (Login)\n",
            ),
            (
                Some("INT-1"),
                None,
                (json!({"op": "select-default", "intent": "INT-1"}), login.clone()),
                "let every new session work for INT-1?",
                "every new session now works for INT-1 (Login)\n",
            ),
            (
                None,
                None,
                (json!({"op": "select-default", "intent": null}), nothing.clone()),
                "leave every new session without an intent?",
                "every new session now has no intent\n",
            ),
            (
                None,
                Some("s9"),
                (json!({"op": "clear-intent", "session": "s9"}), nothing.clone()),
                "leave session s9 without an intent?",
                "session s9 now has no intent\n",
            ),
        ] {
            let mut gate = Script::new([exchange]);
            let mut question = String::new();
            let yes = |text: &str| {
                question = text.to_owned();
                Word::Yes
            };
            let (changed, out, _) = printed(|screen| select(&mut gate, &wanted(intent, session), yes, false, screen));
            assert!(changed.unwrap().is_some());
            assert_eq!((question.as_str(), out.as_str()), (asked, said));
            gate.end();
        }
    }

    #[test]
    fn nothing_is_asked_of_the_gate_without_a_yes() {
        for (word, expected) in [(Word::No, None), (Word::Nobody, Some("--yes"))] {
            let mut gate = Script::new([] as [(Value, Value); 0]);
            let (came_to, _, _) = printed(|screen| select(&mut gate, &wanted(Some("INT-1"), None), |_| word, false, screen));
            match (came_to, expected) {
                (Ok(None), None) => {}
                (Err(Stop::Fault(why)), Some(said)) => assert!(why.contains(said), "{why}"),
                (came_to, _) => panic!("{came_to:?}"),
            }
        }
    }
}
