//! What a shell command does: the paths it touches, as far as its text determines them with certainty.
//!
//! The reader works from lists of what it knows exactly: constructs of the language, builtins, variables, programs and their
//! options. Everything else is *unknown*, with a reason; nothing is simulated and nothing is guessed. The purpose is early,
//! well-worded refusals and the ledger; this is not what contains a hostile program.
//!
//! | module | content |
//! | --- | --- |
//! | `syntax` | parses text into a typed tree, for the listed constructs only |
//! | `reader` | follows the tree along every way that it can take |
//! | `programs` | one table of what each program does with its arguments |
//!
//! No library is used, because every library reads the *whole* language: a parser that understands everything still does not say
//! what is known about each construct, and its tree would have to be checked against the same list.
//!
//! # Assumptions
//!
//! The environment that a command inherits is the user's own: it contains no aliases, functions or options that change the listed
//! constructs, and its `PATH` finds the listed programs first. A variable that the command did not set itself has an unknown
//! value.

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

/// What a Bash command line does when it runs in `cwd`: empty for the workspace's root, otherwise relative to it or absolute.
pub fn footprint(command: &str, cwd: &str, workspace: &dyn Workspace) -> Footprint {
    let mut reader = ShellReader::new(workspace);
    programs::note_sockets(&mut reader, command);
    reader.script(command, &ShellState::new(cwd), &StandardInput::Inherited);
    search_for_controls(&mut reader, command);
    reader.footprint()
}

/// What a command given as a list of arguments does. `["bash", "-lc", "…"]` is read as a shell command.
pub fn footprint_of_words(argv: &[String], cwd: &str, workspace: &dyn Workspace) -> Footprint {
    let mut reader = ShellReader::new(workspace);
    argv.iter().for_each(|word| programs::note_sockets(&mut reader, word));
    let words: Vec<Arg> = argv.iter().map(Arg::known).collect();
    reader.run_program(&words, &ShellState::new(cwd), &StandardInput::Inherited);
    search_for_controls(&mut reader, &argv.join(" "));
    reader.footprint()
}

/// A command reserved for a person that a text spells out, in whatever language the text is written.
pub fn control_in(text: &str) -> Option<String> {
    programs::control_in(text)
}

/// Text that is not fully understood is at least searched for commands that only a person may run.
fn search_for_controls(reader: &mut ShellReader<'_>, text: &str) {
    if reader.is_uncertain()
        && let Some(command) = programs::control_in(text)
    {
        reader.add_control(command);
    }
}
