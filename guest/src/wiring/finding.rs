//! Summarises how a program is wired to the gate.

use serde_json::Value;

use super::confinement::{ConfinementCheck, ConfinerReport, ProgramTrials};
use super::files_read::Seen;
use super::hook::{HookFindings, WiredHook};
use super::layout::Layout;
use super::matcher;
use super::plan::is_in_use;
use super::trial::{self, MAX_TRIALS, Proof, Trial, TrialOutcome};
use crate::json::object;
use crate::programs::{AgentProgram, EventKind, Wiring};

/// How many of the tools that a matcher leaves out are named.
const MAX_NAMED_TOOLS: usize = 5;

/// How a program is wired to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WiringState {
    /// The program asks the gate before every tool.
    Live,
    /// The program asks, but not before every tool that changes something, or it does not report results.
    Partly,
    /// A hook is installed, but nothing shows whether it works.
    Unproven,
    /// A hook is installed, but the gate is not asked.
    Silent,
    /// No hook is installed.
    Missing,
}

impl WiringState {
    /// The state in the words of messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Partly => "partly live",
            Self::Unproven => "installed, not verified",
            Self::Silent => "installed, but silent",
            Self::Missing => "missing",
        }
    }
}

/// What is installed for a program, before anything is tried.
pub struct Examination {
    program: &'static AgentProgram,
    wiring: &'static Wiring,
    found: HookFindings,
    /// The hooks before a tool that nothing keeps from running.
    open: Vec<WiredHook>,
    /// What keeps the other hooks from running.
    obstacles: Vec<String>,
}

/// The surroundings of trials.
#[derive(Debug, Clone, Copy)]
pub struct Trials<'a> {
    /// A workspace with [`trial::FILES`].
    pub folder: &'a str,
    /// The relevant folders.
    pub layout: &'a Layout,
    /// What the host saw.
    pub seen: &'a Seen,
    /// What confines commands on this machine.
    pub confiner: &'a ConfinerReport,
}

/// What was found about a program.
#[derive(Debug)]
pub struct Finding {
    /// The program.
    pub program: &'static AgentProgram,
    /// Whether it asks the gate.
    pub state: WiringState,
    /// Where its hook is installed, for display.
    pub settings: Option<String>,
    /// The command of the hook, or the plugin.
    pub command: Option<String>,
    /// Before which tools the gate is asked.
    pub tools: String,
    /// What a person should know or do.
    pub remarks: Vec<String>,
    /// Whether its commands are confined to their scope; `None` if the gate is not even asked.
    pub confinement: Option<ConfinementCheck>,
}

/// Examines every program that is in use or has a hook.
pub fn examine(layout: &Layout, seen: &Seen) -> Vec<Examination> {
    let examine = |(program, wiring): (&'static AgentProgram, &'static Wiring)| {
        let found = HookFindings::of(program, wiring, layout, seen);
        let is_concerned = !found.hooks.is_empty() || !found.unreadable.is_empty() || is_in_use(wiring, layout, seen);
        is_concerned.then(|| Examination::of(program, wiring, found, layout, seen))
    };
    super::wired_programs().filter_map(examine).collect()
}

impl Examination {
    fn of(program: &'static AgentProgram, wiring: &'static Wiring, found: HookFindings, layout: &Layout, seen: &Seen) -> Self {
        let (mut open, mut obstacles): (Vec<WiredHook>, Vec<String>) = (Vec::new(), Vec::new());
        for hook in found.before_tool(wiring) {
            match hook.obstacle(program, wiring, layout, seen) {
                Some(why) if !obstacles.contains(&why) => obstacles.push(why),
                Some(_) => {}
                None => open.push(hook.clone()),
            }
        }
        Self { program, wiring, found, open, obstacles }
    }

    /// The distinct commands to try, at most [`MAX_TRIALS`].
    fn hooks_to_try(&self) -> Vec<&WiredHook> {
        let mut tried: Vec<&WiredHook> = Vec::new();
        for hook in &self.open {
            if tried.len() < MAX_TRIALS && !tried.iter().any(|known| known.command == hook.command) {
                tried.push(hook);
            }
        }
        tried
    }

    /// The trials to run next, given the outcomes of earlier ones.
    pub fn trials(&self, trials: &Trials<'_>, outcomes: &[TrialOutcome]) -> Vec<Trial> {
        let Trials { folder, layout, seen, .. } = *trials;
        let tried = self.hooks_to_try().into_iter().enumerate();
        let trials = tried.flat_map(|(at, hook)| trial::trials(self.program, self.wiring, hook, at, folder, layout, seen));
        let mut trials: Vec<Trial> = trials.collect();
        // Confinement is tried with the first hook that denies.
        let denies = |at: &usize| trial::proof(self.program, self.wiring, *at, outcomes) == Proof::Denied;
        let denying = (0..self.hooks_to_try().len()).find(denies).map(|at| trial::trial_id(self.program, at));
        let hook = denying.and_then(|id| trials.iter().find(|trial| trial.id == id));
        let next = hook.and_then(|hook| self.confinement(folder, layout, seen).next(hook, outcomes));
        trials.extend(next);
        trials.retain(|trial| !outcomes.iter().any(|outcome| outcome.id == trial.id));
        trials
    }

    fn confinement<'t>(&self, trial_folder: &'t str, layout: &'t Layout, seen: &'t Seen) -> ProgramTrials<'t> {
        ProgramTrials { program: self.program, wiring: self.wiring, trial_folder, layout, seen }
    }

    /// Judges the program, given the outcomes of all trials.
    pub fn judge(self, trials: &Trials<'_>, outcomes: &[TrialOutcome], digest: &str) -> Finding {
        let Trials { folder, layout, seen, confiner } = *trials;
        let confinement = self.confinement(folder, layout, seen).judge(confiner, outcomes);
        let Self { program, wiring, ref found, ref open, ref obstacles } = self;
        let mut remarks = found.unreadable.clone();
        let Some(first) = open.first().or_else(|| found.before_tool(wiring).next()) else {
            let state = if found.unreadable.is_empty() { WiringState::Missing } else { WiringState::Silent };
            remarks.push(format!("`tollgate init --host {}` sets it up", program.name()));
            let (settings, command, tools, confinement) = (None, None, String::new(), None);
            return Finding { program, state, settings, command, tools, remarks, confinement };
        };
        let proofs: Vec<(&WiredHook, Proof)> = self
            .hooks_to_try()
            .into_iter()
            .enumerate()
            .map(|(at, hook)| (hook, trial::proof(program, wiring, at, outcomes)))
            .collect();
        let denies =
            |hook: &WiredHook| proofs.iter().any(|(tried, proof)| tried.command == hook.command && *proof == Proof::Denied);
        let working: Vec<&WiredHook> = open.iter().filter(|hook| denies(hook)).collect();
        let shown = working.first().copied().unwrap_or(first);
        let (tools, misses) = tools_of(program, &working);
        let untold = missing_events(program, wiring, found);
        let state = if !found.switched_off.is_empty() {
            WiringState::Silent
        } else if working.is_empty() {
            let is_unproven = |(_, proof): &(&WiredHook, Proof)| matches!(proof, Proof::Unproven(_));
            if proofs.iter().any(is_unproven) { WiringState::Unproven } else { WiringState::Silent }
        } else if misses || !untold.is_empty() {
            WiringState::Partly
        } else {
            WiringState::Live
        };
        remarks.extend(found.switched_off.iter().cloned());
        for (_, proof) in &proofs {
            if let Proof::Failed(why) | Proof::Unproven(why) = proof {
                remarks.push(why.clone());
            }
        }
        // An obstacle to one hook matters less if another one works.
        if working.is_empty() {
            remarks.extend(obstacles.iter().cloned());
        }
        if misses {
            let every = wiring.every.unwrap_or("*");
            remarks.push(format!("its matcher omits tools that change files; change it to `{every}`"));
        }
        if !untold.is_empty() && !working.is_empty() {
            remarks.push(format!(
                "nothing is reported to the gate at {}, so the ledger stays incomplete; `tollgate init --host {}` adds it",
                untold.join(", "),
                program.name()
            ));
        }
        if matches!(state, WiringState::Live | WiringState::Partly) {
            remarks.extend((0..proofs.len()).find_map(|at| trial::other_version(program, at, outcomes, digest)));
        }
        Finding {
            program,
            state,
            settings: Some(layout.display(&shown.file)),
            command: Some(shown.command.clone()),
            tools,
            remarks,
            confinement: matches!(state, WiringState::Live | WiringState::Partly).then_some(confinement),
        }
    }
}

/// Before which tools the hooks ask, and whether a tool that changes something is left out.
fn tools_of(program: &AgentProgram, hooks: &[&WiredHook]) -> (String, bool) {
    if hooks.is_empty() {
        return (String::new(), false);
    }
    let changing: Vec<&str> = program.changing_tools().collect();
    let lists: Option<Vec<Vec<&str>>> =
        hooks.iter().map(|hook| matcher::uncovered_tools(hook.matcher.as_deref(), &changing)).collect();
    let Some(lists) = lists else {
        let matcher = hooks.first().and_then(|hook| hook.matcher.as_deref()).unwrap_or_default();
        return (format!("as `{matcher}` says"), false);
    };
    // A tool that the matcher of one hook leaves out may be covered by the matcher of another.
    let missed: Vec<&str> = changing.into_iter().filter(|tool| lists.iter().all(|list| list.contains(tool))).collect();
    match missed.as_slice() {
        [] => ("every tool".to_owned(), false),
        missed => {
            let named: Vec<&str> = missed.iter().copied().take(MAX_NAMED_TOOLS).collect();
            let more = missed.len() - named.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (format!("not {}{more}", named.join(", ")), true)
        }
    }
}

/// The events after a tool that have no hook.
fn missing_events(program: &AgentProgram, wiring: &Wiring, found: &HookFindings) -> Vec<&'static str> {
    let is_after = |event: &str| {
        let kind = program.speech.as_ref().and_then(|speech| speech.event_of(event));
        kind.is_some_and(|(_, kind)| kind == EventKind::AfterTool)
    };
    let is_written = |event: &str| found.hooks.iter().any(|hook| hook.event == event && hook.source.applies);
    wiring.events.iter().copied().filter(|event| is_after(event) && !is_written(event)).collect()
}

impl Finding {
    /// The finding as JSON, for hosts.
    pub fn to_json(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let told = self.confinement.as_ref().filter(|held| **held != ConfinementCheck::Holds);
        object(&mut [
            ("host", self.program.name().into()),
            ("title", self.program.title.into()),
            ("state", self.state.words().into()),
            ("tools", self.tools.as_str().into()),
            ("settings", text(&self.settings)),
            ("command", text(&self.command)),
            ("remarks", self.remarks.clone().into()),
            ("commands", self.confinement.as_ref().map_or("", ConfinementCheck::word).into()),
            ("confinement", told.map_or(Value::Null, |held| held.sentence("its commands").into())),
        ])
    }
}
