//! Programs that only read, whatever their options, in every version: they cannot write a file or run a program.
//!
//! A program with one option that does is not here but in `outputs` or `searches`, with its options listed.

use super::{Operands, Program, Role};

/// The first operand is text, the others are files.
const TEXT_THEN_FILES: Operands = Operands::Then(&[Role::Text], Role::Read);

const fn texts(names: &'static [&'static str]) -> Program {
    Program { operands: Operands::All(Role::Text), ..Program::reader(names) }
}

pub(super) const ROWS: &[Program] = &[
    // Files as they are.
    Program::reader(&["cat", "tac", "nl", "rev", "sum", "cksum", "b2sum", "md5", "hd", "hexyl", "unexpand", "tsort"]),
    Program {
        valued: &[("n", Role::Text), ("c", Role::Text), ("lines", Role::Text), ("bytes", Role::Text), ("pid", Role::Text)],
        ..Program::reader(&["head", "tail"])
    },
    Program { attached: &[("files0-from", Role::Read)], ..Program::reader(&["wc"]) },
    Program::reader(&["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"]),
    Program { valued: &[("a", Role::Text)], ..Program::reader(&["shasum"]) },
    Program {
        valued: &[("d", Role::Text), ("f", Role::Text), ("c", Role::Text), ("b", Role::Text), ("w", Role::Text)],
        ..Program::reader(&["cut", "paste", "fold", "fmt"])
    },
    Program { valued: &[("t", Role::Text), ("i", Role::Text)], ..Program::reader(&["expand"]) },
    Program {
        valued: &[("s", Role::Text), ("c", Role::Text), ("o", Role::Text), ("N", Role::Text)],
        ..Program::reader(&["column"])
    },
    Program { valued: &[("t", Role::Text), ("j", Role::Text), ("o", Role::Text)], ..Program::reader(&["join"]) },
    Program::reader(&["cmp", "comm", "col", "colrm", "pr"]),
    Program {
        valued: &[
            ("U", Role::Text),
            ("C", Role::Text),
            ("I", Role::Text),
            ("x", Role::Text),
            ("L", Role::Text),
            ("label", Role::Text),
        ],
        ..Program::reader(&["diff"])
    },
    Program {
        valued: &[
            ("A", Role::Text),
            ("t", Role::Text),
            ("N", Role::Text),
            ("j", Role::Text),
            ("n", Role::Text),
            ("s", Role::Text),
        ],
        ..Program::reader(&["od", "hexdump"])
    },
    Program { valued: &[("n", Role::Text), ("t", Role::Text), ("e", Role::Text)], ..Program::reader(&["strings"]) },
    Program { valued: &[("w", Role::Text)], ..Program::reader(&["base32", "basenc"]) },
    // Patterns in files.
    Program {
        valued: &[
            ("A", Role::Text),
            ("B", Role::Text),
            ("C", Role::Text),
            ("m", Role::Text),
            ("e", Role::Text),
            ("f", Role::Read),
            ("regexp", Role::Text),
            ("file", Role::Read),
            ("max-count", Role::Text),
            ("after-context", Role::Text),
            ("before-context", Role::Text),
            ("context", Role::Text),
            ("include", Role::Text),
            ("exclude", Role::Text),
            ("exclude-dir", Role::Text),
            ("exclude-from", Role::Read),
        ],
        attached: &[("color", Role::Text), ("colour", Role::Text)],
        flags: "abcEFGHhiLlnoPqRrsvwxyzZUVIT0123456789",
        operands: TEXT_THEN_FILES,
        modes: &[super::Mode { when: &["e", "f", "regexp", "file"], operands: Operands::All(Role::Read) }],
        ..Program::reader(&["grep", "egrep", "fgrep"])
    },
    // Neither `jq` nor its language can write a file or run a program.
    Program {
        flags: "nrcsSCMaej",
        valued: &[("f", Role::Read), ("from-file", Role::Read), ("L", Role::Read), ("indent", Role::Text)],
        operands: TEXT_THEN_FILES,
        modes: &[super::Mode { when: &["f", "from-file"], operands: Operands::All(Role::Read) }],
        ..Program::reader(&["jq"])
    },
    // Folders and names.
    Program {
        valued: &[("I", Role::Text), ("w", Role::Text), ("T", Role::Text)],
        ..Program::reader(&["ls", "dir", "vdir", "exa", "eza", "lsd"])
    },
    Program {
        valued: &[("c", Role::Text), ("f", Role::Text), ("format", Role::Text), ("printf", Role::Text), ("t", Role::Text)],
        ..Program::reader(&["stat"])
    },
    Program {
        valued: &[("d", Role::Text), ("B", Role::Text), ("t", Role::Text), ("X", Role::Read), ("max-depth", Role::Text)],
        ..Program::reader(&["du"])
    },
    Program::reader(&["df", "realpath", "readlink", "namei", "getfacl", "lsattr"]),
    texts(&["basename", "dirname", "pathchk", "which", "whereis"]),
    // Text from arguments or the standard input.
    texts(&["echo", "printf", "true", "false", "test", "[", "pwd", "expr", "seq", "yes", "sleep", "tr", "factor", "numfmt"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// An option that is listed with a value swallows the next argument; here that must never be what is written.
    #[test]
    fn rows_only_read() {
        for row in ROWS {
            assert!(row.lenient && !row.opaque && row.rule.is_none(), "{:?}", row.names);
            let roles = row.valued.iter().chain(row.attached).map(|(_, role)| *role);
            assert!(roles.into_iter().all(|role| matches!(role, Role::Text | Role::Read)), "{:?}", row.names);
        }
    }
}
