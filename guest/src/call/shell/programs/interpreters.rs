//! Programs that run programs: shells, language runtimes, other machines.

use std::rc::Rc;

use super::super::trace::{Input, Trace};
use super::super::value::{Arg, UNKNOWN, shown};
use super::Call;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "mksh" | "rbash" => shell(trace, call),
        "fish" | "csh" | "tcsh" | "nu" | "xonsh" | "elvish" => foreign(trace, call),
        "su" | "runuser" => {
            let text = call
                .args
                .iter()
                .position(|arg| matches!(arg.text.as_str(), "-c" | "--command"))
                .and_then(|at| call.args.get(at + 1));
            match text {
                Some(text) => script(trace, call, text, &[]),
                None => from_input(trace, call),
            }
        }
        "python" | "python2" | "python3" | "pypy" | "pypy3" | "ipython" => language(trace, call, &["-c"], &["-W", "-X", "-Q"]),
        "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => {
            language(
                trace,
                call,
                &["-e", "--eval", "-p", "--print", "-pe", "-ep", "eval"],
                &["-r", "--require", "--import", "--loader", "--env-file"],
            );
        }
        "ruby" | "jruby" => language(trace, call, &["-e", "-ne", "-pe", "-ane", "-lne", "-pi", "-i"], &["-r", "-I"]),
        "php" => language(trace, call, &["-r", "-B", "-R", "-E"], &["-d", "-c"]),
        "lua" | "luajit" | "Rscript" | "julia" | "groovy" | "scala" | "elixir" | "tclsh" | "raku" | "guile" | "racket"
        | "ghc" | "runghc" => {
            language(trace, call, &["-e", "-E", "--eval", "-pe"], &["-l"]);
        }
        "osascript" => language(trace, call, &["-e"], &["-l"]),
        name if is_versioned(name, "python") => language(trace, call, &["-c"], &["-W", "-X", "-Q"]),
        "pwsh" | "powershell" | "cmd" => windows(trace, call),
        _ => return false,
    }
    true
}

fn is_versioned(name: &str, base: &str) -> bool {
    name.strip_prefix(base).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Text that is read from a pipe, a file or a here-document and run.
pub(super) fn from_input(trace: &mut Trace<'_>, call: &Call<'_>) {
    match call.input {
        Input::Inherited => trace.execute(call.world, None),
        Input::Text(text) if text.trim().is_empty() => {}
        _ => trace.unknown(format!("`{}` runs text that it reads when it runs", call.shown())),
    }
}

fn shell(trace: &mut Trace<'_>, call: &Call<'_>) {
    let mut rest = call.args;
    let (mut text, mut stdin, mut dry) = (false, false, false);
    while let Some((option, after)) = rest.split_first() {
        let Some(letters) = option.text.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else { break };
        rest = after;
        match letters {
            "-" => break,
            "-rcfile" | "-init-file" => {
                if let Some((file, after)) = rest.split_first() {
                    trace.execute(call.world, Some(file));
                    rest = after;
                }
            }
            long if long.starts_with('-') => {}
            letters => {
                text |= letters.contains('c');
                stdin |= letters.contains('s');
                dry |= letters.contains('n') && !letters.contains('c');
                if letters.contains(UNKNOWN) {
                    trace.unknown(format!("`{}` has an option that is only known when it runs", call.shown()));
                }
                // `-o option` takes a word of its own.
                if letters.ends_with(['o', 'O']) {
                    rest = rest.get(1..).unwrap_or_default();
                }
            }
        }
    }
    match rest.split_first() {
        Some((command, args)) if text => script(trace, call, command, args.get(1..).unwrap_or_default()),
        _ if text || dry => {}
        Some((file, args)) if !stdin && !matches!(file.text.as_str(), "-" | "/dev/stdin") => {
            let _ = args;
            if !file.is_known() || file.text.starts_with("/dev/") || file.text.starts_with("/proc/") {
                trace.unknown(format!("`{}` runs text that is only known when it runs", call.shown()));
            } else {
                trace.execute(call.world, Some(file));
            }
        }
        _ => match call.input {
            Input::Text(text) if !text.contains(UNKNOWN) => {
                let mut world = call.world.child();
                world.options.posix = is_plain(call.name);
                world.positional = None;
                trace.apart(|trace| trace.text(text, vec![world], &Input::Unknown));
            }
            _ => from_input(trace, call),
        },
    }
}

/// Shells that may lack what Bash adds.
fn is_plain(name: &str) -> bool {
    !matches!(name, "bash" | "rbash" | "zsh")
}

/// A script that is an argument.
fn script(trace: &mut Trace<'_>, call: &Call<'_>, text: &Arg, args: &[Arg]) {
    if !text.is_known() || text.pattern.is_some() {
        return trace.unknown(format!("`{}` runs text that is only known when it runs", call.shown()));
    }
    let mut world = call.world.child();
    world.options.posix = is_plain(call.name);
    world.positional = Some(Rc::new(args.iter().map(|arg| arg.text.clone()).collect()));
    trace.apart(|trace| trace.text(&text.text, vec![world], call.input));
}

/// Shells with a grammar of their own.
fn foreign(trace: &mut Trace<'_>, call: &Call<'_>) {
    match call.args.iter().find(|arg| !arg.text.starts_with('-')) {
        Some(file) if !call.args.iter().any(|arg| arg.text.starts_with('-') && arg.text.contains('c')) => {
            trace.execute(call.world, Some(file))
        }
        Some(text) => trace.unknown(format!("`{} -c {}` is in a language that is not read here", call.name, shown(&text.text))),
        None => from_input(trace, call),
    }
}

/// A language's runtime: `inline` are the options that take code, `valued` others that take a word.
fn language(trace: &mut Trace<'_>, call: &Call<'_>, inline: &[&str], valued: &[&str]) {
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        // Letters may stand together: `-Ic`, `-lane`.
        let bundled = |option: &&str| {
            let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
            let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let before = letter.zip(letters).and_then(|(letter, letters)| letters.split_once(letter)).map(|(before, _)| before);
            before.is_some_and(|before| before.chars().all(|c| "abBdEhiIlnOpPqRsSuvVwx0".contains(c)))
        };
        if inline.contains(&text) || inline.iter().any(|option| text.starts_with(&format!("{option}=")) || bundled(option)) {
            let code = rest.next().map_or("", |code| code.text.as_str());
            return trace.unknown(format!("`{} {text} {}` is a program whose effects cannot be seen", call.name, shown(code)));
        }
        match text {
            "-m" => {
                let module = rest.next().map_or("", |module| module.text.as_str());
                if module == "json.tool" {
                    let operands: Vec<&Arg> = rest.filter(|arg| !arg.text.starts_with('-')).collect();
                    if let Some(output) = operands.get(1) {
                        trace.touch(call.world, call.name, output, crate::call::effect::Deed::Write);
                    }
                    return;
                }
                return trace.execute(call.world, None);
            }
            "-" => return from_input(trace, call),
            text if valued.contains(&text) => drop(rest.next()),
            // Words such as `run` and `test` are commands of the runtime, not files.
            "run" | "test" | "install" | "x" | "task" | "add" | "fmt" | "lint" | "check" | "build" | "compile"
                if matches!(call.name, "deno" | "bun") =>
            {
                return trace.execute(call.world, None);
            }
            text if text.starts_with('-') => {}
            text if text.starts_with("/dev/") || !arg.is_known() => {
                return trace.unknown(format!("`{}` runs text that is only known when it runs", call.shown()));
            }
            _ => return trace.execute(call.world, Some(arg)),
        }
    }
    from_input(trace, call);
}

/// PowerShell and `cmd`: only what plainly looks is let through.
fn windows(trace: &mut Trace<'_>, call: &Call<'_>) {
    const LOOKS: &[&str] = &[
        "get-content",
        "get-childitem",
        "get-item",
        "get-location",
        "get-process",
        "get-date",
        "get-command",
        "get-help",
        "test-path",
        "select-string",
        "get-filehash",
        "resolve-path",
        "measure-object",
        "write-output",
        "write-host",
        "dir",
        "type",
        "ls",
        "cat",
        "gc",
        "gci",
        "pwd",
        "echo",
        "ver",
        "where",
        "findstr",
        "tree",
        "more",
        "hostname",
        "whoami",
        "cd",
    ];
    let switch = |arg: &Arg| {
        let text = arg.text.to_ascii_lowercase();
        text.starts_with('-') || (call.name == "cmd" && text.starts_with('/') && text.len() == 2)
    };
    let words: Vec<&str> = call.args.iter().skip_while(|arg| switch(arg)).map(|arg| arg.text.as_str()).collect();
    let encoded = call.args.iter().any(|arg| ["-e", "-E", "-f", "-F"].iter().any(|flag| arg.text.starts_with(flag)));
    let text = words.join(" ");
    let first = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let plain = !text.contains([';', '&', '|', '>', '<', '$', '(', ')', '{', '}', '`', '\n', '%', '@', UNKNOWN]);
    if encoded || !plain || !LOOKS.contains(&first.as_str()) {
        trace.unknown(format!("`{}` is in a language that is not read here", call.shown()));
    }
}
