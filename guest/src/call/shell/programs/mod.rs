//! Programs and what they do with their arguments: one table, a row per program.
//!
//! | what runs | what is entered |
//! | --- | --- |
//! | a program of the table, every argument listed | what its row says |
//! | a program of the table with anything else | *unknown* |
//! | a build tool, a script, a program that is not in the table | that it runs ([`Deed::Execute`]); what it changed is seen afterwards |

mod archive;
mod awk;
mod compress;
mod copy;
mod editors;
pub(super) mod environment;
mod files;
mod find;
mod outputs;
mod pattern;
mod place;
mod prefix;
mod readers;
mod searches;
mod sed;
mod spec;
mod system;
mod xargs;

use std::collections::BTreeMap;

pub(super) use spec::{Call, Mode, Operands, Parsed, Program, Role, Unlisted};

use super::reader::Reader;
use super::reader::arg::{Arg, display};
use super::reader::input::Input;
use super::reader::state::State;
use crate::call::effect::Deed;
use crate::ports::Kind;

/// All rows, in the order in which a reader of the code would look for them.
const TABLE: &[&[Program]] = &[
    readers::ROWS,
    searches::ROWS,
    outputs::ROWS,
    system::ROWS,
    files::ROWS,
    copy::ROWS,
    sed::ROWS,
    awk::ROWS,
    editors::ROWS,
    find::ROWS,
    xargs::ROWS,
    archive::ROWS,
    compress::ROWS,
    prefix::ROWS,
];

/// Folders whose programs are what their names say.
const TRUSTED_FOLDERS: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/// Programs that, named among the arguments of a program that is not in the table, are most likely run by it.
const TELLING_NAMES: &[&str] = &[
    "bash", "chmod", "chown", "cp", "dash", "dd", "ksh", "ln", "mv", "perl", "python", "python3", "rm", "rmdir", "rsync", "sed",
    "sh", "shred", "tee", "truncate", "unlink", "xargs", "zsh",
];

/// Enters what a program does. `argv` begins with its name.
pub(super) fn run(reader: &mut Reader<'_>, argv: &[Arg], state: &State, input: &Input) {
    let Some((name, args)) = argv.split_first() else { return };
    let Arg::Known(written) = name else {
        return reader.unknown(format!("`{}` is a command that is only known when it runs", name.display()));
    };
    let Some(base) = base_name(written) else {
        return reader.unknown(format!("`{}` is not the name of a program", display(written)));
    };
    let call = Call { name: base, args, state, input };
    let row = find(base);
    if written.contains('/') && !is_trusted(written) {
        // Whatever it is called, it is a file of its own; but a familiar name with familiar arguments is worth judging too.
        reader.touch(state, written, name, Deed::Execute);
        match row {
            Some(row) if !row.opaque => apply(reader, row, &call),
            Some(_) => {}
            None => look_for_programs(reader, &call),
        }
        return;
    }
    match row {
        Some(row) if row.opaque => apply(reader, row, &call),
        Some(row) => match &state.influence {
            Some(variable) => reader.unknown(format!("`{variable}` may change what `{base}` does")),
            None => apply(reader, row, &call),
        },
        None => {
            reader.execute(state);
            look_for_programs(reader, &call);
        }
    }
}

/// The row of a program.
fn find(name: &str) -> Option<&'static Program> {
    thread_local! {
        static ROWS: BTreeMap<&'static str, &'static Program> =
            TABLE.iter().copied().flatten().flat_map(|row| row.names.iter().map(move |name| (*name, row))).collect();
    }
    ROWS.with(|rows| rows.get(name).copied())
}

/// Enters what a row says about a call.
fn apply(reader: &mut Reader<'_>, row: &Program, call: &Call<'_>) {
    if row.opaque {
        reader.execute(call.state);
    }
    let (parsed, roles) = match row.parse(call.args) {
        Ok(parsed) => parsed,
        Err(_) if row.opaque => return,
        Err(unlisted) => return reader.unknown(unlisted.reason(call.name)),
    };
    for (role, value) in &roles {
        enter(reader, call, *role, value);
    }
    match row.operands_for(&parsed) {
        Operands::None => {
            if let Some(operand) = parsed.operands.first() {
                reader.unknown(format!("`{}` has the argument `{}`, whose effect is not known", call.name, operand.display()));
            }
        }
        Operands::All(role) => parsed.operands.iter().for_each(|operand| enter(reader, call, role, operand)),
        Operands::Then(first, rest) => {
            for (nth, operand) in parsed.operands.iter().enumerate() {
                // Which argument is which is only certain up to here.
                if let (Arg::Many(_), false) = (operand, row.lenient) {
                    reader.unknown(Unlisted::Uncertain(operand.display()).reason(call.name));
                }
                enter(reader, call, first.get(nth).copied().unwrap_or(rest), operand);
            }
        }
        Operands::Rule => {}
    }
    if let Some(rule) = row.rule {
        rule(reader, call, &parsed);
    }
}

/// Enters what happens to one argument.
pub(super) fn enter(reader: &mut Reader<'_>, call: &Call<'_>, role: Role, arg: &Arg) {
    match role {
        Role::Text => {}
        Role::Read => reader.touch(call.state, call.name, arg, Deed::Read),
        Role::Path(deed) => reader.touch(call.state, call.name, arg, deed),
        Role::Stamp => {
            let exists = reader.kind(call.state, arg).is_some_and(|kind| kind != Kind::Missing);
            reader.touch(call.state, call.name, arg, if exists { Deed::Touch } else { Deed::Write });
        }
        Role::Script => reader.touch(call.state, call.name, arg, Deed::Execute),
    }
}

/// A program that nobody knows may run another one.
fn look_for_programs(reader: &mut Reader<'_>, call: &Call<'_>) {
    let telling = |arg: &&Arg| arg.text().and_then(base_name).is_some_and(|name| TELLING_NAMES.contains(&name));
    if let Some(arg) = call.args.iter().find(telling) {
        reader.unknown(format!("`{}` may run `{}`", display(call.name), arg.display()));
    }
}

/// The last name of a path.
fn base_name(path: &str) -> Option<&str> {
    path.rsplit('/').next().filter(|name| !name.is_empty() && *name != "." && *name != "..")
}

/// Whether a program stands in a folder that agents cannot write to.
fn is_trusted(path: &str) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.pop();
    path.starts_with('/') && TRUSTED_FOLDERS.contains(&format!("/{}", names.join("/")).as_str())
}
