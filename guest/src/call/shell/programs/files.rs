//! Programs that create, change and remove files: `rm`, `mkdir`, `touch`, `chmod`, `dd` and similar.

use super::derived_paths::{below, may_hold_working_directory, parent};
use super::{ArgumentRole, Invocation, OperandOverride, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::{ShellReader, lexical};
use crate::effects::Access;

const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        flags: "firRvdI",
        long: &["force", "recursive", "verbose", "dir", "one-file-system", "preserve-root"],
        attached: &[("interactive", ArgumentRole::Text)],
        operands: Operands::All(ArgumentRole::Path(Access::Delete)),
        modes: &[OperandOverride {
            when: &["r", "R", "recursive"],
            operands: Operands::All(ArgumentRole::Path(Access::DeleteTree)),
        }],
        rule: Some(keep_working_directory),
        ..ProgramSpec::new(&["rm"])
    },
    ProgramSpec {
        flags: "pv",
        long: &["parents", "verbose", "ignore-fail-on-non-empty"],
        operands: Operands::All(ArgumentRole::Path(Access::Delete)),
        rule: Some(remove_folders),
        ..ProgramSpec::new(&["rmdir"])
    },
    ProgramSpec { operands: Operands::All(ArgumentRole::Path(Access::Delete)), ..ProgramSpec::new(&["unlink"]) },
    ProgramSpec {
        flags: "pv",
        long: &["parents", "verbose"],
        valued: &[("m", ArgumentRole::Text), ("mode", ArgumentRole::Text)],
        operands: Operands::All(ArgumentRole::Path(Access::MakeFolder)),
        options_first: true,
        ..ProgramSpec::new(&["mkdir"])
    },
    ProgramSpec {
        flags: "acmfh",
        long: &["no-create", "no-dereference"],
        valued: &[
            ("t", ArgumentRole::Text),
            ("d", ArgumentRole::Text),
            ("date", ArgumentRole::Text),
            ("time", ArgumentRole::Text),
            ("r", ArgumentRole::Read),
            ("reference", ArgumentRole::Read),
        ],
        operands: Operands::All(ArgumentRole::Stamp),
        options_first: true,
        ..ProgramSpec::new(&["touch"])
    },
    ProgramSpec {
        flags: "co",
        long: &["no-create", "io-blocks"],
        valued: &[
            ("s", ArgumentRole::Text),
            ("size", ArgumentRole::Text),
            ("r", ArgumentRole::Read),
            ("reference", ArgumentRole::Read),
        ],
        operands: Operands::All(WRITE),
        options_first: true,
        ..ProgramSpec::new(&["truncate"])
    },
    ProgramSpec {
        flags: "fuvzx",
        long: &["force", "verbose", "zero", "exact"],
        valued: &[
            ("n", ArgumentRole::Text),
            ("s", ArgumentRole::Text),
            ("iterations", ArgumentRole::Text),
            ("size", ArgumentRole::Text),
        ],
        attached: &[("remove", ArgumentRole::Text)],
        operands: Operands::All(WRITE),
        rule: Some(remove_shredded),
        options_first: true,
        ..ProgramSpec::new(&["shred"])
    },
    // A mode such as `-x` looks like an option.
    ProgramSpec {
        flags: "RvcfrwxXst",
        long: &["recursive", "verbose", "changes", "silent", "quiet", "preserve-root"],
        valued: &[("reference", ArgumentRole::Read)],
        operands: Operands::Rule,
        rule: Some(change_attributes),
        options_first: true,
        ..ProgramSpec::new(&["chmod"])
    },
    ProgramSpec {
        flags: "Rvcfh",
        long: &["recursive", "verbose", "changes", "silent", "quiet", "no-dereference", "preserve-root"],
        valued: &[("reference", ArgumentRole::Read), ("from", ArgumentRole::Text)],
        operands: Operands::Rule,
        rule: Some(change_attributes),
        options_first: true,
        ..ProgramSpec::new(&["chown", "chgrp"])
    },
    ProgramSpec {
        flags: "bkR",
        valued: &[("m", ArgumentRole::Text), ("x", ArgumentRole::Text)],
        operands: Operands::All(ArgumentRole::Path(Access::Attributes)),
        modes: &[OperandOverride { when: &["R"], operands: Operands::All(ArgumentRole::Path(Access::WriteTree)) }],
        options_first: true,
        ..ProgramSpec::new(&["setfacl"])
    },
    ProgramSpec::raw(&["dd"], copy_blocks),
    ProgramSpec {
        valued: &[("m", ArgumentRole::Text), ("mode", ArgumentRole::Text)],
        operands: Operands::All(WRITE),
        options_first: true,
        ..ProgramSpec::new(&["mkfifo"])
    },
    ProgramSpec::new(&["mknod"]),
    // `-t` takes a value in one version and none in the other; either way, its argument is not a path.
    ProgramSpec {
        flags: "dqu",
        long: &["directory", "quiet", "dry-run"],
        valued: &[("p", ArgumentRole::Read), ("t", ArgumentRole::Text), ("suffix", ArgumentRole::Text)],
        attached: &[("tmpdir", ArgumentRole::Read)],
        operands: Operands::Rule,
        rule: Some(make_temporary),
        options_first: true,
        ..ProgramSpec::new(&["mktemp"])
    },
    // Not listed: `-n` and `-b`, which write under other names.
    ProgramSpec {
        flags: "kqfo",
        operands: Operands::All(WRITE),
        ..ProgramSpec::new(&["dos2unix", "unix2dos", "mac2unix", "unix2mac"])
    },
    // These construct names in their own ways.
    ProgramSpec::unreadable(&["rename", "prename", "rename.ul", "perl-rename", "mmv", "vidir", "qmv", "imv", "chattr"]),
];

/// If the working directory is removed, later relative names lead nowhere or elsewhere.
fn keep_working_directory(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let is_relative = |arg: &&&Arg| call.state.locate(arg).is_some_and(|path| !path.starts_with(['/', '~']));
    let holds = |arg: &&&Arg| may_hold_working_directory(call.state, arg);
    if let Some(folder) = parsed.operands.iter().filter(is_relative).find(holds) {
        reader.add_unknown(format!("`{}` removes `{}`, in which the command runs", call.name, folder.display()));
    }
}

/// `rmdir -p a/b` removes `a` as well.
fn remove_folders(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
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
            reader.add_unknown(format!("`{} -p` removes the folders above `{}`", call.name, operand.display()));
        }
    }
}

fn remove_shredded(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["u", "remove"]) {
        for operand in &parsed.operands {
            reader.touch(call.state, call.name, operand, Access::Delete);
        }
    }
}

/// The first operand is the mode or the owner, unless an option gives it.
fn change_attributes(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let is_said = parsed.has(&["reference", "r", "w", "x", "X", "s", "t"]);
    let access = if parsed.has(&["R", "recursive"]) { Access::WriteTree } else { Access::Attributes };
    for file in parsed.operands.iter().skip(usize::from(!is_said)) {
        reader.touch(call.state, call.name, file, access);
    }
}

/// `dd` takes `NAME=VALUE`.
fn copy_blocks(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    const TEXTS: &[&str] =
        &["bs", "ibs", "obs", "cbs", "count", "skip", "iseek", "seek", "oseek", "conv", "iflag", "oflag", "status"];
    for arg in call.args {
        match arg.text().and_then(|text| text.split_once('=')) {
            Some(("if", path)) => reader.touch(call.state, call.name, &Arg::known(path), Access::Read),
            Some(("of", path)) => reader.touch(call.state, call.name, &Arg::known(path), Access::Write),
            Some((name, _)) if TEXTS.contains(&name) => {}
            _ => reader.add_unknown(format!("`{}` has the argument `{}`, whose effect is not known", call.name, arg.display())),
        }
    }
}

/// Without a template or a folder, the file is created in the user's temporary folder: it is new, and nobody's work.
fn make_temporary(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let has_folder = |arg: &&Arg| arg.text().is_none_or(|text| text.contains('/') || text.starts_with('-'));
    if let Some(prefix) = parsed.values(&["t", "suffix"]).find(has_folder) {
        return reader.add_unknown(format!(
            "`{}` makes `{}` part of a file name, which may lead elsewhere",
            call.name,
            prefix.display()
        ));
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
