//! Handles arguments that a tool does not have, and values of a type that the tool does not accept.

use serde_json::Value;

use super::super::CallFault;
use super::{FootprintBuilder, MAX_DEPTH, arguments, unfamiliar};
use crate::effects::path::normalize;
use crate::programs::{Act, ArgumentMeaning, Tool};

impl FootprintBuilder<'_> {
    /// Whether no tool that the call may mean has this argument.
    pub(super) fn is_stray(&self, tool: &Tool, argument: &str) -> bool {
        tool.meaning_of(argument).is_none() && self.tools.iter().all(|tool| tool.meaning_of(argument).is_none())
    }

    /// Checks for arguments that none of the tools has, and for values of a different type.
    pub(super) fn check_strays(&mut self, tools: &[&Tool]) -> Result<(), CallFault> {
        let changes = tools.iter().any(|tool| !matches!(tool.act, Act::Reads | Act::Inert));
        let has_paths =
            |act| matches!(act, Act::Reads | Act::Writes | Act::Deletes | Act::MakesFolders | Act::Diffs | Act::Edits);
        let has_folder = |act| matches!(act, Act::Shell | Act::PowerShell | Act::Patches);
        let mut folders: Vec<&Value> = Vec::new();
        for (argument, value) in self.args {
            let mut kinds = tools.iter().filter_map(|tool| tool.meaning_of(argument)).peekable();
            if kinds.peek().is_some() {
                if kinds.any(|kind| kind == ArgumentMeaning::Folder) && !value.is_null() {
                    folders.push(value);
                } else if changes && tools.iter().filter_map(|tool| tool.meaning_of(argument)).all(|kind| is_misfit(kind, value))
                {
                    let why = format!(
                        "`{argument}` of `{}` is not of the type that the tool takes, so how it would be interpreted is not known",
                        self.tool
                    );
                    self.unknown(why)?;
                } else if changes
                    && tools.iter().all(|tool| has_paths(tool.act))
                    && unfamiliar::contains_suspect(
                        value,
                        arguments::takes_objects(argument).then_some(arguments::is_common),
                        MAX_DEPTH,
                    )
                {
                    self.unknown(format!("`{argument}` of `{}` contains more than the tool is known to take", self.tool))?;
                }
                continue;
            }
            if tools.iter().all(|tool| has_paths(tool.act)) && arguments::is_common(argument) {
                continue;
            }
            if tools.iter().all(|tool| has_folder(tool.act)) && unfamiliar::is_folder(argument) && is_folder_text(value, self.cwd)
            {
                folders.push(value);
                continue;
            }
            if unfamiliar::may_change_effect(argument, value, changes) || is_rival(argument, value, tools) {
                let why = format!("`{}` is not known to take `{argument}`, which may change what the call does", self.tool);
                self.unknown(why)?;
            }
        }
        if let [first, rest @ ..] = folders.as_slice()
            && rest.iter().any(|folder| folder != first)
        {
            return self.unknown(format!("`{}` is given two folders, and where it would run is not known", self.tool));
        }
        Ok(())
    }
}

/// Whether an argument is another spelling of one that decides what the call does.
fn is_rival(argument: &str, value: &Value, tools: &[&Tool]) -> bool {
    let decides =
        |kind| !matches!(kind, ArgumentMeaning::Text | ArgumentMeaning::Number | ArgumentMeaning::Flag | ArgumentMeaning::List);
    let same = |(name, kind): &(&str, ArgumentMeaning)| decides(*kind) && arguments::is_same(name, argument);
    !value.is_null() && tools.iter().any(|tool| tool.args.iter().any(same))
}

/// Whether a value does not have the type that its argument expects, and could mean something else. Commands, folders and patches
/// are checked where they are used.
fn is_misfit(kind: ArgumentMeaning, value: &Value) -> bool {
    let is_list = matches!(value, Value::Array(_) | Value::Object(_));
    match kind {
        // A list with one item counts as that item, also when it is converted to text.
        ArgumentMeaning::Path | ArgumentMeaning::ReadPath | ArgumentMeaning::WrittenPath => {
            is_list && value.as_array().is_none_or(|list| list.len() > 1 || list.iter().any(|path| !path.is_string()))
        }
        ArgumentMeaning::Text => is_list,
        ArgumentMeaning::Number | ArgumentMeaning::Flag => {
            is_list || value.as_str().is_some_and(|text| !unfamiliar::is_plain_word(text))
        }
        ArgumentMeaning::Paths | ArgumentMeaning::List => value.as_str().is_some_and(|text| !unfamiliar::is_plain_word(text)),
        _ => false,
    }
}

/// Whether a value names a folder in which a call can be judged.
fn is_folder_text(value: &Value, cwd: Option<&str>) -> bool {
    value.as_str().is_some_and(|folder| folder.is_empty() || normalize(folder, cwd).is_ok())
}
