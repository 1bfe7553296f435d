//! A workspace with hooks, and a home folder.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use crate::terminal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::Tollgate;
use tollgate::hooks::{Hooks, Options};

/// A time limit that nothing exceeds, however busy the machine is.
pub const LONG: Duration = Duration::from_secs(60);

pub struct Place {
    temp: tempfile::TempDir,
}

impl Place {
    /// Creates a workspace with these hooks, which are not approved.
    pub fn new(hooks: &[Value]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let place = Self { temp };
        for folder in [".tollgate", "src", "hooks"] {
            fs::create_dir_all(place.root().join(folder)).unwrap();
        }
        fs::create_dir_all(place.home().join(".tollgate")).unwrap();
        place.declare(hooks);
        place
    }

    pub fn root(&self) -> PathBuf {
        self.temp.path().join("workspace")
    }

    pub fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// Declares hooks of the workspace, with their scripts as files.
    pub fn declare(&self, hooks: &[Value]) {
        let mut hooks = hooks.to_vec();
        for hook in hooks.iter_mut().filter_map(Value::as_object_mut) {
            if let (Some(Value::String(script)), Some(id)) = (hook.remove("script"), hook["id"].as_str()) {
                let path = format!("hooks/{id}.sh");
                self.write(&path, &script);
                hook.insert("command".to_owned(), json!(["sh", path]));
            }
        }
        self.write(".tollgate/hooks.json", &json!({"hooks": hooks}).to_string());
    }

    /// Declares hooks of the user, with inline scripts.
    pub fn declare_for_user(&self, hooks: &[Value]) {
        let mut hooks = hooks.to_vec();
        for hook in hooks.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(script) = hook.remove("script") {
                hook.insert("command".to_owned(), json!(["sh", "-c", script]));
            }
        }
        fs::write(self.home().join(".tollgate/hooks.json"), json!({"hooks": hooks}).to_string()).unwrap();
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }

    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    pub fn gate(&self) -> Tollgate {
        Tollgate::builder().workspace(self.root()).home(self.home()).open().unwrap()
    }

    /// The hooks, with these of the workspace approved.
    pub fn hooks(&self, options: Options, approved: &[&str]) -> Hooks {
        let mut hooks = Hooks::new(self.gate(), options);
        for id in approved {
            let line = json!({"op": "hooks", "do": "approve", "id": id}).to_string();
            let answer = String::from_utf8(hooks.perform(line.as_bytes()).unwrap()).unwrap();
            assert!(answer.contains("\"digest\""), "{answer}");
        }
        hooks
    }

    /// The command, in this workspace.
    pub fn tollgate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(arguments).arg("--workspace").arg(self.root()).arg("--home").arg(self.home());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The exit code, standard output and standard error of the command; with `--yes`, run by a person at a terminal.
    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        if terminal::has_yes_flag(arguments) {
            let (root, home) = (self.root(), self.home());
            let words = [arguments, &["--workspace", root.to_str().unwrap(), "--home", home.to_str().unwrap()]].concat();
            let path = std::env::var("PATH").unwrap_or_default();
            return terminal::PersonCommand::new(&root, &words).with_variable("PATH", path).at_terminal();
        }
        let output = self.tollgate(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Waits until a file is not empty.
    pub fn wait_for(&self, path: &str) -> String {
        wait_until(|| self.read(path).filter(|text| text.ends_with('\n')), path)
    }
}

/// Waits until `look` returns something.
pub fn wait_until<T>(mut look: impl FnMut() -> Option<T>, what: &str) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A hook that runs shell commands.
pub fn sh(id: &str, trigger: &str, script: &str) -> Value {
    json!({"id": id, "trigger": trigger, "script": script})
}

/// A hook with more fields.
pub fn with_fields(mut hook: Value, more: &Value) -> Value {
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook
}

/// Waits until there is no process with this id.
pub fn wait_for_exit(pid: &str) {
    let path = format!("/proc/{}", pid.trim());
    if Path::new("/proc/self").exists() {
        // A process that has ended but has not been reaped counts as gone.
        let is_gone = || fs::read_to_string(format!("{path}/stat")).map_or(true, |stat| stat.contains(") Z"));
        wait_until(|| is_gone().then_some(()), &format!("the end of {pid}"));
    }
}
