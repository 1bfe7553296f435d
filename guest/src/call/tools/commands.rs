//! Tools that run commands.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::super::{CallFault, patch, shell};
use super::{FootprintBuilder, powershell, unfamiliar, verbs};
use crate::effects::path::{is_persistent, join, normalize};
use crate::effects::{Access, Footprint};
use crate::programs::{Act, ArgumentMeaning, Tool};

/// In how many folders a command is judged that several arguments would run elsewhere.
const MAX_FOLDERS: usize = 4;

/// A tool that runs what it is given, of which nothing else is known.
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

/// The same for a tool whose name says that it runs scripts for a shell.
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

/// What commands did that were judged already, each with its folder: readings of one call mostly agree about both.
pub(super) type Judged = RefCell<Vec<(String, String, Footprint)>>;

impl FootprintBuilder<'_> {
    /// A tool that runs shell commands, and nothing else.
    pub(super) fn shell(&mut self, tool: &Tool) -> Result<(), CallFault> {
        if self.carry_out(tool)? > 0 || self.args.iter().any(|(name, value)| self.is_stray_command(tool, name, value)) {
            return Ok(());
        }
        let name = tool.args.iter().find(|(_, kind)| matches!(kind, ArgumentMeaning::Command | ArgumentMeaning::Words));
        let name = name.map_or("command", |(name, _)| name).to_owned();
        Err(CallFault::Argument { name, expected: "a string or a list of strings" })
    }

    /// An unfamiliar tool whose name says that it runs something.
    pub(super) fn run(&mut self, unclear: String) -> Result<(), CallFault> {
        let runner = if verbs::speaks_shell(self.tool) { &SCRIPT_RUNNER } else { &RUNNER };
        if self.carry_out(runner)? == 0 {
            return self.record_unclear(unclear);
        }
        self.check_strays(&[runner])
    }

    /// Takes in every command there is, in every folder where it may run, and says how many there were.
    pub(super) fn carry_out(&mut self, tool: &Tool) -> Result<usize, CallFault> {
        let folders = self.folders(tool)?;
        let mut commands = 0;
        for (argument, value) in self.args {
            let kind = match tool.kind(argument) {
                // Still judged: what is out of scope is denied, not only doubted.
                None if self.is_stray_command(tool, argument, value) && value.is_string() => ArgumentMeaning::Command,
                Some(kind @ (ArgumentMeaning::Command | ArgumentMeaning::Words)) => kind,
                _ => continue,
            };
            if value.is_null() {
                continue;
            }
            commands += 1;
            for folder in &folders {
                let footprint = self.of_command(tool, argument, kind, value, folder)?;
                self.merge(footprint)?;
            }
        }
        Ok(commands)
    }

    fn of_command(
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
            (ArgumentMeaning::Command, Value::String(command)) => self.of_text(tool, command, cwd),
            (_, Value::String(command)) => {
                let mut found = self.of_text(tool, command, cwd)?;
                found.unknowns.push(mixed("a list of words"));
                Ok(found)
            }
            (_, Value::Array(words)) => {
                let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                let words = words.filter(|words| !words.is_empty()).ok_or_else(invalid)?;
                match kind {
                    ArgumentMeaning::Words => self.of_words(words, cwd),
                    _ => {
                        let mut found = Footprint::unknown(mixed("one text"));
                        found.controls.extend(shell::control_in(&words.join(" ")));
                        Ok(found)
                    }
                }
            }
            _ => Err(invalid()),
        }
    }

    /// A command as one text, by the shell that is to run it.
    pub(super) fn of_text(&self, tool: &Tool, command: &str, cwd: &str) -> Result<Footprint, CallFault> {
        if tool.act == Act::PowerShell {
            return Ok(powershell::footprint(command));
        }
        // zsh is close to the others, but not read: its patterns run code, its `cd` takes two words.
        for name in tool.arguments(ArgumentMeaning::Shell) {
            match self.args.get(name) {
                None | Some(Value::Null) => {}
                Some(Value::String(shell)) if is_posix(shell) && !shell.ends_with("zsh") => {}
                Some(Value::String(shell)) => {
                    let powershell = powershell::of_words(&[shell, "-Command", command].map(str::to_owned));
                    let other = || {
                        let mut found = Footprint::unknown(format!("`{shell}` may not be the shell that its name says"));
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

    /// Codex runs `["apply_patch", "*** Begin Patch…"]` itself.
    fn of_words(&self, words: Vec<String>, cwd: &str) -> Result<Footprint, CallFault> {
        if let [program, text] = words.as_slice()
            && ["apply_patch", "applypatch"].contains(&program.as_str())
        {
            let mut inner = FootprintBuilder { found: Footprint::default(), ..*self };
            inner.add(patch::changes(text, patch::PatchDialect::Any)?, cwd)?;
            return Ok(inner.found);
        }
        Ok(powershell::of_words(&words).unwrap_or_else(|| shell::footprint_of_words(&words, cwd, self.workspace)))
    }

    /// Paths out of a shell are a shell's: their characters are their own, but what they lead through still counts.
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

    /// Where the call works: the folder that the tool is told to take, or the call's own. A folder under a name that the
    /// tool does not have may be left out or obeyed, so both count.
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
                // `check_strays` says so.
                _ => {}
            }
        }
        Ok(folders)
    }

    /// Whether an argument that no tool of the call's name has is called as commands are.
    fn is_stray_command(&self, tool: &Tool, argument: &str, value: &Value) -> bool {
        self.is_stray(tool, argument) && !value.is_null() && unfamiliar::is_command(argument)
    }
}

/// Whether a command comes with a list of arguments: `{"command": "rm", "args": ["-rf", "x"]}`.
pub(super) fn has_arguments_beside(args: &Map<String, Value>) -> bool {
    ["args", "arguments"].iter().any(|name| args.get(*name).is_some_and(|value| !value.is_null()))
}

/// Whether a shell is one whose language is known, found by its name or where systems keep it.
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
