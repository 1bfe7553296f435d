//! A temporary namespace, seen from outside: runs commands and returns what they changed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, bail, ensure};
use serde::de::DeserializeOwned;

use crate::inside::{Hello, Report, Request};
use crate::world::World;

/// The argument that starts the runner.
pub const INSIDE: &str = "inside";
/// The time limit of a command. No harmless command of the repertoire takes longer.
const LIMIT_MS: u64 = 2_000;
/// An unprivileged user of this machine; root inside the namespace is this user outside.
const NOBODY: &str = "100000";

/// The command prefix that creates a namespace.
fn unshare() -> Vec<&'static str> {
    let mut words = Vec::new();
    if rustix::process::getuid().is_root() {
        words.extend(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    }
    words.extend(["unshare", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]);
    words
}

/// Why namespaces are not available, if so: not Linux, no util-linux, or disabled in the kernel settings.
pub fn refusal() -> Option<String> {
    let mut words = unshare();
    words.extend(["sh", "-c", "mount -t tmpfs probe /tmp"]);
    let (program, words) = words.split_first()?;
    match Command::new(program).args(words).current_dir("/").stdin(Stdio::null()).output() {
        Err(fault) => Some(format!("`{program}` cannot be run: {fault}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("namespaces are not available: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A running namespace with a runner in it. It ends on drop.
pub struct Sandbox {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// The initial state.
    pub hello: Hello,
    _folder: tempfile::TempDir,
}

impl Sandbox {
    /// Starts a namespace. `runner` is the `attack` program.
    pub fn start(runner: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tollgate-attack-").tempdir()?;
        let (root, copy) = (folder.path().join("root"), folder.path().join("runner"));
        fs::create_dir(&root)?;
        copy_program(runner, &copy)?;
        open_to_all(folder.path())?;
        let mut words = unshare();
        words.extend(["sh", "-c", include_str!("setup.sh"), "setup"]);
        let Some((program, words)) = words.split_first() else { bail!("nothing to start") };
        let mut command = Command::new(program);
        command.args(words).arg(&root).arg(&copy).arg(INSIDE).current_dir("/").env_clear();
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("cannot run `{program}`; it is part of util-linux"))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else { bail!("no pipes") };
        let mut answers = BufReader::new(answers);
        let hello = read(&mut answers).context("namespaces are not available: this needs Linux with user namespaces")?;
        Ok(Self { child, requests: Some(requests), answers, hello, _folder: folder })
    }

    /// Restores a world.
    pub fn begin(&mut self, world: World) -> Result<()> {
        self.ask(&Request::Begin(world)).map(drop)
    }

    /// Runs a command in the current state of the world.
    pub fn run(&mut self, shell: &str, command: &str) -> Result<Report> {
        self.ask(&Request::Run { shell: shell.to_owned(), command: command.to_owned(), limit_ms: LIMIT_MS })
    }

    fn ask(&mut self, request: &Request) -> Result<Report> {
        let Some(requests) = &mut self.requests else { bail!("the sandbox has ended") };
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        requests.write_all(&line)?;
        read(&mut self.answers)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Closing its input ends the runner, and with it the namespace.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}

fn read<T: DeserializeOwned>(answers: &mut BufReader<ChildStdout>) -> Result<T> {
    let mut line = String::new();
    if answers.read_line(&mut line)? == 0 {
        bail!("the sandbox has ended");
    }
    serde_json::from_str(&line).context("the sandbox sent invalid JSON")
}

/// Copies a program, for everyone to run. `install` does it, so that this process never has the copy open for writing: a process that
/// another thread is starting at that moment would inherit the open file, and the system would refuse to run the copy.
fn copy_program(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("install").args(["-m", "755"]).args([from, to]).status().context("running `install`")?;
    ensure!(status.success(), "copying {} failed ({status})", from.display());
    Ok(())
}

/// Makes a folder accessible to everyone, because the user inside the namespace needs access to it.
fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?)
}
