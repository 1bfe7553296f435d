//! What a third-party hook has access to: its settings, granted files, and a log.

use std::sync::Arc;

use tollgate_guest::glob::Glob;
use tollgate_guest::hooks::components::files::{Granted, MAX_DEPTH, MAX_FOUND, MAX_LISTED, MAX_READS};
use tollgate_guest::ports::LARGE_FOLDERS;

use super::limits::{Deadline, Limiter};
use crate::bindings::hook::tollgate::hook::files::{self, Fault};
use crate::bindings::hook::tollgate::hook::log::{self, Level};
use crate::bindings::hook::tollgate::hook::{settings, types};
use crate::bindings::third_party::exports::tollgate::hooks::components::{Line, Question};
use crate::bindings::tollgate::hooks::workspace::{self, Kind, Reach, Root};
use crate::files::Files;

/// At most this many log lines are kept per call, and this many characters of each.
const MAX_LINES: usize = 100;
const MAX_CHARS: usize = 1_000;

/// The host's side of one instance: what it has access to, and its limits.
pub(super) struct HookHost {
    settings: String,
    granted: Granted,
    workspace: Arc<Files>,
    pub(super) limiter: Limiter,
    pub(super) deadline: Deadline,
    /// Whether the deadline ended a call.
    pub(super) is_late: bool,
    read_bytes: u64,
    reads: u32,
    log: Vec<Line>,
    /// Printed text whose line has not ended yet: standard output, standard error.
    printed: [Vec<u8>; 2],
    /// How often the hook has read the clock. This count is the time that the hook sees.
    pub(super) clock_reads: u64,
}

impl HookHost {
    pub(super) fn new(question: &Question, workspace: Arc<Files>, deadline: Deadline) -> Self {
        Self {
            settings: question.settings.clone(),
            granted: Granted::new(&question.files),
            workspace,
            limiter: Limiter::new(question.limits.memory_bytes),
            deadline,
            is_late: false,
            read_bytes: 0,
            reads: 0,
            log: Vec::new(),
            printed: [Vec::new(), Vec::new()],
            clock_reads: 0,
        }
    }

    /// Resets the limits for a new call. The first call gets no deadline of its own; it uses what is left of the start time.
    pub(super) fn start_call(&mut self, deadline: Option<Deadline>, read_bytes: u64) {
        self.deadline = deadline.unwrap_or(self.deadline);
        (self.is_late, self.read_bytes, self.reads) = (false, read_bytes, MAX_READS);
        self.limiter.refused = None;
    }

    /// Takes the lines that were logged and printed since the last call of this function.
    pub(super) fn take_log(&mut self) -> Vec<Line> {
        for stream in 0..self.printed.len() {
            self.end_line(stream);
        }
        std::mem::take(&mut self.log)
    }

    /// Adds printed bytes to the log. Stream 0 is standard output, 1 is standard error.
    pub(super) fn print(&mut self, stream: usize, bytes: &[u8]) {
        for byte in bytes {
            if self.log.len() >= MAX_LINES {
                return;
            }
            if *byte == b'\n' {
                self.end_line(stream);
            } else if let Some(line) = self.printed.get_mut(stream).filter(|line| line.len() < 4 * MAX_CHARS) {
                line.push(*byte);
            }
        }
    }

    fn end_line(&mut self, stream: usize) {
        let Some(line) = self.printed.get_mut(stream).map(std::mem::take).filter(|line| !line.is_empty()) else { return };
        let level = if stream == 0 { "stdout" } else { "stderr" };
        self.add_line(level, &String::from_utf8_lossy(&line));
    }

    fn add_line(&mut self, level: &str, text: &str) {
        if self.log.len() < MAX_LINES {
            self.log.push(Line { level: level.to_owned(), text: text.chars().take(MAX_CHARS).collect() });
        }
    }

    /// Reads a granted file. A path that is not granted is not even looked up; otherwise a hook could find out what exists.
    fn read_granted(&mut self, path: &str, limit_bytes: u32) -> Result<Vec<u8>, Fault> {
        if !self.granted.has(path) {
            return Err(Fault::Denied);
        }
        if self.reads == 0 {
            return Err(Fault::TooLarge);
        }
        self.reads -= 1;
        let question = workspace::Question { root: Root::Project, path: path.to_owned(), digest: false };
        let facts = self.workspace.inspect(&[question]).into_iter().next().ok_or(Fault::Other)?;
        // Links are followed, and their target has to be granted as well.
        let real = facts.real_path.filter(|real| self.granted.has(real)).ok_or(Fault::Denied)?;
        match facts.kind {
            Kind::File => {}
            Kind::Missing => return Err(Fault::Missing),
            Kind::Unreadable => return Err(Fault::Denied),
            Kind::Directory | Kind::Other => return Err(Fault::OtherKind),
        }
        let limit = u64::from(limit_bytes).min(self.read_bytes);
        let bytes = self.workspace.read(Root::Project, &real, limit).map_err(|error| match error.fault {
            workspace::Fault::Denied => Fault::Denied,
            workspace::Fault::Missing => Fault::Missing,
            workspace::Fault::TooLarge => Fault::TooLarge,
            _ => Fault::Other,
        })?;
        self.read_bytes = self.read_bytes.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }
}

impl types::Host for HookHost {}

impl settings::Host for HookHost {
    fn get(&mut self) -> String {
        self.settings.clone()
    }
}

impl files::Host for HookHost {
    fn read(&mut self, path: String, limit_bytes: u32) -> Result<Vec<u8>, Fault> {
        self.read_granted(&path, limit_bytes)
    }

    fn read_text(&mut self, path: String, limit_bytes: u32) -> Result<String, Fault> {
        String::from_utf8(self.read_granted(&path, limit_bytes)?).map_err(|_| Fault::NotText)
    }

    fn find(&mut self, glob: String) -> Result<Vec<String>, Fault> {
        let glob = Glob::compile(&glob).map_err(|_| Fault::Other)?;
        if self.granted.is_empty() {
            return Err(Fault::Denied);
        }
        if self.reads == 0 {
            return Err(Fault::TooLarge);
        }
        self.reads -= 1;
        let skip = LARGE_FOLDERS.map(str::to_owned).to_vec();
        let reach = Reach { depth: MAX_DEPTH, limit: MAX_LISTED, skip };
        let listing = self.workspace.list(Root::Project, ".", &reach).map_err(|_| Fault::Other)?;
        let files = listing.entries.into_iter().filter(|entry| entry.kind == Kind::File).map(|entry| entry.path);
        let mut found: Vec<String> = files.filter(|path| glob.matches(path) && self.granted.has(path)).collect();
        found.sort_unstable();
        found.truncate(MAX_FOUND);
        Ok(found)
    }
}

impl log::Host for HookHost {
    fn write(&mut self, level: Level, message: String) {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.add_line(level, &message);
    }
}
