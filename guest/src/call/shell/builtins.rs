//! What Bash does itself: everything that changes the shell's own state, and what it prints without a program.

use std::rc::Rc;

use super::flags::{Flags, Spec};
use super::names::Names;
use super::trace::{Input, Trace, lexical};
use super::value::{Arg, HOME, ROOT, UNKNOWN, shown};
use super::walk::Worlds;
use super::word::ansi_c;
use super::world::World;
use crate::call::effect::Deed;

impl Trace<'_> {
    /// Runs a builtin; gives the world back where the name is none.
    pub(super) fn builtin(&mut self, name: &str, args: &[Arg], mut world: World, input: &Input) -> Result<Worlds, World> {
        let done = |world: World| Ok(vec![world.with_status(None)]);
        match name {
            "cd" | "pushd" | "popd" => Ok(self.change_directory(name, args, world)),
            ":" | "true" => Ok(vec![world.with_status(Some(true))]),
            "false" => Ok(vec![world.with_status(Some(false))]),
            "exit" | "logout" => Ok(Vec::new()),
            "return" => {
                self.returned.push(world.with_status(None));
                Ok(Vec::new())
            }
            "break" => {
                self.broken.push(world);
                Ok(Vec::new())
            }
            "continue" => {
                self.continued.push(world);
                Ok(Vec::new())
            }
            "pwd" => {
                self.said = Some(world.working_directory());
                done(world)
            }
            "echo" => {
                // A plain `sh` has other options and escapes.
                self.said = echoed(args).filter(|said| {
                    !world.options.posix || !(said.contains('\\') || args.iter().any(|arg| arg.text.starts_with('-')))
                });
                Ok(vec![world.with_status(Some(true))])
            }
            "printf" => {
                self.printf(args, &mut world);
                done(world)
            }
            "eval" => {
                let text: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
                let text = text.join(" ");
                if text.contains(UNKNOWN) {
                    self.unknown(format!("`eval {}` runs text that is only known when it runs", shown(&text)));
                    return done(world);
                }
                Ok(self.text(&text, vec![world], input))
            }
            "source" | "." => {
                match args.iter().find(|arg| arg.text != "--") {
                    Some(file) if file.is_known() && !file.text.starts_with("/dev/") && !file.text.starts_with("/proc/") => {
                        self.execute(&world, Some(file));
                    }
                    Some(file) => {
                        self.unknown(format!("`{name} {}` runs text that is only known when it runs", shown(&file.text)))
                    }
                    None => {}
                }
                done(world)
            }
            "exec" => {
                let flags = Flags::parse(args, Spec::before_command("a", &[]));
                let Some((command, rest)) = flags.operands.split_first() else { return done(world) };
                self.invoke_program(command, rest, world, input);
                Ok(Vec::new())
            }
            "command" | "builtin" => {
                let flags = Flags::parse(args, Spec::before_command("", &[]));
                match flags.operands.split_first() {
                    Some((command, rest)) if !flags.has(&["v", "V"]) => Ok(self.invoke_program(command, rest, world, input)),
                    _ => done(world),
                }
            }
            "trap" => {
                let operands: Vec<&Arg> = args.iter().filter(|arg| arg.text != "--").collect();
                match operands.split_first() {
                    Some((action, [_, ..])) if !action.text.starts_with('-') => {
                        if action.is_known() {
                            self.apart(|trace| trace.text(&action.text, vec![world.clone()], &Input::Inherited));
                        } else {
                            self.unknown(format!("`trap {}` runs text that is only known when it runs", shown(&action.text)));
                        }
                    }
                    _ => {}
                }
                done(world)
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                declare(args, &mut world);
                if name == "export" || args.iter().any(|arg| arg.text.starts_with("-x")) {
                    for arg in args.iter().filter(|arg| !arg.text.starts_with('-')) {
                        world.export(arg.text.split('=').next().unwrap_or_default());
                    }
                }
                Ok(vec![world.with_status(Some(true))])
            }
            "unset" => {
                let flags = Flags::parse(args, Spec::default());
                for arg in &flags.operands {
                    if flags.has(&["f"]) || world.variable(&arg.text).is_none() {
                        world.forget_function(&arg.text);
                    }
                    if !flags.has(&["f"]) {
                        world.set(&arg.text, String::new());
                    }
                }
                done(world)
            }
            "read" | "mapfile" | "readarray" | "getopts" | "let" => {
                for arg in args {
                    let named = arg.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
                    if !named.is_empty() {
                        world.set(named, UNKNOWN.to_string());
                    }
                }
                for implied in ["REPLY", "MAPFILE", "OPTARG"] {
                    world.set(implied, UNKNOWN.to_string());
                }
                // `mapfile -C` calls back.
                if name != "let" && name != "read" && args.iter().any(|arg| arg.text == "-C") {
                    self.unknown(format!("`{name} -C` runs text for every line"));
                }
                done(world)
            }
            "set" => {
                if let Some(at) = args.iter().position(|arg| arg.text == "--" || !arg.text.starts_with(['-', '+'])) {
                    let from = if args.get(at).is_some_and(|arg| arg.text == "--") { at + 1 } else { at };
                    let options_only = args.get(..at).unwrap_or_default().iter().any(|arg| arg.text.ends_with('o'));
                    if !options_only || from > at {
                        let list: Vec<String> = args.iter().skip(from).map(|arg| arg.text.clone()).collect();
                        let plain = args.iter().skip(from).all(|arg| arg.is_known() && arg.pattern.is_none());
                        world.positional = plain.then(|| Rc::new(list));
                    }
                }
                Ok(vec![world.with_status(Some(true))])
            }
            "shift" => {
                let by = args.first().map_or(Some(1), |arg| arg.text.parse().ok());
                world.positional = match (world.positional, by) {
                    (Some(list), Some(by)) => Some(Rc::new(list.iter().skip(by).cloned().collect())),
                    _ => None,
                };
                done(world)
            }
            "shopt" => {
                let on = args.iter().any(|arg| arg.text == "-s");
                for arg in args {
                    match arg.text.as_str() {
                        "globstar" => world.options.globstar = on,
                        "dotglob" => world.options.dotglob = on,
                        "nullglob" => world.options.nullglob = on,
                        "expand_aliases" if on => self.unknown("`expand_aliases` gives commands other meanings".to_owned()),
                        _ => {}
                    }
                }
                done(world)
            }
            "enable" => {
                if args.iter().any(|arg| arg.text.starts_with("-n") || arg.text.starts_with("-f")) {
                    self.unknown("`enable` gives commands other meanings".to_owned());
                }
                done(world)
            }
            "history" => {
                let flags = Flags::parse(args, Spec::default());
                if flags.has(&["w", "a"]) {
                    for file in &flags.operands {
                        self.touch(&world, name, file, Deed::Write);
                    }
                }
                done(world)
            }
            "test" | "[" | "type" | "hash" | "wait" | "jobs" | "kill" | "ulimit" | "umask" | "times" | "help" | "bind"
            | "complete" | "compgen" | "compopt" | "caller" | "disown" | "fg" | "bg" | "suspend" | "dirs" | "alias"
            | "unalias" => done(world),
            _ => Err(world),
        }
    }

    /// `cd`, `pushd`, `popd`.
    fn change_directory(&mut self, name: &str, args: &[Arg], world: World) -> Worlds {
        let flags = Flags::parse(args, Spec::default());
        let moved = |world: &World, to: Option<String>| {
            let mut world = world.clone().with_status(Some(true));
            if name == "pushd" {
                world.stack.push(world.cwd.clone());
            }
            world.previous = std::mem::replace(&mut world.cwd, to);
            world
        };
        let target = match (name, flags.operands.first()) {
            ("popd", _) => {
                let mut after = moved(&world, None);
                let Some(cwd) = after.stack.pop() else { return vec![world.with_status(Some(false)), after] };
                after.cwd = cwd;
                return vec![after];
            }
            ("pushd", None) => {
                let mut after = world.clone();
                after.cwd = after.stack.pop().unwrap_or(None);
                after.stack.push(world.cwd.clone());
                return vec![after];
            }
            // More than one folder is an error, and the shell stays; a plain `sh` takes the first.
            (_, Some(first)) if flags.operands.len() > 1 => {
                let elsewhere = moved(&world, world.join(&first.text));
                return vec![world.with_status(Some(false)), elsewhere];
            }
            (_, None) => Arg::plain(HOME),
            ("cd", Some(arg)) if arg.text == "-" => return vec![moved(&world, world.previous.clone())],
            ("pushd", Some(arg)) if arg.text.starts_with(['+', '-']) => return vec![moved(&world, None)],
            (_, Some(arg)) => arg.clone(),
        };
        if !target.is_known() || world.variable("CDPATH").is_some() {
            return vec![moved(&world, None).with_status(None)];
        }
        let Names::These(targets) = self.names(&world, &target) else { return vec![moved(&world, None).with_status(None)] };
        let mut after = Vec::new();
        for target in targets.into_iter().take(4) {
            if target.is_empty() {
                after.push(world.clone().with_status(Some(true)));
                continue;
            }
            let Some(path) = world.join(&target) else {
                after.push(moved(&world, None).with_status(None));
                continue;
            };
            let path = path.strip_prefix(ROOT).map_or(path.clone(), |rest| rest.trim_start_matches('/').to_owned());
            // Bash takes `..` off the text where the kernel would walk it; behind a link the two part.
            let logical = if path.starts_with(HOME) { path.clone() } else { lexical(&path) };
            let logical = if logical == "." { String::new() } else { logical };
            let real = |path: &str| {
                self.facts(&World::new(""), if path.is_empty() { "." } else { path }).and_then(|facts| facts.real_path)
            };
            if path.contains("..") && real(&path) != real(&logical) {
                after.push(moved(&world, Some(path.clone())));
            }
            let lacking = name == "pushd" && world.options.posix;
            if lacking || !self.stands(&world, &target) {
                // It may not be there, and then the shell stays where it is.
                after.push(world.clone().with_status(Some(false)));
            }
            after.push(moved(&world, Some(logical)));
        }
        after
    }

    fn printf(&mut self, args: &[Arg], world: &mut World) {
        let (variable, args) = match args {
            [flag, name, rest @ ..] if flag.text == "-v" => (Some(name.text.clone()), rest),
            [flag, rest @ ..] if flag.text == "--" => (None, rest),
            _ => (None, args),
        };
        let said = formatted(args);
        match variable {
            Some(name) => world.set(&name, said.unwrap_or_else(|| UNKNOWN.to_string())),
            None => self.said = said,
        }
    }
}

/// What `export`, `declare` and their like do with words that the grammar did not take for assignments.
fn declare(args: &[Arg], world: &mut World) {
    let reference = args.iter().any(|arg| arg.text.starts_with('-') && arg.text.contains('n') && arg.text != "-n");
    for arg in args.iter().filter(|arg| !arg.text.starts_with('-')) {
        if let Some((name, value)) = arg.text.split_once('=') {
            let value = if reference { UNKNOWN.to_string() } else { value.to_owned() };
            world.set(name, value);
        }
    }
}

/// What `echo` prints, where that is certain.
fn echoed(args: &[Arg]) -> Option<String> {
    let is_option =
        |arg: &&Arg| arg.text.len() > 1 && arg.text.starts_with('-') && arg.text.chars().skip(1).all(|c| "neE".contains(c));
    let options: Vec<&Arg> = args.iter().take_while(is_option).collect();
    let words = args.get(options.len()..)?;
    if words.iter().any(|word| word.pattern.is_some()) {
        return None;
    }
    let mut text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    if options.iter().any(|option| option.text.contains('e')) {
        text = ansi_c(&text.chars().collect::<Vec<_>>());
    }
    if !options.iter().any(|option| option.text.contains('n')) {
        text.push('\n');
    }
    Some(text)
}

/// What `printf` prints, where that is certain.
fn formatted(args: &[Arg]) -> Option<String> {
    let (format, rest) = args.split_first()?;
    if args.iter().any(|arg| arg.pattern.is_some()) || !format.is_known() {
        return None;
    }
    let format = ansi_c(&format.text.replace("\\'", "'").chars().collect::<Vec<_>>());
    let mut values = rest.iter();
    let mut out = String::new();
    loop {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            match chars.next()? {
                '%' => out.push('%'),
                's' | 'd' => out.push_str(values.next().map_or("", |value| &value.text)),
                'b' => out.push_str(&ansi_c(&values.next().map_or("", |value| &value.text).chars().collect::<Vec<_>>())),
                _ => return None,
            }
        }
        if values.len() == 0 || values.len() == before || out.len() > 64 * 1024 {
            return Some(out);
        }
    }
}
