//! Programs that replace a file with its compressed or decompressed form: `gzip`, `bzip2`, `xz`, `zstd`.

use super::derived_paths::{append_suffix, remove_suffix, replace};
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::effects::Access;

const LONG: &[&str] = &[
    "stdout",
    "to-stdout",
    "decompress",
    "uncompress",
    "compress",
    "keep",
    "list",
    "test",
    "force",
    "quiet",
    "verbose",
    "fast",
    "best",
    "no-name",
    "version",
];

const fn packer(names: &'static [&'static str]) -> ProgramSpec {
    ProgramSpec { long: LONG, operands: Operands::Rule, rule: Some(pack), options_first: true, ..ProgramSpec::new(names) }
}

/// Not listed: `-r`, `-S`, `-N`, `--files`, which change which files are used.
pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec { flags: "cdfklnqtv123456789", ..packer(&["gzip", "gunzip"]) },
    ProgramSpec { flags: "cdfkqstvz123456789", ..packer(&["bzip2", "bunzip2"]) },
    ProgramSpec {
        flags: "cdefklqtvz0123456789",
        valued: &[("T", ArgumentRole::Text), ("threads", ArgumentRole::Text)],
        ..packer(&["xz", "unxz"])
    },
    ProgramSpec {
        flags: "cdfklqtvz0123456789",
        long: &[
            "stdout",
            "decompress",
            "uncompress",
            "compress",
            "keep",
            "list",
            "test",
            "force",
            "quiet",
            "verbose",
            "rm",
            "ultra",
            "long",
            "version",
        ],
        valued: &[("o", ArgumentRole::Path(Access::Write)), ("D", ArgumentRole::Read)],
        attached: &[("T", ArgumentRole::Text), ("fast", ArgumentRole::Text)],
        ..packer(&["zstd", "unzstd", "zstdmt"])
    },
    ProgramSpec {
        flags: "fqv",
        operands: Operands::All(ArgumentRole::Read),
        ..ProgramSpec::new(&["zcat", "gzcat", "bzcat", "xzcat", "lzcat", "zstdcat"])
    },
    ProgramSpec { operands: Operands::All(ArgumentRole::Read), ..ProgramSpec::new(&["zdiff", "zcmp", "zless", "zmore"]) },
    ProgramSpec::unreadable(&[
        "pigz",
        "unpigz",
        "compress",
        "uncompress",
        "lzma",
        "unlzma",
        "lz4",
        "unlz4",
        "lzop",
        "brotli",
        "pbzip2",
        "pixz",
    ]),
];

fn pack(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    // The value of `-o` is always the next argument, and letters after a number are further options.
    let is_split = |arg: &Arg| match arg.text().and_then(|text| text.strip_prefix('-')) {
        Some(letters) if letters.starts_with('-') || matches!(letters, "o" | "D") => false,
        Some(letters) => {
            letters.contains(['o', 'D']) || letters.split_once('T').is_some_and(|(_, n)| !n.bytes().all(|b| b.is_ascii_digit()))
        }
        None => false,
    };
    if call.name.contains("zst") && call.args.iter().any(is_split) {
        return reader.add_unknown(format!("`{}` has combined options, whose values cannot be determined", call.name));
    }
    let packs = parsed.has(&["z", "compress"]);
    let unpacks = parsed.has(&["d", "decompress", "uncompress"]) || call.name.contains("un");
    let looks = parsed.has_early(&["t", "test", "l", "list"]);
    let removes = parsed.has(&["rm"]);
    let prints = parsed.has_early(&["c", "stdout", "to-stdout"]);
    // Depending on the program, the last option counts, or the first, or both.
    if !parsed.is_ordered()
        && parsed.has(&["c", "stdout", "to-stdout", "t", "test", "l", "list", "d", "decompress", "z", "k", "keep"])
    {
        return reader.add_unknown(format!("`{}` has options after its files, which it may take for files", call.name));
    }
    if u8::from(packs) + u8::from(unpacks) + u8::from(looks) > 1
        || (removes && (prints || looks))
        || (prints && parsed.has(&["o"]))
    {
        return reader.add_unknown(format!("`{}` has options that contradict each other", call.name));
    }
    let keeps = parsed.has(&["k", "keep"]) || (call.name.contains("zst") && !removes);
    for file in parsed.operands.iter().filter(|file| !file.is_text("-")) {
        reader.touch(call.state, call.name, file, Access::Read);
        if looks || prints {
            continue;
        }
        if !parsed.has(&["o"]) {
            let (packed, bundle) = suffixes(call.name);
            let end = if unpacks {
                let bundle = remove_suffix(file, bundle).map(|stem| append_suffix(&stem, ".tar"));
                remove_suffix(file, packed).or(bundle)
            } else {
                Some(append_suffix(file, packed))
            };
            match end {
                Some(end) => replace(reader, call, &end),
                None => reader.add_unknown(format!(
                    "which file `{}` creates from `{}` cannot be determined",
                    call.name,
                    file.display()
                )),
            }
        }
        if !keeps {
            reader.touch(call.state, call.name, file, Access::Delete);
        }
    }
}

/// The suffix of a compressed file, and that of a compressed `tar` archive.
fn suffixes(program: &str) -> (&'static str, &'static str) {
    match program {
        "bzip2" | "bunzip2" => (".bz2", ".tbz2"),
        "xz" | "unxz" => (".xz", ".txz"),
        "zstd" | "unzstd" | "zstdmt" => (".zst", ".tzst"),
        _ => (".gz", ".tgz"),
    }
}
