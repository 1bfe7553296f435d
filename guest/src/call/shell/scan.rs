//! Where quotes, expansions and words end.
//!
//! Everything here finds ends; nothing is evaluated. Where Bash's own reading depends on its mode, the text is refused
//! rather than guessed at, because a guess could hide a command in what looks like a quote.

use super::lex;

/// Deeper nesting of quotes and expansions is refused.
pub(super) const MOST_DEPTH: usize = 24;
/// What looks like arithmetic may have to be read twice, so it counts for several levels.
pub(super) const ARITHMETIC_DEPTH: usize = 6;

/// Why text is no command line that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something opened is never closed.
    Unclosed(&'static str),
    /// It nests too deeply.
    TooDeep,
    /// Bash reads it in more than one way.
    Ambiguous(&'static str),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unclosed(what) => write!(out, "a `{what}` is never closed"),
            Self::TooDeep => out.write_str("it is too deeply nested"),
            Self::Ambiguous(what) => write!(out, "`{what}` can be read in more than one way"),
        }
    }
}

type End = Result<usize, Fault>;

/// Where the word that begins at `at` ends.
pub(super) fn word_end(chars: &[char], start: usize, depth: usize, regex: bool) -> End {
    let mut at = start;
    let mut parens = 0usize;
    while let Some(c) = chars.get(at) {
        let before = at.checked_sub(1).filter(|_| at > start).and_then(|before| chars.get(before));
        match c {
            '(' if regex || parens > 0 || matches!(before, Some('?' | '*' | '+' | '@' | '!')) => {
                parens += 1;
                at += 1;
            }
            ')' if parens > 0 => {
                parens -= 1;
                at += 1;
            }
            ' ' | '\t' | '\n' if parens == 0 => break,
            ';' | '&' | '|' | '<' | '>' | '(' | ')' if parens == 0 && !regex => break,
            _ => at = piece_end(chars, at, depth)?,
        }
    }
    if parens > 0 { Err(Fault::Unclosed("(")) } else { Ok(at) }
}

/// Past one character, one quote or one expansion outside of double quotes.
pub(super) fn piece_end(chars: &[char], at: usize, depth: usize) -> End {
    match chars.get(at) {
        Some('\\') => Ok((at + 2).min(chars.len())),
        Some('\'') => single_quote_end(chars, at + 1),
        Some('"') => double_quote_end(chars, at + 1, depth),
        Some('`') => backquote_end(chars, at + 1),
        Some('$') => dollar_end(chars, at, depth, false),
        _ => Ok(at + 1),
    }
}

/// Behind the `'` that closes.
pub(super) fn single_quote_end(chars: &[char], at: usize) -> End {
    let rest = chars.get(at..).unwrap_or_default();
    rest.iter().position(|c| *c == '\'').map(|end| at + end + 1).ok_or(Fault::Unclosed("'"))
}

/// Behind the `"` that closes.
pub(super) fn double_quote_end(chars: &[char], start: usize, depth: usize) -> End {
    if depth > MOST_DEPTH {
        return Err(Fault::TooDeep);
    }
    let mut at = start;
    while let Some(c) = chars.get(at) {
        at = match c {
            '"' => return Ok(at + 1),
            '\\' => at + 2,
            '`' => backquote_end(chars, at + 1)?,
            '$' => dollar_end(chars, at, depth + 1, true)?,
            _ => at + 1,
        };
    }
    Err(Fault::Unclosed("\""))
}

/// Behind the backquote that closes.
pub(super) fn backquote_end(chars: &[char], start: usize) -> End {
    until(chars, start, '`').ok_or(Fault::Unclosed("backquote"))
}

/// Behind an unescaped character.
fn until(chars: &[char], start: usize, close: char) -> Option<usize> {
    let mut at = start;
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            c if *c == close => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Behind what a `$` begins, be it an expansion, a quote, or nothing.
pub(super) fn dollar_end(chars: &[char], at: usize, depth: usize, quoted: bool) -> End {
    if depth > MOST_DEPTH {
        return Err(Fault::TooDeep);
    }
    match chars.get(at + 1) {
        Some('(') => {
            if chars.get(at + 2) == Some(&'(')
                && let Some(end) = closing_arithmetic(chars, at + 3, depth + ARITHMETIC_DEPTH)?
            {
                return Ok(end + 2);
            }
            Ok(lex::closing_paren(chars, at + 2, depth + 1)? + 1)
        }
        Some('{') => brace_end(chars, at + 2, depth + 1, quoted),
        Some('[') => bracket_end(chars, at + 2, depth + 1),
        Some('\'') if !quoted => until(chars, at + 2, '\'').ok_or(Fault::Unclosed("$'")),
        Some('"') if !quoted => double_quote_end(chars, at + 2, depth + 1),
        Some(c) if c.is_ascii_alphabetic() || *c == '_' => {
            let name = chars.iter().skip(at + 1).take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
            Ok(at + 1 + name)
        }
        Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(*c) => Ok(at + 2),
        _ => Ok(at + 1),
    }
}

/// Behind the `}` of `${…}`.
fn brace_end(chars: &[char], start: usize, depth: usize, quoted: bool) -> End {
    if matches!(chars.get(start), Some(' ' | '\t' | '\n' | '|')) {
        return Err(Fault::Ambiguous("${ …; }"));
    }
    if depth > MOST_DEPTH {
        return Err(Fault::TooDeep);
    }
    let mut at = start;
    // `${#…}`, `${$}` and the like: the first character is a name, never a quote.
    if matches!(chars.get(at), Some('#' | '$' | '!' | '?' | '@' | '*' | '-')) {
        at += 1;
    }
    while let Some(c) = chars.get(at) {
        at = match c {
            '}' => return Ok(at + 1),
            '\'' => {
                let end = single_quote_end(chars, at + 1)?;
                // Whether `'` quotes inside `"${…}"` depends on the operator and on Bash's mode; it must not matter.
                let inside = chars.get(at + 1..end - 1).unwrap_or_default();
                if quoted && (inside.iter().any(|c| "}$`\"".contains(*c)) || inside.last() == Some(&'\\')) {
                    return Err(Fault::Ambiguous("'"));
                }
                end
            }
            '$' => dollar_end(chars, at, depth + 1, quoted)?,
            _ => piece_end(chars, at, depth + 1)?,
        };
    }
    Err(Fault::Unclosed("${"))
}

/// Behind the `]` of `$[…]`.
fn bracket_end(chars: &[char], start: usize, depth: usize) -> End {
    let (mut at, mut brackets) = (start, 0usize);
    while let Some(c) = chars.get(at) {
        match c {
            '\'' => return Err(Fault::Ambiguous("'")),
            '[' => brackets += 1,
            ']' if brackets == 0 => return Ok(at + 1),
            ']' => brackets -= 1,
            _ => {}
        }
        at = piece_end(chars, at, depth + 1)?;
    }
    Err(Fault::Unclosed("$["))
}

/// Where the `))` of arithmetic stands, if what begins here is arithmetic: its parentheses balance, and the last two stand
/// together. Otherwise it is a subshell in a subshell.
pub(super) fn closing_arithmetic(chars: &[char], start: usize, depth: usize) -> Result<Option<usize>, Fault> {
    if depth > MOST_DEPTH {
        return Err(Fault::TooDeep);
    }
    let (mut at, mut parens, mut quote) = (start, 0usize, false);
    while let Some(c) = chars.get(at) {
        match c {
            '(' => parens += 1,
            ')' if parens == 0 && chars.get(at + 1) == Some(&')') => {
                return if quote { Err(Fault::Ambiguous("'")) } else { Ok(Some(at)) };
            }
            ')' if parens == 0 => return Ok(None),
            ')' => parens -= 1,
            '\'' => quote = true,
            _ => {}
        }
        at = piece_end(chars, at, depth + 1)?;
    }
    Ok(None)
}

/// Text with its line continuations taken out.
pub(super) fn joined(chars: &[char]) -> String {
    let (mut out, mut quote) = (String::with_capacity(chars.len()), None);
    let mut rest = chars.iter().peekable();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\\', Some('"') | None) => match rest.next() {
                Some('\n') => {}
                Some(escaped) => out.extend(['\\', *escaped]),
                None => out.push('\\'),
            },
            ('\'' | '"', None) => {
                quote = Some(*c);
                out.push(*c);
            }
            (c, open) => {
                if open == Some(*c) {
                    quote = None;
                }
                out.push(*c);
            }
        }
    }
    out
}

/// Text without its quotes, as the delimiter of a here-document is compared.
pub(super) fn unquoted(raw: &str) -> String {
    let (mut out, mut quote) = (String::new(), None);
    let mut rest = raw.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => out.extend(rest.next()),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, _) => out.push(c),
        }
    }
    out
}

/// `name=value`, `name+=value`, `name[index]=value`, taken apart.
pub(super) fn assignment(raw: &str) -> Option<(&str, Option<&str>, &str, &str)> {
    let name_length = raw.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let (name, rest) = raw.split_at_checked(name_length)?;
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if let Some(value) = rest.strip_prefix('=') {
        return Some((name, None, "=", value));
    }
    if let Some(value) = rest.strip_prefix("+=") {
        return Some((name, None, "+=", value));
    }
    let inside = rest.strip_prefix('[')?;
    let (index, value) = inside.split_once("]=").or_else(|| inside.split_once("]+="))?;
    Some((name, Some(index), "=", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_bash_ends_them() {
        for (text, word) in [
            ("a b", "a"),
            ("'a b'c d", "'a b'c"),
            (r#""a $(echo ")" b) c" d"#, r#""a $(echo ")" b) c""#),
            ("$(case x in a) b;; esac) c", "$(case x in a) b;; esac)"),
            ("$(cat <<E\n'\nE\n) x", "$(cat <<E\n'\nE\n)"),
            ("$((1+(2)))x y", "$((1+(2)))x"),
            ("$((a); (b)) c", "$((a); (b))"),
            ("${x:-a b} c", "${x:-a b}"),
            ("${x:-$(echo })} c", "${x:-$(echo })}"),
            (r"a\ b c", r"a\ b"),
            ("a>b", "a"),
            ("@(a|b)c d", "@(a|b)c"),
            ("$'a\\'b' c", "$'a\\'b'"),
            ("$(# it's\n) x", "$(# it's\n)"),
            ("`a b` c", "`a b`"),
        ] {
            let chars: Vec<char> = text.chars().collect();
            let end = word_end(&chars, 0, 0, false).unwrap();
            assert_eq!(chars[..end].iter().collect::<String>(), word, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let deep = format!("{}{}", "$(".repeat(200), ")".repeat(200));
        for text in ["'a", "\"a", "`a", "$(a", "${a", "$[a", "$'a", "${ a; }", deep.as_str(), "\"${x:-'}\" \"'}\"", "@(a"] {
            let chars: Vec<char> = text.chars().collect();
            assert!(word_end(&chars, 0, 0, false).is_err(), "{text}");
        }
    }
}
