//! Every fault with its line and column, and texts that try to break the reader.

use proptest::prelude::*;

use super::*;

fn diagnose(text: &[u8]) -> Vec<Diagnosis> {
    read(text).diagnoses
}

/// One line for each diagnosis: `E 3:5 message`.
fn told(text: &[u8]) -> Vec<String> {
    let place = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let line = |told: &Diagnosis| {
        let severity = if told.severity == Severity::Error { "E" } else { "W" };
        format!("{severity} {}:{} {}", place(told.line), place(told.column), told.message)
    };
    diagnose(text).iter().map(line).collect()
}

/// Severity and position, and some of the words.
type Told<'t> = (&'t str, &'t [&'t str]);

const GOOD: &str = "- {id: G, name: Good, status: PLANNED, owned_scope: [a]}\n";

/// Each text and, in order, where its faults are and some words of their messages.
#[test]
fn everything_is_told_with_its_place() {
    let rows: &[(&str, &[Told<'_>])] = &[
        ("active_intents:\n  - id: A\n    name: N\n    status: PLANNED\n    owned_scope:\n      - a/**\n", &[]),
        ("", &[("W -:-", &["no intents"])]),
        ("# nothing\n---\n", &[("W -:-", &["no intents"])]),
        ("active_intents:\n", &[("W -:-", &["no intents"])]),
        ("- {id: A, name: N, status: COMPLETED}", &[("W -:-", &["no intent is open"])]),
        // Syntax.
        (
            "active_intents:\n  - {id: A, owned_scope: [a\n",
            &[("E 2:26", &["the YAML cannot be read", "`[` is never closed", "add `]`"])],
        ),
        ("a: b\n  c: d\n", &[("E 2:4", &["the YAML cannot be read", "`:` is not allowed"])]),
        ("- {id: *a}", &[("E 1:8", &["no anchor", "in quotes"])]),
        ("- {id: A, owned_scope: [\n  **/*.rs]}", &[("E 2:3", &["begins with `*` in quotes"])]),
        ("- a\n---\n- b\n", &[("E 1:3", &["an intent is text"]), ("E 2:1", &["second document"])]),
        (
            "- [a]\n- {id: B}]\n",
            &[("E 1:3", &["an intent is a list"]), ("E 2:10", &["the YAML cannot be read", "closes nothing"])],
        ),
        ("[],\n", &[("E 1:3", &["the YAML cannot be read", "did not find expected <document start>"])]),
        ("x\0", &[("E 1:2", &["control character U+0000"])]),
        ("active_intents:\n\t- a\n", &[("E 2:2", &["the YAML cannot be read", "a tab", "use spaces"])]),
        // The document.
        ("text", &[("E 1:1", &["this is text", "`active_intents:`"])]),
        ("other: 1\n", &[("E 1:1", &["no `active_intents:`", "a list of intents below"])]),
        ("version: 1\nactive_intent: []\n", &[("E 2:1", &["no `active_intents:`", "rename `active_intent:`"])]),
        ("version: 1\nactive_intents: {id: A}\n", &[("E 2:17", &["is a map", "write a list"])]),
        ("active_intents: A\n", &[("E 1:17", &["is text", "write a list"])]),
        ("active_intents: []\nintents: []\n", &[("E 2:1", &["`intents:` is a second list"])]),
        // An intent.
        ("- A\n- 1.10\n", &[("E 1:3", &["an intent is text"]), ("E 2:3", &["an intent is text"])]),
        ("active_intents:\n- \n", &[("E 2:3", &["an intent is empty"])]),
        ("active_intents:\n- [a]\n", &[("E 2:3", &["an intent is a list"])]),
        (
            "-\n  description: x",
            &[
                ("E 2:3", &["no `id`"]),
                ("E 2:3", &["no `status`", "PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED"]),
                ("E 2:3", &["no `name`"]),
            ],
        ),
        ("- id:\n  name: N\n  status: PLANNED\n  owned_scope: [a]", &[("E 1:3", &["no `id`"])]),
        ("- id: a b\n  name: N\n  status: PLANNED\n  owned_scope: [a]", &[("E 1:7", &["`a b` is not an intent id"])]),
        ("- id: A\n  name: [N]\n  status: PLANNED\n  owned_scope: [a]", &[("E 2:9", &["`name` is a list; write text"])]),
        ("- id: A\n  name:\n  status: PLANNED\n  owned_scope: [a]", &[("W 2:3", &["empty `name`"])]),
        (
            "- id: A\n  name: N\n  status: done\n",
            &[("E 3:11", &["`done` is not a status", "PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED"])],
        ),
        ("- id: A\n  name: N\n  status: 1\n", &[("E 3:11", &["`1` is not a status"])]),
        ("- id: A\n  name: N\n  name: M\n  status: COMPLETED\n", &[("E 3:3", &["`name` appears twice"])]),
        ("- id: A\n  name: N\n  status: PLANNED\n", &[("W 1:3", &["`A` owns nothing", "`owned_scope:`"])]),
        ("- id: A\n  name: N\n  status: PLANNED\n  owned_scope: []", &[("W 4:3", &["`A` owns nothing"])]),
        ("- id: A\n  name: N\n  status: PLANNED\n  owned_scope: a/**", &[("E 4:16", &["`owned_scope` is text; write a list"])]),
        (
            "- id: A\n  name: N\n  status: PLANNED\n  owned_scope:\n  - a\n  - ../b\n  - 'c['\n  - {d: e}\n  -\n  - 7\n",
            &[
                ("E 6:5", &["`../b` leaves the workspace"]),
                ("E 7:5", &["`c[` does not compile", "no `]`"]),
                ("E 8:5", &["is a map", "in quotes"]),
                ("W 9:4", &["an item of `owned_scope` is empty"]),
            ],
        ),
        (
            "- id: A\n  name: N\n  status: PLANNED\n  owned_scope: [a]\n  constraints:\n  - keep: this\n",
            &[("E 6:5", &["an item of `constraints` is a map", "in quotes"])],
        ),
        (
            "- id: A\n  name: N\n  status: PLANNED\n  owned_scopes: [a]\n  x: {}\n  x: 1\n  ? [k]\n  : v\n",
            &[
                ("W 1:3", &["owns nothing"]),
                ("W 4:3", &["`owned_scopes` is not known", "did you mean `owned_scope`?"]),
                ("W 5:3", &["`x` is not known", "expected one of: id, name,"]),
                ("E 6:3", &["`x` appears twice"]),
                ("W 7:5", &["not text"]),
            ],
        ),
        (
            "- id: A\n  name: N\n  status: PLANNED\n  owned_scope: [a]\n  created_at: 2026-01-31\n  updated_at: today\n",
            &[("W 6:15", &["`today`", "RFC 3339", "2026-01-31T12:00:00Z"])],
        ),
        // The intents together.
        (
            "- {id: A, name: N, status: PLANNED, owned_scope: [a]}\n- {id: B, name: N, status: PLANNED, owned_scope: [a]}\n- {name: N, id: A, status: PLANNED, owned_scope: [a]}\n",
            &[("E 3:17", &["`A` appears twice", "on line 1"])],
        ),
        (
            "- {id: 1.1, name: N, status: PLANNED, owned_scope: [a]}\n- {id: 1.10, name: N, status: PLANNED, owned_scope: [a]}\n",
            &[],
        ),
        ("- &a {id: A, name: N, status: PLANNED, owned_scope: [a]}\n- *a\n", &[("E 2:3", &["`A` appears twice", "on line 1"])]),
        ("- {id: !x A, name: !!str 7, status: PLANNED, owned_scope: !y [a]}\n", &[]),
        (
            "- {id: ü, name: ü, stätus: 1}\r\n- {id: 9}",
            &[
                ("E 1:3", &["no `status`"]),
                ("W 1:20", &["`stätus`", "did you mean `status`?"]),
                ("E 2:3", &["`9` has no `status`"]),
                ("E 2:3", &["`9` has no `name`"]),
            ],
        ),
    ];
    for (text, expected) in rows {
        let told = told(text.as_bytes());
        assert_eq!(told.len(), expected.len(), "{text}\n{told:#?}");
        for (told, (place, words)) in told.iter().zip(*expected) {
            assert!(told.starts_with(&format!("{place} ")), "{text}\n{told}\n{place}");
            words.iter().for_each(|words| assert!(told.contains(words), "{text}\n{told}\n{words}"));
        }
    }
}

#[test]
fn one_bad_intent_hides_no_other() {
    let text = format!("- [x]\n{GOOD}- {{id: A, name: {{}}, status: x}}\n- 7\n{GOOD}- {{id: B, name: B}}\n- {{id: [}}\n");
    let places: Vec<String> = told(text.as_bytes()).iter().map(|told| told.chars().take(5).collect()).collect();
    assert_eq!(places, ["E 1:3", "E 3:1", "E 3:2", "E 4:3", "E 5:8", "E 6:3", "E 7:8"], "{:#?}", told(text.as_bytes()));
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(told(b"- id: \xe4\n"), ["E 1:7 the byte 0xE4 is not valid UTF-8; save the file as UTF-8"]);
    assert_eq!(told(b"\xc3\xa4\n\xc3"), ["E 2:1 the byte 0xC3 is not valid UTF-8; save the file as UTF-8"]);
}

#[test]
fn messages_are_short_and_on_one_line() {
    let id = format!("- {{id: \"a\\n{}\", name: N, status: PLANNED, owned_scope: [a]}}", "x".repeat(10_000));
    let told = told(id.as_bytes());
    assert!(told.iter().all(|told| told.chars().count() < 500 && !told.contains('\n')), "{told:?}");
}

#[test]
fn json() {
    let told = serde_json::to_string(&diagnose(b"text").pop().unwrap()).unwrap();
    assert!(told.starts_with(r#"{"severity":"error","line":1,"column":1,"message":"this is text"#), "{told}");
}

/// Texts that would take a careless reader hours or gigabytes.
#[test]
fn hostile_texts_end_soon() {
    let entry = |n: usize| format!("- {{id: I{n}, name: N, status: x, owned_scope: ['../x', '['], y: 1}}\n");
    let many: String = (0..10_000).map(entry).collect();
    let long_list = format!("- &l [{}]\n", "a, ".repeat(30_000));
    let aliases: String = (0..10_000).map(|n| format!("- {{id: A{n}, name: N, status: PLANNED, constraints: *l}}\n")).collect();
    let laughs: String = (1..30).map(|n| format!("a{n}: &a{n} [{0}, {0}]\n", format!("*a{}", n - 1))).collect();
    let braces = "'{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}', ".repeat(20_000);
    for (text, said) in [
        (many, "more errors"),
        (format!("{long_list}{aliases}"), "too large at this point"),
        (format!("a0: &a0 [x]\n{laughs}active_intents: *a29\n"), "use fewer aliases"),
        ("active_intents: &a [*a]".to_owned(), "the list or map that it is in"),
        ("[".repeat(1 << 20), "too deeply"),
        ("{a: ".repeat(1 << 20), "too deeply"),
        ("- ".repeat(100_000), "too deeply"),
        ("? ".repeat(100_000), "too deeply"),
        ("a\n".repeat(1 << 19), "this is text"),
        ("- a\n".repeat(600_000), "too large at this point"),
        ("- 1\n".repeat(1 << 17), "more errors"),
        (format!("[{}]", "1, ".repeat(1 << 17)), "more errors"),
        (format!("- {{id: A, name: N, status: PLANNED, owned_scope: [{braces}]}}"), "fewer braces"),
    ] {
        let told = told(text.as_bytes());
        assert!(told.iter().any(|told| told.contains(said)), "{said}: {:?}", told.first());
        assert!(told.len() <= 1001);
    }
}

/// Pieces of intents and of YAML.
const PIECES: [&str; 40] = [
    "\n",
    "\n",
    "\n- ",
    "\n- id: A",
    "\n  ",
    "active_intents:",
    "id: ",
    "name: ",
    "status: ",
    "PLANNED",
    "owned_scope: ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ": ",
    "- ",
    "? ",
    "'",
    "\"",
    "&a ",
    "*a",
    "!x ",
    "!!int ",
    "!!null ",
    "~",
    "1.10",
    "true",
    "|",
    ">",
    "#",
    "---",
    "...",
    "ü",
    "\u{2028}",
    "\t",
    "../x",
    "\0",
    "constraints: ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    /// Whatever is in the file, reading it ends, every error has a position, and the position is in the text.
    #[test]
    fn positions_are_in_the_text(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24)) {
        let text = pieces.concat();
        let lines = u32::try_from(text.matches('\n').count()).unwrap() + 2;
        let reading = read(text.as_bytes());
        for found in &reading.diagnoses {
            prop_assert!(found.line.is_none_or(|line| (1..=lines).contains(&line)), "{:?} {}", text, found);
            prop_assert!(found.severity == Severity::Warning || found.line.is_some(), "{:?} {}", text, found);
        }
        prop_assert!(reading.refused.is_none() || reading.diagnoses.iter().any(|found| found.severity == Severity::Error));
    }
}
