//! Secrets recognised by the label before them.

use std::ops::Range;

use super::bytes::{count, from, is_blank, is_mixed, is_name, is_quote};
use super::{shape, value};

/// The words with which the label of a secret ends, in lower case and without `_` and `-`.
const NOUNS: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "accesskey",
    "secretkey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "authorization",
];
/// What may follow that word at the end of a label.
const ENDINGS: [&str; 5] = ["_prod", "_dev", "_staging", "_base", "_value"];

/// Shorter text after `Bearer` or `Basic` is taken for ordinary words.
const SHORTEST_TOKEN: usize = 10;

/// Whether a label says that its value is secret: `DB_PASSWORD` does, `token_count` does not.
fn is_label(word: &[u8]) -> bool {
    let tail = from(word, word.len().saturating_sub(40));
    let name: String = tail.iter().map(|byte| if *byte == b'-' { '_' } else { byte.to_ascii_lowercase() as char }).collect();
    let name = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '_');
    let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let joined = name.replace('_', "");
    name.ends_with("_pass") || name.ends_with("_auth") || NOUNS.iter().any(|noun| joined.ends_with(noun))
}

fn is_scheme(word: &[u8]) -> bool {
    ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// The secret that the word at the start of `rest` announces. `in_prose` says that another word precedes it.
pub(super) fn announced_secret(rest: &[u8], in_prose: bool) -> Option<Range<usize>> {
    let length = count(rest, is_name);
    let word = rest.get(..length)?;
    if is_scheme(word) { after_scheme(rest, length) } else { after_label(rest, word, in_prose) }
}

fn after_scheme(rest: &[u8], length: usize) -> Option<Range<usize>> {
    let start = length + count(from(rest, length), is_blank);
    // Return early, because the word may be in the text many times.
    if start == length {
        return None;
    }
    let behind = from(rest, start);
    let token = shape::token_length(behind, |byte| is_name(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/'));
    let padded = token + count(from(behind, token), |byte| byte == b'=');
    let token = behind.get(..token)?;
    let closes = |byte: &u8| *byte <= b' ' || is_quote(*byte) || matches!(byte, b',' | b';' | b')' | b'}' | b'\\');
    let base64 = padded > token.len() && behind.get(padded).is_none_or(closes);
    let secret = base64 || is_mixed(token) || shape::contains_secret(token);
    // A `=` that is not padding belongs to a label, so the value after it is hidden too.
    let end = padded + if base64 { 0 } else { value::bare_end(from(behind, padded)) };
    (padded >= SHORTEST_TOKEN && secret).then_some(start..start + end)
}

fn after_label(rest: &[u8], word: &[u8], in_prose: bool) -> Option<Range<usize>> {
    // `"password": …` and `env['password'] = …`.
    let closed = word.len() + count(from(rest, word.len()), |byte| is_quote(byte) || matches!(byte, b'\\' | b']'));
    let mut at = closed + count(from(rest, closed), is_blank);
    let sign = match (rest.get(at)?, rest.get(at + 1)) {
        (b':', Some(b':')) => return None,
        (b'=' | b':', Some(b'=' | b'>')) => 2,
        (b'=' | b':', _) => 1,
        (first, _) if word.starts_with(b"--") && closed == word.len() && at > closed && *first != b'-' => 0,
        _ => return None,
    };
    if !is_label(word) {
        return None;
    }
    let colon = sign == 1 && rest.get(at) == Some(&b':');
    at += sign;
    let gap = count(from(rest, at), is_blank);
    at += gap;
    // `b"…"` and `$'…'`.
    let prefixed = matches!(rest.get(at), Some(b'b' | b'f' | b'r' | b'u' | b'@' | b'$'))
        && rest.get(at + 1).is_some_and(|byte| is_quote(*byte));
    at += usize::from(prefixed);
    let slashes = count(from(rest, at), |byte| byte == b'\\');
    let quote = rest.get(at + slashes).copied().filter(|byte| is_quote(*byte));
    at += quote.map_or(0, |_| slashes + 1);
    // `Authorization: token …`.
    let scheme = count(from(rest, at), |byte| byte.is_ascii_alphabetic());
    let blank = count(from(rest, at + scheme), is_blank);
    let named = rest.get(at..at + scheme)?;
    if blank > 0 && (is_scheme(named) || named.eq_ignore_ascii_case(b"token")) {
        at += scheme + blank;
    }
    let behind = from(rest, at);
    let end = at + quote.map_or_else(|| value::bare_end(behind), |quote| value::quoted_end(behind, quote, slashes));
    let found = rest.get(at..end)?;
    let goes_on = || {
        let after = from(rest, end);
        let next = from(after, 1).first();
        after.first() == Some(&b' ') && next.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'[')
    };
    let prose = colon && gap > 0 && quote.is_none() && value::is_word(found) && (in_prose || goes_on());
    let same = found.eq_ignore_ascii_case(from(word, count(word, |byte| byte == b'-')));
    (!prose && !same && !value::is_exempt(found, quote.is_some())).then_some(at..end)
}

/// The password in `://user:password@host`, where `rest` begins with `://`.
pub(super) fn url_password(rest: &[u8]) -> Option<Range<usize>> {
    let authority = from(rest, 3);
    let outside = |byte: u8| byte <= b' ' || is_quote(byte) || matches!(byte, b'/' | b'?' | b'#' | b'<' | b'>' | b'\\');
    let authority = authority.split(|byte| outside(*byte)).next()?;
    let host = authority.iter().rposition(|byte| *byte == b'@')?;
    let user = authority.iter().position(|byte| *byte == b':')?;
    let password = authority.get(user + 1..host)?;
    let known = password.starts_with(super::MARK.as_bytes());
    (!known && !value::is_exempt(password, true)).then_some(user + 4..host + 3)
}
