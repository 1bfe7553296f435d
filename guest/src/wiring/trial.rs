//! Trials: a call that must be denied, sent as the program would send it, and what the answer proves.
//!
//! A trial uses a workspace of its own: the user's workspace is not touched, and nothing is written to its ledger.

use serde::Deserialize;
use serde_json::Value;

use super::complaint;
use super::files_read::Seen;
use super::files_to_read::RUNTIMES;
use super::hook::WiredHook;
use super::layout::{Layout, join};
use crate::config;
use crate::intents::file;
use crate::json::{self, object};
use crate::programs::wiring::Canary;
use crate::programs::{AgentProgram, Wiring};

/// The files of the workspace for trials: every session works for its only intent.
pub const FILES: [(&str, &str); 2] = [
    (file::PATH, "active_intents:\n  - {id: CANARY, name: Canary, status: IN_PROGRESS, owned_scope: [canary/**]}\n"),
    (config::PATH, "{\"select\": \"single\"}\n"),
];

/// The most hooks of a program that are tried.
pub const MAX_TRIALS: usize = 4;

/// How many characters of an answer are shown.
const MAX_CHARS: usize = 200;

/// A command to run. Its output is returned under its id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trial {
    /// The program, the number of its hook, and what is asked.
    pub id: String,
    /// A command line for the shell; `None` if `words` gives the command.
    pub shell: Option<String>,
    /// A program and its arguments.
    pub words: Vec<String>,
    /// The standard input.
    pub stdin: String,
    /// The working directory.
    pub folder: String,
    /// A file to write first, as path and content.
    pub file: Option<(String, String)>,
    /// Variables to set.
    pub variables: Vec<(&'static str, String)>,
    /// Files to look for after the command has run.
    pub exist: Vec<String>,
}

/// The result of running a trial.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TrialOutcome {
    /// The id of the trial.
    pub id: String,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i64>,
    /// Why it could not be run to completion.
    pub fault: Option<String>,
    /// Those of the files to look for that exist.
    pub exist: Vec<String>,
}

/// What an outcome proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The call was denied.
    Denied,
    /// The call was not denied, for this reason.
    Failed(String),
    /// Nothing is proven either way, for this reason.
    Unproven(String),
}

/// The trials of a hook: one for whether it denies, one for the version it runs.
pub fn trials(
    program: &AgentProgram,
    wiring: &Wiring,
    hook: &WiredHook,
    number: usize,
    trial_folder: &str,
    layout: &Layout,
    seen: &Seen,
) -> Vec<Trial> {
    let id = trial_id(program, number);
    let folder = layout.start.clone();
    match wiring.canary {
        Canary::Command { payload, .. } => {
            let variables = program.speech.as_ref().map_or(&[][..], |speech| speech.project_variables);
            let denial = Trial {
                id: id.clone(),
                shell: Some(hook.command.clone()),
                stdin: payload(trial_folder, &join(trial_folder, "canary.txt")).to_string(),
                folder,
                variables: variables.iter().map(|name| (*name, trial_folder.to_owned())).collect(),
                ..Trial::default()
            };
            let called = hook.command.split_once(" hook ").map(|(called, _)| format!("{called} --version"));
            let version = called.map(|called| Trial {
                id: format!("{id}/version"),
                shell: Some(called),
                stdin: String::new(),
                ..denial.clone()
            });
            [denial].into_iter().chain(version).collect()
        }
        Canary::Script(script) => {
            let Some(runtime) = RUNTIMES.into_iter().find(|runtime| seen.is_on_path(runtime)) else { return Vec::new() };
            let above = hook.file.rsplit_once('/').map_or("/", |(above, _)| above);
            let file = join(trial_folder, "canary.mjs");
            let words = [runtime, &file, &hook.command, above, trial_folder].map(str::to_owned).to_vec();
            vec![Trial { id, words, folder, file: Some((file, script.to_owned())), ..Trial::default() }]
        }
    }
}

/// The id of the trial of a program's hook.
pub(super) fn trial_id(program: &AgentProgram, number: usize) -> String {
    format!("{}/{number}", program.name())
}

impl Trial {
    /// The trial as JSON, for hosts.
    pub fn to_json(&self) -> Value {
        let file = self
            .file
            .as_ref()
            .map_or(Value::Null, |(path, text)| object(&mut [("path", path.as_str().into()), ("text", text.as_str().into())]));
        let variables = self.variables.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))).collect();
        object(&mut [
            ("id", self.id.as_str().into()),
            ("shell", self.shell.as_deref().map_or(Value::Null, Value::from)),
            ("words", self.words.clone().into()),
            ("stdin", self.stdin.as_str().into()),
            ("folder", self.folder.as_str().into()),
            ("file", file),
            ("variables", Value::Object(variables)),
            ("exist", self.exist.clone().into()),
        ])
    }
}

/// What the outcome of a hook's trial proves.
pub fn proof(program: &AgentProgram, wiring: &Wiring, number: usize, outcomes: &[TrialOutcome]) -> Proof {
    let id = trial_id(program, number);
    match (outcomes.iter().find(|outcome| outcome.id == id), wiring.canary) {
        (None, Canary::Script(_)) => Proof::Unproven(format!(
            "it cannot be tested: neither {} is on the search path",
            RUNTIMES.map(|name| format!("`{name}`")).join(" nor ")
        )),
        (None, Canary::Command { .. }) => Proof::Unproven("it was not tested".to_owned()),
        (Some(TrialOutcome { fault: Some(fault), .. }), _) => Proof::Failed(fault.clone()),
        (Some(outcome), Canary::Command { denial, .. }) => proof_of_command(outcome, denial),
        (Some(outcome), Canary::Script(_)) => proof_of_script(outcome, program, wiring.note),
    }
}

fn proof_of_command(outcome: &TrialOutcome, (at, deny): (&str, &str)) -> Proof {
    let complaint = outcome.complaint();
    let said = outcome.stdout.trim();
    match outcome.code {
        Some(0) => {}
        Some(127) => return Proof::Failed(format!("its program is missing: the command ended with exit status: 127{complaint}")),
        Some(code) => return Proof::Failed(format!("the command ended with exit status: {code}{complaint}")),
        None => return Proof::Failed(format!("the command was terminated by a signal{complaint}")),
    }
    // A gate with a fault denies too.
    if said.contains("(gate_fault)") {
        return Proof::Failed(format!("the hook answers, but the gate behind it fails{complaint}"));
    }
    let answer = json::value(said).unwrap_or_default();
    if answer.pointer(at).and_then(Value::as_str) == Some(deny) {
        return Proof::Denied;
    }
    Proof::Failed(match said {
        "" => format!("a call that must be denied was let through{complaint}"),
        said => {
            let said: String = said.chars().take(MAX_CHARS).collect();
            format!("the answer to a call that must be denied is not a denial: {said}")
        }
    })
}

fn proof_of_script(outcome: &TrialOutcome, program: &AgentProgram, note: Option<&str>) -> Proof {
    let complaint = outcome.complaint();
    match outcome.stdout.trim().rsplit('\n').next().unwrap_or_default() {
        "denied" => Proof::Denied,
        "allowed" => Proof::Failed("a call that must be denied was let through".to_owned()),
        "failing" => Proof::Failed(format!("the plugin answers, but the gate behind it fails{complaint}")),
        "absent" => Proof::Unproven(format!(
            "{} installs it the next time it starts; run `tollgate doctor` again after that",
            program.title
        )),
        _ => {
            let remedy = note.filter(|_| complaint.contains("Cannot find package")).map(|note| format!("; {note}"));
            Proof::Failed(format!("the plugin does not load{complaint}{}", remedy.unwrap_or_default()))
        }
    }
}

/// A remark, if the version that answers does not have this digest.
pub fn other_version(program: &AgentProgram, number: usize, outcomes: &[TrialOutcome], digest: &str) -> Option<String> {
    let id = format!("{}/version", trial_id(program, number));
    let outcome = outcomes.iter().find(|outcome| outcome.id == id && outcome.code == Some(0))?;
    let said: String = outcome.stdout.trim().chars().take(MAX_CHARS).collect();
    (!digest.is_empty() && !outcome.stdout.contains(digest)).then(|| format!("it runs a version other than this one: {said}"))
}

impl TrialOutcome {
    /// The reason in its standard error, formatted to follow another message.
    pub(super) fn complaint(&self) -> String {
        complaint::reason(&self.stderr).map(|reason| format!(": {reason}")).unwrap_or_default()
    }
}
