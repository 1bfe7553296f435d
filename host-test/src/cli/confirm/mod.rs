//! Commands that only a person may run.
//!
//! They change the gate's settings, approvals, wiring or ledger. The gate decides who counts as a person; this module reports the
//! parent processes, the environment, the terminal and the account, asks for confirmation on the terminal, and records the
//! command in the ledger.

mod account;
mod ancestry;
mod terminal;

use std::path::Path;

use serde_json::{Value, json};
use tollgate_guest::digest::Digest;

use super::{CommandError, Outcome};
use crate::cli::client::{Gate, ask, flag, text};
use crate::cli::output::Output;
use account::Account;
use terminal::Terminal;

/// The file with the approvals of hooks and extensions, as ledger entries name it.
pub(crate) const APPROVALS: &str = "~/.tollgate/trusted-hooks.json";

/// The answer to a request for confirmation.
pub(crate) enum Confirmation {
    Yes,
    No,
    /// There is no terminal to ask on, and `--yes` was not given.
    NoTerminal,
}

impl Confirmation {
    /// The outcome of a command that was not confirmed, or `None` if it was.
    pub(crate) fn refusal(self, output: &mut Output<'_>) -> Result<Option<Outcome>, CommandError> {
        match self {
            Self::Yes => Ok(None),
            Self::No => {
                output.note("nothing was changed");
                Ok(Some(Outcome::No))
            }
            Self::NoTerminal => {
                Err(CommandError::Failed("nothing was changed: there is no terminal to ask on; confirm with `--yes`".to_owned()))
            }
        }
    }
}

/// The person who runs a command, or an account that is allowed to act for one.
pub(crate) struct Person {
    command: Vec<String>,
    account: Account,
    terminal: Option<Terminal>,
    /// Whether `--yes` was given.
    agreed: bool,
}

impl Person {
    /// Checks that a person runs this command, before it does anything. `command` is the command without options; `yes` says
    /// whether `--yes` was given, which counts because only a person gets this far.
    pub(crate) fn require(gate: &mut dyn Gate, root: &Path, command: &[&str], yes: bool) -> Result<Self, CommandError> {
        let account = Account::current();
        let terminal = Terminal::open();
        let mut question = ancestry::describe(true);
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        if let Some(fields) = question.as_object_mut() {
            fields.insert("step".to_owned(), "check".into());
            fields.insert("command".to_owned(), words.clone().into());
            fields.insert("terminal".to_owned(), terminal.is_some().into());
            if let Some(settings) = account.settings(root) {
                fields.insert("settings".to_owned(), settings.into());
            }
        }
        let answer = ask(gate, &question)?;
        if !flag(&answer, "allowed") {
            let message = text(&answer, "/why").to_owned();
            let answer = json!({"error": {"code": "needs_person", "message": message}});
            return Err(CommandError::Refused { message, answer });
        }
        Ok(Self { command: words, account, terminal, agreed: yes })
    }

    /// Asks for confirmation on the terminal, unless `--yes` was given.
    pub(crate) fn ask(&self, question: &str) -> Confirmation {
        match &self.terminal {
            _ if self.agreed => Confirmation::Yes,
            None => Confirmation::NoTerminal,
            Some(terminal) => terminal.ask(question),
        }
    }

    /// Asks for a secret without showing what is typed.
    pub(crate) fn ask_secret(&self, question: &str) -> Result<String, CommandError> {
        if self.terminal.is_none() {
            return Err(CommandError::Failed("nothing was changed: there is no terminal to ask for a secret on".to_owned()));
        }
        let secret = rpassword::prompt_password(format!("{question}: "));
        secret.map_err(|why| CommandError::Failed(format!("nothing was changed: the terminal cannot be read: {why}")))
    }

    /// Records the command and what it changed in the ledger.
    pub(crate) fn record(&self, gate: &mut dyn Gate, changed: &[String]) -> Result<(), CommandError> {
        self.record_with(gate, changed, &Value::Null)
    }

    /// Like [`record`](Self::record), and also records Tollgate's own program, so that copies of it are recognised.
    pub(crate) fn record_with(&self, gate: &mut dyn Gate, changed: &[String], program: &Value) -> Result<(), CommandError> {
        let mut question = json!({"op": "person", "step": "record", "program": program});
        self.sign(&mut question, changed);
        let entered = ask(gate, &question);
        entered.map(drop).map_err(|stop| stop.with_context("the command succeeded, but it could not be recorded in the ledger"))
    }

    /// Adds the user, the command and the changed files to a request.
    pub(crate) fn sign(&self, line: &mut Value, changed: &[String]) {
        if let Some(fields) = line.as_object_mut() {
            fields.insert("user".to_owned(), self.account.name.clone().into());
            fields.insert("command".to_owned(), self.command.clone().into());
            fields.insert("changed".to_owned(), changed.to_vec().into());
        }
    }
}

/// Reports the parent processes to the gate, so that it can refuse requests that only a person may send.
pub(crate) fn report_ancestry(gate: &mut dyn Gate) -> Result<(), CommandError> {
    let mut question = ancestry::describe(false);
    if let Some(fields) = question.as_object_mut() {
        fields.insert("step".to_owned(), "look".into());
    }
    ask(gate, &question).map(drop)
}

/// The size and digest of this program, or `null` if it cannot be read.
pub(crate) fn own_program() -> Value {
    let read = || -> std::io::Result<Value> {
        let bytes = std::fs::read(std::env::current_exe()?)?;
        Ok(json!({"size": bytes.len(), "digest": Digest::of(&bytes).to_string()}))
    };
    read().unwrap_or_default()
}
