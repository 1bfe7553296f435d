//! Tollgate's own command. What asks it something is free; whatever else it does governs the gate, and is a person's to do.

use super::super::reader::Reader;
use super::super::reader::arg::Arg;
use super::spec::{Call, Operands, Program};
use crate::call::effect::Deed;

pub(super) const ROWS: &[Program] = &[Program {
    operands: Operands::Rule,
    lenient: true,
    rule: Some(|reader, call, _| match behind_confine(call.args) {
        Some(command) => reader.run_program(command, call.state, call.input),
        None => govern(reader, call.args),
    }),
    ..Program::new(&["tollgate"])
}];

/// The command that `tollgate confine --session S --call C -- COMMAND` runs: what it may change is the gate's to say.
fn behind_confine(args: &[Arg]) -> Option<&[Arg]> {
    if !args.first().is_some_and(|word| word.is("confine")) {
        return None;
    }
    let at = args.iter().position(|arg| arg.is("--"))?;
    let options = args.get(1..at)?;
    let is_listed =
        |pair: &[Arg]| matches!(pair, [name, value] if (name.is("--session") || name.is("--call")) && value.is_certain());
    options.chunks(2).all(is_listed).then(|| args.get(at + 1..)).flatten()
}

/// Commands that only look, by their first words.
const LOOK: &[&[&str]] = &[
    &["augment"],
    &["concepts"],
    &["doctor"],
    &["extensions", "check"],
    &["extensions", "list"],
    &["hooks", "history"],
    &["hooks", "list"],
    &["hooks", "show"],
    &["inspect"],
    &["intents"],
    &["intents", "check"],
    &["intents", "list"],
    &["mcp", "status"],
    &["mcp", "tools"],
    &["skills", "list"],
    &["skills", "show"],
    &["trace"],
    &["trace", "export"],
    &["trace", "list"],
    &["trace", "verify"],
];

/// Commands that look only where nothing follows them.
const ALONE: &[&[&str]] = &[&["intents"], &["trace"]];

/// Options that go with looking: name, and whether a value follows.
const OPTIONS: &[(&str, bool)] = &[
    ("--all", false),
    ("--expect", true),
    ("--format", true),
    ("--help", false),
    ("--home", true),
    ("--intent", true),
    ("--json", false),
    ("--limit", true),
    ("--session", true),
    ("--since", true),
    ("--version", false),
    ("--workspace", true),
    ("-V", false),
    ("-h", false),
];

/// Enters what Tollgate is told to do.
pub(super) fn govern(reader: &mut Reader<'_>, args: &[Arg]) {
    if !only_looks(args) {
        change_gate(reader);
    }
}

/// Enters that the gate, or the wiring that asks it, is changed.
pub(super) fn change_gate(reader: &mut Reader<'_>) {
    reader.touch_path(".tollgate".to_owned(), Deed::WriteTree);
}

fn only_looks(args: &[Arg]) -> bool {
    let mut words = Vec::new();
    let mut asks = args.is_empty();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let Some(text) = arg.text() else { return false };
        if !text.starts_with('-') {
            words.push(text);
            continue;
        }
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        match OPTIONS.iter().find(|(listed, _)| *listed == name) {
            Some((_, true)) if value.is_some() || rest.next().is_some() => {}
            Some((_, false)) if value.is_none() => asks |= matches!(name, "--help" | "--version" | "-V" | "-h"),
            _ => return false,
        }
    }
    match words.as_slice() {
        [] => asks || args.is_empty(),
        words if ALONE.contains(&words) => true,
        words => LOOK.iter().any(|look| !ALONE.contains(look) && words.starts_with(look)),
    }
}

/// Whether a name is that of Tollgate's package or program, whatever its folder, scope or version.
pub(super) fn is_tollgate(arg: &Arg) -> bool {
    let (Arg::Known(text) | Arg::Below(_, text)) = arg else { return false };
    let name = text.rsplit('/').next().unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default();
    matches!(name.to_ascii_lowercase().as_str(), "tollgate" | "tollgate.exe" | "tollgate.cmd")
}

/// Whether a script is one of Tollgate's: `node …/tollgate/…/cli.js`.
pub(super) fn is_script_of_tollgate(arg: &Arg) -> bool {
    let (Arg::Known(text) | Arg::Below(_, text)) = arg else { return false };
    text.split('/')
        .any(|name| matches!(name.to_ascii_lowercase().as_str(), "tollgate" | "tollgate.js" | "tollgate.mjs" | "tollgate.cjs"))
}

/// The rest of a call's arguments behind Tollgate's name.
pub(super) fn behind_name<'c>(call: &Call<'c>) -> Option<&'c [Arg]> {
    let at = call.args.iter().position(is_tollgate)?;
    call.args.get(at + 1..)
}
