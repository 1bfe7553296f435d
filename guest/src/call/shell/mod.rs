//! What a shell command does: the paths it touches, as far as its text tells for certain.
//!
//! The reader works from lists of what it knows exactly: constructs of the language, builtins, variables, programs and
//! their options. Everything else is *unknown*, with a reason; nothing is simulated and nothing is guessed. It serves early,
//! well-worded refusals and the ledger; it is not what keeps a hostile program in.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `syntax` | text to a typed tree, for the listed constructs only |
//! | `reader` | the tree followed along every way it can take |
//! | `programs` | one table: what each program does with its arguments |
//!
//! No library is used because none reads *less* than the whole language: a parser that understands everything still leaves
//! open what is known about each construct, and its tree would have to be checked against the same list.
//!
//! # What it relies on
//!
//! The environment that a command inherits is the user's own: no aliases, functions or options in it that change the listed
//! constructs, and a `PATH` in which the listed programs are found first. A variable that the command did not set itself has
//! an unknown value.

mod commands;
mod comments;
mod outline;
mod programs;
mod quote;
mod reader;
mod syntax;

#[cfg(test)]
mod tests;

pub use quote::quote;

use crate::effects::Footprint;
use crate::ports::Workspace;
pub use commands::{SimpleCommand, commands, commands_of_words};
pub use comments::ignores_comments;
pub use outline::outline;
use reader::ShellReader;
use reader::arg::Arg;
use reader::input::StandardInput;
use reader::state::ShellState;

/// What a Bash command line does, run in `cwd`: empty for the workspace's own folder, otherwise relative to it or absolute.
pub fn footprint(command: &str, cwd: &str, workspace: &dyn Workspace) -> Footprint {
    let mut reader = ShellReader::new(workspace);
    programs::note_sockets(&mut reader, command);
    reader.script(command, &ShellState::new(cwd), &StandardInput::Inherited);
    search_for_controls(&mut reader, command);
    reader.footprint()
}

/// What a command given as a list of arguments does. `["bash", "-lc", "…"]` leads into the shell.
pub fn footprint_of_words(argv: &[String], cwd: &str, workspace: &dyn Workspace) -> Footprint {
    let mut reader = ShellReader::new(workspace);
    argv.iter().for_each(|word| programs::note_sockets(&mut reader, word));
    let words: Vec<Arg> = argv.iter().map(Arg::known).collect();
    reader.run_program(&words, &ShellState::new(cwd), &StandardInput::Inherited);
    search_for_controls(&mut reader, &argv.join(" "));
    reader.footprint()
}

/// The command of a person's that a text spells out, in whatever language it is written.
pub fn control_in(text: &str) -> Option<String> {
    programs::control_in(text)
}

/// What cannot be read for certain is at least searched for commands that only a person may give.
fn search_for_controls(reader: &mut ShellReader<'_>, text: &str) {
    if reader.is_uncertain()
        && let Some(command) = programs::control_in(text)
    {
        reader.add_control(command);
    }
}
