//! `tollgate mcp status` and `tollgate mcp tools`.

use clap::Args;
use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::hooks::Hooks;

use crate::cli::client::{list, number, text, texts};
use crate::cli::output::{Cell, Output, Style, count, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate mcp tools`.
#[derive(Args)]
pub(crate) struct Tools {
    /// Only the tools of this server
    #[arg(value_name = "SERVER")]
    server: Option<String>,
}

/// Shows the state of every server.
pub(super) fn status(hooks: &mut Hooks<&mut Tollgate>, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = hooks.request("status", json!({})).map_err(CommandError::failed)?;
    show_status(&answer, json, output)
}

fn show_status(answer: &Value, json: bool, output: &mut Output<'_>) -> CommandResult {
    let servers = list(answer, "servers");
    if json {
        output.json(answer)?;
    } else if servers.is_empty() {
        output.note("no MCP server is declared; `tollgate mcp add` declares one");
    } else {
        let titles = ["NAME", "STATE", "TOOLS", "TRANSPORT", "FROM", "REACHED BY"];
        let mut rows = vec![titles.map(|title| Cell::styled(title, Style::Bold)).into_iter().collect()];
        rows.extend(servers.iter().map(|server| {
            let (state, style) = match text(server, "/state") {
                state @ "connected" => (state, Style::Green),
                state @ "disabled" => (state, Style::Dim),
                state => (state, Style::Red),
            };
            let tools = if state == "connected" { number(server, "tools").to_string() } else { "-".to_owned() };
            let mut row = vec![Cell::new(text(server, "/name")), Cell::styled(state, style), Cell::new(tools)];
            row.extend(["/transport", "/source", "/target"].map(|field| Cell::new(text(server, field))));
            row
        }));
        for row in output.rows(&rows) {
            output.line(&row)?;
        }
    }
    if !json {
        for server in servers {
            let (name, why) = (escape(text(server, "/name")), text(server, "/why"));
            if !why.is_empty() {
                output.note(&format!("{name}: {why}"));
            }
            texts(server, "warnings").iter().for_each(|warning| output.note(&format!("{name}: {warning}")));
        }
        texts(answer, "warnings").iter().for_each(|warning| output.note(warning));
    }
    let is_fine = |server: &Value| matches!(text(server, "/state"), "connected" | "disabled");
    Ok(if servers.iter().all(is_fine) { Outcome::Done } else { Outcome::No })
}

/// The tools of all servers.
pub(super) fn tools(hooks: &mut Hooks<&mut Tollgate>, wanted: &Tools, json: bool, output: &mut Output<'_>) -> CommandResult {
    let answer = hooks.request("tools", json!({"server": wanted.server})).map_err(CommandError::failed)?;
    show_tools(answer, wanted, json, output)
}

fn show_tools(mut answer: Value, wanted: &Tools, json: bool, output: &mut Output<'_>) -> CommandResult {
    if let Some(name) = &wanted.server {
        let Some(server) = list(&answer, "servers").iter().find(|server| text(server, "/name") == name) else {
            let known: Vec<String> = list(&answer, "servers").iter().map(|server| escape(text(server, "/name"))).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(CommandError::Failed(format!("no MCP server `{}` is declared; declared: {known}", escape(name))));
        };
        if text(server, "/state") != "connected" {
            return Err(CommandError::Failed(format!(
                "the MCP server `{}` is not available: {}",
                escape(name),
                text(server, "/why")
            )));
        }
        if let Some(tools) = answer.get_mut("tools").and_then(Value::as_array_mut) {
            tools.retain(|tool| text(tool, "/server") == name);
        }
    }
    let tools = list(&answer, "tools");
    if json {
        output.json(&answer)?;
        return Ok(Outcome::Done);
    }
    let titles = ["NAME", "SERVER", "TAKES", "WHAT"].map(|title| Cell::styled(title, Style::Bold));
    let mut rows = vec![titles.into_iter().collect::<Vec<_>>()];
    rows.extend(tools.iter().map(|tool| {
        let first = text(tool, "/description").lines().next().unwrap_or_default();
        let mut row: Vec<Cell> = ["/name", "/server"].map(|field| Cell::new(text(tool, field))).into_iter().collect();
        row.extend([Cell::new(parameter_list(tool)), Cell::styled(first.chars().take(80).collect::<String>(), Style::Dim)]);
        row
    }));
    if !tools.is_empty() {
        for row in output.rows(&rows) {
            output.line(&row)?;
        }
    }
    let is_meant = |server: &&Value| wanted.server.as_deref().is_none_or(|name| text(server, "/name") == name);
    for server in list(&answer, "servers").iter().filter(is_meant) {
        let (name, why) = (escape(text(server, "/name")), text(server, "/why"));
        if !why.is_empty() {
            output.note(&format!("{name} has none now: {why}"));
        }
        texts(server, "warnings").iter().for_each(|warning| output.note(&format!("{name}: {warning}")));
    }
    texts(&answer, "warnings").iter().for_each(|warning| output.note(warning));
    output.note(&count(u64::try_from(tools.len()).unwrap_or(u64::MAX), "tool", "tools"));
    Ok(Outcome::Done)
}

/// `path: string, depth?: integer`
fn parameter_list(tool: &Value) -> String {
    let takes = |parameter: &Value| {
        let mark = if parameter.get("required") == Some(&Value::Bool(true)) { "" } else { "?" };
        format!("{}{mark}: {}", text(parameter, "/name"), text(parameter, "/type"))
    };
    list(tool, "parameters").iter().map(takes).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::tests::capture;

    fn answer() -> Value {
        json!({
            "servers": [
                {"name": "files", "state": "connected", "tools": 1, "transport": "stdio", "source": "user", "target": "files-server .", "warnings": ["the tool `x` is left out"]},
                {"name": "wiki", "state": "unavailable", "why": "it ended", "tools": 0, "transport": "http", "source": "extension docs", "target": "https://wiki.example/mcp", "warnings": []},
            ],
            "warnings": [],
            "tools": [{"name": "read_file", "server": "files", "description": "Reads a file.\nAll of it.", "parameters": [
                {"name": "path", "type": "string", "required": true}, {"name": "head", "type": "integer", "required": false}]}],
        })
    }

    #[test]
    fn tables_are_readable() {
        let (came_to, out, err) = capture(|output| show_status(&answer(), false, output));
        assert_eq!(came_to.unwrap(), Outcome::No);
        assert_eq!(
            out,
            "NAME   STATE        TOOLS  TRANSPORT  FROM            REACHED BY\nfiles  connected    1      stdio      user            files-server .\nwiki   unavailable  -      http       extension docs  https://wiki.example/mcp\n"
        );
        assert_eq!(err, "tollgate: files: the tool `x` is left out\ntollgate: wiki: it ended\n");
        let (came_to, out, err) = capture(|output| show_tools(answer(), &Tools { server: None }, false, output));
        assert_eq!(came_to.unwrap(), Outcome::Done);
        assert_eq!(
            out,
            "NAME       SERVER  TAKES                         WHAT\nread_file  files   path: string, head?: integer  Reads a file.\n"
        );
        assert!(err.contains("wiki has none now: it ended") && err.ends_with("tollgate: 1 tool\n"), "{err}");
    }

    #[test]
    fn one_server_can_be_asked_for() {
        for (server, said) in [("none", "declared: files, wiki"), ("wiki", "is not available: it ended")] {
            let wanted = Tools { server: Some(server.to_owned()) };
            let (came_to, ..) = capture(|output| show_tools(answer(), &wanted, false, output));
            let Err(CommandError::Failed(why)) = came_to else { panic!() };
            assert!(why.contains(said), "{why}");
        }
    }
}
