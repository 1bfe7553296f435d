//! The value after a label: where it ends, and whether it is redacted.

use super::bytes::{count, from, is_mixed, is_name, is_quote};
use super::{MARK, shape};

/// Longer values are always hidden, so that labels within labels stay cheap.
const LONGEST_SPARED: usize = 64;
/// Shorter values without quotes are not hidden.
const SHORTEST_HIDDEN: usize = 6;

/// Words that stand in for a secret.
const PLACEHOLDER_VALUES: [&str; 24] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "required",
    "missing",
    "optional",
    "invalid",
    "expired",
    "unset",
    "empty",
    "string",
    "boolean",
    "number",
    "object",
    "option",
    "argument",
    "parameter",
    "identifier",
    "redacted",
    "hidden",
    "placeholder",
];

/// Where an unquoted value ends. It also ends where something begins that is hidden on its own.
pub(super) fn bare_end(rest: &[u8]) -> usize {
    let ends = |at: usize, byte: u8| {
        let next = rest.get(at + 1).copied().unwrap_or(b' ');
        match byte {
            0..=b' ' | b'"' | b'\'' | b'`' | b',' | b';' | b'&' => true,
            b')' | b']' | b'}' | b'>' | b'|' => !next.is_ascii_alphanumeric(),
            b'\\' => matches!(next, b'n' | b'r' | b't') || is_quote(next),
            _ => is_hidden(from(rest, at)),
        }
    };
    rest.iter().enumerate().position(|(at, byte)| ends(at, *byte)).unwrap_or(rest.len())
}

/// Where a quoted value ends: at a quote after as many backslashes as before the opening one, or at the end of the line.
pub(super) fn quoted_end(rest: &[u8], quote: u8, opened: usize) -> usize {
    let mut slashes = 0;
    for (at, byte) in rest.iter().enumerate() {
        let escaped = if opened == 0 { slashes % 2 == 1 } else { slashes > opened };
        match *byte {
            b'\\' => {
                slashes += 1;
                continue;
            }
            b'\n' => return at,
            byte if byte == quote && !escaped => return if opened == 0 { at } else { at - slashes },
            _ if is_hidden(from(rest, at)) => return at,
            _ => slashes = 0,
        }
    }
    rest.len()
}

/// Whether `rest` begins with something that is already hidden, or with a private key, which will be hidden as a whole.
fn is_hidden(rest: &[u8]) -> bool {
    rest.starts_with(MARK.as_bytes()) || shape::is_private_key(rest)
}

/// Whether a value may stay: it is empty, a stand-in for a secret, a path or a piece of code.
pub(super) fn is_exempt(value: &[u8], quoted: bool) -> bool {
    if value.len() > LONGEST_SPARED || shape::contains_secret(value) {
        return false;
    }
    let value = trim_punctuation(value);
    value.is_empty() || !quoted && (value.len() < SHORTEST_HIDDEN || is_program(value)) || is_placeholder(value) || is_path(value)
}

/// Whether an unquoted value is a plain word, as in prose.
pub(super) fn is_word(value: &[u8]) -> bool {
    let word = trim_punctuation(value);
    let plain = word.len() <= LONGEST_SPARED && word.iter().all(u8::is_ascii_alphabetic);
    plain && !is_mixed(word) && !shape::contains_secret(value)
}

/// The value without punctuation at its end.
fn trim_punctuation(value: &[u8]) -> &[u8] {
    let punctuation = value.iter().rev().take_while(|byte| matches!(byte, b'.' | b'!' | b'?' | b':')).count();
    value.get(..value.len() - punctuation).unwrap_or_default()
}

/// `required`, `********`, `$NAME`, `${NAME}`, `<your-token>`, `{{ name }}` without its blanks, `%NAME%`.
fn is_placeholder(value: &[u8]) -> bool {
    let named = PLACEHOLDER_VALUES.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    let masked =
        value.len() > 2 && value.first().is_some_and(|first| b"*xX.-_".contains(first) && value.iter().all(|byte| byte == first));
    let opened = count(value, |byte| matches!(byte, b'$' | b'{' | b'<' | b'%'));
    let name = from(value, opened);
    let closed = name.iter().rev().take_while(|byte| matches!(byte, b'}' | b'>' | b'%')).count();
    let name = name.get(..name.len() - closed).unwrap_or_default();
    let plain = !name.is_empty() && name.iter().all(|byte| is_name(*byte) || *byte == b'.') && !is_mixed(name);
    named || masked || opened > 0 && plain && (closed > 0 || !name.iter().any(u8::is_ascii_digit))
}

/// `/run/secrets/db`, `./token.txt`, `~/.netrc`.
fn is_path(value: &[u8]) -> bool {
    let dots = count(value, |byte| matches!(byte, b'.' | b'~'));
    let legible = value.iter().all(|byte| is_name(*byte) || matches!(byte, b'.' | b'~' | b'/'));
    value.get(dots) == Some(&b'/') && dots <= 2 && legible && !is_mixed(value)
}

/// `getToken(`, `Option<String`, `Token::new(`, `process.env.TOKEN`, `$(pass show db`.
fn is_program(value: &[u8]) -> bool {
    let name = count(value, |byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.'));
    let rest = from(value, name);
    let called = name >= 3 && (matches!(rest.first(), Some(b'(' | b'<' | b'[')) || rest.starts_with(b"::"));
    let member = rest.is_empty() && value.contains(&b'.');
    value.starts_with(b"$(") || (called || member) && !is_mixed(value.get(..name).unwrap_or_default())
}
