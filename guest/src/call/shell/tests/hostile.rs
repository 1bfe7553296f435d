//! Input that is out to break the reader: it must come back, soon, and never with less than there is.

use std::time::{Duration, Instant};

use super::super::{MOST_TEXT, footprint};
use super::{spelled, workspace};

/// A sequence that is the same on every run.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap()
    }
}

#[test]
fn deep_and_long_input_is_not_followed() {
    let world = workspace();
    let nested = |open: &str, close: &str, times: usize| format!("{}rm a{}", open.repeat(times), close.repeat(times));
    let inputs = [
        nested("$(", ")", 10_000),
        nested("(", ")", 10_000),
        nested("( ", " )", 30),
        nested("((", "))", 1_000),
        nested("$((", "))", 1_000),
        nested("{ ", ";}", 10_000),
        nested("if ", "; then :; fi", 10_000),
        nested("while ", "; do :; done", 1_000),
        nested("case x in a) ", ";; esac", 1_000),
        nested("\"$(", ")\"", 1_000),
        nested("${x:-", "}", 10_000),
        nested("\"${x:-", "}\"", 10_000),
        nested("`", "`", 9_999),
        nested("<(", ")", 1_000),
        nested("coproc ", "", 30_000),
        nested("bash -c '", "'", 1),
        nested("! ", "", 1_000),
        nested("f() { ", "; }", 1_000),
        nested("a[", "]=1", 1_000),
        format!("[[ {} ]]", "! ".repeat(5_000)),
        format!("[[ {}x{} ]]", "( ".repeat(5_000), " )".repeat(5_000)),
        format!("[[ x {} ]]", "&& x ".repeat(5_000)),
        "{a,b}".repeat(50),
        "x".repeat(MOST_TEXT + 1),
        "rm a;".repeat(20_000),
        "a|".repeat(20_000),
        "for i in {1..200}; do for j in {1..200}; do rm $i$j; done; done".to_owned(),
        "f() { f; f; }; f".to_owned(),
        "f() { g; g; }; g() { f; f; }; f".to_owned(),
        format!("x=a; {}", "x=$x$x;".repeat(60)),
        format!("{} ; rm $a", "x && a=$a/b"),
        "true && ".repeat(3_000) + "rm a",
        "x && cd a; ".repeat(200) + "rm b",
        "\u{F0000}rm a".to_owned(),
        "rm \u{F0001}".to_owned(),
        "rm $'\\U110000' $'\\xff' $'\\".to_owned(),
        "${x:-${x:-${x:-".repeat(2_000),
        "$((".repeat(12) + &"x ".repeat(100_000),
        "echo {1..9223372036854775807} {a..z..0} {1..5..-9223372036854775808}".to_owned(),
        "~99999999999999999999999999/x > y".to_owned(),
        "x[99999999999999999999]=1 ${x:99999999999999999999999}".to_owned(),
        "<<".repeat(500),
        "cat <<A ".repeat(500),
        "\0\0\0".to_owned(),
        "rm a\0b".to_owned(),
    ];
    for input in inputs {
        let start = Instant::now();
        let found = footprint(&input, "", &*world);
        let shown: String = input.chars().take(40).collect();
        assert!(start.elapsed() < Duration::from_secs(4), "{shown}: {:?}", start.elapsed());
        assert!(found.touches.len() <= 4096, "{shown}");
    }
    for input in [nested("$(", ")", 100), nested("( ", " )", 100), nested("{ ", ";}", 100)] {
        assert!(!footprint(&input, "", &*world).unknowns.is_empty());
    }
}

#[test]
fn noise_never_panics() {
    let pieces = [
        "rm",
        " ",
        "a",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "${",
        "$((",
        "))",
        "`",
        "'",
        "\"",
        "\\",
        "<",
        ">",
        ">>",
        "<<",
        "<<<",
        "<<-",
        "EOF",
        "[[",
        "]]",
        "[",
        "]",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "case",
        "esac",
        "function",
        "f()",
        "!",
        "~",
        "*",
        "?",
        "=",
        "x=",
        "$x",
        "#",
        "é",
        "\u{0}",
        "1",
        "99999999999",
        "..",
        "{a,b}",
        "{1..3}",
        "@(",
        "$'",
        "$\"",
        "time",
        "coproc",
        "select",
        ";;",
        "cd",
        "eval",
        "sed -i",
        "git",
        "find . -exec",
        "xargs",
        "tar xf",
        "bash -c",
        ">&",
        "&>",
        "<(",
        ">(",
        "-",
        "--",
        "/",
        "+=",
        "[@]",
        ":-",
        "%",
        "##",
        "//",
        "^^",
    ];
    let world = workspace();
    let mut dice = Dice::new(7);
    for _ in 0..20_000 {
        let length = 1 + dice.below(24);
        let text: String = (0..length).map(|_| pieces[dice.below(pieces.len())]).collect();
        footprint(&text, "", &*world);
    }
}

#[test]
fn a_second_command_takes_nothing_away() {
    let commands = [
        "rm a",
        "cd src",
        "cd nowhere",
        "echo x > $F",
        "F=a",
        "rm $F",
        "for f in a b; do rm $f; done",
        "touch x*",
        "rm src/*/pay.ts",
        "git checkout main",
        "npm test",
        "f() { rm q; }",
        "f",
        "if x; then cd docs; fi",
        "(cd src; rm z)",
        "cp README.md d",
        "mkdir d",
        "tar xf a.tar",
        "eval \"$X\"",
        "exit 0",
        "set -- a b",
        "rm \"$1\"",
        "ls | xargs rm",
        "sed -i s/a/b/ f",
        "cat <<E > h\nx\nE",
        "true && rm t",
        "cd - && rm u",
        "rm() { :; }",
        "unset F",
        "while read l; do cd $l; done",
    ];
    let world = workspace();
    let mut dice = Dice::new(11);
    for _ in 0..3_000 {
        let mut line = commands[dice.below(commands.len())].to_owned();
        let mut before = spelled(&footprint(&line, "", &*world));
        for _ in 0..3 {
            line = format!("{line}\n{}", commands[dice.below(commands.len())]);
            let after = spelled(&footprint(&line, "", &*world));
            assert!(before.is_subset(&after), "{line}\n{before:?}\n{after:?}");
            before = after;
        }
    }
}
