//! Commands that run the command behind them.

use super::super::flags::{Flags, Spec};
use super::super::trace::Trace;
use super::super::value::Arg;
use super::Call;
use crate::call::effect::Deed;

/// Commands that change nothing about what they run: their options with values, and how many operands come first.
const PREFIXES: &[(&str, Spec, usize)] = &[
    ("nohup", Spec::before_command("", &[]), 0),
    (
        "sudo",
        Spec::before_command(
            "ugpChrtTD",
            &["user", "group", "prompt", "close-from", "host", "role", "type", "command-timeout", "chdir"],
        ),
        0,
    ),
    ("doas", Spec::before_command("uC", &[]), 0),
    ("timeout", Spec::before_command("ks", &["kill-after", "signal"]), 1),
    ("gtimeout", Spec::before_command("ks", &["kill-after", "signal"]), 1),
    ("nice", Spec::before_command("n", &["adjustment"]), 0),
    ("ionice", Spec::before_command("cnpPu", &["class", "classdata", "pid"]), 0),
    ("stdbuf", Spec::before_command("ioe", &["input", "output", "error"]), 0),
    ("setsid", Spec::before_command("", &[]), 0),
    ("chronic", Spec::before_command("", &[]), 0),
    ("unbuffer", Spec::before_command("", &[]), 0),
    ("caffeinate", Spec::before_command("tw", &[]), 0),
    ("taskset", Spec::before_command("", &[]), 1),
    ("chrt", Spec::before_command("TPD", &[]), 1),
    ("time", Spec::before_command("fo", &["format", "output"]), 0),
    ("gtime", Spec::before_command("fo", &["format", "output"]), 0),
    ("strace", Spec::before_command("oesbPpuaEIOSXU", &["output", "trace"]), 0),
    ("ltrace", Spec::before_command("oelnpsuxaAFD", &["output"]), 0),
    ("setarch", Spec::before_command("", &[]), 1),
    ("linux64", Spec::before_command("", &[]), 0),
    ("fakeroot", Spec::before_command("lisb", &[]), 0),
    ("xvfb-run", Spec::before_command("efnpsw", &["server-args", "server-num", "error-file"]), 0),
    ("choom", Spec::before_command("np", &[]), 0),
    ("prlimit", Spec::before_command("p", &["pid"]), 0),
    ("systemd-run", Spec::before_command("pu", &["unit", "property"]), 0),
];

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    if let Some((_, spec, operands)) = PREFIXES.iter().find(|(name, ..)| *name == call.name) {
        let flags = Flags::parse(call.args, *spec);
        // `time -o` and `strace -o` write what they saw.
        if matches!(call.name, "time" | "gtime" | "strace" | "ltrace") {
            for file in flags.values(&["o", "output"]) {
                trace.touch(call.world, call.name, file, Deed::Write);
            }
        }
        if matches!(call.name, "sudo" | "doas") {
            return elevated(trace, call, &flags);
        }
        let command = flags.operands.get(*operands..).unwrap_or_default();
        trace.run_command(call, command);
        return true;
    }
    match call.name {
        "env" | "genv" => environment(trace, call),
        "watch" => {
            let flags = Flags::parse(call.args, Spec::before_command("nq", &["interval", "equexit"]));
            let text: Vec<&str> = flags.operands.iter().map(|arg| arg.text.as_str()).collect();
            if flags.has(&["x", "exec"]) {
                trace.run_command(call, &flags.operands);
            } else {
                trace.text(&text.join(" "), vec![call.world.child()], call.input);
            }
        }
        "flock" => {
            let flags = Flags::parse(call.args, Spec::before_command("wEc", &["timeout", "conflict-exit-code", "command"]));
            let Some((lock, command)) = flags.operands.split_first() else { return true };
            if !lock.text.bytes().all(|byte| byte.is_ascii_digit()) {
                trace.touch(call.world, call.name, lock, Deed::Write);
            }
            match command {
                [option, text, ..] if option.text == "-c" || option.text == "--command" => {
                    trace.text(&text.text, vec![call.world.child()], call.input);
                }
                command => trace.run_command(call, command),
            }
        }
        "busybox" | "toybox" => trace.run_command(call, call.args),
        "script" => {
            let flags = Flags::parse(
                call.args,
                Spec::new("cEoIOBTm", &["command", "echo", "output-limit", "log-in", "log-out", "log-io", "log-timing"]),
            );
            let default = [Arg::plain("typescript")];
            let files = if flags.operands.is_empty() { &default[..] } else { &flags.operands };
            trace.touch_all(call, files.get(..1).unwrap_or_default(), Deed::Write);
            for text in flags.values(&["c", "command"]) {
                trace.text(&text.text, vec![call.world.child()], call.input);
            }
            if flags.value(&["c", "command"]).is_none() {
                trace.run_command(call, files.get(1..).unwrap_or_default());
            }
        }
        _ => return false,
    }
    true
}

fn elevated(trace: &mut Trace<'_>, call: &Call<'_>, flags: &Flags) -> bool {
    if flags.has(&["e", "edit"]) {
        trace.touch_all(call, &flags.operands, Deed::Write);
        return true;
    }
    let mut command = flags.operands.as_slice();
    while let Some((first, rest)) = command.split_first() {
        let assigns = first.text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'));
        if !assigns {
            break;
        }
        command = rest;
    }
    let mut world = call.world.clone();
    if let Some(folder) = flags.value(&["D", "chdir"]) {
        world.cwd = world.join(&folder.text);
    }
    if command.is_empty() && flags.has(&["i", "s", "login", "shell"]) {
        super::interpreters::from_input(trace, call);
    }
    trace.run_command(&Call { world: &world, ..*call }, command);
    true
}

fn environment(trace: &mut Trace<'_>, call: &Call<'_>) {
    let flags = Flags::parse(call.args, Spec::before_command("uCS", &["unset", "chdir", "split-string"]));
    if flags.has(&["S", "split-string"]) {
        return trace.unknown(format!("`{}` splits its text into a command of its own", call.shown()));
    }
    let mut world = call.world.clone();
    if let Some(folder) = flags.value(&["C", "chdir"]) {
        world.cwd = world.join(&folder.text);
    }
    let mut command = flags.operands.as_slice();
    while let Some((first, rest)) = command.split_first() {
        let Some((name, value)) = first.text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/')) else {
            break;
        };
        world.set(name, value.to_owned());
        world.export(name);
        trace.risky_variable(name, &world);
        command = rest;
    }
    trace.run_command(&Call { world: &world, ..*call }, command);
}
