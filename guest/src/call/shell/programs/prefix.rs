//! Programs that run the command in their arguments, and programs that run a command in a way that is not analysed.

use std::rc::Rc;

use super::environment::{is_harmless, may_influence, names_an_output};
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::state::Dialect;
use crate::effects::Access;

const fn prefix(names: &'static [&'static str]) -> ProgramSpec {
    ProgramSpec {
        ends_at_operand: true,
        operands: Operands::Rule,
        runs_another: true,
        rule: Some(run_operands),
        ..ProgramSpec::new(names)
    }
}

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec { valued: &[("n", ArgumentRole::Text), ("adjustment", ArgumentRole::Text)], ..prefix(&["nice"]) },
    ProgramSpec {
        flags: "t",
        valued: &[
            ("c", ArgumentRole::Text),
            ("n", ArgumentRole::Text),
            ("class", ArgumentRole::Text),
            ("classdata", ArgumentRole::Text),
        ],
        ..prefix(&["ionice"])
    },
    ProgramSpec {
        valued: &[
            ("i", ArgumentRole::Text),
            ("o", ArgumentRole::Text),
            ("e", ArgumentRole::Text),
            ("input", ArgumentRole::Text),
            ("output", ArgumentRole::Text),
            ("error", ArgumentRole::Text),
        ],
        ..prefix(&["stdbuf"])
    },
    ProgramSpec { flags: "cfw", long: &["fork", "wait", "ctty"], ..prefix(&["setsid"]) },
    prefix(&["chronic", "unbuffer"]),
    ProgramSpec { flags: "disum", valued: &[("t", ArgumentRole::Text)], ..prefix(&["caffeinate"]) },
    ProgramSpec { flags: "fcCtTrqyvi", ..prefix(&["strace"]) },
    // The shell's own `time` is a reserved word; this is the program.
    ProgramSpec {
        flags: "pvalh",
        long: &["portability", "verbose", "append"],
        valued: &[
            ("f", ArgumentRole::Text),
            ("format", ArgumentRole::Text),
            ("o", ArgumentRole::Path(Access::Write)),
            ("output", ArgumentRole::Path(Access::Write)),
        ],
        ..prefix(&["time", "gtime"])
    },
    ProgramSpec {
        flags: "fpv",
        long: &["foreground", "preserve-status", "verbose"],
        valued: &[
            ("k", ArgumentRole::Text),
            ("s", ArgumentRole::Text),
            ("kill-after", ArgumentRole::Text),
            ("signal", ArgumentRole::Text),
        ],
        rule: Some(run_after_first),
        ..prefix(&["timeout", "gtimeout"])
    },
    ProgramSpec { flags: "ac", long: &["cpu-list"], rule: Some(run_after_first), ..prefix(&["taskset"]) },
    ProgramSpec { flags: "fr", rule: Some(run_after_first), ..prefix(&["chrt"]) },
    ProgramSpec { rule: Some(run_detached), ..prefix(&["nohup"]) },
    ProgramSpec {
        flags: "iv0",
        long: &["ignore-environment", "null", "debug"],
        valued: &[("u", ArgumentRole::Text), ("unset", ArgumentRole::Text)],
        rule: Some(run_with_environment),
        ..prefix(&["env", "genv"])
    },
    prefix(&["busybox", "toybox"]),
    ProgramSpec {
        flags: "tbegcx",
        long: &["no-title", "beep", "errexit", "chgexit", "color", "exec"],
        valued: &[("n", ArgumentRole::Text), ("interval", ArgumentRole::Text)],
        attached: &[("d", ArgumentRole::Text), ("differences", ArgumentRole::Text)],
        rule: Some(run_again),
        ..prefix(&["watch"])
    },
    ProgramSpec {
        flags: "nsxuoF",
        long: &["nonblock", "shared", "exclusive", "unlock", "close", "no-fork"],
        valued: &[
            ("w", ArgumentRole::Text),
            ("E", ArgumentRole::Text),
            ("timeout", ArgumentRole::Text),
            ("conflict-exit-code", ArgumentRole::Text),
        ],
        rule: Some(run_locked),
        ..prefix(&["flock"])
    },
    // Another root, another user, another system's view: what a path means there is not known here.
    ProgramSpec::unreadable(&["arch-chroot", "capsh", "ltrace", "prlimit", "xvfb-run"]),
    // These type for someone, or run something later.
    ProgramSpec::unreadable(&["script"]),
];

fn run(reader: &mut ShellReader<'_>, call: &Invocation<'_>, command: &[&Arg]) {
    let command: Vec<Arg> = command.iter().map(|arg| (*arg).clone()).collect();
    reader.run_program(&command, call.state, call.input);
}

fn run_operands(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    run(reader, call, &parsed.operands);
}

/// `timeout 5 COMMAND`
fn run_after_first(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    run(reader, call, parsed.operands.get(1..).unwrap_or_default());
}

/// In a terminal, `nohup` writes the command's output to a file.
fn run_detached(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    reader.execute(call.state);
    run(reader, call, &parsed.operands);
}

/// `env NAME=VALUE… COMMAND`
fn run_with_environment(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let mut state = call.state.clone();
    let mut influence = |name: &str| {
        if state.influence.is_none() || names_an_output(name) {
            state.influence = Some(Rc::from(name));
        }
    };
    if parsed.has(&["i", "ignore-environment"]) {
        influence("env -i");
    }
    for name in parsed.values(&["u", "unset"]) {
        match name.text() {
            Some(name) if !may_influence(name) => {}
            _ => influence(&name.display()),
        }
    }
    let mut command = parsed.operands.as_slice();
    while let Some((first, rest)) = command.split_first() {
        match first {
            // `env -` is `env -i`.
            Arg::Known(text) if text == "-" => influence("env -"),
            Arg::Known(text) => match text.split_once('=') {
                Some((name, value)) if is_harmless(name, Some(value)) => {}
                Some((name, _)) => influence(name),
                None => break,
            },
            Arg::One(start) => match start.split_once('=') {
                Some((name, _)) if is_harmless(name, None) => {}
                Some((name, _)) => influence(name),
                None => break,
            },
            Arg::Below(..) | Arg::Many(_) => break,
        }
        command = rest;
    }
    run(reader, &Invocation { state: &state, ..*call }, command);
}

/// `watch` joins its operands with blanks and passes them to a shell.
fn run_again(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["x", "exec"]) {
        return run(reader, call, &parsed.operands);
    }
    let texts: Option<Vec<&str>> = parsed.operands.iter().map(|arg| arg.text()).collect();
    run_text(reader, call, texts.map(|texts| texts.join(" ")));
}

fn run_text(reader: &mut ShellReader<'_>, call: &Invocation<'_>, text: Option<String>) {
    match text {
        Some(text) => reader.script(&text, &call.state.child(Dialect::Posix), call.input),
        None => reader.add_unknown(format!("`{}` runs a command that is only known when it runs", call.name)),
    }
}

/// `flock FILE COMMAND` and `flock FILE -c TEXT`
fn run_locked(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some((lock, command)) = parsed.operands.split_first() else { return };
    // Without a command, a number is a descriptor that is already open.
    if !(command.is_empty() && lock.text().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))) {
        reader.touch(call.state, call.name, lock, Access::Write);
    }
    match command {
        [option, text] if option.is_text("-c") || option.is_text("--command") => {
            run_text(reader, call, text.text().map(str::to_owned))
        }
        command => run(reader, call, command),
    }
}
