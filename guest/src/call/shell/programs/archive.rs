//! Programs that pack and unpack.

use super::super::flags::{Flags, Spec};
use super::super::trace::Trace;
use super::super::value::Arg;
use super::Call;
use crate::call::effect::Deed;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "tar" | "gtar" | "bsdtar" => tape(trace, call),
        "zip" => {
            let flags = Flags::parse(call.args, Spec::new("xitnPbO", &["exclude", "include", "output-file", "password"]));
            let output = flags.value(&["O", "output-file"]).or(flags.operands.first());
            if let Some(archive) = output.filter(|archive| archive.text != "-") {
                let named = if archive.text.rsplit('/').next().is_some_and(|name| name.contains('.')) {
                    archive.clone()
                } else {
                    Arg::plain(format!("{}.zip", archive.text))
                };
                trace.touch(call.world, call.name, &named, Deed::Write);
            }
            if flags.has(&["m", "move"]) {
                trace.touch_all(call, flags.operands.get(1..).unwrap_or_default(), Deed::DeleteTree);
            }
            if flags.has(&["unzip-command"]) {
                trace.execute(call.world, None);
            }
        }
        "unzip" => {
            let flags = Flags::parse(call.args, Spec::new("dxP", &[]));
            if !flags.has(&["l", "t", "p", "c", "v", "Z", "z"]) {
                let folder = flags.value(&["d"]).cloned().unwrap_or_else(|| Arg::plain("."));
                trace.touch(call.world, call.name, &folder, Deed::WriteTree);
            }
        }
        "7z" | "7za" | "7zr" | "7zz" => seven(trace, call),
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" | "unlzma" | "zstd" | "unzstd" | "lz4" | "unlz4"
        | "compress" | "uncompress" | "brotli" | "pigz" | "unpigz" | "lzop" => squeeze(trace, call),
        "ar" => {
            let mode = call.args.first().map_or("", |mode| mode.text.as_str());
            if mode.contains('x') {
                trace.touch_path(call.world, call.name, ".", Deed::WriteTree);
            } else if !mode.trim_start_matches('-').starts_with(['t', 'p']) {
                trace.touch_all(call, call.args.get(1..2).unwrap_or_default(), Deed::Write);
            }
        }
        "cpio" | "pax" => {
            let flags = Flags::parse(call.args, Spec::new("FODHEIRCMfsx", &["file", "directory", "format"]));
            if flags.has(&["i", "extract", "r"]) && !flags.has(&["t", "list"]) || flags.has(&["p", "pass-through"]) {
                let folder =
                    flags.value(&["D", "directory"]).or(flags.operands.last()).cloned().unwrap_or_else(|| Arg::plain("."));
                trace.touch(call.world, call.name, &folder, Deed::WriteTree);
            } else if flags.has(&["o", "create", "w"]) {
                for file in flags.values(&["F", "O", "file", "f"]) {
                    trace.touch(call.world, call.name, file, Deed::Write);
                }
            }
        }
        _ => return false,
    }
    true
}

/// `tar`, whose letters need no dash, and whose values then stand in the order of their letters.
fn tape(trace: &mut Trace<'_>, call: &Call<'_>) {
    let mut args: Vec<Arg> = call.args.to_vec();
    let bundled = args.first().is_some_and(|first| {
        !first.text.starts_with('-') && !first.text.is_empty() && first.text.chars().all(|c| c.is_ascii_alphabetic())
    });
    if bundled {
        let letters = args.remove(0);
        let mut spread = Vec::new();
        let mut values = args.into_iter();
        for letter in letters.text.chars() {
            spread.push(Arg::plain(format!("-{letter}")));
            if "fCbTXgKLNVIF".contains(letter) {
                spread.extend(values.next());
            }
        }
        spread.extend(values);
        args = spread;
    }
    // Folders change in the order of the options, and each is relative to the one before.
    let mut world = call.world.clone();
    let spec = Spec::new(
        "fCbTXgKLNVIFH",
        &[
            "file",
            "directory",
            "exclude",
            "exclude-from",
            "files-from",
            "transform",
            "xform",
            "strip-components",
            "use-compress-program",
            "to-command",
            "checkpoint-action",
            "mode",
            "owner",
            "group",
            "mtime",
            "index-file",
            "listed-incremental",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "starting-file",
            "suffix",
            "format",
            "newer",
        ],
    );
    let flags = Flags::parse(&args, spec);
    for option in ["to-command", "use-compress-program", "checkpoint-action", "info-script", "new-volume-script", "rsh-command"] {
        if flags.has(&[option])
            && (option != "use-compress-program" || flags.value(&[option]).is_some_and(|program| program.text.contains(' ')))
        {
            trace.unknown(format!("`{}` runs a command of its own", call.shown()));
        }
    }
    for folder in flags.values(&["C", "directory"]) {
        world.cwd = world.join(&folder.text);
    }
    let outer = Call { world: call.world, ..*call };
    let archive = flags.value(&["f", "file"]);
    if flags.has(&["x", "extract", "get"]) && !flags.has(&["O", "to-stdout"]) {
        if flags.has(&["P", "absolute-names"]) {
            trace.unknown(format!("`{}` unpacks to paths that the archive names", call.shown()));
        }
        trace.touch_path(&world, call.name, ".", Deed::WriteTree);
    } else if flags.has(&["c", "create", "r", "append", "u", "update", "A", "concatenate", "catenate", "delete"]) {
        if let Some(archive) = archive {
            trace.touch(outer.world, call.name, archive, Deed::Write);
        }
        if flags.has(&["remove-files"]) {
            trace.touch_all(&Call { world: &world, ..*call }, &flags.operands, Deed::DeleteTree);
        }
    }
    for file in flags.values(&["index-file", "g", "listed-incremental"]) {
        trace.touch(call.world, call.name, file, Deed::Write);
    }
}

fn seven(trace: &mut Trace<'_>, call: &Call<'_>) {
    let operands: Vec<&Arg> = call.args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let folder = call.args.iter().find_map(|arg| arg.after("-o")).unwrap_or_else(|| Arg::plain("."));
    match operands.first().map_or("", |command| command.text.as_str()) {
        "x" | "e" => trace.touch(call.world, call.name, &folder, Deed::WriteTree),
        "l" | "t" | "h" | "i" | "b" | "" => {}
        _ => {
            if let Some(archive) = operands.get(1) {
                trace.touch(call.world, call.name, archive, Deed::Write);
            }
        }
    }
}

/// Programs that replace a file by its packed or unpacked form.
fn squeeze(trace: &mut Trace<'_>, call: &Call<'_>) {
    let spec = match call.name {
        "zstd" | "unzstd" | "brotli" | "lz4" => Spec::new("oTDqw", &["output-dir-flat", "output", "threads"]),
        _ => Spec::new("STb", &["suffix", "threads"]),
    };
    let flags = Flags::parse(call.args, spec);
    if flags.has(&["c", "stdout", "to-stdout", "l", "list", "t", "test"]) {
        return;
    }
    if let Some(output) = flags.value(&["o", "output"]) {
        return trace.touch(call.world, call.name, output, Deed::Write);
    }
    if let Some(folder) = flags.value(&["output-dir-flat"]) {
        return trace.touch(call.world, call.name, folder, Deed::WriteTree);
    }
    let unpacks = call.name.starts_with("un")
        || call.name.ends_with("unzip")
        || call.name.contains("unzip")
        || flags.has(&["d", "decompress", "uncompress"]);
    let keeps = flags.has(&["k", "keep"])
        || (matches!(call.name, "zstd" | "unzstd" | "brotli" | "lz4" | "unlz4" | "lzop") && !flags.has(&["rm", "j"]));
    let suffix = match call.name {
        "bzip2" | "bunzip2" => ".bz2",
        "xz" | "unxz" => ".xz",
        "lzma" | "unlzma" => ".lzma",
        "zstd" | "unzstd" => ".zst",
        "lz4" | "unlz4" => ".lz4",
        "compress" | "uncompress" => ".Z",
        "brotli" => ".br",
        "lzop" => ".lzo",
        _ => ".gz",
    };
    let suffix = flags.value(&["S", "suffix"]).map_or(suffix, |suffix| suffix.text.as_str());
    for file in flags.operands.iter().filter(|file| file.text != "-") {
        if flags.has(&["r", "recursive"]) {
            trace.touch(call.world, call.name, file, Deed::WriteTree);
            continue;
        }
        for path in trace.paths(call.world, call.name, file, Deed::Delete) {
            if !unpacks {
                trace.touch_path(call.world, call.name, &format!("{path}{suffix}"), Deed::Write);
            } else {
                let stem = [suffix, ".gz", ".bz2", ".xz", ".zst", ".lz4", ".Z", ".lzma", ".br", ".lzo", ".z"]
                    .iter()
                    .find_map(|suffix| path.strip_suffix(suffix));
                let plain = match stem {
                    Some(stem) => stem.to_owned(),
                    None => match path
                        .strip_suffix(".tgz")
                        .or_else(|| path.strip_suffix(".tbz2"))
                        .or_else(|| path.strip_suffix(".txz"))
                    {
                        Some(stem) => format!("{stem}.tar"),
                        None if call.name == "bunzip2" || call.name == "bzip2" => format!("{path}.out"),
                        None => path.clone(),
                    },
                };
                trace.touch_path(call.world, call.name, &plain, Deed::Write);
                // Without its suffix the packed form is looked for beside the name.
                if stem.is_none() && !keeps {
                    trace.touch_path(call.world, call.name, &format!("{path}{suffix}"), Deed::Delete);
                }
            }
            if !keeps {
                trace.touch_path(call.world, call.name, &path, Deed::Delete);
            }
        }
    }
}
