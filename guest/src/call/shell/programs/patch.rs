//! Programs that apply patches: every file that the patch could change in any interpretation is recorded.

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
    // Programs that some agents offer to their models: the only argument, or the input, is a patch in its envelope.
    ProgramSpec {
        operands: Operands::All(ArgumentRole::Text),
        rule: Some(envelope),
        ..ProgramSpec::new(&["apply_patch", "applypatch"])
    },
];

/// `patch` finds the files in its input, and leaves rejected hunks beside them.
fn unified(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["dry-run"]) {
        return;
    }
    for path in enter_targets(reader, call, strip(parsed, Strip::Unspecified)) {
        for beside in targets::leftovers(&path) {
            reader.touch(call.state, call.name, &Arg::Known(beside), Access::Write);
        }
    }
}

/// How many folders are stripped from the names in the patch, according to the options.
pub(super) fn strip(parsed: &ParsedArguments<'_>, unsaid: Strip) -> Option<Strip> {
    let mut counts = parsed.values(&["p", "strip"]);
    match (counts.next(), counts.next()) {
        (None, _) => Some(unsaid),
        (Some(count), None) => count.text().and_then(|count| count.parse().ok()).map(Strip::Exactly),
        (Some(_), Some(_)) => None,
    }
}

/// Records every file that the patch on standard input could change. If the patch is not visible here, the call is unknown.
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
