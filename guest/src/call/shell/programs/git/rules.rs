//! Rules for git commands that a row of the table cannot express.

use super::super::super::reader::ShellReader;
use super::super::super::reader::arg::Arg;
use super::super::super::reader::lexical;
use super::super::super::reader::state::ShellState;
use super::super::join_name;
use super::super::patch::{enter_targets, strip};
use super::super::spec::{Invocation, ParsedArguments};
use super::change_anything;
use crate::call::patch::Strip;
use crate::effects::Access;
use crate::ports::FileKind;

/// Records that the repository changes and that its hooks may run.
pub(super) fn run(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    reader.execute(call.state);
}

/// Like [`run`], with a remote as the first operand.
pub(super) fn run_with_remote(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    reader.execute(call.state);
    named_remote(reader, call, parsed);
}

/// Requires that a remote is a name or a network address. A folder would be a repository in which another git is started, and
/// `ext::…` is a command.
pub(super) fn named_remote(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let is_known = |remote: &&&Arg| remote.text().is_some_and(|text| is_name(text) || is_address(text));
    if let Some(remote) = parsed.operands.first().filter(|remote| !is_known(remote)) {
        reader.add_unknown(format!("`{}` is given `{}`, which is not the name of a remote", call.name, remote.display()));
    }
}

/// Requires that no operand looks like an option: commands that pass their operands on to another command lose the dashes that
/// end the options (`stash list -- --output=x`).
pub(super) fn no_dashes(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if let Some(operand) = parsed.operands.iter().find(|operand| operand.may_be_option()) {
        reader.add_unknown(format!("`{}` is given `{}`, which it may take for an option", call.name, operand.display()));
    }
}

fn is_name(text: &str) -> bool {
    !text.starts_with('.') && !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn is_address(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@~%+=?&".contains(c);
    let known = ["https://", "http://", "ssh://", "git://"].iter().any(|scheme| text.starts_with(scheme));
    // `user@host:path`
    let short = text.split_once('@').is_some_and(|(user, rest)| {
        is_name(user) && rest.split_once(':').is_some_and(|(host, path)| is_name(host) && !path.starts_with(':'))
    });
    (known || short) && text.chars().all(is_plain)
}

pub(super) fn branch_or_tag(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    const LIST: &[&str] = &["l", "list", "contains", "merged", "no-contains", "no-merged", "points-at", "show-current"];
    const CHANGE: &[&str] = &[
        "c",
        "C",
        "copy",
        "d",
        "D",
        "delete",
        "f",
        "force",
        "m",
        "M",
        "move",
        "set-upstream-to",
        "s",
        "sign",
        "track",
        "u",
        "unset-upstream",
    ];
    if parsed.has(CHANGE) || !(parsed.operands.is_empty() || parsed.has(LIST)) {
        reader.execute(call.state);
    }
}

pub(super) fn reset(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["hard", "keep", "merge"]) {
        reader.touch_path(".".to_owned(), Access::WriteTree);
    } else if parsed.has(&["p"]) {
        change_anything(reader, call.name);
    } else {
        reader.execute(call.state);
    }
}

pub(super) fn symbolic_ref(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.operands.len() > 1 {
        reader.execute(call.state);
    }
}

/// `git config`: reading is free of effects; anything else changes the file with the settings.
pub(super) fn config(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    const READ: &[&str] = &["get", "get-all", "get-regexp", "l", "list"];
    const CHANGE: &[&str] = &["add", "e", "edit", "remove-section", "rename-section", "replace-all", "unset", "unset-all"];
    let first = parsed.operands.first().and_then(|arg| arg.text()).unwrap_or_default();
    let reads = !parsed.has(CHANGE)
        && (parsed.has(READ)
            || matches!(first, "get" | "list")
            || (parsed.operands.len() == 1 && first.contains('.') && !parsed.has(&["value"])));
    if reads {
        return;
    }
    for file in parsed.values(&["f", "file"]) {
        reader.touch(call.state, call.name, file, Access::Write);
    }
    if parsed.has(&["f", "file"]) {
        // The file has already been recorded.
    } else if parsed.has(&["global"]) {
        reader.touch_path("~/.gitconfig".to_owned(), Access::Write);
        reader.touch_path("~/.config/git/config".to_owned(), Access::Write);
    } else if parsed.has(&["system"]) {
        reader.touch_path("/etc/gitconfig".to_owned(), Access::Write);
    } else {
        repository_settings(reader, call, parsed);
    }
}

/// Records the file with the repository's settings.
pub(super) fn repository_settings(reader: &mut ShellReader<'_>, _: &Invocation<'_>, _: &ParsedArguments<'_>) {
    reader.touch_path(".git/config".to_owned(), Access::Write);
}

/// Whether git takes an operand for exactly one path rather than a pattern.
fn is_exact(path: &Arg) -> bool {
    match path {
        Arg::Known(text) => !text.is_empty() && !text.starts_with([':', '-']) && !text.contains(['*', '?', '[', '\\']),
        Arg::Below(_, rest) => !rest.contains(['*', '?', '[', '\\']),
        Arg::One(_) | Arg::Many(_) => false,
    }
}

/// Records files that git restores from the repository. A restored file may be a link.
fn take(reader: &mut ShellReader<'_>, call: &Invocation<'_>, paths: &[&Arg]) {
    for path in paths {
        if !is_exact(path) {
            reader.add_unknown(format!(
                "`{}` is given `{}`, which may be a pattern for more than one file",
                call.name,
                path.display()
            ));
            continue;
        }
        let Some(place) = call.state.locate(path).map(|place| lexical(&place)) else {
            reader.touch(call.state, call.name, path, Access::Write);
            continue;
        };
        if place == "." || place.starts_with("..") {
            change_anything(reader, call.name);
            continue;
        }
        let is_folder = reader.kind(call.state, path) == Some(FileKind::Directory) || reader.may_have_written(&place);
        reader.touch(call.state, call.name, path, if is_folder { Access::WriteTree } else { Access::Write });
        reader.move_or_link(call.state, path);
    }
}

pub(super) fn restore(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["S", "staged"]) && !parsed.has(&["W", "worktree"]) {
        return reader.execute(call.state);
    }
    take(reader, call, &parsed.operands);
}

pub(super) fn checkout(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let operands = parsed.operands.as_slice();
    let creates = parsed.has(&["b", "B"]);
    if creates && operands.is_empty() {
        // A new branch at the current commit leaves every file as it is.
        return reader.execute(call.state);
    }
    let behind = call.args.iter().position(|arg| arg.is_text("--")).map(|at| call.args.len() - at - 1);
    match (behind, operands) {
        _ if creates => change_anything(reader, call.name),
        (_, []) => change_anything(reader, call.name),
        // Only one revision may precede the dashes.
        (Some(paths), operands) if paths > 0 && operands.len() <= paths + 1 => {
            take(reader, call, operands.get(operands.len() - paths..).unwrap_or_default());
        }
        // Git rejects an operand that could be both a branch and a file.
        (None, [path]) if exists(reader, call, path) => take(reader, call, operands),
        (None, [first, ..]) if operands.len() > 1 && exists(reader, call, first) => take(reader, call, operands),
        (None, [revision, paths @ ..]) if !paths.is_empty() && is_revision(revision) => take(reader, call, paths),
        _ => change_anything(reader, call.name),
    }
}

fn exists(reader: &ShellReader<'_>, call: &Invocation<'_>, path: &Arg) -> bool {
    let untouched = call.state.locate(path).is_some_and(|place| !reader.may_have_written(&place));
    untouched && reader.kind(call.state, path).is_some_and(|kind| kind != FileKind::Missing)
}

/// Whether an operand that is not a file can only be a commit.
fn is_revision(arg: &Arg) -> bool {
    let Some(text) = arg.text() else { return false };
    let base = text.split(['~', '^']).next().unwrap_or_default();
    base == "HEAD" || base == "@" || (base.len() >= 7 && base.chars().all(|c| c.is_ascii_hexdigit()))
}

pub(super) fn switch(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["c", "create"]) && parsed.operands.is_empty() {
        reader.execute(call.state);
    } else {
        change_anything(reader, call.name);
    }
}

pub(super) fn stash_push(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.operands.is_empty() {
        change_anything(reader, call.name);
    } else {
        take(reader, call, &parsed.operands);
    }
}

pub(super) fn remove(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["n", "dry-run"]) {
        return;
    }
    if parsed.has(&["cached"]) {
        return reader.execute(call.state);
    }
    let access = if parsed.has(&["r"]) { Access::DeleteTree } else { Access::Delete };
    delete(reader, call, parsed, access);
}

fn delete(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>, access: Access) {
    for path in &parsed.operands {
        if is_exact(path) {
            reader.touch(call.state, call.name, path, access);
        } else {
            reader.add_unknown(format!(
                "`{}` is given `{}`, which may be a pattern for more than one file",
                call.name,
                path.display()
            ));
        }
    }
}

pub(super) fn clean(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["n", "dry-run"]) {
        return;
    }
    if parsed.operands.is_empty() {
        reader.touch(call.state, call.name, &Arg::known("."), Access::DeleteTree);
    }
    delete(reader, call, parsed, Access::DeleteTree);
}

pub(super) fn rename(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["n", "dry-run"]) {
        return;
    }
    let Some((target, sources)) = parsed.operands.split_last() else { return };
    if let Some(path) = parsed.operands.iter().find(|path| path.text().is_none()) {
        return reader.add_unknown(format!("`{}` is given `{}`, which is only known when it runs", call.name, path.display()));
    }
    let into = sources.len() > 1
        || target.text().is_some_and(|text| text.ends_with('/'))
        || reader.kind(call.state, target) == Some(FileKind::Directory);
    if !into && call.state.locate(target).is_some_and(|place| reader.may_have_written(&place)) {
        reader.add_unknown(format!(
            "`{}` moves a file to `{}`, which the command itself has created",
            call.name,
            target.display()
        ));
    }
    for source in sources {
        let is_folder = reader.kind(call.state, source) != Some(FileKind::File);
        let place = match (into, source.text(), target.text()) {
            (true, Some(source), Some(target)) => {
                let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                Arg::known(join_name(target.trim_end_matches('/'), name))
            }
            _ => (*target).clone(),
        };
        reader.touch(call.state, call.name, source, if is_folder { Access::DeleteTree } else { Access::Delete });
        reader.touch(call.state, call.name, &place, if is_folder { Access::WriteTree } else { Access::Write });
        reader.move_or_link(call.state, source);
        reader.move_or_link(call.state, &place);
    }
}

pub(super) fn clone(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    named_remote(reader, call, parsed);
    let place = match parsed.operands.as_slice() {
        [_, folder] => Some((*folder).clone()),
        [address] => address.text().map(|text| {
            let text = text.trim_end_matches('/');
            let text = text.strip_suffix(".git").unwrap_or(text);
            Arg::known(text.rsplit(['/', ':']).next().unwrap_or_default())
        }),
        _ => None,
    };
    match place {
        Some(folder) if !parsed.has(&["bare", "mirror"]) => {
            reader.touch(call.state, call.name, &folder, Access::WriteTree);
            reader.move_or_link(call.state, &folder);
        }
        _ => reader.add_unknown(format!("`{}` creates a folder whose name cannot be determined", call.name)),
    }
}

pub(super) fn format_patch(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if !parsed.has(&["stdout", "o", "output-directory"]) {
        reader.add_unknown(format!(
            "`{}` creates files whose names are only known when it runs; give it `--stdout` or `-o`",
            call.name
        ));
    }
}

/// `git apply`: modes that only look are free of effects. Otherwise the patch determines what changes; its names are relative to
/// the working directory or to the repository's root.
pub(super) fn patch(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["check", "numstat", "stat", "summary"]) {
        return;
    }
    if !parsed.operands.is_empty() {
        return reader.add_unknown(format!("`{}` changes the files that its patch names, which cannot be seen here", call.name));
    }
    for state in [call.state.clone(), ShellState::new("")] {
        enter_targets(reader, &Invocation { state: &state, ..*call }, strip(parsed, Strip::Exactly(1)));
    }
}
