//! Parses a Markdown note: its names, its links, its first words.

use crate::augment::concept::{MAX_NAME_BYTES, links, target};

/// Maximum number of links followed from one note.
const MAX_LINKS: usize = 64;

/// Maximum number of aliases; more are a mistake.
const MAX_ALIASES: usize = 64;

/// A parsed note.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Note<'t> {
    /// The front matter's `title`, the first heading and the front matter's aliases, in this order.
    pub(super) names: Vec<&'t str>,
    /// Everything after the front matter.
    pub(super) body: &'t str,
}

/// Parses a note.
pub(super) fn read(text: &str) -> Note<'_> {
    let text = text.trim_start_matches('\u{feff}');
    let (front, body) = front_matter(text);
    let (mut titles, mut aliases) = (Vec::new(), Vec::new());
    let mut listed = false;
    for line in front.lines() {
        let item = line.trim_start();
        match (item.strip_prefix("- "), line.split_once(':')) {
            (Some(item), _) if listed => aliases.push(strip_quotes(item)),
            (None, Some((key, value))) if !line.starts_with([' ', '\t', '#']) => {
                let (key, value) = (key.trim(), value.trim());
                listed = ["alias", "aliases"].iter().any(|name| key.eq_ignore_ascii_case(name));
                if listed {
                    let list = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(value);
                    aliases.extend(list.split(',').map(strip_quotes));
                } else if key.eq_ignore_ascii_case("title") {
                    titles.push(strip_quotes(value));
                }
            }
            _ => {}
        }
    }
    titles
        .extend(prose(body).find_map(|line| line.strip_prefix("# ")).map(|title| title.trim().trim_end_matches('#').trim_end()));
    titles.extend(aliases.into_iter().take(MAX_ALIASES));
    titles.retain(|name| !name.is_empty());
    Note { names: titles, body: body.trim() }
}

/// Splits off the front matter, which is between the first two lines of dashes.
fn front_matter(text: &str) -> (&str, &str) {
    let Some((first, after)) = text.split_once('\n') else { return ("", text) };
    if first.trim_end() != "---" {
        return ("", text);
    }
    let mut at = 0;
    for line in after.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return (after.get(..at).unwrap_or_default(), after.get(at + line.len()..).unwrap_or_default());
        }
        at += line.len();
    }
    ("", text)
}

/// The lines outside code blocks.
fn prose(body: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    body.lines().filter(move |line| {
        let fence = line.starts_with("```") || line.starts_with("~~~");
        code ^= fence;
        !code && !fence
    })
}

fn strip_quotes(text: &str) -> &str {
    let text = text.trim();
    let within = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// The keys of the notes that a note links to, by `[[links]]` and by links to `.md` files, in order, without repeats.
pub(super) fn targets(body: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut add = |target: &str| {
        let key = key(stem(target));
        if !key.is_empty() && keys.len() < MAX_LINKS && !keys.contains(&key) {
            keys.push(key);
        }
    };
    let mut left = MAX_LINKS * 4;
    links(body, &mut |link| {
        target(link).into_iter().for_each(&mut add);
        left -= 1;
        left > 0
    });
    for link in body.split("](").skip(1).take(MAX_LINKS * 4) {
        let target = link.split([')', '#', ' ', '\n']).next().unwrap_or_default();
        if target.ends_with(".md") && !target.contains(':') {
            add(&target.replace("%20", " "));
        }
    }
    keys
}

/// A file's name without its folders and the extension `.md`.
pub(in crate::augment) fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.len().checked_sub(3).and_then(|end| name.split_at_checked(end)) {
        Some((stem, ending)) if ending.eq_ignore_ascii_case(".md") => stem,
        _ => name,
    }
}

/// The key of a name, which different spellings of the name share. It holds no control characters, so it fits on a line.
pub(super) fn key(name: &str) -> String {
    let mut key = String::new();
    for c in name.trim().chars() {
        if key.len() > MAX_NAME_BYTES {
            break;
        }
        if c.is_control() { key.push(' ') } else { key.extend(c.to_lowercase()) }
    }
    key
}

/// The first line of text in a note, headings aside.
pub(super) fn opening(body: &str) -> &str {
    let said = |line: &&str| !line.is_empty() && !line.starts_with(['#', '|', '>']) && !line.starts_with("---");
    prose(body).map(str::trim).find(said).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (text, expected, body) in [
            ("", &[][..], ""),
            ("# Auth #\n\nText.\n", &["Auth"], "# Auth #\n\nText."),
            (
                "\u{feff}---\r\ntitle: \"Log in\"\r\naliases: [SSO, 'single: sign-on']\r\n---\r\nText.",
                &["Log in", "SSO", "single: sign-on"],
                "Text.",
            ),
            (
                "---\nAliases:\n  - One\n  - \"Two\"\ntags:\n  - three\nalias: Four, Five\n---\n```\n# no\n```\n# Yes\n",
                &["Yes", "One", "Two", "Four", "Five"],
                "```\n# no\n```\n# Yes",
            ),
            ("---\ntitle: never closed\n", &[], "---\ntitle: never closed"),
            ("---\ntitle:\naliases: []\n  title: nested\n...\nx", &[], "x"),
            ("text\n---\ntitle: no\n---\n", &[], "text\n---\ntitle: no\n---"),
        ] {
            assert_eq!(read(text), Note { names: expected.to_vec(), body }, "{text:?}");
        }
    }

    #[test]
    fn links_lead_to_keys() {
        let body = "[[B]] ![[A|x]] [[dir/C#y]] [[b]] [t](other%20one.md#part) [u](https://x/y.md) [v](../up/D.MD) [w](z.md 'T')";
        assert_eq!(targets(body), ["b", "a", "c", "other one", "z"]);
        let many: String = (0..100).map(|number| format!("[[{number}]]")).collect();
        assert_eq!(targets(&many).len(), MAX_LINKS);
    }

    #[test]
    fn spellings() {
        for (name, expected) in [(" REST Api ", "rest api"), ("ÜBER\t1", "über 1"), ("..", "..")] {
            assert_eq!(key(name), expected);
        }
        for (path, expected) in [("a/b/C.md", "C"), ("C.MD", "C"), ("md", "md"), (".md", ""), ("a.b", "a.b"), ("é", "é")] {
            assert_eq!(stem(path), expected);
        }
    }

    #[test]
    fn first_words() {
        assert_eq!(opening("# T\n\n```\ncode\n```\n> quoted\n\n  Text here.  \nmore"), "Text here.");
        assert_eq!(opening("# T\n"), "");
    }
}
