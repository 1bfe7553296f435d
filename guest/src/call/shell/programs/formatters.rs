//! Formatters and linters: programs that rewrite the files they are given.
//!
//! Each runs plug-ins and keeps caches, so it is entered as run; the files that it is told to rewrite are entered as well.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::command_of;
use super::spec::{Invocation, Mode, Operands, Parsed, Program, Role};
use crate::effects::Access;

const REWRITE: Operands = Operands::All(Role::Rewrite);
const LOOK: Operands = Operands::All(Role::Text);

pub(super) const ROWS: &[Program] = &[
    Program {
        flags: "wcl",
        long: &["write", "check", "list-different"],
        valued: &[
            ("config", Role::Read),
            ("ignore-path", Role::Read),
            ("log-level", Role::Text),
            ("parser", Role::Text),
            ("plugin", Role::Text),
            ("print-width", Role::Text),
            ("stdin-filepath", Role::Text),
            ("tab-width", Role::Text),
            ("cache-location", Role::Path(Access::Write)),
        ],
        modes: &[Mode { when: &["w", "write"], operands: REWRITE }],
        ..Program::opaque(&["prettier"])
    },
    Program {
        long: &["fix"],
        valued: &[
            ("c", Role::Read),
            ("f", Role::Text),
            ("o", Role::Path(Access::Write)),
            ("cache-file", Role::Path(Access::Write)),
            ("cache-location", Role::Path(Access::WriteTree)),
            ("config", Role::Read),
            ("ext", Role::Text),
            ("fix-type", Role::Text),
            ("format", Role::Text),
            ("ignore-path", Role::Read),
            ("ignore-pattern", Role::Text),
            ("max-warnings", Role::Text),
            ("output-file", Role::Path(Access::Write)),
            ("parser", Role::Text),
            ("plugin", Role::Text),
            ("resolve-plugins-relative-to", Role::Text),
            ("rule", Role::Text),
            ("rulesdir", Role::Text),
        ],
        modes: &[Mode { when: &["fix"], operands: REWRITE }],
        rule: Some(everything_with_fix),
        ..Program::opaque(&["eslint", "eslint_d", "stylelint", "standard", "xo", "oxlint", "tslint"])
    },
    Program {
        flags: "q",
        long: &["check", "diff", "color"],
        valued: &[
            ("c", Role::Text),
            ("l", Role::Text),
            ("t", Role::Text),
            ("code", Role::Text),
            ("config", Role::Read),
            ("exclude", Role::Text),
            ("extend-exclude", Role::Text),
            ("include", Role::Text),
            ("line-length", Role::Text),
            ("target-version", Role::Text),
        ],
        operands: REWRITE,
        modes: &[Mode { when: &["check", "diff", "c", "code"], operands: LOOK }],
        ..Program::opaque(&["black", "blue"])
    },
    Program {
        flags: "cdq",
        long: &["check", "check-only", "diff", "stdout"],
        valued: &[
            ("l", Role::Text),
            ("line-length", Role::Text),
            ("profile", Role::Text),
            ("p", Role::Text),
            ("settings-path", Role::Read),
            ("sp", Role::Read),
            ("skip", Role::Text),
        ],
        operands: REWRITE,
        modes: &[Mode { when: &["c", "d", "check", "check-only", "diff", "stdout"], operands: LOOK }],
        ..Program::opaque(&["isort"])
    },
    Program {
        flags: "ird",
        long: &["in-place", "recursive", "diff"],
        valued: &[
            ("style", Role::Text),
            ("max-line-length", Role::Text),
            ("e", Role::Text),
            ("exclude", Role::Text),
            ("ignore", Role::Text),
            ("select", Role::Text),
        ],
        modes: &[Mode { when: &["i", "in-place"], operands: REWRITE }],
        ..Program::opaque(&[
            "autopep8",
            "yapf",
            "autoflake",
            "docformatter",
            "pyupgrade",
            "clang-format",
            "mdformat",
            "buildifier",
        ])
    },
    Program { rule: Some(ruff), ..Program::opaque(&["ruff"]) },
    Program {
        long: &["check"],
        valued: &[
            ("config", Role::Text),
            ("config-path", Role::Read),
            ("edition", Role::Text),
            ("emit", Role::Text),
            ("color", Role::Text),
        ],
        operands: REWRITE,
        modes: &[Mode { when: &["check"], operands: LOOK }],
        ..Program::opaque(&["rustfmt", "stylua", "taplo-fmt"])
    },
    Program {
        single_dash: true,
        flags: "delsw",
        valued: &[("r", Role::Text), ("cpuprofile", Role::Path(Access::Write)), ("local", Role::Text)],
        modes: &[Mode { when: &["w"], operands: REWRITE }],
        ..Program::opaque(&["gofmt", "goimports", "gofumpt"])
    },
    Program {
        flags: "wdls",
        long: &["write", "diff", "list", "simplify"],
        valued: &[("i", Role::Text), ("indent", Role::Text), ("ln", Role::Text)],
        modes: &[Mode { when: &["w", "write"], operands: REWRITE }],
        ..Program::opaque(&["shfmt"])
    },
    Program {
        flags: "aAx",
        long: &["auto-correct", "autocorrect", "auto-correct-all", "autocorrect-all", "fix-layout"],
        valued: &[
            ("c", Role::Read),
            ("o", Role::Path(Access::Write)),
            ("config", Role::Read),
            ("only", Role::Text),
            ("out", Role::Path(Access::Write)),
            ("format", Role::Text),
            ("f", Role::Text),
        ],
        modes: &[Mode {
            when: &["a", "A", "x", "auto-correct", "autocorrect", "auto-correct-all", "autocorrect-all", "fix-layout"],
            operands: REWRITE,
        }],
        ..Program::opaque(&["rubocop", "standardrb"])
    },
    Program { rule: Some(biome), ..Program::opaque(&["biome"]) },
    Program {
        operands: REWRITE,
        long: &["lint", "dry-run"],
        valued: &[("config", Role::Read), ("swiftversion", Role::Text)],
        modes: &[Mode { when: &["lint", "dry-run"], operands: LOOK }],
        ..Program::opaque(&["swiftformat"])
    },
];

/// A linter that fixes without being told where does so everywhere.
fn everything_with_fix(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    if parsed.has(&["fix"]) && parsed.operands.is_empty() {
        super::enter(reader, call, Role::Rewrite, &Arg::known("."));
    }
}

fn everything(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    const LOOKS: &[&str] = &["check", "diff", "h", "help"];
    if parsed.operands.is_empty() && !parsed.has(LOOKS) {
        super::enter(reader, call, Role::Rewrite, &Arg::known("."));
    }
}

const RUFF_VALUES: &[(&str, Role)] = &[
    ("o", Role::Path(Access::Write)),
    ("cache-dir", Role::Path(Access::WriteTree)),
    ("config", Role::Text),
    ("exclude", Role::Text),
    ("extend-select", Role::Text),
    ("fixable", Role::Text),
    ("ignore", Role::Text),
    ("line-length", Role::Text),
    ("output-file", Role::Path(Access::Write)),
    ("output-format", Role::Text),
    ("select", Role::Text),
    ("stdin-filename", Role::Text),
    ("target-version", Role::Text),
];

const RUFF: &[Program] = &[
    Program {
        long: &["fix", "fix-only", "unsafe-fixes", "add-noqa", "diff"],
        valued: RUFF_VALUES,
        modes: &[Mode { when: &["diff"], operands: LOOK }, Mode { when: &["fix", "fix-only", "add-noqa"], operands: REWRITE }],
        rule: Some(everything_with_fix),
        ..Program::opaque(&["check"])
    },
    Program {
        flags: "h",
        long: &["check", "diff", "help"],
        valued: RUFF_VALUES,
        operands: REWRITE,
        modes: &[Mode { when: &["check", "diff"], operands: LOOK }],
        rule: Some(everything),
        ..Program::opaque(&["format"])
    },
];

fn ruff(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &Parsed<'_>) {
    command_of(reader, call, &[RUFF]);
}

const BIOME: &[Program] = &[Program {
    long: &["write", "apply", "apply-unsafe", "fix", "unsafe"],
    valued: &[("config-path", Role::Read), ("max-diagnostics", Role::Text), ("reporter", Role::Text)],
    modes: &[Mode { when: &["write", "apply", "apply-unsafe", "fix"], operands: REWRITE }],
    ..Program::opaque(&["check", "format", "lint"])
}];

fn biome(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &Parsed<'_>) {
    command_of(reader, call, &[BIOME]);
}
