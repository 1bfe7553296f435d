//! Measures two ways of doing the same, alternately.

// Each benchmark uses a part of it.
#![allow(dead_code)]

use std::time::{Duration, Instant};

/// The median time of each, measured alternately so that other load on the machine affects both.
pub(crate) fn race(rounds: usize, one: &mut dyn FnMut(), other: &mut dyn FnMut()) -> (Duration, Duration) {
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for round in 0..rounds + rounds / 10 {
        let (first, second) = (timed(one), timed(other));
        if round >= rounds / 10 {
            ones.push(first);
            others.push(second);
        }
    }
    ones.sort();
    others.sort();
    (ones.swap_remove(ones.len() / 2), others.swap_remove(others.len() / 2))
}

/// A row of a table whose last column is the ratio of the second to the first time.
pub(crate) fn row(what: &str, one: Duration, other: Duration) {
    println!("{what:<52} {one:>12.1?} {other:>12.1?} {:>6.2}x", other.as_secs_f64() / one.as_secs_f64());
}

/// Fails if a median exceeds a limit. The limits are far above what is measured, so that only a fundamental change exceeds them,
/// not a busy machine.
pub(crate) fn limit(what: &str, measured: Duration, most: Duration) {
    assert!(measured <= most, "{what}: {measured:.1?}, and at most {most:.1?} is promised");
}
