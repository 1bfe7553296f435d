//! Shell builtins. A builtin that is not listed makes the command unknown.

use super::arg::{Arg, Base, display};
use super::input::StandardInput;
use super::script::Language;
use super::state::{ShellState, Value};
use super::walk::Outcomes;
use super::{ShellReader, lexical, test};
use crate::effects::Access;
use crate::ports::FileKind;

/// Builtins of Bash, dash and zsh whose effects are not analysed.
const UNREAD: &[&str] = &[
    ".",
    "-",
    "alias",
    "autoload",
    "bg",
    "bind",
    "bindkey",
    "builtin",
    "caller",
    "chdir",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "dirs",
    "disable",
    "disown",
    "emulate",
    "enable",
    "eval",
    "fc",
    "fg",
    "float",
    "functions",
    "getopts",
    "hash",
    "history",
    "integer",
    "let",
    "limit",
    "local",
    "logout",
    "mapfile",
    "nameref",
    "nocorrect",
    "noglob",
    "popd",
    "print",
    "private",
    "pushd",
    "readarray",
    "readonly",
    "rehash",
    "return",
    "sched",
    "setopt",
    "shift",
    "shopt",
    "source",
    "suspend",
    "trap",
    "typeset",
    "ulimit",
    "unalias",
    "unfunction",
    "unhash",
    "unsetopt",
    "vared",
    "whence",
    "zcompile",
    "zle",
    "zmodload",
    "zparseopts",
    "zstyle",
    "zsystem",
    "ztcp",
];

/// What the listed builtins need to know about their command.
struct Builtin<'c> {
    args: &'c [Arg],
    state: &'c ShellState,
    input: &'c StandardInput,
    redirected: bool,
}

impl ShellReader<'_> {
    /// Follows a builtin; `None` if the name is not a builtin.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        args: &[Arg],
        state: &ShellState,
        input: &StandardInput,
        prefixed: bool,
        redirected: bool,
    ) -> Option<Outcomes> {
        let call = Builtin { args, state, input, redirected };
        let follow: fn(&mut Self, &Builtin<'_>) -> Option<Outcomes> = match name {
            ":" | "true" | "false" | "echo" | "pwd" | "type" | "times" => Self::keep_state,
            "jobs" if args.is_empty() => Self::keep_state,
            "history" if args.iter().all(|arg| arg.text().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))) => {
                Self::keep_state
            }
            "jobs" => Self::unknown_effect,
            "wait" => Self::wait,
            "printf" => Self::printf,
            "test" | "[" => Self::test,
            "cd" => Self::cd,
            "exit" => Self::exit,
            "break" | "continue" => Self::leave_loop,
            "export" => Self::export_names,
            "unset" => Self::unset,
            "read" => Self::read,
            "set" => Self::set,
            "umask" => Self::umask,
            "command" => Self::command_name,
            "exec" => Self::exec,
            name if UNREAD.contains(&name) => Self::unknown_effect,
            _ => return None,
        };
        let outcomes = if prefixed { None } else { follow(self, &call) };
        Some(outcomes.unwrap_or_else(|| {
            self.record_explicit_paths(name, &call);
            let words: Vec<String> = args.iter().take(3).map(Arg::display).collect();
            let written = display(&format!("{name} {}", words.join(" ")));
            self.add_unknown(format!("`{}` changes the shell in a way that cannot be seen beforehand", written.trim_end()));
            let mut forgotten = state.clone();
            forgotten.forget_all();
            let mut states = vec![forgotten];
            // The folder that `pushd` most likely changes to.
            if let ("pushd", [target @ (Arg::Known(_) | Arg::Below(..))]) = (name, args) {
                let mut moved = state.clone();
                self.change_directory(&mut moved, target);
                states.push(moved);
            }
            Outcomes::either(states)
        }))
    }

    /// Records what an unlisted builtin names explicitly, so that a change out of scope can be refused with a good reason.
    fn record_explicit_paths(&mut self, name: &str, call: &Builtin<'_>) {
        let texts: Option<Vec<&str>> = call.args.iter().map(Arg::text).collect();
        match (name, texts.as_deref()) {
            ("eval", Some(texts)) => self.script(&texts.join(" "), call.state, call.input),
            ("trap", Some([text, ..])) if !text.starts_with('-') => self.script(text, call.state, call.input),
            ("source" | ".", Some([path, ..])) => {
                let path = Arg::known(*path);
                self.touch(call.state, name, &path, Access::Execute);
                self.search_script(call.state, &path, Language::Shell(call.state.dialect));
            }
            ("builtin", Some([_, ..])) => self.run_program(call.args, call.state, call.input),
            _ => {}
        }
    }

    fn keep_state(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        Some(Outcomes::either(vec![call.state.clone()]))
    }

    fn unknown_effect(&mut self, _call: &Builtin<'_>) -> Option<Outcomes> {
        None
    }

    /// `-v name` and `%n` assign a variable.
    fn printf(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let format = call.args.first()?;
        let plain = match format {
            Arg::Known(text) => !text.starts_with('-') && !stores_count(text),
            Arg::Below(_, rest) => !stores_count(rest),
            Arg::One(_) | Arg::Many(_) => false,
        };
        plain.then(|| Outcomes::either(vec![call.state.clone()]))
    }

    /// `-p name` assigns a variable.
    fn wait(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let mut state = call.state.clone();
        for arg in call.args {
            match arg {
                Arg::Known(text) if !text.starts_with('-') => {}
                Arg::One(_) => state.forget_variables(),
                _ => return None,
            }
        }
        Some(Outcomes::either(vec![state]))
    }

    fn test(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let args = match call.args.split_last() {
            Some((last, args)) if last.is_text("]") => args,
            _ => call.args,
        };
        test::is_certain(args).then(|| Outcomes::either(vec![call.state.clone()]))
    }

    fn cd(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let target = match call.args {
            [] => Arg::Below(Base::Home, String::new()),
            [Arg::Known(path)] if path == "-" => {
                let mut moved = call.state.clone();
                return moved.go_back().then(|| Outcomes { ok: vec![moved], failed: vec![call.state.clone()] });
            }
            [Arg::Known(path)] if path.is_empty() || path.starts_with('-') => return None,
            [target] => target.clone(),
            _ => return None,
        };
        let mut moved = call.state.clone();
        moved.remember_folder();
        self.change_directory(&mut moved, &target);
        Some(Outcomes { ok: vec![moved], failed: vec![call.state.clone()] })
    }

    /// The working directory after `cd`. The kernel resolves relative paths from the real location of the folder, whereas `cd ..`
    /// works on the text of the path, so after following a link the two differ and the location is not certain.
    fn change_directory(&mut self, state: &mut ShellState, target: &Arg) {
        let located = state.locate(target);
        let climbs = |path: &str| path.split('/').any(|name| name == "..");
        let written = match target {
            Arg::Known(path) | Arg::Below(_, path) => path.as_str(),
            Arg::One(_) | Arg::Many(_) => "",
        };
        let Some(path) = located.filter(|_| !(state.behind_link && climbs(written))) else {
            state.cwd = None;
            return;
        };
        let text = lexical(&path);
        if path.starts_with('~') {
            state.cwd = (!climbs(&path)).then_some(text);
            return;
        }
        let facts = self.facts(state, target);
        state.cwd = match facts.as_ref().map(|facts| facts.kind) {
            Some(FileKind::Directory) => facts.and_then(|facts| facts.real_path).map(|real| {
                let names = |path: &str| {
                    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned).collect::<Vec<_>>()
                };
                state.behind_link = !names(&text).ends_with(&names(&real));
                if real == "." { String::new() } else { real }
            }),
            // The command itself has to create the folder first; then its path is the text.
            Some(FileKind::Missing) if !climbs(&path) => Some(text),
            _ => None,
        };
    }

    /// Ends the shell, provided that the builtin cannot fail.
    fn exit(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let certain = match call.args {
            [] => true,
            [Arg::Known(status)] => !status.is_empty() && status.len() < 6 && status.bytes().all(|byte| byte.is_ascii_digit()),
            _ => false,
        };
        (certain && !call.redirected).then(Outcomes::default)
    }

    /// `break` and `continue` in a loop: the state is picked up at the end of the loop.
    fn leave_loop(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        if !call.args.is_empty() || call.redirected || self.loops == 0 {
            return None;
        }
        if !self.left.contains(call.state) {
            self.left.push(call.state.clone());
        }
        Some(Outcomes::default())
    }

    fn export_names(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let mut state = call.state.clone();
        for arg in call.args {
            let (name, value) = match arg {
                Arg::Known(text) => match text.split_once('=') {
                    Some((name, value)) => (name, Some(Value::Text(value.to_owned()))),
                    None => (text.as_str(), state.variable(text).cloned()),
                },
                Arg::One(start) => (start.split_once('=')?.0, Some(Value::Unknown)),
                Arg::Below(..) | Arg::Many(_) => return None,
            };
            if !self.may_assign(name) {
                return None;
            }
            self.export(name, value.as_ref(), &mut state);
            if arg.text().is_none_or(|text| text.contains('=')) {
                state.set_variable(name, value.unwrap_or(Value::Unknown));
            }
        }
        Some(Outcomes::either(vec![state]))
    }

    fn unset(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let mut state = call.state.clone();
        for arg in call.args {
            match arg {
                Arg::Known(option) if option == "-v" => {}
                Arg::Known(name) if !name.starts_with('-') && self.may_assign(name) => {
                    state.set_variable(name, Value::Text(String::new()))
                }
                _ => return None,
            }
        }
        Some(Outcomes::either(vec![state]))
    }

    fn read(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let mut state = call.state.clone();
        let mut args = call.args.iter();
        while let Some(arg) = args.next() {
            match arg.text()? {
                "-r" | "-s" | "-rs" | "-sr" => {}
                "-p" | "-t" | "-n" | "-N" | "-d" | "-rp" | "-rd" => {
                    if let Arg::Many(_) = args.next()? {
                        return None;
                    }
                }
                name if !name.starts_with('-') && self.may_assign(name) => state.set_variable(name, Value::Unknown),
                _ => return None,
            }
        }
        Some(Outcomes::either(vec![state]))
    }

    /// Options that only end a script earlier or print more.
    fn set(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let mut args = call.args.iter();
        while let Some(arg) = args.next() {
            let letters = arg.text()?.strip_prefix(['-', '+'])?;
            let plain = letters.strip_suffix('o').unwrap_or(letters);
            if letters.is_empty() || !plain.chars().all(|c| "eux".contains(c)) {
                return None;
            }
            if letters.ends_with('o') && !matches!(args.next()?.text()?, "pipefail" | "errexit" | "nounset" | "xtrace") {
                return None;
            }
        }
        (!call.args.is_empty()).then(|| Outcomes::either(vec![call.state.clone()]))
    }

    fn umask(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let plain = match call.args {
            [] => true,
            [Arg::Known(mode)] => mode.chars().all(|c| c.is_ascii_digit()),
            _ => false,
        };
        plain.then(|| Outcomes::either(vec![call.state.clone()]))
    }

    /// `command -v name` looks a command up; `command name …` runs it.
    fn command_name(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let (name, args) = call.args.split_first()?;
        match name.text()? {
            "-v" | "-V" => Some(Outcomes::either(vec![call.state.clone()])),
            name if name.starts_with('-') => None,
            name => match self.builtin(name, args, call.state, call.input, false, call.redirected) {
                Some(outcomes) => Some(outcomes),
                None => {
                    self.run_program(call.args, call.state, call.input);
                    Some(Outcomes::either(vec![call.state.clone()]))
                }
            },
        }
    }

    /// Replaces the shell with the program; it is not assumed that the program can be started.
    fn exec(&mut self, call: &Builtin<'_>) -> Option<Outcomes> {
        let name = call.args.first()?.text()?;
        if name.starts_with('-') {
            return None;
        }
        self.run_program(call.args, call.state, call.input);
        Some(Outcomes::either(vec![call.state.clone()]))
    }
}

/// Whether a `printf` format contains `%n`, with anything in between.
fn stores_count(format: &str) -> bool {
    format
        .split('%')
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic() || "hlLjzt".contains(c)).starts_with('n'))
}
