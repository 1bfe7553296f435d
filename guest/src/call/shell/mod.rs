//! Shell commands: what a command line or an argument list does to files.

use super::effect::Footprint;
use crate::ports::Workspace;

/// What a command line does when it runs in `cwd`.
pub fn footprint(command: &str, _cwd: &str, _workspace: &dyn Workspace) -> Footprint {
    Footprint::unknown(format!("what the command `{command}` does is not known"))
}

/// What a program does when it is run with these arguments in `cwd`.
pub fn footprint_of_words(argv: &[String], _cwd: &str, _workspace: &dyn Workspace) -> Footprint {
    Footprint::unknown(format!("what the command `{}` does is not known", argv.join(" ")))
}
