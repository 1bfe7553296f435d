//! What a shell command does: the paths it touches, as far as its text tells.
//!
//! The text is read by Bash's own grammar, never split on blanks, and then followed along every way it can take: the
//! working directory through `cd`, variables through assignments and loops, shells in shells, prefix commands, and what
//! each known program does with its arguments.
//!
//! | what runs | what is entered |
//! | --- | --- |
//! | a program that is known to read | nothing, or a read |
//! | a program whose arguments say what it changes | those paths |
//! | a program whose effects cannot be seen (`npm test`, a script) | [`Deed::Execute`](super::effect::Deed::Execute) at the script, or at the working directory |
//! | text that is only known when it runs (`eval "$x"`, `curl … \| sh`) | an unknown, with its reason |
//!
//! When in doubt a writer is taken to write more, and a reader is left alone.
//!
//! Paths come out as the shell would pass them to the kernel: joined to the working directory, `..` left in place for the
//! host to walk. A path in the user's home begins with `~/`; a file whose name begins with a tilde is spelled `./~…`.
//!
//! # What it does not do
//!
//! It evaluates no arithmetic, reads no file's content, and does not look into scripts. The environment that the command
//! inherits is not known to it: a variable that the command never set has an unknown value.

mod braces;
mod builtins;
mod comments;
mod condition;
mod documents;
mod flags;
mod grammar;
mod lex;
mod names;
mod parameter;
mod pieces;
mod programs;
mod scan;
mod simple;
mod trace;
mod tree;
mod value;
mod walk;
mod word;
mod words;
mod world;

#[cfg(test)]
mod tests;

use std::rc::Rc;

use super::effect::Footprint;
use crate::ports::Workspace;
pub use comments::ignores_comments;
use trace::{Input, Trace};
use value::{Arg, holds_marks, shown};
use walk::{Place, Worlds};
use word::Expansion;
use world::World;

/// Longer text is not read.
const MOST_TEXT: usize = 256 * 1024;
/// More tokens are not parsed.
const MOST_TOKENS: usize = 40_000;

/// What a Bash command line does, run in `cwd`: empty for the workspace's own folder, otherwise relative to it or absolute.
pub fn footprint(command: &str, cwd: &str, workspace: &dyn Workspace) -> Footprint {
    let mut trace = Trace::new(workspace);
    trace.text(command, vec![World::new(cwd)], &Input::Inherited);
    trace.footprint()
}

/// What a command given as a list of arguments does. `["bash", "-lc", "…"]` leads into the shell.
pub fn footprint_of_words(argv: &[String], cwd: &str, workspace: &dyn Workspace) -> Footprint {
    let mut trace = Trace::new(workspace);
    if argv.iter().any(|word| holds_marks(word)) {
        return Footprint::unknown("the command holds characters that no command holds");
    }
    let mut args = argv.iter().map(Arg::plain);
    if let Some(name) = args.next() {
        let args: Vec<Arg> = args.collect();
        trace.invoke_program(&name, &args, World::new(cwd), &Input::Inherited);
    }
    trace.footprint()
}

impl Trace<'_> {
    /// Follows text that a shell would read.
    fn text(&mut self, text: &str, worlds: Worlds, input: &Input) -> Worlds {
        if text.len() > MOST_TEXT {
            self.unknown(format!("`{}` is too long to be read", shown(text.get(..40).unwrap_or_default())));
            return Vec::new();
        }
        if holds_marks(text) {
            self.unknown(format!("`{}` is only known when it runs, or holds characters that no command holds", shown(text)));
            return Vec::new();
        }
        let read = lex::tokens(text).map_err(|fault| fault.to_string()).and_then(|(tokens, words)| {
            if tokens.len() > MOST_TOKENS {
                return Err("it has too many words".to_owned());
            }
            let list = grammar::parse(&tokens).ok_or_else(|| "it does not parse".to_owned())?;
            Ok((list, Rc::new(words)))
        });
        match read {
            Ok((list, words)) => self.deeper(|trace| trace.list(&list, worlds, Place { words: &words, input })),
            Err(why) => {
                self.unknown(format!("`{}` cannot be read as Bash: {why}", shown(text)));
                Vec::new()
            }
        }
    }

    /// What a command substitution comes to, where its output is certain.
    fn substitution(&mut self, command: &str, world: &World) -> Expansion {
        self.said = None;
        let stdin = self.stdin.clone();
        let after = self.apart(|trace| trace.text(command, vec![world.clone()], &stdin));
        self.stdin = stdin;
        // Only one simple command: with several, what is printed is not put together here.
        let said = self.said.take().filter(|_| after.len() == 1 && is_one_command(command));
        said.map_or_else(Expansion::unknown, |said| Expansion::Text(said.trim_end_matches('\n').to_owned()))
    }
}

/// Whether text is plainly a single command.
fn is_one_command(text: &str) -> bool {
    lex::tokens(text)
        .is_ok_and(|(tokens, _)| tokens.iter().all(|token| matches!(token, lex::Token::Word(_) | lex::Token::Descriptor(_))))
}
