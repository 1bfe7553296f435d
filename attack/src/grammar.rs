//! The repertoire that commands are generated from.
//!
//! The repertoire is a file with sections. `[name]` starts a section, every line after it is an alternative, and `##` starts a
//! comment. In an alternative, `«name»` stands for any alternative of that section, `⏎` for a line break, and `⇥` for a tab.
//! `«name:q»` puts the result in single quotes, `«name:d»` in double quotes, `«name:e»` escapes every special character;
//! `«name#1»` is the same text everywhere in that alternative.

use std::collections::BTreeMap;

use crate::dice::Dice;

/// The nesting limit; the first alternative of a section should not nest further.
const MAX_DEPTH: usize = 7;
/// The length limit of a command.
const MAX_CHARS: usize = 4_000;

/// Sections and their alternatives.
#[derive(Debug)]
pub struct Grammar {
    sections: BTreeMap<String, Vec<String>>,
}

impl Grammar {
    /// Reads the repertoire.
    pub fn parse(text: &str) -> Self {
        let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut name = String::new();
        for line in text.lines() {
            if line.is_empty() || line.starts_with("##") {
                continue;
            }
            match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|name| is_name(name)) {
                Some(section) => section.clone_into(&mut name),
                None => sections.entry(name.clone()).or_default().push(line.replace('⏎', "\n").replace('⇥', "\t")),
            }
        }
        Self { sections }
    }

    /// References to sections that do not exist.
    pub fn undefined_references(&self, given: &[&str]) -> Vec<String> {
        let mut dangling = Vec::new();
        for alternative in self.sections.values().flatten() {
            for piece in alternative.split('«').skip(1) {
                let name = piece.split(['»', ':', '#']).next().unwrap_or_default();
                if !self.sections.contains_key(name) && !given.contains(&name) {
                    dangling.push(format!("{name} in {alternative}"));
                }
            }
        }
        dangling
    }

    /// How many alternatives there are.
    pub fn count(&self) -> usize {
        self.sections.values().map(Vec::len).sum()
    }

    /// The alternatives of a section.
    pub fn section(&self, name: &str) -> &[String] {
        self.sections.get(name).map_or(&[], Vec::as_slice)
    }

    /// Generates a text for a section. `given` provides names that depend on the case, such as its target.
    pub fn expand(&self, name: &str, dice: &mut Dice, given: &mut dyn FnMut(&str, &mut Dice) -> Option<String>) -> String {
        self.expand_at(name, dice, given, 0)
    }

    /// Generates a text for an alternative.
    pub fn fill(&self, alternative: &str, dice: &mut Dice, given: &mut dyn FnMut(&str, &mut Dice) -> Option<String>) -> String {
        self.fill_at(alternative, dice, given, 0)
    }

    fn expand_at(
        &self,
        name: &str,
        dice: &mut Dice,
        given: &mut dyn FnMut(&str, &mut Dice) -> Option<String>,
        depth: usize,
    ) -> String {
        if let Some(text) = given(name, dice) {
            return text;
        }
        let alternatives = self.section(name);
        let chosen = if depth > MAX_DEPTH { alternatives.first() } else { dice.pick(alternatives) };
        chosen.map_or_else(String::new, |alternative| self.fill_at(alternative, dice, given, depth))
    }

    fn fill_at(
        &self,
        alternative: &str,
        dice: &mut Dice,
        given: &mut dyn FnMut(&str, &mut Dice) -> Option<String>,
        depth: usize,
    ) -> String {
        let mut out = String::new();
        let mut same: BTreeMap<&str, String> = BTreeMap::new();
        let mut pieces = alternative.split('«');
        out.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let (reference, rest) = piece.split_once('»').unwrap_or((piece, ""));
            let (reference, quoting) = reference.split_once(':').unwrap_or((reference, ""));
            let text = match same.get(reference) {
                Some(text) if reference.contains('#') => text.clone(),
                _ => {
                    let name = reference.split('#').next().unwrap_or(reference);
                    self.expand_at(name, dice, given, depth + 1)
                }
            };
            same.insert(reference, text.clone());
            if out.len() < MAX_CHARS {
                out.push_str(&quote(&text, quoting));
            }
            out.push_str(rest);
        }
        out
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Quotes a text for a shell.
pub fn quote(text: &str, how: &str) -> String {
    match how {
        "q" => format!("'{}'", text.replace('\'', r"'\''")),
        "d" => {
            let escaped: String = text.chars().map(|letter| escape(letter, "\"\\$`")).collect();
            format!("\"{escaped}\"")
        }
        "e" => text.chars().map(|letter| escape(letter, " \t\"'\\$`&|;<>()*?[]{}#~!")).collect(),
        "j" => text.replace('\\', r"\\").replace('"', "\\\""),
        _ => text.to_owned(),
    }
}

fn escape(letter: char, special: &str) -> String {
    if special.contains(letter) { format!("\\{letter}") } else { letter.to_string() }
}

#[cfg(test)]
mod tests {
    use super::{Grammar, quote};
    use crate::dice::Dice;

    #[test]
    fn references_are_filled_in() {
        let grammar = Grammar::parse("## a comment\n[top]\nx «a#1» «a#1» «b:q»⏎\n[a]\n1\n2\n[b]\nit's\n");
        let text = grammar.expand("top", &mut Dice::new(1, 1), &mut |_, _| None);
        assert!(text == "x 1 1 'it'\\''s'\n" || text == "x 2 2 'it'\\''s'\n", "{text}");
        assert!(grammar.undefined_references(&[]).is_empty());
        assert_eq!(Grammar::parse("[top]\n«c»").undefined_references(&[]).len(), 1);
    }

    #[test]
    fn quoting() {
        assert_eq!(quote("a'b", "q"), r"'a'\''b'");
        assert_eq!(quote("a$b", "d"), r#""a\$b""#);
        assert_eq!(quote("a b", "e"), r"a\ b");
    }
}
