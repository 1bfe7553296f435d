//! What `tollgate init` would change.

use std::path::Path;

use serde_json::{Value, json};

use super::super::Stop;
use super::super::place::Folders;
use super::super::wiring::{Form, PLUGIN, Wiring};
use super::change::{self, Change};
use super::json_text;

/// Where the intents stand, and what a new file says.
pub(super) const INTENTS: &str = ".orchestration/active_intents.yaml";
pub(super) const STARTER: &str = include_str!("active_intents.yaml");

/// The settings of a host with our hooks in them; several files where servers are listed apart.
pub(super) fn of_host(wiring: &Wiring, program: &str, folders: &Folders) -> Result<Vec<Change>, Stop> {
    let Some(path) = wiring.settings.first().and_then(|at| at.path(folders)) else { return Ok(Vec::new()) };
    let path = real(&path);
    let mut changes = Vec::new();
    if wiring.form == Form::Plugin {
        let before = change::read(&path)?;
        if before.as_deref() != Some(PLUGIN) {
            changes.push(Change { path, before, after: PLUGIN.to_owned() });
        }
        return Ok(changes);
    }
    let servers = wiring.servers.map(|servers| real(&folders.root.join(servers)));
    let mut edited = Edited::open(&path)?;
    if matches!(wiring.form, Form::Flat | Form::Shells) {
        edited.set(&["version"], &json!(1))?;
    }
    for (event, of_tools) in wiring.events {
        let ours = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|entry| wiring.is_ours(entry)));
        if !edited.value()?.get("hooks").and_then(|hooks| hooks.get(event)).is_some_and(ours) {
            edited.push(&["hooks", event], &wiring.entry(program, event, *of_tools))?;
        }
    }
    let server = json!({"command": program, "args": ["mcp-serve"]});
    match servers {
        Some(servers) if servers == path => edited.set(&["mcpServers", "tollgate"], &server)?,
        Some(servers) => {
            let mut listed = Edited::open(&servers)?;
            listed.set(&["mcpServers", "tollgate"], &server)?;
            changes.extend(listed.change());
        }
        None => {}
    }
    changes.extend(edited.change());
    Ok(changes)
}

/// A first file of intents, where there is none.
pub(super) fn of_intents(folders: &Folders) -> Result<Option<Change>, Stop> {
    let path = folders.root.join(INTENTS);
    let before = change::read(&path)?;
    Ok(before.is_none().then(|| Change { path, before, after: STARTER.to_owned() }))
}

/// A file of ours without what is ours; none where nothing of it is.
pub(super) fn without_ours(wiring: &Wiring, text: &str) -> Option<String> {
    let after = json_text::take(text, &["hooks"], |entry| wiring.is_ours(entry)).ok()?;
    let is_server = |server: &Value| {
        let ours = server.get("command").and_then(Value::as_str).is_some_and(|command| command.contains("tollgate"));
        ours && server.get("args") == Some(&json!(["mcp-serve"]))
    };
    let after = json_text::take(&after, &["mcpServers"], is_server).ok()?;
    (after != text).then_some(after)
}

/// A file that is a link is changed where it leads.
fn real(path: &Path) -> std::path::PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A JSON file under way.
struct Edited {
    change: Change,
}

impl Edited {
    fn open(path: &Path) -> Result<Self, Stop> {
        let before = change::read(path)?;
        let after = before.clone().filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}\n".to_owned());
        let edited = Self { change: Change { path: path.to_owned(), before, after } };
        edited.value()?;
        Ok(edited)
    }

    fn value(&self) -> Result<Value, Stop> {
        match serde_json::from_str(&self.change.after) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err(self.refused("it is no JSON object")),
            Err(why) => Err(self.refused(&format!("it is no plain JSON ({why}), and comments would be lost"))),
        }
    }

    fn set(&mut self, path: &[&str], value: &Value) -> Result<(), Stop> {
        self.change.after = json_text::set(&self.change.after, path, value).map_err(|why| self.refused(&why))?;
        Ok(())
    }

    fn push(&mut self, path: &[&str], item: &Value) -> Result<(), Stop> {
        self.change.after = json_text::push(&self.change.after, path, item).map_err(|why| self.refused(&why))?;
        Ok(())
    }

    fn refused(&self, why: &str) -> Stop {
        let path = self.change.path.display();
        Stop::Fault(format!(
            "`{path}` is left as it is: {why}; add the hooks by hand, docs/hosts.md shows them. Nothing was changed"
        ))
    }

    fn change(self) -> Option<Change> {
        (self.change.before.as_deref() != Some(&self.change.after)).then_some(self.change)
    }
}
