//! Runs jobs at the same time.

use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, anyhow};

/// Something that can be done at the same time as other things.
pub(crate) type Job<T> = Box<dyn FnOnce() -> T + Send>;

/// How many jobs run at the same time.
const AT_ONCE: usize = 2;

/// Starts jobs in this order, and returns what they return in any order.
pub(crate) fn run_jobs<T: Send>(jobs: Vec<Job<T>>) -> Result<Vec<T>> {
    let left = Mutex::new(jobs.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let finished = thread::scope(|scope| {
        let worker = || scope.spawn(|| std::iter::from_fn(next).map(|job| job()).collect::<Vec<_>>());
        let workers: Vec<_> = (0..AT_ONCE).map(|_| worker()).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });
    let mut all = Vec::new();
    for of_one in finished {
        all.extend(of_one.map_err(|_| anyhow!("a job panicked"))?);
    }
    Ok(all)
}
