//! Shells: text that is given to a shell is analysed like the command itself.

use super::super::reader::ShellReader;
use super::super::reader::arg::{Arg, display};
use super::super::reader::input::StandardInput;
use super::super::reader::script::Language;
use super::super::reader::state::Dialect;
use super::background::read_as_it_runs;
use super::interpreters::run_file;
use super::spec::{Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::effects::{Access, Persistence};

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
        operands: Operands::Rule,
        lenient: true,
        answers: &["--version", "--help"],
        rule: Some(shell),
        ..ProgramSpec::new(&["bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "rbash"])
    },
    ProgramSpec::refused(
        &["fish", "csh", "tcsh", "nu", "xonsh", "elvish", "pwsh", "powershell", "powershell.exe", "cmd", "cmd.exe"],
        "is a shell whose language is not supported",
    ),
];

/// Options of shells that do not change how text is read: single letters, combined in any order.
const SHELL_LETTERS: &str = "celsuvx";

/// Long options of Bash that do not change how text is read.
const SHELL_LONG: &[&str] = &["--login", "--noprofile", "--norc"];

/// What may follow `-o`.
const SHELL_SETTINGS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace"];

fn shell(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let (mut text, mut input) = (false, false);
    let mut rest = call.args;
    if let [first, file] = rest
        && first.is_text("-n")
        && !file.may_be_option()
        && !file.is_text("-")
    {
        return reader.touch(call.state, call.name, file, Access::Read);
    }
    while let Some((option, after)) = rest.split_first() {
        if !option.may_be_option() && !option.text().is_some_and(|text| text == "-" || text.starts_with('+')) {
            break;
        }
        let known = option.text().unwrap_or_default();
        rest = after;
        if known == "--" {
            break;
        }
        if SHELL_LONG.contains(&known) && call.name == "bash" {
            continue;
        }
        let Some(letters) = known.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return record_unlisted_option(reader, call, option);
        };
        let (letters, setting) = letters.strip_suffix('o').map_or((letters, false), |letters| (letters, true));
        if !letters.chars().all(|letter| SHELL_LETTERS.contains(letter)) {
            return record_unlisted_option(reader, call, option);
        }
        text |= letters.contains('c');
        input |= letters.contains('s');
        if setting {
            match rest.split_first() {
                Some((name, after)) if name.text().is_some_and(|name| SHELL_SETTINGS.contains(&name)) => rest = after,
                _ => return record_unlisted_option(reader, call, option),
            }
        }
    }
    match rest.first() {
        Some(script) if text => match script.text() {
            Some(script) => read_shell(reader, call, script, call.input),
            None => reader.add_unknown(format!("`{} -c` runs text that is only known when it runs", call.name)),
        },
        None if text => {}
        Some(file) if !input => {
            run_file(reader, call, file);
            let dialect = if is_bash(call.name) { Dialect::Bash } else { Dialect::Posix };
            reader.search_script(call.state, file, Language::Shell(dialect));
        }
        _ => match call.input {
            StandardInput::Text(script) => read_shell(reader, call, script, &StandardInput::Unknown),
            StandardInput::Inherited | StandardInput::Unknown => read_as_it_runs(reader, call),
        },
    }
}

fn record_unlisted_option(reader: &mut ShellReader<'_>, call: &Invocation<'_>, option: &Arg) {
    // This includes `-i`, with which the shell reads what is typed.
    if *call.input == StandardInput::Inherited {
        reader.record_persistence(Persistence::Interactive);
    }
    reader.add_unknown(format!("`{}` has the option `{}`, whose effect is not known", call.name, option.display()));
}

fn is_bash(name: &str) -> bool {
    matches!(name, "bash" | "rbash" | "zsh")
}

fn read_shell(reader: &mut ShellReader<'_>, call: &Invocation<'_>, text: &str, input: &StandardInput) {
    let dialect = if is_bash(call.name) { Dialect::Bash } else { Dialect::Posix };
    if call.name == "zsh" && !means_the_same_in_zsh(text) {
        reader.add_unknown(format!("`{}` may mean something else in zsh than in Bash", display(text)));
    }
    reader.script(text, &call.state.child(dialect), input);
}

/// Whether a text means the same in zsh. Zsh does not split the values of variables, has qualifiers after patterns, `=name` for
/// the path of a program, and modifiers of its own before a command.
fn means_the_same_in_zsh(text: &str) -> bool {
    const WORDS: &[&str] =
        &["-", "always", "autoload", "emulate", "foreach", "nocorrect", "noglob", "repeat", "setopt", "unsetopt", "zmodload"];
    const SETTERS: &[&str] = &["for", "printf", "read", "select"];
    let bare = without_quotes(text);
    let words = || bare.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c));
    let assigns =
        |word: &str| word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    let splits = bare.contains('$') && words().any(|word| SETTERS.contains(&word) || assigns(word));
    let mut before = ' ';
    let has_qualifier = bare.chars().any(|c| {
        let found = c == '(' && (before.is_alphanumeric() || "*?])}.".contains(before));
        before = c;
        found
    });
    let has_word = words().any(|word| WORDS.contains(&word) || word.starts_with('='));
    !(splits || has_qualifier || has_word || bare.contains(">!") || bare.contains(">&!"))
}

/// The text without its quoted parts; an unclosed quotation extends to the end.
fn without_quotes(text: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        match quote {
            _ if escaped => escaped = false,
            Some(open) => {
                escaped = open == '"' && c == '\\';
                // The value of a variable is split only outside quotes, so `$` matters only there.
                if c == open {
                    quote = None;
                }
            }
            None => match c {
                '\\' => escaped = true,
                '"' | '\'' => quote = Some(c),
                c => out.push(c),
            },
        }
    }
    out
}
