//! Secrets recognised by their own format.

use super::bytes::{count, find, from, is_name};

/// A prefix that issuers put before their tokens.
struct TokenFormat {
    prefix: &'static [u8],
    /// The minimum number of bytes after the prefix.
    least: usize,
    /// The bytes that may follow the prefix.
    inside: fn(u8) -> bool,
    /// Whether ordinary words may begin with the prefix too: then it must be at the start of a word, with a digit further on.
    ordinary: bool,
}

const fn token_format(prefix: &'static str, least: usize, inside: fn(u8) -> bool) -> TokenFormat {
    TokenFormat { prefix: prefix.as_bytes(), least, inside, ordinary: false }
}

const SHAPES: [TokenFormat; 19] = [
    token_format("AKIA", 16, is_capital),
    token_format("ASIA", 16, is_capital),
    token_format("ghp_", 20, is_plain),
    token_format("gho_", 20, is_plain),
    token_format("ghu_", 20, is_plain),
    token_format("ghs_", 20, is_plain),
    token_format("ghr_", 20, is_plain),
    token_format("github_pat_", 20, is_name),
    token_format("glpat-", 16, is_name),
    token_format("xoxa-", 10, is_name),
    token_format("xoxb-", 10, is_name),
    token_format("xoxp-", 10, is_name),
    token_format("xoxr-", 10, is_name),
    token_format("xoxs-", 10, is_name),
    token_format("AIza", 30, is_name),
    token_format("sk_live_", 16, is_plain),
    token_format("rk_live_", 16, is_plain),
    token_format("npm_", 30, is_plain),
    TokenFormat { ordinary: true, ..token_format("sk-", 16, is_name) },
];

fn is_capital(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// The length of the secret at the start of `rest`. `starts_word` says that `rest` does not continue a word.
pub(super) fn secret_length(rest: &[u8], starts_word: bool) -> Option<usize> {
    // Most bytes begin no secret, and this is called for every byte of a text.
    if !matches!(
        rest,
        [b'A', b'I' | b'K' | b'S', ..]
            | [b'g', b'h' | b'i' | b'l', ..]
            | [b's' | b'r', b'k', ..]
            | [b'x', b'o', ..]
            | [b'n', b'p', ..]
            | [b'e', b'y', ..]
            | [b'-', b'-', ..]
    ) {
        return None;
    }
    let known = SHAPES.iter().find_map(|shape| {
        if rest.first() != shape.prefix.first() || !rest.starts_with(shape.prefix) || shape.ordinary && !starts_word {
            return None;
        }
        let more = from(rest, shape.prefix.len());
        let length = token_length(more, shape.inside);
        let fits = length >= shape.least && (!shape.ordinary || more.iter().take(length).any(u8::is_ascii_digit));
        fits.then_some(shape.prefix.len() + length)
    });
    known.or_else(|| if starts_word { web_token(rest) } else { None }).or_else(|| private_key_block(rest))
}

/// Whether a value contains a secret.
pub(super) fn contains_secret(value: &[u8]) -> bool {
    (0..value.len()).any(|at| {
        let behind = value.get(..at).unwrap_or_default();
        secret_length(from(value, at), super::starts_word(behind)).is_some()
    })
}

/// How many bytes belong to a token; a key block that follows directly does not.
pub(super) fn token_length(rest: &[u8], inside: fn(u8) -> bool) -> usize {
    let belongs = |at: usize| rest.get(at).is_some_and(|byte| inside(*byte)) && !is_private_key(from(rest, at));
    (0..rest.len()).take_while(|at| belongs(*at)).count()
}

/// A JSON web token: three parts, the first of which is a JSON object in base64.
fn web_token(rest: &[u8]) -> Option<usize> {
    if !rest.starts_with(b"eyJ") {
        return None;
    }
    let head = token_length(rest, is_name);
    let body = token_length(from(rest, head + 1), is_name);
    let dotted = rest.get(head) == Some(&b'.') && rest.get(head + 1 + body) == Some(&b'.');
    let sum = head + body + 2;
    (dotted && head >= 10 && body >= 4).then(|| sum + token_length(from(rest, sum), is_name))
}

const BEGIN: &[u8] = b"-----BEGIN ";
const DASHES: &[u8] = b"-----";

/// Whether `rest` begins with the first line of a private key.
pub(super) fn is_private_key(rest: &[u8]) -> bool {
    if !rest.starts_with(BEGIN) {
        return false;
    }
    let title: &[u8] = from(rest, BEGIN.len());
    let title = title.get(..title.len().min(48)).unwrap_or_default();
    find(title, DASHES).is_some_and(|end| find(title.get(..end).unwrap_or_default(), b"PRIVATE KEY").is_some())
}

/// The length of the whole block, or everything up to the end of the text if the block is not closed.
fn private_key_block(rest: &[u8]) -> Option<usize> {
    if !is_private_key(rest) {
        return None;
    }
    let end = find(rest, b"-----END ").and_then(|at| {
        let title = at + DASHES.len();
        let tail = from(rest, title);
        find(tail.get(..tail.len().min(64)).unwrap_or_default(), DASHES)
            .map(|at| title + at + count(from(tail, at), |byte| byte == b'-'))
    });
    Some(end.unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_looked_for() {
        for shape in &SHAPES {
            let token = [shape.prefix, &[b'7'; 40]].concat();
            assert_eq!(secret_length(&token, true), Some(token.len()), "{}", String::from_utf8_lossy(&token));
            assert_eq!(secret_length(&token[..shape.prefix.len() + shape.least - 1], true), None);
        }
    }
}
