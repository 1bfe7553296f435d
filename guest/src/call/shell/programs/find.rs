//! `find` and `xargs`: commands for files that are found when they run.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Input, Trace};
use super::super::value::{Arg, UNKNOWN};
use super::Call;
use crate::call::effect::Deed;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "find" | "gfind" => search(trace, call),
        "xargs" | "gxargs" => arguments(trace, call),
        "parallel" => trace.unknown(format!("`{}` runs commands that are put together when it runs", call.shown())),
        _ => return false,
    }
    true
}

fn search(trace: &mut Trace<'_>, call: &Call<'_>) {
    let is_expression =
        |arg: &Arg| arg.text.starts_with('-') && arg.text.len() > 1 || matches!(arg.text.as_str(), "(" | ")" | "!" | ",");
    let mut rest = call.args.iter().peekable();
    let mut follows = false;
    while let Some(option) =
        rest.next_if(|arg| matches!(arg.text.as_str(), "-H" | "-L" | "-P" | "-D") || arg.text.starts_with("-O"))
    {
        match option.text.as_str() {
            "-D" => drop(rest.next()),
            "-L" => follows = true,
            _ => {}
        }
    }
    let mut starts = Vec::new();
    while let Some(start) = rest.next_if(|arg| !is_expression(arg)) {
        if start.text.starts_with(UNKNOWN) && !starts.is_empty() {
            trace.unknown(format!("`{}` has an argument that is only known when it runs", call.shown()));
        }
        starts.push(start.clone());
    }
    if starts.is_empty() {
        starts.push(Arg::plain("."));
    }
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            "-follow" => follows = true,
            // What is found behind a link goes too. `-H`, too, follows a start that is a link.
            "-delete" => {
                let link = |start: &Arg| trace.facts(call.world, &start.text).is_some_and(|facts| facts.link.is_some());
                let deed = if follows || starts.iter().any(link) { Deed::WriteTree } else { Deed::DeleteTree };
                trace.touch_all(call, &starts, deed);
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(file) = rest.next() {
                    trace.touch(call.world, call.name, file, Deed::Write);
                }
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let mut command = Vec::new();
                for word in rest.by_ref() {
                    if word.text == ";" || (word.text == "+" && command.last().is_some_and(|last: &Arg| last.text == "{}")) {
                        break;
                    }
                    command.push(word.clone());
                }
                for start in &starts {
                    each(trace, call, start, &command);
                }
            }
            // Values of tests are not looked at; an operator that is not known may be any.
            "-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-iregex" | "-type" | "-newer" | "-mtime" | "-mmin"
            | "-size" | "-maxdepth" | "-mindepth" | "-perm" | "-user" | "-group" | "-printf" | "-wholename" | "-lname"
            | "-ilname" | "-ctime" | "-atime" | "-cmin" | "-amin" | "-samefile" | "-inum" | "-links" | "-newermt"
            | "-regextype" | "-fstype" | "-uid" | "-gid" => drop(rest.next()),
            text if text.starts_with(UNKNOWN) => {
                trace.unknown(format!("`{}` has an argument that is only known when it runs", call.shown()));
            }
            _ => {}
        }
    }
}

/// A command that is run for what is found below a start: everything below may be meant.
fn each(trace: &mut Trace<'_>, call: &Call<'_>, start: &Arg, command: &[Arg]) {
    let mark = trace.mark();
    let fill = |arg: &Arg| Arg { text: arg.text.replace("{}", &start.text), pattern: None };
    let filled: Vec<Arg> = command.iter().map(fill).collect();
    trace.run_command(call, &filled);
    let copies = command
        .first()
        .is_some_and(|name| matches!(super::copy::base_name(&name.text), "cp" | "mv" | "ln" | "install" | "rsync"));
    if copies {
        // Whatever is found takes its own name along.
        let spec = Spec::new("t", &["target-directory"]);
        let flags = Flags::parse(command.get(1..).unwrap_or_default(), spec);
        let target = flags.value(&["t", "target-directory"]).or(flags.operands.last()).cloned();
        if let Some(target) = target.filter(|target| !target.text.contains("{}")) {
            trace.touch(call.world, call.name, &target, Deed::WriteTree);
        }
    }
    if let Some(path) = trace.located(call.world, &start.text) {
        if trace.changes_since(mark) {
            trace.widen_since(mark, &path);
        }
    } else if trace.changes_since(mark) {
        trace.unknown(format!("`{}` changes files that are found when it runs", call.shown()));
    }
}

fn arguments(trace: &mut Trace<'_>, call: &Call<'_>) {
    let spec = Spec::before_command(
        "IadEeLlnPs",
        &["replace", "arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars"],
    );
    let flags = Flags::parse(call.args, spec);
    if flags.operands.is_empty() {
        return;
    }
    let place = flags
        .value(&["I", "replace"])
        .map(|arg| arg.text.clone())
        .or_else(|| flags.has(&["i", "replace"]).then(|| "{}".to_owned()));
    let plain = !flags.has(&["a", "arg-file", "d", "delimiter", "0", "null", "E", "e"]);
    let known = match call.input {
        Input::Text(text) if plain && !text.contains(['\'', '"', '\\', UNKNOWN]) && text.len() < 4096 => Some(text.as_str()),
        _ => None,
    };
    let run = |trace: &mut Trace<'_>, command: &[Arg]| {
        if let Some((name, args)) = command.split_first() {
            trace.invoke_program(name, args, call.world.child(), &Input::Text(String::new()));
        }
    };
    match (place, known) {
        (None, known) => {
            let mut command = flags.operands.clone();
            match known {
                Some(text) => command.extend(text.split_whitespace().map(Arg::plain)),
                None => command.push(Arg::unknown()),
            }
            run(trace, &command);
        }
        (Some(place), known) => {
            let values: Vec<String> =
                known.map_or_else(|| vec![UNKNOWN.to_string()], |text| text.lines().map(|line| line.trim().to_owned()).collect());
            for value in values {
                let fill = |arg: &Arg| Arg { text: arg.text.replace(&place, &value), pattern: None };
                run(trace, &flags.operands.iter().map(fill).collect::<Vec<_>>());
            }
        }
    }
}
