//! Workspaces for measurements: a folder with intents, and a home folder beside it.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::repository::tollgate;

/// The session that works for the first intent.
pub(crate) const SESSION: &str = "bench";

/// A workspace in a temporary folder.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

/// What a workspace contains in addition to ten intents and two files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Nothing.
    Small,
    /// 1,000 intents.
    Intents,
    /// 1,000 hooks of the user.
    Hooks,
    /// 50,000 notes.
    Notes,
    /// A ledger of a million lines.
    Ledger,
}

impl Workspace {
    /// Creates one with a session that works for `INT-0`, which owns `src/auth/**`.
    pub(crate) fn new(load: Load) -> Result<Self> {
        let workspace = Self { folder: tempfile::tempdir()? };
        let root = workspace.root();
        for folder in [".orchestration", ".tollgate/concepts", "src/auth", "src/billing"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::create_dir_all(workspace.home().join(".tollgate"))?;
        fs::write(root.join(".orchestration/active_intents.yaml"), intents(if load == Load::Intents { 1_000 } else { 10 }))?;
        fs::write(root.join("src/auth/login.ts"), "export const login = () => 1;\n")?;
        fs::write(root.join("src/billing/pay.ts"), "export const pay = () => 2;\n")?;
        match load {
            Load::Small | Load::Intents => {}
            Load::Hooks => fs::write(workspace.home().join(".tollgate/hooks.json"), hooks())?,
            Load::Notes => write_notes(&root.join(".tollgate/concepts"))?,
            Load::Ledger => write_ledger(&root.join(".orchestration/agent_trace.jsonl"))?,
        }
        workspace.select()?;
        Ok(workspace)
    }

    /// The governed folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// The user's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A call of the session as Claude Code reports it before running it.
    pub(crate) fn payload(&self, tool: &str, args: &serde_json::Value) -> Vec<u8> {
        self.event("PreToolUse", tool, args)
    }

    /// The same call after it ran.
    pub(crate) fn ended_event(&self, tool: &str, args: &serde_json::Value) -> Vec<u8> {
        self.event("PostToolUse", tool, args)
    }

    fn event(&self, event: &str, tool: &str, args: &serde_json::Value) -> Vec<u8> {
        json!({
            "session_id": SESSION, "hook_event_name": event, "cwd": self.root(), "tool_name": tool, "tool_input": args,
            "tool_use_id": "call",
        })
        .to_string()
        .into_bytes()
    }

    fn select(&self) -> Result<()> {
        let mut child = std::process::Command::new(tollgate())
            .arg("eval")
            .arg("--workspace")
            .arg(self.root())
            .arg("--home")
            .arg(self.home())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .context("running target/release/tollgate")?;
        let line = json!({"op": "select-intent", "session": SESSION, "intent": "INT-0"});
        child.stdin.take().context("its standard input")?.write_all(format!("{line}\n").as_bytes())?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        anyhow::ensure!(said.contains("\"INT-0\""), "the session has no intent: {said}");
        Ok(())
    }
}

fn intents(count: usize) -> String {
    let scope = |number: usize| if number == 0 { "src/auth".to_owned() } else { format!("src/part{number}") };
    let intent = |number: usize| {
        format!(
            "- id: INT-{number}\n  name: Number {number}\n  description: What part {number} is for\n  status: IN_PROGRESS\n  \
             owned_scope:\n    - {}/**\n  constraints:\n    - keep the public API stable\n",
            scope(number)
        )
    };
    (0..count).map(intent).collect()
}

fn hooks() -> String {
    let hook = |number: usize| {
        json!({"id": format!("hook-{number}"), "trigger": "onDidSaveTextDocument", "pattern": format!("src/{number}/**/*.ts"),
               "command": ["true"]})
    };
    json!({ "hooks": (0..1_000).map(hook).collect::<Vec<_>>() }).to_string()
}

fn write_notes(folder: &Path) -> Result<()> {
    for number in 0..50_000 {
        fs::write(folder.join(format!("note-{number}.md")), format!("# Note {number}\n\nWhat is known about {number}.\n"))?;
    }
    Ok(())
}

fn write_ledger(file: &Path) -> Result<()> {
    let mut ledger = BufWriter::new(fs::File::create(file)?);
    let hash = "0".repeat(64);
    for number in 0..1_000_000 {
        writeln!(
            ledger,
            r#"{{"id":"{number:032}","timestamp":"2026-01-01T00:00:00.000Z","intent_id":"INT-0","session_id":"s","tool_name":"write","mutation_class":"BUG_FIX","file":{{"relative_path":"src/{number}","pre_hash":"sha256:{hash}","post_hash":"sha256:{hash}","line_ranges":[]}},"content_hash":"sha256:{hash}","scope_validation":"PASS","success":true,"error":null,"saw":[]}}"#
        )?;
    }
    Ok(ledger.flush()?)
}
