//! Commands that only a person may give.
//!
//! They change the gate, its approvals, its wiring or its ledger. The gate decides who counts as a person; this looks at the
//! processes above, the variables, the terminal and the account, asks on the terminal, and has what was done entered in the
//! ledger.

mod account;
mod ancestry;
mod terminal;

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Outcome, Stop};
use crate::cli::client::{Gate, ask, is, text};
use crate::cli::output::Screen;
use account::Account;
use terminal::Terminal;

/// What a person says to a question.
pub(crate) enum Word {
    Yes,
    No,
    /// There is nobody to ask, and nobody said yes beforehand.
    Nobody,
}

impl Word {
    /// What a command comes to that was not agreed to; none where it was.
    pub(crate) fn refusal(self, screen: &mut Screen<'_>) -> Result<Option<Outcome>, Stop> {
        match self {
            Self::Yes => Ok(None),
            Self::No => {
                screen.note("nothing was changed");
                Ok(Some(Outcome::No))
            }
            Self::Nobody => {
                Err(Stop::Fault("nothing was changed: there is no terminal to ask on; say yes with `--yes`".to_owned()))
            }
        }
    }
}

/// The person who gives a command, or whoever the account lets act for one.
pub(crate) struct Person {
    command: Vec<String>,
    account: Account,
    terminal: Option<Terminal>,
    /// Whether they said yes beforehand.
    said_yes: bool,
}

impl Person {
    /// Makes sure that a person gives a command, before anything else is done. `command` is what they typed, without options; `yes`
    /// is whether `--yes` was among those, which counts because somebody who may say it has been found.
    pub(crate) fn require(gate: &mut dyn Gate, root: &Path, command: &[&str], yes: bool) -> Result<Self, Stop> {
        let account = Account::own();
        let terminal = Terminal::open();
        let unattended = account.is_unattended(root);
        let mut question = ancestry::seen(true);
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        if let Some(fields) = question.as_object_mut() {
            fields.insert("step".to_owned(), "check".into());
            fields.insert("command".to_owned(), words.clone().into());
            fields.insert("terminal".to_owned(), terminal.is_some().into());
            fields.insert("unattended".to_owned(), unattended.into());
        }
        let answer = ask(gate, &question)?;
        if !is(&answer, "allowed") {
            let message = text(&answer, "/why").to_owned();
            let answer = json!({"error": {"code": "needs_person", "message": message}});
            return Err(Stop::Refused { message, answer });
        }
        Ok(Self { command: words, account, terminal, said_yes: yes })
    }

    /// Asks on the terminal, unless they said yes beforehand.
    pub(crate) fn ask(&self, question: &str) -> Word {
        match &self.terminal {
            _ if self.said_yes => Word::Yes,
            None => Word::Nobody,
            Some(terminal) => terminal.ask(question),
        }
    }

    /// Has the command entered in the ledger, with what it changed.
    pub(crate) fn record(&self, gate: &mut dyn Gate, changed: &[String]) -> Result<(), Stop> {
        self.record_with(gate, changed, &Value::Null)
    }

    /// The same, with Tollgate's own program, so that a copy of it is known.
    pub(crate) fn record_with(&self, gate: &mut dyn Gate, changed: &[String], program: &Value) -> Result<(), Stop> {
        let mut question = json!({"op": "person", "step": "record", "program": program});
        self.sign(&mut question, changed);
        let entered = ask(gate, &question);
        entered.map(drop).map_err(|stop| stop.after("it is done, but the ledger does not know of it"))
    }

    /// Adds to a line who gave the command, and what it changed.
    pub(crate) fn sign(&self, line: &mut Value, changed: &[String]) {
        if let Some(fields) = line.as_object_mut() {
            fields.insert("user".to_owned(), self.account.name.clone().into());
            fields.insert("command".to_owned(), self.command.clone().into());
            fields.insert("changed".to_owned(), changed.to_vec().into());
        }
    }
}

/// Tells the gate who stands above this process, so that it can refuse what only a person may send.
pub(crate) fn look(gate: &mut dyn Gate) -> Result<(), Stop> {
    let mut question = ancestry::seen(false);
    if let Some(fields) = question.as_object_mut() {
        fields.insert("step".to_owned(), "look".into());
    }
    ask(gate, &question).map(drop)
}

/// This program, by its size and digest; null where it cannot be read.
pub(crate) fn own_program() -> Value {
    let read = || -> std::io::Result<Value> {
        let bytes = std::fs::read(std::env::current_exe()?)?;
        let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let digest = format!("sha256:{hex}");
        Ok(json!({"size": bytes.len(), "digest": digest}))
    };
    read().unwrap_or_default()
}
