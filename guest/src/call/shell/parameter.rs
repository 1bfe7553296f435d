//! Parameter expansion: `$name`, `${name:-word}`, `${name%pattern}` and their kin.

use super::trace::Trace;
use super::value::UNKNOWN;
use super::word::Expansion;
use super::world::{Value, World};
use crate::glob::Glob;

/// Longer values are not cut or replaced in.
const MOST_TEXT: usize = 4096;

impl Trace<'_> {
    /// `$name`.
    pub(super) fn named(&mut self, name: &str, world: &World) -> Expansion {
        match name {
            "PWD" if world.variable("PWD").is_none() => Expansion::Text(world.working_directory()),
            "OLDPWD" if world.variable("OLDPWD").is_none() => Expansion::Text(world.previous_directory()),
            "HOME" if world.variable("HOME").is_none() => Expansion::Text(super::value::HOME.to_string()),
            "@" | "*" => world.positional.as_ref().map_or_else(Expansion::unknown, |list| Expansion::List(list.to_vec())),
            "?" | "$" | "!" | "#" | "-" | "0" | "_" => Expansion::unknown(),
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let nth = digits.parse::<usize>().ok().and_then(|nth| nth.checked_sub(1));
                match (&world.positional, nth) {
                    (Some(list), Some(nth)) => Expansion::Text(list.get(nth).cloned().unwrap_or_default()),
                    _ => Expansion::unknown(),
                }
            }
            name => match world.variable(name) {
                Some(Value::Text(text)) => Expansion::Text(text.clone()),
                Some(Value::List(list)) => Expansion::Text(list.first().cloned().unwrap_or_default()),
                None => Expansion::unknown(),
            },
        }
    }

    /// `${…}`.
    pub(super) fn parameter(&mut self, inner: &str, world: &mut World, quoted: bool) -> Expansion {
        if let Some(counted) = inner.strip_prefix('#')
            && !counted.is_empty()
        {
            self.scalar(counted, world);
            return Expansion::unknown();
        }
        let (indirect, inner) = match inner.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, inner),
        };
        let length = match inner.chars().next() {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                inner.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
            }
            Some(c) if c.is_ascii_digit() => inner.bytes().take_while(u8::is_ascii_digit).count(),
            Some(_) => 1,
            None => return Expansion::unknown(),
        };
        let Some((name, rest)) = inner.split_at_checked(length) else { return Expansion::unknown() };
        let (mut value, rest) = self.indexed(name, rest, world);
        if indirect {
            let target = match &value {
                Expansion::Text(target) if !target.contains(UNKNOWN) && !target.is_empty() => target.clone(),
                _ => String::new(),
            };
            if target.contains(['$', '`']) {
                self.unknown(format!("`{}` is evaluated as a name, commands included", super::value::shown(&target)));
            }
            value = if target.is_empty() { Expansion::unknown() } else { self.named(&target, world) };
        }
        self.modified(name, value, rest, world, quoted)
    }

    /// The value with its `[index]`, and what follows that.
    fn indexed<'r>(&mut self, name: &str, rest: &'r str, world: &mut World) -> (Expansion, &'r str) {
        let Some((index, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            return (self.named(name, world), rest);
        };
        let index = self.document(index, world).text;
        let list = match world.variable(name) {
            Some(Value::List(list)) => list.clone(),
            Some(Value::Text(text)) => vec![text.clone()],
            None => return (Expansion::unknown(), after),
        };
        let value = match index.as_str() {
            "@" | "*" => Expansion::List(list),
            index => index
                .parse()
                .ok()
                .and_then(|nth: usize| list.get(nth))
                .map_or_else(Expansion::unknown, |text| Expansion::Text(text.clone())),
        };
        (value, after)
    }

    fn modified(&mut self, name: &str, value: Expansion, rest: &str, world: &mut World, quoted: bool) -> Expansion {
        let Some(operator) = rest.chars().next() else { return value };
        let text = match &value {
            Expansion::Text(text) => text.clone(),
            Expansion::List(list) => list.join(" "),
        };
        // A name that the command never set may be set outside of it.
        let known = !text.contains(UNKNOWN);
        let conditional = rest.strip_prefix(':').unwrap_or(rest);
        if let Some(kind @ ('-' | '=' | '?' | '+')) = conditional.chars().next() {
            let word = conditional.get(1..).unwrap_or_default();
            let word = if quoted { self.document(&word.replace(['"'], ""), world) } else { self.scalar(word, world) }.text;
            let empty = text.is_empty();
            return match kind {
                _ if !known => {
                    if kind == '=' {
                        world.set(name, UNKNOWN.to_string());
                    }
                    Expansion::unknown()
                }
                '+' => Expansion::Text(if empty { String::new() } else { word }),
                '=' if empty => {
                    world.set(name, word.clone());
                    Expansion::Text(word)
                }
                '-' if empty => Expansion::Text(word),
                _ => value,
            };
        }
        let argument = rest.get(operator.len_utf8()..).unwrap_or_default();
        let each = |trace: &mut Self, world: &mut World, one: &str| trace.cut(one, operator, argument, world);
        match value {
            _ if !known || text.len() > MOST_TEXT => {
                // Commands inside of it run all the same.
                self.scalar(argument, world);
                Expansion::unknown()
            }
            Expansion::Text(text) => Expansion::Text(each(self, world, &text)),
            Expansion::List(list) if operator == ':' => {
                drop(list);
                self.scalar(argument, world);
                Expansion::unknown()
            }
            Expansion::List(list) => Expansion::List(list.iter().map(|one| each(self, world, one)).collect()),
        }
    }

    /// The forms that cut a value, replace in it or change its case.
    fn cut(&mut self, text: &str, operator: char, argument: &str, world: &mut World) -> String {
        let unknown = UNKNOWN.to_string();
        match operator {
            '#' | '%' => {
                let longest = argument.starts_with(operator);
                let pattern = self.scalar(argument.strip_prefix(operator).unwrap_or(argument), world);
                let Some(pattern) = compiled(pattern) else { return unknown };
                let mut cuts: Vec<(&str, &str)> = text
                    .char_indices()
                    .map(|(at, _)| at)
                    .chain([text.len()])
                    .filter_map(|at| text.split_at_checked(at))
                    .collect();
                if longest == (operator == '#') {
                    cuts.reverse();
                }
                let found =
                    cuts.into_iter().find(|(head, tail)| pattern.matches(&flat(if operator == '#' { head } else { tail })));
                found.map_or(text, |(head, tail)| if operator == '#' { tail } else { head }).to_owned()
            }
            '/' => {
                let all = argument.starts_with('/');
                let argument = if all { argument.get(1..).unwrap_or_default() } else { argument };
                let (pattern, replacement) = argument.split_once('/').unwrap_or((argument, ""));
                let replacement = self.scalar(replacement, world);
                let pattern = self.scalar(pattern, world);
                // Only literal patterns, which are nearly all: the rest of the meaning is not worth a second engine.
                if pattern.pattern.is_some() || pattern.text.starts_with(['#', '%']) || pattern.text.contains(UNKNOWN) {
                    return unknown;
                }
                if pattern.text.is_empty() {
                    text.to_owned()
                } else if all {
                    text.replace(&pattern.text, &replacement.text)
                } else {
                    text.replacen(&pattern.text, &replacement.text, 1)
                }
            }
            // What other letters become is the locale's to say.
            '^' if argument == "^" && text.is_ascii() => text.to_ascii_uppercase(),
            ',' if argument == "," && text.is_ascii() => text.to_ascii_lowercase(),
            ':' => {
                let argument = self.document(argument, world).text;
                let (offset, length) = argument.split_once(':').map_or((argument.as_str(), None), |(a, b)| (a, Some(b)));
                let number = |text: &str| text.trim().parse::<usize>().ok();
                match (number(offset), length.map(number)) {
                    (Some(offset), None) => text.chars().skip(offset).collect(),
                    (Some(offset), Some(Some(length))) => text.chars().skip(offset).take(length).collect(),
                    _ => unknown,
                }
            }
            '@' if argument == "P" => {
                if text.contains(['$', '`']) {
                    self.unknown(format!("`{}` is expanded as a prompt, commands included", super::value::shown(text)));
                }
                unknown
            }
            _ => {
                self.scalar(argument, world);
                unknown
            }
        }
    }
}

/// In a value, `*` goes through `/`, so `/` is spelled otherwise while it is matched.
fn flat(text: &str) -> String {
    text.replace('/', "\u{1}")
}

fn compiled(pattern: super::value::Arg) -> Option<Glob> {
    let escaped = || pattern.text.chars().flat_map(|c| ['\\', c]).collect::<String>();
    let pattern = match &pattern.pattern {
        Some(pattern) if !pattern.contains('(') && !pattern.contains("[:") => pattern.replace("**", "*"),
        Some(_) => return None,
        None if pattern.text.contains(UNKNOWN) => return None,
        None => escaped(),
    };
    Glob::compile(&flat(&pattern)).ok()
}
