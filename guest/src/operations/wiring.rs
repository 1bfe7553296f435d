//! The operations behind `tollgate init` and `tollgate doctor`.
//!
//! A host asks what to look at, looks, asks what follows from that, and carries it out. Every op is `wiring` with one of these in
//! `do`:
//!
//! | do | answer |
//! | --- | --- |
//! | `programs` | `{"programs":[{name, title, names, wired}],"variables":[…]}`: the programs there are, by the names that options accept, and the variables that `place` should contain |
//! | `files` `{place, programs?}` or `{place, receipt, others?}` | `{files, folders:[{path, endings}], signs, commands}`: what to look at before `plan`, `examine` and `judge`, or before `undo` |
//! | `plan` `{place, seen, run_as?, confiner?, programs?, scope?, receipt?, others?}` | `{programs, changes, notes, problems:[{program, message}], receipt}`; `receipt` is null if there is nothing to keep |
//! | `undo` `{place, seen, receipt, others?}` | `{steps:[{words, path, shown, change}], folders, notes}` |
//! | `examine` `{place, seen, trial_folder, confiner?, outcomes?}` | `{files:[{path, text}], trials:[{id, shell, words, stdin, folder, file, variables, exist}]}`: what to write into the folder `trial_folder`, and what to run then; ask again with all outcomes until there are no more trials |
//! | `judge` `{place, seen, trial_folder, confiner?, why?, outcomes, digest}` | `{ok, workspace:{governed, open_intents}, faults, notes, confinement, hosts:[{host, title, state, tools, settings, command, remarks, commands, confinement}]}` |
//!
//! | field | what |
//! | --- | --- |
//! | `place` | `{workspace, start, home, home_is_named, variables, windows}`: absolute real paths; `start` is where a program would be started |
//! | `seen` | `{files: {path: text, null or {"fault": why}}, links: {path: real path}, signs: [those that exist], on_path: [those that are found]}` |
//! | `run_as` | what hooks call: `tollgate`, or a path |
//! | `confiner`, `why` | the absolute path of the native program, if it exists and the system can confine commands; otherwise why not |
//! | `programs` | names; none means those in use |
//! | `scope` | `workspace` or `user`; none means the better choice for each program |
//! | `receipt`, `others` | the text that is kept in the workspace's state folder, and the texts of other workspaces |
//! | `changes` | `{program, path, shown, before, after, diff}`; `after` is null if the file is removed; `diff` is for a person, a line each, and only in a plan |
//! | `outcomes` | `{id, stdout, stderr, code, fault, exist}`; `code` is null if a signal ended it, `fault` says why it could not be run, `exist` has those of the trial's `exist` that exist |

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{OperationFault, check_fields};
use crate::gate::Gate;
use crate::gate::condition::Condition;
use crate::json::object;
use crate::programs::{self, AgentProgram, PROGRAMS};
use crate::wiring::confinement::{ConfinementCheck, ConfinerReport, kernel_trial, of_kernel};
use crate::wiring::difference::difference;
use crate::wiring::files_read::Seen;
use crate::wiring::files_to_read::{FilesToRead, variables};
use crate::wiring::finding::{Finding, Trials, WiringState, examine};
use crate::wiring::layout::{Layout, join};
use crate::wiring::plan::{FileEdit, PlanRequest, SettingsScope, WiringPlan, plan};
use crate::wiring::receipt::Receipt;
use crate::wiring::trial::{self, TrialOutcome};
use crate::wiring::undo::{Undo, undo};
use crate::wiring::wired_programs;

pub(super) fn answer(gate: &mut Gate, op: &str, fields: Map<String, Value>) -> Result<Value, OperationFault> {
    check_fields(op, &["do"], &fields)?;
    let mut asked = WiringRequest { op, fields };
    let what = asked.fields.get("do").and_then(Value::as_str).unwrap_or_default().to_owned();
    if what == "programs" {
        return Ok(programs());
    }
    if !["files", "plan", "undo", "examine", "judge"].contains(&what.as_str()) {
        return Err(asked.invalid("do", "one of programs, files, plan, undo, examine, judge"));
    }
    let layout: Layout = asked.take("place")?.unwrap_or_default();
    if layout.workspace.is_empty() {
        return Err(asked.invalid("place", "an object with the path of the `workspace`"));
    }
    let layout = layout.normalized();
    let seen: Seen = asked.take::<Seen>("seen")?.unwrap_or_default().normalized(layout.windows);
    match what.as_str() {
        "files" => {
            let chosen = asked.programs()?;
            let look = match asked.receipt()? {
                Some(receipt) => FilesToRead::for_receipts(&receipt, &asked.others()?),
                None => FilesToRead::for_wirings(wirings_of(&chosen), &layout),
            };
            Ok(look_json(&look))
        }
        "plan" => {
            let request = PlanRequest {
                command: asked.text("run_as")?.unwrap_or_else(|| "tollgate".to_owned()),
                confiner: asked.text("confiner")?,
                programs: asked.programs()?,
                scope: asked.scope()?,
                receipt: asked.receipt()?.unwrap_or_default(),
                others: asked.others()?,
            };
            Ok(plan_json(&plan(request, &layout, &seen), &layout))
        }
        "undo" => {
            let receipt = asked.receipt()?.unwrap_or_default();
            Ok(undo_json(&undo(&receipt, &asked.others()?, &layout, &seen), &layout))
        }
        "examine" => {
            let folder = asked.trial_folder()?;
            let outcomes: Vec<TrialOutcome> = asked.take("outcomes")?.unwrap_or_default();
            let confiner = asked.confiner(gate)?;
            let trials = Trials { folder: &folder, layout: &layout, seen: &seen, confiner: &confiner };
            let examined = examine(&layout, &seen);
            let kernel = kernel_trial(&confiner, &folder).filter(|trial| outcomes.iter().all(|outcome| outcome.id != trial.id));
            let next = examined.iter().flat_map(|examined| examined.trials(&trials, &outcomes)).chain(kernel);
            let next: Vec<Value> = next.map(|trial| trial.to_json()).collect();
            let file =
                |(path, text): &(&str, &str)| object(&mut [("path", join(&folder, path).into()), ("text", (*text).into())]);
            // They exist from the first time on.
            let files: Vec<Value> = trial::FILES.iter().filter(|_| outcomes.is_empty()).map(file).collect();
            Ok(object(&mut [("files", files.into()), ("trials", next.into())]))
        }
        _ => {
            let folder = asked.trial_folder()?;
            let outcomes: Vec<TrialOutcome> = asked.take("outcomes")?.unwrap_or_default();
            let digest = asked.text("digest")?.unwrap_or_default();
            let confiner = asked.confiner(gate)?;
            let trials = Trials { folder: &folder, layout: &layout, seen: &seen, confiner: &confiner };
            let findings: Vec<_> =
                examine(&layout, &seen).into_iter().map(|examined| examined.judge(&trials, &outcomes, &digest)).collect();
            let confinement = of_kernel(&confiner, &folder, &outcomes);
            let holds = |finding: &Finding| !finding.confinement.as_ref().is_some_and(ConfinementCheck::is_fault);
            let condition = Condition::of(gate);
            let ok = condition.faults.is_empty()
                && !findings.is_empty()
                && findings.iter().all(|finding| finding.state == WiringState::Live && holds(finding))
                && !confinement.is_fault();
            let hosts: Vec<Value> = findings.iter().map(|finding| finding.to_json()).collect();
            Ok(object(&mut [
                ("ok", ok.into()),
                ("workspace", condition.to_json()),
                ("faults", condition.faults.into()),
                ("notes", condition.notes.into()),
                ("confinement", confinement.sentence("commands").into()),
                ("hosts", hosts.into()),
            ]))
        }
    }
}

/// The fields of a question.
struct WiringRequest<'a> {
    op: &'a str,
    fields: Map<String, Value>,
}

impl WiringRequest<'_> {
    fn invalid(&self, field: &'static str, expected: &'static str) -> OperationFault {
        OperationFault::InvalidField { op: self.op.to_owned(), field, expected }
    }

    fn trial_folder(&mut self) -> Result<String, OperationFault> {
        self.text("trial_folder")?.ok_or_else(|| self.invalid("trial_folder", "the path of an empty folder"))
    }

    fn confiner(&mut self, gate: &mut Gate) -> Result<ConfinerReport, OperationFault> {
        let told = ConfinerReport { program: self.text("confiner")?, why: self.text("why")? };
        if gate.is_confinement_off() {
            return Ok(ConfinerReport { program: None, why: Some("`confine` is `off` in `~/.tollgate/config.json`".to_owned()) });
        }
        Ok(told)
    }

    /// Takes a field out; `None` if it is missing or null.
    fn take<T: DeserializeOwned>(&mut self, field: &'static str) -> Result<Option<T>, OperationFault> {
        match self.fields.remove(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value).map(Some).map_err(|why| OperationFault::InvalidValue {
                op: self.op.to_owned(),
                field,
                why: why.to_string(),
            }),
        }
    }

    fn text(&mut self, field: &'static str) -> Result<Option<String>, OperationFault> {
        self.take::<String>(field).map(|text| text.filter(|text| !text.is_empty()))
    }

    /// The programs that are named.
    fn programs(&mut self) -> Result<Vec<&'static AgentProgram>, OperationFault> {
        let names: Vec<String> = self.take("programs")?.unwrap_or_default();
        let find = |name: &String| {
            programs::find(name).filter(|program| program.wiring.is_some()).ok_or_else(|| {
                let known: Vec<&str> = wired_programs().map(|(program, _)| program.name()).collect();
                let why = format!("`{name}` cannot be set up; expected one of: {}", known.join(", "));
                OperationFault::InvalidValue { op: self.op.to_owned(), field: "programs", why }
            })
        };
        names.iter().map(find).collect()
    }

    fn scope(&mut self) -> Result<Option<SettingsScope>, OperationFault> {
        match self.text("scope")?.as_deref() {
            None => Ok(None),
            Some("workspace") => Ok(Some(SettingsScope::Workspace)),
            Some("user") => Ok(Some(SettingsScope::User)),
            Some(_) => Err(self.invalid("scope", "`workspace` or `user`")),
        }
    }

    /// The receipt of this workspace, which must be readable: otherwise what it says would be lost.
    fn receipt(&mut self) -> Result<Option<Receipt>, OperationFault> {
        let Some(text) = self.text("receipt")? else { return Ok(None) };
        Receipt::parse(&text).map(Some).ok_or_else(|| OperationFault::InvalidValue {
            op: self.op.to_owned(),
            field: "receipt",
            why: "it is not what `tollgate init` writes; remove the hooks by hand, as docs/hosts.md shows them".to_owned(),
        })
    }

    fn others(&mut self) -> Result<Vec<Receipt>, OperationFault> {
        let texts: Vec<String> = self.take("others")?.unwrap_or_default();
        Ok(texts.iter().filter_map(|text| Receipt::parse(text)).collect())
    }
}

fn programs() -> Value {
    let described = |program: &&AgentProgram| {
        object(&mut [
            ("name", program.name().into()),
            ("title", program.title.into()),
            ("names", program.names.to_vec().into()),
            ("wired", program.wiring.is_some().into()),
        ])
    };
    let programs: Vec<Value> = PROGRAMS.iter().map(described).collect();
    let variables: Vec<&str> = variables(wired_programs().map(|(_, wiring)| wiring)).into_iter().collect();
    object(&mut [("programs", programs.into()), ("variables", variables.into())])
}

/// The wirings of the programs that are named, or of all.
fn wirings_of(chosen: &[&'static AgentProgram]) -> impl Iterator<Item = &'static crate::programs::Wiring> {
    let is_chosen = |program: &AgentProgram| chosen.is_empty() || chosen.iter().any(|named| std::ptr::eq(*named, program));
    wired_programs().filter(move |(program, _)| is_chosen(program)).map(|(_, wiring)| wiring)
}

fn look_json(look: &FilesToRead) -> Value {
    let list = |paths: &std::collections::BTreeSet<String>| paths.iter().cloned().collect::<Vec<String>>();
    let folder = |(path, endings): &(String, &'static [&'static str])| {
        object(&mut [("path", path.as_str().into()), ("endings", endings.to_vec().into())])
    };
    let folders: Vec<Value> = look.folders.iter().map(folder).collect();
    let commands: Vec<&str> = look.commands.iter().copied().collect();
    object(&mut [
        ("files", list(&look.files).into()),
        ("folders", folders.into()),
        ("signs", list(&look.signs).into()),
        ("commands", commands.into()),
    ])
}

fn plan_json(plan: &WiringPlan, layout: &Layout) -> Value {
    let programs: Vec<&str> = plan.programs.iter().map(|program| program.name()).collect();
    let shown = |change: &FileEdit| {
        let mut shown = change_json(change, layout);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert(
                "diff".to_owned(),
                difference(change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default()).into(),
            );
        }
        shown
    };
    let changes: Vec<Value> = plan.changes.iter().map(shown).collect();
    let problem = |(program, why): &(Option<&'static AgentProgram>, String)| {
        let message = program.map_or_else(|| why.clone(), |program| format!("{}: {why}", program.title));
        object(&mut [("program", program.map_or(Value::Null, |program| program.name().into())), ("message", message.into())])
    };
    let problems: Vec<Value> = plan.problems.iter().map(problem).collect();
    object(&mut [
        ("programs", programs.into()),
        ("changes", changes.into()),
        ("notes", plan.notes.clone().into()),
        ("problems", problems.into()),
        ("receipt", if plan.receipt.files.is_empty() { Value::Null } else { plan.receipt.text().into() }),
    ])
}

fn undo_json(undo: &Undo, layout: &Layout) -> Value {
    let step = |step: &crate::wiring::undo::UndoStep| {
        object(&mut [
            ("words", step.words.into()),
            ("path", step.path.as_str().into()),
            ("shown", layout.display(&step.path).into()),
            ("change", step.change.as_ref().map_or(Value::Null, |change| change_json(change, layout))),
        ])
    };
    let steps: Vec<Value> = undo.steps.iter().map(step).collect();
    object(&mut [("steps", steps.into()), ("folders", undo.folders.clone().into()), ("notes", undo.notes.clone().into())])
}

fn change_json(change: &FileEdit, layout: &Layout) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    object(&mut [
        ("program", change.program.map_or(Value::Null, Value::from)),
        ("path", change.path.as_str().into()),
        ("shown", layout.display(&change.path).into()),
        ("before", text(&change.before)),
        ("after", text(&change.after)),
    ])
}
