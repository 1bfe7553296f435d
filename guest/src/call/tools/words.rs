//! Splits names of tools and arguments into words.

/// The words of a name, in lower case: split at anything that is not a letter or digit, and at the boundaries of `camelCase`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    let mut ahead = name.chars().peekable();
    while let Some(c) = ahead.next() {
        let turns = c.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && ahead.peek().is_some_and(|next| next.is_lowercase())));
        if !c.is_alphanumeric() || turns {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, expected) in [
            ("read_file", &["read", "file"][..]),
            ("everything_get-sum", &["everything", "get", "sum"]),
            ("moveFile", &["move", "file"]),
            ("HTTPGet", &["http", "get"]),
            ("fs.write:x", &["fs", "write", "x"]),
            ("", &[]),
        ] {
            assert_eq!(words(name), expected, "{name}");
        }
    }
}
