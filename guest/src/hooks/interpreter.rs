//! Finds the file that an interpreter runs, for known interpreters and options.
//!
//! The known interpreters run the file in their first operand and obey no file of the folder they run in; their known options
//! load nothing, or only files that they name. Everything else is unknown, and the reason is given.

/// How an interpreter's arguments are read.
struct Interpreter {
    /// Its names, without versions.
    names: &'static [&'static str],
    /// Options of one letter without a value, which can be combined.
    letters: &'static str,
    /// Options whose next word is one of these values.
    settings: &'static [(char, &'static [&'static str])],
    /// Whole options without a value.
    options: &'static [&'static str],
    /// Prefixes of options that carry their value.
    prefixes: &'static [&'static str],
    /// Options whose next word is a file that is loaded before the script.
    loads: &'static [&'static str],
}

const KNOWN: &[Interpreter] = &[
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash"],
        letters: "aefuvx",
        settings: &[('o', &["errexit", "nounset", "noglob", "pipefail", "verbose", "xtrace"])],
        options: &[],
        prefixes: &[],
        loads: &[],
    },
    Interpreter { names: &["fish"], letters: "", settings: &[], options: &[], prefixes: &[], loads: &[] },
    Interpreter {
        names: &["node", "nodejs"],
        letters: "",
        settings: &[],
        options: &[
            "--enable-source-maps",
            "--experimental-strip-types",
            "--no-deprecation",
            "--no-warnings",
            "--throw-deprecation",
            "--trace-deprecation",
            "--trace-uncaught",
            "--trace-warnings",
        ],
        prefixes: &["--max-old-space-size=", "--stack-trace-limit=", "--unhandled-rejections="],
        loads: &["-r", "--require", "--import"],
    },
    Interpreter { names: &["python", "pypy"], letters: "BEIOPSbqsu", settings: &[], options: &[], prefixes: &[], loads: &[] },
    Interpreter { names: &["ruby", "perl"], letters: "w", settings: &[], options: &[], prefixes: &[], loads: &[] },
    Interpreter { names: &["php"], letters: "", settings: &[], options: &[], prefixes: &[], loads: &[] },
];

/// Programs that run a file that they are given, or another program, in ways that are not known exactly.
const LAUNCHERS: &[&str] = &[
    "bun", "deno", "tsx", "ts-node", "lua", "luajit", "Rscript", "julia", "pwsh", "env", "nice", "nohup", "timeout", "stdbuf",
    "time", "xargs", "npx", "make", "gmake", "just", "busybox", "sudo", "setsid", "watch",
];

/// Options after which a program finds its text in the next argument, not in a file.
const INLINE: &[&str] = &["-c", "-e", "-E", "-p", "-pe", "-ne", "--eval", "--print", "-r", "eval"];

/// What the arguments of an installed program mean.
#[derive(Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// They run a script.
    Script {
        /// The index of the script's argument, from 0.
        at: usize,
        /// The indexes of arguments that are files too, which are loaded before it.
        loads: Vec<usize>,
    },
    /// They are only options: what the program runs comes from elsewhere.
    Options,
    /// The program runs files that it is given, but which and what else is not known; the reason.
    Launcher(String),
    /// Nothing is known about the program; the reason.
    Unknown(String),
}

/// Interprets the arguments of the program that is at `real` and was found as `runs`.
pub fn read(runs: &str, real: &str, arguments: &[String]) -> Interpretation {
    let (called, name) = (base(runs), base(real));
    if [runs, real].iter().any(|path| path.split(['/', '\\']).any(|folder| folder == "shims")) {
        return Interpretation::Launcher(format!("`{runs}` chooses what to run based on the folder it runs in"));
    }
    // A program is what a link leads to, whatever the link is called; but busybox is many shells by its name.
    let name = if name == "busybox" && called == "sh" { "ash".to_owned() } else { name };
    let Some(known) = KNOWN.iter().find(|known| known.names.contains(&name.as_str())) else {
        let runs_files = LAUNCHERS.iter().any(|launcher| [&called, &name].contains(&&base(launcher)))
            || KNOWN.iter().any(|known| known.names.contains(&called.as_str()));
        let why = format!("`{name}` decides by itself what it reads and runs");
        return if runs_files { Interpretation::Launcher(why) } else { Interpretation::Unknown(why) };
    };
    let mut loads = Vec::new();
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        if !argument.starts_with('-') || argument == "-" {
            return Interpretation::Script { at, loads };
        }
        let next = arguments.get(at + 1).map(String::as_str);
        match known.option(argument, next) {
            Some(OptionEffect::Nothing) => at += 1,
            Some(OptionEffect::TakesNext) => at += 2,
            Some(OptionEffect::Loads) => {
                loads.push(at + 1);
                at += 2;
            }
            None => return Interpretation::Launcher(format!("what `{argument}` means to `{name}` is not known here")),
        }
    }
    Interpretation::Options
}

/// Whether an argument says that the next one is text to run.
pub fn is_inline(word: &str) -> bool {
    INLINE.contains(&word)
}

enum OptionEffect {
    Nothing,
    TakesNext,
    Loads,
}

impl Interpreter {
    fn option(&self, option: &str, next: Option<&str>) -> Option<OptionEffect> {
        if self.options.contains(&option) {
            return Some(OptionEffect::Nothing);
        }
        if self.prefixes.iter().any(|prefix| option.starts_with(prefix)) {
            return Some(OptionEffect::Nothing);
        }
        if self.loads.contains(&option) {
            return next.filter(|next| next.starts_with("./") || next.starts_with("../")).map(|_| OptionEffect::Loads);
        }
        let mut letters = option.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'))?.chars();
        let last = letters.next_back()?;
        if !letters.all(|letter| self.letters.contains(letter)) {
            return None;
        }
        if let Some((_, values)) = self.settings.iter().find(|(letter, _)| *letter == last) {
            return next.filter(|next| values.contains(next)).map(|_| OptionEffect::TakesNext);
        }
        self.letters.contains(last).then_some(OptionEffect::Nothing)
    }
}

/// A program's name without its folder and its version.
fn base(path: &str) -> String {
    let base = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let base = base.strip_suffix(".exe").unwrap_or(base);
    base.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_known_exactly() {
        for (words, expected) in [
            ("/bin/sh a.sh x", "0"),
            ("/bin/dash -eu a.sh", "1"),
            ("/bin/bash -euo pipefail a.sh", "2"),
            ("/bin/bash -o posix a.sh", "?"),
            ("/bin/bash -c a.sh", "?"),
            ("/bin/bash --rcfile x a.sh", "?"),
            ("/bin/bash -l a.sh", "?"),
            ("/bin/bash -", "0"),
            ("/bin/bash -e", "-"),
            ("/usr/bin/python3.11 -Iu a.py", "1"),
            ("/usr/bin/python3 -m a", "?"),
            ("/usr/bin/python3 -X importtime a.py", "?"),
            ("/usr/bin/node22 --no-warnings --max-old-space-size=100 a.js", "2"),
            ("/usr/bin/node --require ./b.cjs -r ./c.cjs a.js", "4+1+3"),
            ("/usr/bin/node --require b a.js", "?"),
            ("/usr/bin/node --require", "?"),
            ("/usr/bin/node --require=./b.cjs a.js", "?"),
            ("/usr/bin/node --env-file=x a.js", "?"),
            ("/usr/bin/node.exe a.js", "0"),
            ("/home/u/.asdf/shims/node a.js", "?"),
            ("/usr/bin/perl -w a.pl", "1"),
            ("/usr/bin/perl -Mlib a.pl", "?"),
            ("/usr/bin/make -f Makefile", "?"),
            ("/usr/bin/env A=1 node a.js", "?"),
            ("/usr/bin/bun a.ts", "?"),
            ("/usr/bin/eslint a.js", "??"),
        ] {
            let mut words = words.split(' ').map(str::to_owned);
            let program = words.next().unwrap();
            let read = match read(&program, &program, &words.collect::<Vec<_>>()) {
                Interpretation::Script { at, loads } => {
                    loads.iter().fold(at.to_string(), |shown, load| format!("{shown}+{load}"))
                }
                Interpretation::Options => "-".to_owned(),
                Interpretation::Launcher(_) => "?".to_owned(),
                Interpretation::Unknown(_) => "??".to_owned(),
            };
            assert_eq!(read, expected, "{program}");
        }
        // The name of a link does not change what it leads to.
        assert!(matches!(read("/opt/node", "/usr/bin/make", &["a.js".to_owned()]), Interpretation::Launcher(_)));
        assert!(matches!(read("/bin/sh", "/bin/busybox", &["a.sh".to_owned()]), Interpretation::Script { .. }));
        assert!(matches!(read("/bin/make", "/bin/busybox", &["a.sh".to_owned()]), Interpretation::Launcher(_)));
    }
}
