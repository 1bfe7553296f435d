//! The `git` commands that change files of the work tree.

use super::super::flags::{Flags, Spec};
use super::super::names::Names;
use super::super::trace::{Folder, Trace};
use super::super::value::Arg;
use super::git::{Git, repository};
use super::{Call, copy, patch};
use crate::call::effect::Deed;
use crate::ports::Kind;

/// Enters what a command does to the work tree; false where it does nothing there.
pub(super) fn run(trace: &mut Trace<'_>, git: &Git<'_>) -> bool {
    let words: Vec<&str> = git.args.iter().map(|arg| arg.text.as_str()).collect();
    let first = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let call = Call { name: git.command, args: git.args, world: &git.world, ..git.call };
    match git.command {
        "checkout" => checkout(trace, git),
        "restore" => {
            let flags = Flags::parse(git.args, Spec::new("s", &["source", "conflict", "pathspec-from-file"]));
            if flags.has(&["S", "staged"]) && !flags.has(&["W", "worktree"]) {
                return false;
            }
            if flags.has(&["pathspec-from-file"]) {
                tree(trace, git);
            }
            flags.operands.iter().for_each(|path| pathspec(trace, git, path));
        }
        "switch" => {
            let flags = Flags::parse(git.args, Spec::new("cC", &["create", "force-create", "orphan", "conflict"]));
            if flags.has(&["c", "C", "create", "force-create"]) && flags.operands.is_empty() {
                return false;
            }
            tree(trace, git);
        }
        "reset" => {
            if !words.iter().any(|word| matches!(*word, "--hard" | "--merge" | "--keep")) {
                return false;
            }
            tree(trace, git);
        }
        "clean" => {
            let flags = Flags::parse(git.args, Spec::new("e", &["exclude"]));
            if flags.has(&["n", "dry-run"]) {
                return true;
            }
            let here = [Arg::plain(".")];
            let paths = if flags.operands.is_empty() { &here[..] } else { &flags.operands };
            trace.touch_all(&call, paths, Deed::DeleteTree);
        }
        "stash" => match first {
            "drop" | "clear" | "create" | "store" => return false,
            "push" | "save" | "" if words.contains(&"--") => {
                let at = words.iter().position(|word| *word == "--").map_or(0, |at| at + 1);
                git.args.iter().skip(at).for_each(|path| pathspec(trace, git, path));
            }
            _ => tree(trace, git),
        },
        "merge" | "pull" | "cherry-pick" | "revert" | "am" | "read-tree" | "checkout-index" | "filter-branch" | "filter-repo"
        | "mergetool" | "rebase" => {
            tree(trace, git);
            let runs = words.iter().any(|word| {
                matches!(*word, "-x" | "--exec" | "-i" | "--interactive")
                    || word.starts_with("--exec=")
                    || word.starts_with("--upload-pack")
            });
            if runs || git.command.starts_with("filter") || git.command == "mergetool" {
                trace.execute(&git.world, None);
            }
        }
        "bisect" => {
            tree(trace, git);
            if first == "run" {
                trace.execute(&git.world, None);
            }
        }
        "apply" => apply(trace, git),
        "mv" => {
            let flags = Flags::parse(git.args, Spec::default());
            if !flags.has(&["n", "dry-run"]) {
                let inner = Call { name: "mv", ..call };
                copy::run(trace, &inner);
            }
        }
        "rm" => {
            let flags = Flags::parse(git.args, Spec::new("", &["pathspec-from-file"]));
            if flags.has(&["n", "dry-run"]) {
                return true;
            }
            if flags.has(&["cached"]) {
                return false;
            }
            for path in &flags.operands {
                if quoted_pattern(trace, git, path) {
                    trace.touch_path(&git.world, "git", &repository(trace, &git.world), Deed::DeleteTree);
                } else {
                    trace.touch(&git.world, "git rm", path, if flags.has(&["r"]) { Deed::DeleteTree } else { Deed::Delete });
                }
            }
        }
        "clone" => {
            let spec = Spec::new(
                "bcjou",
                &[
                    "branch",
                    "config",
                    "depth",
                    "jobs",
                    "origin",
                    "reference",
                    "template",
                    "separate-git-dir",
                    "shallow-since",
                    "filter",
                    "upload-pack",
                    "server-option",
                ],
            );
            let flags = Flags::parse(git.args, spec);
            let named =
                |url: &Arg| Arg::plain(copy::base_name(url.text.trim_end_matches(".git")).rsplit(':').next().unwrap_or_default());
            if let Some(folder) = flags.operands.get(1).cloned().or_else(|| flags.operands.first().map(named)) {
                trace.touch(&git.world, "git clone", &folder, Deed::WriteTree);
            }
            let url = flags.operands.first().map_or("", |url| url.text.as_str());
            if flags.has(&["c", "config", "u", "upload-pack", "template"]) || url.starts_with("ext::") {
                trace.execute(&git.world, None);
            }
        }
        "worktree" => {
            let flags = Flags::parse(git.args, Spec::new("bB", &["reason", "expire"]));
            let paths = flags.operands.get(1..).unwrap_or_default();
            match first {
                "add" => trace.touch_all(&call, paths.get(..1).unwrap_or_default(), Deed::WriteTree),
                "remove" => trace.touch_all(&call, paths.get(..1).unwrap_or_default(), Deed::DeleteTree),
                "move" => trace.touch_all(&call, paths, Deed::WriteTree),
                _ => return false,
            }
        }
        "submodule" => match first {
            "foreach" | "init" | "sync" | "absorbgitdirs" | "set-url" | "set-branch" => return false,
            "add" => {
                let flags = Flags::parse(git.args, Spec::new("b", &["branch", "name", "reference", "depth"]));
                let named = |url: &Arg| Arg::plain(copy::base_name(url.text.trim_end_matches(".git")));
                if let Some(folder) = flags.operands.get(2).cloned().or_else(|| flags.operands.get(1).map(named)) {
                    trace.touch(&git.world, "git submodule", &folder, Deed::WriteTree);
                }
                trace.touch_path(
                    &git.world,
                    "git submodule",
                    &format!("{}/.gitmodules", repository(trace, &git.world)),
                    Deed::Write,
                );
            }
            _ => tree(trace, git),
        },
        "sparse-checkout" => tree(trace, git),
        "lfs" if matches!(first, "pull" | "checkout" | "migrate") => tree(trace, git),
        "subtree" if !matches!(first, "split" | "push") => tree(trace, git),
        _ => return false,
    }
    true
}

/// Anything in the repository may change.
fn tree(trace: &mut Trace<'_>, git: &Git<'_>) {
    if git.world.cwd.is_none() {
        return trace.unknown(format!("`git {}` changes a repository that is only known when it runs", git.command));
    }
    let root = repository(trace, &git.world);
    let outside = super::super::world::World::new("");
    let root = root.strip_prefix('~').map_or(root.clone(), |rest| format!("{}{rest}", super::super::value::HOME));
    trace.touch_path(&outside, "git", &root, Deed::WriteTree);
}

/// Whether a path is a pattern for git itself to expand.
fn quoted_pattern(trace: &mut Trace<'_>, git: &Git<'_>, path: &Arg) -> bool {
    let wild = |text: &str| text.starts_with(':') || text.contains(['*', '?', '[']);
    match &path.pattern {
        None => wild(&path.text),
        Some(_) => matches!(trace.names(&git.world, path), Names::These(names) if names.iter().any(|name| wild(name))),
    }
}

fn pathspec(trace: &mut Trace<'_>, git: &Git<'_>, path: &Arg) {
    if quoted_pattern(trace, git, path) {
        return tree(trace, git);
    }
    for path in trace.paths(&git.world, "git", path, Deed::Write) {
        let folder = path.ends_with('/') || trace.folder(&git.world, &path) != Folder::No;
        trace.touch_path(&git.world, "git", &path, if folder { Deed::WriteTree } else { Deed::Write });
    }
}

fn checkout(trace: &mut Trace<'_>, git: &Git<'_>) {
    let spec = Spec::new("bB", &["orphan", "conflict", "pathspec-from-file"]);
    let separator = git.args.iter().position(|arg| arg.text == "--");
    let (before, after) = match separator {
        Some(at) => (git.args.get(..at).unwrap_or_default(), git.args.get(at + 1..)),
        None => (git.args, None),
    };
    let flags = Flags::parse(before, spec);
    if let Some(paths) = after.filter(|paths| !paths.is_empty()) {
        return paths.iter().for_each(|path| pathspec(trace, git, path));
    }
    if flags.has(&["b", "B", "orphan"]) && flags.operands.is_empty() {
        // A new branch from where one stands leaves every file as it is.
        return trace.execute(&git.world, None);
    }
    let exists = |trace: &Trace<'_>, arg: &Arg| arg.pattern.is_some() || trace.kind(&git.world, &arg.text) != Kind::Missing;
    match flags.operands.as_slice() {
        [] if !flags.has(&["p", "patch", "pathspec-from-file", "f", "force"]) => {}
        [path] if exists(trace, path) && !flags.has(&["b", "B", "t", "track", "detach"]) => pathspec(trace, git, path),
        [start, paths @ ..] if !paths.is_empty() && !flags.has(&["b", "B"]) => {
            if exists(trace, start) {
                pathspec(trace, git, start);
            }
            paths.iter().for_each(|path| pathspec(trace, git, path));
        }
        _ => tree(trace, git),
    }
}

fn apply(trace: &mut Trace<'_>, git: &Git<'_>) {
    let flags =
        Flags::parse(git.args, Spec::new("pC", &["exclude", "include", "directory", "whitespace", "build-fake-ancestor"]));
    let looks = flags.has(&["check", "stat", "numstat", "summary"]) && !flags.has(&["apply"]);
    if looks {
        return;
    }
    if flags.has(&["cached"]) && !flags.has(&["index"]) {
        return trace.execute(&git.world, None);
    }
    let strip = flags.value(&["p"]).map_or(Some(1), |strip| strip.text.parse().ok());
    let files: Vec<Option<&Arg>> = if flags.operands.is_empty() { vec![None] } else { flags.operands.iter().map(Some).collect() };
    for file in files {
        let file = file.filter(|file| file.text != "-");
        let (Some(text), Some(strip), false) =
            (patch::text(trace, &git.world, git.call.input, file), strip, flags.has(&["unsafe-paths"]))
        else {
            tree(trace, git);
            continue;
        };
        for name in patch::names(&text).iter().filter_map(|name| patch::stripped(name, strip)) {
            let path = match flags.value(&["directory"]) {
                Some(folder) => Arg { text: format!("{}/{name}", folder.text), pattern: None },
                None => Arg::plain(name),
            };
            trace.touch(&git.world, "git apply", &path, Deed::Write);
        }
    }
}
