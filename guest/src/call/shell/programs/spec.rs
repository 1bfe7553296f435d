//! Describes a program as data: the options whose meaning is known exactly, and what happens to each argument.
//!
//! A row says nothing about options that it does not list. A call is *unknown* if it has an unlisted option, an abbreviated
//! option, or an argument that may turn out to be an option, except for programs that only read whatever their options are
//! ([`ProgramSpec::lenient`]).
//!
//! Programs differ between GNU, BSD and busybox. A row lists an option only if its meaning is the same, or harmless, in all of
//! them; an option that takes a value only in some of them is not listed.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::super::reader::input::StandardInput;
use super::super::reader::state::ShellState;
use crate::effects::Access;

/// What a program does with one argument or with the value of one option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::call::shell) enum ArgumentRole {
    /// Not a path: a number, a pattern, a mode, text.
    Text,
    /// A path that is read. It need not be certain.
    Read,
    /// A path on which something is done. It must be certain.
    Path(Access),
    /// A file that is created, or whose times are changed.
    Stamp,
    /// A program or a script that is run.
    Script,
    /// A file that is rewritten, a folder whose files are rewritten, or a pattern that the program expands itself.
    Rewrite,
    /// Text that the program executes, in a language that is not analysed here.
    Code,
}

/// What a program does with its operands, the arguments that are not options.
#[derive(Debug, Clone, Copy)]
pub(in crate::call::shell) enum Operands {
    /// None are allowed; any operand makes the call unknown.
    None,
    /// All have the same role.
    All(ArgumentRole),
    /// The first ones have one role each, all others have the last role.
    Then(&'static [ArgumentRole], ArgumentRole),
    /// The program's rule interprets them.
    Rule,
}

/// Changes the meaning of the operands if one of these options is given.
#[derive(Debug, Clone, Copy)]
pub(in crate::call::shell) struct OperandOverride {
    /// Short options as one letter, long ones without their dashes.
    pub(super) when: &'static [&'static str],
    /// The meaning of the operands in that case.
    pub(super) operands: Operands,
}

/// Handles what the table cannot express. At this point options have been parsed, and the values of options have been recorded.
pub(in crate::call::shell) type Rule = fn(&mut ShellReader<'_>, &Invocation<'_>, &ParsedArguments<'_>);

/// One program, or several that take the same arguments.
#[derive(Debug, Clone, Copy)]
pub(in crate::call::shell) struct ProgramSpec {
    /// The names.
    pub(super) names: &'static [&'static str],
    /// Short options without a value, a letter each.
    pub(super) flags: &'static str,
    /// Long options without a value, without their dashes.
    pub(super) long: &'static [&'static str],
    /// Options that take a value, attached or as the next argument: one letter, or a long name without its dashes.
    pub(super) valued: &'static [(&'static str, ArgumentRole)],
    /// Options that take a value only where it is attached (`-iSUFFIX`, `--color=WHEN`).
    pub(super) attached: &'static [(&'static str, ArgumentRole)],
    /// Whether long options have a single dash, and letters are not combined (`find -name`).
    pub(super) single_dash: bool,
    /// Whether letters cannot be combined, because programs that combine them interpret some of them differently (`git log -pn`).
    /// A number is always separate (`-20`).
    pub(super) apart: bool,
    /// Whether options end at the first operand, as for programs that run another one.
    pub(super) ends_at_operand: bool,
    /// Options after which everything is an operand, as after `python3 -m`.
    pub(super) ends_behind: &'static [&'static str],
    /// What happens to operands.
    pub(super) operands: Operands,
    /// If one of the given options has an entry here, the first such entry applies instead of `operands`.
    pub(super) modes: &'static [OperandOverride],
    /// Whether every option of every version only reads, so that unlisted options change nothing.
    pub(super) lenient: bool,
    /// Whether the program does more than its arguments say, like a build tool: it is recorded as run, and unlisted options are
    /// not judged.
    pub(super) opaque: bool,
    /// Calls that only answer a question, with all their words (`--version`); `*` stands for any single word that is not an
    /// option.
    pub(super) answers: &'static [&'static str],
    /// Files in the working directory or a parent folder that change what even such a call does.
    pub(super) obeys: &'static [&'static str],
    /// Files in its working folder or a parent folder that say what the program runs. If the command itself writes one, that file
    /// is recorded as run, like a script.
    pub(super) scripts: &'static [&'static str],
    /// Why every other call is unknown, as the end of a sentence "`NAME` …".
    pub(super) refused: Option<&'static str>,
    /// Whether the program only runs another program, to which variables and options apply.
    pub(super) runs_another: bool,
    /// Whether some versions recognise options only before the first operand, and would write to what follows it.
    pub(super) options_first: bool,
    /// Whether its rule parses the arguments itself, because they do not follow the usual form (`find`, `tar`).
    pub(super) raw: bool,
    /// The rule for what the table cannot express.
    pub(super) rule: Option<Rule>,
}

impl ProgramSpec {
    /// A program without listed options and operands: any of them makes a call unknown.
    pub(super) const fn new(names: &'static [&'static str]) -> Self {
        Self {
            names,
            flags: "",
            long: &[],
            valued: &[],
            attached: &[],
            single_dash: false,
            apart: false,
            ends_at_operand: false,
            ends_behind: &[],
            operands: Operands::None,
            modes: &[],
            lenient: false,
            opaque: false,
            answers: &[],
            obeys: &[],
            scripts: &[],
            refused: None,
            runs_another: false,
            options_first: false,
            raw: false,
            rule: None,
        }
    }

    /// A program that does more than its arguments say. Options and operands that name output files are still listed.
    pub(super) const fn opaque(names: &'static [&'static str]) -> Self {
        Self { operands: Operands::All(ArgumentRole::Text), lenient: true, opaque: true, ..Self::new(names) }
    }

    /// A program that only reads, whatever its options and arguments. Not for a program with even one option, in any version,
    /// that writes or runs something.
    pub(super) const fn reader(names: &'static [&'static str]) -> Self {
        Self { operands: Operands::All(ArgumentRole::Read), lenient: true, ..Self::new(names) }
    }

    /// A program whose arguments only its rule can interpret.
    pub(super) const fn raw(names: &'static [&'static str], rule: Rule) -> Self {
        Self { operands: Operands::Rule, raw: true, rule: Some(rule), ..Self::new(names) }
    }

    /// A program for which no call is certain: it runs what is typed into it, or what it composes from its arguments.
    pub(super) const fn unreadable(names: &'static [&'static str]) -> Self {
        Self::raw(names, record_unreadable)
    }
}

fn record_unreadable(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    reader.add_unknown(format!("what `{}` does cannot be determined from its arguments", call.name));
}

impl ProgramSpec {
    /// A program whose effects cannot be determined from its arguments: "`NAME` …".
    pub(super) const fn refused(names: &'static [&'static str], why: &'static str) -> Self {
        Self { refused: Some(why), lenient: true, operands: Operands::Rule, ..Self::new(names) }
    }

    /// Whether a call only answers a question, judging by its words.
    pub(super) fn is_answer(&self, args: &[Arg]) -> bool {
        self.answers.iter().any(|answer| {
            let mut words = answer.split_whitespace();
            args.iter().all(|arg| match (words.next(), arg.text()) {
                (Some("*"), Some(word)) => !word.starts_with('-'),
                (Some(expected), Some(word)) => expected == word,
                _ => false,
            }) && words.next().is_none()
        })
    }
}

/// One call of a program.
#[derive(Clone, Copy)]
pub(in crate::call::shell) struct Invocation<'c> {
    /// The name without its folder.
    pub(in crate::call::shell) name: &'c str,
    /// The arguments after the name.
    pub(in crate::call::shell) args: &'c [Arg],
    /// The state of the shell that runs it.
    pub(in crate::call::shell) state: &'c ShellState,
    /// Its standard input.
    pub(in crate::call::shell) input: &'c StandardInput,
}

/// Arguments separated into options and operands.
#[derive(Debug, Default)]
pub(in crate::call::shell) struct ParsedArguments<'c> {
    /// The options in order, short ones as one letter, long ones without dashes, each with its value.
    pub(super) options: Vec<(String, Option<Arg>)>,
    /// The operands.
    pub(super) operands: Vec<&'c Arg>,
    /// How many of the options precede the first operand. Some versions take later options for operands.
    early: usize,
}

impl ParsedArguments<'_> {
    /// Whether one of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(given, _)| names.contains(&given.as_str()))
    }

    /// Whether one of these options is given at a position where every version recognises options.
    pub(super) fn has_early(&self, names: &[&str]) -> bool {
        self.options.iter().take(self.early).any(|(given, _)| names.contains(&given.as_str()))
    }

    /// Whether every option is at a position where every version recognises options.
    pub(super) fn is_ordered(&self) -> bool {
        self.operands.is_empty() || self.early == self.options.len()
    }

    /// The values given to these options, in order.
    pub(super) fn values<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = &'p Arg> {
        self.options.iter().filter(|(given, _)| names.contains(&given.as_str())).filter_map(|(_, value)| value.as_ref())
    }
}

/// Why a row does not cover a call, for a message: "`NAME` has an option …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::call::shell) enum Unlisted {
    /// An option that the row does not list, or lists with a different form.
    Option(String),
    /// An option without its value.
    NoValue(String),
    /// An argument that may be an option, or several words.
    Uncertain(String),
    /// An option after an operand, whose value is another operand in versions that recognise options only before operands.
    Late(String),
}

impl Unlisted {
    /// The message.
    pub(in crate::call::shell) fn reason(&self, program: &str) -> String {
        match self {
            Self::Option(option) => format!("`{program}` has the option `{option}`, whose effect is not known"),
            Self::NoValue(option) => format!("`{program}` has the option `{option}` without its value"),
            Self::Late(option) => {
                format!("`{program}` has the option `{option}` after its files, and may take it for one of them")
            }
            Self::Uncertain(arg) => format!("`{program}` has the argument `{arg}`, which is only known when it runs"),
        }
    }
}

impl ProgramSpec {
    /// The form of an option; `None` if the option is not listed.
    fn option(&self, name: &str) -> Option<OptionForm> {
        let find = |list: &[(&str, ArgumentRole)]| list.iter().find(|(listed, _)| *listed == name).map(|(_, role)| *role);
        if let Some(role) = find(self.valued) {
            return Some(OptionForm::Valued(role));
        }
        if let Some(role) = find(self.attached) {
            return Some(OptionForm::Attached(role));
        }
        let mut letters = name.chars();
        let is_flag = match (letters.next(), letters.next()) {
            (Some(letter), None) => self.flags.contains(letter),
            _ => self.long.contains(&name),
        };
        is_flag.then_some(OptionForm::Flag)
    }

    /// Separates the arguments. The values of options are returned with their roles; the caller has to record them.
    pub(super) fn parse<'c>(&self, args: &'c [Arg]) -> Result<(ParsedArguments<'c>, Vec<(ArgumentRole, Arg)>), Unlisted> {
        let mut parsed = ParsedArguments::default();
        let mut roles = Vec::new();
        if self.raw {
            return Ok((parsed, roles));
        }
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if parsed.operands.is_empty() {
                parsed.early = parsed.options.len();
            }
            match arg {
                Arg::Known(text) if text == "--" => {
                    parsed.operands.extend(rest);
                    break;
                }
                Arg::Known(text) if text.starts_with('-') && text != "-" => {
                    let left = rest.len();
                    match self.parse_option(text, &mut rest, &mut parsed, &mut roles) {
                        Err(Unlisted::Option(_)) if self.lenient => {}
                        Err(Unlisted::Uncertain(_)) if self.lenient && !self.opaque => {}
                        other => other?,
                    }
                    let is_late = self.options_first && rest.len() < left && !parsed.operands.is_empty();
                    if is_late && !roles.last().is_some_and(|(role, _)| matches!(role, ArgumentRole::Path(_))) {
                        return Err(Unlisted::Late(text.clone()));
                    }
                    if parsed.options.last().is_some_and(|(name, _)| self.ends_behind.contains(&name.as_str())) {
                        parsed.operands.extend(rest);
                        break;
                    }
                }
                // In `--format="$x"`, the option is certain and its value is one word.
                Arg::One(start) if start.starts_with("--") && start.contains('=') && !self.single_dash => {
                    let (name, _) = start.trim_start_matches('-').split_once('=').unwrap_or_default();
                    match self.option(name) {
                        Some(OptionForm::Valued(role) | OptionForm::Attached(role)) => {
                            parsed.options.push((name.to_owned(), Some(Arg::One(String::new()))));
                            roles.push((role, Arg::One(String::new())));
                        }
                        _ if self.lenient => {}
                        _ => return Err(Unlisted::Option(start.clone())),
                    }
                }
                arg if arg.may_be_option() && !self.lenient => return Err(Unlisted::Uncertain(arg.display())),
                arg => {
                    parsed.operands.push(arg);
                    if self.ends_at_operand {
                        parsed.operands.extend(rest);
                        break;
                    }
                }
            }
        }
        if parsed.operands.is_empty() {
            parsed.early = parsed.options.len();
        }
        Ok((parsed, roles))
    }

    fn parse_option<'c>(
        &self,
        text: &str,
        rest: &mut std::slice::Iter<'c, Arg>,
        parsed: &mut ParsedArguments<'c>,
        roles: &mut Vec<(ArgumentRole, Arg)>,
    ) -> Result<(), Unlisted> {
        let unlisted = || Unlisted::Option(text.to_owned());
        let long = if self.single_dash { text.strip_prefix('-') } else { text.strip_prefix("--") };
        if let Some(long) = long {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) if !self.single_dash || self.option(name).is_some() => (name, Some(Arg::known(value))),
                _ => (long, None),
            };
            let value = match (self.option(name).ok_or_else(unlisted)?, value) {
                // A long option with a one-letter name would be a short option.
                _ if name.chars().nth(1).is_none() && !self.single_dash => return Err(unlisted()),
                (OptionForm::Flag, None) | (OptionForm::Attached(_), None) => None,
                (OptionForm::Flag, Some(_)) => return Err(unlisted()),
                (OptionForm::Valued(role) | OptionForm::Attached(role), Some(value)) => Some((role, value)),
                (OptionForm::Valued(role), None) => Some((role, next_value(text, rest)?)),
            };
            parsed.options.push((name.to_owned(), value.as_ref().map(|(_, value)| value.clone())));
            roles.extend(value);
            return Ok(());
        }
        let is_number = text.chars().skip(1).all(|c| c.is_ascii_digit());
        for (at, letter) in text.char_indices().skip(1) {
            let behind = text.get(at + letter.len_utf8()..).unwrap_or_default();
            match self.option(letter.encode_utf8(&mut [0; 4])).ok_or_else(unlisted)? {
                OptionForm::Flag if self.apart && !behind.is_empty() && !is_number => return Err(unlisted()),
                OptionForm::Flag => parsed.options.push((letter.to_string(), None)),
                OptionForm::Attached(_) if behind.is_empty() => parsed.options.push((letter.to_string(), None)),
                OptionForm::Attached(role) | OptionForm::Valued(role) => {
                    let value = if behind.is_empty() { next_value(text, rest)? } else { Arg::known(behind) };
                    parsed.options.push((letter.to_string(), Some(value.clone())));
                    roles.push((role, value));
                    break;
                }
            }
        }
        Ok(())
    }

    /// The meaning of the operands, given the options.
    pub(super) fn operands_for(&self, parsed: &ParsedArguments<'_>) -> Operands {
        self.modes.iter().find(|mode| parsed.has(mode.when)).map_or(self.operands, |mode| mode.operands)
    }
}

/// Takes the next argument as an option's value: a single word with any content.
fn next_value(option: &str, rest: &mut std::slice::Iter<'_, Arg>) -> Result<Arg, Unlisted> {
    match rest.next() {
        None => Err(Unlisted::NoValue(option.to_owned())),
        Some(Arg::Many(start)) => Err(Unlisted::Uncertain(format!("{start}…"))),
        Some(value) => Ok(value.clone()),
    }
}

#[derive(Debug, Clone, Copy)]
enum OptionForm {
    Flag,
    Attached(ArgumentRole),
    Valued(ArgumentRole),
}
