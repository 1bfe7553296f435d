//! Programs that apply patches: every file that any interpretation of the patch could change.

use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::patch::{self, PatchDialect, Strip, targets};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::input::StandardInput;
use crate::effects::Access;

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        flags: "sNtR",
        long: &["silent", "quiet", "forward", "batch", "reverse", "dry-run"],
        valued: &[("p", ArgumentRole::Text), ("strip", ArgumentRole::Text)],
        rule: Some(unified),
        ..ProgramSpec::new(&["patch", "gpatch"])
    },
    // What some agent programs give their models: a patch in its envelope, as the only argument or as input.
    ProgramSpec {
        operands: Operands::All(ArgumentRole::Text),
        rule: Some(envelope),
        ..ProgramSpec::new(&["apply_patch", "applypatch"])
    },
];

/// `patch` looks for the files of its input, and leaves what did not fit beside them.
fn unified(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["dry-run"]) {
        return;
    }
    for path in enter_targets(reader, call, strip(parsed, Strip::Unsaid)) {
        for beside in targets::leftovers(&path) {
            reader.touch(call.state, call.name, &Arg::Known(beside), Access::Write);
        }
    }
}

/// How many folders are taken off the names in the patch, as the options say.
pub(super) fn strip(parsed: &ParsedArguments<'_>, unsaid: Strip) -> Option<Strip> {
    let mut counts = parsed.values(&["p", "strip"]);
    match (counts.next(), counts.next()) {
        (None, _) => Some(unsaid),
        (Some(count), None) => count.text().and_then(|count| count.parse().ok()).map(Strip::Exactly),
        (Some(_), Some(_)) => None,
    }
}

/// Enters every file that the patch on standard input could change. Where it cannot be seen, the call is unknown.
pub(super) fn enter_targets(reader: &mut ShellReader<'_>, call: &Invocation<'_>, strip: Option<Strip>) -> Vec<String> {
    let found = match (call.input, strip) {
        (StandardInput::Text(text), Some(strip)) => patch::every_target(text, strip).ok(),
        _ => None,
    };
    let Some(paths) = found else {
        reader.add_unknown(format!("`{}` changes the files that its patch names, which cannot be seen here", call.name));
        return Vec::new();
    };
    for path in &paths {
        let path = Arg::known(path.as_str());
        reader.touch(call.state, call.name, &path, Access::Write);
        reader.move_or_link(call.state, &path);
    }
    paths
}

fn envelope(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let text = match (parsed.operands.as_slice(), call.input) {
        ([], StandardInput::Text(text)) => Some(text.as_str()),
        ([patch], _) => patch.text(),
        _ => None,
    };
    match text.and_then(|text| patch::changes(text, PatchDialect::Any).ok()) {
        Some(changes) => {
            changes
                .iter()
                .for_each(|change| reader.touch(call.state, call.name, &Arg::known(change.path.as_str()), change.access));
        }
        None => reader.add_unknown(format!("`{}` is given a patch that cannot be read", call.name)),
    }
}
