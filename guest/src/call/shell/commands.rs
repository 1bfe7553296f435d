//! Lists the programs that a command runs, with their words, as far as they are certain.

use super::reader::ShellReader;
use super::reader::arg::{Arg, Base};
use super::reader::input::StandardInput;
use super::reader::state::ShellState;
use crate::ports::Workspace;

/// A program and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The words as the shell would pass them; `None` for a word that is only known when the command runs. Paths below the home
    /// folder begin with `~`.
    pub words: Vec<Option<String>>,
    /// The folder in which it runs, as spelled in effects; `None` if that is not certain.
    pub cwd: Option<String>,
}

/// The programs that a command line runs.
pub fn commands(command: &str, cwd: &str, workspace: &dyn Workspace) -> Vec<SimpleCommand> {
    let mut reader = ShellReader::listing(workspace);
    reader.script(command, &ShellState::new(cwd), &StandardInput::Inherited);
    reader.into_commands()
}

/// The programs that a command given as a list of words runs.
pub fn commands_of_words(argv: &[String], cwd: &str, workspace: &dyn Workspace) -> Vec<SimpleCommand> {
    let mut reader = ShellReader::listing(workspace);
    let words: Vec<Arg> = argv.iter().map(Arg::known).collect();
    reader.run_program(&words, &ShellState::new(cwd), &StandardInput::Inherited);
    reader.into_commands()
}

impl SimpleCommand {
    pub(super) fn new(argv: &[Arg], state: &ShellState) -> Self {
        let word = |arg: &Arg| match arg {
            Arg::Known(text) => Some(text.clone()),
            Arg::Below(Base::Home, rest) => Some(format!("~{rest}")),
            Arg::Below(Base::Workspace, rest) => Some(format!(".{rest}")),
            Arg::One(_) | Arg::Many(_) => None,
        };
        Self { words: argv.iter().map(word).collect(), cwd: state.cwd.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    #[test]
    fn programs_are_listed_with_their_words() {
        let found = commands(r#"cd sub && git commit -m "a b" | tee "$x" ; sudo rm -rf ~/work"#, "", &*Memory::new());
        let shown: Vec<String> = found
            .iter()
            .map(|command| {
                let words: Vec<&str> = command.words.iter().map(|word| word.as_deref().unwrap_or("?")).collect();
                format!("{}: {}", command.cwd.as_deref().unwrap_or("?"), words.join(" "))
            })
            .collect();
        for expected in ["sub: git commit -m a b", "sub: tee ?", "sub: rm -rf ~/work"] {
            assert!(shown.iter().any(|shown| shown == expected), "{expected}: {shown:?}");
        }
    }
}
