//! Programs that only read, whatever their options, in every version: none of them can write a file or run a program.
//!
//! A program with even one option that can do so belongs in `outputs` or `searches`, with its options listed.

use super::{ArgumentRole, Operands, ProgramSpec};

/// The first operand is text, the others are files.
const TEXT_THEN_FILES: Operands = Operands::Then(&[ArgumentRole::Text], ArgumentRole::Read);

const fn texts(names: &'static [&'static str]) -> ProgramSpec {
    ProgramSpec { operands: Operands::All(ArgumentRole::Text), ..ProgramSpec::reader(names) }
}

pub(super) const ROWS: &[ProgramSpec] = &[
    // File contents.
    ProgramSpec::reader(&["cat", "tac", "nl", "rev", "sum", "cksum", "b2sum", "md5", "hd", "hexyl", "unexpand", "tsort"]),
    ProgramSpec {
        valued: &[
            ("n", ArgumentRole::Text),
            ("c", ArgumentRole::Text),
            ("lines", ArgumentRole::Text),
            ("bytes", ArgumentRole::Text),
            ("pid", ArgumentRole::Text),
        ],
        ..ProgramSpec::reader(&["head", "tail"])
    },
    ProgramSpec { attached: &[("files0-from", ArgumentRole::Read)], ..ProgramSpec::reader(&["wc"]) },
    ProgramSpec::reader(&["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"]),
    ProgramSpec { valued: &[("a", ArgumentRole::Text)], ..ProgramSpec::reader(&["shasum"]) },
    ProgramSpec {
        valued: &[
            ("d", ArgumentRole::Text),
            ("f", ArgumentRole::Text),
            ("c", ArgumentRole::Text),
            ("b", ArgumentRole::Text),
            ("w", ArgumentRole::Text),
        ],
        ..ProgramSpec::reader(&["cut", "paste", "fold", "fmt"])
    },
    ProgramSpec { valued: &[("t", ArgumentRole::Text), ("i", ArgumentRole::Text)], ..ProgramSpec::reader(&["expand"]) },
    ProgramSpec {
        valued: &[("s", ArgumentRole::Text), ("c", ArgumentRole::Text), ("o", ArgumentRole::Text), ("N", ArgumentRole::Text)],
        ..ProgramSpec::reader(&["column"])
    },
    ProgramSpec {
        valued: &[("t", ArgumentRole::Text), ("j", ArgumentRole::Text), ("o", ArgumentRole::Text)],
        ..ProgramSpec::reader(&["join"])
    },
    ProgramSpec::reader(&["cmp", "comm", "col", "colrm", "pr"]),
    ProgramSpec {
        valued: &[
            ("U", ArgumentRole::Text),
            ("C", ArgumentRole::Text),
            ("I", ArgumentRole::Text),
            ("x", ArgumentRole::Text),
            ("L", ArgumentRole::Text),
            ("label", ArgumentRole::Text),
        ],
        ..ProgramSpec::reader(&["diff"])
    },
    ProgramSpec {
        valued: &[
            ("A", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("N", ArgumentRole::Text),
            ("j", ArgumentRole::Text),
            ("n", ArgumentRole::Text),
            ("s", ArgumentRole::Text),
        ],
        ..ProgramSpec::reader(&["od", "hexdump"])
    },
    ProgramSpec {
        valued: &[("n", ArgumentRole::Text), ("t", ArgumentRole::Text), ("e", ArgumentRole::Text)],
        ..ProgramSpec::reader(&["strings"])
    },
    ProgramSpec { valued: &[("w", ArgumentRole::Text)], ..ProgramSpec::reader(&["base32", "basenc"]) },
    // Patterns in files.
    ProgramSpec {
        valued: &[
            ("A", ArgumentRole::Text),
            ("B", ArgumentRole::Text),
            ("C", ArgumentRole::Text),
            ("m", ArgumentRole::Text),
            ("e", ArgumentRole::Text),
            ("f", ArgumentRole::Read),
            ("regexp", ArgumentRole::Text),
            ("file", ArgumentRole::Read),
            ("max-count", ArgumentRole::Text),
            ("after-context", ArgumentRole::Text),
            ("before-context", ArgumentRole::Text),
            ("context", ArgumentRole::Text),
            ("include", ArgumentRole::Text),
            ("exclude", ArgumentRole::Text),
            ("exclude-dir", ArgumentRole::Text),
            ("exclude-from", ArgumentRole::Read),
        ],
        attached: &[("color", ArgumentRole::Text), ("colour", ArgumentRole::Text)],
        flags: "abcEFGHhiLlnoPqRrsvwxyzZUVIT0123456789",
        operands: TEXT_THEN_FILES,
        modes: &[super::OperandOverride { when: &["e", "f", "regexp", "file"], operands: Operands::All(ArgumentRole::Read) }],
        ..ProgramSpec::reader(&["grep", "egrep", "fgrep"])
    },
    // Neither `jq` nor its language can write a file or run a program.
    ProgramSpec {
        flags: "nrcsSCMaej",
        valued: &[
            ("f", ArgumentRole::Read),
            ("from-file", ArgumentRole::Read),
            ("L", ArgumentRole::Read),
            ("indent", ArgumentRole::Text),
        ],
        operands: TEXT_THEN_FILES,
        modes: &[super::OperandOverride { when: &["f", "from-file"], operands: Operands::All(ArgumentRole::Read) }],
        ..ProgramSpec::reader(&["jq"])
    },
    // Folders and names.
    ProgramSpec {
        valued: &[("I", ArgumentRole::Text), ("w", ArgumentRole::Text), ("T", ArgumentRole::Text)],
        ..ProgramSpec::reader(&["ls", "dir", "vdir", "exa", "eza", "lsd"])
    },
    ProgramSpec {
        valued: &[
            ("c", ArgumentRole::Text),
            ("f", ArgumentRole::Text),
            ("format", ArgumentRole::Text),
            ("printf", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
        ],
        ..ProgramSpec::reader(&["stat"])
    },
    ProgramSpec {
        valued: &[
            ("d", ArgumentRole::Text),
            ("B", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("X", ArgumentRole::Read),
            ("max-depth", ArgumentRole::Text),
        ],
        ..ProgramSpec::reader(&["du"])
    },
    ProgramSpec::reader(&["df", "realpath", "readlink", "namei", "getfacl", "lsattr"]),
    texts(&["basename", "dirname", "pathchk", "which", "whereis"]),
    // Text from arguments or from standard input.
    texts(&["echo", "printf", "true", "false", "test", "[", "pwd", "expr", "seq", "yes", "sleep", "tr", "factor", "numfmt"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A listed option with a value consumes the next argument; in these rows that argument must never be an output.
    #[test]
    fn rows_only_read() {
        for row in ROWS {
            assert!(row.lenient && !row.opaque && row.rule.is_none(), "{:?}", row.names);
            let roles = row.valued.iter().chain(row.attached).map(|(_, role)| *role);
            assert!(roles.into_iter().all(|role| matches!(role, ArgumentRole::Text | ArgumentRole::Read)), "{:?}", row.names);
        }
    }
}
