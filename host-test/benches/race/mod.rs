//! Measures two ways of doing the same, alternately.

use std::time::{Duration, Instant};

use serde_json::json;

/// What each takes, taken in turns so that whatever else the machine does falls on both: the tenth percentile, which is what they
/// take where little gets in their way.
pub(crate) fn race(rounds: usize, one: &mut dyn FnMut(), other: &mut dyn FnMut()) -> (Duration, Duration) {
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for round in 0..rounds + rounds.div_ceil(10) {
        let (first, second) = (timed(one), timed(other));
        if round >= rounds.div_ceil(10) {
            ones.push(first);
            others.push(second);
        }
    }
    (tenth(ones), tenth(others))
}

fn tenth(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.swap_remove(times.len() / 10)
}

/// Prints a row for `cargo xtask bench`: what this project takes, `ours`, and what it is compared with.
pub(crate) fn row(what: &str, baseline: Duration, ours: Duration) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    print(what, micros(ours), micros(baseline), "µs");
}

/// The same in another unit.
#[allow(dead_code)]
pub(crate) fn print(what: &str, ours: f64, baseline: f64, unit: &str) {
    println!("{}", json!({"row": what, "ours": ours, "baseline": baseline, "unit": unit}));
}

/// Fails where a row is beyond what was promised. The limits are far from what is measured, so that only a change of kind comes
/// near them, not a busy machine.
#[allow(dead_code)]
pub(crate) fn limit(what: &str, measured: Duration, max: Duration) {
    assert!(measured <= max, "{what}: {measured:.1?}, and at most {max:.1?} is promised");
}
