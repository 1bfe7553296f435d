//! Programs and what they do with their arguments: one table, a row per program.
//!
//! | what runs | what is entered |
//! | --- | --- |
//! | a program of the table, every argument listed | what its row says |
//! | a program of the table with anything else | *unknown* |
//! | a build tool, a script, a program that is not in the table | that it runs ([`Access::Execute`]); what it changed is seen afterwards |

mod agents;
mod archive;
mod awk;
mod background;
mod build;
mod cloud;
mod compress;
mod copy;
mod daemons;
mod databases;
mod derived_paths;
mod editors;
pub(super) mod environment;
mod files;
mod find;
mod formatters;
mod git;
mod interpreters;
mod keys;
mod machine;
mod network;
mod outputs;
mod patch;
mod pattern;
mod prefix;
mod readers;
mod runners;
mod searches;
mod sed;
mod shells;
mod spec;
mod system;
mod tollgate;
mod xargs;

use std::cell::Cell;
use std::collections::BTreeMap;

pub(super) use daemons::note_sockets;
pub(super) use spec::{ArgumentRole, Invocation, OperandOverride, Operands, ParsedArguments, ProgramSpec, Unlisted};
pub(super) use tollgate::control_in;

use super::reader::arg::{Arg, display};
use super::reader::input::StandardInput;
use super::reader::script::Language;
use super::reader::state::{Dialect, ShellState};
use super::reader::{ShellReader, lexical};
use crate::effects::{Access, path};
use crate::ports::FileKind;

/// All rows, in the order in which a reader of the code would look for them.
const TABLE: &[&[ProgramSpec]] = &[
    readers::ROWS,
    searches::ROWS,
    outputs::ROWS,
    machine::ROWS,
    files::ROWS,
    copy::ROWS,
    patch::ROWS,
    sed::ROWS,
    awk::ROWS,
    editors::ROWS,
    find::ROWS,
    xargs::ROWS,
    archive::ROWS,
    compress::ROWS,
    prefix::ROWS,
    agents::ROWS,
    build::ROWS,
    cloud::ROWS,
    databases::ROWS,
    formatters::ROWS,
    git::ROWS,
    interpreters::ROWS,
    keys::ROWS,
    network::ROWS,
    runners::ROWS,
    shells::ROWS,
    system::ROWS,
    tollgate::ROWS,
];

/// Folders whose programs are what their names say.
const TRUSTED_FOLDERS: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/// Programs that, named among the arguments of a program that is not in the table, are most likely run by it.
const TELLING_NAMES: &[&str] = &[
    "bash", "chmod", "chown", "cp", "dash", "dd", "ksh", "ln", "mv", "perl", "python", "python3", "rm", "rmdir", "rsync", "sed",
    "sh", "shred", "tee", "truncate", "unlink", "xargs", "zsh",
];

/// Enters what a program does. `argv` begins with its name.
pub(super) fn run(reader: &mut ShellReader<'_>, argv: &[Arg], state: &ShellState, input: &StandardInput) {
    let Some((name, args)) = argv.split_first() else { return };
    let Arg::Known(written) = name else {
        // `x=$(which tollgate); $x init`
        if reader.names_tollgate {
            tollgate::govern_unnamed(reader, state, args);
        }
        return reader.add_unknown(format!("`{}` is a command that is only known when it runs", name.display()));
    };
    let Some(base) = base_name(written) else {
        return reader.add_unknown(format!("`{}` is not the name of a program", display(written)));
    };
    let call = Invocation { name: base, args, state, input };
    let row = find(if tollgate::is_program(base) { "tollgate" } else { base });
    reader.names_tollgate |= argv.iter().any(tollgate::is_tollgate);
    if !row.is_some_and(|row| row.is_answer(args)) {
        daemons::note(reader, &call);
    }
    if written.contains('/') && !is_trusted(written) {
        // Whatever it is called, it is a file of its own; but a familiar name with familiar arguments is worth judging too.
        reader.touch(state, written, name, Access::Execute);
        match row {
            Some(row) if !row.opaque => apply(reader, row, &call),
            // What it does is not judged, except for what governs the gate.
            Some(row) => reader.look_for_controls(|trial| apply(trial, row, &call)),
            None => look_for_programs(reader, &call),
        }
        if row.is_none() {
            tollgate::govern_copy(reader, state, name, args);
            reader.search_script(state, name, Language::FirstLine);
        }
        return;
    }
    if let Some(variable) = state.influence.as_deref().filter(|name| environment::names_an_output(name)) {
        reader.add_unknown(format!("`{variable}` says what `{base}` writes"));
    }
    match row {
        Some(row) if row.opaque => apply(reader, row, &call),
        Some(row) => {
            // A program that runs another one leaves it to that one.
            if let (Some(variable), false) = (&state.influence, row.runs_another) {
                reader.add_unknown(format!("`{variable}` may change what `{base}` does"));
            }
            apply(reader, row, &call);
        }
        None => {
            reader.execute(state);
            look_for_programs(reader, &call);
            if tollgate::is_unmistakable(args) {
                tollgate::govern(reader, state, args);
            }
        }
    }
}

/// What a program is called, for people; `argv` begins with its name.
pub(super) fn name(argv: &[Arg]) -> String {
    argv.first().and_then(Arg::text).and_then(base_name).map_or_else(|| "?".to_owned(), display)
}

/// The row of a program. A command hook is a process that looks up a few names and ends, so an index is made only once many have
/// been looked up.
fn find(name: &str) -> Option<&'static ProgramSpec> {
    const MAX_UNINDEXED: u32 = 64;
    thread_local! {
        static ROWS: BTreeMap<&'static str, &'static ProgramSpec> =
            rows().flat_map(|row| row.names.iter().map(move |name| (*name, row))).collect();
        static LOOKUPS: Cell<u32> = const { Cell::new(0) };
    }
    let lookups = LOOKUPS.get();
    if lookups < MAX_UNINDEXED {
        LOOKUPS.set(lookups + 1);
        return rows().find(|row| row.names.contains(&name));
    }
    ROWS.with(|rows| rows.get(name).copied())
}

fn rows() -> impl Iterator<Item = &'static ProgramSpec> {
    TABLE.iter().copied().flatten()
}

/// Every name in the table.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    rows().flat_map(|row| row.names.iter().copied())
}

/// Enters what a row says about a call.
fn apply(reader: &mut ShellReader<'_>, row: &ProgramSpec, call: &Invocation<'_>) {
    if row.is_answer(call.args) && call.state.influence.is_none() && !obeys_a_file(reader, row, call.state) {
        return;
    }
    background::note(reader, call);
    if row.opaque {
        reader.execute(call.state);
    }
    if let Some(why) = row.refused {
        reader.add_unknown(format!("`{}` {why}", call.name));
    }
    let (parsed, roles) = match row.parse(call.args) {
        Ok(parsed) => parsed,
        // A value is missing: the program says so and ends.
        Err(Unlisted::NoValue(_)) if row.opaque => return,
        Err(unlisted) => {
            reader.add_unknown(unlisted.reason(call.name));
            // What is named explicitly is still judged, so that it can be refused with a good reason.
            if let Operands::All(role @ ArgumentRole::Path(_)) = row.operands {
                call.args
                    .iter()
                    .filter(|arg| arg.is_certain() && !arg.may_be_option())
                    .for_each(|arg| enter(reader, call, role, arg));
            }
            return;
        }
    };
    for (role, value) in &roles {
        enter(reader, call, *role, value);
    }
    run_scripts(reader, row, call, &roles);
    match row.operands_for(&parsed) {
        Operands::None => {
            if let Some(operand) = parsed.operands.first() {
                reader.add_unknown(format!(
                    "`{}` has the argument `{}`, whose effect is not known",
                    call.name,
                    operand.display()
                ));
            }
        }
        Operands::All(role) => parsed.operands.iter().for_each(|operand| enter(reader, call, role, operand)),
        Operands::Then(first, rest) => {
            for (nth, operand) in parsed.operands.iter().enumerate() {
                // Which argument is which is only certain up to here.
                if let (Arg::Many(_), false) = (operand, row.lenient) {
                    reader.add_unknown(Unlisted::Uncertain(operand.display()).reason(call.name));
                }
                enter(reader, call, first.get(nth).copied().unwrap_or(rest), operand);
            }
        }
        Operands::Rule => {}
    }
    if let Some(rule) = row.rule {
        rule(reader, call, &parsed);
    }
    if row.opaque && !row.names.contains(&"cargo") {
        look_for_tollgate(reader, call);
    }
}

/// Enters what happens to one argument.
pub(super) fn enter(reader: &mut ShellReader<'_>, call: &Invocation<'_>, role: ArgumentRole, arg: &Arg) {
    match role {
        ArgumentRole::Text => {}
        ArgumentRole::Read => reader.touch(call.state, call.name, arg, Access::Read),
        ArgumentRole::Path(access) => reader.touch(call.state, call.name, arg, access),
        ArgumentRole::Stamp => {
            let exists = reader.kind(call.state, arg).is_some_and(|kind| kind != FileKind::Missing);
            reader.touch(call.state, call.name, arg, if exists { Access::Attributes } else { Access::Write });
        }
        ArgumentRole::Script => reader.touch(call.state, call.name, arg, Access::Execute),
        ArgumentRole::Rewrite => rewrite(reader, call, arg),
        ArgumentRole::Code => {
            reader.add_unknown(format!("`{}` runs text from its arguments, whose effects cannot be seen", call.name))
        }
    }
}

/// Enters that a file, or every file of a folder, is rewritten.
fn rewrite(reader: &mut ShellReader<'_>, call: &Invocation<'_>, arg: &Arg) {
    const PATTERN: [char; 4] = ['*', '?', '[', '{'];
    let text = arg.text().unwrap_or_default();
    if text.starts_with('!') {
        return;
    }
    let is_pattern = text.contains(PATTERN);
    let folder = is_pattern.then(|| {
        let head = text.split(PATTERN).next().unwrap_or_default();
        Arg::known(match head.rsplit_once('/') {
            None => ".",
            Some(("", _)) => "/",
            Some((folder, _)) => folder,
        })
    });
    let at = folder.as_ref().unwrap_or(arg);
    let path = call.state.locate(at).map(|path| lexical(&path));
    if path.is_some_and(|path| path == "." || path == ".." || path.starts_with("../")) {
        return reader.add_unknown(format!("`{}` may rewrite any file of the workspace", call.name));
    }
    let is_folder = is_pattern || text.ends_with('/') || reader.kind(call.state, at) == Some(FileKind::Directory);
    reader.touch(call.state, call.name, at, if is_folder { Access::WriteTree } else { Access::Write });
}

/// Whether a file that a program obeys is in its folder or above it, or may be there.
fn obeys_a_file(reader: &ShellReader<'_>, row: &ProgramSpec, state: &ShellState) -> bool {
    if row.obeys.is_empty() {
        return false;
    }
    let Some(folders) = reader.folders_upwards(state) else { return true };
    let stands = |path: &String| reader.may_have_written(path) || reader.kind_at(path) != Some(FileKind::Missing);
    folders.iter().flat_map(|folder| row.obeys.iter().map(move |name| below(folder, name))).any(|path| stands(&path))
}

/// Enters the files that say what a program runs, where the command itself writes one of them.
fn run_scripts(reader: &mut ShellReader<'_>, row: &ProgramSpec, call: &Invocation<'_>, roles: &[(ArgumentRole, Arg)]) {
    if row.scripts.is_empty() {
        return;
    }
    let named =
        roles.iter().filter(|(role, _)| *role == ArgumentRole::Path(Access::Execute)).filter_map(|(_, at)| call.state.locate(at));
    let mut folders: Vec<String> = named.map(|folder| lexical(&folder)).collect();
    let mut folder = call.state.join(".").map(|folder| lexical(&folder)).unwrap_or_default();
    while !matches!(folder.as_str(), "" | "." | "/" | "..") && folders.len() < MAX_FOLDERS {
        let above = folder.rsplit_once('/').map_or(".", |(above, _)| above).to_owned();
        folders.push(std::mem::replace(&mut folder, above));
    }
    folders.push(".".to_owned());
    let places = folders.iter().flat_map(|folder| row.scripts.iter().map(move |name| below(folder, name)));
    let written: Vec<String> = places.filter(|path| reader.may_have_written(path)).collect();
    for path in written {
        reader.touch_path(path, Access::Execute);
    }
}

/// How many folders above the working directory are looked at.
const MAX_FOLDERS: usize = 64;

/// The path of a name in a folder, both as touches spell them.
fn below(folder: &str, name: &str) -> String {
    if folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Reads the command of a program that has several (`docker cp`), each a row of a table of its own. False where no table
/// has one for the first words that are not options.
fn command_of(reader: &mut ShellReader<'_>, call: &Invocation<'_>, tables: &[&[ProgramSpec]]) -> bool {
    let mut args = call.args;
    let mut is_value = false;
    while let Some((first, rest)) = args.split_first() {
        let Some(word) = first.text() else { return false };
        let second = rest.first().and_then(Arg::text).unwrap_or_default();
        let named = |name: &str| tables.iter().copied().flatten().find(|row| row.names.contains(&name));
        let (two, name) = (format!("{word} {second}"), format!("{} {word}", call.name));
        if let Some(row) = named(&two) {
            let name = format!("{} {two}", call.name);
            apply(reader, row, &Invocation { name: &name, args: rest.get(1..).unwrap_or_default(), ..*call });
            return true;
        }
        if let Some(row) = named(word) {
            apply(reader, row, &Invocation { name: &name, args: rest, ..*call });
            return true;
        }
        // What follows an option may be its value.
        if !word.starts_with('-') && !is_value {
            return false;
        }
        is_value = word.starts_with('-') && !word.contains('=');
        args = rest;
    }
    false
}

/// Options that name a file which is written, in most programs that have them.
const OUTPUT_OPTIONS: &[&str] = &[
    "-o",
    "-out",
    "--dest",
    "--destination",
    "--log-file",
    "--logfile",
    "--out",
    "--out-file",
    "--outfile",
    "--output",
    "--output-file",
    "--status-file",
];

/// Enters the files that a program is explicitly told to write. `-o json` is a format: only what is plainly a path counts.
fn enter_outputs(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    for (nth, arg) in call.args.iter().enumerate() {
        let Some(text) = arg.text() else { continue };
        let value = match text.split_once('=') {
            Some((option, value)) if OUTPUT_OPTIONS.contains(&option) => Some(Arg::known(value)),
            _ if OUTPUT_OPTIONS.contains(&text) => call.args.get(nth + 1).cloned(),
            _ => None,
        };
        let Some(value) = value else { continue };
        let is_path = |value: &str| value.contains('/') && !value.contains("://");
        let stands = reader.kind(call.state, &value) == Some(FileKind::File);
        if stands || value.text().is_some_and(is_path) {
            reader.touch(call.state, call.name, &value, Access::Write);
        }
    }
}

/// An unknown program may run another one.
fn look_for_programs(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    background::note(reader, call);
    enter_outputs(reader, call);
    look_for_tollgate(reader, call);
    let telling = |arg: &&Arg| arg.text().and_then(base_name).is_some_and(|name| TELLING_NAMES.contains(&name));
    if let Some(arg) = call.args.iter().find(telling) {
        reader.add_unknown(format!("`{}` may run `{}`", display(call.name), arg.display()));
    }
}

/// Arguments of one program that are read as commands.
const MAX_TEXTS: usize = 16;

/// A program that may run another one, or install it, may do so with Tollgate.
fn look_for_tollgate(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    if let Some(command) = tollgate::control_among(call.args) {
        tollgate::control(reader, call.state, command);
    }
    // `tmux new -d 'tollgate init'`
    for text in call.args.iter().filter_map(Arg::text).filter(|text| text.contains(' ')).take(MAX_TEXTS) {
        let first = text.split_whitespace().next().and_then(base_name);
        if first.is_some_and(tollgate::is_program) {
            reader.search_shell(text, &call.state.child(Dialect::Posix));
        }
    }
    runners::removes_tollgate(reader, call);
}

/// The last name of a path.
fn base_name(path: &str) -> Option<&str> {
    path.rsplit('/').next().filter(|name| !name.is_empty() && *name != "." && *name != "..")
}

/// Whether a program is in a folder that agents cannot write to.
fn is_trusted(path: &str) -> bool {
    let mut names = path::lexical(path);
    names.pop();
    path.starts_with('/') && TRUSTED_FOLDERS.contains(&format!("/{}", names.join("/")).as_str())
}
