//! Tools that run commands.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::super::{CallFault, patch, shell};
use super::{FootprintBuilder, powershell, unfamiliar, verbs};
use crate::effects::path::{is_persistent, join, normalize};
use crate::effects::{Access, Footprint};
use crate::programs::{Act, ArgumentMeaning, Tool};

/// The most folders in which a command is judged if several arguments would run it elsewhere.
const MAX_FOLDERS: usize = 4;

/// A tool that runs what it is given and about which nothing else is known.
pub(super) static RUNNER: Tool = Tool {
    names: &[],
    act: Act::Shell,
    args: &[
        ("command", ArgumentMeaning::Command),
        ("cmd", ArgumentMeaning::Command),
        ("description", ArgumentMeaning::Text),
        ("explanation", ArgumentMeaning::Text),
        ("timeout", ArgumentMeaning::Number),
    ],
};

/// The same for a tool whose name says that it runs scripts in a shell.
static SCRIPT_RUNNER: Tool = Tool {
    names: &[],
    act: Act::Shell,
    args: &[
        ("command", ArgumentMeaning::Command),
        ("cmd", ArgumentMeaning::Command),
        ("script", ArgumentMeaning::Command),
        ("description", ArgumentMeaning::Text),
        ("explanation", ArgumentMeaning::Text),
        ("timeout", ArgumentMeaning::Number),
    ],
};

/// The footprints of commands that have already been judged, each with its folder: interpretations of one call mostly share both.
pub(super) type JudgedCommands = RefCell<Vec<(String, String, Footprint)>>;

impl FootprintBuilder<'_> {
    /// Judges a tool that only runs shell commands.
    pub(super) fn shell(&mut self, tool: &Tool) -> Result<(), CallFault> {
        if self.record_commands(tool)? > 0 || self.args.iter().any(|(name, value)| self.is_stray_command(tool, name, value)) {
            return Ok(());
        }
        let name = tool.args.iter().find(|(_, kind)| matches!(kind, ArgumentMeaning::Command | ArgumentMeaning::Words));
        let name = name.map_or("command", |(name, _)| name).to_owned();
        Err(CallFault::Argument { name, expected: "a string or a list of strings" })
    }

    /// Judges an unfamiliar tool whose name says that it runs something.
    pub(super) fn run(&mut self, unclear: String) -> Result<(), CallFault> {
        let runner = if verbs::suggests_shell(self.tool) { &SCRIPT_RUNNER } else { &RUNNER };
        if self.record_commands(runner)? == 0 {
            return self.record_unclear(unclear);
        }
        self.check_strays(&[runner])
    }

    /// Records every command, in every folder where it may run, and returns the number of commands.
    pub(super) fn record_commands(&mut self, tool: &Tool) -> Result<usize, CallFault> {
        let folders = self.folders(tool)?;
        let mut commands = 0;
        for (argument, value) in self.args {
            let kind = match tool.meaning_of(argument) {
                // It is still judged: what is out of scope is denied, not just reported as unknown.
                None if self.is_stray_command(tool, argument, value) && value.is_string() => ArgumentMeaning::Command,
                Some(kind @ (ArgumentMeaning::Command | ArgumentMeaning::Words)) => kind,
                _ => continue,
            };
            if value.is_null() {
                continue;
            }
            commands += 1;
            for folder in &folders {
                let footprint = self.judge_command(tool, argument, kind, value, folder)?;
                self.merge(footprint)?;
            }
        }
        Ok(commands)
    }

    fn judge_command(
        &self,
        tool: &Tool,
        argument: &str,
        kind: ArgumentMeaning,
        value: &Value,
        cwd: &str,
    ) -> Result<Footprint, CallFault> {
        let invalid = || CallFault::Argument { name: argument.to_owned(), expected: "a string or a list of strings" };
        let mixed = |expected: &str| {
            format!("`{argument}` of `{}` is not {expected}, so how it would be interpreted is not known", self.tool)
        };
        match (kind, value) {
            (ArgumentMeaning::Command, Value::String(command)) => self.judge_text(tool, command, cwd),
            (_, Value::String(command)) => {
                let mut found = self.judge_text(tool, command, cwd)?;
                found.unknowns.push(mixed("a list of words"));
                Ok(found)
            }
            (_, Value::Array(words)) => {
                let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                let words = words.filter(|words| !words.is_empty()).ok_or_else(invalid)?;
                match kind {
                    ArgumentMeaning::Words => self.judge_words(words, cwd),
                    _ => {
                        let mut found = Footprint::unknown(mixed("a single string"));
                        found.controls.extend(shell::control_in(&words.join(" ")));
                        Ok(found)
                    }
                }
            }
            _ => Err(invalid()),
        }
    }

    /// The footprint of a command given as a single string, depending on the shell that runs it.
    pub(super) fn judge_text(&self, tool: &Tool, command: &str, cwd: &str) -> Result<Footprint, CallFault> {
        if tool.act == Act::PowerShell {
            return Ok(powershell::footprint(command));
        }
        // zsh is similar to the other shells but is not analysed: its patterns can run code, and its `cd` accepts two words.
        for name in tool.arguments(ArgumentMeaning::Shell) {
            match self.args.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(shell)) if is_posix(shell) && !shell.ends_with("zsh") => {}
                Some(Value::String(shell)) => {
                    let powershell = powershell::footprint_of_words(&[shell, "-Command", command].map(str::to_owned));
                    let other = || {
                        let mut found = Footprint::unknown(format!("`{shell}` may not be the shell that its name suggests"));
                        found.controls.extend(shell::control_in(command));
                        found
                    };
                    return Ok(powershell.unwrap_or_else(other));
                }
                Some(_) => return Err(CallFault::Argument { name: name.to_owned(), expected: "a string" }),
            }
        }
        let known = |(text, folder, _): &&(String, String, Footprint)| text == command && folder == cwd;
        if let Some((_, _, footprint)) = self.judged.borrow().iter().find(known) {
            return Ok(footprint.clone());
        }
        let footprint = shell::footprint(command, cwd, self.workspace);
        self.judged.borrow_mut().push((command.to_owned(), cwd.to_owned(), footprint.clone()));
        Ok(footprint)
    }

    /// The footprint of a command given as a list of words. Codex handles `["apply_patch", "*** Begin Patch…"]` itself.
    fn judge_words(&self, words: Vec<String>, cwd: &str) -> Result<Footprint, CallFault> {
        if let [program, text] = words.as_slice()
            && ["apply_patch", "applypatch"].contains(&program.as_str())
        {
            let mut inner = FootprintBuilder { found: Footprint::default(), ..*self };
            inner.add(patch::changes(text, patch::PatchDialect::Any)?, cwd)?;
            return Ok(inner.found);
        }
        Ok(powershell::footprint_of_words(&words).unwrap_or_else(|| shell::footprint_of_words(&words, cwd, self.workspace)))
    }

    /// Paths from a shell may contain any characters, but what they lead through still counts.
    pub(super) fn merge(&mut self, mut footprint: Footprint) -> Result<(), CallFault> {
        let mut kept = Vec::new();
        for touch in footprint.touches {
            if !touch.access.mutates() || touch.access == Access::Execute || is_persistent(&touch.path)? {
                kept.push(touch);
            }
        }
        footprint.touches = kept;
        self.found.merge(footprint);
        Ok(())
    }

    /// The folders in which the call may work: the one that the tool is told to use, or the call's own. A folder under a name
    /// that the tool does not have may be ignored or obeyed, so both count.
    pub(super) fn folders(&self, tool: &Tool) -> Result<Vec<String>, CallFault> {
        let cwd = self.cwd.unwrap_or(".");
        let mut folders = vec![join("", cwd)];
        for name in tool.arguments(ArgumentMeaning::Folder) {
            match self.args.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(folder)) if folder.is_empty() => {}
                Some(Value::String(folder)) => folders = vec![normalize(folder, Some(cwd))?],
                Some(_) => return Err(CallFault::Argument { name: name.to_owned(), expected: "a string" }),
            }
        }
        for (_, value) in self.args.iter().filter(|(name, _)| self.is_stray(tool, name) && unfamiliar::is_folder(name)) {
            let folder = value.as_str().filter(|folder| !folder.is_empty());
            match folder.map(|folder| normalize(folder, Some(cwd))) {
                Some(Ok(folder)) if folders.contains(&folder) => {}
                Some(Ok(folder)) if folders.len() < MAX_FOLDERS => folders.push(folder),
                // `check_strays` reports that.
                _ => {}
            }
        }
        Ok(folders)
    }

    /// Whether an argument that no tool of this name has is named like a command.
    fn is_stray_command(&self, tool: &Tool, argument: &str, value: &Value) -> bool {
        self.is_stray(tool, argument) && !value.is_null() && unfamiliar::is_command(argument)
    }
}

/// Whether there is a list of arguments in addition to a command: `{"command": "rm", "args": ["-rf", "x"]}`.
pub(super) fn has_arguments_beside(args: &Map<String, Value>) -> bool {
    ["args", "arguments"].iter().any(|name| args.get(*name).is_some_and(|value| !value.is_null()))
}

/// Whether a shell's language is known, judging by its name or its usual location.
pub(super) fn is_posix(shell: &str) -> bool {
    const FOLDERS: [&str; 5] = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"];
    let name = match shell.rsplit_once('/') {
        Some((folder, name)) if FOLDERS.contains(&folder) => name,
        Some(_) => return false,
        None => shell,
    };
    ["sh", "bash", "zsh", "dash"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells() {
        for (shell, known) in [
            ("bash", true),
            ("/bin/sh", true),
            ("/usr/bin/zsh", true),
            ("src/auth/bash", false),
            ("./bash", false),
            ("/tmp/bash", false),
            ("/bin/../tmp/bash", false),
            ("/bin//bash", false),
            ("pwsh", false),
            ("fish", false),
            ("", false),
        ] {
            assert_eq!(is_posix(shell), known, "{shell}");
        }
    }
}
