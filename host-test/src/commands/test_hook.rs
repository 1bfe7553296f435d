//! `tollgate test-hook FILE CASES`: calls a hook as the gate would, and compares its answers with what its author expects.
//!
//! A case is one line of JSON:
//!
//! ```json
//! {"name": "a push to main", "tool": "bash", "args": {"command": "git push origin main"}, "expect": {"severity": "deny", "code": "push"}}
//! ```
//!
//! | field | meaning |
//! | --- | --- |
//! | `name` | the name of the case in the table |
//! | `function` | `pre-tool` (the default), `post-tool`, `augment` or `events` |
//! | `tool`, `args` | the call |
//! | `result`, `error` | how it ended, for `post-tool` |
//! | `event`, `data` | the event, for `events` |
//! | `files` | files of the workspace: path and content |
//! | `settings` | the hook's settings |
//! | `intent` | `{"owned_scope": […]}`: the workspace is governed, and this is the session's intent |
//! | `expect` | the expected fields of the answer, or null for no answer. A string matches any string that contains it |
//!
//! If the npm package is installed in the working directory or above it (`node_modules/tollgate`), the cases run in Node as
//! well, and both hosts have to agree.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::components::{Cache, compile_now};
use tollgate::hooks::{Hooks, Options as HookOptions};

use super::inspect::read;
use super::other_host;
use crate::cli::output::{Cell, Output, Style, escape};
use crate::cli::{fail, print_message};

/// The options of `tollgate test-hook`.
#[derive(Args)]
pub(crate) struct Options {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The test cases, one JSON object per line
    #[arg(value_name = "CASES")]
    cases: PathBuf,
    /// Also call it in another host: a command that reads and answers lines as `tollgate eval` does
    /// [default: `node node_modules/tollgate/dist/eval.js`, where that is installed]
    #[arg(long, value_name = "COMMAND")]
    host: Option<String>,
    /// Print the outcome of each case as one JSON object per line
    #[arg(long)]
    json: bool,
}

/// One case and its result.
pub(super) struct TrialResult {
    name: String,
    pub(super) passed: bool,
    pub(super) said: String,
    took_us: u64,
    /// The result in the other host, if there is one and it can be asked.
    other: Option<Box<TrialResult>>,
    log: Vec<String>,
}

/// Runs every case; exits with 1 if one fails.
pub(crate) fn run(options: &Options) -> ExitCode {
    match try_all(options) {
        Ok(tried) => {
            show(&tried, options.json);
            if tried.iter().all(|tried| tried.passed) { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(why) => fail(&why),
    }
}

fn try_all(options: &Options) -> Result<Vec<TrialResult>, String> {
    let bytes = read(&options.file)?;
    let text =
        fs::read_to_string(&options.cases).map_err(|why| format!("`{}` cannot be read: {why}", options.cases.display()))?;
    let home = tempfile::tempdir().map_err(|why| format!("there is no folder for temporary files: {why}"))?;
    let host = options.host.as_deref().map(|host| host.split_whitespace().map(str::to_owned).collect()).or_else(find_npm_package);
    let mut tried = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("`{}`, line {}", options.cases.display(), number + 1);
        let case: Value = serde_json::from_str(line).map_err(|why| format!("{place}: it is not valid JSON: {why}"))?;
        if !case.is_object() {
            return Err(format!("{place}: it is not a JSON object"));
        }
        let mut one = try_one(&case, &bytes, home.path()).map_err(|why| format!("{place}: {why}"))?;
        if let Some(host) = host.as_deref() {
            let other = other_host::try_one(host, &case, &bytes, home.path())
                .map_err(|why| format!("{place}, in `{}`: {why}", host.join(" ")))?;
            if let Some(other) = &other {
                one.passed = one.passed && other.passed && other.said == one.said;
            }
            one.other = other.map(Box::new);
        }
        tried.push(one);
    }
    if tried.is_empty() {
        return Err(format!("`{}` has no cases", options.cases.display()));
    }
    Ok(tried)
}

/// Calls the hook through the gate, in a new workspace.
fn try_one(case: &Value, bytes: &[u8], home: &Path) -> Result<TrialResult, String> {
    let fault = |why: &dyn std::fmt::Display| why.to_string();
    let workspace = tempfile::tempdir().map_err(|why| fault(&why))?;
    let root = workspace.path();
    let function = case.get("function").and_then(Value::as_str).unwrap_or("pre-tool");
    set_up(case, function, bytes, root)?;
    let mut gate = Tollgate::builder().workspace(root).home(home).open().map_err(|why| fault(&why))?;
    let mut hooks = Hooks::new(&mut gate, HookOptions::new());
    let mut perform = |line: Value| -> Result<Value, String> {
        let answer = hooks.perform(line.to_string().as_bytes()).map_err(|why| fault(&why))?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|why| fault(&why))?;
        match answer.pointer("/error/message").and_then(Value::as_str) {
            Some(message) => Err(message.to_owned()),
            None => Ok(answer),
        }
    };
    let approved = perform(json!({"op": "hooks", "do": "approve", "id": "hook"}))?;
    let digest = approved.get("component").and_then(Value::as_str).unwrap_or_default();
    let real_home = home.canonicalize().map_err(|why| fault(&why))?;
    compile_now(&Cache::new(&real_home), digest, None, |_| ()).map_err(|why| fault(&why))?;
    if case.get("intent").is_some() {
        perform(json!({"op": "select-intent", "session": "s1", "intent": "INT-1"}))?;
    }
    let event = match function {
        "post-tool" => "after_tool",
        "events" => case.get("event").and_then(Value::as_str).unwrap_or("before_model"),
        _ => "before_tool",
    };
    if function == "events" {
        perform(json!({"op": "event", "event": event, "session": "s1", "data": case.get("data").unwrap_or(&json!({}))}))?;
    } else {
        let mut payload = json!({"event": event, "session": "s1", "call": "c1", "cwd": root});
        for name in ["tool", "args", "result", "error"] {
            if let (Some(value), Some(fields)) = (case.get(name), payload.as_object_mut()) {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        hooks.respond("generic", None, payload.to_string().as_bytes()).map_err(|why| fault(&why))?;
    }
    let answer = hooks.perform(br#"{"op":"hooks","do":"history","limit":10}"#).map_err(|why| fault(&why))?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|why| fault(&why))?;
    let records = answer.get("records").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(judge(case, find_record(&records, function)))
}

/// The newest record of a call to this function.
pub(super) fn find_record<'r>(records: &'r [Value], function: &str) -> Option<&'r Value> {
    let is_it = |record: &&Value| function == "events" || record.get("function").and_then(Value::as_str) == Some(function);
    records.iter().find(is_it)
}

pub(super) fn set_up(case: &Value, function: &str, bytes: &[u8], root: &Path) -> Result<(), String> {
    let write = |path: &str, content: &[u8]| -> Result<(), String> {
        let inside = !path.is_empty() && !path.starts_with('/') && path.split('/').all(|name| name != "..");
        let path = inside.then(|| root.join(path)).ok_or_else(|| format!("`{path}` is not a path in the workspace"))?;
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
        written.map_err(|why| format!("`{}` cannot be written: {why}", path.display()))
    };
    let mut declared = json!({"id": "hook", "component": "hook.wasm"});
    if let Some(fields) = declared.as_object_mut() {
        if function == "events" {
            fields.insert("trigger".to_owned(), case.get("event").cloned().unwrap_or_else(|| "before_model".into()));
        }
        fields.extend(case.get("settings").map(|settings| ("settings".to_owned(), settings.clone())));
    }
    write("hook.wasm", bytes)?;
    write(".tollgate/hooks.json", json!({"hooks": [declared]}).to_string().as_bytes())?;
    if let Some(scope) = case.pointer("/intent/owned_scope") {
        let intent = json!({"id": "INT-1", "name": "the case", "status": "IN_PROGRESS", "owned_scope": scope});
        write(".orchestration/active_intents.yaml", json!({"active_intents": [intent]}).to_string().as_bytes())?;
    }
    for (path, content) in case.get("files").and_then(Value::as_object).into_iter().flatten() {
        write(path, content.as_str().unwrap_or_default().as_bytes())?;
    }
    Ok(())
}

pub(super) fn judge(case: &Value, record: Option<&Value>) -> TrialResult {
    let name = case.get("name").and_then(Value::as_str).unwrap_or("(no name)").to_owned();
    let expected = case.get("expect").unwrap_or(&Value::Null);
    let Some(record) = record else {
        let said = "it was not called: the gate denied the call, or it exports no such function".to_owned();
        return TrialResult { name, passed: false, said, took_us: 0, other: None, log: Vec::new() };
    };
    let status = record.get("status").and_then(Value::as_str).unwrap_or_default();
    let nothing = Value::Null;
    let said = match record.get("said") {
        Some(said) => said.clone(),
        None if status == "success" => nothing,
        None => json!({"fault": record.get("reason"), "status": status}),
    };
    let line = |line: &Value| line.get("text").and_then(Value::as_str).map(str::to_owned);
    let log = record.get("log").and_then(Value::as_array).into_iter().flatten().filter_map(line).collect();
    let took_us = record.get("duration_us").and_then(Value::as_u64).unwrap_or_default();
    TrialResult { name, passed: matches_expected(expected, &said), said: said.to_string(), took_us, other: None, log }
}

/// The npm package beside the working directory, or in a folder above it.
fn find_npm_package() -> Option<Vec<String>> {
    let here = std::env::current_dir().ok()?;
    let eval = here.ancestors().map(|folder| folder.join("node_modules/tollgate/dist/eval.js")).find(|file| file.is_file())?;
    Some(vec!["node".to_owned(), eval.to_str()?.to_owned()])
}

/// Whether an answer contains everything that is expected.
fn matches_expected(expected: &Value, said: &Value) -> bool {
    match (expected, said) {
        (Value::Object(expected), Value::Object(said)) => {
            expected.iter().all(|(name, value)| matches_expected(value, said.get(name).unwrap_or(&Value::Null)))
        }
        (Value::String(expected), Value::String(said)) => said.contains(expected),
        (expected, said) => expected == said,
    }
}

fn show(tried: &[TrialResult], as_json: bool) {
    let mut out = io::stdout().lock();
    if as_json {
        let value = |said: &str| serde_json::from_str::<Value>(said).unwrap_or_else(|_| said.into());
        for TrialResult { name, passed, said, took_us, other, log } in tried {
            let mut line = json!({"name": name, "passed": passed, "said": value(said), "took_us": took_us, "log": log});
            if let (Some(other), Some(fields)) = (other, line.as_object_mut()) {
                fields.insert("other_host".to_owned(), json!({"said": value(&other.said), "took_us": other.took_us}));
            }
            let _ = writeln!(out, "{line}");
        }
        return;
    }
    let mut err = io::stderr();
    let mut sink = io::sink();
    let screen = Output { out: &mut sink, err: &mut err, colour: false };
    let has_other = tried.iter().any(|tried| tried.other.is_some());
    let row = |tried: &TrialResult| {
        let (word, style) = if tried.passed { ("ok", Style::Green) } else { ("FAILED", Style::Red) };
        let took = format!("{} µs", tried.took_us);
        let mut cells = vec![Cell::styled(word, style), Cell::new(escape(&tried.name)), Cell::new(took)];
        if has_other {
            cells.push(Cell::new(tried.other.as_ref().map_or_else(|| "–".to_owned(), |other| format!("{} µs", other.took_us))));
        }
        cells.push(Cell::new(escape(&tried.said)));
        cells
    };
    let rows = screen.rows(&tried.iter().map(row).collect::<Vec<_>>());
    for (line, tried) in rows.iter().zip(tried) {
        let _ = writeln!(out, "{line}");
        if let Some(other) = tried.other.as_ref().filter(|other| other.said != tried.said) {
            let _ = writeln!(out, "        the other host: {}", escape(&other.said));
        }
        for line in &tried.log {
            let _ = writeln!(out, "        | {}", escape(line));
        }
    }
    let failures = tried.iter().filter(|tried| !tried.passed).count();
    if failures > 0 {
        print_message(&format!("{failures} of {} cases failed", tried.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_to_have_what_is_expected() {
        let said = json!({"severity": "deny", "code": "x", "reason": "hook h: not on main"});
        for (expected, passes) in [
            (json!({"severity": "deny"}), true),
            (json!({"severity": "deny", "reason": "on main"}), true),
            (json!({"severity": "ask"}), false),
            (json!({"note": "x"}), false),
            (json!({}), true),
            (Value::Null, false),
        ] {
            assert_eq!(matches_expected(&expected, &said), passes, "{expected}");
        }
        assert!(matches_expected(&Value::Null, &Value::Null));
        assert!(!matches_expected(&json!({"severity": "deny"}), &Value::Null));
    }
}
