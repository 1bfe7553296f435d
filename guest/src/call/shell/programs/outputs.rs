//! Programs that only read, except for a file that an option or the last operand names, or an option that runs something.

use super::place::{parent, suffixed};
use super::{Invocation, Operands, Parsed, Program, Role};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::effects::Access;
use crate::ports::FileKind;

const WRITE: Role = Role::Path(Access::Write);
const FILES: Operands = Operands::All(Role::Read);
const INPUT_THEN_OUTPUT: Operands = Operands::Then(&[Role::Read], WRITE);

pub(super) const ROWS: &[Program] = &[
    // Not listed: `--compress-program`, `-T`.
    Program {
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
            ("k", Role::Text),
            ("t", Role::Text),
            ("S", Role::Text),
            ("key", Role::Text),
            ("field-separator", Role::Text),
            ("buffer-size", Role::Text),
            ("parallel", Role::Text),
            ("sort", Role::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        attached: &[("check", Role::Text)],
        operands: FILES,
        ..Program::new(&["sort"])
    },
    Program {
        flags: "cdDuiz",
        long: &["count", "repeated", "unique", "ignore-case", "zero-terminated", "version"],
        valued: &[
            ("f", Role::Text),
            ("s", Role::Text),
            ("w", Role::Text),
            ("skip-fields", Role::Text),
            ("skip-chars", Role::Text),
            ("check-chars", Role::Text),
        ],
        attached: &[("all-repeated", Role::Text), ("group", Role::Text)],
        operands: INPUT_THEN_OUTPUT,
        rule: Some(no_late_options),
        options_first: true,
        ..Program::new(&["uniq"])
    },
    Program {
        flags: "erz",
        long: &["echo", "repeat", "zero-terminated", "version"],
        valued: &[
            ("i", Role::Text),
            ("n", Role::Text),
            ("input-range", Role::Text),
            ("head-count", Role::Text),
            ("random-source", Role::Read),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..Program::new(&["shuf"])
    },
    // The value of a letter is always the next argument, so that combined letters are listed one by one. Not listed: `-R`,
    // which writes a file into every folder in some versions.
    Program {
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
            ("L", Role::Text),
            ("aL", Role::Text),
            ("dL", Role::Text),
            ("P", Role::Text),
            ("I", Role::Text),
            ("-filelimit", Role::Text),
            ("-charset", Role::Text),
            ("-timefmt", Role::Text),
            ("o", WRITE),
        ],
        single_dash: true,
        operands: FILES,
        ..Program::new(&["tree"])
    },
    // `-i` reads a file in one version and takes no value in the others.
    Program {
        flags: "dDi",
        long: &["decode", "ignore-garbage", "version"],
        valued: &[
            ("w", Role::Text),
            ("b", Role::Text),
            ("wrap", Role::Text),
            ("break", Role::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..Program::new(&["base64"])
    },
    // Letters cannot be combined; any option is known by its first letter, so that only whole words are listed.
    Program {
        flags: "abeEipruCv",
        long: &["ps", "plain", "bits", "revert", "include", "autoskip", "upper"],
        valued: &[
            ("c", Role::Text),
            ("g", Role::Text),
            ("l", Role::Text),
            ("s", Role::Text),
            ("cols", Role::Text),
            ("len", Role::Text),
        ],
        single_dash: true,
        operands: INPUT_THEN_OUTPUT,
        rule: Some(no_late_options),
        ..Program::new(&["xxd"])
    },
    Program {
        flags: "csl",
        long: &["list", "silent", "version"],
        valued: &[
            ("f", Role::Text),
            ("t", Role::Text),
            ("from-code", Role::Text),
            ("to-code", Role::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..Program::new(&["iconv"])
    },
    Program { flags: "v", operands: Operands::All(Role::Text), ..Program::new(&["envsubst"]) },
    // Not listed: `-C`, which writes a compiled list, and `-z`, which runs programs.
    Program {
        flags: "biLhkNnrs0v",
        long: &["brief", "mime", "mime-type", "mime-encoding", "dereference", "no-dereference", "version"],
        valued: &[("F", Role::Text), ("f", Role::Read), ("m", Role::Read), ("files-from", Role::Read)],
        operands: FILES,
        ..Program::new(&["file"])
    },
    Program { flags: "ilsWbBatE", valued: &[("w", Role::Text)], operands: FILES, ..Program::new(&["sdiff"]) },
    Program { flags: "AmeExX3aT", operands: FILES, ..Program::new(&["diff3"]) },
    // With `-G` the second operand is written.
    Program { operands: FILES, ..Program::new(&["ptx"]) },
    // Not listed: what is typed into them, or given as `+COMMAND`, can run anything.
    Program { flags: "NRSFXEeirnsMmIJ", operands: FILES, rule: Some(no_commands), ..Program::new(&["less"]) },
    Program { flags: "s", operands: FILES, rule: Some(no_commands), ..Program::new(&["more"]) },
    // Not listed: `--pager`.
    Program {
        flags: "pnAPSfu",
        long: &["plain", "number", "show-all", "no-pager", "list-languages", "list-themes", "version"],
        valued: &[
            ("l", Role::Text),
            ("r", Role::Text),
            ("H", Role::Text),
            ("language", Role::Text),
            ("line-range", Role::Text),
            ("style", Role::Text),
            ("color", Role::Text),
            ("theme", Role::Text),
            ("paging", Role::Text),
            ("file-name", Role::Text),
        ],
        operands: FILES,
        rule: Some(no_cache),
        ..Program::new(&["bat", "batcat"])
    },
    // Not listed: `-s`, which writes a file per document.
    Program {
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
            ("o", Role::Text),
            ("p", Role::Text),
            ("I", Role::Text),
            ("output-format", Role::Text),
            ("input-format", Role::Text),
            ("indent", Role::Text),
        ],
        operands: Operands::Then(&[Role::Text], Role::Read),
        rule: Some(edit_documents),
        ..Program::new(&["yq"])
    },
    Program {
        long: &["noout", "format", "valid", "huge", "recover", "html", "nonet", "nowarning", "noblanks", "c14n", "version"],
        valued: &[
            ("xpath", Role::Text),
            ("schema", Role::Read),
            ("relaxng", Role::Read),
            ("encode", Role::Text),
            ("o", WRITE),
            ("output", WRITE),
        ],
        operands: FILES,
        ..Program::new(&["xmllint"])
    },
    Program {
        flags: "aip",
        long: &["append", "ignore-interrupts", "version"],
        attached: &[("output-error", Role::Text)],
        operands: Operands::All(WRITE),
        ..Program::new(&["tee"])
    },
    Program { flags: "a", operands: Operands::All(WRITE), ..Program::new(&["sponge"]) },
    // Not listed: `--filter`, which runs a command for each part.
    Program {
        flags: "dxeu",
        long: &["elide-empty-files", "verbose", "version"],
        valued: &[
            ("l", Role::Text),
            ("b", Role::Text),
            ("C", Role::Text),
            ("n", Role::Text),
            ("a", Role::Text),
            ("lines", Role::Text),
            ("bytes", Role::Text),
            ("number", Role::Text),
            ("suffix-length", Role::Text),
        ],
        attached: &[("numeric-suffixes", Role::Text), ("hex-suffixes", Role::Text)],
        operands: Operands::Then(&[Role::Read], Role::Text),
        rule: Some(write_parts),
        ..Program::new(&["split"])
    },
    // Not listed: `-b`, whose text can lead to another folder.
    Program {
        flags: "skzq",
        long: &["silent", "quiet", "keep-files", "elide-empty-files", "version"],
        valued: &[("f", Role::Text), ("n", Role::Text), ("prefix", Role::Text), ("digits", Role::Text)],
        operands: Operands::Then(&[Role::Read], Role::Text),
        rule: Some(write_sections),
        ..Program::new(&["csplit"])
    },
];

/// After its input, what looks like an option may be its output.
fn no_late_options(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    if !parsed.is_ordered() {
        reader.unknown(format!("`{}` may take an option after its input for its output", call.name));
    }
}

fn no_commands(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let may_be_command =
        |arg: &&&Arg| matches!(arg, Arg::Known(text) | Arg::One(text) if text.starts_with('+') || text.is_empty());
    if let Some(command) = parsed.operands.iter().find(may_be_command) {
        reader.unknown(format!("`{}` begins with the command `{}`", call.name, command.display()));
    }
}

/// `bat cache` is not a file.
fn no_cache(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    if parsed.operands.first().is_some_and(|first| first.is("cache")) {
        reader.unknown(format!("`{} cache` changes what is kept for the user", call.name));
    }
}

/// `yq -i` writes its files. The first operand is an expression, unless a file of that name is there.
fn edit_documents(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
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

/// The parts stand beside one another in the folder of the prefix.
fn write_parts(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    write_beside(reader, call, parsed.operands.get(1).copied());
}

fn write_sections(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    write_beside(reader, call, parsed.values(&["f", "prefix"]).last());
}

fn write_beside(reader: &mut ShellReader<'_>, call: &Invocation<'_>, prefix: Option<&Arg>) {
    // `dir/` and `dir/x` both write into `dir`.
    let folder = prefix.map_or_else(|| Arg::known("."), |prefix| parent(&suffixed(prefix, "x")));
    reader.touch(call.state, call.name, &folder, Access::WriteTree);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_prefix() {
        for (prefix, folder) in [("part-", "."), ("src/part-", "src"), ("src/", "src"), ("/x", "/"), ("", ".")] {
            assert_eq!(parent(&suffixed(&Arg::known(prefix), "x")), Arg::known(folder), "{prefix}");
        }
    }
}
