//! `tollgate extensions set`: sets a value or a secret for an extension.

use std::path::Path;

use clap::Args;
use serde_json::json;
use tollgate::keyring;

use crate::cli::client::{Gate, ask, flag, text};
use crate::cli::confirm::Person;
use crate::cli::output::{Output, escape};
use crate::cli::{CommandError, CommandResult, Outcome};

/// The options of `tollgate extensions set`.
#[derive(Args)]
pub(crate) struct Options {
    /// The extension, as `tollgate extensions list` shows it
    #[arg(value_name = "NAME")]
    name: String,
    /// The setting, as `tollgate extensions show` shows it
    #[arg(value_name = "KEY")]
    key: String,
    /// The value; omit it for a secret, which is asked for
    #[arg(value_name = "VALUE", conflicts_with = "unset")]
    value: Option<String>,
    /// Remove the value
    #[arg(long)]
    unset: bool,
    /// Store a secret in ~/.tollgate/secrets.json, which only you can read, instead of the keyring
    #[arg(long)]
    file: bool,
}

pub(super) fn run(gate: &mut dyn Gate, root: &Path, options: &Options, json: bool, output: &mut Output<'_>) -> CommandResult {
    let Options { name, key, .. } = options;
    let person = Person::require(gate, root, &["extensions", "set", name, key], true)?;
    let setting = ask(gate, &json!({"op": "extensions", "do": "setting", "id": name, "key": key}))?;
    let is_secret = flag(&setting, "sensitive");
    if is_secret && options.value.is_some() {
        return Err(CommandError::Failed(format!(
            "`{}` is a secret, and every user of this machine can see a command's arguments; omit the value to be asked for it",
            escape(key)
        )));
    }
    let value = match &options.value {
        _ if options.unset => None,
        Some(value) => Some(value.clone()),
        None if is_secret => Some(person.ask_secret(&format!("{} ({})", escape(key), escape(text(&setting, "/description"))))?),
        None => return Err(CommandError::Failed(format!("give a value for `{}`, or remove it with --unset", escape(key)))),
    };
    let stored_as = text(&setting, "/stored_as");
    let mut question = json!({"op": "extensions", "do": "set", "id": name, "key": key, "value": value});
    if let Some(secret) = value.as_deref().filter(|_| is_secret) {
        // The value is checked before it is stored.
        ask(gate, &json!({"op": "extensions", "do": "setting", "id": name, "key": key, "value": secret}))?;
        if !options.file && keyring::store(stored_as, secret).is_ok() {
            question = json!({"op": "extensions", "do": "set", "id": name, "key": key, "keyring": true});
        }
    }
    if is_secret && (options.unset || options.file) {
        // It does not matter whether there was one.
        let _ = keyring::remove(stored_as);
    }
    let answer = ask(gate, &question)?;
    let file = text(&answer, "/file").to_owned();
    if json {
        output.json(&answer)?;
    } else {
        let done = if value.is_some() { "is set" } else { "is no longer set" };
        output.line(&format!(
            "{} of {} {done}, in {}; the extension is {}",
            escape(key),
            escape(name),
            escape(&file),
            escape(text(&answer, "/state"))
        ))?;
    }
    person.record(gate, &[file])?;
    Ok(Outcome::Done)
}
