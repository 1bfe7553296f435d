//! What each program's tools do, and what their arguments mean.
//!
//! The workspace's own settings (`.tollgate/config.json`) come first, then the records of the agent programs, then the words of
//! the tool's name. A call without a host may mean any program's tool of that name, and every interpretation counts. What remains
//! unclear is unknown.

mod arguments;
mod background;
mod commands;
mod patches;
mod powershell;
mod queries;
mod reader;
mod servers;
mod shell_command;
mod strays;
mod unfamiliar;
mod verbs;
mod words;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{CallFault, ToolCall};
use crate::config::{Config, ToolEffect, ToolRule};
use crate::effects::path::{candidates, normalize};
use crate::effects::{Access, Footprint, PathAccess, Persistence};
use crate::json;
use crate::ports::Workspace;
use crate::programs::permissions::ServerTool;
use crate::programs::{self, Act, ArgumentMeaning, Tool};
use crate::servers::Treatment;
use arguments::{NamedPath, PathArguments};
pub(super) use background::{omits_end_while_running, reports_still_running};
use commands::JudgedCommands;
pub(super) use reader::reader;
pub use shell_command::ShellCommand;
pub(super) use shell_command::{shell_command, with_command};

/// The most arguments of a call.
const MAX_ARGUMENTS: usize = 256;

/// How deeply lists and objects are searched.
const MAX_DEPTH: usize = 4;

/// The most reasons that are kept for why a call is not known.
const MAX_UNKNOWNS: usize = 8;

/// Words for the source of a move or a copy.
const SOURCES: &[&str] = &["source", "src", "from", "old", "original"];

/// Words for its target.
const TARGETS: &[&str] = &["destination", "dest", "dst", "to", "new", "target"];

/// What the call does, judging by its tool and its arguments.
pub(super) fn footprint(
    call: &ToolCall,
    args: &Map<String, Value>,
    treatment: Treatment,
    config: &Config,
    workspace: &dyn Workspace,
) -> Result<Footprint, CallFault> {
    let tools = programs::tools(call.host.as_deref(), &call.tool);
    let judged = JudgedCommands::default();
    let mut meaning = FootprintBuilder {
        tool: &call.tool,
        tools: &tools,
        host: call.host.as_deref(),
        cwd: call.cwd.as_deref(),
        args,
        workspace,
        judged: &judged,
        treatment,
        found: Footprint::default(),
    };
    match config.tool(&call.tool) {
        _ if args.len() > MAX_ARGUMENTS => {
            meaning.unknown(format!("`{}` is given more arguments than any tool takes", call.tool))?
        }
        Some(rule) => meaning.apply_rule(rule)?,
        None if tools.is_empty() => meaning.apply_name()?,
        None => meaning.apply_records(config)?,
    }
    let mut found = meaning.found;
    found.persistence = found.persistence.max(background::persistence(&call.tool, args));
    Ok(found)
}

/// The MCP tool that a call means by its name, or by the arguments of the program's own tool for calling MCP tools.
pub(super) fn server_tool(call: &ToolCall, args: &Map<String, Value>) -> Option<ServerTool> {
    let tools = programs::tools(call.host.as_deref(), &call.tool);
    let Some(caller) = tools.iter().find(|tool| tool.act == Act::CallsServer) else {
        return ServerTool::of_name(&call.tool);
    };
    let text = |kind| caller.arguments(kind).find_map(|name| args.get(name)?.as_str());
    ServerTool::new(text(ArgumentMeaning::Server)?, text(ArgumentMeaning::ServerTool)?)
}

/// A call while its footprint is being built.
struct FootprintBuilder<'a> {
    tool: &'a str,
    /// The tools that the name may mean.
    tools: &'a [&'static Tool],
    host: Option<&'a str>,
    cwd: Option<&'a str>,
    args: &'a Map<String, Value>,
    workspace: &'a dyn Workspace,
    judged: &'a JudgedCommands,
    /// How the tool is treated if nothing else says what it does.
    treatment: Treatment,
    found: Footprint,
}

impl<'a> FootprintBuilder<'a> {
    fn apply_rule(&mut self, rule: &ToolRule) -> Result<(), CallFault> {
        let keys = rule.paths.as_deref().map_or(PathArguments::Likely, PathArguments::These);
        match rule.effect {
            ToolEffect::Read => self.record_paths(Access::Read, keys).map(drop),
            ToolEffect::Write => self.record_required_paths(Access::Write, keys),
            ToolEffect::Delete => self.record_required_paths(Access::Delete, keys),
            ToolEffect::Move => match (rule.paths.as_deref(), arguments::paths(self.args, keys)?) {
                (Some([source, ..]), named) => named.iter().try_for_each(|named| {
                    self.touch(&named.path, if named.argument == *source { Access::Delete } else { Access::Write })
                }),
                _ => self.relocate(Access::Delete),
            },
            ToolEffect::Execute => self.execute(),
            ToolEffect::Shell => {
                self.shell(&commands::RUNNER)?;
                self.check_strays(&[&commands::RUNNER])
            }
            ToolEffect::Unknown => self.unknown(format!("what the tool `{}` does is not known", self.tool)),
        }
    }

    /// Every interpretation by a record counts. If one record expects the type of the given value and another does not, the other
    /// record's program would reject the call, so that record is skipped.
    fn apply_records(&mut self, config: &Config) -> Result<(), CallFault> {
        let mut readings: Vec<&Tool> = self.tools.iter().copied().filter(|tool| fits(tool, self.args)).collect();
        if readings.is_empty() {
            readings = self.tools.to_vec();
        }
        for (at, tool) in readings.iter().enumerate() {
            let mut reading = FootprintBuilder { found: Footprint::default(), ..*self };
            reading.apply_record(tool, config)?;
            let found = reading.found;
            if at == 0 {
                self.found.touches = found.touches;
            } else if found.touches != self.found.touches {
                self.found.conditional = true;
                let known: BTreeSet<PathAccess> = self.found.touches.iter().cloned().collect();
                self.found.touches.extend(found.touches.into_iter().filter(|touch| !known.contains(touch)));
            }
            self.found.conditional |= found.conditional;
            self.found.programs.extend(found.programs);
            self.found.unconfinable.extend(found.unconfinable);
            self.found.unfamiliar |= found.unfamiliar;
            self.found.persistence = self.found.persistence.max(found.persistence);
            for placement in found.placements {
                self.found.place(placement.at, placement.origin);
            }
            self.found.controls.extend(found.controls);
            for why in found.unknowns {
                if !self.found.unknowns.contains(&why) {
                    self.found.unknowns.push(why);
                }
            }
        }
        self.check_strays(&readings)
    }

    fn apply_record(&mut self, tool: &Tool, config: &Config) -> Result<(), CallFault> {
        let keys = PathArguments::Known(tool);
        for (argument, value) in self.args {
            match tool.meaning_of(argument) {
                Some(ArgumentMeaning::ReadPath) => self.paths_under(argument, value, Access::Read)?,
                Some(ArgumentMeaning::WrittenPath) => self.paths_under(argument, value, Access::Write)?,
                _ => {}
            }
        }
        match tool.act {
            Act::Reads => self.record_paths(Access::Read, keys).map(drop),
            // Some of these also run a command.
            Act::Inert => self.record_commands(tool).map(drop),
            Act::Writes => self.record_required_paths(Access::Write, keys),
            Act::Deletes => self.record_required_paths(Access::Delete, keys),
            Act::MakesFolders => self.record_required_paths(Access::MakeFolder, keys),
            Act::Patches => self.patch(tool),
            Act::Diffs => self.diff(tool),
            Act::Edits => self.edit(tool),
            Act::Shell | Act::PowerShell => self.shell(tool),
            Act::Types => self.type_into(tool),
            Act::Executes => self.execute(),
            Act::CallsServer => {
                let found = self.call_through(tool, config)?;
                self.found.merge(found);
                Ok(())
            }
            Act::Opaque => self.unknown(format!("what `{}` does cannot be seen from its arguments", self.tool)),
        }
    }

    /// Records the same access for every path in one argument.
    fn paths_under(&mut self, argument: &str, value: &Value, access: Access) -> Result<(), CallFault> {
        let name = [argument.to_owned()];
        let one = Map::from_iter([(argument.to_owned(), value.clone())]);
        let named = arguments::paths(&one, PathArguments::These(&name))?;
        named.iter().try_for_each(|named| self.touch(&named.path, access))
    }

    /// Judges an editor with several functions.
    fn edit(&mut self, tool: &Tool) -> Result<(), CallFault> {
        let keys = PathArguments::Known(tool);
        let function = tool.arguments(ArgumentMeaning::Function).find_map(|name| self.args.get(name)).unwrap_or(&Value::Null);
        match function.as_str() {
            Some("view") => self.record_paths(Access::Read, keys).map(drop),
            Some("delete") => self.record_required_paths(Access::Delete, keys),
            Some("rename") => self.relocate(Access::Delete),
            Some("create" | "str_replace" | "insert" | "undo_edit") => self.record_required_paths(Access::Write, keys),
            None if function.is_null() => self.record_required_paths(Access::Write, keys),
            _ => {
                self.unknown(format!("`{}` is given a command that is not known", self.tool))?;
                self.record_required_paths(Access::Write, keys)
            }
        }
    }

    /// Judges a tool that types into a program. If it types nothing, it only waits for the program's output.
    fn type_into(&mut self, tool: &Tool) -> Result<(), CallFault> {
        let typed =
            || tool.arguments(ArgumentMeaning::Typed).filter_map(|name| self.args.get(name)).filter(|value| !value.is_null());
        if typed().next().is_some() && typed().all(|value| value.as_str() == Some("")) {
            return Ok(());
        }
        self.found.persistence = Persistence::Session;
        let controls: Vec<String> = typed().filter_map(Value::as_str).filter_map(super::shell::control_in).collect();
        self.found.controls.extend(controls);
        self.unknown(format!("`{}` types into a running program, and what that does cannot be seen", self.tool))
    }

    /// The footprint of an MCP tool that is called through the program's own tool.
    fn call_through(&self, tool: &Tool, config: &Config) -> Result<Footprint, CallFault> {
        let text = |kind| -> Result<Option<&str>, CallFault> {
            match tool.arguments(kind).find_map(|name| self.args.get(name).map(|value| (name, value))) {
                None | Some((_, Value::Null)) => Ok(None),
                Some((_, Value::String(text))) => Ok(Some(text)),
                Some((name, _)) => Err(CallFault::Argument { name: name.to_owned(), expected: "a string" }),
            }
        };
        let server = text(ArgumentMeaning::Server)?.unwrap_or_default();
        let Some(called) = text(ArgumentMeaning::ServerTool)? else {
            let name = tool.arguments(ArgumentMeaning::ServerTool).next().unwrap_or("tool_name").to_owned();
            return Err(CallFault::Argument { name, expected: "a string" });
        };
        let invalid = || CallFault::Argument { name: "arguments".to_owned(), expected: "a JSON object" };
        let given = tool.arguments(ArgumentMeaning::ServerArguments).find_map(|name| self.args.get(name));
        let args = match given {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(args)) => args.clone(),
            Some(Value::String(text)) if text.trim().is_empty() => Map::new(),
            Some(Value::String(text)) => match json::value(text) {
                Ok(Value::Object(args)) => args,
                _ => return Err(invalid()),
            },
            Some(_) => return Err(invalid()),
        };
        let name = format!("mcp__{server}__{called}");
        let own = programs::tools(None, &name);
        let mut inner = FootprintBuilder { tool: &name, tools: &own, args: &args, found: Footprint::default(), ..*self };
        match config.tool(&name) {
            Some(rule) => inner.apply_rule(rule)?,
            _ if args.len() > MAX_ARGUMENTS => {
                inner.unknown(format!("`{called}` is given more arguments than any tool takes"))?
            }
            None if own.is_empty() => inner.apply_name()?,
            None => inner.apply_records(config)?,
        }
        Ok(inner.found)
    }

    fn unknown(&mut self, why: String) -> Result<(), CallFault> {
        // A few reasons are enough, and a call may have any number of arguments.
        if self.found.unknowns.len() < MAX_UNKNOWNS {
            self.found.unknowns.push(why);
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<(), CallFault> {
        self.found.touch(normalize(".", self.cwd)?, Access::Execute);
        Ok(())
    }

    fn touch(&mut self, path: &str, access: Access) -> Result<(), CallFault> {
        self.candidates(path, access)?.into_iter().for_each(|place| self.found.touch(place, access));
        Ok(())
    }

    /// Every location that a path may mean.
    fn candidates(&self, path: &str, access: Access) -> Result<Vec<String>, CallFault> {
        if access.mutates() {
            return Ok(candidates(path, self.cwd)?);
        }
        // Reading an empty path means reading the current folder.
        Ok(vec![normalize(if path.is_empty() { "." } else { path }, self.cwd)?])
    }

    /// Records the same access for every path, and returns the number of paths.
    fn record_paths(&mut self, access: Access, keys: PathArguments<'_>) -> Result<usize, CallFault> {
        let named = arguments::paths(self.args, keys)?;
        let mut known: BTreeSet<PathAccess> = self.found.touches.iter().cloned().collect();
        for NamedPath { path, .. } in &named {
            for place in self.candidates(path, access)? {
                let touch = PathAccess { path: place, access };
                if known.insert(touch.clone()) {
                    self.found.touches.push(touch);
                }
            }
        }
        Ok(named.len())
    }

    /// The same for a tool that must name a path.
    fn record_required_paths(&mut self, access: Access, keys: PathArguments<'_>) -> Result<(), CallFault> {
        let named = self.record_paths(access, keys)?;
        if named == 0 && !self.found.touches.iter().any(|touch| touch.access.mutates()) {
            return Err(CallFault::NoPath { tool: self.tool.to_owned() });
        }
        Ok(())
    }

    /// Records both ends of a move or a copy. A path whose role is not known counts as source and as target.
    fn relocate(&mut self, source_access: Access) -> Result<(), CallFault> {
        let mut folder = None;
        let (mut sources, mut targets) = (0, 0);
        for (argument, value) in self.args {
            let words = words::words(argument);
            let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
            let access = match (has(TARGETS), has(SOURCES)) {
                (true, _) => Access::Write,
                (false, true) => source_access,
                (false, false) if arguments::is_path(argument) => source_access,
                _ => continue,
            };
            let one = Map::from_iter([("path".to_owned(), value.clone())]);
            for NamedPath { path, .. } in arguments::paths(&one, PathArguments::Likely)? {
                if access == Access::Write {
                    targets += 1;
                    if let (true, Some(folder)) = (words.contains(&"name".to_owned()), &folder) {
                        self.touch(&format!("{folder}/{path}"), access)?;
                        continue;
                    }
                } else {
                    sources += 1;
                    folder = path.rsplit_once('/').map(|(folder, _)| folder.to_owned()).or_else(|| Some(".".to_owned()));
                }
                self.touch(&path, access)?;
            }
        }
        if sources == 0 || targets == 0 {
            return self.unknown(format!("`{}` does not say what it moves, or where to", self.tool));
        }
        Ok(())
    }
}

/// Whether a tool's record expects the type of the given command.
fn fits(tool: &Tool, args: &Map<String, Value>) -> bool {
    tool.args.iter().all(|(name, kind)| match (kind, args.get(*name)) {
        (_, None | Some(Value::Null)) => true,
        (ArgumentMeaning::Command, Some(value)) => value.is_string(),
        (ArgumentMeaning::Words, Some(value)) => value.is_array(),
        _ => true,
    })
}
