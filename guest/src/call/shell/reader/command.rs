//! A simple command: its words, its redirections, its assignments.

use super::super::syntax::tree::{Assignment, Redirect, Simple, Word, WordPiece};
use super::ShellReader;
use super::arg::Arg;
use super::input::StandardInput;
use super::state::{ShellState, Value};
use super::walk::Outcomes;
use crate::effects::Access;

impl ShellReader<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, mut state: ShellState, input: &StandardInput) -> Outcomes {
        let args: Vec<Arg> = simple.words.iter().flat_map(|word| self.expand(word, &state)).collect();
        for _ in &args {
            self.step();
        }
        let mut input = input.clone();
        for redirect in &simple.redirects {
            self.redirect(redirect, &state, &mut input);
        }
        let Some(name) = args.first() else {
            if !simple.redirects.is_empty() && !simple.assignments.is_empty() {
                self.add_unknown("whether an assignment with a redirection happens is only known when it runs: `=`".to_owned());
            }
            for assignment in &simple.assignments {
                let value = self.expand_value(&assignment.value, &state);
                self.assign(&assignment.name, value, &mut state);
            }
            return Outcomes::either(vec![state]);
        };
        if let Arg::Known(name) = name {
            let rest = args.get(1..).unwrap_or_default();
            let prefixed = self.is_prefixed(name, &simple.assignments, &state);
            if let Some(outcomes) = self.builtin(name, rest, &state, &input, prefixed, !simple.redirects.is_empty()) {
                return outcomes;
            }
        }
        let mut inner = state.clone();
        for Assignment { name, value } in &simple.assignments {
            let value = self.expand_value(value, &state);
            self.export(name, Some(&value), &mut inner);
        }
        self.run_program(&args, &inner, &input);
        if !matches!(name, Arg::Known(_)) {
            state.forget_all();
        }
        Outcomes::either(vec![state])
    }

    /// Whether assignments precede a builtin, other than `IFS` before `read`: shells differ about whether such assignments
    /// persist.
    fn is_prefixed(&mut self, name: &str, assignments: &[Assignment], state: &ShellState) -> bool {
        for assignment in assignments {
            let value = self.expand_value(&assignment.value, state);
            if !(name == "read" && assignment.name == "IFS" && matches!(value, Value::Text(_))) {
                return true;
            }
        }
        false
    }

    /// Records a redirection, and updates what the command then reads.
    pub(super) fn redirect(&mut self, redirect: &Redirect, state: &ShellState, input: &mut StandardInput) {
        match redirect {
            Redirect::Duplicate => {}
            Redirect::Text(word) => *input = text_input(self.expand_value(word, state), "\n"),
            Redirect::Document(body) => {
                *input = match body.get() {
                    Some(word) => text_input(self.expand_value(word, state), ""),
                    None => StandardInput::Unknown,
                };
            }
            Redirect::Read(word) => {
                let target = self.target(word, state);
                self.touch(state, "<", &target, Access::Read);
                *input = if target.is_text("/dev/null") { StandardInput::Text(String::new()) } else { StandardInput::Unknown };
            }
            Redirect::Write(word) => {
                let target = self.target(word, state);
                self.touch(state, ">", &target, Access::Write);
                if target.is_text("") {
                    self.add_unknown("a redirection leads to ``, an empty name".to_owned());
                }
            }
        }
    }

    /// The single file of a redirection. Shells differ about wildcards and braces there.
    fn target(&mut self, word: &Word, state: &ShellState) -> Arg {
        let certain = !has_wildcard(word);
        match self.expand(word, state).as_slice() {
            [one] if certain && one.is_certain() => one.clone(),
            _ => Arg::Many(String::new()),
        }
    }
}

fn has_wildcard(word: &Word) -> bool {
    word.0.iter().any(|piece| {
        matches!(piece, WordPiece::Wildcard(_) | WordPiece::Bracket(_) | WordPiece::Braces(_) | WordPiece::Process(_))
    })
}

fn text_input(value: Value, end: &str) -> StandardInput {
    match value {
        Value::Text(text) => StandardInput::Text(text + end),
        _ => StandardInput::Unknown,
    }
}
