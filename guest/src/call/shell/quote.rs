//! Quotes words for a POSIX shell.

/// Characters without a special meaning in any shell.
const PLAIN: &str = "%+,-./:=@_";

/// Quotes a word so that a POSIX shell reads it back unchanged.
pub fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    // zsh looks up words that begin with `=`, and a word containing `=` may be an assignment where a command is expected.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['=', '%']) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
