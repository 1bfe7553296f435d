//! A throw-away namespace, seen from outside: commands go in, what they changed comes out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use serde::de::DeserializeOwned;

use crate::inside::{Hello, Report, Request};
use crate::world::World;

/// What the runner is called with.
pub const INSIDE: &str = "inside";
/// No honest command of the repertoire takes longer.
const LIMIT_MS: u64 = 2_000;
/// Somebody without rights on this machine; what runs as root inside is this user outside.
const NOBODY: &str = "100000";

/// What makes a namespace, up to the command that is run in it.
fn unshare() -> Vec<&'static str> {
    let mut words = Vec::new();
    if rustix::process::getuid().is_root() {
        words.extend(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    }
    words.extend(["unshare", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]);
    words
}

/// Why this machine makes no namespace, if it does not: not Linux, no util-linux, or the kernel's settings forbid it.
pub fn refusal() -> Option<String> {
    let mut words = unshare();
    words.extend(["sh", "-c", "mount -t tmpfs probe /tmp"]);
    let (program, words) = words.split_first()?;
    match Command::new(program).args(words).current_dir("/").stdin(Stdio::null()).output() {
        Err(fault) => Some(format!("`{program}` cannot be run: {fault}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("no namespace can be made here: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A running namespace with a runner in it. It ends when this is dropped.
pub struct Sandbox {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// What it began with.
    pub hello: Hello,
    _folder: tempfile::TempDir,
}

impl Sandbox {
    /// Starts one. `runner` is the `attack` program.
    pub fn start(runner: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tollgate-attack-").tempdir()?;
        let (root, copy) = (folder.path().join("root"), folder.path().join("runner"));
        fs::create_dir(&root)?;
        fs::copy(runner, &copy).with_context(|| format!("copying {}", runner.display()))?;
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
        let hello = read(&mut answers).context("no namespace could be made: this needs Linux with user namespaces")?;
        Ok(Self { child, requests: Some(requests), answers, hello, _folder: folder })
    }

    /// Puts a world back as it was.
    pub fn begin(&mut self, world: World) -> Result<()> {
        self.ask(&Request::Begin(world)).map(drop)
    }

    /// Runs a command in the world as it stands now.
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
        // The end of its input ends the runner, and with it the whole namespace.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}

fn read<T: DeserializeOwned>(answers: &mut BufReader<ChildStdout>) -> Result<T> {
    let mut line = String::new();
    if answers.read_line(&mut line)? == 0 {
        bail!("the sandbox has ended");
    }
    serde_json::from_str(&line).context("the sandbox does not speak JSON any more")
}

/// The user inside has to reach it.
fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?)
}
