//! Decides whether a command was given by a person, for commands that only a person may give.
//!
//! Some commands change the gate itself, its approvals, its wiring or its ledger. An agent's shell command that gives such a
//! command is denied by its text ([`controls`](crate::effects::Footprint::controls)), but a command can be hidden from whoever
//! reads it. So the command line checks here as well, however it was started:
//!
//! 1. A process below an agent program is not a person. The host reports its ancestors, and which variables are set.
//! 2. Otherwise a person answers on a terminal. `--yes` is not a person.
//! 3. If nobody is there, as when a machine is set up, the account's own settings can say so: `"unattended": true` in the
//!    `~/.tollgate/config.json` of the account, which no agent may write. Neither a variable nor an option can say so, because an
//!    agent sets those as it likes.
//!
//! A process of the same user that takes the trouble to leave its process tree, clear its variables and imitate a terminal gets
//! past this. That takes a program written for the purpose, which reading and confinement are there to stop.

use crate::ledger::entry::{Entry, Person, ScopeValidation};
use crate::ledger::mutation::MutationClass;
use crate::ports::Ports;
use crate::programs::process;

/// The session under which a person's commands are recorded in the ledger.
pub const SESSION: &str = "tollgate";

/// Maximum length of a word of a command in the ledger, in characters.
const MAX_CHARS: usize = 200;

/// Maximum number of words of a command, and of changed files, in the ledger.
const MAX_WORDS: usize = 32;

/// An ancestor of the process that asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The first words of its command line.
    pub words: Vec<String>,
}

/// What a host knows about the caller of a command.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The ancestor processes, and those at the other end of the terminal.
    pub ancestors: Vec<Process>,
    /// The names of the variables that are set, in this process or its ancestors.
    pub variables: Vec<String>,
    /// Whether there is a terminal to ask on.
    pub terminal: bool,
    /// Whether the account's own settings say that it is unattended.
    pub unattended: bool,
}

/// Why a command was not given by a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPerson {
    /// An agent program is among the ancestors.
    #[error(
        "`tollgate {command}` may only be run by a person, and it was started by {agent}; nothing was changed. A person can run it in \
         a terminal of their own"
    )]
    BelowAgent {
        /// The command, without its options.
        command: String,
        /// The agent program above the caller.
        agent: String,
    },
    /// No one can be asked.
    #[error(
        "`tollgate {command}` may only be run by a person, and there is no terminal to ask one on; `--yes` does not replace a person. \
         Nothing was changed. A person can run it in a terminal; docs/hosts.md says how the owner of a machine lets it run \
         unattended"
    )]
    NoTerminal {
        /// The command, without its options.
        command: String,
    },
}

impl Caller {
    /// The agent program above the caller, for a message.
    pub fn agent(&self) -> Option<String> {
        let found = |process: &Process| Some((process.id, process::title_of_process(&process.name, &process.words)?));
        if let Some((id, title)) = self.ancestors.iter().find_map(found) {
            return Some(format!("{title} (process {id})"));
        }
        let (title, variable) = process::title_of_variables(&self.variables)?;
        Some(format!("{title} (the variable `{variable}` is set)"))
    }

    /// Whether a person may be asked to confirm a command.
    pub fn check(&self, command: &[String]) -> Result<(), NoPerson> {
        let named = || command.iter().take(2).take_while(|word| !word.starts_with('-')).cloned().collect::<Vec<_>>().join(" ");
        match self.agent() {
            Some(agent) => Err(NoPerson::BelowAgent { command: named(), agent }),
            None if self.unattended || self.terminal => Ok(()),
            None => Err(NoPerson::NoTerminal { command: named() }),
        }
    }
}

/// Who gave a command and what it did, as recorded in the ledger.
pub fn person(user: &str, command: &[String], changed: &[String], ports: &Ports) -> Person {
    let clean = |text: &String| -> String { ports.secrets.redact(text).chars().take(MAX_CHARS).collect() };
    Person {
        user: clean(&user.to_owned()),
        command: command.iter().take(MAX_WORDS).map(clean).collect(),
        changed: changed.iter().take(MAX_WORDS).map(clean).collect(),
    }
}

/// The ledger entry for a command that a person gave.
pub fn entry(person: Person, ports: &Ports) -> Entry {
    let name: Vec<&str> = person.command.iter().map(String::as_str).take_while(|word| !word.starts_with('-')).take(2).collect();
    let entry = Entry::new(SESSION, &name.join(" "), MutationClass::Configuration, ports.clock.now(), ports);
    Entry { scope_validation: ScopeValidation::Exempt, person: Some(person), ..entry }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn who_is_a_person() {
        let shell = Process { id: 7, name: "bash".to_owned(), words: words("bash -l") };
        let claude = Process { id: 9, name: "claude".to_owned(), words: words("claude -p hi") };
        for (above, variables, terminal, unattended, expected) in [
            (vec![shell.clone()], "", true, false, None),
            (vec![shell.clone()], "", false, true, None),
            (vec![], "CODEX_HOME CLAUDE_CONFIG_DIR", true, false, None),
            (vec![shell.clone()], "", false, false, Some("there is no terminal")),
            (vec![shell.clone(), claude.clone()], "", true, false, Some("started by Claude Code (process 9)")),
            (vec![shell.clone(), claude], "", false, true, Some("started by Claude Code (process 9)")),
            (vec![shell.clone()], "PATH CLAUDECODE", true, true, Some("Claude Code (the variable `CLAUDECODE` is set)")),
            (vec![], "GEMINI_CLI", true, false, Some("Gemini CLI")),
            (vec![], "OPENCODE", true, false, Some("OpenCode")),
            (vec![], "CODEX_THREAD_ID", true, false, Some("Codex")),
        ] {
            let surroundings = Caller { ancestors: above, variables: words(variables), terminal, unattended };
            let refused = surroundings.check(&words("hooks approve x --yes")).err().map(|why| why.to_string());
            match (expected, &refused) {
                (None, None) => {}
                (Some(said), Some(why)) => assert!(why.contains(said) && why.contains("`tollgate hooks approve`"), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
