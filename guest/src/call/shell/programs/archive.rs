//! Programs that pack and unpack archives: `tar`, `zip`, `unzip`, `7z`.
//!
//! What is unpacked may be anything, including links, but stays below the destination folder: none of these programs lets a name
//! in the archive lead out of that folder without an option that is not listed.

use super::derived_paths::{append_suffix, replace};
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec, record_argument};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::effects::Access;

const FILES: Operands = Operands::All(ArgumentRole::Read);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec::raw(&["tar", "gtar", "bsdtar"], tar),
    ProgramSpec::raw(&["zip"], zip),
    ProgramSpec {
        flags: "ltpcvoqnjaLufx",
        valued: &[("d", ArgumentRole::Text)],
        operands: FILES,
        rule: Some(unzip),
        ..ProgramSpec::new(&["unzip"])
    },
    ProgramSpec { flags: "1hltmvz", operands: FILES, ..ProgramSpec::new(&["zipinfo"]) },
    ProgramSpec::raw(&["7z", "7za", "7zr", "7zz"], seven_zip),
    ProgramSpec::raw(&["ar"], library),
    ProgramSpec { flags: "itv", long: &["list", "verbose"], rule: Some(only_lists), ..ProgramSpec::new(&["cpio"]) },
    ProgramSpec::unreadable(&["pax", "unrar", "rar", "unar"]),
];

/// Not listed: options that run programs (`-I`, `-F`, `--to-command`, `--checkpoint-action`), that read lists which may contain
/// options (`-T`), that change names (`-P`, `--transform`), or that remove files.
const TAR: ProgramSpec = ProgramSpec {
    flags: "cxtvzjJpamkhOZ",
    long: &[
        "create",
        "extract",
        "get",
        "list",
        "verbose",
        "gzip",
        "bzip2",
        "xz",
        "zstd",
        "auto-compress",
        "to-stdout",
        "keep-old-files",
        "no-same-owner",
        "no-same-permissions",
        "exclude-vcs",
        "dereference",
        "numeric-owner",
        "version",
    ],
    valued: &[
        ("f", ArgumentRole::Text),
        ("file", ArgumentRole::Text),
        ("C", ArgumentRole::Text),
        ("directory", ArgumentRole::Text),
        ("exclude", ArgumentRole::Text),
        ("strip-components", ArgumentRole::Text),
        ("exclude-from", ArgumentRole::Read),
        ("X", ArgumentRole::Read),
        ("owner", ArgumentRole::Text),
        ("group", ArgumentRole::Text),
        ("mtime", ArgumentRole::Text),
        ("sort", ArgumentRole::Text),
    ],
    operands: FILES,
    ..ProgramSpec::new(&["tar"])
};

/// Parses arguments with a row that is not the program's own.
fn parse<'a>(
    reader: &mut ShellReader<'_>,
    call: &Invocation<'_>,
    row: &ProgramSpec,
    args: &'a [Arg],
) -> Option<ParsedArguments<'a>> {
    match row.parse(args) {
        Ok((parsed, roles)) => {
            for (role, value) in &roles {
                record_argument(reader, call, *role, value);
            }
            Some(parsed)
        }
        Err(unlisted) => {
            reader.add_unknown(unlisted.reason(call.name));
            None
        }
    }
}

/// Unpacked entries are below a folder, and may be links.
fn unpack(reader: &mut ShellReader<'_>, call: &Invocation<'_>, folder: Option<&Arg>) {
    let here = Arg::known(".");
    let folder = folder.unwrap_or(&here);
    reader.touch(call.state, call.name, folder, Access::WriteTree);
    reader.move_or_link(call.state, folder);
}

/// `tar`, whose first letters need no dash; their values then follow in the order of the letters.
fn tar(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let mut args = Vec::with_capacity(call.args.len() + 4);
    let mut rest = call.args.iter();
    if let Some(Arg::Known(letters)) = call.args.first()
        && !letters.starts_with('-')
    {
        rest.next();
        for letter in letters.chars() {
            args.push(Arg::known(format!("-{letter}")));
            if "fCX".contains(letter) {
                args.extend(rest.next().cloned());
            }
        }
    }
    args.extend(rest.cloned());
    let Some(parsed) = parse(reader, call, &TAR, &args) else { return };
    let folders: Vec<&Arg> = parsed.values(&["C", "directory"]).collect();
    let archives: Vec<&Arg> = parsed.values(&["f", "file"]).collect();
    let modes = [&["c", "create"][..], &["x", "extract", "get"], &["t", "list"]].map(|names| parsed.has(names));
    let (archive, folder) = match (archives.as_slice(), folders.as_slice()) {
        ([archive], []) => (*archive, None),
        ([archive], [folder]) => (*archive, Some(*folder)),
        _ if parsed.has(&["version"]) => return,
        _ => return reader.add_unknown(format!("which archive and which folder `{}` works on cannot be determined", call.name)),
    };
    // `host:file` is on another machine and is accessed through a program.
    if archive.text().is_some_and(|text| text.contains(':')) {
        return reader.add_unknown(format!("`{}` may look for `{}` on another machine", call.name, archive.display()));
    }
    let is_stream = archive.is_text("-");
    match modes {
        [true, false, false] if is_stream => {}
        [true, false, false] => reader.touch(call.state, call.name, archive, Access::Write),
        [false, true, false] if !parsed.is_ordered() => {
            reader.add_unknown(format!("`{}` has options after the names that it unpacks", call.name));
        }
        [false, true, false] if parsed.has(&["O", "to-stdout"]) => {}
        [false, true, false] => unpack(reader, call, folder),
        [false, false, true] => {}
        _ => reader.add_unknown(format!("whether `{}` packs or unpacks cannot be determined", call.name)),
    }
    if !is_stream {
        reader.touch(call.state, call.name, archive, Access::Read);
    }
}

/// Not listed: `-m`, which removes the files, `-T` and `-TT`, which run a program, `-@`, and two-letter options.
const ZIP: ProgramSpec = ProgramSpec { flags: "rqvjyuDoX0123456789", operands: Operands::Rule, ..ProgramSpec::new(&["zip"]) };

fn zip(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    // `-x` is followed by patterns, up to the next option.
    let is_filter = |arg: &Arg| arg.is_text("-x") || arg.is_text("-i");
    let (args, filters) = call.args.split_at(call.args.iter().position(is_filter).unwrap_or(call.args.len()));
    if let Some(filter) = filters.iter().find(|arg| !is_filter(arg) && arg.may_be_option()) {
        return reader.add_unknown(format!("`{}` has the argument `{}` after its patterns", call.name, filter.display()));
    }
    let Some(parsed) = parse(reader, call, &ZIP, args) else { return };
    let Some((archive, files)) = parsed.operands.split_first() else {
        return reader.add_unknown(format!("which archive `{}` writes cannot be determined", call.name));
    };
    for file in files {
        reader.touch(call.state, call.name, file, Access::Read);
    }
    match archive.text() {
        Some("-") => {}
        Some(text) if text.ends_with(".zip") => replace(reader, call, archive),
        // A name without a suffix gets `.zip` appended.
        _ => {
            replace(reader, call, archive);
            replace(reader, call, &append_suffix(archive, ".zip"));
        }
    }
}

fn unzip(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    // `-d` is always a separate argument, and only `-d` and `-x` count as options after the archive.
    let is_joined = |arg: &Arg| arg.text().is_some_and(|text| text.len() > 2 && text.starts_with('-') && text.contains('d'));
    let late = parsed.options.iter().filter(|(name, _)| !matches!(name.as_str(), "d" | "x")).count();
    let early =
        parsed.options.iter().filter(|(name, _)| parsed.has_early(&[name]) && !matches!(name.as_str(), "d" | "x")).count();
    if late != early || call.args.iter().any(is_joined) {
        return reader.add_unknown(format!("`{}` has options in a place where it may read them as file names", call.name));
    }
    let folders: Vec<&Arg> = parsed.values(&["d"]).collect();
    match folders.as_slice() {
        _ if parsed.has_early(&["l", "t", "p", "c", "v"]) || parsed.operands.is_empty() => {}
        [] => unpack(reader, call, None),
        [folder] => unpack(reader, call, Some(folder)),
        _ => reader.add_unknown(format!("where `{}` unpacks to cannot be determined", call.name)),
    }
}

/// `7z COMMAND [-SWITCH…] ARCHIVE FILE…`
fn seven_zip(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    const PLAIN: &[&str] = &["-y", "-bd", "-ba", "-slt", "-bb0", "-bb1", "-aoa", "-aos"];
    let mut folder = None;
    let mut operands = Vec::new();
    for arg in call.args {
        match arg.text() {
            Some(text) if PLAIN.contains(&text) || text.starts_with("-mx=") => {}
            Some(text) if text.starts_with("-o") && text.len() > 2 && folder.is_none() => {
                folder = text.strip_prefix("-o").map(Arg::known);
            }
            // `@list` names a file with a list of names.
            _ if arg.may_be_option() || arg.text().is_some_and(|text| text.starts_with('@')) => {
                return reader.add_unknown(format!(
                    "`{}` has the argument `{}`, whose effect is not known",
                    call.name,
                    arg.display()
                ));
            }
            _ => operands.push(arg),
        }
    }
    let archive = operands.get(1);
    match (operands.first().and_then(|command| command.text()), archive) {
        (Some("l" | "t" | "i"), _) | (None, None) => {}
        (Some("x" | "e"), Some(_)) if folder.as_ref().and_then(Arg::text).is_none_or(|folder| !folder.contains('*')) => {
            unpack(reader, call, folder.as_ref());
        }
        (Some("a"), Some(archive)) => {
            replace(reader, call, archive);
            if !archive.text().is_some_and(|text| text.ends_with(".7z") || text.ends_with(".zip")) {
                replace(reader, call, &append_suffix(archive, ".7z"));
            }
        }
        _ => reader.add_unknown(format!("what `{}` does cannot be determined", call.name)),
    }
}

/// `ar`: only the modes that list and print are known.
fn library(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let letters = call.args.first().and_then(Arg::text).map(|key| key.trim_start_matches('-'));
    let lists = letters.is_some_and(|letters| matches!(letters, "t" | "tv" | "vt" | "p" | "pv"));
    if !lists || call.args.iter().skip(1).any(Arg::may_be_option) {
        reader.add_unknown(format!("what `{}` does with its archive cannot be determined", call.name));
    }
}

fn only_lists(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if !parsed.has(&["t", "list"]) {
        reader.add_unknown(format!("`{}` unpacks to paths that the archive names", call.name));
    }
}
