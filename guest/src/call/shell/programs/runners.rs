//! Package managers and other programs that run programs by name: recorded as run, and the programs that they run are analysed
//! too.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::super::reader::state::{Dialect, ShellState};
use super::spec::{ArgumentRole, Invocation, ParsedArguments, ProgramSpec};
use super::tollgate::{args_after_name, control, is_script_of_tollgate, is_tollgate, record_command};
use crate::effects::Access;

const RUN: ArgumentRole = ArgumentRole::Path(Access::Execute);
const TREE: ArgumentRole = ArgumentRole::Path(Access::WriteTree);
const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

/// Options of npm and similar programs that say where something is written or run.
const NODE_PLACES: &[(&str, ArgumentRole)] = &[
    ("C", RUN),
    ("cache", TREE),
    ("cwd", RUN),
    ("dir", RUN),
    ("logs-dir", TREE),
    ("modules-folder", TREE),
    ("pack-destination", TREE),
    ("prefix", RUN),
    ("store-dir", TREE),
];

/// Such options of pip.
const PYTHON_PLACES: &[(&str, ArgumentRole)] = &[
    ("c", ArgumentRole::Read),
    ("d", TREE),
    ("r", ArgumentRole::Read),
    ("t", TREE),
    ("w", TREE),
    ("cache-dir", TREE),
    ("constraint", ArgumentRole::Read),
    ("dest", TREE),
    ("log", WRITE),
    ("log-file", WRITE),
    ("prefix", TREE),
    ("report", WRITE),
    ("requirement", ArgumentRole::Read),
    ("root", TREE),
    ("src", TREE),
    ("target", TREE),
    ("wheel-dir", TREE),
];

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        answers: &[
            "--version",
            "-v",
            "config get *",
            "config list",
            "explain *",
            "info *",
            "ls",
            "list",
            "outdated",
            "ping",
            "prefix",
            "root",
            "search *",
            "show *",
            "view *",
            "why *",
            "whoami",
        ],
        obeys: &[".npmrc"],
        scripts: &["package.json"],
        valued: NODE_PLACES,
        rule: Some(node_packages),
        ..ProgramSpec::opaque(&["npm"])
    },
    ProgramSpec {
        scripts: &["package.json"],
        valued: NODE_PLACES,
        rule: Some(node_packages),
        ..ProgramSpec::opaque(&["pnpm", "yarn", "yarnpkg", "corepack"])
    },
    ProgramSpec {
        valued: &[
            ("e", ArgumentRole::Code),
            ("p", ArgumentRole::Code),
            ("cwd", RUN),
            ("eval", ArgumentRole::Code),
            ("outdir", TREE),
            ("outfile", WRITE),
            ("prefix", RUN),
            ("print", ArgumentRole::Code),
        ],
        answers: &["--version", "-v"],
        scripts: &["package.json"],
        rule: Some(node_packages),
        ..ProgramSpec::opaque(&["bun"])
    },
    ProgramSpec { rule: Some(package_program), ..ProgramSpec::opaque(&["npx", "bunx", "pnpx", "pnx", "uvx", "pipx"]) },
    ProgramSpec {
        valued: PYTHON_PLACES,
        answers: &["--version", "-V", "check", "freeze", "list", "show *"],
        rule: Some(python_packages),
        ..ProgramSpec::opaque(&["pip", "pip3"])
    },
    ProgramSpec {
        valued: &[("directory", RUN), ("project", RUN), ("cache-dir", TREE)],
        answers: &["--version"],
        rule: Some(python_packages),
        ..ProgramSpec::opaque(&["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "pixi"])
    },
    ProgramSpec {
        rule: Some(python_packages),
        ..ProgramSpec::opaque(&["bundle", "bundler", "mise", "asdf", "rtx", "devbox", "doppler", "dotenvx", "op"])
    },
    ProgramSpec {
        valued: &[
            ("C", RUN),
            ("artifact-dir", TREE),
            ("manifest-path", ArgumentRole::Read),
            ("out-dir", TREE),
            ("target-dir", TREE),
        ],
        answers: &["--version", "-V", "--list", "search *"],
        obeys: &["rust-toolchain.toml", "rust-toolchain", ".cargo/config.toml", ".cargo/config"],
        scripts: &["Cargo.toml", "build.rs"],
        rule: Some(cargo),
        ..ProgramSpec::opaque(&["cargo"])
    },
    ProgramSpec { rule: Some(words_as_scripts), ..ProgramSpec::opaque(&["concurrently", "npm-run-all", "run-s", "run-p"]) },
    ProgramSpec { rule: Some(run_after_assignments), ..ProgramSpec::opaque(&["cross-env", "dotenv"]) },
];

/// Commands that are followed by the name of a program.
const RUN_COMMANDS: &[&str] = &["dlx", "exec", "run", "x"];

/// Commands that remove packages, or replace them with other versions.
const CHANGE_COMMANDS: &[&str] = &[
    "add",
    "autoremove",
    "erase",
    "i",
    "install",
    "link",
    "prune",
    "purge",
    "r",
    "reinstall",
    "remove",
    "rm",
    "un",
    "uninstall",
    "unlink",
    "update",
    "upgrade",
];

/// Options without a value, or without one that matters, before the name of a program.
const PLAIN_OPTIONS: &[&str] = &[
    "--",
    "--bun",
    "--no",
    "--no-install",
    "--quiet",
    "--silent",
    "--yes",
    "-q",
    "-s",
    "-y",
    "-w",
    "--workspace-root",
    "--frozen",
    "--locked",
    "--offline",
    "--no-sync",
];

/// Options with a value before the name of a program.
const VALUED_OPTIONS: &[&str] = &["--from", "--package", "--python", "--spec", "--with", "--workspace", "-p", "-w"];

/// `pip config set`, `npm config delete`: these settings belong to the user, or determine what runs.
fn changes_settings(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    const CHANGES: &[&str] = &["add", "delete", "edit", "fix", "set", "unset"];
    if let [config, change, ..] = parsed.operands.as_slice()
        && (config.is_text("config") || config.is_text("c"))
        && change.text().is_none_or(|change| CHANGES.contains(&change))
    {
        reader.add_unknown(format!("`{} config` changes settings", call.name));
    }
}

fn node_packages(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    changes_settings(reader, call, parsed);
    // npm accepts any unambiguous prefix of a command (`npm exe`).
    let is_exec = |word: &str| word == "x" || (word.starts_with("ex") && "exec".starts_with(word));
    if parsed.operands.first().and_then(|first| first.text()).is_some_and(is_exec) {
        run_text(reader, call, call.args);
    }
    run_inner(reader, call, true);
    run_script(reader, call, parsed);
}

fn python_packages(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    changes_settings(reader, call, parsed);
    run_inner(reader, call, false);
}

/// Records a package manager that removes Tollgate, or replaces it with another version.
pub(super) fn removes_tollgate(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    let changes = call.args.iter().filter_map(Arg::text).find(|word| CHANGE_COMMANDS.contains(word));
    if let (Some(command), true) = (changes, call.args.iter().any(is_tollgate)) {
        control(reader, call.state, format!("{} {command} tollgate", call.name));
    }
}

/// `npm run NAME`, `yarn NAME`: the script in the package is searched for commands that only a person may run.
fn run_script(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let mut words = parsed.operands.iter().filter_map(|arg| arg.text());
    let name = match words.next() {
        Some("run" | "run-script" | "rum" | "urn") => words.next(),
        Some("t" | "tst") => Some("test"),
        name => name,
    };
    let (Some(name), Some(folders)) = (name, reader.folders_upwards(call.state)) else { return };
    let package = folders.iter().map(|folder| super::join_name(folder, "package.json")).find_map(|path| {
        let text = reader.text_of(&ShellState::new(""), &Arg::known(path))?;
        serde_json::from_str::<serde_json::Value>(&text).ok()
    });
    let scripts = package.as_ref().and_then(|package| package.get("scripts"));
    for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
        let script = scripts.and_then(|scripts| scripts.get(&name)).and_then(serde_json::Value::as_str);
        if let Some(script) = script {
            reader.search_shell(script, &call.state.child(Dialect::Posix));
        }
    }
}

/// `pnpm exec PROGRAM`, `uv run PROGRAM`. For npm and similar programs (`scripts`), a word after `run`, or without a command, is
/// a script of the package, which may have any name: only Tollgate and formatters are followed there.
fn run_inner(reader: &mut ShellReader<'_>, call: &Invocation<'_>, scripts: bool) {
    let args = skip_options(call.args);
    let Some((first, behind)) = args.split_first() else { return };
    let runs = first.text().is_some_and(|word| RUN_COMMANDS.contains(&word));
    let args = if runs { skip_options(behind) } else { args };
    // `bun FILE`, `corepack pnpm …`
    if scripts
        && let Some((file, rest)) = args.split_first()
        && is_script_of_tollgate(reader, call.state, file, rest)
    {
        return record_command(reader, call.state, rest);
    }
    if call.name == "corepack" {
        return follow(reader, call, args);
    }
    let is_script = scripts && (!runs || first.is_text("run"));
    if !(runs || scripts) || (is_script && !args.first().is_some_and(|arg| is_tollgate(arg) || is_formatter(arg))) {
        return;
    }
    follow(reader, call, args);
}

/// `yarn prettier`: names that a package gives to a script only if the script is for that program.
fn is_formatter(arg: &Arg) -> bool {
    arg.text().is_some_and(|name| super::formatters::ROWS.iter().any(|row| row.names.contains(&name)))
}

/// `npx PROGRAM`.
fn package_program(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let mut args = skip_options(call.args);
    if call.name == "pipx" {
        match args.split_first() {
            Some((first, rest)) if first.is_text("run") => args = skip_options(rest),
            _ => return,
        }
    }
    let is_option = args.first().is_some_and(|arg| matches!(arg, Arg::Known(text) | Arg::One(text) if text.starts_with('-')));
    if !(is_option && run_text(reader, call, args.get(..2).unwrap_or(args))) {
        follow(reader, call, args);
    }
}

/// `npx -c TEXT`, `npm exec --call=TEXT`: analyses the text that a shell runs; false if there is no such text. After the name of
/// a program, options belong to that program.
fn run_text(reader: &mut ShellReader<'_>, call: &Invocation<'_>, args: &[Arg]) -> bool {
    let mut found = false;
    for (nth, arg) in args.iter().enumerate() {
        let text = match arg {
            Arg::Known(option) if option == "--" => break,
            Arg::Known(option) if option == "-c" || option == "--call" => args.get(nth + 1).map(Arg::text),
            Arg::Known(option) => option.strip_prefix("--call=").or_else(|| option.strip_prefix("-c")).map(Some),
            Arg::One(start) if start.starts_with("--call=") || start.starts_with("-c") => Some(None),
            _ => None,
        };
        match text {
            Some(Some(text)) => reader.script(text, &call.state.child(Dialect::Posix), call.input),
            Some(None) => reader.add_unknown(format!("`{}` runs text that is only known when it runs", call.name)),
            None => continue,
        }
        found = true;
    }
    found
}

/// Analyses the program that is run, without the version after its name.
fn follow(reader: &mut ShellReader<'_>, call: &Invocation<'_>, args: &[Arg]) {
    let Some((name, rest)) = args.split_first() else { return };
    if is_tollgate(name) {
        return record_command(reader, call.state, rest);
    }
    let Some(text) = name.text().filter(|text| !text.starts_with('-')) else { return };
    // The scope of a package begins with the same character as a version.
    let plain = match text.char_indices().skip(1).find(|(_, c)| *c == '@') {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    };
    let mut inner = vec![Arg::known(plain)];
    inner.extend(rest.iter().cloned());
    reader.run_program(&inner, call.state, call.input);
}

fn skip_options(mut args: &[Arg]) -> &[Arg] {
    while let Some((first, rest)) = args.split_first() {
        let Some(text) = first.text().filter(|text| text.starts_with('-')) else { break };
        if VALUED_OPTIONS.contains(&text) {
            args = rest.get(1..).unwrap_or_default();
        } else if PLAIN_OPTIONS.contains(&text) || (text.contains('=') && !text.starts_with("--call=")) {
            args = rest;
        } else {
            break;
        }
    }
    args
}

/// `cargo run … tollgate …`, `cargo uninstall tollgate`, `cargo new FOLDER`.
fn cargo(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let has = |words: &[&str]| parsed.operands.iter().any(|arg| arg.text().is_some_and(|word| words.contains(&word)));
    if let [command, folder, ..] = parsed.operands.as_slice()
        && (command.is_text("new") || command.is_text("init"))
    {
        reader.touch(call.state, call.name, folder, Access::WriteTree);
    }
    let Some(behind) = args_after_name(call) else { return };
    if has(&["run", "r"]) {
        let separator = call.args.iter().position(|arg| arg.is_text("--"));
        record_command(reader, call.state, separator.and_then(|at| call.args.get(at + 1..)).unwrap_or(behind));
    } else if has(&["uninstall", "install"]) {
        control(reader, call.state, "cargo install or uninstall of tollgate".to_owned());
    }
}

/// `concurrently 'npm run a' 'npm run b'`.
fn words_as_scripts(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if call.name != "concurrently" {
        return;
    }
    for text in parsed.operands.iter().filter_map(|arg| arg.text()).filter(|text| text.contains(' ')) {
        reader.script(text, &call.state.child(Dialect::Posix), call.input);
    }
}

/// `cross-env NAME=VALUE PROGRAM`.
fn run_after_assignments(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let at = call.args.iter().position(|arg| arg.text().is_some_and(|text| !text.starts_with('-') && !text.contains('=')));
    if let Some(args) = at.and_then(|at| call.args.get(at..)) {
        follow(reader, call, args);
    }
}
