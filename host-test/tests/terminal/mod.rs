//! A person at a terminal, for commands that only a person may run.
//!
//! `script` simulates the terminal, outside the process tree of the tests and with its own environment: the tests may be started
//! by an agent program, and then no process below them counts as a person.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Ctrl-D at the beginning of a line, several times: each ends the input of one reader.
const END_OF_INPUT: &[u8] = &[4; 8];

/// A command and its working directory.
#[derive(Clone)]
pub struct PersonCommand {
    pub folder: PathBuf,
    pub words: Vec<String>,
    pub variables: Vec<(String, String)>,
    /// The typed input, one line for each question.
    pub input: &'static str,
    /// The shell command that runs it.
    pub wrapper: Vec<String>,
    /// The program that simulates the terminal.
    pub terminal: PathBuf,
}

impl PersonCommand {
    /// The command of this crate in a folder, with a yes to every question.
    pub fn new(folder: &Path, words: &[&str]) -> Self {
        let words = std::iter::once(env!("CARGO_BIN_EXE_tollgate")).chain(words.iter().copied()).map(str::to_owned).collect();
        let variables = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("TERM".to_owned(), "dumb".to_owned())];
        let terminal = PathBuf::from("/usr/bin/script");
        Self { folder: folder.to_owned(), words, variables, input: "y\ny\n", wrapper: Vec::new(), terminal }
    }

    pub fn with_variable(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.as_ref().to_str().unwrap().to_owned()));
        self
    }

    pub fn with_input(mut self, input: &'static str) -> Self {
        self.input = input;
        self
    }

    pub fn with_wrapper(mut self, words: &[&str]) -> Self {
        self.wrapper = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// The exit code, standard output and standard error, at a terminal.
    pub fn at_terminal(&self) -> (i32, String, String) {
        let temp = tempfile::tempdir().unwrap();
        let file = |name: &str| shell_quote(temp.path().join(name).to_str().unwrap());
        let set: Vec<String> = self.variables.iter().map(|(name, value)| shell_quote(&format!("{name}={value}"))).collect();
        let words: Vec<String> = self.wrapper.iter().chain(&self.words).map(|word| shell_quote(word)).collect();
        let text = format!(
            "cd {} && env -i {} {} >{} 2>{}; echo $? >{}",
            shell_quote(self.folder.to_str().unwrap()),
            set.join(" "),
            words.join(" "),
            file("out"),
            file("err"),
            file("code"),
        );
        let mut command = Command::new("/usr/bin/setsid");
        command.arg("-f").arg(&self.terminal).args(["-qec", &text, "/dev/null"]);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("TERM", "dumb");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // After the typed lines comes the key for the end of the input. The pipe stays open: if it were closed, `script` would wait two
        // seconds for somebody to read what was typed.
        let mut keyboard = child.stdin.take().unwrap();
        keyboard.write_all(self.input.as_bytes()).and_then(|()| keyboard.write_all(END_OF_INPUT)).unwrap();
        // It ends with the terminal, whose parent is not this process.
        let mut shown = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut shown).unwrap();
        drop(keyboard);
        child.wait().unwrap();
        let read = |name: &str| fs::read_to_string(temp.path().join(name)).unwrap_or_default();
        let code = read("code").trim().parse();
        let code = code.unwrap_or_else(|_| panic!("the terminal ended early: {}", String::from_utf8_lossy(&shown)));
        (code, read("out"), read("err"))
    }

    /// The same without a terminal.
    pub fn without_terminal(&self) -> (i32, String, String) {
        let mut words = self.wrapper.iter().chain(&self.words);
        let mut command = Command::new("/usr/bin/setsid");
        command.arg("--wait").arg(words.next().unwrap()).args(words).current_dir(&self.folder).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

/// Whether a test confirms in advance.
pub fn has_yes_flag(words: &[&str]) -> bool {
    words.contains(&"--yes")
}

fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
