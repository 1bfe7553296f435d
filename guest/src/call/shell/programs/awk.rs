//! `awk`: recognises programs that only print.
//!
//! The text is split into tokens, and a program is certain only if no token can open a file or run a command: no redirection of
//! `print`, no pipe, no `getline`, no `system`, nothing that loads code.

use super::pattern::{take_pattern, take_until};
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::{Arg, display};
use crate::call::shell::reader::state::Dialect;
use crate::effects::Access;

pub(super) const ROWS: &[ProgramSpec] = &[
    // Not listed: `-f`, because the program in the file is not available, and `-i`, which loads code.
    ProgramSpec {
        valued: &[("F", ArgumentRole::Text), ("v", ArgumentRole::Text)],
        long: &["version"],
        ends_at_operand: true,
        operands: Operands::Rule,
        rule: Some(scan),
        ..ProgramSpec::new(&["awk", "gawk", "mawk", "nawk"])
    },
];

fn scan(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some((program, files)) = parsed.operands.split_first() else {
        if !parsed.has(&["version"]) {
            reader.add_unknown(format!("`{}` has no program", call.name));
        }
        return;
    };
    match program.text() {
        None => reader.add_unknown(format!("the program of `{}` is only known when it runs", call.name)),
        Some(text) if !only_prints(text) => {
            reader.add_unknown(format!("the `{}` program `{}` may write a file or run a command", call.name, display(text)));
            // A file that is named explicitly can be refused with a good reason.
            let quoted =
                |start: &str| text.split_once(start).and_then(|(_, rest)| rest.split_once('"')).map(|(quoted, _)| quoted);
            if let Some(file) = quoted("> \"") {
                reader.touch(call.state, call.name, &Arg::known(file), Access::Write);
            }
            if let Some(command) = quoted("system(\"") {
                reader.script(command, &call.state.child(Dialect::Posix), call.input);
            }
        }
        Some(_) => {}
    }
    for file in files {
        reader.touch(call.state, call.name, file, Access::Read);
    }
}

/// The kind of the last token, as far as it determines what a slash or the end of a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastToken {
    /// Nothing, or a symbol after which a value begins.
    Mark,
    /// A value: a slash divides.
    Value,
    /// A closing parenthesis or `++`: a slash may either divide or begin a pattern.
    Either,
    /// A keyword: a slash may do either.
    Keyword,
}

/// Words after which a slash may begin a pattern.
const KEYWORDS: &[&str] = &[
    "print",
    "printf",
    "return",
    "else",
    "do",
    "in",
    "if",
    "while",
    "for",
    "delete",
    "exit",
    "next",
    "nextfile",
    "break",
    "continue",
    "case",
    "default",
    "switch",
    "function",
    "func",
    "BEGIN",
    "END",
    "BEGINFILE",
    "ENDFILE",
];

fn only_prints(text: &str) -> bool {
    scan_tokens(text).is_some()
}

/// Scans all tokens; `None` if one is not listed.
fn scan_tokens(text: &str) -> Option<()> {
    let mut rest = text;
    let mut last = LastToken::Mark;
    let mut printing = false;
    loop {
        let from = rest;
        let mut chars = rest.chars();
        let Some(c) = chars.next() else { return Some(()) };
        rest = chars.as_str();
        last = match c {
            ' ' | '\t' => continue,
            '#' => {
                let end = rest.find('\n').unwrap_or(rest.len());
                // In some versions, a backslash joins the next line to a comment.
                if rest.get(..end)?.ends_with('\\') {
                    return None;
                }
                rest = rest.get(end..)?;
                continue;
            }
            '\n' => {
                // After a comma or an operator, the statement continues.
                printing &= matches!(last, LastToken::Mark | LastToken::Keyword);
                LastToken::Mark
            }
            ';' | '}' => {
                printing = false;
                LastToken::Mark
            }
            '"' => {
                if take_until(&mut rest, '"')?.contains('\n') {
                    return None;
                }
                LastToken::Value
            }
            '/' => match last {
                LastToken::Mark => {
                    take_pattern(&mut rest, '/')?;
                    LastToken::Value
                }
                LastToken::Value => LastToken::Mark,
                // A pattern would need a second slash.
                LastToken::Either if !rest.contains('/') => LastToken::Mark,
                LastToken::Either | LastToken::Keyword => return None,
            },
            '>' if printing => return None,
            '|' => {
                rest = rest.strip_prefix('|')?;
                LastToken::Mark
            }
            '+' | '-' if rest.starts_with(c) => {
                rest = rest.strip_prefix(c)?;
                LastToken::Either
            }
            ')' => LastToken::Either,
            ']' => LastToken::Value,
            '(' | '{' | '[' | ',' | '!' | '~' | '<' | '>' | '=' | '+' | '-' | '*' | '%' | '^' | '?' | ':' | '$' | '&' => {
                LastToken::Mark
            }
            '0'..='9' | '.' => {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                // `1system("…")` and `0x1system("…")` are a number followed by a call.
                if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    return None;
                }
                LastToken::Value
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                match from.get(..from.len() - rest.len())? {
                    "system" | "getline" => return None,
                    word if KEYWORDS.contains(&word) => {
                        printing |= matches!(word, "print" | "printf");
                        LastToken::Keyword
                    }
                    _ => LastToken::Value,
                }
            }
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_print() {
        for text in [
            "{print $1}",
            "{print}",
            "$1 > 5 {print $2}",
            "$3 > 100",
            "{ if ($1 > 5) print $2 }",
            "/a|b/ {print}",
            "$0 ~ /x > y/ {print \"a > b | c\"}",
            "a || b {print}",
            "NR % 2 / 3 > 1",
            "{ print $1; if (a > b) x = 1 }",
            "# print > \"x\"\n{print}",
            "{s+=$5} END {print s}",
            "{s+=$5} END {print s/NR}",
            "BEGIN{FS=\":\"} {printf \"%s\\n\", $1}",
            "!seen[$0]++",
            "NR==1,NR==5",
            "/start/,/end/",
            "{sub(/[[:space:]]+$/, \"\"); print}",
            "{a[$1]++} END {for (k in a) print k, a[k]}",
            "END {print (a+b)/2}",
            "length($0) > 80",
            "NR>1{print $2}",
            "{print $NF}",
            "{ x = $1 > 3 ? 1 : 2; print x }",
        ] {
            assert!(only_prints(text), "{text}");
        }
    }

    #[test]
    fn programs_that_may_do_more() {
        for text in [
            "{print $1 > \"out\"}",
            "{print $1 >> \"out\"}",
            "{print ($1 > 5)}",
            "{print > $1}",
            "{print | \"sort\"}",
            "{print |& \"sh\"}",
            "BEGIN{system(\"ls\\nrm P\")}",
            "BEGIN{system (\"rm\")}",
            "BEGIN{\"date\" | getline d}",
            "BEGIN{while ((getline l < \"f\") > 0) print l}",
            "BEGIN{print /[(]/ > \"P\"}",
            "BEGIN{print \"x\" \\\n> \"P\"}",
            "{print $1,\n$2 > \"out\"}",
            "{print \"a\", # x\n 1 > \"P\"}",
            "BEGIN{x=1system(\"rm P\")}",
            "BEGIN{x=1.system(\"rm P\")}",
            "BEGIN{x=0x1system(\"rm P\")}",
            "BEGIN{x=1e5system(\"rm P\")}",
            "BEGIN{awk::system(\"rm P\")}",
            "/[/\"]/ {print > \"P\"} #\"/",
            "BEGIN{if (1) /\"/; print \"x\" > \"P\" #\"/\n}",
            "function f(x) { return /\"/ } BEGIN { print \"x\" > \"P\" #\"/\n}",
            "@include \"x\"",
            "@load \"x\"",
            "BEGIN{f=\"system\"; @f(\"rm\")}",
            "BEGIN{x++ /\"/; print \"x\" > \"P\" #\"/\n}",
            "{print $1 \"a\nb\"}",
            "BEGIN { printf(\"x\") > \"P\" }",
            "# a \\\n{print}",
        ] {
            assert!(!only_prints(text), "{text}");
        }
    }
}
