//! Programs that make, change and take away files by name.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Folder, Trace};
use super::super::value::Arg;
use super::Call;
use crate::call::effect::Deed;
use crate::ports::Kind;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "rm" | "trash" | "trash-put" | "srm" => {
            let flags = Flags::parse(call.args, Spec::new("", &["interactive"]));
            let tree = flags.has(&["r", "R", "recursive", "d", "dir"]) || call.name.starts_with("trash");
            trace.touch_all(call, &flags.operands, if tree { Deed::DeleteTree } else { Deed::Delete });
        }
        "rmdir" => {
            let flags = Flags::parse(call.args, Spec::default());
            for folder in &flags.operands {
                trace.touch(call.world, call.name, folder, Deed::Delete);
                // With -p the folders above go too, as far as they are named.
                let mut path = folder.text.trim_end_matches('/');
                while flags.has(&["p", "parents"])
                    && folder.is_known()
                    && let Some((above, _)) = path.rsplit_once('/').filter(|(above, _)| !above.is_empty())
                {
                    trace.touch_path(call.world, call.name, above, Deed::Delete);
                    path = above;
                }
            }
        }
        "unlink" => trace.touch_all(call, &Flags::parse(call.args, Spec::default()).operands, Deed::Delete),
        "shred" | "wipe" => {
            let flags = Flags::parse(call.args, Spec::new("ns", &["iterations", "size", "random-source"]));
            trace.touch_all(call, &flags.operands, Deed::Write);
            if flags.has(&["u", "remove"]) {
                trace.touch_all(call, &flags.operands, Deed::Delete);
            }
        }
        "truncate" | "fallocate" => {
            let flags = Flags::parse(call.args, Spec::new("srlo", &["size", "reference", "length", "offset"]));
            trace.touch_all(call, &flags.operands, Deed::Write);
        }
        "touch" => {
            let flags = Flags::parse(call.args, Spec::new("drt", &["date", "reference", "time"]));
            for file in &flags.operands {
                for path in trace.paths(call.world, call.name, file, Deed::Write) {
                    let exists = trace.kind(call.world, &path) != Kind::Missing;
                    let deed = if exists || flags.has(&["c", "no-create"]) { Deed::Touch } else { Deed::Write };
                    trace.touch_path(call.world, call.name, &path, deed);
                }
            }
        }
        "mkdir" => {
            let flags = Flags::parse(call.args, Spec::new("m", &["mode"]));
            trace.touch_all(call, &flags.operands, Deed::MakeFolder);
            // On its way through `a/../b`, -p makes `a` too.
            for folder in flags.operands.iter().filter(|folder| flags.has(&["p", "parents"]) && folder.is_known()) {
                for (at, _) in folder.text.match_indices("/..") {
                    trace.touch_path(call.world, call.name, folder.text.get(..at).unwrap_or_default(), Deed::MakeFolder);
                }
            }
        }
        "mkfifo" | "mknod" => {
            let operands = Flags::parse(call.args, Spec::new("m", &["mode"])).operands;
            let files = if call.name == "mknod" { operands.get(..1) } else { operands.get(..) };
            trace.touch_all(call, files.unwrap_or_default(), Deed::Write);
        }
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "xattr" | "chcon" => attributes(trace, call),
        "tee" | "sponge" | "pee" => {
            let flags = Flags::parse(call.args, Spec::default());
            if call.name == "pee" {
                for command in &flags.operands {
                    let world = call.world.child();
                    trace.text(&command.text, vec![world], call.input);
                }
            } else {
                trace.touch_all(call, &flags.operands, Deed::Write);
            }
            trace.said = None;
        }
        "dd" => {
            for arg in call.args {
                if let Some(output) = arg.after("of=") {
                    trace.touch(call.world, call.name, &output, Deed::Write);
                } else if let Some(input) = arg.after("if=") {
                    trace.touch(call.world, call.name, &input, Deed::Read);
                } else if arg.text.starts_with(super::super::value::UNKNOWN) {
                    trace.unknown(format!("`{}` has an argument that is only known when it runs", call.shown()));
                }
            }
        }
        "split" | "csplit" => {
            let flags = Flags::parse(
                call.args,
                Spec::new(
                    "abClnstfk",
                    &["suffix-length", "bytes", "lines", "number", "filter", "prefix", "suffix-format", "digits"],
                ),
            );
            if flags.has(&["filter"]) {
                return false;
            }
            let prefix = if call.name == "split" { flags.operands.get(1) } else { flags.value(&["f", "prefix"]) };
            // The names are the prefix and a counter.
            let folder = match prefix {
                Some(prefix) if prefix.is_known() => Arg::plain(prefix.text.rsplit_once('/').map_or(".", |(folder, _)| folder)),
                Some(prefix) => prefix.clone(),
                None => Arg::plain("."),
            };
            trace.touch(call.world, call.name, &folder, Deed::WriteTree);
        }
        "dos2unix" | "unix2dos" | "mac2unix" => {
            let flags = Flags::parse(call.args, Spec::new("ck", &[]));
            trace.touch_all(call, &flags.operands, Deed::Write);
        }
        "rename" | "prename" | "mmv" | "vidir" => {
            // New names come out of an expression; the folders are known.
            let flags = Flags::parse(call.args, Spec::default());
            if flags.has(&["n", "no-act", "nono"]) {
                return true;
            }
            for file in flags.operands.iter().skip(1) {
                for path in trace.paths(call.world, call.name, file, Deed::Delete) {
                    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
                    trace.touch_path(call.world, call.name, &path, Deed::Delete);
                    trace.touch_path(call.world, call.name, &folder, Deed::WriteTree);
                }
            }
            if flags.operands.len() < 2 {
                trace.unknown(format!("`{}` renames files that are only known when it runs", call.shown()));
            }
        }
        _ => return false,
    }
    true
}

fn attributes(trace: &mut Trace<'_>, call: &Call<'_>) {
    // `chmod -x file` is a mode, not an option.
    let is_mode =
        |text: &str| text.len() > 1 && text.starts_with('-') && text.chars().skip(1).all(|c| "rwxXstugoa+-=,".contains(c));
    let is_option = |arg: &&Arg| arg.text.starts_with('-') && !(is_mode(&arg.text) && call.name == "chmod" && arg.text != "-R");
    let recursive = call
        .args
        .iter()
        .filter(is_option)
        .any(|arg| arg.text == "--recursive" || (!arg.text.starts_with("--") && arg.text.contains('R')));
    let reference = call.args.iter().any(|arg| arg.text.starts_with("--reference"));
    let values = matches!(call.name, "setfacl");
    let operands: Vec<Arg> = if values {
        Flags::parse(call.args, Spec::new("mxMX", &["modify", "remove", "modify-file", "remove-file", "set", "restore"])).operands
    } else {
        let mut operands: Vec<Arg> = call.args.iter().filter(|arg| !is_option(arg) && arg.text != "--").cloned().collect();
        if !reference && !operands.is_empty() {
            operands.remove(0);
        }
        operands
    };
    for file in &operands {
        for path in trace.paths(call.world, call.name, file, Deed::Touch) {
            let tree = recursive && trace.folder(call.world, &path) != Folder::No;
            trace.touch_path(call.world, call.name, &path, if tree { Deed::WriteTree } else { Deed::Touch });
        }
    }
}
