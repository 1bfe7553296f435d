//! Measures an operation and its baseline alternately, so that both see the same load.

// Each benchmark uses a part of it.
#![allow(dead_code, clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use serde_json::json;

/// How long each round took, shortest first.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// The tenth percentile: the time without much interference from other load. Ratios are made of these.
    pub(crate) fn tenth_percentile(&self) -> Duration {
        self.0[self.0.len() / 10]
    }

    /// The median. Limits are compared with it.
    pub(crate) fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }
}

/// The times of each, measured alternately so that other load on the machine affects both.
pub(crate) fn measure_alternately(rounds: usize, one: &mut dyn FnMut(), other: &mut dyn FnMut()) -> (Times, Times) {
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    let warm_up = rounds.div_ceil(10);
    for round in 0..rounds + warm_up {
        let (first, second) = (timed(one), timed(other));
        if round >= warm_up {
            ones.push(first);
            others.push(second);
        }
    }
    (Times::new(ones), Times::new(others))
}

/// Prints a row for `cargo xtask bench`: the time of this project, and of what it is compared with.
pub(crate) fn row(what: &str, baseline: &Times, ours: &Times) {
    print(what, as_micros(ours.tenth_percentile()), as_micros(baseline.tenth_percentile()), "µs");
}

/// Prints a row that is compared with nothing.
pub(crate) fn single_row(what: &str, ours: &Times) {
    print(what, as_micros(ours.tenth_percentile()), 0.0, "µs");
}

pub(crate) fn as_micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Prints a row in any unit.
pub(crate) fn print(what: &str, ours: f64, baseline: f64, unit: &str) {
    println!("{}", json!({"row": what, "ours": ours, "baseline": baseline, "unit": unit}));
}

/// Fails if a median exceeds a limit. The limits are far above what is measured, so that only a fundamental change exceeds them,
/// not a busy machine.
pub(crate) fn limit(what: &str, measured: Duration, most: Duration) {
    assert!(measured <= most, "{what}: {measured:.1?}, and at most {most:.1?} is promised");
}
