//! `xargs`: a command whose last arguments are known only at run time.

use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;
use crate::call::shell::reader::input::StandardInput;

/// The longest input that is read word by word.
const MAX_INPUT: usize = 4_096;

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        flags: "0rtx",
        long: &["null", "no-run-if-empty", "verbose", "exit"],
        valued: &[
            ("n", ArgumentRole::Text),
            ("L", ArgumentRole::Text),
            ("P", ArgumentRole::Text),
            ("s", ArgumentRole::Text),
            ("I", ArgumentRole::Text),
            ("d", ArgumentRole::Text),
            ("a", ArgumentRole::Read),
            ("max-args", ArgumentRole::Text),
            ("max-lines", ArgumentRole::Text),
            ("max-procs", ArgumentRole::Text),
            ("delimiter", ArgumentRole::Text),
            ("arg-file", ArgumentRole::Read),
        ],
        ends_at_operand: true,
        operands: Operands::Rule,
        rule: Some(run_for_input),
        ..ProgramSpec::new(&["xargs", "gxargs"])
    },
    // These compose commands from text.
    ProgramSpec::unreadable(&["parallel", "sem", "env_parallel", "entr", "run-parts"]),
];

fn run_for_input(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.operands.is_empty() {
        return;
    }
    let mut command: Vec<Arg> = parsed.operands.iter().map(|arg| (*arg).clone()).collect();
    match parsed.values(&["I"]).last() {
        Some(place) => match place.text().filter(|place| !place.is_empty()) {
            Some(place) => command.iter_mut().for_each(|arg| replace(arg, place)),
            None => return reader.add_unknown(format!("where `{}` inserts what it reads cannot be determined", call.name)),
        },
        None => match known_words(call.input, parsed) {
            Some(words) => command.extend(words.into_iter().map(Arg::known)),
            None => command.push(Arg::Many(String::new())),
        },
    }
    // The command's own input is whatever is left, or nothing.
    reader.run_program(&command, call.state, &StandardInput::Unknown);
}

/// The words of the input, if they are certain and all passed to one command.
fn known_words<'i>(input: &'i StandardInput, parsed: &ParsedArguments<'_>) -> Option<Vec<&'i str>> {
    let StandardInput::Text(text) = input else { return None };
    let is_plain = text.len() <= MAX_INPUT && !text.contains(['\'', '"', '\\', '\0']) && text.is_ascii();
    let is_whole = parsed.options.iter().all(|(name, _)| matches!(name.as_str(), "r" | "t" | "no-run-if-empty" | "verbose"));
    (is_plain && is_whole).then(|| text.split([' ', '\t', '\n']).filter(|word| !word.is_empty()).collect())
}

/// Replaces a placeholder, which may be a part of a word, with an uncertain value.
fn replace(arg: &mut Arg, place: &str) {
    let start = match &*arg {
        Arg::Known(text) | Arg::Below(_, text) | Arg::One(text) | Arg::Many(text) => {
            text.split_once(place).map(|(start, _)| start)
        }
    };
    if let Some(start) = start {
        *arg = match arg {
            Arg::Known(_) | Arg::One(_) => Arg::One(start.to_owned()),
            Arg::Below(..) => Arg::One("/".to_owned()),
            Arg::Many(_) => Arg::Many(String::new()),
        };
    }
}
