//! Programs that edit files in place: `sed perl awk ed vim`.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Input, Trace};
use super::super::value::{Arg, UNKNOWN, shown};
use super::{Call, awk, copy, perl, sed};
use crate::call::effect::Deed;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "sed" | "gsed" | "ssed" => stream(trace, call),
        "perl" => practical(trace, call),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => pattern(trace, call),
        "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "micro" | "joe"
        | "hx" | "kak" | "mcedit" => {
            screen(trace, call);
        }
        _ => return false,
    }
    true
}

/// Enters files that are edited in place, with the copies that are kept of them.
fn in_place(trace: &mut Trace<'_>, call: &Call<'_>, files: &[Arg], suffix: &str) {
    for file in files {
        for path in trace.paths(call.world, call.name, file, Deed::Write) {
            trace.touch_path(call.world, call.name, &path, Deed::Write);
            if !suffix.is_empty() {
                let kept = match (suffix.contains('*'), path.rsplit_once('/')) {
                    (false, _) => format!("{path}{suffix}"),
                    (true, Some((folder, name))) if !suffix.contains('/') => format!("{folder}/{}", suffix.replace('*', name)),
                    (true, _) => suffix.replace('*', copy::base_name(&path)),
                };
                trace.touch_path(call.world, call.name, &kept, Deed::Write);
            }
        }
    }
}

fn stream(trace: &mut Trace<'_>, call: &Call<'_>) {
    let (mut scripts, mut files, mut suffix, mut script_files) = (Vec::new(), Vec::new(), None, Vec::new());
    let mut rest = call.args.iter().peekable();
    let mut options = true;
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        if options && text == "--" {
            options = false;
        } else if let Some(long) = text.strip_prefix("--").filter(|_| options) {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let value = |rest: &mut std::iter::Peekable<std::slice::Iter<'_, Arg>>| {
                value.map_or_else(|| rest.next().cloned().unwrap_or_default(), Arg::plain)
            };
            if name.len() > 1 && "in-place".starts_with(name) {
                suffix = Some(long.split_once('=').map_or(String::new(), |(_, suffix)| suffix.to_owned()));
            } else if name.len() > 1 && "expression".starts_with(name) {
                scripts.push(value(&mut rest).text);
            } else if name.len() > 1 && "file".starts_with(name) {
                script_files.push(value(&mut rest));
            } else if name == "line-length" {
                value(&mut rest);
            }
        } else if options && text.len() > 1 && text.starts_with('-') {
            let mut letters = text.chars();
            letters.next();
            while let Some(letter) = letters.next() {
                let attached = letters.as_str();
                let mut value =
                    || if attached.is_empty() { rest.next().cloned().unwrap_or_default() } else { Arg::plain(attached) };
                match letter {
                    'i' | 'I' => {
                        suffix = Some(attached.to_owned());
                        // BSD's `-i ''`.
                        if attached.is_empty() && rest.peek().is_some_and(|next| next.text.is_empty()) {
                            rest.next();
                        }
                        break;
                    }
                    'e' => {
                        scripts.push(value().text);
                        break;
                    }
                    'f' => {
                        script_files.push(value());
                        break;
                    }
                    'l' => {
                        value();
                        break;
                    }
                    UNKNOWN => {
                        trace.unknown(format!("`{}` has an option that is only known when it runs", call.shown()));
                        break;
                    }
                    _ => {}
                }
            }
        } else {
            files.push(arg.clone());
        }
    }
    if scripts.is_empty() && script_files.is_empty() && !files.is_empty() {
        scripts.push(files.remove(0).text);
    }
    for file in &script_files {
        trace.execute(call.world, Some(file));
    }
    for text in scripts {
        let script = sed::script(&text);
        if script.runs {
            trace.unknown(format!("the sed script `{}` runs commands, or is only known when it runs", shown(&text)));
        }
        for file in script.writes {
            trace.touch(call.world, call.name, &Arg::plain(file), Deed::Write);
        }
    }
    if let Some(suffix) = suffix {
        in_place(trace, call, &files, &suffix);
    }
}

fn practical(trace: &mut Trace<'_>, call: &Call<'_>) {
    let (mut code, mut suffix): (Vec<String>, Option<String>) = (Vec::new(), None);
    let (mut modules, mut checks) = (false, false);
    let mut rest = call.args.iter();
    let mut operands = Vec::new();
    while let Some(arg) = rest.next() {
        if arg.text == "--" {
            break;
        }
        if !arg.text.starts_with('-') || arg.text == "-" {
            operands.push(arg.clone());
            break;
        }
        let mut letters = arg.text.chars();
        letters.next();
        while let Some(letter) = letters.next() {
            let attached = letters.as_str();
            match letter {
                'e' | 'E' => {
                    let value = if attached.is_empty() {
                        rest.next().map(|arg| arg.text.clone()).unwrap_or_default()
                    } else {
                        attached.to_owned()
                    };
                    code.push(value);
                    break;
                }
                'i' => {
                    suffix = Some(attached.to_owned());
                    break;
                }
                'M' | 'm' | 'I' | 'x' => {
                    modules = true;
                    break;
                }
                'F' | 'C' | 'D' | 'V' => break,
                'v' | 'c' => checks = true,
                _ => {}
            }
        }
    }
    operands.extend(rest.cloned());
    if code.is_empty() {
        match operands.first() {
            Some(script) if script.text != "-" => trace.execute(call.world, Some(script)),
            None if checks => {}
            _ => super::interpreters::from_input(trace, call),
        }
        return;
    }
    let code = code.join("\n");
    if let Some(suffix) = &suffix {
        in_place(trace, call, &operands, suffix);
    }
    if modules || !perl::is_plain(&code) {
        trace.unknown(format!("`perl -e {}` is a program whose effects cannot be seen", shown(&code)));
    }
}

fn pattern(trace: &mut Trace<'_>, call: &Call<'_>) {
    let mut spec = Spec::new("FvfieE", &["field-separator", "assign", "file", "include", "source", "exec"]);
    spec.operand_ends = true;
    let flags = Flags::parse(call.args, spec);
    let mut operands = flags.operands.clone();
    let mut programs: Vec<String> = flags.values(&["e", "source"]).map(|arg| arg.text.clone()).collect();
    let included: Vec<Arg> = flags.values(&["i", "include"]).cloned().collect();
    let files: Vec<Arg> = flags.values(&["f", "file", "E", "exec"]).cloned().collect();
    if programs.is_empty() && files.is_empty() && !operands.is_empty() {
        programs.push(operands.remove(0).text);
    }
    for file in &files {
        trace.execute(call.world, Some(file));
    }
    for module in included.iter().filter(|module| module.text != "inplace") {
        trace.execute(call.world, Some(module));
    }
    if included.iter().any(|module| module.text == "inplace") {
        let suffix =
            flags.values(&["v", "assign"]).find_map(|arg| arg.text.split_once("::suffix=").map(|(_, suffix)| suffix.to_owned()));
        in_place(trace, call, &operands, &suffix.unwrap_or_default());
    }
    for text in programs {
        let program = awk::program(&text);
        if program.runs || text.starts_with(UNKNOWN) {
            trace.unknown(format!(
                "the awk program `{}` runs commands or writes files that are only known when it runs",
                shown(&text)
            ));
        }
        for file in program.writes {
            trace.touch_path(call.world, call.name, &file, Deed::Write);
        }
        for command in program.commands {
            let mut world = call.world.child();
            world.options.posix = true;
            trace.apart(|trace| trace.text(&command, vec![world], &Input::Unknown));
        }
    }
}

fn screen(trace: &mut Trace<'_>, call: &Call<'_>) {
    let line = matches!(call.name, "ed" | "red");
    let spec = if line { Spec::new("p", &["prompt"]) } else { Spec::new("cuSswWpT", &["cmd", "eval", "load", "file"]) };
    // `-es` is a mode of its own, not a script.
    let args: Vec<Arg> = call.args.iter().filter(|arg| !matches!(arg.text.as_str(), "-es" | "-Es")).cloned().collect();
    let flags = Flags::parse(&args, spec);
    let reads = call.name == "view" || flags.has(&["R", "M"]);
    if !reads {
        trace.touch_all(call, &flags.operands, Deed::Write);
    }
    // Their own commands can do anything, and so can what is fed to them.
    let scripted = !line && flags.has(&["c", "S", "s", "cmd", "eval", "load", "batch"])
        || call.args.iter().any(|arg| arg.text.starts_with('+'));
    let harmless = |arg: &Arg| matches!(arg.text.as_str(), "q" | "q!" | "wq" | "x" | ":q" | ":wq" | "set nu" | "set number");
    let plain = flags.values(&["c"]).all(|arg| harmless(arg) || is_substitution(&arg.text));
    if scripted && !(flags.has(&["c"]) && plain && !flags.has(&["S", "cmd", "eval", "load"])) {
        trace.unknown(format!("`{}` runs an editor's commands", call.shown()));
    }
    let fed = match call.input {
        Input::Inherited => false,
        Input::Text(text) => !text.lines().all(is_ed_line),
        _ => true,
    };
    if fed && matches!(call.name, "ed" | "red" | "ex" | "vi" | "vim" | "nvim") {
        trace.unknown(format!("`{}` runs an editor's commands", call.shown()));
    }
}

/// `%s/a/b/g` and nothing else.
fn is_substitution(text: &str) -> bool {
    let text = text.trim_start_matches(':').trim_start_matches(|c: char| c.is_ascii_digit() || "%,$.".contains(c));
    text.strip_prefix("s/").is_some_and(|rest| !rest.contains(['|', '!', '`', '\\', '\n']))
}

/// A line of an `ed` script that neither leaves the file nor runs anything.
fn is_ed_line(line: &str) -> bool {
    let line = line.trim();
    matches!(line, "" | "w" | "q" | "wq" | "Q" | "p" | ".") || is_substitution(line)
}
