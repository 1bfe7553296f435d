//! Scheduling: concurrency slots, a queue, debounce and backoff, on a clock supplied by the caller.
//!
//! Nothing here starts anything or knows what a run does. Operations take time that does not grow with the number of runs that
//! wait, except logarithmically.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::run::{Run, RunStage, RunStatus};
use super::settings::HookSettings;

/// If a file keeps changing, its hooks run after at most this many debounce periods.
const MAX_SETTLING: u64 = 10;

/// How long a host may take to confirm that it ended a run.
pub const GRACE_MS: u64 = 5_000;

/// Added to the turn of runs that nothing waits for, so that they come after all others.
const LATER: u64 = 1 << 62;

/// A run in the schedule.
pub type RunKey = usize;

/// The runs of one hook.
#[derive(Debug, Default)]
struct HookQueue {
    ready: VecDeque<RunKey>,
    active: usize,
}

/// The schedule.
#[derive(Debug, Default)]
pub struct Schedule {
    limits: HookSettings,
    runs: Vec<Option<Run>>,
    free: Vec<RunKey>,
    queues: Vec<HookQueue>,
    queue_of: HashMap<String, usize>,
    /// Queues with a run that could begin, by its turn. Checked when taken, because queues change.
    turns: BinaryHeap<Reverse<(u64, usize)>>,
    /// Times at which something is due. Checked when taken, because runs end early.
    times: BinaryHeap<Reverse<(u64, usize)>>,
    /// Runs that have not begun, by hook and file.
    pending: HashMap<String, RunKey>,
    by_command: HashMap<u64, RunKey>,
    active: usize,
    in_background: usize,
    waiting: usize,
}

/// The result of adding a run.
#[derive(Debug)]
pub enum AddOutcome {
    /// It waits.
    Waits(RunKey),
    /// A run that waits already answers for both.
    Joined,
    /// The queue is full, so this one is dropped.
    Refused(Box<Run>),
    /// It waits, and an older one is dropped.
    Replaced(RunKey, Box<Run>),
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueRun {
    /// A run has used up its time.
    Late(RunKey),
    /// The host did not confirm that it ended a run.
    Unconfirmed(RunKey),
}

impl Schedule {
    /// Sets the limits from now on.
    pub fn set_limits(&mut self, limits: HookSettings) {
        self.limits = limits;
    }

    /// A run.
    pub fn get(&self, key: RunKey) -> Option<&Run> {
        self.runs.get(key)?.as_ref()
    }

    /// A run, to change.
    pub fn get_mut(&mut self, key: RunKey) -> Option<&mut Run> {
        self.runs.get_mut(key)?.as_mut()
    }

    /// All runs that have not ended.
    pub fn keys(&self) -> Vec<RunKey> {
        (0..self.runs.len()).filter(|key| self.get(*key).is_some()).collect()
    }

    /// How many runs wait, and how many are under way.
    pub fn load(&self) -> (usize, usize) {
        (self.waiting, self.active)
    }

    /// The run that the host carries out under a command.
    pub fn of_command(&self, command: u64) -> Option<RunKey> {
        self.by_command.get(&command).copied()
    }

    /// Adds a new run.
    pub fn add(&mut self, mut run: Run, now: u64) -> AddOutcome {
        let queue = self.queue(&run.hook.id);
        let place = match (run.chain, run.event.file()) {
            (None, Some(file)) => Some(format!("{queue}\n{file}")),
            _ => None,
        };
        if let Some(key) = place.as_ref().and_then(|place| self.pending.get(place).copied()) {
            self.join(key, run, now);
            return AddOutcome::Joined;
        }
        let mut left_out = None;
        if run.chain.is_none() && self.waiting >= self.limits.queue {
            match self.limits.drop_oldest.then(|| self.oldest()).flatten().and_then(|oldest| self.end(oldest)) {
                Some(oldest) => left_out = Some(oldest),
                None => return AddOutcome::Refused(Box::new(run)),
            }
        }
        let quiet = if run.chain.is_none() { run.hook.debounce_ms } else { 0 };
        run.stage = if quiet > 0 { RunStage::Settling { since: now, until: now.saturating_add(quiet) } } else { RunStage::Ready };
        let stage = run.stage;
        let key = match self.free.pop() {
            Some(key) => key,
            None => {
                self.runs.push(None);
                self.runs.len() - 1
            }
        };
        if let Some(slot) = self.runs.get_mut(key) {
            *slot = Some(run);
        }
        if let Some(place) = place {
            self.pending.insert(place, key);
        }
        self.waiting += 1;
        match stage.until() {
            Some(until) => self.times.push(Reverse((until, key))),
            None => self.enqueue(key, queue),
        }
        match left_out {
            Some(oldest) => AddOutcome::Replaced(key, Box::new(oldest)),
            None => AddOutcome::Waits(key),
        }
    }

    /// Lets a run that waits answer one more event.
    fn join(&mut self, key: RunKey, newer: Run, now: u64) {
        let Some(run) = self.get_mut(key) else { return };
        run.events += 1;
        run.event = newer.event;
        (run.hook, run.source) = (newer.hook, newer.source);
        if let RunStage::Settling { since, .. } = run.stage {
            let quiet = run.hook.debounce_ms;
            let until = now.saturating_add(quiet).min(since.saturating_add(quiet.saturating_mul(MAX_SETTLING)));
            run.stage = RunStage::Settling { since, until };
            self.times.push(Reverse((until, key)));
        }
    }

    /// The next run that may begin, which is given its slot.
    pub fn begin(&mut self) -> Option<RunKey> {
        while self.active < self.limits.concurrency {
            let Reverse((turn, queue_number)) = self.turns.peek().copied()?;
            // One slot is kept for runs that someone waits for.
            let room = self.limits.concurrency.saturating_sub(1).max(1);
            if turn >= LATER && self.in_background >= room {
                return None;
            }
            self.turns.pop();
            let Some(key) = self.first(queue_number).filter(|(_, first)| *first == turn).map(|(key, _)| key) else { continue };
            if let Some(queue) = self.queues.get_mut(queue_number) {
                queue.ready.pop_front();
                queue.active += 1;
            }
            self.active += 1;
            self.in_background += usize::from(turn >= LATER);
            self.waiting -= 1;
            self.forget_place(key);
            if let Some(run) = self.get_mut(key) {
                run.stage = RunStage::Beginning;
            }
            self.take_turn(queue_number);
            return Some(key);
        }
        None
    }

    /// Records that the host runs it, under a command, until a time.
    pub fn mark_running(&mut self, key: RunKey, command: u64, until: u64) {
        if let Some(run) = self.get_mut(key) {
            run.stage = RunStage::Running { command, until };
            self.by_command.insert(command, key);
            self.times.push(Reverse((until, key)));
        }
    }

    /// Records that the host has to end a run; returns the command under which it runs.
    pub fn stop(&mut self, key: RunKey, status: RunStatus, now: u64) -> Option<u64> {
        let run = self.get_mut(key)?;
        let RunStage::Running { command, .. } = run.stage else { return None };
        let until = now.saturating_add(GRACE_MS);
        run.stage = RunStage::Ending { command, until, status };
        self.times.push(Reverse((until, key)));
        Some(command)
    }

    /// Gives back the slot of a run that has ended for now and is tried again later.
    pub fn wait_for_retry(&mut self, key: RunKey, until: u64) {
        self.release(key);
        if let Some(run) = self.get_mut(key) {
            run.stage = RunStage::Resting { until };
            self.times.push(Reverse((until, key)));
            self.waiting += 1;
        }
    }

    /// Removes a run that is over.
    pub fn end(&mut self, key: RunKey) -> Option<Run> {
        let stage = self.get(key)?.stage;
        if stage.is_active() {
            self.release(key);
        } else {
            self.waiting -= 1;
            self.forget_place(key);
            if stage == RunStage::Ready {
                let queue_number = self.get(key).map(|run| run.hook.id.clone()).map(|id| self.queue(&id))?;
                if let Some(queue) = self.queues.get_mut(queue_number) {
                    // Most often it is the first.
                    match queue.ready.front() {
                        Some(first) if *first == key => drop(queue.ready.pop_front()),
                        _ => queue.ready.retain(|other| *other != key),
                    }
                }
                self.take_turn(queue_number);
            }
        }
        self.free.push(key);
        self.runs.get_mut(key)?.take()
    }

    /// What is due by now. Runs whose debounce period or wait for a retry is over are lined up here.
    pub fn due(&mut self, now: u64) -> Vec<DueRun> {
        let mut due = Vec::new();
        while let Some(Reverse((time, key))) = self.times.peek().copied().filter(|Reverse((time, _))| *time <= now) {
            self.times.pop();
            let Some(run) = self.get_mut(key).filter(|run| run.stage.until() == Some(time)) else { continue };
            match run.stage {
                RunStage::Settling { .. } | RunStage::Resting { .. } => {
                    run.stage = RunStage::Ready;
                    let id = run.hook.id.clone();
                    let queue = self.queue(&id);
                    self.enqueue(key, queue);
                }
                RunStage::Running { .. } => due.push(DueRun::Late(key)),
                RunStage::Ending { .. } => due.push(DueRun::Unconfirmed(key)),
                RunStage::Ready | RunStage::Beginning => {}
            }
        }
        due
    }

    /// Ends all debounce periods and waits before retries.
    pub fn end_waits(&mut self, now: u64) {
        for key in self.keys() {
            if let Some(run) = self.get_mut(key)
                && matches!(run.stage, RunStage::Settling { .. } | RunStage::Resting { .. })
            {
                run.stage = RunStage::Resting { until: now };
                self.times.push(Reverse((now, key)));
            }
        }
    }

    /// When something is due next.
    pub fn next_time(&mut self) -> Option<u64> {
        while let Some(Reverse((time, key))) = self.times.peek().copied() {
            if self.get(key).is_some_and(|run| run.stage.until() == Some(time)) {
                return Some(time);
            }
            self.times.pop();
        }
        None
    }

    fn queue(&mut self, id: &str) -> usize {
        if let Some(queue) = self.queue_of.get(id) {
            return *queue;
        }
        self.queues.push(HookQueue::default());
        self.queue_of.insert(id.to_owned(), self.queues.len() - 1);
        self.queues.len() - 1
    }

    fn enqueue(&mut self, key: RunKey, queue_number: usize) {
        if let Some(queue) = self.queues.get_mut(queue_number) {
            queue.ready.push_back(key);
        }
        self.take_turn(queue_number);
    }

    /// The first run of a queue that could begin, and its turn.
    fn first(&self, queue: usize) -> Option<(RunKey, u64)> {
        let queue = self.queues.get(queue)?;
        let key = *queue.ready.front()?;
        let run = self.get(key)?;
        let turn = run.number + if run.chain.is_some() { 0 } else { LATER };
        (queue.active < run.hook.concurrency).then_some((key, turn))
    }

    fn take_turn(&mut self, queue: usize) {
        if let Some((_, turn)) = self.first(queue) {
            self.turns.push(Reverse((turn, queue)));
        }
    }

    fn release(&mut self, key: RunKey) {
        let Some(run) = self.get(key).filter(|run| run.stage.is_active()) else { return };
        let (command, awaited, id) = (run.stage.command(), run.chain.is_some(), run.hook.id.clone());
        if let Some(command) = command {
            self.by_command.remove(&command);
        }
        self.active -= 1;
        self.in_background -= usize::from(!awaited);
        let queue_number = self.queue(&id);
        if let Some(queue) = self.queues.get_mut(queue_number) {
            queue.active -= 1;
        }
        self.take_turn(queue_number);
    }

    fn forget_place(&mut self, key: RunKey) {
        let Some(run) = self.get(key).filter(|run| run.chain.is_none()) else { return };
        let (id, file) = (run.hook.id.clone(), run.event.file().map(str::to_owned));
        if let Some(file) = file {
            let place = format!("{}\n{file}", self.queue(&id));
            if self.pending.get(&place) == Some(&key) {
                self.pending.remove(&place);
            }
        }
    }

    /// The oldest of the waiting runs that nothing waits for.
    fn oldest(&self) -> Option<RunKey> {
        let firsts = self.queues.iter().filter_map(|queue| queue.ready.iter().find(|key| self.is_background(**key)));
        firsts.copied().min_by_key(|key| self.get(*key).map(|run| run.number))
    }

    fn is_background(&self, key: RunKey) -> bool {
        self.get(key).is_some_and(|run| run.chain.is_none())
    }
}
