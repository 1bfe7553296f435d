//! Shortens a finding: removes everything that is not needed to reproduce it.

use anyhow::Result;

use crate::case::{Case, bash};
use crate::mutate::tokens;
use crate::trial::{Bench, Finding};
use crate::world::World;

/// At most this many attempts per finding.
const MAX_TRIES: usize = 120;

/// The shortest case found that has the same effect.
pub fn shrink(finding: &Finding, bench: &mut Bench) -> Result<Finding> {
    let mut best = finding.clone();
    let mut tries = 0;
    let mut keeps = |case: &Case, best: &mut Finding| -> Result<bool> {
        tries += 1;
        if tries > MAX_TRIES {
            return Ok(false);
        }
        let found = bench.attempt(case)?.finding.filter(|found| found.severity == best.severity);
        Ok(found.map(|found| *best = found).is_some())
    };
    for number in (0..best.case.calls.len()).rev() {
        if best.case.calls.len() > 1 {
            let mut case = best.case.clone();
            case.calls.remove(number);
            keeps(&case, &mut best)?;
        }
    }
    for simpler in [Case { world: World::Plain, ..best.case.clone() }, Case { shell: bash(), ..best.case.clone() }] {
        if simpler != best.case {
            keeps(&simpler, &mut best)?;
        }
    }
    for number in 0..best.case.calls.len() {
        for split in [tokens, letters] {
            let mut pieces = best.case.calls.get(number).map(|call| split(call)).unwrap_or_default();
            let mut size = pieces.len().div_ceil(2).max(1);
            loop {
                let mut at = 0;
                while at < pieces.len() {
                    let mut fewer = pieces.clone();
                    fewer.drain(at..(at + size).min(pieces.len()));
                    let mut case = best.case.clone();
                    if let Some(call) = case.calls.get_mut(number) {
                        *call = fewer.concat();
                    }
                    if keeps(&case, &mut best)? { pieces = fewer } else { at += size }
                }
                if size == 1 {
                    break;
                }
                size = size.div_ceil(2);
            }
        }
    }
    best.case.id.clone_from(&finding.case.id);
    best.case.family.clone_from(&finding.case.family);
    Ok(best)
}

fn letters(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}
