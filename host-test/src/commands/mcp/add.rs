//! `tollgate mcp add`: declares an MCP server in the user's own settings.

use std::path::Path;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::client::{Gate, ask, text, unexpected_answer};
use crate::cli::confirm::{Confirmation, Person};
use crate::cli::file_change::{self, SettingsChange};
use crate::cli::output::{Output, Style, escape};
use crate::cli::workspace::OpenGate;
use crate::cli::{CommandError, CommandResult, Outcome};

/// The user's settings.
const FILE: &str = ".tollgate/config.json";

/// The options of `tollgate mcp add`.
#[derive(Args)]
pub(crate) struct Options {
    /// The name of the server
    #[arg(value_name = "NAME")]
    name: String,
    /// The address of a server on the network
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// Use the older transport, HTTP with server-sent events
    #[arg(long, requires = "url")]
    sse: bool,
    /// A header for every request; "${settings.KEY}" in the value is replaced with a setting
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url")]
    headers: Vec<String>,
    /// An environment variable for the program, in addition to the few that it inherits
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// Confirm in advance; a terminal is still required
    #[arg(long, short)]
    yes: bool,
    /// The server program and its arguments [default, without --url: what the workspace declares]
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

impl Options {
    /// The declaration from the command line; null to use the workspace's declaration.
    fn declaration(&self) -> Result<Value, CommandError> {
        let mut declared = Map::new();
        let mut put = |key: &str, value: Value| drop(declared.insert(key.to_owned(), value));
        if let Some(url) = &self.url {
            put("type", if self.sse { "sse" } else { "http" }.into());
            put("url", url.as_str().into());
            if !self.headers.is_empty() {
                put("headers", parse_pairs("--header", &self.headers)?);
            }
        } else if let Some((command, args)) = self.command.split_first() {
            put("command", command.as_str().into());
            put("args", args.to_vec().into());
            if !self.env.is_empty() {
                put("env", parse_pairs("--env", &self.env)?);
            }
        } else {
            return Ok(Value::Null);
        }
        Ok(Value::Object(declared))
    }
}

fn parse_pairs(option: &str, written: &[String]) -> Result<Value, CommandError> {
    let pair = |pair: &String| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.into())),
        _ => Err(CommandError::Failed(format!("`{option} {}` is invalid; write NAME=VALUE", escape(pair)))),
    };
    written.iter().map(pair).collect::<Result<_, _>>().map(Value::Object)
}

pub(super) fn run(opened: &mut OpenGate, home: &Path, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let words = ["mcp", "add", &options.name];
    let person = Person::require(&mut opened.gate, &opened.root, &words, options.yes)?;
    let outcome = add(&mut opened.gate, home, options, |question| person.ask(question), json, output)?;
    if outcome == Outcome::Done {
        person.record(&mut opened.gate, &[format!("~/{FILE}")])?;
    }
    Ok(outcome)
}

fn add(
    gate: &mut dyn Gate,
    home: &Path,
    options: &Options,
    ask_person: impl FnOnce(&str) -> Confirmation,
    json: bool,
    output: &mut Output<'_>,
) -> CommandResult {
    let path = home.join(FILE);
    let before = file_change::read(&path).map_err(|fault| CommandError::Failed(format!("`~/{FILE}` cannot be read: {fault}")))?;
    let declaration = options.declaration()?;
    let question = json!({"op": "mcp", "do": "add", "server": options.name, "declaration": declaration, "settings": before});
    let answer = ask(gate, &question)?;
    let after = answer.get("settings").and_then(Value::as_str).ok_or_else(|| unexpected_answer(&question))?;
    let declared = answer.get("declaration").cloned().unwrap_or_default();
    let shown = escape(&format!("+ {}: {declared}", Value::from(options.name.as_str())));
    let lines = [
        format!("{} (`mcpServers`)", output.paint(Style::Bold, &path.display().to_string())),
        format!("  {}", output.paint(Style::Green, &shown)),
    ];
    for line in lines {
        if json { drop(writeln!(output.err, "{line}")) } else { output.line(&line)? }
    }
    output.out.flush()?;
    let asked = format!("add {} to your MCP servers?", escape(text(&answer, "/target")));
    if let Some(outcome) = ask_person(&asked).refusal(output)? {
        return Ok(outcome);
    }
    let (named, after) = (path.display().to_string(), Some(after.to_owned()));
    file_change::write_all(&[SettingsChange { path, named, shown: format!("~/{FILE}"), before, after, diff: Vec::new() }])?;
    if json {
        output.json(&answer)?;
    } else {
        output.line(&format!("{} is declared; `tollgate mcp status` connects to it", escape(&options.name)))?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::client::tests::Script;
    use crate::cli::output::tests::capture;
    use std::fs;

    fn parse_options(words: &[&str]) -> Options {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            options: Options,
        }
        let line: Line = clap::Parser::try_parse_from(std::iter::once(&"add").chain(words)).unwrap();
        line.options
    }

    #[test]
    fn a_declaration_is_what_was_typed() {
        for (words, expected) in [
            (&["s", "--", "npx", "-y", "x"][..], json!({"command": "npx", "args": ["-y", "x"]})),
            (&["s", "--env", "A=b=c", "--", "x"], json!({"command": "x", "args": [], "env": {"A": "b=c"}})),
            (
                &["s", "--url", "https://a/", "--header", "X=${settings.k}"],
                json!({"type": "http", "url": "https://a/", "headers": {"X": "${settings.k}"}}),
            ),
            (&["s", "--url", "https://a/", "--sse"], json!({"type": "sse", "url": "https://a/"})),
            (&["s"], Value::Null),
        ] {
            assert_eq!(parse_options(words).declaration().unwrap(), expected, "{words:?}");
        }
        assert!(parse_options(&["s", "--env", "A", "--", "x"]).declaration().is_err());
    }

    #[test]
    fn the_gates_settings_are_written_once_a_person_agrees() {
        let after = "{\n  \"mcpServers\": {}\n}\n";
        for (word, expected) in [(Confirmation::Yes, Some(after)), (Confirmation::No, None)] {
            let temp = tempfile::tempdir().unwrap();
            let declaration = json!({"command": "x", "args": []});
            let question = json!({"op": "mcp", "do": "add", "server": "s", "declaration": declaration, "settings": null});
            let answer = json!({"server": "s", "declaration": declaration, "target": "x", "settings": after});
            let mut gate = Script::new([(question, answer)]);
            let (came_to, out, _) =
                capture(|output| add(&mut gate, temp.path(), &parse_options(&["s", "--", "x"]), |_| word, false, output));
            assert_eq!(came_to.unwrap(), if expected.is_some() { Outcome::Done } else { Outcome::No });
            assert!(out.contains("+ \"s\": {\"command\":\"x\",\"args\":[]}"), "{out}");
            assert_eq!(fs::read_to_string(temp.path().join(FILE)).ok().as_deref(), expected);
        }
    }
}
