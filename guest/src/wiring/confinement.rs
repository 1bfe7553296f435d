//! Checks whether commands are restricted to their scope: runs a command that writes out of scope, in a way that no analysis sees, just
//! as each program would run it.
//!
//! The program's hook is asked about the command first. Then its answer is run: the command that it returns instead, or, if the
//! program passes every command to another program ([`ShellPrefix`](crate::programs::wiring::ShellPrefix)), the command through
//! that program.

use serde_json::json;

use super::files_read::{Seen, SeenContent};
use super::layout::{Layout, join};
use super::trial::{Trial, TrialOutcome};
use crate::confine::is_confiner_name;
use crate::confine::wrapping::quote;
use crate::json;
use crate::json::document::Document;
use crate::programs::wiring::{Canary, ShellCanary, SourceContent};
use crate::programs::{AgentProgram, Wiring, shell_prefix};

/// The id of the trial of `tollgate confine` itself.
const KERNEL: &str = "kernel";

/// The session of all trials.
const SESSION: &str = "tollgate-doctor";

/// The agent that runs a command, as named by Claude Code.
const AGENT: &str = "claude-code_doctor_agent";

/// Whether commands are restricted to their scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfinementCheck {
    /// The file in scope was written, the other one was not.
    Holds,
    /// Commands run unconfined, for this reason.
    Unconfined(String),
    /// Commands should be confined but are not, for this reason.
    Fails(String),
}

impl ConfinementCheck {
    /// The result in a word, for a table.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds => "confined",
            Self::Unconfined(_) => "unconfined",
            Self::Fails(_) => "confinement fails",
        }
    }

    /// The result in a sentence about these commands.
    pub fn sentence(&self, commands: &str) -> String {
        match self {
            Self::Holds => format!("{commands} are confined to their scope by the kernel"),
            Self::Unconfined(why) => format!("{commands} run unconfined: {why}"),
            Self::Fails(why) => format!("{commands} are NOT confined to their scope: {why}"),
        }
    }

    /// Whether something is wrong.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Fails(_))
    }
}

/// The program that confines commands on this machine, if any.
#[derive(Debug, Clone, Default)]
pub struct ConfinerReport {
    /// The absolute path of the native program, if it exists and the system can confine commands.
    pub program: Option<String>,
    /// Why there is no such program.
    pub why: Option<String>,
}

impl ConfinerReport {
    fn reason(&self) -> String {
        self.why.clone().unwrap_or_else(|| "the native `tollgate` is not on the search path".to_owned())
    }
}

/// The two files of a trial: the first is in scope, the second is not.
fn files(id: &str, trial_folder: &str) -> [String; 2] {
    [format!("canary/{id}.in"), format!("{id}.out")].map(|file| join(trial_folder, &file))
}

/// A command that writes in scope, and then out of scope to a path that is put together when the command runs.
fn command(id: &str) -> String {
    format!(r#"echo in > canary/{id}.in && name=$(printf '{id}\056out') && echo out > "$name""#)
}

/// What the files that exist after a trial prove.
fn proof(id: &str, trial_folder: &str, outcome: &TrialOutcome) -> ConfinementCheck {
    let [own, other] = files(id, trial_folder);
    if let Some(fault) = &outcome.fault {
        ConfinementCheck::Fails(fault.clone())
    } else if outcome.exist.contains(&other) {
        ConfinementCheck::Fails("a command wrote a file that its intent does not own".to_owned())
    } else if !outcome.exist.contains(&own) {
        ConfinementCheck::Fails(format!("a command could not write a file that its intent owns{}", outcome.complaint()))
    } else {
        ConfinementCheck::Holds
    }
}

/// The trial of `tollgate confine` itself; `None` if there is nothing to test.
pub fn kernel_trial(confiner: &ConfinerReport, trial_folder: &str) -> Option<Trial> {
    let program = confiner.program.as_deref()?;
    let command = command(KERNEL);
    let words =
        [program, "confine", "--workspace", trial_folder, "--session", SESSION, "--", "sh", "-c", &command].map(str::to_owned);
    let exist = files(KERNEL, trial_folder).into();
    Some(Trial { id: KERNEL.to_owned(), words: words.into(), folder: trial_folder.to_owned(), exist, ..Trial::default() })
}

/// Whether `tollgate confine` confines commands.
pub fn of_kernel(confiner: &ConfinerReport, trial_folder: &str, outcomes: &[TrialOutcome]) -> ConfinementCheck {
    match (&confiner.program, outcomes.iter().find(|outcome| outcome.id == KERNEL)) {
        (None, _) => ConfinementCheck::Unconfined(confiner.reason()),
        (Some(_), None) => ConfinementCheck::Fails("it was not tested".to_owned()),
        (Some(_), Some(outcome)) => proof(KERNEL, trial_folder, outcome),
    }
}

/// The confinement trials of one agent program.
pub struct ProgramTrials<'a> {
    /// The program.
    pub program: &'static AgentProgram,
    /// Its wiring.
    pub wiring: &'static Wiring,
    /// The workspace for trials.
    pub trial_folder: &'a str,
    /// The relevant folders.
    pub layout: &'a Layout,
    /// What the host saw.
    pub seen: &'a Seen,
}

impl ProgramTrials<'_> {
    /// The name used for the files of its trial.
    fn id(&self) -> &'static str {
        self.program.name()
    }

    fn asking_id(&self) -> String {
        format!("{}/confine", self.id())
    }

    fn running_id(&self) -> String {
        format!("{}/run", self.id())
    }

    /// The shell command of its canary; `None` if the program runs no command other than the model's.
    fn shell(&self) -> Option<Shell> {
        match self.wiring.canary {
            Canary::Command { shell, .. } => shell.map(Shell::Payload),
            Canary::Script(_) => Some(Shell::Script),
        }
    }

    /// The program that its settings name to run its commands; `None` if they name none, or one that does not confine.
    fn prefix(&self) -> Option<String> {
        let pointer = format!("/env/{}", self.wiring.shell_prefix.as_ref()?.variable);
        let mut named = Vec::new();
        for settings in self.wiring.settings.iter().filter(|settings| settings.content == SourceContent::Hooks) {
            let Some(path) = self.layout.path(settings.place) else { continue };
            let SeenContent::Text(text) = self.seen.file(&path) else { continue };
            let Ok(document) = Document::parse(text) else { continue };
            named.extend(document.value().pointer(&pointer).map(|value| value.as_str().unwrap_or_default().to_owned()));
        }
        named.pop().filter(|last| is_confiner_name(last) && named.iter().all(|path| path == last))
    }

    /// What to run next, given the trial that runs the program's hook (`hook`) and the results of earlier trials.
    pub fn next(&self, hook: &Trial, outcomes: &[TrialOutcome]) -> Option<Trial> {
        let of = |id: &str| outcomes.iter().find(|outcome| outcome.id == id);
        match (of(&self.asking_id()), of(&self.running_id())) {
            (None, _) => self.hook_trial(hook),
            (Some(asked), None) => self.command_trial(hook, asked),
            (Some(_), Some(_)) => None,
        }
    }

    /// The trial that asks the hook about the command.
    fn hook_trial(&self, hook: &Trial) -> Option<Trial> {
        let mut trial = Trial { id: self.asking_id(), ..hook.clone() };
        match self.shell()? {
            Shell::Payload(shell) => {
                trial.stdin = (shell.payload)(self.trial_folder, &command(self.id())).to_string();
                if let Some(prefix) = &self.wiring.shell_prefix {
                    let settings = json!({"env": {prefix.variable: self.prefix()?}}).to_string();
                    let layout = Layout { workspace: self.trial_folder.to_owned(), ..self.layout.clone() };
                    trial.file = layout.path(prefix.file).map(|path| (path, settings));
                }
            }
            Shell::Script => trial.words.push(command(self.id())),
        }
        Some(trial)
    }

    /// The trial that runs what the hook returned, as the program would.
    fn command_trial(&self, hook: &Trial, asked: &TrialOutcome) -> Option<Trial> {
        let exist = files(self.id(), self.trial_folder).into();
        let trial = Trial { id: self.running_id(), folder: self.trial_folder.to_owned(), exist, ..Trial::default() };
        if let Some(rewritten) = self.rewritten_command(asked) {
            return Some(Trial { shell: Some(rewritten), variables: hook.variables.clone(), ..trial });
        }
        let variable = self.wiring.shell_prefix.as_ref()?.variable;
        let prefix = self.prefix()?;
        let given = shell_prefix::wrapped_text(&quote(&command(self.id())), &quote(&join(self.trial_folder, "folder")));
        let mut variables = hook.variables.clone();
        variables.extend([(variable, prefix.clone()), (shell_prefix::SESSION, SESSION.to_owned())]);
        variables.push((shell_prefix::AGENT, AGENT.to_owned()));
        Some(Trial { words: vec![prefix, given], variables, ..trial })
    }

    /// The command that the hook returned instead.
    fn rewritten_command(&self, asked: &TrialOutcome) -> Option<String> {
        let pointer = match self.shell()? {
            Shell::Payload(shell) => shell.rewritten?,
            Shell::Script => "/command",
        };
        let answer = json::value(asked.stdout.trim().rsplit('\n').next()?).ok()?;
        let given = answer.pointer(pointer)?.as_str()?;
        (given != command(self.id())).then(|| given.to_owned())
    }

    /// Whether the program's commands are confined.
    pub fn judge(&self, confiner: &ConfinerReport, outcomes: &[TrialOutcome]) -> ConfinementCheck {
        let of = |id: &str| outcomes.iter().find(|outcome| outcome.id == id);
        if self.shell().is_none() {
            return ConfinementCheck::Unconfined(format!("{} can only run the model's own command", self.program.title));
        }
        if let Some(outcome) = of(&self.running_id()) {
            return proof(self.id(), self.trial_folder, outcome);
        }
        ConfinementCheck::Unconfined(if confiner.program.is_none() {
            confiner.reason()
        } else if let Some(prefix) = self.wiring.shell_prefix.as_ref().filter(|_| self.prefix().is_none()) {
            format!("`env.{}` of its settings does not name the native `tollgate`; `tollgate init` sets it", prefix.variable)
        } else {
            let said = of(&self.asking_id()).map(TrialOutcome::complaint).unwrap_or_default();
            format!(
                "its hook does not replace the command{said}; is `tollgate` on the search path, and `confine` in the settings not `off`?"
            )
        })
    }
}

enum Shell {
    Payload(ShellCanary),
    Script,
}
