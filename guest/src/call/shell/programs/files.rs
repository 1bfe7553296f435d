//! Programs that create, change and remove files: `rm`, `mkdir`, `touch`, `chmod`, `dd` and similar.

use super::place::{below, may_hold_working_directory, parent};
use super::{Invocation, Mode, Operands, Parsed, Program, Role};
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::{ShellReader, lexical};
use crate::effects::Access;

const WRITE: Role = Role::Path(Access::Write);

pub(super) const ROWS: &[Program] = &[
    Program {
        flags: "firRvdI",
        long: &["force", "recursive", "verbose", "dir", "one-file-system", "preserve-root"],
        attached: &[("interactive", Role::Text)],
        operands: Operands::All(Role::Path(Access::Delete)),
        modes: &[Mode { when: &["r", "R", "recursive"], operands: Operands::All(Role::Path(Access::DeleteTree)) }],
        rule: Some(keep_working_directory),
        ..Program::new(&["rm"])
    },
    Program {
        flags: "pv",
        long: &["parents", "verbose", "ignore-fail-on-non-empty"],
        operands: Operands::All(Role::Path(Access::Delete)),
        rule: Some(remove_folders),
        ..Program::new(&["rmdir"])
    },
    Program { operands: Operands::All(Role::Path(Access::Delete)), ..Program::new(&["unlink"]) },
    Program {
        flags: "pv",
        long: &["parents", "verbose"],
        valued: &[("m", Role::Text), ("mode", Role::Text)],
        operands: Operands::All(Role::Path(Access::MakeFolder)),
        options_first: true,
        ..Program::new(&["mkdir"])
    },
    Program {
        flags: "acmfh",
        long: &["no-create", "no-dereference"],
        valued: &[
            ("t", Role::Text),
            ("d", Role::Text),
            ("date", Role::Text),
            ("time", Role::Text),
            ("r", Role::Read),
            ("reference", Role::Read),
        ],
        operands: Operands::All(Role::Stamp),
        options_first: true,
        ..Program::new(&["touch"])
    },
    Program {
        flags: "co",
        long: &["no-create", "io-blocks"],
        valued: &[("s", Role::Text), ("size", Role::Text), ("r", Role::Read), ("reference", Role::Read)],
        operands: Operands::All(WRITE),
        options_first: true,
        ..Program::new(&["truncate"])
    },
    Program {
        flags: "fuvzx",
        long: &["force", "verbose", "zero", "exact"],
        valued: &[("n", Role::Text), ("s", Role::Text), ("iterations", Role::Text), ("size", Role::Text)],
        attached: &[("remove", Role::Text)],
        operands: Operands::All(WRITE),
        rule: Some(remove_shredded),
        options_first: true,
        ..Program::new(&["shred"])
    },
    // A mode such as `-x` looks like options.
    Program {
        flags: "RvcfrwxXst",
        long: &["recursive", "verbose", "changes", "silent", "quiet", "preserve-root"],
        valued: &[("reference", Role::Read)],
        operands: Operands::Rule,
        rule: Some(change_attributes),
        options_first: true,
        ..Program::new(&["chmod"])
    },
    Program {
        flags: "Rvcfh",
        long: &["recursive", "verbose", "changes", "silent", "quiet", "no-dereference", "preserve-root"],
        valued: &[("reference", Role::Read), ("from", Role::Text)],
        operands: Operands::Rule,
        rule: Some(change_attributes),
        options_first: true,
        ..Program::new(&["chown", "chgrp"])
    },
    Program {
        flags: "bkR",
        valued: &[("m", Role::Text), ("x", Role::Text)],
        operands: Operands::All(Role::Path(Access::Attributes)),
        modes: &[Mode { when: &["R"], operands: Operands::All(Role::Path(Access::WriteTree)) }],
        options_first: true,
        ..Program::new(&["setfacl"])
    },
    Program::raw(&["dd"], copy_blocks),
    Program {
        valued: &[("m", Role::Text), ("mode", Role::Text)],
        operands: Operands::All(WRITE),
        options_first: true,
        ..Program::new(&["mkfifo"])
    },
    Program::new(&["mknod"]),
    // `-t` takes a value in one version and none in the other; either way its word is not a path.
    Program {
        flags: "dqu",
        long: &["directory", "quiet", "dry-run"],
        valued: &[("p", Role::Read), ("t", Role::Text), ("suffix", Role::Text)],
        attached: &[("tmpdir", Role::Read)],
        operands: Operands::Rule,
        rule: Some(make_temporary),
        options_first: true,
        ..Program::new(&["mktemp"])
    },
    // Not listed: `-n` and `-b`, which write under other names.
    Program { flags: "kqfo", operands: Operands::All(WRITE), ..Program::new(&["dos2unix", "unix2dos", "mac2unix", "unix2mac"]) },
    // They put names together in ways of their own.
    Program::unreadable(&["rename", "prename", "rename.ul", "perl-rename", "mmv", "vidir", "qmv", "imv", "chattr"]),
];

/// Where the working directory goes, later names lead nowhere or elsewhere.
fn keep_working_directory(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let is_relative = |arg: &&&Arg| call.state.locate(arg).is_some_and(|path| !path.starts_with(['/', '~']));
    let holds = |arg: &&&Arg| may_hold_working_directory(call.state, arg);
    if let Some(folder) = parsed.operands.iter().filter(is_relative).find(holds) {
        reader.unknown(format!("`{}` removes `{}`, in which the command runs", call.name, folder.display()));
    }
}

/// `rmdir -p a/b` removes `a` as well.
fn remove_folders(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    keep_working_directory(reader, call, parsed);
    if !parsed.has(&["p", "parents"]) {
        return;
    }
    for operand in &parsed.operands {
        let mut folder = parent(operand);
        while let Arg::Known(path) | Arg::Below(_, path) = &folder {
            if matches!(lexical(path).as_str(), "." | "/") || path.split('/').any(|name| name == "..") {
                break;
            }
            reader.touch(call.state, call.name, &folder, Access::Delete);
            folder = parent(&folder);
        }
        if operand.text().is_none_or(|path| path.split('/').any(|name| name == "..")) {
            reader.unknown(format!("`{} -p` removes the folders above `{}`", call.name, operand.display()));
        }
    }
}

fn remove_shredded(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    if parsed.has(&["u", "remove"]) {
        for operand in &parsed.operands {
            reader.touch(call.state, call.name, operand, Access::Delete);
        }
    }
}

/// The first operand is the mode or the owner, unless an option says it.
fn change_attributes(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let is_said = parsed.has(&["reference", "r", "w", "x", "X", "s", "t"]);
    let access = if parsed.has(&["R", "recursive"]) { Access::WriteTree } else { Access::Attributes };
    for file in parsed.operands.iter().skip(usize::from(!is_said)) {
        reader.touch(call.state, call.name, file, access);
    }
}

/// `dd` takes `NAME=VALUE`.
fn copy_blocks(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &Parsed<'_>) {
    const TEXTS: &[&str] =
        &["bs", "ibs", "obs", "cbs", "count", "skip", "iseek", "seek", "oseek", "conv", "iflag", "oflag", "status"];
    for arg in call.args {
        match arg.text().and_then(|text| text.split_once('=')) {
            Some(("if", path)) => reader.touch(call.state, call.name, &Arg::known(path), Access::Read),
            Some(("of", path)) => reader.touch(call.state, call.name, &Arg::known(path), Access::Write),
            Some((name, _)) if TEXTS.contains(&name) => {}
            _ => reader.unknown(format!("`{}` has the argument `{}`, whose effect is not known", call.name, arg.display())),
        }
    }
}

/// Without a template or a folder, the file is made in the user's folder for such files: nobody's work, and new every time.
fn make_temporary(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let has_folder = |arg: &&Arg| arg.text().is_none_or(|text| text.contains('/') || text.starts_with('-'));
    if let Some(prefix) = parsed.values(&["t", "suffix"]).find(has_folder) {
        return reader.unknown(format!("`{}` puts `{}` into a name, which may lead elsewhere", call.name, prefix.display()));
    }
    let folders: Vec<&Arg> = parsed.values(&["p", "tmpdir"]).collect();
    for template in &parsed.operands {
        match (folders.last(), template.text()) {
            (None, _) if parsed.has(&["tmpdir"]) && template.text().is_some_and(|text| !text.contains('/')) => {}
            (None, _) => reader.touch(call.state, call.name, template, Access::Write),
            (Some(folder), Some(name)) => reader.touch(call.state, call.name, &below(folder, name), Access::Write),
            (Some(_), None) => reader.touch(call.state, call.name, &Arg::One(String::new()), Access::Write),
        }
    }
    if let (Some(folder), []) = (folders.last(), parsed.operands.as_slice()) {
        reader.touch(call.state, call.name, &below(folder, "tmp.XXXXXXXXXX"), Access::Write);
    }
}
