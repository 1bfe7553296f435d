//! Programs and what they do with their arguments: one table, a row per program.
//!
//! | what runs | what is recorded |
//! | --- | --- |
//! | a listed program, with only listed arguments | what its row says |
//! | a listed program, with anything else | *unknown* |
//! | a build tool, a script, a program that is not listed | that it runs ([`Access::Execute`]); what it changed is detected afterwards |

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

/// All rows, in the order in which someone reading the code would look for them.
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

/// Folders in which programs are what their names say.
const TRUSTED_FOLDERS: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/// Programs that are most likely run if their names are among the arguments of an unlisted program.
const LIKELY_PROGRAMS: &[&str] = &[
    "bash", "chmod", "chown", "cp", "dash", "dd", "ksh", "ln", "mv", "perl", "python", "python3", "rm", "rmdir", "rsync", "sed",
    "sh", "shred", "tee", "truncate", "unlink", "xargs", "zsh",
];

/// Records what a program does. `argv` begins with the program's name.
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
        // Whatever its name, it is a separate file; but a familiar name with familiar arguments is worth judging too.
        reader.touch(state, written, name, Access::Execute);
        match row {
            Some(row) if !row.opaque => apply(reader, row, &call),
            // The effects of such a program are not judged, except for commands that affect the gate.
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
            // If the program runs another one, the variable is judged there.
            if let (Some(variable), false) = (&state.influence, row.runs_another) {
                reader.add_unknown(format!("`{variable}` may change what `{base}` does"));
            }
            apply(reader, row, &call);
        }
        None => {
            reader.execute(state);
            look_for_programs(reader, &call);
            if tollgate::is_unmistakable(args) {
                tollgate::record_command(reader, state, args);
            }
        }
    }
}

/// The name of a program, for messages; `argv` begins with it.
pub(super) fn name(argv: &[Arg]) -> String {
    argv.first().and_then(Arg::text).and_then(base_name).map_or_else(|| "?".to_owned(), display)
}

/// The row of a program. The process of a command hook looks up only a few names before it ends, so an index is built only after
/// many lookups.
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

/// Records what a row says about a call.
fn apply(reader: &mut ShellReader<'_>, row: &ProgramSpec, call: &Invocation<'_>) {
    if row.is_answer(call.args) && call.state.influence.is_none() && !may_obey_file(reader, row, call.state) {
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
        // A value is missing: the program reports that and ends.
        Err(Unlisted::NoValue(_)) if row.opaque => return,
        Err(unlisted) => {
            reader.add_unknown(unlisted.reason(call.name));
            // Arguments that name a path explicitly are still judged, so that the call can be refused with a good reason.
            if let Operands::All(role @ ArgumentRole::Path(_)) = row.operands {
                call.args
                    .iter()
                    .filter(|arg| arg.is_certain() && !arg.may_be_option())
                    .for_each(|arg| record_argument(reader, call, role, arg));
            }
            return;
        }
    };
    for (role, value) in &roles {
        record_argument(reader, call, *role, value);
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
        Operands::All(role) => parsed.operands.iter().for_each(|operand| record_argument(reader, call, role, operand)),
        Operands::Then(first, rest) => {
            for (nth, operand) in parsed.operands.iter().enumerate() {
                // The positions of the arguments are certain only up to here.
                if let (Arg::Many(_), false) = (operand, row.lenient) {
                    reader.add_unknown(Unlisted::Uncertain(operand.display()).reason(call.name));
                }
                record_argument(reader, call, first.get(nth).copied().unwrap_or(rest), operand);
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

/// Records what happens to one argument.
pub(super) fn record_argument(reader: &mut ShellReader<'_>, call: &Invocation<'_>, role: ArgumentRole, arg: &Arg) {
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

/// Records that a file, or every file in a folder, is rewritten.
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

/// Whether a file that the program obeys is in its folder or a parent folder, or may be there.
fn may_obey_file(reader: &ShellReader<'_>, row: &ProgramSpec, state: &ShellState) -> bool {
    if row.obeys.is_empty() {
        return false;
    }
    let Some(folders) = reader.folders_upwards(state) else { return true };
    let stands = |path: &String| reader.may_have_written(path) || reader.kind_at(path) != Some(FileKind::Missing);
    folders.iter().flat_map(|folder| row.obeys.iter().map(move |name| join_name(folder, name))).any(|path| stands(&path))
}

/// Records the files that say what a program runs, if the command itself writes one of them.
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
    let places = folders.iter().flat_map(|folder| row.scripts.iter().map(move |name| join_name(folder, name)));
    let written: Vec<String> = places.filter(|path| reader.may_have_written(path)).collect();
    for path in written {
        reader.touch_path(path, Access::Execute);
    }
}

/// How many parent folders of the working directory are examined.
const MAX_FOLDERS: usize = 64;

/// Joins a folder and a name, both as spelled in touches.
fn join_name(folder: &str, name: &str) -> String {
    if folder == "." { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Parses the command of a program that has several (`docker cp`), each with a row in a separate table. Returns false if no table
/// has a row for the first words that are not options.
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
        // A word after an option may be the option's value.
        if !word.starts_with('-') && !is_value {
            return false;
        }
        is_value = word.starts_with('-') && !word.contains('=');
        args = rest;
    }
    false
}

/// Options that name an output file in most programs that have them.
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

/// Records the files that a program is explicitly told to write. In `-o json`, the value is a format: only values that are
/// clearly paths count.
fn record_outputs(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
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

/// Looks for another program that an unknown program may run.
fn look_for_programs(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    background::note(reader, call);
    record_outputs(reader, call);
    look_for_tollgate(reader, call);
    let telling = |arg: &&Arg| arg.text().and_then(base_name).is_some_and(|name| LIKELY_PROGRAMS.contains(&name));
    if let Some(arg) = call.args.iter().find(telling) {
        reader.add_unknown(format!("`{}` may run `{}`", display(call.name), arg.display()));
    }
}

/// The most arguments of one program that are parsed as commands.
const MAX_TEXTS: usize = 16;

/// Looks for Tollgate in the arguments of a program that may run or install another program.
fn look_for_tollgate(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    if let Some(command) = tollgate::find_control(call.args) {
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

/// Whether a program is in a folder to which agents cannot write.
fn is_trusted(path: &str) -> bool {
    let mut names = path::lexical(path);
    names.pop();
    path.starts_with('/') && TRUSTED_FOLDERS.contains(&format!("/{}", names.join("/")).as_str())
}
