//! `tollgate mcp call`: calls a tool of an MCP server through the gate.

use clap::Args;
use serde_json::{Value, json};
use tollgate::hooks::{Options as HookOptions, Question};

use super::hooks;
use crate::cli::client::{list, text, texts};
use crate::cli::confirm::{Confirmation, Person};
use crate::cli::output::{Output, escape_lines};
use crate::cli::workspace::OpenGate;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The default session.
const SESSION: &str = "mcp-call";

/// The options of `tollgate mcp call`.
#[derive(Args)]
pub(crate) struct Options {
    /// The server, as `tollgate mcp status` shows it
    #[arg(value_name = "SERVER")]
    server: String,
    /// The tool, by the server's own name for it
    #[arg(value_name = "TOOL")]
    tool: String,
    /// The arguments: one JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// The session of the call, which determines its intent
    #[arg(long, value_name = "SESSION", default_value = SESSION)]
    session: String,
}

pub(super) fn run(opened: &mut OpenGate, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let Options { server, tool, arguments, session } = options;
    let arguments = object(arguments)?;
    // If this is not run by a person, no one is asked, and the gate refuses what it would ask about.
    let person = Person::require(&mut opened.gate, &opened.root, &["mcp", "call", server, tool], false).ok();
    let attended = person.is_some();
    let asks = move |question: Question| {
        let word = person.as_ref().map(|person| person.ask(&escape_lines(&question.message)));
        match word {
            Some(Confirmation::Yes) => question.decide(true),
            Some(Confirmation::No) => question.decide(false),
            Some(Confirmation::NoTerminal) | None => {}
        }
    };
    let mut hooks = hooks(&mut opened.gate, HookOptions::new().on_question(asks));
    let call = format!("{SESSION}-{}", std::process::id());
    let params =
        json!({"server": server, "tool": tool, "arguments": arguments, "session": session, "call": call, "attended": attended});
    let answer = hooks.request("call", params).map_err(CommandError::failed)?;
    show(&answer, json, output)
}

fn show(answer: &Value, json: bool, output: &mut Output<'_>) -> CommandResult {
    let outcome = text(answer, "/outcome");
    let said = text(answer, "/text");
    if json {
        output.json(answer)?;
    } else if outcome == "done" {
        output.line(&escape_lines(said))?;
        let others = list(answer, "parts").iter().filter(|part| text(part, "/type") != "text").count();
        if others > 0 {
            output.note("the answer contains more than text; `--json` shows all of it");
        }
    } else if outcome != "unavailable" {
        output.note(said);
    }
    texts(answer, "notes").iter().for_each(|note| output.note(note));
    match outcome {
        "done" => Ok(Outcome::Done),
        "failed" | "refused" => Ok(Outcome::No),
        _ => Err(CommandError::Failed(said.to_owned())),
    }
}

fn object(arguments: &str) -> Result<Value, CommandError> {
    let remedy = "write '{\"path\":\"src/a.ts\"}'";
    match serde_json::from_str(arguments) {
        Ok(arguments @ Value::Object(_)) => Ok(arguments),
        Ok(_) => Err(CommandError::failed(format!("`{arguments}` is not a JSON object; {remedy}"))),
        Err(why) => Err(CommandError::failed(format!("`{arguments}` is not valid JSON: {why}; {remedy}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::capture;

    #[test]
    fn an_outcome_is_an_exit_code() {
        for (outcome, expected) in
            [("done", Some(Outcome::Done)), ("failed", Some(Outcome::No)), ("refused", Some(Outcome::No)), ("unavailable", None)]
        {
            let answer = json!({"outcome": outcome, "text": "said\u{1b}[2J", "parts": [{"type": "image"}], "notes": ["beside"]});
            let (came_to, out, err) = capture(|output| show(&answer, false, output));
            assert_eq!(came_to.ok(), expected, "{outcome}");
            assert!(err.contains("beside"), "{err}");
            assert_eq!(out, if outcome == "done" { "said\\u{1b}[2J\n" } else { "" });
        }
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(object("{\"a\": 1}").unwrap(), json!({"a": 1}));
        for (written, said) in [("[]", "is not a JSON object"), ("{", "is not valid JSON")] {
            let Err(CommandError::Failed(why)) = object(written) else { panic!() };
            assert!(why.contains(said) && why.contains("write '{"), "{why}");
        }
    }
}
