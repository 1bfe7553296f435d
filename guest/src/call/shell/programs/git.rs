//! `git`: what only looks, what changes nothing but the repository, and what changes files.

use super::super::flags::{Flags, Spec};
use super::super::trace::Trace;
use super::super::value::{Arg, ROOT, UNKNOWN, shown};
use super::super::world::World;
use super::{Call, git_tree};
use crate::call::effect::Deed;
use crate::ports::Kind;

/// Commands that only look.
const LOOKS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "grep",
    "describe",
    "shortlog",
    "cat-file",
    "name-rev",
    "merge-base",
    "for-each-ref",
    "show-ref",
    "var",
    "help",
    "version",
    "whatchanged",
    "check-ignore",
    "check-attr",
    "check-ref-format",
    "check-mailmap",
    "cherry",
    "count-objects",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fsck",
    "get-tar-commit-id",
    "range-diff",
    "show-branch",
    "verify-commit",
    "verify-tag",
    "verify-pack",
    "request-pull",
    "merge-tree",
    "patch-id",
    "stripspace",
    "interpret-trailers",
    "column",
    "show-index",
    "fmt-merge-msg",
    "unpack-file",
];

/// One `git` command.
pub(super) struct Git<'g> {
    pub(super) command: &'g str,
    pub(super) args: &'g [Arg],
    /// Where it runs.
    pub(super) world: World,
    pub(super) call: Call<'g>,
}

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    if call.name != "git" && call.name != "hub" {
        return false;
    }
    let mut world = call.world.clone();
    let mut rest = call.args;
    while let Some((option, after)) = rest.split_first() {
        let text = option.text.as_str();
        if !text.starts_with('-') {
            break;
        }
        rest = after;
        let mut value = || {
            let (value, after) = rest.split_first().map_or((Arg::default(), rest), |(value, after)| (value.clone(), after));
            rest = after;
            value
        };
        match text {
            "-C" => {
                let folder = value();
                if !folder.text.is_empty() {
                    world.cwd = world.join(&folder.text);
                }
            }
            "-c" => setting(trace, &world, &value()),
            "--git-dir" | "--namespace" | "--super-prefix" | "--attr-source" => drop(value()),
            "--work-tree" => world.cwd = world.join(&value().text),
            "--version" | "--help" | "--html-path" | "--man-path" | "--info-path" | "-v" | "-h" => return true,
            _ => {
                if let Some(folder) = text.strip_prefix("--work-tree=") {
                    world.cwd = world.join(folder);
                } else if text.starts_with("--exec-path=") || text.starts_with("--config-env") {
                    trace.execute(&world, None);
                }
            }
        }
    }
    let Some((command, args)) = rest.split_first() else { return true };
    if !command.is_known() {
        trace.unknown(format!("`git {}` is a command that is only known when it runs", shown(&command.text)));
        return true;
    }
    let git = Git { command: &command.text, args, world, call: *call };
    dispatch(trace, &git);
    true
}

/// `-c key=value`: some settings are commands.
fn setting(trace: &mut Trace<'_>, world: &World, arg: &Arg) {
    let (key, value) = arg.text.split_once('=').unwrap_or((&arg.text, ""));
    let key = key.to_ascii_lowercase();
    let runs = [
        "alias.",
        "core.pager",
        "pager.",
        "core.editor",
        "sequence.editor",
        "core.sshcommand",
        "core.hookspath",
        "core.fsmonitor",
        "diff.external",
        "filter.",
        "merge.",
        "credential.",
        "gpg.",
        "protocol.ext",
        "core.gitproxy",
        "core.askpass",
        "init.templatedir",
        "core.attributesfile",
        "include",
        "difftool.",
        "mergetool.",
        "browser.",
        "man.",
        "uploadpack.",
        "receive.",
    ];
    let command = runs.iter().any(|prefix| key.starts_with(prefix)) || key.ends_with(".command") || key.ends_with(".textconv");
    if key.starts_with("alias.") || key.contains(UNKNOWN) {
        trace.unknown(format!("`git -c {}` gives a command another meaning", shown(&arg.text)));
    } else if command && !matches!(value, "" | "cat" | "less" | "true" | "false" | ":" | "more") {
        trace.execute(world, None);
    }
}

fn dispatch(trace: &mut Trace<'_>, git: &Git<'_>) {
    let world = &git.world;
    let words: Vec<&str> = git.args.iter().map(|arg| arg.text.as_str()).collect();
    let first = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let has = |names: &[&str]| {
        words.iter().any(|word| {
            names.iter().any(|name| word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
        })
    };
    match git.command {
        "rev-parse" if has(&["--show-toplevel"]) => {
            let root = repository(trace, world);
            trace.said = Some(if root == "." { ROOT.to_string() } else { root });
        }
        command if LOOKS.contains(&command) => looks(trace, git, &words),
        "config" => config(trace, git),
        "branch" => {
            let changes = has(&[
                "-d",
                "-D",
                "-m",
                "-M",
                "-c",
                "-C",
                "-u",
                "-f",
                "--delete",
                "--move",
                "--copy",
                "--force",
                "--set-upstream-to",
                "--unset-upstream",
                "--edit-description",
                "--track",
                "-t",
            ]);
            let lists = has(&[
                "-a",
                "-r",
                "-l",
                "--list",
                "-v",
                "-vv",
                "--all",
                "--remotes",
                "--show-current",
                "--contains",
                "--no-contains",
                "--merged",
                "--no-merged",
                "--points-at",
                "--format",
                "--sort",
                "--column",
            ]);
            if changes || (!lists && !first.is_empty()) {
                trace.execute(world, None);
            }
        }
        "tag" => {
            let lists = first.is_empty()
                || has(&[
                    "-l",
                    "--list",
                    "-n",
                    "--contains",
                    "--no-contains",
                    "--merged",
                    "--points-at",
                    "-v",
                    "--verify",
                    "--sort",
                    "--format",
                ]);
            if !lists || has(&["-d", "--delete", "-a", "-s", "-m", "-f"]) {
                trace.execute(world, None);
            }
        }
        "remote" if first.is_empty() || matches!(first, "show" | "get-url") => {}
        "reflog" if !matches!(first, "expire" | "delete" | "drop") => {}
        "notes" if matches!(first, "" | "list" | "show") => {}
        "bundle" if matches!(first, "verify" | "list-heads") => {}
        "bundle" if first == "create" => {
            let file = git.args.iter().filter(|arg| !arg.text.starts_with('-')).nth(1);
            write(trace, git, file);
        }
        "sparse-checkout" if first == "list" => {}
        "lfs" if matches!(first, "ls-files" | "status" | "env" | "logs" | "version") => {}
        "archive" => {
            let flags = Flags::parse(git.args, Spec::new("o", &["output", "format", "prefix", "remote", "exec"]));
            write(trace, git, flags.value(&["o", "output"]));
            if flags.has(&["exec"]) {
                trace.execute(world, None);
            }
        }
        "format-patch" => {
            let flags = Flags::parse(
                git.args,
                Spec::new("ov", &["output-directory", "output", "start-number", "subject-prefix", "to", "cc"]),
            );
            if !flags.has(&["stdout"]) {
                let folder = flags.value(&["o", "output-directory"]).cloned().unwrap_or_else(|| Arg::plain("."));
                trace.touch(world, "git", &folder, Deed::WriteTree);
            }
        }
        "merge-file" => {
            let flags = Flags::parse(git.args, Spec::new("L", &["marker-size"]));
            if !flags.has(&["p", "stdout"]) {
                write(trace, git, flags.operands.first());
            }
        }
        "init" => {
            let flags = Flags::parse(
                git.args,
                Spec::new("b", &["template", "separate-git-dir", "initial-branch", "shared", "object-format"]),
            );
            if let Some(folder) = flags.operands.first() {
                trace.touch(world, "git", folder, Deed::MakeFolder);
            }
            trace.execute(world, flags.operands.first());
        }
        "submodule" if matches!(first, "" | "status" | "summary") => {}
        "worktree" if first == "list" => {}
        "bisect" if matches!(first, "log" | "view" | "visualize" | "terms") => {}
        "stash" if matches!(first, "list" | "show") && !has(&["--output"]) => {}
        _ => {
            if !git_tree::run(trace, git) {
                // The index, the history, the settings; hooks may run.
                trace.execute(world, None);
            }
        }
    }
}

/// Looking, with the few options that do more.
fn looks(trace: &mut Trace<'_>, git: &Git<'_>, words: &[&str]) {
    let mut rest = git.args.iter();
    while let Some(arg) = rest.next() {
        if arg.text == "--" {
            break;
        }
        if arg.text == "--output" {
            write(trace, git, rest.next());
        } else if let Some(file) = arg.after("--output=") {
            write(trace, git, Some(&file));
        }
    }
    let runs = |word: &&str| {
        word.starts_with("--open-files-in-pager")
            || word.starts_with("--upload-pack")
            || word.starts_with("--exec=")
            || (git.command == "grep" && word.starts_with("-O"))
    };
    if words.iter().take_while(|word| **word != "--").any(runs) || git.command == "unpack-file" {
        trace.execute(&git.world, None);
    }
}

fn write(trace: &mut Trace<'_>, git: &Git<'_>, file: Option<&Arg>) {
    if let Some(file) = file.filter(|file| file.text != "-") {
        trace.touch(&git.world, "git", file, Deed::Write);
    }
}

fn config(trace: &mut Trace<'_>, git: &Git<'_>) {
    let flags = Flags::parse(git.args, Spec::new("f", &["file", "blob", "type", "default", "comment"]));
    let operands: Vec<&str> = flags.operands.iter().map(|arg| arg.text.as_str()).collect();
    let sets = flags.has(&["add", "replace-all", "unset", "unset-all", "rename-section", "remove-section", "e", "edit"])
        || matches!(operands.first(), Some(&("set" | "unset" | "rename-section" | "remove-section" | "edit")));
    let gets = flags.has(&["get", "get-all", "get-regexp", "get-urlmatch", "get-color", "l", "list"])
        || matches!(operands.first(), Some(&("get" | "list")))
        || operands.len() < 2;
    if !sets && gets {
        return;
    }
    if let Some(file) = flags.value(&["f", "file"]) {
        write(trace, git, Some(file));
    } else if flags.has(&["global"]) {
        trace.touch_path(&git.world, "git", &format!("{}/.gitconfig", super::super::value::HOME), Deed::Write);
    } else if flags.has(&["system"]) {
        trace.touch_path(&git.world, "git", "/etc/gitconfig", Deed::Write);
    } else {
        trace.execute(&git.world, None);
    }
}

/// The folder that holds the repository, as far as the workspace shows it.
pub(super) fn repository(trace: &Trace<'_>, world: &World) -> String {
    let Some(cwd) = trace.located(world, ".") else { return ".".to_owned() };
    let mut folder = super::super::trace::lexical(&cwd);
    let outside = World::new("");
    loop {
        let inside = if folder == "." { ".git".to_owned() } else { format!("{folder}/.git") };
        if folder.starts_with('~') || trace.kind(&outside, &inside) != Kind::Missing {
            return folder;
        }
        match folder.rsplit_once('/') {
            Some((above, _)) if !above.is_empty() => folder = above.to_owned(),
            _ if folder.starts_with(['/', '.']) => return super::super::trace::lexical(&cwd),
            _ => folder = ".".to_owned(),
        }
        if folder == "." && trace.kind(&outside, ".git") == Kind::Missing {
            return ".".to_owned();
        }
    }
}
