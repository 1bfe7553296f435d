//! The concepts that a call names as `[[WikiLinks]]`.

use serde_json::Value;

/// More concepts than this are not looked at: a page full of links asks for no page full of notes.
pub(super) const MOST: usize = 32;

/// No name is longer, in bytes.
pub(super) const LONGEST: usize = 200;

/// From here on, a number of JSON may not come out as it went in.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// What a call's arguments hold.
#[derive(Default)]
pub(super) struct Found {
    /// Whether there is any text at all.
    pub(super) any_text: bool,
    /// Every concept in every string, in order of first appearance, without repeats.
    pub(super) concepts: Vec<String>,
    /// Whether a number in them would change if they were written again.
    pub(super) inexact: bool,
    hashes: Vec<u32>,
}

/// Looks through all arguments. Whoever read them has limited their depth.
pub(super) fn find(args: &Value) -> Found {
    let mut found = Found::default();
    found.collect(args);
    found
}

impl Found {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.any_text = true;
                if self.concepts.len() < MOST {
                    links(text).filter(|(inside, target)| is_name(inside, target)).all(|(_, target)| self.add(target));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.collect(field)),
            Value::Number(number) => {
                self.inexact |= number.is_f64() && number.as_f64().is_some_and(|number| number.abs() >= LARGEST_EXACT);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Takes in a name, once, and says whether there is room for more.
    fn add(&mut self, target: &str) -> bool {
        let hash = target.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let known = self.hashes.iter().zip(&self.concepts).any(|(of, concept)| *of == hash && concept == target);
        if !known {
            self.hashes.push(hash);
            self.concepts.push(target.to_owned());
        }
        self.concepts.len() < MOST
    }
}

/// The links in a text, each as what stands in the brackets and as what it leads to: `[[A]]`, `[[A|shown]]` and `[[A#part]]`
/// all lead to `A`.
pub(super) fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once("[[")?;
            let (inside, left) = after.split_once(']')?;
            rest = left;
            let Some(beyond) = left.strip_prefix(']') else { continue };
            rest = beyond;
            // In `[[ [[[A]]`, the link opens at the last two brackets.
            let inside = inside.rsplit("[[").next().unwrap_or(inside).trim_start_matches('[');
            let target = inside.split(['|', '#']).next().unwrap_or_default().trim_end_matches('\\').trim();
            if !target.is_empty() && !target.contains('[') {
                return Some((inside, target));
            }
        }
    })
}

/// Whether somebody could have given a note this name. `[[ -f x ]]` is Bash's test, `[[:alpha:]]` a class of characters and
/// `x[["a"]]` code; they are not even looked up.
fn is_name(inside: &str, target: &str) -> bool {
    let odd = |c: char| c.is_control() || "$`\"<>*".contains(c);
    let option = |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    let operator = |word: &str| option(word) || ["=", "==", "!=", "=~", "&&", "!"].contains(&word);
    target.len() <= LONGEST
        && !target.starts_with(['-', ':', '!', '('])
        && !target.contains(odd)
        && !inside.contains("||")
        && !target.split(' ').any(operator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Instant;

    #[test]
    fn found() {
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
        assert_eq!(find(&json!(format!("[[{}]]", "x".repeat(LONGEST + 1)))).concepts, [""; 0]);
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

    /// A megabyte of each, which takes minutes where every link is compared with every other.
    #[test]
    fn large_texts_take_no_longer_than_their_length() {
        let many: String = (0..100_000).map(|number| format!("[[{number:06}]]")).collect();
        let few: String = (0..100_000).map(|number| format!("[[{:06}]]", number % 31)).collect();
        let cases = [many, few, "[[".repeat(500_000), "[[a] ".repeat(200_000), "[[a [[".repeat(150_000), "]]".repeat(500_000)];
        let begun = Instant::now();
        for (text, expected) in cases.iter().zip([MOST, 31, 0, 0, 0, 0]) {
            assert_eq!(find(&json!({ "text": text })).concepts.len(), expected);
        }
        assert!(begun.elapsed().as_secs() < 5);
    }
}
