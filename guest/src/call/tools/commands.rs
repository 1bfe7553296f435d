//! Tools that run commands.

use serde_json::{Map, Value};

use super::super::effect::{Deed, Footprint};
use super::super::path::{join, keeps, written};
use super::super::{CallFault, patch, shell};
use super::arguments::{plain, text};
use super::{Meaning, verbs};

/// Arguments that hold a command.
const COMMANDS: &[&str] = &["command", "cmd", "commandline", "commands"];

/// The same for a tool that may run other things than a shell's.
const SCRIPTS: &[&str] = &["script", "code"];

/// Arguments that say where it runs.
const WORK_FOLDERS: &[&str] = &["workdir", "cwd", "workingdirectory", "workingdir", "directory", "dirpath", "dir"];

impl Meaning<'_> {
    /// A tool that runs shell commands, and nothing else.
    pub(super) fn shell(&mut self, powershell: bool) -> Result<(), CallFault> {
        let shell = if powershell { Some("pwsh") } else { text(self.args, &["shell"])? };
        if self.carry_out(COMMANDS, shell)? == 0 {
            return Err(CallFault::Argument { name: "command".to_owned(), expected: "a string or a list of strings" });
        }
        Ok(())
    }

    /// A tool whose name says that it runs something.
    pub(super) fn run(&mut self, unclear: String) -> Result<(), CallFault> {
        let scripts = if verbs::speaks_shell(self.tool, self.args) { SCRIPTS } else { &[] };
        let ran = self.carry_out(&[COMMANDS, scripts].concat(), None)?;
        // What is neither a command nor a shell's is some other language.
        let other = self.args.keys().any(|name| scripts.is_empty() && SCRIPTS.contains(&plain(name).as_str()));
        if ran == 0 || other { self.unknown(unclear) } else { Ok(()) }
    }

    /// A tool that does something to files and may run a command as well. A single word is more likely a choice between
    /// the tool's own functions, unless its name speaks of running.
    pub(super) fn run_beside(&mut self) -> Result<(), CallFault> {
        let is_command = |value: &Value| value.as_str().is_none_or(|text| text.trim().contains(char::is_whitespace));
        let runs = verbs::speaks_of_running(self.tool);
        let held = |(name, value): (&String, &Value)| COMMANDS.contains(&plain(name).as_str()) && (runs || is_command(value));
        if self.args.iter().any(held) {
            self.carry_out(COMMANDS, None)?;
        }
        Ok(())
    }

    /// Takes in every command there is, and says how many.
    fn carry_out(&mut self, names: &[&str], shell: Option<&str>) -> Result<usize, CallFault> {
        let cwd = self.work_folder(WORK_FOLDERS)?;
        let mut commands = 0;
        for (argument, value) in self.args {
            if !names.contains(&plain(argument).as_str()) || value.is_null() {
                continue;
            }
            let footprint = match (value, arguments_beside(self.args), shell) {
                (Value::String(program), Some(words), _) => {
                    self.of_words([program.clone()].into_iter().chain(words).collect(), &cwd)?
                }
                (Value::String(command), None, Some(shell)) if !is_posix(shell) => {
                    self.of_words([shell, "-Command", command].map(str::to_owned).to_vec(), &cwd)?
                }
                (Value::String(command), None, _) => shell::footprint(command, &cwd, self.workspace),
                (Value::Array(words), _, _) => {
                    let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                    let invalid = || CallFault::Argument { name: argument.clone(), expected: "a string or a list of strings" };
                    self.of_words(words.ok_or_else(invalid)?, &cwd)?
                }
                _ => return Err(CallFault::Argument { name: argument.clone(), expected: "a string or a list of strings" }),
            };
            self.merge(footprint)?;
            commands += 1;
        }
        Ok(commands)
    }

    /// Codex runs `["apply_patch", "*** Begin Patch…"]` itself.
    fn of_words(&self, words: Vec<String>, cwd: &str) -> Result<Footprint, CallFault> {
        if let [program, text] = words.as_slice()
            && ["apply_patch", "applypatch"].contains(&program.as_str())
        {
            let mut inner = Meaning { found: Footprint::default(), ..*self };
            inner.add(patch::changes(text, patch::Dialect::Any)?, cwd)?;
            return Ok(inner.found);
        }
        Ok(shell::footprint_of_words(&words, cwd, self.workspace))
    }

    /// Paths out of a shell are a shell's: their characters are their own, but what they lead through still counts.
    fn merge(&mut self, mut footprint: Footprint) -> Result<(), CallFault> {
        let mut kept = Vec::new();
        for touch in footprint.touches {
            if !touch.deed.mutates() || touch.deed == Deed::Execute || keeps(&touch.path)? {
                kept.push(touch);
            }
        }
        footprint.touches = kept;
        self.found.merge(footprint);
        Ok(())
    }

    /// Where the call works: its own folder, and the one that an argument names in it.
    pub(super) fn work_folder(&self, names: &[&str]) -> Result<String, CallFault> {
        let cwd = self.cwd.unwrap_or(".");
        match text(self.args, names)? {
            None | Some("") => Ok(join("", cwd)),
            Some(folder) => Ok(written(folder, Some(cwd))?),
        }
    }
}

/// `{"command": "rm", "args": ["-rf", "x"]}`.
pub(super) fn arguments_beside(args: &Map<String, Value>) -> Option<Vec<String>> {
    let list = args.get("args").or_else(|| args.get("arguments"))?.as_array()?;
    list.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

pub(super) fn is_posix(shell: &str) -> bool {
    let name = shell.rsplit(['/', '\\']).next().unwrap_or(shell);
    ["", "sh", "bash", "zsh", "dash", "ksh", "ash"].contains(&name.strip_suffix(".exe").unwrap_or(name))
}
