//! A call that must be denied, sent the way the host would send it.
//!
//! It is made in a workspace of its own, where nobody has selected an intent: the user's workspace is not touched, and no
//! ledger tells of it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::wiring::on_path;

/// So long a hook may take. A host would wait longer; a person should not.
const PATIENCE: Duration = Duration::from_secs(10);

const INTENTS: &str = "active_intents:\n  - {id: CANARY, name: Canary, status: IN_PROGRESS, owned_scope: [canary/**]}\n";

/// Variables in which hosts name the project.
const PROJECT: [&str; 3] = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"];

/// A governed workspace for a moment.
pub(super) struct Cage {
    root: PathBuf,
}

impl Cage {
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|why| io::Error::other(why.to_string()))?;
        let name = format!("tollgate-doctor-{:016x}", u64::from_le_bytes(bytes));
        let root = std::env::temp_dir().join(name);
        fs::create_dir(&root)?;
        // From here on it is taken away, whatever happens.
        let cage = Self { root };
        fs::create_dir(cage.root.join(".orchestration"))?;
        fs::write(cage.root.join(".orchestration/active_intents.yaml"), INTENTS)?;
        Ok(cage)
    }

    /// Where it stands.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What is wrong with a hook; nothing where it denied the call.
    pub(super) fn try_command(&self, host: &str, command: &str, folder: &Path) -> Result<(), String> {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut shell = Command::new(shell);
        shell.args([flag, command]).current_dir(folder);
        let said = self.run(shell, self.payload(host).to_string().as_bytes())?;
        if said.code != Some(0) {
            return Err(format!("the command ended with {}{}", said.ended, said.complaint()));
        }
        let answer: Value = serde_json::from_str(said.out.trim()).unwrap_or_default();
        let (at, deny) = denial(host);
        // A gate that fails denies too.
        if said.out.contains("(gate_fault)") {
            return Err(format!("the hook answers, but the gate behind it fails{}", said.complaint()));
        }
        if answer.pointer(at).and_then(Value::as_str) == Some(deny) {
            return Ok(());
        }
        Err(match said.out.trim() {
            "" => format!("a call that must be denied was let through{}", said.complaint()),
            out => {
                format!("the answer to a call that must be denied is no denial: {}", out.chars().take(200).collect::<String>())
            }
        })
    }

    /// The same for a plugin of OpenCode, in whichever runtime is there. None where there is none.
    pub(super) fn try_plugin(&self, plugin: &Path) -> Option<Result<(), String>> {
        let runtime = ["bun", "node"].into_iter().find_map(on_path)?;
        let script = self.root.join("canary.mjs");
        if let Err(why) = fs::write(&script, SCRIPT) {
            return Some(Err(format!("the trial cannot be prepared: {why}")));
        }
        let mut command = Command::new(runtime);
        command.arg(&script).arg(plugin).arg(&self.root).current_dir(plugin.parent().unwrap_or(&self.root));
        let said = match self.run(command, b"") {
            Ok(said) => said,
            Err(why) => return Some(Err(why)),
        };
        Some(match said.out.trim().rsplit('\n').next().unwrap_or_default() {
            "denied" => Ok(()),
            "allowed" => Err("a call that must be denied was let through".to_owned()),
            "failing" => Err(format!("the plugin answers, but the gate behind it fails{}", said.complaint())),
            _ => Err(format!("the plugin does not load{}", said.complaint())),
        })
    }

    /// What a command says about its version.
    pub(super) fn version(&self, program: &str, folder: &Path) -> Option<String> {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut shell = Command::new(shell);
        shell.args([flag, &format!("{program} --version")]).current_dir(folder);
        let said = self.run(shell, b"").ok()?;
        (said.code == Some(0)).then(|| said.out.trim().to_owned())
    }

    /// The host's words for: I am about to write a file.
    fn payload(&self, host: &str) -> Value {
        let root = self.root.display().to_string();
        let file = self.root.join("canary.txt").display().to_string();
        let write = json!({"file_path": file, "content": "canary"});
        let patch = json!({"command": "*** Begin Patch\n*** Add File: canary.txt\n+canary\n*** End Patch\n"});
        let snake = |event: &str, tool: &str, args: &Value| {
            json!({"session_id": "tollgate-doctor", "transcript_path": null, "cwd": root, "permission_mode": "default",
                   "hook_event_name": event, "tool_name": tool, "tool_input": args, "tool_use_id": "canary"})
        };
        match host {
            "codex" => snake("PreToolUse", "apply_patch", &patch),
            "gemini" => snake("BeforeTool", "write_file", &write),
            "cursor" => json!({"conversation_id": "tollgate-doctor", "generation_id": "canary", "hook_event_name": "preToolUse",
                               "workspace_roots": [root], "cwd": root, "tool_name": "Write", "tool_input": write,
                               "tool_use_id": "canary"}),
            "copilot" => json!({"sessionId": "tollgate-doctor", "timestamp": 0, "cwd": root, "toolName": "create",
                                "toolArgs": {"path": file, "file_text": "canary"}}),
            _ => snake("PreToolUse", "Write", &write),
        }
    }

    fn run(&self, mut command: Command, input: &[u8]) -> Result<Said, String> {
        command.envs(PROJECT.map(|name| (name, self.root.as_os_str())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| format!("the command cannot be started: {why}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that reads nothing closes its end.
            let _ = stdin.write_all(input);
        }
        let (out, err) = (collected(child.stdout.take()), collected(child.stderr.take()));
        let Ok(out) = out.recv_timeout(PATIENCE) else { return Err(stopped(child)) };
        let err = err.recv_timeout(PATIENCE).unwrap_or_default();
        let status = child.wait().map_err(|why| format!("the command cannot be waited for: {why}"))?;
        Ok(Said { code: status.code(), ended: status.to_string(), out, err })
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// What a command said.
struct Said {
    code: Option<i32>,
    ended: String,
    out: String,
    err: String,
}

impl Said {
    fn complaint(&self) -> String {
        match self.err.trim().lines().last() {
            Some(line) => format!(": {}", line.chars().take(200).collect::<String>()),
            None => String::new(),
        }
    }
}

fn collected(pipe: Option<impl io::Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(1 << 20).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

fn stopped(mut child: Child) -> String {
    let _ = child.kill();
    let _ = child.wait();
    format!("the command did not answer within {} seconds", PATIENCE.as_secs())
}

/// Where a denial stands in the host's answer.
fn denial(host: &str) -> (&'static str, &'static str) {
    match host {
        "gemini" => ("/decision", "deny"),
        "cursor" => ("/permission", "deny"),
        "copilot" => ("/permissionDecision", "deny"),
        _ => ("/hookSpecificOutput/permissionDecision", "deny"),
    }
}

/// Loads a plugin as OpenCode does and lets it see the call: whoever denies, throws.
const SCRIPT: &str = "\
import { pathToFileURL } from 'node:url';
const [file, directory] = process.argv.slice(2);
const loaded = (await import(pathToFileURL(file).href)).default;
const plugin = typeof loaded === 'function' ? loaded : loaded.server;
const hooks = await plugin({ directory, worktree: directory, project: { id: 'canary', worktree: directory }, client: {} });
const input = { tool: 'write', sessionID: 'tollgate-doctor', callID: 'canary' };
let said = 'allowed';
try {
  await hooks['tool.execute.before'](input, { args: { filePath: directory + '/canary.txt', content: 'canary' } });
} catch (error) {
  said = String(error.message).includes('so nothing is known about the call') ? 'failing' : 'denied';
}
console.log(said);
process.exit(0);
";
