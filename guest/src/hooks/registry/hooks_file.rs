//! One file of declarations, and its last good version.

use std::rc::Rc;

use serde_json::Value;

use super::Source;
use super::brief::Brief;
use crate::hooks::declaration::{self, DeclarationFault, Hook};
use crate::json::position::{PathStep, place};
use crate::ports::{Facts, Ports, Question, Root};
use crate::state::{self, kept};

/// Maximum size of a file; a larger one is a mistake.
const MAX_BYTES: u64 = 8 << 20;

/// Minimum size of files whose brief is kept: shorter ones are parsed as fast as the brief is read.
const LONG: usize = 8 << 10;

/// Something wrong in a file.
#[derive(Debug, Clone)]
pub struct HooksFileFault {
    /// The file.
    pub file: &'static str,
    /// Where in it, as a path of keys.
    pub path: String,
    /// Line and column, from 1.
    pub place: (usize, usize),
    /// What is wrong.
    pub message: String,
}

/// One file of declarations.
#[derive(Debug)]
pub(super) struct HooksFile {
    pub(super) root: Root,
    pub(super) path: &'static str,
    /// Its path as shown to people.
    pub(super) shown: &'static str,
    /// Whose file it is; `None` if another path leads to the same file.
    pub(super) source: Option<Source>,
    pub(super) stamp: u64,
    pub(super) hooks: Vec<Rc<Hook>>,
    /// What the hooks wait for, if they are not known themselves.
    pub(super) brief: Option<Brief>,
    pub(super) faults: Vec<HooksFileFault>,
}

impl HooksFile {
    /// A file that has not been read yet.
    pub(super) fn new(root: Root, path: &'static str, shown: &'static str) -> Self {
        let source = Some(if root == Root::Home { Source::User } else { Source::Workspace });
        Self { root, path, shown, source, stamp: 0, hooks: Vec::new(), brief: None, faults: Vec::new() }
    }

    pub(super) fn question(&self) -> Question {
        Question { root: self.root, path: self.path.to_owned(), digest: false }
    }

    /// The name under which the brief is kept.
    pub(super) fn brief_name(&self) -> String {
        let whose = if self.root == Root::Home { "" } else { "workspace" };
        format!("{whose}{}", self.last_good_name())
    }

    /// Reads the file as it is now. If it cannot be used, the last good version stays in force.
    pub(super) fn read(&mut self, facts: &Facts, stamp: u64, ports: &Ports) {
        let first = self.stamp == 0 || self.brief.is_some();
        self.stamp = stamp;
        self.brief = None;
        self.faults.clear();
        if stamp == 0 {
            self.hooks.clear();
            return;
        }
        let is_long = facts.size > LONG as u64;
        let is_settled = is_long && !kept::may_change_unnoticed(facts, ports.clock.now());
        let text = match ports.workspace.read(self.root, self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(fault) => {
                self.add_fault(ports, String::new(), (1, 1), &format!("cannot be read: {fault}"));
                return self.fall_back(first, ports);
            }
        };
        match parse(&text) {
            Ok(hooks) => {
                self.hooks = hooks;
                state::keep_good(&self.last_good_name(), &text, ports);
                if is_settled {
                    Brief::of(self.hooks.iter().map(|hook| &**hook)).keep(&self.brief_name(), self.question(), facts, ports);
                }
            }
            Err(faults) => {
                for (path, place, message) in faults {
                    self.add_fault(ports, path, place, &message);
                }
                self.fall_back(first, ports);
            }
        }
    }

    /// A process that has not read the file before takes the last good version from the state.
    fn fall_back(&mut self, first: bool, ports: &Ports) {
        if first {
            self.hooks = state::last_good(&self.last_good_name(), ports).and_then(|text| parse(&text).ok()).unwrap_or_default();
        }
        if self.hooks.is_empty() {
            ports.warn(&format!("no hook of `{}` runs until it is fixed", self.shown));
        }
    }

    /// The name under which the last good version is kept.
    fn last_good_name(&self) -> String {
        let whose = if self.root == Root::Home { "user" } else { "" };
        format!("{whose}{}", self.path.replace('/', "-"))
    }

    fn add_fault(&mut self, ports: &Ports, path: String, place: (usize, usize), message: &str) {
        let file = self.shown;
        let (line, column) = place;
        if self.faults.is_empty() {
            ports.warn(&format!(
                "`{file}` is invalid at line {line}, column {column}: `${path}` {message}; the last good version stays in force"
            ));
        }
        self.faults.push(HooksFileFault { file, path: format!("${path}"), place, message: message.to_owned() });
    }
}

type RawFault = (String, (usize, usize), String);

fn parse(text: &[u8]) -> Result<Vec<Rc<Hook>>, Vec<RawFault>> {
    let document: Value = match serde_json::from_slice(text) {
        Ok(document) => document,
        Err(fault) => {
            return Err(vec![(String::new(), (fault.line(), fault.column().max(1)), format!("is not valid JSON: {fault}"))]);
        }
    };
    let text = String::from_utf8_lossy(text);
    let wrong = |DeclarationFault { path, message }: DeclarationFault| {
        let shown: String = path.iter().map(PathStep::to_string).collect();
        (shown, place(&text, &path), message)
    };
    match declaration::read(&document) {
        Ok(hooks) => Ok(hooks.into_iter().map(Rc::new).collect()),
        Err(faults) => Err(faults.into_iter().map(wrong).collect()),
    }
}
