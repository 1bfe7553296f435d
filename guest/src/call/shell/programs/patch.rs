//! `patch`, and the file names in the diffs that it and `git apply` are given.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Input, Trace};
use super::super::value::{Arg, UNKNOWN};
use super::super::world::World;
use super::Call;
use crate::call::effect::Deed;
use crate::call::patch::{self, Dialect};
use crate::ports::Root;

/// Longer patches are not looked into.
const MOST_BYTES: u64 = 1024 * 1024;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    if matches!(call.name, "apply_patch" | "applypatch") {
        apply_envelope(trace, call);
        return true;
    }
    if call.name != "patch" && call.name != "gpatch" {
        return false;
    }
    let spec = Spec::new(
        "pdioBDFgrVYzb",
        &["strip", "directory", "input", "output", "prefix", "ifdef", "fuzz", "get", "reject-file", "suffix", "basename-prefix"],
    );
    let spec = Spec { letters: if call.args.iter().any(|arg| arg.text == "-b") { "pdioBDFgrVYz" } else { spec.letters }, ..spec };
    let flags = Flags::parse(call.args, spec);
    if flags.has(&["dry-run", "C", "check"]) {
        return true;
    }
    let mut world = call.world.clone();
    if let Some(folder) = flags.value(&["d", "directory"]) {
        world.cwd = world.join(&folder.text);
    }
    for file in flags.values(&["r", "reject-file"]) {
        trace.touch(&world, call.name, file, Deed::Write);
    }
    if let Some(output) = flags.value(&["o", "output"]) {
        trace.touch(&world, call.name, output, Deed::Write);
        return true;
    }
    let suffix = flags.value(&["z", "suffix"]).map_or(".orig", |suffix| suffix.text.as_str());
    let write = |trace: &mut Trace<'_>, path: &str| {
        trace.touch_path(&world, call.name, path, Deed::Write);
        if flags.has(&["b", "backup", "z"]) {
            trace.touch_path(&world, call.name, &format!("{path}{suffix}"), Deed::Write);
        }
    };
    if let Some(file) = flags.operands.first() {
        for path in trace.paths(call.world, call.name, file, Deed::Write) {
            write(trace, &path);
        }
        return true;
    }
    let given = flags.value(&["i", "input"]).filter(|file| file.text != "-");
    match (text(trace, call.world, call.input, given), flags.value(&["p", "strip"]).map(|strip| strip.text.parse::<usize>())) {
        (Some(text), Some(Ok(strip))) => {
            names(&text).iter().filter_map(|name| stripped(name, strip)).for_each(|path| write(trace, path))
        }
        // Without a count the file is looked for under all of its shorter names.
        (Some(text), None) => {
            for name in names(&text) {
                let parts = name.matches('/').count();
                (0..=parts).filter_map(|strip| stripped(&name, strip)).for_each(|path| write(trace, path));
            }
        }
        _ => trace.unknown(format!("`{}` changes the files that its input names", call.shown())),
    }
    true
}

/// The command that some hosts give their models: a patch in its envelope, as an argument or as input.
fn apply_envelope(trace: &mut Trace<'_>, call: &Call<'_>) {
    let given = match call.args {
        [] => text(trace, call.world, call.input, None),
        [patch, ..] => patch.is_known().then(|| patch.text.clone()),
    };
    match given.and_then(|text| patch::changes(&text, Dialect::Any).ok()) {
        Some(changes) => {
            changes.iter().for_each(|change| trace.touch_path(call.world, call.name, &change.path, change.deed));
        }
        None => trace.unknown(format!("`{}` is given a patch that cannot be read", call.name)),
    }
}

/// The patch itself, where it can be had: a here-document, or a file of the workspace that this command does not touch.
pub(super) fn text(trace: &Trace<'_>, world: &World, input: &Input, file: Option<&Arg>) -> Option<String> {
    let path = match (file, input) {
        (Some(file), _) if file.is_known() && file.pattern.is_none() => file.text.as_str(),
        (None, Input::Text(text)) => return (!text.contains(UNKNOWN)).then(|| text.clone()),
        (None, Input::File(path)) => path,
        _ => return None,
    };
    let path = trace.located(world, path).filter(|path| !path.starts_with('~') && !trace.is_touched(path))?;
    let bytes = trace.workspace.read(Root::Project, &path, MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// All file names in a diff's headers.
pub(super) fn names(patch: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in patch.lines() {
        let line = line.trim_start();
        let headers = ["--- ", "+++ ", "*** ", "rename from ", "rename to ", "copy to ", "Index: "];
        let Some(rest) = headers.iter().find_map(|header| line.strip_prefix(header)) else {
            if let Some(rest) = line.strip_prefix("diff --git ") {
                names.extend(rest.split_whitespace().map(str::to_owned));
            }
            continue;
        };
        // A time may follow behind a tab, and older tools put blanks before it.
        let name = rest.split('\t').next().unwrap_or_default().trim().trim_matches('"');
        if !name.is_empty() && name != "/dev/null" && !name.ends_with("****") {
            let whole = line.starts_with("rename") || line.starts_with("copy");
            names.push(if whole { format!("b/{name}") } else { name.to_owned() });
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// A name with its first folders taken off.
pub(super) fn stripped(name: &str, strip: usize) -> Option<&str> {
    let mut rest = name;
    for _ in 0..strip {
        rest = rest.split_once('/')?.1.trim_start_matches('/');
    }
    Some(rest).filter(|rest| !rest.is_empty())
}
