//! Tollgate's own command. Queries are allowed; anything else changes the gate, its approvals, its wiring or its ledger, and only
//! a person may do that.
//!
//! The program is recognised by its name, by a script of its package, by the digest of the executed file, and, whatever its name,
//! by arguments that only Tollgate accepts.

use super::super::reader::ShellReader;
use super::super::reader::arg::{Arg, display};
use super::super::reader::state::ShellState;
use super::spec::{Invocation, Operands, ProgramSpec};
use crate::effects::Access;
use crate::ports::{FileKind, Question};
use crate::state::OwnProgram;

pub(super) const ROWS: &[ProgramSpec] = &[ProgramSpec {
    operands: Operands::Rule,
    lenient: true,
    rule: Some(|reader, call, _| match command_after_confine(call.args) {
        Some(command) => reader.run_program(command, call.state, call.input),
        None => record_command(reader, call.state, call.args),
    }),
    ..ProgramSpec::new(&["tollgate"])
}];

/// All of Tollgate's commands, by their first word.
const COMMANDS: &[&str] = &[
    "augment",
    "concepts",
    "confine",
    "doctor",
    "eval",
    "extensions",
    "help",
    "hook",
    "hooks",
    "init",
    "inspect",
    "intents",
    "mcp",
    "mcp-proxy",
    "mcp-serve",
    "new-hook",
    "report",
    "skills",
    "test-hook",
    "tools",
    "trace",
    "watch",
];

/// The command in `tollgate confine --session S --call C -- COMMAND`: the gate decides what it may change.
fn command_after_confine(args: &[Arg]) -> Option<&[Arg]> {
    if !args.first().is_some_and(|word| word.is_text("confine")) {
        return None;
    }
    let at = args.iter().position(|arg| arg.is_text("--"))?;
    let options = args.get(1..at)?;
    let is_listed = |pair: &[Arg]| matches!(pair, [name, value] if (name.is_text("--session") || name.is_text("--call")) && value.is_certain());
    options.chunks(2).all(is_listed).then(|| args.get(at + 1..)).flatten()
}

/// Commands that only query, by their first words.
const READ_ONLY_COMMANDS: &[&[&str]] = &[
    &["augment"],
    &["concepts"],
    &["doctor"],
    &["extensions", "check"],
    &["extensions", "list"],
    &["extensions", "show"],
    &["help"],
    &["hooks", "history"],
    &["hooks", "list"],
    &["hooks", "show"],
    &["inspect"],
    &["intents", "check"],
    &["intents", "list"],
    &["intents", "sessions"],
    &["mcp", "status"],
    &["mcp", "tools"],
    &["report"],
    &["skills", "list"],
    &["skills", "show"],
    &["tools", "list"],
    &["trace", "export"],
    &["trace", "list"],
    // It writes a page that can be rebuilt from the ledger at any time, always with the same content.
    &["trace", "map"],
    &["trace", "verify"],
];

/// Those of these commands that start what the user's settings name. They only query as long as these are the user's own
/// settings.
const START: &[&[&str]] = &[&["augment"], &["mcp"]];

/// Commands that only query if nothing follows them.
const READ_ONLY_ALONE: &[&[&str]] = &[&["intents"], &["trace"]];

/// Commands that no other program is likely to have, by their first words.
const UNMISTAKABLE: &[&[&str]] = &[
    &["extensions", "approve"],
    &["hooks", "approve"],
    &["hooks", "revoke"],
    &["intents", "select"],
    &["tools", "allow"],
    &["trace", "archive"],
    &["trace", "revert"],
];

/// Options that are allowed for queries: the name, and whether a value follows.
const OPTIONS: &[(&str, bool)] = &[
    ("--all", false),
    ("--args", true),
    ("--expect", true),
    ("--file", true),
    ("--format", true),
    ("--help", false),
    ("--home", true),
    ("--host", true),
    ("--intent", true),
    ("--json", false),
    ("--limit", true),
    ("--output", true),
    ("--session", true),
    ("--since", true),
    ("--tool", true),
    ("--until", true),
    ("--version", false),
    ("--workspace", true),
    ("-V", false),
    ("-h", false),
    ("-o", true),
];

/// Options that name an output file.
const OUTPUTS: &[&str] = &["--output", "-o"];

/// Records what Tollgate is told to do.
pub(super) fn record_command(reader: &mut ShellReader<'_>, state: &ShellState, args: &[Arg]) {
    match query_outputs(args) {
        Some(outputs) => outputs.iter().for_each(|file| reader.touch(state, "tollgate", file, Access::Write)),
        None => control(reader, state, name_command(args)),
    }
}

/// Records a command that changes the gate, or the wiring that asks it.
pub(super) fn control(reader: &mut ShellReader<'_>, state: &ShellState, command: String) {
    reader.execute(state);
    reader.add_control(command);
}

/// The name of a command for messages: its first words.
fn name_command(args: &[Arg]) -> String {
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !word.starts_with('-');
    let words: Vec<&str> = args.iter().map_while(Arg::text).filter(is_word).take(2).collect();
    match words.as_slice() {
        [group @ ("extensions" | "hooks" | "intents" | "mcp" | "skills" | "tools" | "trace"), command] => {
            format!("tollgate {group} {command}")
        }
        [command, ..] => format!("tollgate {command}"),
        [] => "tollgate".to_owned(),
    }
}

/// The files that a query writes; `None` if the command is not a query.
fn query_outputs(args: &[Arg]) -> Option<Vec<Arg>> {
    let mut words = Vec::new();
    let mut outputs = Vec::new();
    let mut is_help = args.is_empty();
    let mut has_home = false;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text()?;
        if !text.starts_with('-') {
            words.push(text);
            continue;
        }
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(Arg::known(value))));
        match OPTIONS.iter().find(|(listed, _)| *listed == name)? {
            (_, true) => {
                let value = value.or_else(|| rest.next().cloned())?;
                has_home |= name == "--home";
                if OUTPUTS.contains(&name) {
                    outputs.push(value);
                }
            }
            (_, false) if value.is_none() => is_help |= matches!(name, "--help" | "--version" | "-V" | "-h"),
            _ => return None,
        }
    }
    if has_home && START.iter().any(|start| words.starts_with(start)) {
        return None;
    }
    let looks =
        is_help || READ_ONLY_ALONE.contains(&words.as_slice()) || READ_ONLY_COMMANDS.iter().any(|look| words.starts_with(look));
    looks.then_some(outputs)
}

/// Whether a program has Tollgate's name, with anything after it: `tollgate.exe`, `tollgate-0.1-linux`.
pub(super) fn is_program(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.strip_prefix("tollgate").is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Records what a program is told that may be Tollgate's, because the command has named Tollgate before.
pub(super) fn govern_unnamed(reader: &mut ShellReader<'_>, state: &ShellState, args: &[Arg]) {
    if args.iter().filter_map(Arg::text).any(|word| COMMANDS.contains(&word)) {
        record_command(reader, state, args);
    }
}

/// Whether a name is that of Tollgate's package or program, whatever its folder, scope or version.
pub(super) fn is_tollgate(arg: &Arg) -> bool {
    let (Arg::Known(text) | Arg::Below(_, text)) = arg else { return false };
    names_tollgate(text)
}

fn names_tollgate(text: &str) -> bool {
    let name = text.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default();
    matches!(name.to_ascii_lowercase().as_str(), "tollgate" | "tollgate.exe" | "tollgate.cmd" | "tollgate.bat" | "tollgate.ps1")
}

/// Whether arguments form a command that only a person may run, and that no other program has.
pub(super) fn is_unmistakable(args: &[Arg]) -> bool {
    let words: Vec<&str> = args.iter().filter_map(Arg::text).filter(|word| !word.starts_with('-')).take(2).collect();
    UNMISTAKABLE.contains(&words.as_slice()) && query_outputs(args).is_none()
}

/// The command reserved for a person that the arguments after Tollgate's name form.
pub(super) fn find_control(args: &[Arg]) -> Option<String> {
    let spelled = |at: usize| {
        let behind = args.get(at + 1..).unwrap_or_default();
        let is_command = behind.first().and_then(Arg::text).is_some_and(|word| COMMANDS.contains(&word));
        (is_command && query_outputs(behind).is_none()).then(|| name_command(behind))
    };
    (0..args.len()).filter(|at| args.get(*at).is_some_and(is_tollgate)).find_map(spelled)
}

/// The same for a text in any language: words in sequence, with anything between them.
pub(in crate::call::shell) fn control_in(text: &str) -> Option<String> {
    /// How many words after the program's name are considered.
    const MAX_WORDS: usize = 4;
    let is_part = |c: char| c.is_alphanumeric() || "_-./\\@:=".contains(c);
    let words: Vec<&str> = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let spelled = |at: usize| {
        let behind: Vec<Arg> = words.iter().skip(at + 1).take(MAX_WORDS).map(|word| Arg::known(*word)).collect();
        let first = behind.iter().position(|word| word.text().is_some_and(|word| COMMANDS.contains(&word)))?;
        // Only options and their values may precede the command.
        let is_option = |word: &Arg| word.text().is_some_and(|word| word.starts_with('-'));
        if first > 0 && !behind.first().is_some_and(is_option) {
            return None;
        }
        let command = behind.get(first..).unwrap_or_default();
        let groups = command
            .first()
            .and_then(Arg::text)
            .is_some_and(|word| READ_ONLY_COMMANDS.iter().any(|look| look.first() == Some(&word)));
        // In prose, only what is clearly a command counts: `tollgate hooks are …` is not a command.
        let is_control = if groups { is_group_control(command) } else { query_outputs(command).is_none() };
        is_control.then(|| name_command(command))
    };
    (0..words.len()).filter(|at| words.get(*at).is_some_and(|word| names_tollgate(word))).find_map(spelled)
}

/// Commands of groups that only a person may run.
const GROUP_CONTROLS: &[&[&str]] = &[
    &["extensions", "approve"],
    &["extensions", "disable"],
    &["extensions", "enable"],
    &["extensions", "install"],
    &["extensions", "new"],
    &["extensions", "remove"],
    &["extensions", "revoke"],
    &["extensions", "set"],
    &["hooks", "approve"],
    &["hooks", "disable"],
    &["hooks", "enable"],
    &["hooks", "import"],
    &["hooks", "register"],
    &["hooks", "revoke"],
    &["hooks", "run"],
    &["hooks", "unregister"],
    &["intents", "clear"],
    &["intents", "select"],
    &["mcp", "add"],
    &["mcp", "call"],
    &["mcp", "remove"],
    &["tools", "allow"],
    &["trace", "archive"],
    &["trace", "revert"],
];

fn is_group_control(command: &[Arg]) -> bool {
    let words: Vec<&str> = command.iter().map_while(Arg::text).take(2).collect();
    GROUP_CONTROLS.contains(&words.as_slice())
}

/// Whether a script is one of Tollgate's: `node …/tollgate/…/cli.js`, or a copy that contains the name.
pub(super) fn is_script_of_tollgate(reader: &mut ShellReader<'_>, state: &ShellState, file: &Arg, args: &[Arg]) -> bool {
    let (Arg::Known(text) | Arg::Below(_, text)) = file else { return false };
    let mut names = text.split(['/', '\\']).map(str::to_ascii_lowercase);
    if names.any(|name| matches!(name.as_str(), "tollgate" | "tollgate.js" | "tollgate.mjs" | "tollgate.cjs")) {
        return true;
    }
    let mut words = args.iter().filter_map(Arg::text);
    // `eval.js` takes no command, only the folder to work in.
    let is_call = words.any(|word| COMMANDS.contains(&word) || word == "--workspace" || word.starts_with("--workspace="));
    is_unmistakable(args) || (is_call && reader.mentions(state, file, "tollgate"))
}

/// The arguments of a call after Tollgate's name.
pub(super) fn args_after_name<'c>(call: &Invocation<'c>) -> Option<&'c [Arg]> {
    let at = call.args.iter().position(is_tollgate)?;
    call.args.get(at + 1..)
}

/// Whether an executed file is Tollgate's program under another name: a link to it, a copy made by the command itself, or a file
/// with the same digest.
pub(super) fn is_copy(reader: &ShellReader<'_>, state: &ShellState, file: &Arg) -> bool {
    let Some(path) = state.locate(file) else { return false };
    if reader.names_tollgate && reader.may_have_written(&path) {
        return true;
    }
    let Some(facts) = reader.facts(state, file).filter(|facts| facts.kind == FileKind::File) else { return false };
    if facts.real_path.as_deref().and_then(super::base_name).is_some_and(is_program) {
        return true;
    }
    if facts.size < OwnProgram::MIN_BYTES {
        return false;
    }
    let Some(own) = OwnProgram::load(reader.workspace()).filter(|own| own.size == facts.size) else { return false };
    let looked = reader.workspace().inspect(&[Question { digest: true, ..Question::project(path) }]).pop();
    looked.and_then(|facts| facts.digest) == Some(own.digest)
}

/// If an executed file is a copy of Tollgate's program, records it as such.
pub(super) fn govern_copy(reader: &mut ShellReader<'_>, state: &ShellState, file: &Arg, args: &[Arg]) {
    if query_outputs(args).is_none() && (is_unmistakable(args) || is_copy(reader, state, file)) {
        let command = format!("{} ({})", name_command(args), display(&file.display()));
        control(reader, state, command);
    }
}
