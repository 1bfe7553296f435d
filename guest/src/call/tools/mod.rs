//! What each host's tools do, and where their paths are.
//!
//! The workspace's own table goes first (`.tollgate/config.json`), then the table of known tools, then the words of the
//! tool's name. What stays unclear is unknown.

mod arguments;
mod commands;
mod reader;
mod table;
mod verbs;
mod words;

use serde_json::{Map, Value};

use super::effect::{Deed, Footprint, Touch};
use super::patch::{self, Change, Dialect, unified};
use super::path::{places, written};
use super::{CallFault, ToolCall};
use crate::config::{Config, ToolEffect, ToolRule};
use crate::json;
use crate::ports::Workspace;
use arguments::{Keys, Named, plain};
pub(super) use reader::reader;
use table::Manner;
use verbs::Verb;

/// Arguments that hold a patch.
const PATCH_TEXT: &[&str] = &["patchtext", "patch", "input", "command", "diff"];

/// What the call does, by its tool and its arguments.
pub(super) fn footprint(
    call: &ToolCall,
    args: &Map<String, Value>,
    config: &Config,
    workspace: &dyn Workspace,
) -> Result<Footprint, CallFault> {
    let mut meaning = Meaning {
        tool: &call.tool,
        host: call.host.as_deref(),
        cwd: call.cwd.as_deref(),
        args,
        workspace,
        found: Footprint::default(),
    };
    match (config.tool(&call.tool), table::manner(meaning.host, &call.tool)) {
        (Some(rule), _) => meaning.by_rule(rule)?,
        (None, Some(Manner::CallsServer)) => return meaning.passed_on(config),
        (None, Some(manner)) => meaning.by_manner(manner)?,
        (None, None) => meaning.by_words()?,
    }
    Ok(meaning.found)
}

/// A call while its footprint is being put together.
struct Meaning<'a> {
    tool: &'a str,
    host: Option<&'a str>,
    cwd: Option<&'a str>,
    args: &'a Map<String, Value>,
    workspace: &'a dyn Workspace,
    found: Footprint,
}

impl<'a> Meaning<'a> {
    fn by_rule(&mut self, rule: &ToolRule) -> Result<(), CallFault> {
        let keys = rule.paths.as_deref().map_or(Keys::Likely, Keys::These);
        match rule.effect {
            ToolEffect::Read => self.each(Deed::Read, keys).map(drop),
            ToolEffect::Write => self.some(Deed::Write, keys),
            ToolEffect::Delete => self.some(Deed::Delete, keys),
            ToolEffect::Move => match (rule.paths.as_deref(), arguments::paths(self.args, keys)?) {
                (Some([source, ..]), named) => named.iter().try_for_each(|named| {
                    self.touch(&named.path, if named.argument == *source { Deed::Delete } else { Deed::Write })
                }),
                _ => self.relocate(Deed::Delete),
            },
            ToolEffect::Execute => self.execute(),
            ToolEffect::Shell => self.shell(false),
            ToolEffect::Unknown => self.unknown(format!("what the tool `{}` does is not known", self.tool)),
        }
    }

    fn by_manner(&mut self, manner: Manner) -> Result<(), CallFault> {
        match manner {
            Manner::Reads => self.each(Deed::Read, Keys::Known).map(drop),
            Manner::Inert | Manner::CallsServer => Ok(()),
            Manner::Writes => self.some(Deed::Write, Keys::Known),
            Manner::Deletes => self.some(Deed::Delete, Keys::Known),
            Manner::MakesFolders => self.some(Deed::MakeFolder, Keys::Known),
            Manner::Patches => self.patch(),
            Manner::Diffs => self.diff(),
            Manner::Edits => match self.args.get("command").and_then(Value::as_str) {
                Some("view") => self.each(Deed::Read, Keys::Known).map(drop),
                Some("delete") => self.some(Deed::Delete, Keys::Known),
                Some("rename") => self.relocate(Deed::Delete),
                _ => self.some(Deed::Write, Keys::Known),
            },
            Manner::Shell => self.shell(false),
            Manner::PowerShell => self.shell(true),
            // Without a word typed it only waits for what the program says.
            Manner::Types if arguments::text(self.args, &["chars", "input"])?.is_some_and(str::is_empty) => Ok(()),
            Manner::Types => {
                self.unknown(format!("`{}` types into a program that runs, and what that does cannot be seen", self.tool))
            }
            Manner::Executes => self.execute(),
        }
    }

    fn by_words(&mut self) -> Result<(), CallFault> {
        let unclear = format!("what the tool `{}` does is not known; `{}` can say so", self.tool, crate::config::PATH);
        match verbs::verb(self.tool) {
            Verb::Reads if verbs::holds_code(self.args) => self.unknown(unclear),
            Verb::Reads => self.read_and_save(),
            Verb::Runs => self.run(unclear),
            Verb::Unclear => self.unknown(unclear),
            verb => {
                match verb {
                    Verb::Moves => self.relocate(Deed::Delete)?,
                    Verb::Copies => self.relocate(Deed::Read)?,
                    Verb::Deletes => drop(self.each(Deed::Delete, Keys::Likely)?),
                    Verb::MakesFolders => drop(self.each(Deed::MakeFolder, Keys::Likely)?),
                    _ => {
                        self.each(Deed::Write, Keys::Likely)?;
                        self.patch_beside()?;
                    }
                }
                self.run_beside()?;
                if self.found.touches.is_empty() { self.unknown(unclear) } else { Ok(()) }
            }
        }
    }

    /// A tool of an MCP server, called by way of the host's own tool.
    fn passed_on(&self, config: &Config) -> Result<Footprint, CallFault> {
        let server = arguments::text(self.args, &["servername", "server"])?.unwrap_or_default();
        let Some(tool) = arguments::text(self.args, &["toolname", "tool"])? else {
            return Err(CallFault::Argument { name: "tool_name".to_owned(), expected: "a string" });
        };
        let invalid = || CallFault::Argument { name: "arguments".to_owned(), expected: "a JSON object" };
        let args = match self.args.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(args)) => args.clone(),
            Some(Value::String(text)) if text.trim().is_empty() => Map::new(),
            Some(Value::String(text)) => match json::value(text) {
                Ok(Value::Object(args)) => args,
                _ => return Err(invalid()),
            },
            Some(_) => return Err(invalid()),
        };
        let name = format!("mcp__{server}__{tool}");
        let mut inner = Meaning { tool: &name, args: &args, found: Footprint::default(), ..*self };
        match config.tool(&name) {
            Some(rule) => inner.by_rule(rule)?,
            None => inner.by_words()?,
        }
        Ok(inner.found)
    }

    fn unknown(&mut self, why: String) -> Result<(), CallFault> {
        self.found.unknowns.push(why);
        Ok(())
    }

    fn execute(&mut self) -> Result<(), CallFault> {
        self.found.touch(written(".", self.cwd)?, Deed::Execute);
        Ok(())
    }

    fn touch(&mut self, path: &str, deed: Deed) -> Result<(), CallFault> {
        if !deed.mutates() {
            // Reading nothing in particular is reading here.
            self.found.touch(written(if path.is_empty() { "." } else { path }, self.cwd)?, deed);
            return Ok(());
        }
        places(path, self.cwd)?.into_iter().for_each(|place| self.found.touch(place, deed));
        Ok(())
    }

    /// Does the same to every path, and says how many there were.
    fn each(&mut self, deed: Deed, keys: Keys<'_>) -> Result<usize, CallFault> {
        let named = arguments::paths(self.args, keys)?;
        named.iter().try_for_each(|named| self.touch(&named.path, deed))?;
        Ok(named.len())
    }

    /// The same, for a tool that must name a path.
    fn some(&mut self, deed: Deed, keys: Keys<'_>) -> Result<(), CallFault> {
        match self.each(deed, keys)? {
            0 => Err(CallFault::NoPath { tool: self.tool.to_owned() }),
            _ => Ok(()),
        }
    }

    /// A tool that reads may still save what it read.
    fn read_and_save(&mut self) -> Result<(), CallFault> {
        for Named { argument, path } in arguments::paths(self.args, Keys::Likely)? {
            let words = words::words(&argument);
            let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
            if has(&["output", "dest", "destination", "save", "out"]) && (words.len() > 1 || path.contains(['/', '.', '\\'])) {
                self.touch(&path, Deed::Write)?;
            } else if !has(&["uri", "url"]) {
                self.touch(&path, Deed::Read)?;
            }
        }
        Ok(())
    }

    /// Both ends of a move or a copy. A path whose role nobody can tell counts as the source and as the target.
    fn relocate(&mut self, source_deed: Deed) -> Result<(), CallFault> {
        const SOURCES: &[&str] = &["source", "src", "from", "old", "original"];
        const TARGETS: &[&str] = &["destination", "dest", "dst", "to", "new", "target"];
        let mut folder = None;
        let (mut sources, mut targets) = (0, 0);
        for (argument, value) in self.args {
            let words = words::words(argument);
            let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
            let deed = match (has(TARGETS), has(SOURCES)) {
                (true, _) => Deed::Write,
                (false, true) => source_deed,
                (false, false) if arguments::is_path(argument) => source_deed,
                _ => continue,
            };
            let one = Map::from_iter([("path".to_owned(), value.clone())]);
            for Named { path, .. } in arguments::paths(&one, Keys::Known)? {
                if deed == Deed::Write {
                    targets += 1;
                    if let (true, Some(folder)) = (words.contains(&"name".to_owned()), &folder) {
                        self.touch(&format!("{folder}/{path}"), deed)?;
                        continue;
                    }
                } else {
                    sources += 1;
                    folder = path.rsplit_once('/').map(|(folder, _)| folder.to_owned()).or_else(|| Some(".".to_owned()));
                }
                self.touch(&path, deed)?;
            }
        }
        if sources == 0 || targets == 0 {
            return self.unknown(format!("`{}` does not say from where to where", self.tool));
        }
        Ok(())
    }

    fn patch(&mut self) -> Result<(), CallFault> {
        let mut texts = 0;
        let folder = self.work_folder(&["workdir", "cwd"])?;
        for (argument, value) in self.args {
            if !PATCH_TEXT.contains(&plain(argument).as_str()) {
                continue;
            }
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                // `["apply_patch", "*** Begin Patch…"]`
                Value::Array(words) if words.iter().all(Value::is_string) => {
                    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
                }
                _ => return Err(CallFault::Argument { name: argument.clone(), expected: "the text of a patch" }),
            };
            texts += 1;
            self.add(patch::changes(&text, self.dialect())?, &folder)?;
        }
        let named = self.each(Deed::Write, Keys::Known)?;
        if texts == 0 && named == 0 {
            return Err(CallFault::Argument { name: "patchText".to_owned(), expected: "the text of a patch" });
        }
        Ok(())
    }

    fn diff(&mut self) -> Result<(), CallFault> {
        let named = self.each(Deed::Write, Keys::Known)?;
        let mut texts = Vec::new();
        diffs(self.args, 4, &mut texts);
        for text in texts {
            let diff = unified::read(text)?;
            self.add(diff.changes, self.cwd.unwrap_or_default())?;
            if named == 0 {
                diff.block_titles.iter().try_for_each(|title| self.touch(title, Deed::Write))?;
            }
        }
        if self.found.touches.is_empty() { Err(CallFault::NoPath { tool: self.tool.to_owned() }) } else { Ok(()) }
    }

    /// A patch that an unfamiliar tool was given besides its paths.
    fn patch_beside(&mut self) -> Result<(), CallFault> {
        for text in ["patch", "patchtext", "diff"] {
            if let Some(text) = arguments::text(self.args, &[text]).ok().flatten() {
                let changes = patch::changes(text, Dialect::Any).or_else(|_| unified::read(text).map(|diff| diff.changes))?;
                self.add(changes, self.cwd.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Takes in the files of a patch, which begin in a folder.
    fn add(&mut self, changes: Vec<Change>, folder: &str) -> Result<(), CallFault> {
        for Change { path, deed } in changes {
            // A patch names each file once, so there is no need to look for it among thousands.
            let places = if deed.mutates() { places(&path, Some(folder))? } else { vec![written(&path, Some(folder))?] };
            self.found.touches.extend(places.into_iter().map(|path| Touch { path, deed }));
        }
        Ok(())
    }

    fn dialect(&self) -> Dialect {
        match self.host {
            Some("codex") => Dialect::Codex,
            Some("opencode" | "kilo" | "kilocode") => Dialect::OpenCode,
            _ => Dialect::Any,
        }
    }
}

/// Every diff in the arguments: `diff`, and `content` below it.
fn diffs<'a>(args: &'a Map<String, Value>, depth: usize, found: &mut Vec<&'a str>) {
    for (argument, value) in args {
        let list = if let Value::Array(list) = value { list.as_slice() } else { std::slice::from_ref(value) };
        for value in list {
            match value {
                Value::String(text) if ["diff", "content", "patch"].contains(&plain(argument).as_str()) => found.push(text),
                Value::Object(object) if depth > 0 => diffs(object, depth - 1, found),
                _ => {}
            }
        }
    }
}
