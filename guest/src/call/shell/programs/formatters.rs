//! Formatters and linters: programs that rewrite the given files.
//!
//! Each runs plug-ins and keeps caches, so it is recorded as run; the files that it rewrites are recorded as well.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::command_of;
use super::spec::{ArgumentRole, Invocation, OperandOverride, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Access;

const REWRITE: Operands = Operands::All(ArgumentRole::Rewrite);
const READ_ONLY_OPERANDS: Operands = Operands::All(ArgumentRole::Text);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        flags: "wcl",
        long: &["write", "check", "list-different"],
        valued: &[
            ("config", ArgumentRole::Read),
            ("ignore-path", ArgumentRole::Read),
            ("log-level", ArgumentRole::Text),
            ("parser", ArgumentRole::Text),
            ("plugin", ArgumentRole::Text),
            ("print-width", ArgumentRole::Text),
            ("stdin-filepath", ArgumentRole::Text),
            ("tab-width", ArgumentRole::Text),
            ("cache-location", ArgumentRole::Path(Access::Write)),
        ],
        modes: &[OperandOverride { when: &["w", "write"], operands: REWRITE }],
        ..ProgramSpec::opaque(&["prettier"])
    },
    ProgramSpec {
        long: &["fix"],
        valued: &[
            ("c", ArgumentRole::Read),
            ("f", ArgumentRole::Text),
            ("o", ArgumentRole::Path(Access::Write)),
            ("cache-file", ArgumentRole::Path(Access::Write)),
            ("cache-location", ArgumentRole::Path(Access::WriteTree)),
            ("config", ArgumentRole::Read),
            ("ext", ArgumentRole::Text),
            ("fix-type", ArgumentRole::Text),
            ("format", ArgumentRole::Text),
            ("ignore-path", ArgumentRole::Read),
            ("ignore-pattern", ArgumentRole::Text),
            ("max-warnings", ArgumentRole::Text),
            ("output-file", ArgumentRole::Path(Access::Write)),
            ("parser", ArgumentRole::Text),
            ("plugin", ArgumentRole::Text),
            ("resolve-plugins-relative-to", ArgumentRole::Text),
            ("rule", ArgumentRole::Text),
            ("rulesdir", ArgumentRole::Text),
        ],
        modes: &[OperandOverride { when: &["fix"], operands: REWRITE }],
        rule: Some(everything_with_fix),
        ..ProgramSpec::opaque(&["eslint", "eslint_d", "stylelint", "standard", "xo", "oxlint", "tslint"])
    },
    ProgramSpec {
        flags: "q",
        long: &["check", "diff", "color"],
        valued: &[
            ("c", ArgumentRole::Text),
            ("l", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("code", ArgumentRole::Text),
            ("config", ArgumentRole::Read),
            ("exclude", ArgumentRole::Text),
            ("extend-exclude", ArgumentRole::Text),
            ("include", ArgumentRole::Text),
            ("line-length", ArgumentRole::Text),
            ("target-version", ArgumentRole::Text),
        ],
        operands: REWRITE,
        modes: &[OperandOverride { when: &["check", "diff", "c", "code"], operands: READ_ONLY_OPERANDS }],
        ..ProgramSpec::opaque(&["black", "blue"])
    },
    ProgramSpec {
        flags: "cdq",
        long: &["check", "check-only", "diff", "stdout"],
        valued: &[
            ("l", ArgumentRole::Text),
            ("line-length", ArgumentRole::Text),
            ("profile", ArgumentRole::Text),
            ("p", ArgumentRole::Text),
            ("settings-path", ArgumentRole::Read),
            ("sp", ArgumentRole::Read),
            ("skip", ArgumentRole::Text),
        ],
        operands: REWRITE,
        modes: &[OperandOverride { when: &["c", "d", "check", "check-only", "diff", "stdout"], operands: READ_ONLY_OPERANDS }],
        ..ProgramSpec::opaque(&["isort"])
    },
    ProgramSpec {
        flags: "ird",
        long: &["in-place", "recursive", "diff"],
        valued: &[
            ("style", ArgumentRole::Text),
            ("max-line-length", ArgumentRole::Text),
            ("e", ArgumentRole::Text),
            ("exclude", ArgumentRole::Text),
            ("ignore", ArgumentRole::Text),
            ("select", ArgumentRole::Text),
        ],
        modes: &[OperandOverride { when: &["i", "in-place"], operands: REWRITE }],
        ..ProgramSpec::opaque(&[
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
    ProgramSpec { rule: Some(ruff), ..ProgramSpec::opaque(&["ruff"]) },
    ProgramSpec {
        long: &["check"],
        valued: &[
            ("config", ArgumentRole::Text),
            ("config-path", ArgumentRole::Read),
            ("edition", ArgumentRole::Text),
            ("emit", ArgumentRole::Text),
            ("color", ArgumentRole::Text),
        ],
        operands: REWRITE,
        modes: &[OperandOverride { when: &["check"], operands: READ_ONLY_OPERANDS }],
        ..ProgramSpec::opaque(&["rustfmt", "stylua", "taplo-fmt"])
    },
    ProgramSpec {
        single_dash: true,
        flags: "delsw",
        valued: &[("r", ArgumentRole::Text), ("cpuprofile", ArgumentRole::Path(Access::Write)), ("local", ArgumentRole::Text)],
        modes: &[OperandOverride { when: &["w"], operands: REWRITE }],
        ..ProgramSpec::opaque(&["gofmt", "goimports", "gofumpt"])
    },
    ProgramSpec {
        flags: "wdls",
        long: &["write", "diff", "list", "simplify"],
        valued: &[("i", ArgumentRole::Text), ("indent", ArgumentRole::Text), ("ln", ArgumentRole::Text)],
        modes: &[OperandOverride { when: &["w", "write"], operands: REWRITE }],
        ..ProgramSpec::opaque(&["shfmt"])
    },
    ProgramSpec {
        flags: "aAx",
        long: &["auto-correct", "autocorrect", "auto-correct-all", "autocorrect-all", "fix-layout"],
        valued: &[
            ("c", ArgumentRole::Read),
            ("o", ArgumentRole::Path(Access::Write)),
            ("config", ArgumentRole::Read),
            ("only", ArgumentRole::Text),
            ("out", ArgumentRole::Path(Access::Write)),
            ("format", ArgumentRole::Text),
            ("f", ArgumentRole::Text),
        ],
        modes: &[OperandOverride {
            when: &["a", "A", "x", "auto-correct", "autocorrect", "auto-correct-all", "autocorrect-all", "fix-layout"],
            operands: REWRITE,
        }],
        ..ProgramSpec::opaque(&["rubocop", "standardrb"])
    },
    ProgramSpec { rule: Some(biome), ..ProgramSpec::opaque(&["biome"]) },
    ProgramSpec {
        operands: REWRITE,
        long: &["lint", "dry-run"],
        valued: &[("config", ArgumentRole::Read), ("swiftversion", ArgumentRole::Text)],
        modes: &[OperandOverride { when: &["lint", "dry-run"], operands: READ_ONLY_OPERANDS }],
        ..ProgramSpec::opaque(&["swiftformat"])
    },
];

/// A linter that fixes without being given paths fixes everything.
fn everything_with_fix(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["fix"]) && parsed.operands.is_empty() {
        super::record_argument(reader, call, ArgumentRole::Rewrite, &Arg::known("."));
    }
}

fn everything(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    const CHECK_OPTIONS: &[&str] = &["check", "diff", "h", "help"];
    if parsed.operands.is_empty() && !parsed.has(CHECK_OPTIONS) {
        super::record_argument(reader, call, ArgumentRole::Rewrite, &Arg::known("."));
    }
}

const RUFF_VALUES: &[(&str, ArgumentRole)] = &[
    ("o", ArgumentRole::Path(Access::Write)),
    ("cache-dir", ArgumentRole::Path(Access::WriteTree)),
    ("config", ArgumentRole::Text),
    ("exclude", ArgumentRole::Text),
    ("extend-select", ArgumentRole::Text),
    ("fixable", ArgumentRole::Text),
    ("ignore", ArgumentRole::Text),
    ("line-length", ArgumentRole::Text),
    ("output-file", ArgumentRole::Path(Access::Write)),
    ("output-format", ArgumentRole::Text),
    ("select", ArgumentRole::Text),
    ("stdin-filename", ArgumentRole::Text),
    ("target-version", ArgumentRole::Text),
];

const RUFF: &[ProgramSpec] = &[
    ProgramSpec {
        long: &["fix", "fix-only", "unsafe-fixes", "add-noqa", "diff"],
        valued: RUFF_VALUES,
        modes: &[
            OperandOverride { when: &["diff"], operands: READ_ONLY_OPERANDS },
            OperandOverride { when: &["fix", "fix-only", "add-noqa"], operands: REWRITE },
        ],
        rule: Some(everything_with_fix),
        ..ProgramSpec::opaque(&["check"])
    },
    ProgramSpec {
        flags: "h",
        long: &["check", "diff", "help"],
        valued: RUFF_VALUES,
        operands: REWRITE,
        modes: &[OperandOverride { when: &["check", "diff"], operands: READ_ONLY_OPERANDS }],
        rule: Some(everything),
        ..ProgramSpec::opaque(&["format"])
    },
];

fn ruff(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    command_of(reader, call, &[RUFF]);
}

const BIOME: &[ProgramSpec] = &[ProgramSpec {
    long: &["write", "apply", "apply-unsafe", "fix", "unsafe"],
    valued: &[("config-path", ArgumentRole::Read), ("max-diagnostics", ArgumentRole::Text), ("reporter", ArgumentRole::Text)],
    modes: &[OperandOverride { when: &["write", "apply", "apply-unsafe", "fix"], operands: REWRITE }],
    ..ProgramSpec::opaque(&["check", "format", "lint"])
}];

fn biome(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    command_of(reader, call, &[BIOME]);
}
