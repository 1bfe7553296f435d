//! Programs that only read, except for an output file named by an option or the last operand, or an option that runs something.

use super::derived_paths::{append_suffix, parent};
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::effects::Access;
use crate::ports::FileKind;

const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);
const FILES: Operands = Operands::All(ArgumentRole::Read);
const INPUT_THEN_OUTPUT: Operands = Operands::Then(&[ArgumentRole::Read], WRITE);

pub(super) const ROWS: &[ProgramSpec] = &[
    // Not listed: `--compress-program`, `-T`.
    ProgramSpec {
        flags: "bdfghinMrRVuszcCm",
        long: &[
            "ignore-leading-blanks",
            "dictionary-order",
            "ignore-case",
            "general-numeric-sort",
            "human-numeric-sort",
            "month-sort",
            "numeric-sort",
            "random-sort",
            "reverse",
            "version-sort",
            "merge",
            "stable",
            "unique",
            "zero-terminated",
            "version",
        ],
        valued: &[
            ("k", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("S", ArgumentRole::Text),
            ("key", ArgumentRole::Text),
            ("field-separator", ArgumentRole::Text),
            ("buffer-size", ArgumentRole::Text),
            ("parallel", ArgumentRole::Text),
            ("sort", ArgumentRole::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        attached: &[("check", ArgumentRole::Text)],
        operands: FILES,
        ..ProgramSpec::new(&["sort"])
    },
    ProgramSpec {
        flags: "cdDuiz",
        long: &["count", "repeated", "unique", "ignore-case", "zero-terminated", "version"],
        valued: &[
            ("f", ArgumentRole::Text),
            ("s", ArgumentRole::Text),
            ("w", ArgumentRole::Text),
            ("skip-fields", ArgumentRole::Text),
            ("skip-chars", ArgumentRole::Text),
            ("check-chars", ArgumentRole::Text),
        ],
        attached: &[("all-repeated", ArgumentRole::Text), ("group", ArgumentRole::Text)],
        operands: INPUT_THEN_OUTPUT,
        rule: Some(no_late_options),
        options_first: true,
        ..ProgramSpec::new(&["uniq"])
    },
    ProgramSpec {
        flags: "erz",
        long: &["echo", "repeat", "zero-terminated", "version"],
        valued: &[
            ("i", ArgumentRole::Text),
            ("n", ArgumentRole::Text),
            ("input-range", ArgumentRole::Text),
            ("head-count", ArgumentRole::Text),
            ("random-source", ArgumentRole::Read),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..ProgramSpec::new(&["shuf"])
    },
    // The value of a letter is always the next argument, so combinations of letters are listed one by one. Not listed: `-R`,
    // which in some versions writes a file into every folder.
    ProgramSpec {
        flags: "adlfxiqNQpugshDFvtcUrASnCXJ",
        long: &[
            "la",
            "ad",
            "da",
            "-dirsfirst",
            "-filesfirst",
            "-noreport",
            "-gitignore",
            "-prune",
            "-du",
            "-si",
            "-inodes",
            "-device",
            "-ignore-case",
            "-version",
        ],
        valued: &[
            ("L", ArgumentRole::Text),
            ("aL", ArgumentRole::Text),
            ("dL", ArgumentRole::Text),
            ("P", ArgumentRole::Text),
            ("I", ArgumentRole::Text),
            ("-filelimit", ArgumentRole::Text),
            ("-charset", ArgumentRole::Text),
            ("-timefmt", ArgumentRole::Text),
            ("o", WRITE),
        ],
        single_dash: true,
        operands: FILES,
        ..ProgramSpec::new(&["tree"])
    },
    // `-i` reads a file in one version and takes no value in the others.
    ProgramSpec {
        flags: "dDi",
        long: &["decode", "ignore-garbage", "version"],
        valued: &[
            ("w", ArgumentRole::Text),
            ("b", ArgumentRole::Text),
            ("wrap", ArgumentRole::Text),
            ("break", ArgumentRole::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..ProgramSpec::new(&["base64"])
    },
    // Letters cannot be combined; an option is recognised by its first letter, so only full words are listed.
    ProgramSpec {
        flags: "abeEipruCv",
        long: &["ps", "plain", "bits", "revert", "include", "autoskip", "upper"],
        valued: &[
            ("c", ArgumentRole::Text),
            ("g", ArgumentRole::Text),
            ("l", ArgumentRole::Text),
            ("s", ArgumentRole::Text),
            ("cols", ArgumentRole::Text),
            ("len", ArgumentRole::Text),
        ],
        single_dash: true,
        operands: INPUT_THEN_OUTPUT,
        rule: Some(no_late_options),
        ..ProgramSpec::new(&["xxd"])
    },
    ProgramSpec {
        flags: "csl",
        long: &["list", "silent", "version"],
        valued: &[
            ("f", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("from-code", ArgumentRole::Text),
            ("to-code", ArgumentRole::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..ProgramSpec::new(&["iconv"])
    },
    ProgramSpec { flags: "v", operands: Operands::All(ArgumentRole::Text), ..ProgramSpec::new(&["envsubst"]) },
    // Not listed: `-C`, which writes a compiled list, and `-z`, which runs programs.
    ProgramSpec {
        flags: "biLhkNnrs0v",
        long: &["brief", "mime", "mime-type", "mime-encoding", "dereference", "no-dereference", "version"],
        valued: &[
            ("F", ArgumentRole::Text),
            ("f", ArgumentRole::Read),
            ("m", ArgumentRole::Read),
            ("files-from", ArgumentRole::Read),
        ],
        operands: FILES,
        ..ProgramSpec::new(&["file"])
    },
    ProgramSpec { flags: "ilsWbBatE", valued: &[("w", ArgumentRole::Text)], operands: FILES, ..ProgramSpec::new(&["sdiff"]) },
    ProgramSpec { flags: "AmeExX3aT", operands: FILES, ..ProgramSpec::new(&["diff3"]) },
    // With `-G` the second operand is written.
    ProgramSpec { operands: FILES, ..ProgramSpec::new(&["ptx"]) },
    // Not listed: options for commands. Commands that are typed, or given as `+COMMAND`, can run anything.
    ProgramSpec { flags: "NRSFXEeirnsMmIJ", operands: FILES, rule: Some(no_commands), ..ProgramSpec::new(&["less"]) },
    ProgramSpec { flags: "s", operands: FILES, rule: Some(no_commands), ..ProgramSpec::new(&["more"]) },
    // Not listed: `--pager`.
    ProgramSpec {
        flags: "pnAPSfu",
        long: &["plain", "number", "show-all", "no-pager", "list-languages", "list-themes", "version"],
        valued: &[
            ("l", ArgumentRole::Text),
            ("r", ArgumentRole::Text),
            ("H", ArgumentRole::Text),
            ("language", ArgumentRole::Text),
            ("line-range", ArgumentRole::Text),
            ("style", ArgumentRole::Text),
            ("color", ArgumentRole::Text),
            ("theme", ArgumentRole::Text),
            ("paging", ArgumentRole::Text),
            ("file-name", ArgumentRole::Text),
        ],
        operands: FILES,
        rule: Some(no_cache),
        ..ProgramSpec::new(&["bat", "batcat"])
    },
    // Not listed: `-s`, which writes a file per document.
    ProgramSpec {
        flags: "rejCMNnPi",
        long: &[
            "inplace",
            "in-place",
            "raw-output",
            "null-input",
            "unwrapScalar",
            "no-doc",
            "prettyPrint",
            "exit-status",
            "version",
        ],
        valued: &[
            ("o", ArgumentRole::Text),
            ("p", ArgumentRole::Text),
            ("I", ArgumentRole::Text),
            ("output-format", ArgumentRole::Text),
            ("input-format", ArgumentRole::Text),
            ("indent", ArgumentRole::Text),
        ],
        operands: Operands::Then(&[ArgumentRole::Text], ArgumentRole::Read),
        rule: Some(edit_documents),
        ..ProgramSpec::new(&["yq"])
    },
    ProgramSpec {
        long: &["noout", "format", "valid", "huge", "recover", "html", "nonet", "nowarning", "noblanks", "c14n", "version"],
        valued: &[
            ("xpath", ArgumentRole::Text),
            ("schema", ArgumentRole::Read),
            ("relaxng", ArgumentRole::Read),
            ("encode", ArgumentRole::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..ProgramSpec::new(&["xmllint"])
    },
    ProgramSpec {
        flags: "aip",
        long: &["append", "ignore-interrupts", "version"],
        attached: &[("output-error", ArgumentRole::Text)],
        operands: Operands::All(WRITE),
        ..ProgramSpec::new(&["tee"])
    },
    ProgramSpec { flags: "a", operands: Operands::All(WRITE), ..ProgramSpec::new(&["sponge"]) },
    // Not listed: `--filter`, which runs a command for each part.
    ProgramSpec {
        flags: "dxeu",
        long: &["elide-empty-files", "verbose", "version"],
        valued: &[
            ("l", ArgumentRole::Text),
            ("b", ArgumentRole::Text),
            ("C", ArgumentRole::Text),
            ("n", ArgumentRole::Text),
            ("a", ArgumentRole::Text),
            ("lines", ArgumentRole::Text),
            ("bytes", ArgumentRole::Text),
            ("number", ArgumentRole::Text),
            ("suffix-length", ArgumentRole::Text),
        ],
        attached: &[("numeric-suffixes", ArgumentRole::Text), ("hex-suffixes", ArgumentRole::Text)],
        operands: Operands::Then(&[ArgumentRole::Read], ArgumentRole::Text),
        rule: Some(write_parts),
        ..ProgramSpec::new(&["split"])
    },
    // Not listed: `-b`, whose text can lead to another folder.
    ProgramSpec {
        flags: "skzq",
        long: &["silent", "quiet", "keep-files", "elide-empty-files", "version"],
        valued: &[
            ("f", ArgumentRole::Text),
            ("n", ArgumentRole::Text),
            ("prefix", ArgumentRole::Text),
            ("digits", ArgumentRole::Text),
        ],
        operands: Operands::Then(&[ArgumentRole::Read], ArgumentRole::Text),
        rule: Some(write_sections),
        ..ProgramSpec::new(&["csplit"])
    },
];

/// What looks like an option after the input may be taken for the output.
fn no_late_options(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if !parsed.is_ordered() {
        reader.add_unknown(format!("`{}` may treat an option after its input as its output", call.name));
    }
}

fn no_commands(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let may_be_command =
        |arg: &&&Arg| matches!(arg, Arg::Known(text) | Arg::One(text) if text.starts_with('+') || text.is_empty());
    if let Some(command) = parsed.operands.iter().find(may_be_command) {
        reader.add_unknown(format!("`{}` begins with the command `{}`", call.name, command.display()));
    }
}

/// `bat cache` is not a file.
fn no_cache(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.operands.first().is_some_and(|first| first.is_text("cache")) {
        reader.add_unknown(format!("`{} cache` changes what is kept for the user", call.name));
    }
}

/// `yq -i` writes its files. The first operand is an expression, unless there is a file of that name.
fn edit_documents(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if !parsed.has(&["i", "inplace", "in-place"]) {
        return;
    }
    let mut operands = parsed.operands.as_slice();
    if let [first, rest @ ..] = operands
        && matches!(first.text(), Some("e" | "eval" | "ea" | "eval-all"))
    {
        operands = rest;
    }
    let Some((expression, files)) = operands.split_first() else { return };
    if reader.kind(call.state, expression) != Some(FileKind::Missing) {
        reader.touch(call.state, call.name, expression, Access::Write);
    }
    for file in files {
        reader.touch(call.state, call.name, file, Access::Write);
    }
}

/// The parts are written side by side in the folder of the prefix.
fn write_parts(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    write_beside(reader, call, parsed.operands.get(1).copied());
}

fn write_sections(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    write_beside(reader, call, parsed.values(&["f", "prefix"]).last());
}

fn write_beside(reader: &mut ShellReader<'_>, call: &Invocation<'_>, prefix: Option<&Arg>) {
    // `dir/` and `dir/x` both write into `dir`.
    let folder = prefix.map_or_else(|| Arg::known("."), |prefix| parent(&append_suffix(prefix, "x")));
    reader.touch(call.state, call.name, &folder, Access::WriteTree);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_prefix() {
        for (prefix, folder) in [("part-", "."), ("src/part-", "src"), ("src/", "src"), ("/x", "/"), ("", ".")] {
            assert_eq!(parent(&append_suffix(&Arg::known(prefix), "x")), Arg::known(folder), "{prefix}");
        }
    }
}
