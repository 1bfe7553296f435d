//! Measures whole processes: how long an agent program waits if its hook is a command.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::measurement::Measurement;
use super::workspace::{Load, Workspace};
use crate::repository::{self, tollgate};

/// How often each is run, alternately.
const ROUNDS: usize = 150;

/// A process that is run repeatedly.
struct MeasuredProcess {
    command: Rc<dyn Fn() -> Command>,
    input: Vec<u8>,
    times: Vec<Duration>,
}

impl MeasuredProcess {
    fn new(input: Vec<u8>, command: impl Fn() -> Command + 'static) -> Self {
        Self { command: Rc::new(command), input, times: Vec::new() }
    }

    /// The same process, for another comparison.
    fn clone_without_times(&self) -> Self {
        Self { command: Rc::clone(&self.command), input: self.input.clone(), times: Vec::new() }
    }

    /// `tollgate hook claude-code` in a workspace.
    fn hook(program: &Path, workspace: &Workspace, input: Vec<u8>) -> Self {
        let (program, root, home) = (program.to_owned(), workspace.root(), workspace.home());
        Self::new(input, move || {
            let mut command = Command::new(&program);
            command.args(["hook", "claude-code"]).current_dir(&root).env("HOME", &home).env_remove("XDG_STATE_HOME");
            command
        })
    }

    fn run(&self) -> Result<(Duration, Vec<u8>)> {
        let mut command = (self.command)();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let began = Instant::now();
        let mut child = command.spawn().with_context(|| format!("running {:?}", command.get_program()))?;
        if let Some(mut input) = child.stdin.take() {
            // A program that reads nothing may have ended.
            let _ = input.write_all(&self.input);
        }
        let output = child.wait_with_output()?;
        Ok((began.elapsed(), output.stdout))
    }

    /// The tenth percentile in milliseconds: the time without much interference from other load.
    fn millis(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        times.get(times.len() / 10).copied().unwrap_or_default().as_secs_f64() * 1e3
    }
}

/// Runs all of them alternately, so that other load on the machine affects all.
fn measure_alternately(processes: &mut [&mut MeasuredProcess]) -> Result<()> {
    for round in 0..ROUNDS + ROUNDS / 10 {
        for process in processes.iter_mut() {
            let (time, _) = process.run()?;
            if round >= ROUNDS / 10 {
                process.times.push(time);
            }
        }
    }
    Ok(())
}

/// Builds the program that only looks at a file, hashes it and appends a line, and copies it to a folder.
fn unavoidable(folder: &Path) -> Result<PathBuf> {
    repository::run(&mut repository::cargo(&[
        "build",
        "--release",
        "--locked",
        "--package",
        "tollgate",
        "--example",
        "unavoidable",
    ]))?;
    let copy = folder.join("unavoidable");
    fs::copy(repository::target().join("release/examples/unavoidable"), &copy).context("copying the unavoidable program")?;
    Ok(copy)
}

/// Measures hook processes. `baselines` contains the packages of the plain JavaScript.
pub(crate) fn measure(baselines: &Path) -> Result<Vec<Measurement>> {
    println!("\n\u{25b8} whole processes");
    // Measured as installed: a file that was copied is read in larger pieces than one that a linker wrote.
    let installed = tempfile::tempdir()?;
    let program = installed.path().join("tollgate");
    fs::copy(tollgate(), &program).context("copying target/release/tollgate")?;
    let unavoidable = unavoidable(installed.path())?;
    let command = json!({"command": "cd src && sed -i s/2/3/ billing/pay.ts"});
    let edit = json!({"file_path": "src/auth/login.ts", "old_string": "1", "new_string": "2"});
    let small = Workspace::new(Load::Small)?;
    let loaded = [Load::Intents, Load::Hooks, Load::Notes, Load::Ledger].map(Workspace::new);
    let loaded: Vec<Workspace> = loaded.into_iter().collect::<Result<_>>()?;
    let payload = small.payload("Bash", &command);
    let mut nothing = MeasuredProcess::new(Vec::new(), || Command::new("true"));
    let mut deny = MeasuredProcess::hook(&program, &small, payload.clone());
    let answer = String::from_utf8_lossy(&deny.run()?.1).into_owned();
    ensure!(answer.contains("\"deny\""), "the command should be denied: {answer}");
    let mut allow = MeasuredProcess::hook(&program, &small, small.payload("Edit", &edit));
    let mut settle = MeasuredProcess::hook(&program, &small, small.ended_event("Edit", &edit));
    let (file, ledger) = (small.root().join("src/auth/login.ts"), installed.path().join("ledger"));
    let mut least = MeasuredProcess::new(Vec::new(), move || {
        let mut command = Command::new(&unavoidable);
        command.arg(&file).arg(&ledger);
        command
    });
    let outside = tempfile::tempdir()?;
    let elsewhere = json!({"session_id": "s", "hook_event_name": "PreToolUse", "cwd": outside.path(), "tool_name": "Bash",
                           "tool_input": {"command": "ls"}, "tool_use_id": "c"});
    let (place, home) = (outside.path().to_owned(), small.home());
    let command_outside = program.clone();
    let mut ungoverned = MeasuredProcess::new(elsewhere.to_string().into_bytes(), move || {
        let mut command = Command::new(&command_outside);
        command.args(["hook", "claude-code"]).current_dir(&place).env("HOME", &home).env_remove("XDG_STATE_HOME");
        command
    });
    let (script, root, packages) =
        (repository::root().join("npm-wrapper/bench/plain_hook.mjs"), small.root(), baselines.to_owned());
    let mut plain = MeasuredProcess::new(payload, move || {
        let mut command = Command::new("node");
        command.arg(&script).current_dir(&root).env("TOLLGATE_BASELINES", &packages);
        command
    });
    measure_alternately(&mut [&mut nothing, &mut deny])?;
    let (mut other_nothing, mut other_deny) = (nothing.clone_without_times(), deny.clone_without_times());
    measure_alternately(&mut [
        &mut other_nothing,
        &mut other_deny,
        &mut least,
        &mut allow,
        &mut settle,
        &mut ungoverned,
        &mut plain,
    ])?;
    let row = |row: &str, ours: &MeasuredProcess, baseline: &MeasuredProcess| Measurement {
        row: row.to_owned(),
        ours: ours.millis(),
        baseline: baseline.millis(),
        unit: "ms".to_owned(),
    };
    let mut rows = vec![
        row("process/deny", &deny, &nothing),
        row("process/allow: tollgate hook, an allowed write / true", &allow, &other_nothing),
        Measurement {
            row: "process/settle: tollgate hook before and after a write / the unavoidable program, twice".to_owned(),
            ours: allow.millis() + settle.millis(),
            baseline: 2.0 * least.millis(),
            unit: "ms".to_owned(),
        },
        row("process/ungoverned: tollgate hook outside of a workspace / true", &ungoverned, &other_nothing),
        row("process/script: tollgate hook / a hook as a Node script", &other_deny, &plain),
    ];
    for (name, workspace) in ["intents", "hooks", "notes", "ledger"].into_iter().zip(&loaded) {
        let mut deny = MeasuredProcess::hook(&program, &small, small.payload("Bash", &command));
        let mut ours = MeasuredProcess::hook(&program, workspace, workspace.payload("Bash", &command));
        // The first call may keep something for the next ones.
        let answer = String::from_utf8_lossy(&ours.run()?.1).into_owned();
        ensure!(answer.contains("\"deny\""), "{name}: the command should be denied: {answer}");
        measure_alternately(&mut [&mut deny, &mut ours])?;
        rows.push(row(&format!("process/deny/{name}"), &ours, &deny));
    }
    Ok(rows)
}
