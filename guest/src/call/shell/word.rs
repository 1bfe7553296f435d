//! Expansion of words: tildes, parameters, substitutions, splitting, quote removal.

use super::braces;
use super::scan::{self, Fault};
use super::trace::Trace;
use super::value::{Arg, HOME, UNKNOWN};
use super::world::World;

/// Expanded text longer than this is not followed.
const MOST_TEXT: usize = 64 * 1024;

/// Arguments in the making.
#[derive(Default)]
pub(super) struct Fields {
    done: Vec<Arg>,
    text: String,
    pattern: String,
    wild: bool,
    started: bool,
    /// Between which characters unquoted values are split; none outside of argument lists.
    separators: Option<String>,
}

impl Fields {
    fn push(&mut self, c: char, quoted: bool) {
        self.started = true;
        if self.text.len() > MOST_TEXT {
            return;
        }
        let opens_group = c == '(' && self.pattern.ends_with(['?', '*', '+', '@', '!']);
        self.wild |= !quoted && (matches!(c, '*' | '?' | '[') || opens_group);
        if matches!(c, '{' | '}') || (quoted && matches!(c, '*' | '?' | '[' | ']' | '\\' | '(' | ')' | '|' | '!' | '-' | '^')) {
            self.pattern.push('\\');
        }
        self.text.push(c);
        self.pattern.push(c);
    }

    fn literal(&mut self, text: &str) {
        self.started = true;
        text.chars().for_each(|c| self.push(c, true));
    }

    /// A value that was not quoted: it is split, and its wildcards count.
    fn value(&mut self, value: &str) {
        for c in value.chars() {
            if self.separators.as_ref().is_some_and(|separators| separators.contains(c)) {
                self.finish();
            } else {
                self.push(c, false);
            }
        }
    }

    fn finish(&mut self) {
        let (text, pattern) = (std::mem::take(&mut self.text), std::mem::take(&mut self.pattern));
        // A bracket that nothing closes is just a bracket, and a command's name.
        let wild = std::mem::take(&mut self.wild) && (text.contains(['*', '?', '(']) || text.contains(']'));
        if std::mem::take(&mut self.started) {
            self.done.push(if text.len() > MOST_TEXT { Arg::unknown() } else { Arg { text, pattern: wild.then_some(pattern) } });
        }
    }

    fn put(&mut self, expansion: Expansion, quoted: bool) {
        match (expansion, quoted) {
            (Expansion::Text(text), true) => self.literal(&text),
            (Expansion::Text(text), false) => self.value(&text),
            (Expansion::List(values), _) => {
                for (nth, value) in values.iter().enumerate() {
                    if nth > 0 {
                        if self.separators.is_some() { self.finish() } else { self.push(' ', true) }
                    }
                    if quoted { self.literal(value) } else { self.value(value) }
                }
            }
        }
    }
}

/// What one expansion comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expansion {
    /// One text; what is not known in it is marked.
    Text(String),
    /// A text each, as `"$@"` gives.
    List(Vec<String>),
}

impl Expansion {
    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        Self::Text(UNKNOWN.to_string())
    }
}

impl Trace<'_> {
    /// A word as arguments: every expansion there is.
    pub(super) fn fields(&mut self, raw: &str, world: &mut World) -> Vec<Arg> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=+-,@%^".contains(c);
        if raw.chars().all(plain) && !raw.is_empty() {
            return vec![Arg::plain(raw)];
        }
        let Some(words) = braces::expand(raw) else { return vec![Arg::unknown()] };
        if world.options.posix && (raw.contains("$'") || words.len() != 1) {
            // A plain `sh` knows neither braces nor `$'…'`; it may also be Bash under another name.
            for word in words {
                self.scalar(&word, world);
            }
            return vec![Arg::unknown()];
        }
        let separators = match world.value("IFS") {
            Some(value) if !value.contains(UNKNOWN) => value,
            _ => " \t\n".to_owned(),
        };
        let mut fields = Fields { separators: Some(separators), ..Fields::default() };
        for word in words {
            let chars: Vec<char> = word.chars().collect();
            if self.pieces(&chars, world, &mut fields).is_err() {
                self.unknown(format!("`{}` cannot be read as a word", super::value::shown(raw)));
                fields.push(UNKNOWN, false);
            }
            fields.finish();
        }
        fields.done
    }

    /// A word as one text: what is assigned, tested or redirected to. Nothing is split.
    pub(super) fn scalar(&mut self, raw: &str, world: &mut World) -> Arg {
        let chars: Vec<char> = raw.chars().collect();
        self.one(raw, |trace, fields| trace.pieces(&chars, world, fields))
    }

    /// The text of a here-document, or of arithmetic: as in double quotes, but `"` is no quote.
    pub(super) fn document(&mut self, raw: &str, world: &mut World) -> Arg {
        let chars: Vec<char> = raw.chars().collect();
        self.one(raw, |trace, fields| trace.quoted(&chars, world, fields, "$`\\"))
    }

    fn one(&mut self, raw: &str, fill: impl FnOnce(&mut Self, &mut Fields) -> Result<(), Fault>) -> Arg {
        let mut fields = Fields { started: true, ..Fields::default() };
        if fill(self, &mut fields).is_err() {
            self.unknown(format!("`{}` cannot be read as a word", super::value::shown(raw)));
            fields.push(UNKNOWN, false);
        }
        fields.started = true;
        fields.finish();
        fields.done.pop().unwrap_or_default()
    }

    /// What stands outside of double quotes.
    fn pieces(&mut self, chars: &[char], world: &mut World, fields: &mut Fields) -> Result<(), Fault> {
        let mut at = self.tilde(chars, 0, world, fields);
        // A tilde behind `name=` counts too.
        let head: String = chars.iter().take_while(|c| **c != '~').collect();
        let tilde_at = (at == 0 && head.ends_with('=') && scan::assignment(&head).is_some()).then(|| head.chars().count());
        while let Some(c) = chars.get(at) {
            if Some(at) == tilde_at {
                let end = self.tilde(chars, at, world, fields);
                if end > at {
                    at = end;
                    continue;
                }
            }
            let end = scan::piece_end(chars, at, 0)?;
            let inside = |skip: usize| chars.get(at + skip..end.saturating_sub(1)).unwrap_or_default();
            match (c, chars.get(at + 1)) {
                ('\\', Some('\n')) => {}
                ('\\', Some(escaped)) => fields.push(*escaped, true),
                ('\'', _) => fields.literal(&inside(1).iter().collect::<String>()),
                ('"', _) => self.quoted(inside(1), world, fields, "$`\"\\")?,
                ('$', Some('\'')) => fields.literal(&ansi_c(inside(2))),
                ('$', Some('"')) => self.quoted(inside(2), world, fields, "$`\"\\")?,
                ('$' | '`', _) if end > at + 1 => {
                    let expansion = self.expansion(chars.get(at..end).unwrap_or_default(), world, false)?;
                    fields.put(expansion, false);
                }
                (c, _) => fields.push(*c, false),
            }
            at = end;
        }
        Ok(())
    }

    /// What stands in double quotes. `escapable` are the characters that a backslash quotes there.
    fn quoted(&mut self, chars: &[char], world: &mut World, fields: &mut Fields, escapable: &str) -> Result<(), Fault> {
        fields.started = true;
        let mut at = 0;
        while let Some(c) = chars.get(at) {
            let end = match c {
                '$' => scan::dollar_end(chars, at, 0, true)?,
                '`' => scan::backquote_end(chars, at + 1)?,
                '\\' => {
                    match chars.get(at + 1) {
                        Some('\n') => {}
                        Some(escaped) if escapable.contains(*escaped) => fields.push(*escaped, true),
                        Some(other) => {
                            fields.push('\\', true);
                            fields.push(*other, true);
                        }
                        None => fields.push('\\', true),
                    }
                    at += 2;
                    continue;
                }
                _ => at + 1,
            };
            if end > at + 1 {
                let expansion = self.expansion(chars.get(at..end).unwrap_or_default(), world, true)?;
                fields.put(expansion, true);
            } else {
                fields.push(*c, true);
            }
            at = end;
        }
        Ok(())
    }

    /// `~` at the start of a word. Gives back where the rest begins.
    fn tilde(&mut self, chars: &[char], at: usize, world: &World, fields: &mut Fields) -> usize {
        if chars.get(at) != Some(&'~') {
            return at;
        }
        let name: String = chars.iter().skip(at + 1).take_while(|c| !matches!(c, '/' | ':')).collect();
        match name.as_str() {
            "" => fields.push(HOME, true),
            "+" => fields.literal(&world.working_directory()),
            "-" => fields.literal(&world.previous_directory()),
            // Another user's home, or a literal tilde before a quote: nothing that could be followed.
            _ => fields.push(UNKNOWN, true),
        }
        at + 1 + name.chars().count()
    }

    /// One expansion, from its `$` or its backquote to its end.
    fn expansion(&mut self, piece: &[char], world: &mut World, quoted: bool) -> Result<Expansion, Fault> {
        let inner = |from: usize, to: usize| -> String {
            piece.get(from..piece.len().saturating_sub(to)).unwrap_or_default().iter().collect()
        };
        match piece {
            ['`', ..] => {
                let command = backquoted(&inner(1, 1), quoted);
                Ok(self.substitution(&command, world))
            }
            ['$', '(', '(', ..] if matches!(scan::closing_arithmetic(piece, 3, 0)?, Some(end) if end + 2 == piece.len()) => {
                Ok(self.arithmetic(&inner(3, 2), world))
            }
            ['$', '(', ..] => Ok(self.substitution(&inner(2, 1), world)),
            ['$', '[', ..] => Ok(self.arithmetic(&inner(2, 1), world)),
            ['$', '{', ..] => Ok(self.parameter(&inner(2, 1), world, quoted)),
            _ => Ok(self.named(&inner(1, 0), world)),
        }
    }

    /// What arithmetic comes to, where that is plainly a number. What it assigns is unknown from then on.
    pub(super) fn arithmetic(&mut self, text: &str, world: &mut World) -> Expansion {
        let value = self.document(text, world).text;
        let value = value.trim();
        let assigns = |text: &str| {
            text.contains("++")
                || text.contains("--")
                || text.replace("==", "").replace("<=", "").replace(">=", "").replace("!=", "").contains('=')
        };
        if assigns(text) {
            let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
            for name in text.split(|c| !named(c)).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')) {
                world.set(name, UNKNOWN.to_string());
            }
        }
        if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Expansion::Text(value.to_owned());
        }
        Expansion::unknown()
    }
}

/// The command in backquotes, one layer of backslashes taken off.
fn backquoted(text: &str, quoted: bool) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match rest.peek() {
            Some('`' | '\\' | '$') if c == '\\' => out.extend(rest.next()),
            Some('"') if c == '\\' && quoted => out.extend(rest.next()),
            _ => out.push(c),
        }
    }
    out
}

/// The text of `$'…'`.
pub(super) fn ansi_c(chars: &[char]) -> String {
    let mut out = String::new();
    let mut rest = chars.iter().copied().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = rest.next() else {
            out.push('\\');
            break;
        };
        let mut number = |radix: u32, most: usize, first: Option<char>| {
            let mut digits: String = first.into_iter().collect();
            while digits.len() < most
                && let Some(digit) = rest.next_if(|c| c.is_digit(radix))
            {
                digits.push(digit);
            }
            let value = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
            // Single bytes above 127 are parts of characters; no path is made of them.
            value.filter(|c| most > 3 || c.is_ascii()).unwrap_or(UNKNOWN)
        };
        let c = match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => number(16, 2, None),
            'u' => number(16, 4, None),
            'U' => number(16, 8, None),
            '0'..='7' => number(8, 3, Some(escape)),
            'c' => UNKNOWN,
            '\\' | '\'' | '"' | '?' => escape,
            other => {
                out.push('\\');
                other
            }
        };
        out.push(c);
    }
    out
}
