//! Programs that take files from one place to another: `cp mv ln install`.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Folder, Trace};
use super::super::value::Arg;
use super::Call;
use crate::call::effect::{Deed, Origin};

/// Sources and where they go.
struct Transfer {
    sources: Vec<Arg>,
    target: Arg,
    /// Whether the target is a folder for certain, or none for certain.
    into: Option<bool>,
}

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    let spec = match call.name {
        "cp" | "mv" | "ln" => Spec::new("tS", &["target-directory", "suffix"]),
        "install" | "ginstall" => Spec::new("tSmogC", &["target-directory", "suffix", "mode", "owner", "group", "strip-program"]),
        _ => return false,
    };
    let flags = Flags::parse(call.args, spec);
    if call.name.ends_with("install") && flags.has(&["d", "directory"]) {
        trace.touch_all(call, &flags.operands, Deed::MakeFolder);
        return true;
    }
    let Some(transfer) = transfer(&flags, call.name) else { return true };
    let backup = flags.has(&["b", "backup", "S", "suffix"]);
    for source in &transfer.sources {
        if !source.is_known() && call.name != "mv" {
            // What is read does not matter, but its name is part of the target's when that is a folder.
            unnamed(trace, call, &flags, &transfer);
            continue;
        }
        for path in trace.paths(call.world, call.name, source, Deed::Delete) {
            one(trace, call, &flags, &transfer, &path, backup);
        }
    }
    true
}

fn transfer(flags: &Flags, name: &str) -> Option<Transfer> {
    let mut sources = flags.operands.clone();
    if let Some(target) = flags.value(&["t", "target-directory"]) {
        return Some(Transfer { sources, target: target.clone(), into: Some(true) });
    }
    let target = sources.pop()?;
    if sources.is_empty() {
        // `ln -s target` makes a link of the same name here.
        return (name == "ln").then(|| Transfer { sources: vec![target], target: Arg::plain("."), into: Some(true) });
    }
    let into = match (flags.has(&["T", "no-target-directory"]), sources.len()) {
        (true, _) => Some(false),
        (false, 1) => None,
        (false, _) => Some(true),
    };
    Some(Transfer { sources, target, into })
}

/// A source whose name is not known.
fn unnamed(trace: &mut Trace<'_>, call: &Call<'_>, flags: &Flags, transfer: &Transfer) {
    let folder = transfer.into == Some(true) || trace.folder(call.world, &transfer.target.text) != Folder::No;
    trace.touch(call.world, call.name, &transfer.target, if folder { Deed::WriteTree } else { Deed::Write });
    if flags.has(&["D"])
        && let Some((above, _)) = transfer.target.text.rsplit_once('/')
    {
        trace.touch(call.world, call.name, &Arg::plain(above), Deed::MakeFolder);
    }
    if call.name == "ln" {
        trace.unknown(format!("`{}` links to a path that is only known when it runs", call.shown()));
    }
}

fn one(trace: &mut Trace<'_>, call: &Call<'_>, flags: &Flags, transfer: &Transfer, source: &str, backup: bool) {
    let world = call.world;
    let is_folder = trace.folder(world, source) != Folder::No;
    let recursive = call.name == "mv" || flags.has(&["r", "R", "recursive", "a", "archive"]);
    let tree = is_folder && recursive;
    match call.name {
        "mv" => {
            trace.touch_path(world, call.name, source, if is_folder { Deed::DeleteTree } else { Deed::Delete });
        }
        "ln" => {}
        _ => {
            trace.touch_path(world, call.name, source, Deed::Read);
            if flags.has(&["l", "link", "s", "symbolic-link"]) && call.name == "cp" {
                trace.touch_path(world, call.name, source, Deed::Alias);
            }
        }
    }
    let name = base_name(source);
    for target in trace.paths(world, call.name, &transfer.target, Deed::Write) {
        let beneath = if flags.has(&["parents"]) { source.trim_start_matches('/') } else { name };
        let inside = format!("{}/{beneath}", target.trim_end_matches('/'));
        let folder = match transfer.into {
            Some(true) => Folder::Yes,
            Some(false) => Folder::No,
            None if target.ends_with('/') && call.name != "mv" => Folder::Yes,
            None if call.name == "ln" && flags.has(&["n", "no-dereference"]) => match trace.folder(world, &target) {
                Folder::Yes => Folder::Perhaps,
                other => other,
            },
            None => trace.folder(world, &target),
        };
        let deed = if tree { Deed::WriteTree } else { Deed::Write };
        let mut ends = Vec::new();
        if folder != Folder::No {
            ends.push(inside);
        }
        if folder != Folder::Yes {
            ends.push(target.clone());
        }
        for end in ends {
            trace.touch_path(world, call.name, &end, deed);
            if let Some(origin) = origin(call.name, flags, source) {
                trace.place(world, &end, origin);
            }
            if backup {
                let suffix = flags.value(&["S", "suffix"]).map_or("~", |suffix| suffix.text.as_str());
                trace.touch_path(world, call.name, &format!("{end}{suffix}"), Deed::Write);
            }
            if call.name == "ln" {
                link(trace, call, flags, source, &end);
            }
            if call.name.ends_with("install")
                && flags.has(&["D"])
                && let Some((above, _)) = end.rsplit_once('/')
            {
                trace.touch_path(world, call.name, above, Deed::MakeFolder);
            }
        }
    }
}

/// What a link leads to can be changed through it from then on.
fn link(trace: &mut Trace<'_>, call: &Call<'_>, flags: &Flags, source: &str, end: &str) {
    let symbolic = flags.has(&["s", "symbolic"]);
    let absolute = source.starts_with(['/', super::super::value::HOME, super::super::value::ROOT]);
    if !symbolic || absolute || flags.has(&["r", "relative"]) {
        return trace.touch_path(call.world, call.name, source, Deed::Alias);
    }
    // A symbolic link's text is read from the folder it stands in.
    let target = end.rsplit_once('/').map_or(source.to_owned(), |(folder, _)| format!("{folder}/{source}"));
    trace.touch_path(call.world, call.name, &target, Deed::Alias);
}

/// What is put at the target as it is, where it is more than content.
fn origin(name: &str, flags: &Flags, source: &str) -> Option<Origin> {
    let from = source.to_owned();
    match name {
        "mv" => Some(Origin::Same(from)),
        "ln" if !flags.has(&["s", "symbolic"]) => Some(Origin::Same(from)),
        "ln" if flags.has(&["r", "relative"]) => None,
        "ln" => Some(Origin::Link(from)),
        "cp" if flags.has(&["l", "link"]) => Some(Origin::Same(from)),
        "cp" => flags
            .has(&["r", "R", "recursive", "a", "archive", "P", "d", "no-dereference", "preserve"])
            .then_some(Origin::Copy(from)),
        _ => None,
    }
}

/// The last name of a path.
pub(super) fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
