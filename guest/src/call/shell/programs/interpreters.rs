//! Language interpreters: a script in a file is recorded as run; a script given as text is *unknown*.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::super::reader::input::StandardInput;
use super::super::reader::script::Language;
use super::background::read_as_it_runs;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use super::tollgate::{is_script_of_tollgate, record_command};
use crate::effects::{Access, Persistence};

const VERSION: &[&str] = &["--version", "-V", "-v", "--help", "-h"];

/// A script, and its arguments.
const SCRIPT: Operands = Operands::Then(&[ArgumentRole::Text], ArgumentRole::Text);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        flags: "bBdEiIOPqRsSuvx",
        valued: &[
            ("c", ArgumentRole::Code),
            ("m", ArgumentRole::Text),
            ("W", ArgumentRole::Text),
            ("X", ArgumentRole::Text),
            ("check-hash-based-pycs", ArgumentRole::Text),
        ],
        ends_at_operand: true,
        ends_behind: &["c", "m"],
        operands: SCRIPT,
        answers: &["--version", "-V", "-VV", "--help", "-h"],
        rule: Some(python),
        ..ProgramSpec::new(&[
            "python",
            "python2",
            "python3",
            "python3.8",
            "python3.9",
            "python3.10",
            "python3.11",
            "python3.12",
            "python3.13",
            "python3.14",
            "pypy",
            "pypy3",
        ])
    },
    ProgramSpec {
        flags: "ci",
        long: &[
            "check",
            "enable-source-maps",
            "experimental-strip-types",
            "experimental-vm-modules",
            "expose-gc",
            "inspect-brk",
            "interactive",
            "no-deprecation",
            "no-warnings",
            "preserve-symlinks",
            "test",
            "test-only",
            "throw-deprecation",
            "trace-deprecation",
            "trace-warnings",
            "watch",
        ],
        valued: &[
            ("e", ArgumentRole::Code),
            ("p", ArgumentRole::Code),
            ("C", ArgumentRole::Text),
            ("conditions", ArgumentRole::Text),
            ("env-file", ArgumentRole::Read),
            ("eval", ArgumentRole::Code),
            ("experimental-loader", ArgumentRole::Text),
            ("import", ArgumentRole::Text),
            ("loader", ArgumentRole::Text),
            ("print", ArgumentRole::Code),
            ("r", ArgumentRole::Text),
            ("require", ArgumentRole::Text),
            ("test-name-pattern", ArgumentRole::Text),
            ("test-reporter", ArgumentRole::Text),
            ("test-reporter-destination", ArgumentRole::Path(Access::Write)),
        ],
        attached: &[
            ("inspect", ArgumentRole::Text),
            ("max-old-space-size", ArgumentRole::Text),
            ("stack-size", ArgumentRole::Text),
            ("stack-trace-limit", ArgumentRole::Text),
            ("unhandled-rejections", ArgumentRole::Text),
        ],
        ends_at_operand: true,
        operands: SCRIPT,
        answers: VERSION,
        rule: Some(node),
        ..ProgramSpec::new(&["node", "nodejs"])
    },
    ProgramSpec {
        long: &["files", "transpile-only", "swc", "esm", "watch", "no-cache"],
        flags: "TS",
        valued: &[
            ("e", ArgumentRole::Code),
            ("p", ArgumentRole::Code),
            ("eval", ArgumentRole::Code),
            ("print", ArgumentRole::Code),
            ("P", ArgumentRole::Read),
            ("project", ArgumentRole::Read),
            ("tsconfig", ArgumentRole::Read),
            ("r", ArgumentRole::Text),
            ("require", ArgumentRole::Text),
            ("import", ArgumentRole::Text),
            ("env-file", ArgumentRole::Read),
        ],
        ends_at_operand: true,
        operands: SCRIPT,
        answers: VERSION,
        rule: Some(node),
        ..ProgramSpec::new(&["ts-node", "ts-node-esm", "tsx", "babel-node", "vite-node", "esno", "swc-node"])
    },
    ProgramSpec {
        flags: "wWduU",
        long: &["enable-yjit", "yjit", "disable-gems"],
        valued: &[("e", ArgumentRole::Code), ("I", ArgumentRole::Text), ("r", ArgumentRole::Text), ("E", ArgumentRole::Text)],
        ends_at_operand: true,
        operands: SCRIPT,
        answers: &["--version", "-v", "--help", "-h"],
        rule: Some(script),
        ..ProgramSpec::new(&["ruby", "jruby", "truffleruby"])
    },
    ProgramSpec {
        flags: "01234567alnpw",
        valued: &[("e", ArgumentRole::Text), ("I", ArgumentRole::Text)],
        attached: &[("i", ArgumentRole::Text)],
        ends_at_operand: true,
        operands: Operands::Rule,
        answers: &["--version", "-v", "-V", "--help", "-h"],
        rule: Some(perl),
        ..ProgramSpec::new(&["perl"])
    },
    ProgramSpec {
        flags: "nq",
        valued: &[
            ("r", ArgumentRole::Code),
            ("B", ArgumentRole::Code),
            ("E", ArgumentRole::Code),
            ("R", ArgumentRole::Code),
            ("F", ArgumentRole::Script),
            ("c", ArgumentRole::Read),
            ("d", ArgumentRole::Text),
            ("l", ArgumentRole::Read),
            ("S", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("f", ArgumentRole::Script),
        ],
        ends_at_operand: true,
        operands: Operands::Rule,
        answers: &["--version", "-v", "-i", "-m", "--help", "-h", "--ini", "-l *"],
        rule: Some(php),
        ..ProgramSpec::new(&["php"])
    },
    ProgramSpec {
        valued: &[
            ("e", ArgumentRole::Code),
            ("eval", ArgumentRole::Code),
            ("E", ArgumentRole::Code),
            ("print", ArgumentRole::Code),
            ("l", ArgumentRole::Text),
        ],
        long: &["vanilla", "no-save", "no-restore"],
        ends_at_operand: true,
        operands: SCRIPT,
        answers: &["--version"],
        rule: Some(script),
        ..ProgramSpec::new(&[
            "lua",
            "luajit",
            "Rscript",
            "julia",
            "groovy",
            "elixir",
            "tclsh",
            "raku",
            "guile",
            "racket",
            "runghc",
            "crystal-run",
            "osascript",
            "ipython",
        ])
    },
    ProgramSpec { answers: &["--version", "-V", "--help"], rule: Some(deno), ..ProgramSpec::opaque(&["deno"]) },
    // Consoles: without a file they run what is typed.
    ProgramSpec {
        valued: &[("e", ArgumentRole::Code), ("eval", ArgumentRole::Code)],
        answers: &["--version", "-version", "-v", "-V", "--help", "-h"],
        rule: Some(console),
        ..ProgramSpec::opaque(&[
            "R", "bpython", "clj", "clojure", "erl", "ghci", "iex", "irb", "jshell", "kotlin", "ocaml", "octave", "pry",
            "ptpython", "sbcl", "scala", "utop",
        ])
    },
];

/// Records a script that is run. A name for standard input or for a descriptor means text that cannot be known.
pub(super) fn run_file(reader: &mut ShellReader<'_>, call: &Invocation<'_>, file: &Arg) {
    let is_stream = file.text().is_some_and(|text| text == "-" || text.starts_with("/dev/") || text.starts_with("/proc/"));
    if is_stream || !file.is_certain() {
        if *call.input == StandardInput::Inherited {
            reader.record_persistence(Persistence::Interactive);
        }
        return reader.add_unknown(format!("`{}` runs `{}`, text that is only known when it runs", call.name, file.display()));
    }
    reader.touch(call.state, call.name, file, Access::Execute);
}

/// A language whose first operand is a script; without one, it reads text that cannot be known.
fn script(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["c", "e", "p", "E", "eval", "print"]) {
        // Already recorded as code, according to the role.
        return;
    }
    match parsed.operands.first() {
        Some(file) => {
            run_file(reader, call, file);
            reader.search_script(call.state, file, Language::Other);
        }
        None => read_as_it_runs(reader, call),
    }
}

fn node(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["i", "interactive"]) {
        return read_as_it_runs(reader, call);
    }
    if parsed.has(&["e", "p", "eval", "print"]) {
        return;
    }
    if parsed.has(&["test"]) {
        reader.execute(call.state);
        return;
    }
    if let Some((file, args)) = parsed.operands.split_first() {
        let args: Vec<Arg> = args.iter().map(|arg| (*arg).clone()).collect();
        if is_script_of_tollgate(reader, call.state, file, &args) {
            record_command(reader, call.state, &args);
        }
        if parsed.has(&["c", "check"]) && !parsed.has(&["experimental-loader", "import", "loader", "r", "require"]) {
            return reader.touch(call.state, call.name, file, Access::Read);
        }
    }
    script(reader, call, parsed);
}

fn console(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.operands.is_empty() && !parsed.has(&["e", "eval"]) {
        read_as_it_runs(reader, call);
    }
}

/// `python3 -m MODULE`: a program like any other, searched for in the working directory first.
fn python(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    // After the script or the module, it continues with typed input.
    if parsed.has(&["i"]) {
        read_as_it_runs(reader, call);
    }
    let Some(module) = parsed.values(&["m"]).next() else { return script(reader, call, parsed) };
    reader.execute(call.state);
    let rest: Vec<Arg> = parsed.operands.iter().map(|arg| (*arg).clone()).collect();
    match module.text() {
        Some("json.tool") => {
            let inner = Invocation { name: "python3 -m json.tool", args: &rest, ..*call };
            super::apply(reader, &JSON_TOOL, &inner);
        }
        Some(name @ ("venv" | "virtualenv")) => {
            let name = format!("{} -m {name}", call.name);
            super::apply(reader, &ENVIRONMENT, &Invocation { name: &name, args: &rest, ..*call });
        }
        Some(name) if is_tool(name) => {
            let mut inner = vec![Arg::known(name)];
            inner.extend(rest);
            reader.run_program(&inner, call.state, call.input);
        }
        // These modules write or run what their arguments name.
        Some(
            "cProfile" | "code" | "gzip" | "lib2to3" | "pdb" | "profile" | "runpy" | "shutil" | "tarfile" | "timeit" | "trace"
            | "zipapp" | "zipfile",
        ) => {
            reader.add_unknown(format!("`{} -m {}` writes or runs what its arguments say", call.name, module.display()));
        }
        Some(_) => {}
        None => reader.add_unknown(format!("`{} -m` runs a module that is only known when it runs", call.name)),
    }
}

/// Modules that are also programs with their own row in the table.
fn is_tool(name: &str) -> bool {
    matches!(name, "pip" | "pytest" | "mypy" | "coverage") || super::formatters::ROWS.iter().any(|row| row.names.contains(&name))
}

const JSON_TOOL: ProgramSpec = ProgramSpec {
    long: &["compact", "json-lines", "no-ensure-ascii", "no-indent", "sort-keys", "tab"],
    valued: &[("indent", ArgumentRole::Text)],
    operands: Operands::Then(&[ArgumentRole::Read], ArgumentRole::Path(Access::Write)),
    ..ProgramSpec::new(&["json.tool"])
};

const ENVIRONMENT: ProgramSpec = ProgramSpec {
    valued: &[("p", ArgumentRole::Text), ("prompt", ArgumentRole::Text), ("python", ArgumentRole::Text)],
    operands: Operands::Rule,
    rule: Some(environment),
    ..ProgramSpec::opaque(&["venv", "virtualenv"])
};

/// The folder of an environment is created and filled. Under its usual names it is a build folder, which is not judged.
fn environment(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    for folder in parsed.operands.iter().filter(|folder| !(folder.is_text(".venv") || folder.is_text("venv"))) {
        reader.touch(call.state, call.name, folder, Access::WriteTree);
    }
}

/// A Perl one-liner: certain only if it is a substitution that cannot run anything. With `-i`, the files are rewritten.
fn perl(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let one_liner = parsed.has(&["e"]);
    if !one_liner && !parsed.has(&["a", "i", "n", "p"]) {
        return script(reader, call, parsed);
    }
    let is_plain = one_liner && parsed.has(&["p"]) && parsed.values(&["e"]).all(|code| code.text().is_some_and(is_substitution));
    // Perl treats a name with one of these characters as a command, or opens it for writing.
    let are_files = parsed
        .operands
        .iter()
        .all(|file| file.text().is_some_and(|text| !text.contains(['|', '<', '>', '&']) && text.trim() == text));
    if !is_plain || !are_files {
        reader.add_unknown(format!("`{}` runs text from its arguments, whose effects cannot be seen", call.name));
    }
    let suffixes: Vec<&Arg> = parsed.values(&["i"]).collect();
    for file in parsed.operands.iter().filter(|_| parsed.has(&["i"])) {
        reader.touch(call.state, call.name, file, Access::Write);
        for suffix in &suffixes {
            match (file.text(), suffix.text()) {
                (Some(file), Some(suffix)) if !suffix.contains(['/', '*']) => {
                    reader.touch(call.state, call.name, &Arg::known(format!("{file}{suffix}")), Access::Write);
                }
                _ => reader.add_unknown(format!("where `{}` saves its backup copy cannot be determined", call.name)),
            }
        }
    }
}

/// `s/old/new/g` without variables, blocks or commands.
fn is_substitution(code: &str) -> bool {
    let code = code.trim().trim_end_matches(';');
    let Some(rest) = code.strip_prefix('s') else { return false };
    let Some(delimiter) = rest.chars().next().filter(|c| "/|,#!:".contains(*c)) else { return false };
    let parts: Vec<&str> = rest.split(delimiter).collect();
    match parts.as_slice() {
        ["", pattern, replacement, flags] => {
            let is_text = |part: &str| !part.contains(['$', '@', '{', '}', '`']) && !part.ends_with('\\');
            is_text(pattern) && is_text(replacement) && flags.chars().all(|flag| "gims".contains(flag))
        }
        _ => false,
    }
}

fn php(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["r", "B", "E", "R"]) {
        return;
    }
    if parsed.has(&["S", "f", "F"]) {
        return reader.execute(call.state);
    }
    if !parsed.has(&["l"]) {
        script(reader, call, parsed);
    }
}

/// `deno run FILE`, `deno eval TEXT`.
fn deno(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    match parsed.operands.first().and_then(|arg| arg.text()) {
        Some("eval" | "repl") => reader.add_unknown(format!("`{} eval` runs text whose effects cannot be seen", call.name)),
        None => read_as_it_runs(reader, call),
        Some("fmt") if !call.args.iter().any(|arg| arg.is_text("--check")) => {
            for file in parsed.operands.get(1..).unwrap_or_default() {
                super::record_argument(reader, call, ArgumentRole::Rewrite, file);
            }
        }
        Some("run") if parsed.operands.get(1).is_some_and(|file| file.is_text("-")) => {
            read_as_it_runs(reader, call);
        }
        Some(_) => {}
    }
}
