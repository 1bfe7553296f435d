//! Tries a case: checks it, runs it if it is allowed, and compares the changes with the gate's report.

use anyhow::Result;
use std::path::{Path, PathBuf};

use crate::case::Case;
use crate::design::{is_in_plain_sight, runs_a_file_in_scope};
use crate::judge::{Answer, Judge};
use crate::sandbox::Sandbox;
use crate::tree::Change;
use crate::world::{gate_spelling, is_bookkeeping, is_owned};

/// The severity of a change that was not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allowed without reporting a program, and a file outside the scope changed.
    Silent,
    /// Allowed as "a program", although the change is visible in the command's text.
    InPlainSight,
    /// Allowed as "a program", and the change was made by something that existed before: a script, a build tool.
    ByDesign,
}

/// A change outside the scope that the gate allowed.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The case.
    pub case: Case,
    /// The severity.
    pub severity: Severity,
    /// The call that made the change.
    pub call: usize,
    /// The gate's code.
    pub code: String,
    /// The changes, for people.
    pub changed: Vec<String>,
}

/// The result of a case.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The verdict on the last call that was checked.
    pub verdict: String,
    /// The gate's code.
    pub code: String,
    /// The gate's reason.
    pub reason: String,
    /// Whether a command was executed.
    pub ran: bool,
    /// Whether anything changed.
    pub changed: bool,
    /// Whether a command exceeded the time limit.
    pub timed_out: bool,
    /// Changes in scope that were not reported: not dangerous, but not known beforehand either.
    pub unannounced: usize,
    /// The worst change.
    pub finding: Option<Finding>,
}

/// Tries cases one after the other in one namespace.
pub struct Bench {
    runner: PathBuf,
    sandbox: Sandbox,
}

impl Bench {
    /// Creates the namespace. `runner` is the `attack` program.
    pub fn open(runner: &Path) -> Result<Self> {
        Ok(Self { runner: runner.to_owned(), sandbox: Sandbox::start(runner)? })
    }

    /// Tries a case. If a command breaks the sandbox, a new one is created and the case is tried once more.
    pub fn attempt(&mut self, case: &Case) -> Result<Outcome> {
        match self.try_once(case) {
            Ok(outcome) => Ok(outcome),
            Err(_) => {
                self.sandbox = Sandbox::start(&self.runner)?;
                self.try_once(case)
            }
        }
    }

    /// Only checks a case, call by call, in the initial state of its world.
    pub fn judge(&self, case: &Case) -> Vec<Answer> {
        let Some(tree) = self.sandbox.hello.worlds.get(&case.world) else { return Vec::new() };
        let mut judge = Judge::new(tree, &self.sandbox.hello.programs, &case.calls.join("\n"));
        case.calls.iter().map(|call| judge.rule(call)).collect()
    }

    fn try_once(&mut self, case: &Case) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let Some(tree) = self.sandbox.hello.worlds.get(&case.world).cloned() else { return Ok(outcome) };
        let tree = &tree;
        let mut judge = Judge::new(tree, &self.sandbox.hello.programs, &case.calls.join("\n"));
        for (number, command) in case.calls.iter().enumerate() {
            let answer = judge.rule(command);
            outcome.verdict.clone_from(&answer.verdict);
            outcome.code.clone_from(&answer.code);
            outcome.reason.clone_from(&answer.reason);
            // The call does not run; an agent would continue with the next one.
            if !answer.allows() {
                continue;
            }
            let is_by_design = case.by_design.is_some() || runs_a_file_in_scope(&answer, tree);
            if !outcome.ran {
                self.sandbox.begin(case.world)?;
            }
            outcome.ran = true;
            let report = self.sandbox.run(&format!("/bin/{}", case.shell), command)?;
            outcome.timed_out |= report.timed_out;
            outcome.changed |= !report.changes.is_empty();
            let found = compare(case, number, is_by_design, &answer, &report.changes, &mut outcome.unannounced);
            if let Some(found) = found
                && outcome.finding.as_ref().is_none_or(|worst| found.severity < worst.severity)
            {
                outcome.finding = Some(found);
            }
            judge.settle(command, &report.changes);
        }
        Ok(outcome)
    }
}

fn compare(
    case: &Case,
    call: usize,
    is_by_design: bool,
    answer: &Answer,
    changes: &[Change],
    unannounced: &mut usize,
) -> Option<Finding> {
    let command = case.calls.get(call).map_or("", String::as_str);
    let mut changed = Vec::new();
    let mut in_sight = false;
    for change in changes {
        let path = gate_spelling(&change.path);
        if answer.covers(path) || is_bookkeeping(path, change.before.is_none(), command) {
            continue;
        }
        if is_owned(path) {
            *unannounced += usize::from(!answer.runs_a_program());
            continue;
        }
        in_sight |= is_in_plain_sight(command, path);
        changed.push(format!("{path} {}", change.kind()));
    }
    if changed.is_empty() {
        return None;
    }
    let severity = match (answer.runs_a_program(), in_sight && !is_by_design) {
        (false, _) => Severity::Silent,
        (true, true) => Severity::InPlainSight,
        (true, false) => Severity::ByDesign,
    };
    changed.truncate(6);
    Some(Finding { case: case.clone(), severity, call, code: answer.code.clone(), changed })
}
