//! Finds the concepts that a call names as `[[WikiLinks]]`.

use serde_json::Value;

/// Maximum number of concepts looked at: a page full of links does not ask for a page full of notes.
pub(super) const MAX_CONCEPTS: usize = 32;

/// Maximum length of a name, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 200;

/// Maximum number of links remembered as already looked at.
const MAX_SEEN: usize = 128;

/// Characters that no name begins with: they begin a Bash test, a character class, or code.
const NO_NAME: [char; 8] = ['-', ':', '!', '(', '$', '"', '\'', '`'];

/// From here on, a JSON number may not come out as it went in.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// What was found in a call's arguments.
#[derive(Default)]
pub(super) struct Mentions {
    /// Whether there is any text at all.
    pub(super) any_text: bool,
    /// Every concept in every string, in order of first appearance, without repeats.
    pub(super) concepts: Vec<String>,
    /// Whether a number in the arguments would change if they were serialized again.
    pub(super) inexact: bool,
    /// Hashes of the links that have been looked at, whether or not they count.
    seen: Vec<u64>,
}

/// Searches all arguments for concepts. Their depth was limited when they were parsed.
pub(super) fn find(args: &Value) -> Mentions {
    let mut found = Mentions::default();
    found.collect(args);
    found
}

impl Mentions {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.any_text = true;
                links(text, &mut |link| {
                    self.add(link);
                    self.concepts.len() < MAX_CONCEPTS
                });
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.collect(field)),
            Value::Number(number) => {
                self.inexact |= number.is_f64() && number.as_f64().is_some_and(|number| number.abs() >= LARGEST_EXACT);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Adds the concept that a link names, once. A text may hold many shell tests and may repeat a link many times, so those are
    /// ruled out first.
    fn add(&mut self, link: &str) {
        if link.trim_ascii_start().starts_with(NO_NAME) {
            return;
        }
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in link.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.seen.contains(&hash) {
            return;
        }
        if self.seen.len() < MAX_SEEN {
            self.seen.push(hash);
        }
        if let Some(target) = target(link)
            && is_name(link, target)
            && !self.concepts.iter().any(|known| known == target)
        {
            self.concepts.push(target.to_owned());
        }
    }
}

/// Calls `each` with the text between the brackets of each link, until it returns false. In `[[ [[[A]]`, the link opens at the
/// last two brackets.
pub(super) fn links<'t>(text: &'t str, each: &mut dyn FnMut(&'t str) -> bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('[')) {
        at += next + 1;
        if bytes.get(at) != Some(&b'[') {
            continue;
        }
        at += 1;
        let (mut start, mut before) = (at, b'[');
        while let Some(byte) = bytes.get(at) {
            match (*byte, before) {
                (b'[', b'[') => start = at + 1,
                (b']', b']') => {
                    if !text.get(start..at - 1).is_none_or(&mut *each) {
                        return;
                    }
                    break;
                }
                (b']', _) => {}
                // A single bracket closes nothing, and this byte may open a link.
                (_, b']') => break,
                _ => {}
            }
            before = *byte;
            at += 1;
        }
    }
}

/// The target of a link: `[[A]]`, `[[A|shown]]` and `[[A#part]]` all lead to `A`.
pub(super) fn target(link: &str) -> Option<&str> {
    let target = link.split(['|', '#']).next().unwrap_or_default().trim_end_matches('\\').trim();
    (!target.is_empty() && !target.contains('[')).then_some(target)
}

/// Whether a note could have this name. `[[ -f x ]]` is a Bash test, `[[:alpha:]]` a character class and `x[["a"]]` code; they
/// are not even looked up.
fn is_name(link: &str, target: &str) -> bool {
    let odd = |byte: u8| byte < b' ' || b"$`\"<>*\x7f".contains(&byte);
    let option = |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let operator = |word: &str| option(word) || ["=", "==", "!=", "=~", "&&", "!"].contains(&word);
    target.len() <= MAX_NAME_BYTES
        && !target.starts_with(NO_NAME)
        && !target.bytes().any(odd)
        && !link.contains("||")
        && !target.split(' ').any(operator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Instant;

    #[test]
    fn concepts_are_found() {
        for (args, expected) in [
            (json!({"command": "test [[auth]]"}), &["auth"][..]),
            (json!({"prompt": "[[JWT]] and [[OAuth]], [[JWT]] again"}), &["JWT", "OAuth"]),
            (json!({"options": {"query": "[[search]]"}}), &["search"]),
            (json!({"parts": ["[[A]]", ["[[B]]"]]}), &["A", "B"]),
            (json!({"b": "[[B]]", "a": "[[A]] [[B]]"}), &["B", "A"]),
            (json!({"text": "[single] [[]] [[ ]] [[open"}), &[]),
            (json!({"text": "[[ A |shown]] [[B#part]] [[[C]]] [[D\\|in a table]] [[#here]]"}), &["A", "B", "C", "D"]),
            (json!({"text": "[[a]b]] [[d]]"}), &["d"]),
            (json!({"text": "if [[ and [[auth]]"}), &["auth"]),
            (json!({"text": "[[two\nlines]] [[nul\u{0}]]"}), &[]),
            (
                json!({"text": "[[Überblick – ‘R&D’, part (2)]] [[2026-01-01]] [[a/b]]"}),
                &["Überblick – ‘R&D’, part (2)", "2026-01-01", "a/b"],
            ),
        ] {
            assert_eq!(find(&args).concepts, expected, "{args}");
        }
    }

    #[test]
    fn what_is_no_name_is_not_looked_up() {
        for text in [
            "[[ -f x ]]",
            "[[ ! -e x ]]",
            "[[ $a == b ]]",
            "[[ a == b ]]",
            "[[ a = b ]]",
            "[[ a =~ b ]]",
            "[[ a || b ]]",
            "[[ a && b ]]",
            "[[ a -nt b ]]",
            "[[ \"a\" ]]",
            "[[ a < b ]]",
            "[[:alpha:]]",
            "[[ (a) ]]",
            "[[ `a` ]]",
            "[[ *.md ]]",
        ] {
            assert_eq!(find(&json!(text)).concepts, [""; 0], "{text}");
        }
        assert_eq!(find(&json!(format!("[[{}]]", "x".repeat(MAX_NAME_BYTES + 1)))).concepts, [""; 0]);
    }

    #[test]
    fn no_text_is_not_the_same_as_no_concept() {
        for (args, any_text) in [(json!({"count": 5}), false), (json!({}), false), (json!({"command": "ls"}), true)] {
            assert_eq!(find(&args).any_text, any_text, "{args}");
        }
    }

    #[test]
    fn numbers_that_would_change_are_noticed() {
        let read = |text: &str| find(&serde_json::from_str(text).unwrap()).inexact;
        assert!(!read(r#"{"a": 18446744073709551615, "b": [0.5, -3]}"#));
        assert!(read(r#"{"a": [123456789012345678901234567890]}"#));
    }

    /// A megabyte of each, which would take minutes if every link were compared with every other.
    #[test]
    fn large_texts_take_no_longer_than_their_length() {
        let many: String = (0..100_000).map(|number| format!("[[{number:06}]]")).collect();
        let few: String = (0..100_000).map(|number| format!("[[{:06}]]", number % 31)).collect();
        let cases = [many, few, "[[".repeat(500_000), "[[a] ".repeat(200_000), "[[a [[".repeat(150_000), "]]".repeat(500_000)];
        let begun = Instant::now();
        for (text, expected) in cases.iter().zip([MAX_CONCEPTS, 31, 0, 0, 0, 0]) {
            assert_eq!(find(&json!({ "text": text })).concepts.len(), expected);
        }
        assert!(begun.elapsed().as_secs() < 5);
    }
}
