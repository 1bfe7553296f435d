//! `git`: has its own table, with a row per command.
//!
//! | commands | what is recorded |
//! | --- | --- |
//! | that only read, with listed options | nothing |
//! | that change only the repository: `add`, `commit`, `fetch`, `push`, branches and tags | that git runs; hooks may do more |
//! | that change named files: `restore`, `checkout --`, `rm`, `mv`, `clean` | those files |
//! | that change whatever differs in the other branch: `switch`, `merge`, `stash` | *unknown* |
//!
//! Negated options (`--no-…`), abbreviated options, and pathspecs with patterns are not listed, and therefore *unknown*. If git
//! accepts an option's value only after `=`, the row must not take the next argument as the value: that argument may be
//! `--output=FILE`.

mod change;
mod look;
mod repository;
mod rules;

use super::super::reader::ShellReader;
use super::super::reader::arg::{Arg, display};
use super::super::reader::state::ShellState;
use super::command_of;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Unconfinable;

pub(super) const ROWS: &[ProgramSpec] = &[ProgramSpec {
    flags: "P",
    long: &["no-pager", "no-optional-locks"],
    valued: &[("C", ArgumentRole::Text), ("c", ArgumentRole::Text)],
    ends_at_operand: true,
    operands: Operands::Rule,
    answers: &["--version", "-v", "--help", "-h", "version", "help", "help *"],
    rule: Some(run),
    ..ProgramSpec::new(&["git"])
}];

/// Commands that may change any file; which files is only known when they run.
const CHANGE_ANYTHING: &[&str] = &[
    "am",
    "bisect",
    "checkout-index",
    "cherry-pick",
    "filter-branch",
    "filter-repo",
    "merge",
    "mergetool",
    "pull",
    "read-tree",
    "rebase",
    "replay",
    "revert",
    "sparse-checkout",
    "stash",
    "submodule",
    "subtree",
    "switch",
    "worktree",
];

/// Settings that `-c` may set for one call: in lower case, with the harmless values; an empty list means that all values are.
const SETTINGS: &[(&str, &[&str])] = &[
    ("advice.detachedhead", &[]),
    ("color.branch", &[]),
    ("color.diff", &[]),
    ("color.grep", &[]),
    ("color.status", &[]),
    ("color.ui", &[]),
    ("column.ui", &[]),
    ("commit.gpgsign", &["false"]),
    ("core.abbrev", &[]),
    ("core.autocrlf", &["false", "input", "true"]),
    ("core.editor", &["true", ":"]),
    ("core.fsmonitor", &["false"]),
    ("core.pager", &["", "cat", "less", "more"]),
    ("core.quotepath", &[]),
    ("diff.context", &[]),
    ("diff.mnemonicprefix", &[]),
    ("diff.noprefix", &[]),
    ("diff.renames", &[]),
    ("gc.auto", &["0"]),
    ("init.defaultbranch", &[]),
    ("log.date", &[]),
    ("log.showsignature", &["false"]),
    ("pager.branch", &["false", "cat"]),
    ("pager.diff", &["false", "cat"]),
    ("pager.log", &["false", "cat"]),
    ("pager.show", &["false", "cat"]),
    ("tag.gpgsign", &["false"]),
    ("user.email", &[]),
    ("user.name", &[]),
];

fn run(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some((command, args)) = parsed.operands.split_first() else { return };
    let Some(word) = command.text() else {
        return reader.add_unknown(format!("`git {}` is a command that is only known when it runs", command.display()));
    };
    let mut state = call.state.clone();
    for (option, value) in &parsed.options {
        match (option.as_str(), value) {
            ("C", Some(folder)) => enter_folder(&mut state, folder),
            ("c", Some(setting)) if !is_harmless(setting) => {
                reader.add_unknown(format!("`git -c {}` changes what git does", setting.display()));
            }
            _ => {}
        }
    }
    if let Some(why) = repository::doubt_reason(reader, &state) {
        reader.add_unknown(format!("`git {}` {why}", display(word)));
    }
    let mut words = vec![(*command).clone()];
    words.extend(args.iter().map(|arg| (*arg).clone()));
    let call = Invocation { name: "git", args: &words, state: &state, input: call.input };
    if command_of(reader, &call, &[look::ROWS, change::ROWS]) {
        return;
    }
    if CHANGE_ANYTHING.contains(&word) {
        return change_anything(reader, &format!("git {word}"));
    }
    reader.add_unknown(format!("`git {}` is not a command whose effects are known", display(word)));
}

/// Records the reason for a command that changes files which are known only at run time.
fn change_anything(reader: &mut ShellReader<'_>, command: &str) {
    reader.add_unknown(format!("`{command}` may change any file of the workspace"));
    reader.add_unconfinable(Unconfinable::HalfWay(format!(
        "`{command}` may change any file, and would stop half-way at the first one out of scope"
    )));
}

/// `git -C FOLDER`.
fn enter_folder(state: &mut ShellState, folder: &Arg) {
    if !folder.is_text("") {
        state.cwd = state.locate(folder).map(|path| if path == "." { String::new() } else { path });
    }
}

fn is_harmless(setting: &Arg) -> bool {
    let Some((key, value)) = setting.text().and_then(|text| text.split_once('=')) else { return false };
    let key = key.to_ascii_lowercase();
    SETTINGS.iter().any(|(listed, values)| *listed == key && (values.is_empty() || values.contains(&value)))
}
