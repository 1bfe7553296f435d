//! A temporary governed workspace for the gate's tests.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::client::{list, text, texts};
use crate::cli::inspection::path_text;
use crate::cli::workspace::Folders;

/// Time limit for a test. A program would wait longer, but a person should not have to.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A temporary folder. It is removed on drop, together with the gate's state for it.
pub(super) struct TrialFolder {
    root: PathBuf,
    state: Option<PathBuf>,
}

impl TrialFolder {
    pub(super) fn new(folders: &Folders) -> io::Result<Self> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|why| io::Error::other(why.to_string()))?;
        let name = format!("tollgate-doctor-{:016x}", u64::from_le_bytes(bytes));
        let root = std::env::temp_dir().canonicalize()?.join(name);
        fs::create_dir(&root)?;
        // Hooks run as an agent program would run them, and so use the user's state folder.
        let state = tollgate::state_folder(&root, folders.home_named.as_deref(), None).ok();
        Ok(Self { root, state })
    }

    /// The folder, in the form the gate expects.
    pub(super) fn path(&self) -> String {
        path_text(&self.root)
    }

    /// Writes the files that the gate requests.
    pub(super) fn fill(&self, examined: &Value) -> io::Result<()> {
        let files = list(examined, "files").iter().chain(list(examined, "trials").iter().filter_map(|trial| trial.get("file")));
        for file in files.filter(|file| !file.is_null()) {
            let path = Path::new(text(file, "/path"));
            // Nothing is written outside the folder.
            if !path.starts_with(&self.root) && !path_text(path).starts_with(&self.path()) {
                return Err(io::Error::other(format!("`{}` is not in the test folder", path.display())));
            }
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text(file, "/text"))?;
        }
        Ok(())
    }

    /// Runs a test and returns its result.
    pub(super) fn run(&self, trial: &Value) -> Value {
        let id = text(trial, "/id");
        let said = match run_command(trial) {
            Ok(said) => said,
            Err(fault) => return json!({"id": id, "fault": fault}),
        };
        let exist: Vec<&str> = texts(trial, "exist").into_iter().filter(|file| Path::new(file).exists()).collect();
        json!({"id": id, "stdout": said.out, "stderr": said.err, "code": said.code, "exist": exist})
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
        if let Some(state) = &self.state {
            let _ = fs::remove_dir_all(state);
        }
    }
}

/// The result of a command.
struct ProgramOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run_command(trial: &Value) -> Result<ProgramOutput, String> {
    let mut command = match (trial.get("shell").and_then(Value::as_str), texts(trial, "words").split_first()) {
        (Some(line), _) => {
            let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
            let mut shell = Command::new(shell);
            shell.args([flag, line]);
            shell
        }
        (None, Some((program, rest))) => {
            let mut words = Command::new(program);
            words.args(rest);
            words
        }
        (None, None) => return Err("there is nothing to run".to_owned()),
    };
    let variables = trial.get("variables").and_then(Value::as_object).into_iter().flatten();
    command.envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))));
    command.current_dir(text(trial, "/folder"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|why| format!("the command cannot be started: {why}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input closes the pipe.
        let _ = stdin.write_all(text(trial, "/stdin").as_bytes());
    }
    let (out, err) = (collect_output(child.stdout.take()), collect_output(child.stderr.take()));
    let Ok(out) = out.recv_timeout(TIME_LIMIT) else { return Err(stop_child(child)) };
    let err = err.recv_timeout(TIME_LIMIT).unwrap_or_default();
    let status = child.wait().map_err(|why| format!("the command cannot be waited for: {why}"))?;
    Ok(ProgramOutput { code: status.code(), out, err })
}

fn collect_output(pipe: Option<impl io::Read + Send + 'static>) -> mpsc::Receiver<String> {
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

fn stop_child(mut child: Child) -> String {
    let _ = child.kill();
    let _ = child.wait();
    format!("the command did not answer within {} seconds", TIME_LIMIT.as_secs())
}
