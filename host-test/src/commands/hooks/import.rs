//! `tollgate hooks import`: makes hooks written for Claude Code run in every other program too.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::approve;
use crate::cli::client::{Gate, ask, list, number, text};
use crate::cli::confirm::Person;
use crate::cli::output::{Output, Style, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate hooks import`.
#[derive(Args)]
pub(crate) struct Options {
    /// A file of hooks in Claude Code's format, such as a plugin's hooks/hooks.json [default: the settings that Claude Code reads]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Import the hooks, and approve those of the workspace; a terminal is required
    #[arg(long, short)]
    yes: bool,
}

/// A larger file is not read.
const MAX_BYTES: u64 = 4 << 20;

pub(super) fn run(gate: &mut dyn Gate, root: &Path, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let mut question = json!({"op": "hooks", "do": "import"});
    if let (Some(file), Some(fields)) = (&options.file, question.as_object_mut()) {
        fields.extend(file_fields(file, root)?);
    }
    let found = ask(gate, &question)?;
    let taken = list(&found, "taken");
    if !json || options.yes {
        print(&found, json, output)?;
    }
    if taken.is_empty() || !options.yes {
        if json {
            output.json(&found)?;
        } else if !taken.is_empty() {
            output.note("nothing was changed; run it again with `--yes` to import them");
        }
        return Ok(if taken.is_empty() && !list(&found, "left_out").is_empty() { Outcome::No } else { Outcome::Done });
    }
    let person = Person::require(gate, root, &["hooks", "import"], true)?;
    // Imports only what was shown, even if the files have changed since.
    if let Some(fields) = question.as_object_mut() {
        fields.insert("take".to_owned(), true.into());
        fields.insert("digest".to_owned(), found.get("digest").cloned().unwrap_or_default());
    }
    let done = ask(gate, &question)?;
    let mut changed: Vec<String> = Vec::new();
    for taken in list(&done, "taken") {
        let file = text(taken, "/file").to_owned();
        // The user's own hooks need no approval.
        if !file.starts_with('~') {
            let (_, approved) = approve::approve(gate, text(taken, "/hook/id"), |question| person.ask(question), json, output)?;
            changed.extend(approved);
        }
        changed.push(file);
    }
    changed.dedup();
    if json {
        output.json(&done)?;
    }
    person.record(gate, &changed)?;
    Ok(Outcome::Done)
}

/// Identifies a file to the gate: by its path if it is in the workspace, otherwise by its path and contents.
fn file_fields(file: &Path, root: &Path) -> Result<serde_json::Map<String, Value>, CommandError> {
    let unreadable = |why: &dyn std::fmt::Display| CommandError::Failed(format!("`{}` cannot be read: {why}", file.display()));
    let real = file.canonicalize().map_err(|why| unreadable(&why))?;
    let mut fields = serde_json::Map::new();
    if let Some(inside) = real.strip_prefix(root).ok().and_then(Path::to_str) {
        fields.insert("path".to_owned(), inside.replace('\\', "/").into());
        return Ok(fields);
    }
    let size = std::fs::metadata(&real).map_err(|why| unreadable(&why))?.len();
    if size > MAX_BYTES {
        return Err(unreadable(&"it is too large"));
    }
    let text = std::fs::read_to_string(&real).map_err(|why| unreadable(&why))?;
    let path = real.to_str().ok_or_else(|| unreadable(&"its path is not UTF-8"))?;
    fields.insert("path".to_owned(), path.into());
    fields.insert("text".to_owned(), text.into());
    Ok(fields)
}

fn print(found: &Value, json: bool, output: &mut Output<'_>) -> Result<(), CommandError> {
    let mut lines = Vec::new();
    for taken in list(found, "taken") {
        let hook = taken.get("hook").unwrap_or(&Value::Null);
        let command = match hook.get("command") {
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
            command => command.and_then(Value::as_str).unwrap_or_default().to_owned(),
        };
        let matcher = match text(hook, "/matcher") {
            "" => String::new(),
            matcher => format!(" {matcher}"),
        };
        let id = output.paint(Style::Green, &escape(&format!("+ {}", text(hook, "/id"))));
        lines.push(format!(
            "{id}  {}{}  {}  ({})",
            escape(text(hook, "/trigger")),
            escape(&matcher),
            escape(&command),
            escape(text(taken, "/file"))
        ));
    }
    for left in list(found, "left_out") {
        let place = format!("{} {}", escape(text(left, "/file")), escape(text(left, "/path")));
        lines.push(format!("{}  {place}: {}", output.paint(Style::Yellow, "skipped"), escape(text(left, "/why"))));
    }
    match number(found, "known") {
        0 if lines.is_empty() => output.note("there are no Claude Code hooks to import"),
        0 => {}
        known => output.note(&format!("{known} already declared")),
    }
    for line in lines {
        if json { drop(writeln!(output.err, "{line}")) } else { output.line(&line)? }
    }
    output.out.flush()?;
    Ok(())
}
