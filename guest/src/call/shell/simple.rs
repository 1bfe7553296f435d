//! One simple command: its assignments, its redirections, its words.

use super::names::Names;
use super::programs;
use super::trace::{Input, Trace};
use super::tree::{Assigned, Assignment, Piece, Redirect, Simple, Substitution, Target};
use super::value::{Arg, UNKNOWN, shown};
use super::walk::{Place, Worlds};
use super::world::{Value, World};
use crate::call::effect::Deed;

impl Trace<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, mut world: World, place: Place<'_>) -> Worlds {
        self.stdin = place.input.clone();
        let mut args: Vec<Arg> = Vec::new();
        let (mut assignments, mut redirects) = (Vec::new(), Vec::new());
        for piece in &simple.prefix {
            match piece {
                Piece::Assignment(assignment) => assignments.push(assignment),
                Piece::Redirect(redirect) => redirects.push(redirect),
                Piece::Word(_) | Piece::Substitution(_) => {}
            }
        }
        if let Some(name) = &simple.name {
            let (raw, _) = place.words.written(name);
            args.extend(self.fields(&raw, &mut world));
        }
        let declares = args.first().is_some_and(|name| DECLARATIONS.contains(&name.text.as_str()));
        let mut declared = Vec::new();
        for piece in &simple.suffix {
            match piece {
                Piece::Redirect(redirect) => redirects.push(redirect),
                Piece::Assignment(assignment) if declares => declared.push(assignment),
                Piece::Word(word) | Piece::Assignment(Assignment { word, .. }) => {
                    let (raw, _) = place.words.written(word);
                    args.extend(self.fields(&raw, &mut world));
                }
                Piece::Substitution(substitution) => {
                    self.process_substitution(substitution, &world, place);
                    args.push(Arg::plain("/dev/fd/63"));
                }
            }
        }
        let mut input = place.input.clone();
        let mut writes = false;
        let fallible = redirects.iter().any(|redirect| may_fail(redirect, place));
        for redirect in redirects {
            writes |= self.redirect(redirect, &mut world, place, &mut input);
        }
        let untouched = fallible.then(|| world.clone().with_status(Some(false)));
        let Some(name) = args.first().cloned() else {
            // Without a command the assignments stay.
            let substitutes = assignments.iter().any(|assignment| value_text(assignment, place).contains(['$', '`']));
            for assignment in assignments {
                self.assign(assignment, &mut world, place);
            }
            self.said = None;
            return vec![world.with_status((!substitutes).then_some(true))];
        };
        for assignment in declared {
            self.assign(assignment, &mut world, place);
            if args.first().is_some_and(|name| name.text == "export") || args.iter().any(|arg| arg.text.starts_with("-x")) {
                world.export(&assignment.name);
            }
        }
        let mut restored = Vec::new();
        for assignment in assignments {
            let name = &assignment.name;
            restored.push((name, world.variable(name).cloned(), world.is_exported(name)));
            self.assign(assignment, &mut world, place);
            world.export(name);
        }
        self.said = None;
        let rest = args.get(1..).unwrap_or_default();
        let rest = if programs::only_looks(&name.text) { rest.to_vec() } else { self.spread(rest, &world) };
        let mut after = self.invoke(&name, &rest, world, &input);
        if writes {
            self.said = None;
        }
        for world in &mut after {
            for (name, value, exported) in restored.iter().rev() {
                world.restore(name, value.clone(), *exported);
            }
        }
        // A redirection that fails keeps the command from running.
        after.extend(untouched);
        after
    }

    /// Arguments with each pattern replaced by what it matches, as far as that can be told.
    fn spread(&mut self, args: &[Arg], world: &World) -> Vec<Arg> {
        let mut out = Vec::new();
        for arg in args {
            match (arg.pattern.is_some() && arg.is_known()).then(|| self.names(world, arg)) {
                Some(Names::These(names)) => out.extend(names.into_iter().map(Arg::plain)),
                _ => out.push(arg.clone()),
            }
        }
        out
    }

    /// Runs a command by its name: a function, a builtin or a program.
    pub(super) fn invoke(&mut self, name: &Arg, args: &[Arg], world: World, input: &Input) -> Worlds {
        if !self.step() {
            return Vec::new();
        }
        if name.is_known()
            && let Some(function) = world.functions.get(&name.text).cloned()
        {
            let args = args.iter().map(|arg| arg.text.clone()).collect();
            return self.call(&function, args, world, input);
        }
        self.invoke_program(name, args, world, input)
    }

    /// The same, functions passed over.
    pub(super) fn invoke_program(&mut self, name: &Arg, args: &[Arg], world: World, input: &Input) -> Worlds {
        if !name.is_known() || name.pattern.is_some() {
            self.unknown(format!("`{}` is a command that is only known when it runs", shown(&name.text)));
            return vec![world.with_status(None)];
        }
        match self.builtin(&name.text, args, world, input) {
            Ok(after) => after,
            Err(world) => {
                self.deeper(|trace| programs::run(trace, name, args, &world, input));
                let mut world = world.with_status(None);
                if name.text == "mkdir" || name.text == "/bin/mkdir" {
                    programs::remember_folders(self, args, &mut world);
                }
                vec![world]
            }
        }
    }

    pub(super) fn assign(&mut self, assignment: &Assignment, world: &mut World, place: Place<'_>) {
        let name = assignment.name.as_str();
        let value = match &assignment.value {
            Assigned::Word(word) => {
                let (raw, _) = place.words.written(word);
                let text = self.scalar(&raw, world).text;
                let before = || world.value(name).unwrap_or_else(|| UNKNOWN.to_string());
                Value::Text(if assignment.appends { before() + &text } else { text })
            }
            Assigned::Array(elements) => {
                let mut list = match world.variable(name) {
                    Some(Value::List(list)) if assignment.appends => list.clone(),
                    None if assignment.appends => vec![UNKNOWN.to_string()],
                    _ => Vec::new(),
                };
                for element in elements {
                    let (raw, _) = place.words.written(element);
                    let fields = self.fields(&raw, world);
                    let keyed = raw.starts_with('[');
                    for field in fields {
                        match self.names(world, &field) {
                            Names::These(names) if field.is_known() && !keyed => list.extend(names),
                            _ => list.push(UNKNOWN.to_string()),
                        }
                    }
                }
                if list.len() > 256 || list.iter().any(|text| text.contains(UNKNOWN)) {
                    list = vec![UNKNOWN.to_string()];
                }
                Value::List(list)
            }
        };
        world.assign(name, value);
        self.risky_variable(name, world);
    }

    /// Variables that make programs run other programs.
    pub(super) fn risky_variable(&mut self, name: &str, world: &World) {
        let value = world.value(name).unwrap_or_default();
        match name {
            "PATH" => {
                let local = |folder: &str| !folder.starts_with(['/', super::value::HOME]) && folder != UNKNOWN.to_string();
                if value.split(':').any(local) {
                    self.execute(world, None);
                }
            }
            // Shells expand their prompts, commands included.
            "PS0" | "PS1" | "PS2" | "PS4" if value.contains(['$', '`', UNKNOWN]) => {
                self.unknown(format!("`{name}` holds text that runs whenever the shell prompts"));
            }
            "LD_PRELOAD" | "LD_LIBRARY_PATH" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" | "BASH_ENV" | "ENV" | "PROMPT_COMMAND" => {
                self.execute(world, None);
            }
            "PAGER"
            | "GIT_PAGER"
            | "EDITOR"
            | "VISUAL"
            | "GIT_EDITOR"
            | "GIT_SEQUENCE_EDITOR"
            | "GIT_EXTERNAL_DIFF"
            | "LESSOPEN"
            | "GIT_SSH_COMMAND"
            | "GIT_SSH"
            | "GIT_ASKPASS"
            | "MANPAGER"
            | "BROWSER" => {
                if value.contains(UNKNOWN) {
                    self.execute(world, None);
                } else {
                    let world = world.clone();
                    self.deeper(|trace| trace.text(value.trim_start_matches('|'), vec![world], &Input::Unknown));
                }
            }
            _ => {}
        }
    }

    /// Applies the redirections of a compound command around it.
    pub(super) fn redirected(
        &mut self,
        redirects: &[Redirect],
        worlds: Worlds,
        place: Place<'_>,
        go: &mut dyn FnMut(&mut Self, Worlds, Place<'_>) -> Worlds,
    ) -> Worlds {
        if redirects.is_empty() {
            return go(self, worlds, place);
        }
        let mut input = place.input.clone();
        let mut worlds = worlds;
        for world in &mut worlds {
            input = place.input.clone();
            for redirect in redirects {
                self.redirect(redirect, world, place, &mut input);
            }
        }
        if worlds.len() > 1 && input != *place.input {
            input = Input::Unknown;
        }
        let fallible = redirects.iter().any(|redirect| may_fail(redirect, place));
        let untouched: Worlds =
            if fallible { worlds.iter().map(|world| world.clone().with_status(Some(false))).collect() } else { Vec::new() };
        let mut after = go(self, worlds, Place { input: &input, ..place });
        after.extend(untouched);
        self.merge(after)
    }

    /// One redirection. Says whether it takes away what the command prints.
    fn redirect(&mut self, redirect: &Redirect, world: &mut World, place: Place<'_>, input: &mut Input) -> bool {
        let word = match &redirect.target {
            Target::Word(word) => word,
            Target::Substitution(substitution) => {
                self.process_substitution(substitution, world, place);
                *input = Input::Unknown;
                return true;
            }
        };
        let reads = redirect.descriptor.is_none_or(|descriptor| descriptor == 0);
        let (raw, literal) = place.words.written(word);
        if let "<<" | "<<-" = redirect.operator {
            let text = if literal { raw.into_owned() } else { self.document(&raw, world).text };
            if reads {
                *input = Input::Text(text);
            }
            return false;
        }
        let arg = self.scalar(&raw, world);
        match redirect.operator {
            "<<<" => {
                if reads {
                    *input = Input::Text(arg.text + "\n");
                }
                false
            }
            "<" => {
                self.touch(world, "<", &arg, Deed::Read);
                if reads {
                    *input = match arg.text.as_str() {
                        "/dev/null" => Input::Text(String::new()),
                        path if arg.is_known() && !path.starts_with("/dev/") => Input::File(path.to_owned()),
                        _ => Input::Unknown,
                    };
                }
                false
            }
            "<>" => {
                self.touch(world, "<>", &arg, Deed::Write);
                *input = Input::Unknown;
                true
            }
            "<&" => {
                *input = Input::Unknown;
                false
            }
            ">&" if is_descriptor(&arg.text) => true,
            "&>" | "&>>" => {
                self.touch(world, "&>", &arg, Deed::Write);
                true
            }
            _ => {
                self.touch(world, ">", &arg, Deed::Write);
                if world.options.posix && arg.pattern.is_some() {
                    self.touch(world, ">", &Arg::plain(arg.text), Deed::Write);
                }
                true
            }
        }
    }

    fn process_substitution(&mut self, substitution: &Substitution, world: &World, place: Place<'_>) {
        let input = if substitution.reads { Input::Unknown } else { place.input.clone() };
        let place = Place { input: &input, ..place };
        self.deeper(|trace| trace.subshell(&substitution.list, vec![world.clone()], place));
    }
}

/// Builtins whose arguments are assignments.
const DECLARATIONS: &[&str] = &["export", "declare", "typeset", "local", "readonly"];

fn value_text(assignment: &Assignment, place: Place<'_>) -> String {
    match &assignment.value {
        Assigned::Word(word) => place.words.written(word).0.into_owned(),
        Assigned::Array(elements) => elements.iter().map(|word| place.words.written(word).0.into_owned()).collect(),
    }
}

/// Whether a redirection can fail: it opens a file.
fn may_fail(redirect: &Redirect, place: Place<'_>) -> bool {
    let Target::Word(word) = &redirect.target else { return false };
    let (target, _) = place.words.written(word);
    match redirect.operator {
        "<<" | "<<-" | "<<<" => false,
        "<&" | ">&" => !is_descriptor(&target),
        _ => !super::trace::is_no_file(&target),
    }
}

/// `1`, `-`, `3-`.
fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty()
}
