//! A server that is a program, over its standard input and output.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bounds::Bounds;
use crate::process;

/// How long a server may take to end by itself once its input has ended.
const GRACE: Duration = Duration::from_millis(200);

/// Of what a server complains about, this much is kept.
const MAX_COMPLAINT: usize = 4 << 10;

/// Messages wait here until they are understood.
const BUFFER: usize = 64 << 10;

/// The processes of a server, which end together, whatever becomes of the task that has them.
pub(super) struct Program {
    child: Child,
    id: u32,
    complaint: JoinHandle<String>,
}

impl Drop for Program {
    fn drop(&mut self) {
        process::kill(self.id);
        let _ = self.child.start_kill();
    }
}

impl Program {
    /// Starts a program as the gate orders it, and gives the two ends of its pipes.
    pub(super) fn start(order: &Value, folder: &Path, bounds: &Arc<Bounds>) -> io::Result<(Self, (DuplexStream, ChildStdin))> {
        let words = |key: &str| -> Vec<String> {
            order
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect()
        };
        let folder = order.get("cwd").and_then(Value::as_str).map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd));
        let mut command = process::command(&words("argv"), &words("inherit"), &folder)?;
        let set = order.get("set").and_then(Value::as_object).into_iter().flatten();
        command.envs(set.filter_map(|(name, value)| Some((name, value.as_str()?))));
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let program = Self { id: child.id().unwrap_or_default(), child, complaint: tokio::spawn(drain(stderr)) };
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(io::Error::other("it has no pipes")) };
        let (messages, kept) = tokio::io::duplex(BUFFER);
        tokio::spawn(filter(stdout, kept, Arc::clone(bounds)));
        Ok((program, (messages, stdin)))
    }

    /// Ends the program, whose input has ended, and gives the first thing that it complained about.
    pub(super) async fn end(mut self) -> String {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            process::kill(self.id);
            let _ = timeout(GRACE, self.child.wait()).await;
        }
        // What it started may hold the pipe.
        process::kill(self.id);
        let complaint = timeout(GRACE, &mut self.complaint).await.ok().and_then(Result::ok).unwrap_or_default();
        let first = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        first.chars().take(200).collect()
    }
}

/// Passes on the lines that can be messages. From a server that prints too much else, nothing more is read.
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
                bounds.take(line.len()) && to.write_all(&line).await.is_ok()
            } else {
                bounds.take_garbage(line.len())
            };
            if !is_within {
                return;
            }
            line.clear();
        }
    }
}

/// Reads to the end and keeps the beginning.
async fn drain(from: Option<impl AsyncRead + Unpin>) -> String {
    let (mut kept, mut piece) = (Vec::new(), [0; 1 << 10]);
    if let Some(mut from) = from {
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let room = MAX_COMPLAINT.saturating_sub(kept.len());
            kept.extend(piece.iter().take(length.min(room)));
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
