//! Programs that copy, move or link files: `cp`, `mv`, `ln`, `install`, `link`, `rsync`.
//!
//! What is written depends on whether the destination is a folder. Where that is not certain, both possibilities are recorded.

use super::derived_paths::{EntryKind, base_name, below, entry_kind, is_folder, may_hold_working_directory, parent, replace};
use super::{ArgumentRole, Invocation, OperandOverride, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::effects::{Access, Origin};

/// Options that name the destination folder; the rule records it.
const TARGET: [(&str, ArgumentRole); 2] = [("t", ArgumentRole::Text), ("target-directory", ArgumentRole::Text)];

pub(super) const ROWS: &[ProgramSpec] = &[
    // Not listed: `-b`, `-S`, `--parents`, which write under other names.
    ProgramSpec {
        flags: "afiprRvnudPLHlsTx",
        long: &[
            "archive",
            "force",
            "interactive",
            "recursive",
            "verbose",
            "no-clobber",
            "no-dereference",
            "dereference",
            "link",
            "symbolic-link",
            "no-target-directory",
            "one-file-system",
        ],
        valued: &TARGET,
        attached: &[
            ("preserve", ArgumentRole::Text),
            ("reflink", ArgumentRole::Text),
            ("sparse", ArgumentRole::Text),
            ("update", ArgumentRole::Text),
        ],
        operands: Operands::Rule,
        rule: Some(copy),
        options_first: true,
        ..ProgramSpec::new(&["cp"])
    },
    ProgramSpec {
        flags: "finuvT",
        long: &["force", "interactive", "no-clobber", "verbose", "no-target-directory"],
        valued: &TARGET,
        attached: &[("update", ArgumentRole::Text)],
        operands: Operands::Rule,
        rule: Some(rename),
        options_first: true,
        ..ProgramSpec::new(&["mv"])
    },
    ProgramSpec {
        flags: "sfnvihrTLP",
        long: &[
            "symbolic",
            "force",
            "no-dereference",
            "verbose",
            "interactive",
            "relative",
            "no-target-directory",
            "logical",
            "physical",
        ],
        valued: &TARGET,
        operands: Operands::Rule,
        rule: Some(link),
        options_first: true,
        ..ProgramSpec::new(&["ln"])
    },
    ProgramSpec { operands: Operands::Rule, rule: Some(link), ..ProgramSpec::new(&["link"]) },
    // Not listed: `-D` and `-T`, which take a value in one version and none in the other; `-s`, which runs a program.
    ProgramSpec {
        flags: "Ccpvd",
        long: &["directory", "compare", "preserve-timestamps", "verbose"],
        valued: &[
            ("m", ArgumentRole::Text),
            ("o", ArgumentRole::Text),
            ("g", ArgumentRole::Text),
            ("mode", ArgumentRole::Text),
            ("owner", ArgumentRole::Text),
            ("group", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("target-directory", ArgumentRole::Text),
        ],
        operands: Operands::Rule,
        modes: &[OperandOverride { when: &["d", "directory"], operands: Operands::All(ArgumentRole::Path(Access::MakeFolder)) }],
        rule: Some(install),
        options_first: true,
        ..ProgramSpec::new(&["install", "ginstall"])
    },
    // Not listed: `-e`, `-b`, `-T`, `--remove-source-files`, `--files-from`, and filters from files in the tree.
    ProgramSpec {
        flags: "avzrtpgoDlLSWxuqnPihcHAX",
        long: &[
            "archive",
            "verbose",
            "compress",
            "recursive",
            "times",
            "perms",
            "links",
            "update",
            "quiet",
            "dry-run",
            "progress",
            "partial",
            "human-readable",
            "stats",
            "itemize-changes",
            "checksum",
            "delete",
            "delete-after",
            "delete-before",
            "delete-excluded",
            "ignore-existing",
            "existing",
            "size-only",
            "no-owner",
            "no-group",
            "no-perms",
        ],
        valued: &[
            ("exclude", ArgumentRole::Text),
            ("include", ArgumentRole::Text),
            ("exclude-from", ArgumentRole::Read),
            ("include-from", ArgumentRole::Read),
        ],
        operands: Operands::Rule,
        rule: Some(synchronize),
        ..ProgramSpec::new(&["rsync"])
    },
];

/// The sources of a transfer and its target.
struct Transfer<'p> {
    sources: &'p [&'p Arg],
    target: Arg,
    /// Whether the sources are put below the target: certainly, certainly not, or depending on what is there (`None`).
    into: Option<bool>,
}

impl Transfer<'_> {
    /// Every path at which a source may end up; empty if that is not certain.
    fn ends(&self, reader: &ShellReader<'_>, call: &Invocation<'_>, source: &Arg) -> Vec<Arg> {
        let into = self.into.or_else(|| is_folder(reader, call.state, &self.target));
        let inside = base_name(source).map(|name| below(&self.target, name));
        match (into, inside) {
            (Some(false), _) => vec![self.target.clone()],
            (Some(true), Some(inside)) => vec![inside],
            (None, Some(inside)) => vec![inside, self.target.clone()],
            (Some(true) | None, None) => Vec::new(),
        }
    }
}

/// Separates the sources from the target. If that is not possible, records why and returns `None`.
fn transfer<'p>(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &'p ParsedArguments<'_>) -> Option<Transfer<'p>> {
    let folders: Vec<&Arg> = parsed.values(&["t", "target-directory"]).collect();
    let exact = parsed.has(&["T", "no-target-directory"]);
    let operands = parsed.operands.as_slice();
    let found = match (folders.as_slice(), operands) {
        ([folder], sources) if !exact => Transfer { sources, target: (*folder).clone(), into: Some(true) },
        ([], [source]) if call.name == "ln" && !exact => {
            // Creates a link with the same name in the working directory.
            Transfer { sources: std::slice::from_ref(source), target: Arg::known("."), into: Some(true) }
        }
        ([], [sources @ .., target]) if !sources.is_empty() => {
            let into = match (exact, sources.len()) {
                (true, _) => Some(false),
                (false, 1) => None,
                (false, _) => Some(true),
            };
            Transfer { sources, target: (*target).clone(), into }
        }
        _ => {
            reader.add_unknown(format!("where `{}` puts its files cannot be determined", call.name));
            return None;
        }
    };
    if operands.iter().any(|operand| matches!(operand, Arg::Many(_))) {
        reader.add_unknown(format!("which files `{}` is given is only known when it runs", call.name));
        return None;
    }
    Some(found)
}

fn copy(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some(transfer) = transfer(reader, call, parsed) else { return };
    let recursive = parsed.has(&["r", "R", "a", "recursive", "archive"]);
    let keeps_links = recursive || parsed.has(&["P", "d", "no-dereference", "preserve"]);
    let links = parsed.has(&["l", "link", "s", "symbolic-link"]);
    for source in transfer.sources {
        reader.touch(call.state, call.name, source, if links { Access::Alias } else { Access::Read });
        let kind = entry_kind(reader, call.state, source);
        let ends = transfer.ends(reader, call, source);
        let may_be_tree = recursive && kind != EntryKind::Plain;
        let may_be_link = links || (keeps_links && kind != EntryKind::Plain);
        if ends.is_empty() {
            // If the name is not known, or is `.`, the destination is something below the target.
            if recursive && !matches!(source, Arg::Known(_) | Arg::Below(..)) || source.text().is_some_and(ends_in_parent) {
                reader.add_unknown(format!(
                    "`{}` copies `{}`, whose name is part of the destination",
                    call.name,
                    source.display()
                ));
            }
            reader.touch(call.state, call.name, &transfer.target, Access::WriteTree);
            if may_be_link {
                place(reader, call, source, &transfer.target, Origin::Copy);
                reader.move_or_link(call.state, &transfer.target);
            }
        }
        for end in ends {
            // For `source/`, some versions copy the content of the folder, not the folder itself.
            let contents = may_be_tree && matches!(source, Arg::Known(path) | Arg::Below(_, path) if path.ends_with('/'));
            if contents {
                reader.touch(call.state, call.name, &transfer.target, Access::WriteTree);
            }
            match (may_be_tree, may_be_link) {
                (true, _) => reader.touch(call.state, call.name, &end, Access::WriteTree),
                (false, true) => replace(reader, call, &end),
                (false, false) => reader.touch(call.state, call.name, &end, Access::Write),
            }
            if may_be_link {
                place(reader, call, source, &end, if links { Origin::Same } else { Origin::Copy });
                reader.move_or_link(call.state, &end);
            }
        }
    }
}

fn ends_in_parent(path: &str) -> bool {
    path.trim_end_matches('/').ends_with("..")
}

fn rename(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some(transfer) = transfer(reader, call, parsed) else { return };
    for source in transfer.sources {
        let kind = entry_kind(reader, call.state, source);
        let ends = transfer.ends(reader, call, source);
        if ends.is_empty() {
            reader.add_unknown(format!("`{}` moves `{}`, whose name is part of the destination", call.name, source.display()));
        }
        let is_tree = matches!(kind, EntryKind::Folder | EntryKind::Unknown);
        if is_tree && may_hold_working_directory(call.state, source) {
            reader.add_unknown(format!("`{}` moves `{}`, in which the command may run", call.name, source.display()));
        }
        reader.touch(call.state, call.name, source, if is_tree { Access::DeleteTree } else { Access::Delete });
        for end in &ends {
            if is_tree {
                reader.touch(call.state, call.name, end, Access::WriteTree);
            } else {
                replace(reader, call, end);
            }
            place(reader, call, source, end, Origin::Same);
        }
        if kind != EntryKind::Plain {
            reader.move_or_link(call.state, source);
            ends.iter().for_each(|end| reader.move_or_link(call.state, end));
        }
    }
}

/// What is copied or moved together with its links is judged by where the links lead from their new place.
fn place(reader: &mut ShellReader<'_>, call: &Invocation<'_>, source: &Arg, end: &Arg, origin: fn(String) -> Origin) {
    if let Some(from) = call.state.locate(source) {
        reader.place(call.state, end, origin(from));
    }
}

fn link(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some(mut transfer) = transfer(reader, call, parsed) else { return };
    if call.name == "link" {
        transfer.into = Some(false);
    }
    let symbolic = parsed.has(&["s", "symbolic"]);
    let from_here = !symbolic || parsed.has(&["r", "relative"]);
    let keeps_target = parsed.has(&["n", "h", "no-dereference"]);
    for source in transfer.sources {
        let is_plain = entry_kind(reader, call.state, source) == EntryKind::Plain;
        // A link to a folder is itself replaced, not followed.
        let is_replaced =
            keeps_target && transfer.into.is_none() && entry_kind(reader, call.state, &transfer.target) == EntryKind::Link;
        let ends = if is_replaced { vec![transfer.target.clone()] } else { transfer.ends(reader, call, source) };
        if ends.is_empty() {
            reader.add_unknown(format!("`{}` links to `{}`, whose name is part of the new one", call.name, source.display()));
        }
        for end in ends {
            replace(reader, call, &end);
            // The target of a symbolic link is relative to the folder that contains the link.
            let leads_to = match source {
                Arg::Known(text) if !from_here && !text.starts_with('/') => below(&parent(&end), text),
                source => (*source).clone(),
            };
            reader.touch(call.state, call.name, &leads_to, Access::Alias);
            match source {
                Arg::Known(text) if symbolic && !from_here => reader.place(call.state, &end, Origin::Link(text.clone())),
                _ if symbolic => {}
                source => place(reader, call, source, &end, Origin::Same),
            }
            // A hard link to a plain file is judged together with all other names of the file.
            if symbolic || !is_plain {
                reader.move_or_link(call.state, &end);
            }
        }
    }
}

fn install(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["d", "directory"]) {
        return;
    }
    let Some(transfer) = transfer(reader, call, parsed) else { return };
    for source in transfer.sources {
        reader.touch(call.state, call.name, source, Access::Read);
        let ends = transfer.ends(reader, call, source);
        if ends.is_empty() {
            reader.touch(call.state, call.name, &transfer.target, Access::WriteTree);
        }
        ends.iter().for_each(|end| replace(reader, call, end));
    }
}

/// `rsync` writes below its last operand, whatever is there.
fn synchronize(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some((target, sources)) = parsed.operands.split_last() else { return };
    let is_remote = |arg: &Arg| arg.text().is_some_and(|text| text.split('/').next().is_some_and(|first| first.contains(':')));
    if parsed.operands.iter().any(|operand| is_remote(operand)) {
        // Another program connects to the other machine.
        reader.execute(call.state);
    }
    if sources.is_empty() || is_remote(target) || parsed.has_early(&["n", "dry-run"]) {
        return;
    }
    reader.touch(call.state, call.name, target, Access::WriteTree);
    reader.move_or_link(call.state, target);
}
