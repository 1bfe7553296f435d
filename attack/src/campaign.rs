//! Runs many cases on all cores, and collects the results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

use crate::case::Case;
use crate::generate::Generator;
use crate::shrink::shrink;
use crate::trial::{Bench, Finding, Outcome, Severity};

/// At most this many findings are shortened; further ones are only counted.
const MAX_SHRUNK: usize = 12;

/// The results of many cases.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of cases that were judged.
    pub judged: usize,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<String, usize>,
    /// The number of cases that were run.
    pub ran: usize,
    /// The number of those that changed something.
    pub changed: usize,
    /// The number of those that exceeded the time limit.
    pub timed_out: usize,
    /// The number of changes in scope that the gate did not report.
    pub unannounced: usize,
    /// All changes outside the scope that the gate allowed.
    pub findings: Vec<Finding>,
}

impl Tally {
    fn add(&mut self, outcome: Outcome) {
        self.judged += 1;
        *self.verdicts.entry(outcome.verdict).or_default() += 1;
        self.ran += usize::from(outcome.ran);
        self.changed += usize::from(outcome.changed);
        self.timed_out += usize::from(outcome.timed_out);
        self.unannounced += usize::from(outcome.unannounced > 0);
        self.findings.extend(outcome.finding);
    }

    fn merge(&mut self, other: Self) {
        self.judged += other.judged;
        other.verdicts.into_iter().for_each(|(verdict, count)| *self.verdicts.entry(verdict).or_default() += count);
        self.ran += other.ran;
        self.changed += other.changed;
        self.timed_out += other.timed_out;
        self.unannounced += other.unannounced;
        self.findings.extend(other.findings);
    }

    /// The findings of one severity.
    pub fn findings_of(&self, severity: Severity) -> Vec<&Finding> {
        self.findings.iter().filter(|finding| finding.severity == severity).collect()
    }

    /// The numbers in one line.
    pub fn summary(&self) -> String {
        let count = |severity| self.findings_of(severity).len();
        format!(
            "{} cases: {:?}; {} run, {} changed something, {} timed out; outside the scope: {} silent, {} in plain \
             sight, {} by design; {} changed something in scope that was not reported",
            self.judged,
            self.verdicts,
            self.ran,
            self.changed,
            self.timed_out,
            count(Severity::Silent),
            count(Severity::InPlainSight),
            count(Severity::ByDesign),
            self.unannounced,
        )
    }

    /// The findings of one severity by family, with one shortened example each, as rows for the table.
    pub fn render_findings(&self, severity: Severity, bench: Option<&mut Bench>) -> Result<String> {
        let mut families: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in self.findings_of(severity) {
            families.entry(&finding.case.family).or_default().push(finding);
        }
        let mut bench = bench;
        let mut out = String::new();
        let mut seen = BTreeSet::new();
        for (shrunk, (family, findings)) in families.into_iter().enumerate() {
            let shortest = findings.iter().min_by_key(|finding| finding.case.calls.concat().len());
            let Some(shortest) = shortest.copied() else { continue };
            let example = match &mut bench {
                Some(bench) if shrunk < MAX_SHRUNK => shrink(shortest, bench)?,
                _ => shortest.clone(),
            };
            if seen.insert(example.case.calls.clone()) {
                let changed = example.changed.join(", ");
                let row = example.case.row();
                out.push_str(&format!("{} of `{family}`: allow {}; {changed}\n{row}\n", findings.len(), example.code));
            }
        }
        Ok(out)
    }
}

/// Tries cases in several threads, each with its own namespace. `next` returns the case with a given number.
pub fn run(runner: &Path, count: u64, threads: usize, next: impl Fn(u64) -> Case + Sync) -> Result<Tally> {
    let counter = AtomicU64::new(0);
    let worker = || -> Result<Tally> {
        let mut bench = Bench::open(runner)?;
        let mut tally = Tally::default();
        loop {
            let number = counter.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(tally);
            }
            tally.add(bench.attempt(&next(number))?);
        }
    };
    let tallies: Vec<Result<Tally>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(anyhow!("a worker panicked")))).collect()
    });
    let mut all = Tally::default();
    for tally in tallies {
        all.merge(tally?);
    }
    Ok(all)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(2, usize::from)
}

/// Runs the cases of a table.
pub fn run_table(runner: &Path, rows: &[Case]) -> Result<Tally> {
    let count = u64::try_from(rows.len())?;
    let row = |number| usize::try_from(number).ok().and_then(|at: usize| rows.get(at)).cloned();
    run(runner, count, cores(), |number| row(number).unwrap_or_else(|| Case::single("", ":")))
}

/// Runs the campaign that is generated from a seed.
pub fn run_generated(runner: &Path, generator: &Generator, seed: u64, count: u64) -> Result<Tally> {
    run(runner, count, cores(), |number| generator.case(seed, number))
}
