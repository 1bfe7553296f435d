//! Formatters and linters that rewrite the files they are given.

use super::super::flags::{Flags, Spec};
use super::super::trace::Trace;
use super::super::value::Arg;
use super::Call;

/// When a formatter writes.
#[derive(Clone, Copy)]
enum When {
    /// Only with one of these options.
    With(&'static [&'static str]),
    /// Unless one of these options is given.
    Without(&'static [&'static str]),
}

/// Name, options that take values, and when it writes.
const FORMATTERS: &[(&str, Spec, When)] = &[
    (
        "prettier",
        Spec::new("", &["config", "parser", "ignore-path", "log-level", "plugin", "tab-width", "print-width"]),
        When::With(&["write", "w"]),
    ),
    (
        "black",
        Spec::new("ltC", &["line-length", "target-version", "config", "include", "exclude"]),
        When::Without(&["check", "diff", "c", "code"]),
    ),
    ("isort", Spec::new("l", &["profile", "settings-path"]), When::Without(&["c", "check-only", "check", "diff", "d", "stdout"])),
    ("autopep8", Spec::new("", &["max-line-length"]), When::With(&["i", "in-place"])),
    ("yapf", Spec::new("", &["style"]), When::With(&["i", "in-place"])),
    ("rustfmt", Spec::new("", &["config", "edition", "config-path", "emit"]), When::Without(&["check"])),
    ("gofmt", Spec::new("r", &[]), When::With(&["w"])),
    ("goimports", Spec::new("", &["local"]), When::With(&["w"])),
    ("clang-format", Spec::new("", &["style"]), When::With(&["i"])),
    ("shfmt", Spec::new("i", &["indent"]), When::With(&["w", "write"])),
    ("stylua", Spec::new("", &[]), When::Without(&["check"])),
    ("biome", Spec::new("", &["config-path"]), When::With(&["write", "apply", "fix"])),
    ("yq", Spec::new("I", &["indent"]), When::With(&["i", "inplace", "in-place"])),
    ("rubocop", Spec::new("c", &["config"]), When::With(&["a", "A", "auto-correct", "autocorrect", "fix-layout"])),
    ("stylelint", Spec::new("", &["config"]), When::With(&["fix"])),
    ("standard", Spec::new("", &[]), When::With(&["fix"])),
    ("taplo", Spec::new("", &[]), When::Without(&["check"])),
];

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    if call.name == "npx" || call.name == "bunx" || call.name == "pnpx" {
        // What it fetches is a program like any other, but for the formatters, whose files are named.
        let Some(at) = call.args.iter().position(|arg| !arg.text.starts_with('-')) else { return false };
        let fetched = call.args.iter().take(at).any(|arg| arg.text != "--yes" && arg.text != "-y" && arg.text != "--no-install");
        let (Some(name), false) = (call.args.get(at), fetched) else { return false };
        let known = FORMATTERS.iter().any(|(known, ..)| *known == name.text);
        let inner = Call { name: &name.text, args: call.args.get(at + 1..).unwrap_or_default(), ..*call };
        if known {
            trace.execute(call.world, None);
        }
        return known && run(trace, &inner);
    }
    if call.name == "eslint" || call.name == "ruff" {
        return linter(trace, call);
    }
    let Some((_, spec, when)) = FORMATTERS.iter().find(|(name, ..)| *name == call.name) else { return false };
    let flags = Flags::parse(call.args, *spec);
    let writes = match when {
        When::With(options) => flags.has(options),
        When::Without(options) => !flags.has(options),
    };
    if writes {
        let mut files: &[Arg] = &flags.operands;
        // The first operand is an expression, or a command.
        if matches!(call.name, "yq" | "biome" | "taplo") {
            files = files.get(1..).unwrap_or_default();
        }
        files.iter().for_each(|file| write(trace, call, file));
        if files.is_empty() && call.name != "yq" {
            write(trace, call, &Arg::plain("."));
        }
    }
    true
}

/// A quoted pattern is the formatter's own to expand.
fn write(trace: &mut Trace<'_>, call: &Call<'_>, file: &Arg) {
    if file.pattern.is_none() && file.text.contains(['*', '{']) {
        let head = file.text.split(['*', '{', '?', '[']).next().unwrap_or_default();
        let folder = head.rsplit_once('/').map_or(".", |(folder, _)| folder);
        return trace.write_deep(call, &Arg::plain(folder));
    }
    trace.write_deep(call, file);
}

fn linter(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    let spec = Spec::new(
        "cof",
        &[
            "config",
            "ext",
            "rule",
            "format",
            "output-file",
            "cache-location",
            "select",
            "ignore",
            "line-length",
            "target-version",
        ],
    );
    let flags = Flags::parse(call.args, spec);
    for output in flags.values(&["o", "output-file"]) {
        trace.touch(call.world, call.name, output, crate::call::effect::Deed::Write);
    }
    let mut files: &[Arg] = &flags.operands;
    let mut writes = flags.has(&["fix", "fix-only"]) && !flags.has(&["diff", "fix-dry-run"]);
    if call.name == "ruff" {
        let command = files.first().map_or("", |command| command.text.as_str());
        writes |= command == "format" && !flags.has(&["check", "diff"]);
        files = files.get(1..).unwrap_or_default();
    }
    if writes {
        files.iter().for_each(|file| write(trace, call, file));
        if files.is_empty() {
            write(trace, call, &Arg::plain("."));
        }
    } else {
        // Plugins and caches: a program like any other.
        trace.execute(call.world, None);
    }
    true
}
