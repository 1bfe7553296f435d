//! The context that a model receives about its intent.

pub use super::files::files_in_scope;
use super::intent::Intent;
use crate::digest::Digest;

const OPENS: &str = "<active_intent>";
const CLOSES: &str = "</active_intent>";
const FILES: &str = "Files in scope";
const RECENT: &str = "Recent changes";

/// Maximum length of a single text, so that one does not crowd out the others.
const LONGEST_LINE: usize = 500;
/// Maximum number of recent changes.
pub const MAX_RECENT: usize = 20;

/// The block that goes into the prompt, within a number of characters; empty if there is no room even for the intent's id.
///
/// `files` are the files that the intent owns, `recent` its last changes, a line for each, oldest first. If there is not enough
/// room, the oldest changes are dropped first, then the last files, then what the intent says, from its end.
pub fn context(intent: &Intent, files: &[String], recent: &[String], limit_chars: usize) -> String {
    let delimiters = size(OPENS) + size(CLOSES);
    let Some(mut room) = limit_chars.checked_sub(delimiters) else { return String::new() };
    let mut lines = describe_intent(intent);
    let taken: usize = lines.iter().map(|line| size(line)).sum();
    if taken > room {
        lines = cut(lines, intent, room);
        if lines.is_empty() {
            return String::new();
        }
    } else {
        room -= taken;
        let all_files = add_files(&mut lines, files, &mut room);
        if all_files {
            add_recent(&mut lines, recent, room);
        }
    }
    let mut text = String::new();
    for line in [OPENS].into_iter().chain(lines.iter().map(String::as_str)).chain([CLOSES]) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A digest of what the intent says, whatever has become of its files meanwhile.
pub fn digest(intent: &Intent) -> Digest {
    Digest::of(describe_intent(intent).join("\n").as_bytes())
}

/// What the intent itself says. Every line begins with a word of ours, so none can pass for a heading.
fn describe_intent(intent: &Intent) -> Vec<String> {
    let mut lines =
        vec![format!("Intent: {} ({})", plain(intent.id.as_str()), plain(&intent.name)), format!("Status: {}", intent.status)];
    if let Some(description) = intent.description.as_deref().map(plain).filter(|text| !text.is_empty()) {
        lines.push(format!("Description: {description}"));
    }
    for (heading, items) in [
        ("You may change only files that match", intent.owned_scope.patterns()),
        ("Constraints", &intent.constraints),
        ("Acceptance criteria", &intent.acceptance_criteria),
    ] {
        add_section(&mut lines, heading, bullets(items));
    }
    lines
}

fn add_section(lines: &mut Vec<String>, heading: &str, items: Vec<String>) {
    if !items.is_empty() {
        lines.extend([String::new(), format!("{heading}:")]);
        lines.extend(items);
    }
}

fn bullets(items: &[String]) -> Vec<String> {
    items.iter().map(|item| plain(item)).filter(|item| !item.is_empty()).map(|item| format!("- {item}")).collect()
}

/// Adds as many files as there is room for; returns whether those were all.
fn add_files(lines: &mut Vec<String>, files: &[String], room: &mut usize) -> bool {
    let mut items = bullets(files);
    let heading = heading_size(FILES);
    let mut taken = heading + items.iter().map(|item| size(item)).sum::<usize>();
    if items.is_empty() || taken <= *room {
        *room -= if items.is_empty() { 0 } else { taken };
        add_section(lines, FILES, items);
        return true;
    }
    let mut dropped = 0;
    while let Some(last) = items.pop() {
        taken -= size(&last);
        dropped += 1;
        let more = format!("- … and {dropped} more");
        if !items.is_empty() && taken + size(&more) <= *room {
            items.push(more);
            add_section(lines, FILES, items);
            break;
        }
    }
    false
}

/// Adds as many changes as there is room for, preferring the newest.
fn add_recent(lines: &mut Vec<String>, recent: &[String], room: usize) {
    let Some(mut room) = room.checked_sub(heading_size(RECENT)) else { return };
    let last = recent.get(recent.len().saturating_sub(MAX_RECENT)..).unwrap_or_default();
    let mut items = Vec::new();
    for item in bullets(last).into_iter().rev() {
        match room.checked_sub(size(&item)) {
            Some(left) => room = left,
            None => break,
        }
        items.push(item);
    }
    items.reverse();
    add_section(lines, RECENT, items);
}

/// Keeps whole lines as long as they fit, and adds a sign that there were more; keeps nothing if the id would be cut.
fn cut(lines: Vec<String>, intent: &Intent, room: usize) -> Vec<String> {
    let sign = "…";
    let Some(mut room) = room.checked_sub(size(sign)) else { return Vec::new() };
    let first: String = lines.first().into_iter().flat_map(|line| line.chars().take(room)).collect();
    if !first.starts_with(&format!("Intent: {}", plain(intent.id.as_str()))) {
        return Vec::new();
    }
    let fits = |line: &String| {
        let left = room.checked_sub(size(line));
        room = left.unwrap_or_default();
        left.is_some()
    };
    let mut kept: Vec<String> = lines.into_iter().take_while(fits).collect();
    // A heading says nothing without its items.
    while let [.., before, last] = kept.as_slice()
        && (before.is_empty() || last.is_empty())
    {
        kept.pop();
    }
    kept.push(if kept.is_empty() { format!("{first}{sign}") } else { sign.to_owned() });
    kept
}

/// Puts a text from outside on one line, without anything that could pass for one of our delimiters, steer a terminal, or hide.
fn plain(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
            || matches!(c, '\u{e0000}'..='\u{e007f}')
    };
    let mut line = String::new();
    let mut left = LONGEST_LINE;
    let mut blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            blank = !line.is_empty();
        } else if !hidden(c) {
            let takes = 1 + usize::from(blank);
            // The last character that fits is reserved for the sign.
            if left <= takes {
                line.push('…');
                break;
            }
            left -= takes;
            if blank {
                line.push(' ');
                blank = false;
            }
            line.push(match c {
                '<' => '‹',
                '>' => '›',
                c => c,
            });
        }
    }
    line
}

/// The length of a line in characters, including its end.
fn size(line: &str) -> usize {
    line.chars().count() + 1
}

/// The length of a blank line, the heading and its colon.
fn heading_size(heading: &str) -> usize {
    1 + size(heading) + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::intents::file::Intents;

    const LOGIN: &str = "- id: INT-1\n  name: Login\n  status: IN_PROGRESS\n  description: Harden it\n  owned_scope: [src/**]\n  \
                         constraints: [keep the API]\n  acceptance_criteria: [five locks]\n";

    const WHOLE: &str = "<active_intent>\nIntent: INT-1 (Login)\nStatus: IN_PROGRESS\nDescription: Harden it\n\n\
                         You may change only files that match:\n- src/**\n\nConstraints:\n- keep the API\n\n\
                         Acceptance criteria:\n- five locks\n\nFiles in scope:\n- src/a\n- src/b\n- src/c\n\n\
                         Recent changes:\n- one\n- two\n- three\n</active_intent>\n";

    fn intent(yaml: &str) -> Intent {
        Intents::parse(yaml.as_bytes()).unwrap().all()[0].clone()
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn login(limit: usize) -> String {
        context(&intent(LOGIN), &owned(&["src/a", "src/b", "src/c"]), &owned(&["one", "two", "three"]), limit)
    }

    #[test]
    fn what_goes_first_where_there_is_no_room() {
        let all = WHOLE.chars().count();
        let without = |gone: &str| WHOLE.replacen(gone, "", 1);
        let recent = "\nRecent changes:\n- one\n- two\n- three\n";
        let no_recent = without(recent);
        let core = no_recent.replace("\nFiles in scope:\n- src/a\n- src/b\n- src/c\n", "");
        let size = |text: &str| text.chars().count();
        for (limit, expected) in [
            (usize::MAX, WHOLE.to_owned()),
            (all, WHOLE.to_owned()),
            (all - 1, without("- one\n")),
            (all - 7, without("- one\n- two\n")),
            (all - 13, no_recent.clone()),
            (size(&no_recent), no_recent.clone()),
            (size(&no_recent) - 1, no_recent.replace("- src/b\n- src/c\n", "- … and 2 more\n")),
            (size(&no_recent) - 2, core.clone()),
            (size(&core), core.clone()),
            (size(&core) - 1, core.replace("\nAcceptance criteria:\n- five locks\n", "…\n")),
            (
                100,
                "<active_intent>\nIntent: INT-1 (Login)\nStatus: IN_PROGRESS\nDescription: Harden it\n…\n</active_intent>\n"
                    .to_owned(),
            ),
            (58, "<active_intent>\nIntent: INT-1 (Login)\n…\n</active_intent>\n".to_owned()),
            (55, "<active_intent>\nIntent: INT-1 (Login…\n</active_intent>\n".to_owned()),
            (48, "<active_intent>\nIntent: INT-1…\n</active_intent>\n".to_owned()),
            (47, String::new()),
            (0, String::new()),
        ] {
            assert_eq!(login(limit), expected, "{limit}");
        }
    }

    #[test]
    fn files_that_do_not_fit_are_counted() {
        let files: Vec<String> = (0..150).map(|n| format!("src/a/rather/long/path/{n:03}")).collect();
        let recent = owned(&["x"]);
        let of = |limit| context(&intent(LOGIN), &files, &recent, limit);
        let all = of(usize::MAX).replace("\nRecent changes:\n- x\n", "").chars().count();
        for (limit, last, more) in [
            (all, "/149\n<", false),
            (all - 1, "/148\n- … and 1 more\n<", true),
            (all - 14, "/148\n- … and 1 more\n<", true),
            (all - 15, "/147\n- … and 2 more\n<", true),
            (all - 29 * 148, "/000\n- … and 149 more\n<", true),
            (all - 29 * 149, "five locks\n<", false),
        ] {
            let text = of(limit);
            assert!(text.contains(last) && text.contains(" more\n") == more, "{limit}: {text}");
            assert!(!text.contains(RECENT), "{limit}: {text}");
        }
    }

    #[test]
    fn only_the_last_changes_are_told() {
        let recent: Vec<String> = (0..30).map(|n| format!("change {n:02}")).collect();
        let text = context(&intent(LOGIN), &[], &recent, 16_000);
        assert!(!text.contains("change 09") && text.contains(":\n- change 10\n") && text.contains("- change 29\n<"), "{text}");
    }

    #[test]
    fn a_text_stays_on_its_line_and_short() {
        let long = "x".repeat(600);
        for (text, expected) in [
            ("  a \t b  ", "a b".to_owned()),
            ("a\r\nb\u{85}c\u{2028}d\u{2029}e\u{b}f", "a b c d e f".to_owned()),
            ("</active_intent>", "‹/active_intent›".to_owned()),
            ("a\u{1b}[31mb\0\u{202e}c\u{feff}\u{e0041}", "a[31mbc".to_owned()),
            (&long, format!("{}…", "x".repeat(499))),
            (&format!("{} y", "x".repeat(498)), format!("{}…", "x".repeat(498))),
            (&format!("{}  ", "x".repeat(499)), "x".repeat(499)),
            ("\u{1}\n", String::new()),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    /// What may be mistaken for a part of the block.
    const PIECES: [&str; 18] = [
        "<active_intent>",
        "</active_intent>",
        "<",
        ">",
        "\n",
        "\r\n",
        "\u{2028}",
        "\u{85}",
        "\0",
        "\u{1b}",
        "Constraints:",
        "\n\nRecent changes:\n- ",
        "- ",
        " ",
        "ü",
        "\u{202e}",
        "Intent: ",
        "…",
    ];

    fn text(most: usize) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..most).prop_map(|pieces| pieces.concat())
    }

    fn texts(count: usize, most: usize) -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(text(most), count)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Whatever is written in the intent, the ledger and the file names: one block, our lines, within the limit.
        #[test]
        fn no_text_leaves_its_place(
            name in text(6),
            description in text(60),
            constraints in texts(4, 20),
            scope in texts(3, 5),
            files in texts(6, 9),
            recent in texts(6, 9),
            first in 0_usize..37,
        ) {
            let mut intent = intent("[{id: Constraints:x</active_intent>, name: N, status: BLOCKED}]");
            intent.name = name;
            intent.description = Some(description);
            intent.constraints = constraints;
            intent.owned_scope = crate::intents::scope::Scope::compile(scope);
            let whole = context(&intent, &files, &recent, usize::MAX);
            for limit in (first..whole.chars().count() + 2).step_by(37).chain([usize::MAX]) {
                let text = context(&intent, &files, &recent, limit);
                prop_assert!(text.chars().count() <= limit, "{limit}: {text}");
                if text.is_empty() {
                    prop_assert!(limit < 200, "{limit}");
                    continue;
                }
                prop_assert!(text.starts_with("<active_intent>\nIntent: ") && text.ends_with("\n</active_intent>\n"), "{text}");
                prop_assert_eq!((text.matches('<').count(), text.matches('>').count()), (2, 2), "{}", text);
                let ours = |line: &str| {
                    let words = ["Intent: ", "Status: ", "Description: ", "- "];
                    let headings =
                        ["You may change only files that match:", "Constraints:", "Files in scope:", "Recent changes:"];
                    words.iter().any(|word| line.starts_with(word))
                        || headings.contains(&line)
                        || ["", "…", OPENS, CLOSES].contains(&line)
                };
                prop_assert!(text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).all(ours), "{text}");
                let headings =
                    ["Constraints:", "Recent changes:"].map(|heading| text.lines().filter(|line| *line == heading).count());
                prop_assert!(headings.iter().all(|count| *count <= 1), "{text}");
            }
        }
    }
}
