//! Limits on the time and memory of a hook's instance.

use std::time::{Duration, Instant};

use wasmtime::ResourceLimiter;

/// The limit on the elements of all tables together.
const MAX_TABLE_ELEMENTS: usize = 100_000;
/// What componentizers put into one component: Python has 38 core modules, QuickJS three memories.
const MAX_INSTANCES: usize = 64;
const MAX_MEMORIES: usize = 8;
const MAX_TABLES: usize = 64;

/// When a call has to end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    cpu_until: Duration,
    wall_until: Instant,
}

impl Deadline {
    /// A deadline after some processor time of this thread and some elapsed time.
    pub(super) fn new(cpu: Duration, wall: Duration) -> Self {
        Self { cpu_until: cpu_time() + cpu, wall_until: Instant::now() + wall }
    }

    /// Whether the deadline has passed. On a busy machine a hook gets little processor time, so a limit on elapsed time alone
    /// would end well-behaved hooks.
    pub(super) fn is_over(&self) -> bool {
        cpu_time() >= self.cpu_until || Instant::now() >= self.wall_until
    }
}

/// The processor time that this thread has used.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// On other systems, only elapsed time is limited.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

/// Limits the memory of an instance. All memories count together, and so do all tables.
#[derive(Debug)]
pub(super) struct Limiter {
    max_memory: usize,
    memory: usize,
    tables: usize,
    /// What was refused, for the message.
    pub(super) refused: Option<&'static str>,
}

impl Limiter {
    pub(super) fn new(max_memory: u64) -> Self {
        Self { max_memory: usize::try_from(max_memory).unwrap_or(usize::MAX), memory: 0, tables: 0, refused: None }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let after = self.memory.saturating_add(desired.saturating_sub(current));
        if after > self.max_memory {
            self.refused = Some("memory");
            return Ok(false);
        }
        self.memory = after;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let after = self.tables.saturating_add(desired.saturating_sub(current));
        if after > MAX_TABLE_ELEMENTS {
            self.refused = Some("tables");
            return Ok(false);
        }
        self.tables = after;
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }
}
