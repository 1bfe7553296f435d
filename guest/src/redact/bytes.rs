//! Helpers for scanning bytes.

/// The bytes from `at` on.
pub(super) fn from(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

/// How many bytes at the start satisfy `fits`.
pub(super) fn count(bytes: &[u8], fits: fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| fits(**byte)).count()
}

/// The position at which a text first occurs.
pub(super) fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

/// The characters of labels and of most tokens.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Whether letter case and digits change often, as they do in generated text. A capital letter that starts a word does not count
/// as a change.
pub(super) fn is_mixed(bytes: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 4,
        _ => 0,
    };
    let changes = |pair: &&[u8]| match *pair {
        [a, b] => matches!((class(*a), class(*b)), (1, 2 | 4) | (2, 4) | (4, 1 | 2)),
        _ => false,
    };
    bytes.windows(2).filter(changes).count() * 4 > bytes.len()
}
