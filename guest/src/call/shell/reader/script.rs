//! Scripts of the workspace that a command runs. Their effects are detected afterwards, but commands in them that only a person
//! may run are found beforehand, as far as a script can be analysed.

use super::super::programs;
use super::ShellReader;
use super::arg::Arg;
use super::input::StandardInput;
use super::state::{Dialect, ShellState};
use crate::ports::{Facts, FileKind, Root};

/// The most scripts that are read for one command, including those that they run.
const MAX_SCRIPTS: usize = 16;

/// The longest script that is read, in bytes.
const MAX_BYTES: u64 = 128 << 10;

/// How many bytes of a bundle are searched for a word.
const MAX_SEARCHED: u64 = 1 << 20;

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::call::shell) enum Language {
    /// A shell's language.
    Shell(Dialect),
    /// Another language; such a script is only searched for words.
    Other,
    /// Given by the script's first line.
    FirstLine,
}

impl ShellReader<'_> {
    /// Searches a script that is run from a file.
    pub(in crate::call::shell) fn search_script(&mut self, state: &ShellState, file: &Arg, language: Language) {
        let Some(text) = self.text_of(state, file) else { return };
        let language = match language {
            Language::FirstLine => language_by_first_line(&text),
            language => language,
        };
        match language {
            Language::Shell(dialect) => self.search_shell(&text, &state.child(dialect)),
            _ => {
                if let Some(command) = programs::control_in(&text) {
                    self.add_unknown(format!("`{}` names `{command}`, which only a person may run", file.display()));
                }
            }
        }
    }

    /// Searches text that a shell runs.
    pub(in crate::call::shell) fn search_shell(&mut self, text: &str, state: &ShellState) {
        self.look_for_controls(|trial| {
            trial.script(text, state, &StandardInput::Unknown);
            if trial.is_uncertain()
                && let Some(command) = programs::control_in(text)
            {
                trial.add_control(command);
            }
        });
    }

    /// Whether a file of the workspace contains a word.
    pub(in crate::call::shell) fn mentions(&self, state: &ShellState, file: &Arg, word: &str) -> bool {
        let facts = self.facts(state, file).filter(|facts| facts.kind == FileKind::File);
        let Some(real) = facts.and_then(|facts| facts.real_path).filter(|real| !real.starts_with('/')) else { return false };
        let bytes = self.workspace.read_range(Root::Project, &real, 0, MAX_SEARCHED).unwrap_or_default();
        bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The text of a file, if it is short, belongs to the workspace, and was not changed by the command itself.
    pub(in crate::call::shell) fn text_of(&mut self, state: &ShellState, file: &Arg) -> Option<String> {
        let path = state.locate(file)?;
        if self.may_have_written(&path) {
            self.runs_own_text = true;
            return None;
        }
        let facts: Facts = self.facts(state, file)?;
        if facts.kind != FileKind::File || facts.size > MAX_BYTES || self.scripts >= MAX_SCRIPTS {
            return None;
        }
        self.scripts += 1;
        // The host does not hand over files outside the workspace.
        let real = facts.real_path.filter(|real| !real.starts_with('/'))?;
        let bytes = self.workspace.read(Root::Project, &real, MAX_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }
}

/// The language given by `#!/bin/sh` or `#!/usr/bin/env bash`; a file without such a line is run by the shell that starts it.
fn language_by_first_line(text: &str) -> Language {
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return Language::Shell(Dialect::Posix);
    };
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let mut program = words.next().unwrap_or_default();
    if program == "env" {
        program = words.find(|word| !word.starts_with('-') && !word.contains('=')).unwrap_or_default();
    }
    match program {
        "bash" | "rbash" | "zsh" => Language::Shell(Dialect::Bash),
        "sh" | "dash" | "ksh" | "ash" | "mksh" => Language::Shell(Dialect::Posix),
        _ => Language::Other,
    }
}
