//! `test` and `[`: determines which forms only read.
//!
//! `-v` evaluates the text after it, so every operator must be certain and in a position where it counts as one.

use super::arg::Arg;

const UNARY: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-z", "-L", "-O", "-G", "-S",
    "-N",
];
const BINARY: &[&str] = &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Whether the arguments form a test that only reads.
pub(super) fn is_certain(args: &[Arg]) -> bool {
    let is = |arg: &Arg, list: &[&str]| arg.text().is_some_and(|text| list.contains(&text));
    let one = |arg: &Arg| !matches!(arg, Arg::Many(_));
    match args {
        [] => true,
        [operand] => one(operand),
        [operator, operand] => one(operand) && is(operator, UNARY) || operator.is_text("!") && one(operand),
        [left, operator, right] if is(operator, BINARY) => one(left) && one(right),
        [not, rest @ ..] if not.is_text("!") => is_certain(rest),
        args => {
            // Several tests: both sides of the first certain connective.
            let connective = args.iter().position(|arg| is(arg, &["-a", "-o"]));
            let halves = connective.and_then(|at| Some((args.get(..at)?, args.get(at + 1..)?)));
            let all_known = args.iter().all(|arg| arg.text().is_some_and(|text| !matches!(text, "-v" | "-R" | "(" | ")")));
            all_known
                || halves.is_some_and(|(left, right)| {
                    args.len() < 16 && all_words_plain(args) && is_certain(left) && is_certain(right)
                })
        }
    }
}

/// Whether no operand could be taken for an operator or a parenthesis.
fn all_words_plain(args: &[Arg]) -> bool {
    args.iter().all(|arg| match arg {
        Arg::Known(_) | Arg::Below(..) => true,
        Arg::One(start) => !start.is_empty() && !start.starts_with(['-', '(', ')', '!']),
        Arg::Many(_) => false,
    })
}
