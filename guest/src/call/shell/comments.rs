//! Whether comments behind a command change anything.
//!
//! They stand behind it and not before it because the shell counts lines in its messages. Even there a few commands would
//! notice, and some text has no end to put anything behind.

use brush_parser::ParserOptions;
use brush_parser::Token;
use brush_parser::ast::{AndOr, Command, CommandPrefixOrSuffixItem, Program, SeparatorOperator, SimpleCommand};

use super::value::holds_marks;
use super::words::Words;
use super::{MOST_TOKENS, lex};

/// A longer command could not be passed with its comments: the kernel takes 128 KiB in one argument.
const MOST_TEXT: usize = 48 << 10;

/// Names of what sees the shell's own text: its process's arguments, what it reads, its history.
const ONLOOKERS: [&str; 12] =
    ["BASH_EXECUTION_STRING", "cmdline", "fc", "history", "htop", "pgrep", "pkill", "proc", "ps", "pstree", "top", "verbose"];

/// What every shell runs in its own process.
const BUILTINS: [&str; 18] = [
    ":", "[", "cd", "echo", "exit", "export", "false", "hash", "printf", "pwd", "read", "readonly", "test", "true", "type",
    "umask", "unset", "wait",
];

/// Whether a POSIX shell that is given a command by `-c` does the same, prints the same and ends the same with lines of
/// comments behind the command.
pub fn ignores_comments(command: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let unfit = command.len() > MOST_TEXT
        || command.trim_start().starts_with("#!")
        || command.contains(['\0', '\r'])
        || holds_marks(command)
        || command.split(|c| !word(c)).any(|word| ONLOOKERS.contains(&word))
        || is_verbose(command);
    !unfit && parsed(command).is_some_and(|(program, words)| keeps_its_shell(&program, &words))
}

/// `set -v` prints the lines that are read.
fn is_verbose(command: &str) -> bool {
    let mut words = command.split_ascii_whitespace().skip_while(|word| !word.ends_with("set"));
    words.any(|word| word.starts_with(['-', '+']) && word.contains('v'))
}

/// The command's tree, if it is whole: a line behind it begins a new command, and is no part of a here-document, a quotation
/// or a line that goes on.
fn parsed(command: &str) -> Option<(Program, Words)> {
    const NEXT: &str = "tollgate";
    let (ahead, _) = lex::tokens(&format!("{command}\n{NEXT}")).ok()?;
    let apart = matches!(ahead.as_slice(), [.., Token::Operator(end, _), Token::Word(next, _)] if end == "\n" && next == NEXT);
    let (tokens, words) = lex::tokens(command).ok().filter(|(tokens, _)| apart && tokens.len() <= MOST_TOKENS)?;
    Some((brush_parser::parse_tokens(&tokens, &ParserOptions::default()).ok()?, words))
}

/// Whether the shell is still there when the last command ends. Bash puts a last plain program in its own place, but only
/// where nothing stands behind it, and a program that a signal ends is then reported in another way.
fn keeps_its_shell(program: &Program, words: &Words) -> bool {
    let Some(item) = program.complete_commands.last().and_then(|list| list.0.last()) else { return true };
    let pipeline = match item.0.additional.last() {
        Some(AndOr::And(pipeline) | AndOr::Or(pipeline)) => pipeline,
        None => &item.0.first,
    };
    match pipeline.seq.as_slice() {
        _ if matches!(item.1, SeparatorOperator::Async) || pipeline.bang || pipeline.timed.is_some() => true,
        [Command::Simple(simple)] => stays(simple, words),
        _ => true,
    }
}

fn stays(simple: &SimpleCommand, words: &Words) -> bool {
    let Some(name) = &simple.word_or_name else { return true };
    let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let mut items = prefix.chain(simple.suffix.iter().flat_map(|suffix| &suffix.0));
    BUILTINS.contains(&&*words.written(&name.value).0)
        || items.any(|item| matches!(item, CommandPrefixOrSuffixItem::IoRedirect(_)))
}

#[cfg(test)]
mod tests {
    use super::ignores_comments;

    #[test]
    fn commands() {
        for (command, expected) in [
            ("echo [[auth]]", true),
            ("test [[auth]]", true),
            ("[ -n [[auth]] ]", true),
            ("", true),
            ("# only [[auth]]", true),
            ("grep -r x . | head", true),
            ("cat <<EOF\n[[auth]]\nEOF", true),
            ("cat <<'EOF' > f\n[[auth]]\nEOF\n", true),
            ("for f in *; do cat \"$f\"; done", true),
            ("git log > out", true),
            ("sleep 1 &", true),
            ("! false", true),
            ("make && echo done", true),
            ("x=1", true),
            ("echo a \\\n  b", true),
            ("echo 'a\nb'", true),
            ("f() { ls; }", true),
            ("[[ -f x ]]", true),
            ("grep -r x .", false),
            ("cd x && make", false),
            ("echo a; sh -c 'kill $$'", false),
            ("echo a \\", false),
            ("echo 'a", false),
            ("echo \"a", false),
            ("cat <<EOF\n[[auth]]", false),
            ("cat <<EOF\n[[auth]]\nEOF ", false),
            ("echo $(", false),
            ("if true; then echo a", false),
            ("echo a &&", false),
            ("echo a |", false),
            ("{ echo a", false),
            ("#!/bin/sh\necho a", false),
            ("echo a\r\necho b", false),
            ("set -v; echo a", false),
            ("set -euv\necho a", false),
            ("set -o verbose; echo a", false),
            ("set -eu; echo a", true),
            ("ps aux | grep x", false),
            ("tr '\\0' ' ' < /proc/self/cmdline", false),
            ("echo $BASH_EXECUTION_STRING", false),
            ("pkill -f x; echo a", false),
            (&format!("echo {}", "x".repeat(60 << 10)), false),
        ] {
            assert_eq!(ignores_comments(command), expected, "{command}");
        }
    }
}
