//! Runs an MCP server as a child process, and talks to it over its standard input and output.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bounds::Bounds;
use super::depth::limit_depth;
use crate::confine::Launch;
use crate::process;

/// How long a server may take to exit after its input has ended.
const EXIT_GRACE: Duration = Duration::from_millis(200);

/// At most this much of a server's error output is kept.
const MAX_STDERR_BYTES: usize = 4 << 10;

/// The size of the buffer for messages that have not been parsed yet.
const BUFFER: usize = 64 << 10;

/// How to start a server.
struct ServerCommand {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    inherit: Vec<String>,
    folder: PathBuf,
}

impl ServerCommand {
    /// Reads the gate's specification.
    fn read(order: &Value, folder: &Path) -> Self {
        let words = |key: &str| {
            let words = order.get(key).and_then(Value::as_array).into_iter().flatten();
            words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let env = order.get("set").and_then(Value::as_object).into_iter().flatten();
        Self {
            argv: words("argv"),
            env: env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
            inherit: words("inherit"),
            folder: order.get("cwd").and_then(Value::as_str).map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd)),
        }
    }

    fn spawn(&self) -> io::Result<Box<dyn ChildWrapper>> {
        let spawn = |mut command: std::process::Command| {
            command.envs(self.env.iter().map(|(name, value)| (name, value)));
            let mut command = process::wrap_tokio(command);
            process::retry_while_busy(|| command.spawn())
        };
        let Launch { argv, plan } = Launch::read(self.argv.clone()).map_err(io::Error::other)?;
        let Some(plan) = plan else { return spawn(process::command(&argv, &self.inherit, &self.folder)?) };
        let runtime = Handle::current();
        plan.start(&argv, |mut command, temporary| {
            let _entered = runtime.enter();
            process::configure_command(&mut command, &self.inherit, &self.folder);
            command.envs(temporary.map(|folder| ("TMPDIR", folder)));
            spawn(command)
        })
    }
}

/// A server process and its children. They are ended on drop, whatever happens to the task.
pub(super) struct ServerProcess {
    child: Box<dyn ChildWrapper>,
    stderr: JoinHandle<String>,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.start_kill();
    }
}

impl ServerProcess {
    /// Starts a program as the gate specifies it, and returns the two ends of its pipes.
    pub(super) fn start(order: &Value, folder: &Path, bounds: &Arc<Bounds>) -> io::Result<(Self, (DuplexStream, ChildStdin))> {
        let mut child = ServerCommand::read(order, folder).spawn()?;
        let (stdin, stdout, stderr) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let process = Self { child, stderr: tokio::spawn(drain(stderr)) };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("its standard streams are not available"));
        };
        let (messages, kept) = tokio::io::duplex(BUFFER);
        tokio::spawn(filter(stdout, kept, Arc::clone(bounds)));
        Ok((process, (messages, stdin)))
    }

    /// Ends the program after its input has ended, and returns the first line of its error output.
    pub(super) async fn end(mut self) -> String {
        if timeout(EXIT_GRACE, self.child.inner_mut().wait()).await.is_err() {
            let _ = self.child.start_kill();
            let _ = timeout(EXIT_GRACE, self.child.inner_mut().wait()).await;
        }
        // The program's children may hold the pipe open.
        let _ = self.child.start_kill();
        let stderr = timeout(EXIT_GRACE, &mut self.stderr).await.ok().and_then(Result::ok).unwrap_or_default();
        process::first_complaint(&stderr)
    }
}

/// Passes on the lines that can be messages. Stops reading if a server prints too much that is not a message.
async fn filter(mut from: ChildStdout, mut to: impl AsyncWrite + Unpin, bounds: Arc<Bounds>) {
    let (mut line, mut piece) = (Vec::new(), vec![0; BUFFER]);
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        for part in piece.get(..length).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if !bounds.may_grow_to(line.len()) {
                return;
            }
            if !line.ends_with(b"\n") {
                continue;
            }
            let is_within = if line.trim_ascii_start().starts_with(b"{") {
                bounds.count_message(line.len()) && to.write_all(&limit_depth(&line)).await.is_ok()
            } else {
                bounds.count_garbage(line.len())
            };
            if !is_within {
                return;
            }
            line.clear();
        }
    }
}

/// Reads a stream to its end and keeps the beginning.
async fn drain(from: Option<impl AsyncRead + Unpin>) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 1 << 10]);
    if let Some(mut from) = from {
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let room = MAX_STDERR_BYTES.saturating_sub(kept.len());
            kept.extend(piece.iter().take(length.min(room)));
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
