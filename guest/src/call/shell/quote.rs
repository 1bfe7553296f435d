//! Quotes words for a POSIX shell.

/// Characters that mean nothing to any shell.
const PLAIN: &str = "%+,-./:=@_";

/// A word as a POSIX shell reads it back.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    // What begins with `=` is looked up by zsh, and what has one in it may be an assignment where a command is expected.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['=', '%']) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
