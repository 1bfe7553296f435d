//! Decides whether comments can be appended to a command without changing what it does.
//!
//! Comments are put after a command and not before it, because the shell counts lines in its messages. Even there, a few commands
//! would notice, and nothing can be appended to a text that has no end.

use super::syntax;
use super::syntax::tree::CommandNode;

/// The longest command. A longer one could not be passed with its comments: the kernel limits one argument to 128 KiB.
const MAX_TEXT: usize = 48 << 10;

/// Names of whatever can observe the shell's own text, its process's arguments, its input, its history, or how a program ended.
const OBSERVERS: [&str; 14] = [
    "BASH_EXECUTION_STRING",
    "cmdline",
    "fc",
    "history",
    "htop",
    "kill",
    "killall",
    "pgrep",
    "pkill",
    "proc",
    "ps",
    "pstree",
    "top",
    "verbose",
];

/// Whether a POSIX shell that gets a command by `-c` does the same, prints the same and ends the same if comment lines follow the
/// command. There is one difference, visible only to a parent process: without comments, Bash replaces itself with a plain
/// program at the end of the command; with comments it does not, so a signal that ends the program is reported as 128 plus the
/// signal.
pub fn ignores_comments(command: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let unfit = command.len() > MAX_TEXT
        || command.trim_start().starts_with("#!")
        || command.contains(['\0', '\r'])
        || command.split(|c| !word(c)).any(|word| OBSERVERS.contains(&word))
        || is_verbose(command);
    !unfit && is_whole(command)
}

/// `set -v` prints the lines that are read.
fn is_verbose(command: &str) -> bool {
    let mut words = command.split_ascii_whitespace().skip_while(|word| !word.ends_with("set"));
    words.any(|word| word.starts_with(['-', '+']) && word.contains('v'))
}

/// Whether a line after the command begins a new command and is not part of a here-document, a quotation or a continued line.
/// Only text that can be parsed with certainty qualifies.
fn is_whole(command: &str) -> bool {
    const NEXT: &str = "tollgate";
    let certain =
        |text: &str| syntax::read(text, false).ok().filter(|script| script.doubts.is_empty()).map(|script| script.list.0);
    let (Some(chains), Some(mut ahead)) = (certain(command), certain(&format!("{command}\n{NEXT}"))) else { return false };
    let next = if ahead.len() == chains.len() + 1 { ahead.pop() } else { None };
    next.is_some_and(|chain| match chain.first.commands.as_slice() {
        [CommandNode::Simple(simple)] => matches!(simple.words.as_slice(), [word] if word.literal().as_deref() == Some(NEXT)),
        _ => false,
    })
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
            ("f() { ls; }", false),
            ("[[ -f x ]]", true),
            ("grep -r x .", true),
            ("cd x && make", true),
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
