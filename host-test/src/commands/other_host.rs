//! Runs a case of `tollgate test-hook` in another host, which uses the protocol of `tollgate eval`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::test_hook::{TrialResult, find_record, judge, set_up};

/// How long the other host may take to prepare a component.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// Calls a hook in the other host. Returns `None` for a function that only an agent program can trigger.
pub(super) fn try_one(host: &[String], case: &Value, bytes: &[u8], home: &Path) -> Result<Option<TrialResult>, String> {
    let function = case.get("function").and_then(Value::as_str).unwrap_or("pre-tool");
    if function == "augment" {
        return Ok(None);
    }
    let workspace = tempfile::tempdir().map_err(|why| why.to_string())?;
    let root = workspace.path();
    set_up(case, function, bytes, root)?;
    let home = home.join("other");
    std::fs::create_dir_all(&home).map_err(|why| why.to_string())?;
    let mut host = Host::start(host, root, &home)?;
    host.ask(&json!({"op": "hooks", "do": "approve", "id": "hook"}))?;
    if case.get("intent").is_some() {
        host.ask(&json!({"op": "select-intent", "session": "s1", "intent": "INT-1"}))?;
    }
    let field = |name: &str| case.get(name).cloned();
    let line = match function {
        "events" => {
            json!({"op": "event", "event": field("event").unwrap_or_else(|| "before_model".into()), "session": "s1", "data": field("data").unwrap_or_else(|| json!({}))})
        }
        "post-tool" => {
            let mut line = json!({"op": "post-tool", "session": "s1", "call": "c1", "tool": field("tool"), "args": field("args"), "host": "generic",
                                  "cwd": root, "success": field("error").is_none()});
            for (name, from) in [("output", "result"), ("error", "error")] {
                let text = field(from).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                if let (Some(text), Some(fields)) = (text, line.as_object_mut()) {
                    fields.insert(name.to_owned(), text.into());
                }
            }
            line
        }
        _ => {
            json!({"op": "pre-tool", "session": "s1", "call": "c1", "tool": field("tool"), "args": field("args"), "host": "generic", "cwd": root})
        }
    };
    let start = Instant::now();
    loop {
        host.ask(&line)?;
        let answer = host.ask(&json!({"op": "hooks", "do": "history", "limit": 10}))?;
        let records = answer.get("records").and_then(Value::as_array).cloned().unwrap_or_default();
        let record = find_record(&records, function);
        let is_waiting = record.and_then(|record| record.get("reason")).and_then(Value::as_str) == Some("it is being compiled");
        if !is_waiting || start.elapsed() > MAX_WAIT {
            return Ok(Some(judge(case, record)));
        }
    }
}

struct Host {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Host {
    fn start(words: &[String], root: &Path, home: &Path) -> Result<Self, String> {
        let (program, args) = words.split_first().ok_or("`--host` is empty; name the command of a host")?;
        let mut command = Command::new(program);
        command.args(args).arg("--workspace").arg(root).arg("--home").arg(home);
        // If this command were in its `PATH`, the other host would let this command call the hook.
        let folders: Vec<PathBuf> = std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).filter(|folder| !folder.join("tollgate").is_file()).collect())
            .unwrap_or_default();
        command.env("PATH", std::env::join_paths(folders).map_err(|why| why.to_string())?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|why| format!("it cannot be started: {why}"))?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or("its standard streams are not available")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn ask(&mut self, line: &Value) -> Result<Value, String> {
        writeln!(self.input, "{line}").map_err(|why| why.to_string())?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).map_err(|why| why.to_string())?;
        let answer: Value = serde_json::from_str(&answer).map_err(|_| format!("it did not answer: {}", answer.trim()))?;
        match answer.pointer("/error/message").and_then(Value::as_str) {
            Some(message) => Err(message.to_owned()),
            None => Ok(answer),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
