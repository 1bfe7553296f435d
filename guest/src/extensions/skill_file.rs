//! Skills in folders of their own: `NAME/SKILL.md`, as Claude Code, Codex and Gemini CLI keep them.
//!
//! ```markdown
//! ---
//! name: review
//! description: Reviews a change
//! ---
//! Look at what changed, and …
//! ```
//!
//! Only `name` and `description` are read from the front matter. A description may continue on indented lines, or be a block
//! after `>` or `|`. The front matter is read line by line and not as YAML, because much of what people have is not valid YAML: a
//! description such as `Use when: someone asks` has a colon that YAML does not allow there.

use super::manifest::Skill;
use super::path;

/// The name of the file.
pub const FILE: &str = "SKILL.md";

/// The placeholder for everything after a skill's name, as in Claude Code's commands.
const ARGUMENTS: &str = "$ARGUMENTS";

/// The parameter that takes its place.
pub const PARAMETER: &str = "arguments";

/// Parses a skill; `folder` is its folder's name, which it gets if it names no other.
pub fn read(text: &str, folder: &str) -> Result<Skill, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split_front_matter(text).ok_or("does not begin with front matter between two lines `---`")?;
    let field = |key: &str| value(front, key);
    let name = field("name").unwrap_or_else(|| folder.to_owned());
    if !path::is_name(&name) {
        return Err("has a `name` that is not 1 to 64 letters, digits, `_`, `-` and `.`".to_owned());
    }
    let description = field("description").filter(|text| !text.is_empty()).ok_or("has no `description` in its front matter")?;
    if body.trim().is_empty() {
        return Err("has no text after its front matter".to_owned());
    }
    let mut skill = Skill { name, description, prompt: body.trim().to_owned(), parameters: Vec::new() };
    if skill.prompt.contains(ARGUMENTS) {
        skill.prompt = skill.prompt.replace(ARGUMENTS, &format!("{{{{{PARAMETER}}}}}"));
        skill.parameters.push(super::manifest::Parameter {
            name: PARAMETER.to_owned(),
            description: "the text after the skill's name".to_owned(),
            required: false,
            default: None,
            choices: None,
        });
    }
    Ok(skill)
}

/// Splits off the front matter from what follows it.
fn split_front_matter(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// The value of a key at the beginning of a line.
fn value(front: &str, key: &str) -> Option<String> {
    let mut lines = front.lines();
    let first = lines.by_ref().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))?.trim();
    let is_block = first.starts_with(['>', '|']);
    let mut words: Vec<&str> = if is_block { Vec::new() } else { vec![first] };
    for line in lines {
        if !line.starts_with([' ', '\t']) && !line.trim().is_empty() {
            break;
        }
        words.push(line.trim());
    }
    let text = words.join(" ").trim().to_owned();
    Some(if is_block { text } else { strip_quotes(&text) })
}

fn strip_quotes(text: &str) -> String {
    for (quote, escaped, plain) in [('"', "\\\"", "\""), ('\'', "''", "'")] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner.replace(escaped, plain);
        }
    }
    // A comment begins after a space.
    text.split_once(" #").map_or(text, |(value, _)| value).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter() {
        let read = |text: &str| read(text, "folder").map(|skill| (skill.name, skill.description, skill.prompt));
        let of = |name: &str, description: &str, prompt: &str| Ok((name.to_owned(), description.to_owned(), prompt.to_owned()));
        for (text, expected) in [
            ("---\nname: a\ndescription: b c\n---\nDo it.\n", of("a", "b c", "Do it.")),
            ("---\r\ndescription: 'it''s'\r\nname: \"a\"\r\n---\r\nDo it.", of("a", "it's", "Do it.")),
            ("---\ndescription: b # why\nallowed-tools: Read\n---\nx", of("folder", "b", "x")),
            ("---\ndescription: Use when: asked\n---\nx", of("folder", "Use when: asked", "x")),
            ("---\ndescription: >\n  one\n  two\nname: a\n---\nx", of("a", "one two", "x")),
            ("---\nname: a\ndescription: |-\n  one: two\n\n  three\n---\nx\n---\ny", of("a", "one: two  three", "x\n---\ny")),
            ("\u{feff}---\nname: a\ndescription: b\n---\n$ARGUMENTS and {{other}}", of("a", "b", "{{arguments}} and {{other}}")),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for (text, why) in [
            ("Do it.", "does not begin"),
            ("---\nname: a\ndescription: b\nDo it.", "does not begin"),
            ("---\nname: a\n---\nx", "no `description`"),
            ("---\nname: a b\ndescription: c\n---\nx", "has a `name`"),
            ("---\nname: a\ndescription: c\n---\n \n", "no text after"),
        ] {
            assert!(read(text).unwrap_err().contains(why), "{text}");
        }
    }
}
