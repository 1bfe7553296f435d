//! Tools that apply patches and diffs.

use serde_json::{Map, Value};

use super::super::CallFault;
use super::super::patch::{self, PatchedFile, unified};
use super::arguments::{self, PathArguments, fold_name};
use super::{FootprintBuilder, unfamiliar};
use crate::effects::path::{candidates, normalize};
use crate::effects::{Access, PathAccess};
use crate::programs::{self, ArgumentMeaning, PatchDialect, Tool};

impl FootprintBuilder<'_> {
    pub(super) fn patch(&mut self, tool: &Tool) -> Result<(), CallFault> {
        let mut texts = 0;
        let folders = self.folders(tool)?;
        for (argument, value) in self.args {
            // A patch under the name that another program uses counts as well.
            let named = match tool.meaning_of(argument) {
                Some(kind) => kind == ArgumentMeaning::Patch,
                None => ["patchtext", "patch", "input", "command", "diff"].contains(&fold_name(argument).as_str()),
            };
            if !named {
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
            let changes = patch::changes(&text, self.dialect())?;
            for folder in &folders {
                self.add(changes.clone(), folder)?;
            }
        }
        let mut named = arguments::paths(self.args, PathArguments::Known(tool))?;
        named.retain(|named| !unfamiliar::is_folder(&named.argument));
        named.iter().try_for_each(|named| self.touch(&named.path, Access::Write))?;
        if texts == 0 && named.is_empty() {
            let name = tool.arguments(ArgumentMeaning::Patch).next().unwrap_or("patch").to_owned();
            return Err(CallFault::Argument { name, expected: "the text of a patch" });
        }
        Ok(())
    }

    pub(super) fn diff(&mut self, tool: &Tool) -> Result<(), CallFault> {
        let named = self.record_paths(Access::Write, PathArguments::Known(tool))?;
        let mut texts = Vec::new();
        diffs(self.args, 4, &mut texts);
        for text in texts {
            let diff = unified::read(text)?;
            self.add(diff.changes, self.cwd.unwrap_or_default())?;
            if named == 0 {
                diff.block_titles.iter().try_for_each(|title| self.touch(title, Access::Write))?;
            }
        }
        if self.found.touches.is_empty() { Err(CallFault::NoPath { tool: self.tool.to_owned() }) } else { Ok(()) }
    }

    /// Records a patch that an unfamiliar tool was given in addition to paths.
    pub(super) fn patch_beside(&mut self) -> Result<(), CallFault> {
        for (argument, value) in self.args {
            if let (true, Value::String(text)) = (["patch", "patchtext", "diff"].contains(&fold_name(argument).as_str()), value) {
                let changes =
                    patch::changes(text, PatchDialect::Any).or_else(|_| unified::read(text).map(|diff| diff.changes))?;
                self.add(changes, self.cwd.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Records the files of a patch, relative to a folder.
    pub(super) fn add(&mut self, changes: Vec<PatchedFile>, folder: &str) -> Result<(), CallFault> {
        for PatchedFile { path, access } in changes {
            // A patch names each file once, so there is no need to search thousands for it.
            let places = if access.mutates() { candidates(&path, Some(folder))? } else { vec![normalize(&path, Some(folder))?] };
            self.found.touches.extend(places.into_iter().map(|path| PathAccess { path, access }));
        }
        Ok(())
    }

    fn dialect(&self) -> PatchDialect {
        programs::dialect(self.host)
    }
}

/// All diffs in the arguments: `diff`, and `content` below it.
fn diffs<'a>(args: &'a Map<String, Value>, depth: usize, found: &mut Vec<&'a str>) {
    for (argument, value) in args {
        let list = if let Value::Array(list) = value { list.as_slice() } else { std::slice::from_ref(value) };
        for value in list {
            match value {
                Value::String(text) if ["diff", "content", "patch"].contains(&fold_name(argument).as_str()) => found.push(text),
                Value::Object(object) if depth > 0 => diffs(object, depth - 1, found),
                _ => {}
            }
        }
    }
}
