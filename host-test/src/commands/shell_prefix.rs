//! `tollgate 'COMMAND'`, as Claude Code runs it if `CLAUDE_CODE_SHELL_PREFIX` is set to this program: commands of the model run
//! confined, those of hooks and MCP servers do not.
//!
//! The call's id is not known here. The gate's stored answer is found by session and command.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tollgate::{governing_workspace, state_folder};
use tollgate_guest::confine::evidence::{EvidenceKey, key_of_command};
use tollgate_guest::programs::shell_prefix::{AGENT, SESSION, VARIABLE, shell_call};

use super::confine::{Options, become_command, run_words, unconfined_command};

/// The shell for commands, unless the user's own is one that Claude Code supports.
const SHELL: &str = "bash";
const SHELLS: [&str; 2] = ["bash", "zsh"];

/// The command, if Claude Code runs this program. `is_known` says whether a word is a subcommand of this program.
pub(crate) fn command_to_run(words: &[OsString], is_known: impl Fn(&str) -> bool) -> Option<String> {
    let [_, given] = words else { return None };
    env::var_os(VARIABLE)?;
    let given = given.to_str()?;
    let is_ours = !given.contains(char::is_whitespace) && (given.is_empty() || given.starts_with('-') || is_known(given));
    (!is_ours).then(|| given.to_owned())
}

/// Runs the command. Returns only if it was not run.
pub(crate) fn run(given: &str) -> ExitCode {
    let agent = env::var(AGENT).ok();
    let words = |shell: &str, command: &str| [shell, "-c", command].map(OsString::from).to_vec();
    let Some(call) = shell_call(given, agent.as_deref()) else { return become_command(unconfined_command(&words("sh", given))) };
    let shell = env::var("SHELL").ok().filter(|shell| SHELLS.iter().any(|name| Path::new(shell).ends_with(name)));
    let shell = shell.as_deref().unwrap_or(SHELL);
    let session = env::var(SESSION).unwrap_or_default();
    let key = key_of_command(&call.command);
    let here = env::current_dir().ok();
    let Some(root) = here.and_then(|here| governing_workspace(&here)).or_else(|| workspace_of(&session, &key)) else {
        return become_command(unconfined_command(&words(shell, given)));
    };
    let options = Options {
        session: Some(session),
        call: Some(key),
        workspace: Some(root),
        command: words(shell, &call.command),
        ..Options::default()
    };
    run_words(&options, &words(shell, given), call.folder_file.map(PathBuf::from))
}

/// The workspace whose gate has ruled on a command, for an agent outside of it.
fn workspace_of(session: &str, key: &str) -> Option<PathBuf> {
    /// At most this many workspaces are searched.
    const MAX_WORKSPACES: usize = 1_000;
    let states = state_folder(Path::new("/"), None, None).ok()?.parent()?.to_owned();
    let file = EvidenceKey::of_call(session, key);
    let states = fs::read_dir(states).ok()?.filter_map(Result::ok).take(MAX_WORKSPACES);
    let state = states.map(|entry| entry.path()).find(|state| state.join(file.path()).is_file())?;
    Some(PathBuf::from(fs::read_to_string(state.join("workspace")).ok()?.trim_end_matches('\n')))
}
