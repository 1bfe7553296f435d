//! Parsing results, and texts that would cost a naive parser hours or gigabytes.

use proptest::prelude::*;

use super::*;

/// A tree on one line, each value after its position: `1:1{1:1a: 1:4[1:5b]}`. An unclosed list or map is shown with `…`.
fn shown(node: Node<'_>) -> String {
    let Mark { line, column } = node.mark();
    let end = |closing: &str| if node.is_whole() { closing.to_owned() } else { "…".to_owned() };
    let shown = match node.kind() {
        NodeKind::Null => "~".to_owned(),
        NodeKind::Text(text) => format!("{text:?}"),
        NodeKind::List(items) => format!("[{}{}", items.map(shown).collect::<Vec<_>>().join(", "), end("]")),
        NodeKind::Map(fields) => {
            let fields: Vec<_> = fields.map(|(key, value)| format!("{}: {}", shown(key), shown(value))).collect();
            format!("{{{}{}", fields.join(", "), end("}"))
        }
    };
    format!("{line}:{column}{shown}")
}

#[test]
fn trees() {
    for (text, expected) in [
        ("", "1:1~"),
        ("# nothing\n---\n", "2:4~"),
        ("a", r#"1:1"a""#),
        ("- a\n- [b, {c: d}]\n", r#"1:1[1:3"a", 2:3[2:4"b", 2:7{2:8"c": 2:11"d"}]]"#),
        ("a:\n  b: 1.10\n  c:\nd: ~", r#"1:1{1:1"a": 2:3{2:3"b": 2:6"1.10", 3:3"c": 3:4~}, 4:1"d": 4:4~}"#),
        ("a: x\na: y\n", r#"1:1{1:1"a": 1:4"x", 2:1"a": 2:4"y"}"#),
        ("? [k]\n: v\n", r#"1:1{1:3[1:4"k"]: 2:3"v"}"#),
        // Scalars stay as they are written, and only an empty scalar, `~` and `null` are null.
        (
            "[yes, 0x10, 1e3, null, Null, nULL, '~', \"\"]",
            r#"1:1[1:2"yes", 1:7"0x10", 1:13"1e3", 1:18~, 1:24~, 1:30"nULL", 1:36"~", 1:41""]"#,
        ),
        (
            "[!!str null, !!null x, ! ~, !mine ~, !mine [a], !!int 7]",
            r#"1:1[1:8"null", 1:21~, 1:26"~", 1:35~, 1:44[1:45"a"], 1:55"7"]"#,
        ),
        ("- |\n  a\n  b\n- >-\n  c\n  d\n", r#"1:1[2:3"a\nb\n", 5:3"c d"]"#),
        ("\"a\\n\\u00fc\": 'it''s'", r#"1:1{1:1"a\nü": 1:14"it's"}"#),
        // An alias and everything in it has the position of the alias.
        ("- &a [x, y]\n- *a\n- [*a]\n", r#"1:1[1:6[1:7"x", 1:10"y"], 2:3[2:3"x", 2:3"y"], 3:3[3:4[3:4"x", 3:4"y"]]]"#),
        ("- &a x\n- &b [*a]\n- &a y\n- *b\n- *a", r#"1:1[1:6"x", 2:6[2:7"x"], 3:6"y", 4:3[4:3"x"], 5:3"y"]"#),
        ("&k a: *k", r#"1:1{1:4"a": 1:7"a"}"#),
        // Byte order marks and line ends of other systems.
        ("\u{feff}- a\r\n- ü: b\r- c\r\n", r#"1:1[1:3"a", 2:3{2:3"ü": 2:6"b"}, 3:3"c"]"#),
        ("%YAML 1.2\n%TAG !e! tag:e,2000:\n---\na: !e!x b\n...\n# end\n", r#"4:1{4:1"a": 4:9"b"}"#),
    ] {
        let document = parse(text.as_bytes());
        assert_eq!(document.fault(), None, "{text:?}");
        assert_eq!(shown(document.root()), expected, "{text:?}");
    }
}

/// What is kept of a broken document, and what is wrong where.
#[test]
fn faults_say_where_and_what_to_do() {
    for (text, kept, place, words) in [
        (
            "a:\n  - {b: c}\n  - {d: [e\n",
            r#"1:1{1:1"a": 2:3[2:5{2:6"b": 2:9"c"}……"#,
            (3, 9),
            &["`[` is never closed", "add `]`"][..],
        ),
        ("- a\n- {b: [}\n", r#"1:1[1:3"a"…"#, (2, 7), &["`[` is closed by `}`", "by `]`"]),
        ("- [a]\n- [b]]\n", "1:1[1:3[1:4\"a\"]…", (2, 6), &["closes nothing", "remove it", "quotes"]),
        ("[],\n", "1:1[]", (1, 3), &["the YAML cannot be read"]),
        ("a: b\n  c: d\n", r#"1:1{1:1"a": 1:4"b c"…"#, (2, 4), &["a `:` is not allowed", "indentation", "quotes"]),
        ("a: b: c\n", r#"1:1{1:1"a": 1:4"b"…"#, (1, 5), &["quotes"]),
        ("- id: A\n  status PLANNED\n  name: x\n", r#"1:1[1:3{1:3"id": 1:7"A"……"#, (2, 3), &["no `:`", "`key: value`"]),
        ("- src/**\n- **/*.rs\n", r#"1:1[1:3"src/**"…"#, (2, 3), &["begins with `*`", "quotes"]),
        ("- @scope/x\n", "1:1[…", (1, 3), &["begin with `@`", "quotes"]),
        ("a:\n\t- b\n", r#"1:1{…"#, (2, 2), &["tab", "spaces"]),
        ("a: |\n\tb\n", r#"1:1{…"#, (1, 4), &["tab", "spaces"]),
        ("a\0b", "1:1~", (1, 2), &["U+0000", "remove it"]),
        ("- a\n---\n- b\n", r#"1:1[1:3"a"]"#, (2, 1), &["second document", "remove everything"]),
        ("- a\n...\nb\n", r#"1:1[1:3"a"]"#, (3, 1), &["second document"]),
        ("- &a [*a]\n", "1:1[1:6[……", (1, 7), &["list or map that it is in"]),
        ("- &a {b: [c, *a]}\n", r#"1:1[1:6{1:7"b": 1:10[1:11"c"………"#, (1, 14), &["list or map that it is in"]),
        ("a: \"b\nc: d\n", "1:1{…", (2, 1), &["quoted string", "close it"]),
        ("a: 'b", "1:1{…", (1, 4), &["quoted string", "close it"]),
    ] {
        let document = parse(text.as_bytes());
        let fault = document.fault().expect(text);
        assert_eq!((fault.mark.line, fault.mark.column), place, "{text:?} {fault:?}");
        assert_eq!(shown(document.root()), kept, "{text:?}");
        words.iter().for_each(|words| assert!(fault.message.contains(words), "{text:?} {fault:?}"));
    }
}

#[test]
fn bytes_that_are_not_text() {
    for (bytes, line, column, byte) in
        [(&b"- id: \xe4\n"[..], 1, 7, "0xE4"), (b"\xc3\xa4\r\n\xc3", 2, 1, "0xC3"), (b"\xff\xfea\0", 1, 1, "0xFF")]
    {
        let document = parse(bytes);
        let fault = document.fault().unwrap();
        assert_eq!((fault.mark, shown(document.root())), (Mark { line, column }, "1:1~".to_owned()));
        assert_eq!(fault.message, format!("the byte {byte} is not valid UTF-8; save the file as UTF-8"));
    }
}

#[test]
fn depth_is_bounded() {
    for (text, column) in [
        ("[".repeat(64) + "a" + &"]".repeat(64), None),
        ("[".repeat(65) + "a" + &"]".repeat(65), Some(65)),
        ("[".repeat(20_000), Some(65)),
        ("{a: ".repeat(20_000), Some(257)),
        ("- ".repeat(64) + "a", None),
        ("- ".repeat(65) + "a", Some(129)),
        ("- ".repeat(20_000), Some(129)),
        ("? ".repeat(20_000), Some(129)),
        ("- ".repeat(40) + &"[".repeat(25) + &"]".repeat(25), Some(105)),
    ] {
        let document = parse(text.as_bytes());
        let found = document.fault().map(|fault| (fault.mark, fault.message.contains("nested too deeply")));
        assert_eq!(found, column.map(|column| (Mark { line: 1, column }, true)), "{}", text.chars().take(90).collect::<String>());
    }
    // A chain of aliases counts as deep as the value that it stands for.
    let chain = |links: usize| -> String {
        let link = |n: usize| format!("- &a{n} [*a{}]\n", n - 1);
        "- &a0 x\n".to_owned() + &(1..=links).map(link).collect::<String>()
    };
    assert_eq!(parse(chain(63).as_bytes()).fault(), None);
    let text = chain(20_000);
    let document = parse(text.as_bytes());
    let fault = document.fault().unwrap();
    assert!(fault.mark.line == 65 && fault.message.contains("nested too deeply"), "{fault:?}");
}

/// The number of values that are visited when a tree is walked.
fn walked(node: Node<'_>) -> usize {
    1 + match node.kind() {
        NodeKind::Null | NodeKind::Text(_) => 0,
        NodeKind::List(items) => items.map(walked).sum(),
        NodeKind::Map(fields) => fields.map(|(key, value)| walked(key) + walked(value)).sum::<usize>(),
    }
}

/// Anything quadratic here would take hours.
#[test]
fn hostile_texts_end_soon() {
    let laughs: String = (1..30).map(|n| format!("a{n}: &a{n} [{0}, {0}]\n", format!("*a{}", n - 1))).collect();
    let long: String = (0..10_000).map(|_| "- *l\n").collect();
    let directives: String = (0..50_000).map(|n| format!("%TAG !a{n}! b\n")).collect();
    for (what, text, fault) in [
        ("a billion laughs", format!("a0: &a0 [x]\n{laughs}"), Some("fewer aliases")),
        ("a long list again and again", format!("- &l [{}]\n{long}", "a, ".repeat(30_000)), Some("fewer aliases")),
        ("a long text again and again", format!("- &l {}\n{long}", "a".repeat(1 << 20)), Some("fewer aliases")),
        ("many values", "- 1\n".repeat(600_000), Some("too large at this point")),
        ("many keys that are lists", "[a]: b\n".repeat(200_000), Some("too large at this point")),
        ("many anchors", (0..100_000).map(|n| format!("- &a{n} x\n")).collect(), None),
        ("many documents", "---\n".repeat(1 << 19), Some("second document")),
        ("many directives", directives, Some("the YAML cannot be read")),
        ("many tags", "!a ".repeat(1 << 19), Some("the YAML cannot be read")),
        ("a long tag", format!("!<{}", "%41".repeat(1 << 19)), Some("the YAML cannot be read")),
        ("a text that never ends", format!("\"{}", "\\\n".repeat(1 << 20)), Some("the YAML cannot be read")),
        ("a bracket that is never closed", format!("{{{}", "a ".repeat(1 << 20)), Some("never closed")),
        ("indentation", (0..3_000).map(|n| " ".repeat(n) + "a:\n").collect(), Some("nested too deeply")),
        ("a long word", "a".repeat(1 << 20), None),
        ("a long text", "a\n".repeat(1 << 20), None),
        ("a long block", format!("a: >\n{}", " x\n\n".repeat(1 << 19)), None),
        ("empty lines", format!("a: |\n{}", "\n".repeat(1 << 20)), None),
        ("comments", "#\n".repeat(1 << 20), None),
        ("blanks", " ".repeat(1 << 20), None),
        ("tabs", "\t".repeat(1 << 20), None),
        ("ends of documents", "...\n".repeat(1 << 19), None),
    ] {
        let document = parse(text.as_bytes());
        let found = document.fault().map(|fault| fault.message.as_str());
        assert_eq!(found.is_some(), fault.is_some(), "{what}: {found:?}");
        assert!(found.unwrap_or_default().contains(fault.unwrap_or_default()), "{what}: {found:?}");
        assert!(walked(document.root()) <= MAX_SIZE / 64, "{what}");
    }
}

/// Fragments of YAML with and without a meaning.
const PIECES: [&str; 44] = [
    "\n", "\n", "\n- ", "\n  ", "\n    ", "a", "b: ", "c:", "[", "]", "{", "}", ", ", ": ", "- ", "? ", "'", "\"", "\\", "&a ",
    "*a", "&b ", "*b", "!x ", "!!int ", "!!null ", "!<y> ", "~", "null", "1.10", "|", ">-", "#", " #", "---", "...", "%", "ü",
    "\u{2028}", "\t", "\r", "\0", "\u{feff}", "@",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    /// For any text, positions are in the text and in its order.
    #[test]
    fn positions_are_in_the_text(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24)) {
        let text = pieces.concat();
        let document = parse(text.as_bytes());
        let end = Mark::after(&text);
        if let Some(fault) = document.fault() {
            prop_assert!(fault.mark.line <= end.line + 1 && !fault.message.is_empty(), "{:?} {:?}", text, fault);
        }
        let mut last = Mark::START;
        let mut open = vec![document.root()];
        while let Some(node) = open.pop() {
            prop_assert!(node.mark().line <= end.line + 1, "{:?} {:?}", text, node.mark());
            // A list that is not indented begins after its first dash.
            prop_assert!(node.mark() >= last || matches!(node.kind(), NodeKind::Null), "{:?} {:?} {:?}", text, node.mark(), last);
            last = last.max(node.mark());
            let mut inner = match node.kind() {
                NodeKind::Null | NodeKind::Text(_) => Vec::new(),
                NodeKind::List(items) => items.collect(),
                NodeKind::Map(fields) => fields.flat_map(|(key, value)| [key, value]).collect(),
            };
            inner.reverse();
            open.extend(inner);
        }
    }
}
