//! What really runs when a hook does: the program behind a name, the script that it reads, the interpreter of that.

use serde_json::Value;

use crate::digest::Digest;
use crate::json;
use crate::ports::{Facts, Kind, Ports, Question, Root};

/// Programs that run a file which they are given, or another program.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "node", "nodejs", "bun", "deno", "tsx", "ts-node", "python", "python2",
    "python3", "pypy3", "ruby", "perl", "php", "lua", "luajit", "Rscript", "julia", "pwsh", "env", "nice", "nohup", "timeout",
    "stdbuf", "time", "xargs", "npx", "make", "just",
];

/// Behind these a program finds its text in the next argument, not in a file.
const INLINE: &[&str] = &["-c", "-e", "-E", "-p", "-pe", "-ne", "--eval", "--print", "-r", "eval"];

/// Longer scripts are a mistake.
const MOST_SCRIPT: u64 = 16 << 20;

/// What the host said about the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Where the workspace stands.
    pub workspace: String,
    /// Where programs are looked for.
    pub path: Vec<String>,
}

/// What really runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The words that the host is given.
    pub argv: Vec<String>,
    /// Where the program is once every link is followed.
    pub real: String,
    /// The file of the workspace that is run: which word it is, where it stands, what is in it.
    pub script: Option<(usize, String, Digest)>,
    /// Other files of the workspace that the words name.
    pub files: Vec<(String, Digest)>,
}

impl Program {
    /// As it is hashed and shown.
    pub fn shown(&self) -> Value {
        let file = |(path, digest): &(String, Digest)| Value::from(vec![path.clone(), digest.to_string()]);
        let script = self.script.as_ref().map(|(_, path, digest)| file(&(path.clone(), *digest)));
        json::object(&mut [
            ("runs", self.argv.clone().into()),
            ("interpreter", self.real.as_str().into()),
            ("script", script.unwrap_or_default()),
            ("files", self.files.iter().map(file).collect()),
        ])
    }
}

/// Finds out what a command's words run; a text says why that cannot be told.
pub fn find(words: &[String], shell: bool, machine: &Machine, ports: &Ports) -> Result<Program, String> {
    let words: Vec<String> =
        if shell { ["sh", "-c"].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect() } else { words.to_vec() };
    let (name, arguments) = words.split_first().ok_or("it has no words")?;
    let found = located(name, machine, ports)?;
    if !found.is_own {
        return Ok(with_files(found, name, arguments, ports));
    }
    let digest = digest_of(&found.real, ports).ok_or_else(|| format!("`{name}` cannot be read"))?;
    let head = ports.workspace.read_range(Root::Project, &found.real, 0, 256).unwrap_or_default();
    let mut argv = Vec::new();
    let mut real = found.real.clone();
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
        let mut said = line.split_whitespace();
        let mut interpreter = said.next().unwrap_or_default();
        if interpreter.rsplit('/').next() == Some("env") {
            interpreter = said.find(|word| *word != "-S").unwrap_or_default();
        }
        let interpreter = located(interpreter, machine, ports)?;
        if interpreter.is_own {
            return Err(format!("the interpreter of `{name}` stands in the workspace itself; use one that is installed"));
        }
        real = interpreter.real;
        argv.push(interpreter.runs);
        argv.extend(said.map(str::to_owned));
    }
    let at = argv.len();
    argv.push(found.real.clone());
    argv.extend_from_slice(arguments);
    Ok(Program { argv, real, script: Some((at, found.real, digest)), files: Vec::new() })
}

/// A script's text, as far as it can be shown.
pub fn script_text(path: &str, ports: &Ports) -> Option<String> {
    const SHOWN: u64 = 16 << 10;
    ports.workspace.read_range(Root::Project, path, 0, SHOWN).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

struct Found {
    /// What is run.
    runs: String,
    /// Where that leads.
    real: String,
    /// Whether it stands in the workspace.
    is_own: bool,
}

/// The program of a name, as the operating system would find it.
fn located(name: &str, machine: &Machine, ports: &Ports) -> Result<Found, String> {
    let candidates: Vec<String> = if name.contains('/') {
        vec![name.to_owned()]
    } else {
        machine.path.iter().filter(|folder| is_absolute(folder)).map(|folder| format!("{folder}/{name}")).collect()
    };
    let questions: Vec<Question> = candidates.iter().map(Question::project).collect();
    let is_file = |(_, facts): &(String, Facts)| facts.kind == Kind::File;
    let (written, facts) = candidates.into_iter().zip(ports.workspace.inspect(&questions)).find(is_file).ok_or_else(|| {
        if machine.path.is_empty() {
            "the host did not say where programs are".to_owned()
        } else {
            format!("there is no program `{name}`")
        }
    })?;
    let real = facts.real_path.unwrap_or_default();
    let entry = facts.entry_path.unwrap_or_default();
    // Environments of a language are links; what a link in the workspace says is the workspace's word, so it is not taken.
    let runs = if is_absolute(&entry) && is_absolute(&written) { written } else { real.clone() };
    Ok(Found { runs, is_own: !is_absolute(&real), real })
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.get(1..2) == Some(":")
}

/// A program that is installed, with the files of the workspace that it is told to run.
fn with_files(found: Found, name: &str, arguments: &[String], ports: &Ports) -> Program {
    let mut argv = vec![found.runs];
    argv.extend_from_slice(arguments);
    let mut program = Program { argv, real: found.real, script: None, files: Vec::new() };
    let base = name.rsplit('/').next().unwrap_or(name).trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    if !INTERPRETERS.iter().any(|known| known.trim_end_matches(|last: char| last.is_ascii_digit()) == base) {
        return program;
    }
    let mut inline = false;
    for (at, argument) in arguments.iter().enumerate() {
        inline |= INLINE.contains(&argument.as_str());
        // A text for a shell may name files anywhere; what is no file is no file.
        let parts = argument.split(|part: char| part.is_whitespace() || "=;&|<>()'\"`$".contains(part));
        for part in parts.filter(|part| !part.is_empty() && part.len() < 1_000) {
            let Some((path, digest)) = file(part, ports) else { continue };
            if !inline && program.script.is_none() && part == argument {
                program.script = Some((at + 1, path, digest));
            } else {
                program.files.push((path, digest));
            }
        }
    }
    program
}

/// A file of the workspace.
fn file(path: &str, ports: &Ports) -> Option<(String, Digest)> {
    let question = Question { root: Root::Project, path: path.to_owned(), digest: true };
    let facts = ports.workspace.inspect(&[question]).into_iter().next()?;
    let real = facts.real_path.filter(|real| facts.kind == Kind::File && !is_absolute(real) && facts.size <= MOST_SCRIPT)?;
    Some((real, facts.digest?))
}

fn digest_of(path: &str, ports: &Ports) -> Option<Digest> {
    file(path, ports).map(|(_, digest)| digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::Memory;

    /// What runs, and which file of the workspace is checked for it.
    #[test]
    fn programs() {
        let world = Memory::new();
        let ports = world.ports();
        for outside in ["/usr/bin/node22", "/bin/sh", "/usr/bin/env", "/usr/bin/eslint", "/usr/bin/python3"] {
            world.write(outside, "binary");
        }
        world.symlink("/usr/bin/node22", "/usr/bin/node");
        world.write("hooks/a.js", "x");
        world.write("hooks/b.sh", "#!/bin/sh -e\n");
        world.write("hooks/c", "#!/usr/bin/env node\n");
        world.write("hooks/d", "\u{7f}ELF");
        world.write("hooks/evil", "#!hooks/d\n");
        world.symlink("/usr/bin/python3", "venv");
        let machine = Machine { workspace: "/w".into(), path: ["hooks", "/bin", "/usr/bin"].map(str::to_owned).to_vec() };
        let run = |words: &str, shell: bool| {
            let words: Vec<String> = if shell { vec![words.to_owned()] } else { words.split(' ').map(str::to_owned).collect() };
            match find(&words, shell, &machine, &ports) {
                Ok(Program { argv, real, script, files }) => {
                    let script = script.map_or(String::new(), |(at, path, _)| format!(" {at}={path}"));
                    let files: String = files.iter().map(|(path, _)| format!(" +{path}")).collect();
                    format!("{} ({real}){script}{files}", argv.join(" "))
                }
                Err(why) => why,
            }
        };
        for (words, expected) in [
            ("node hooks/a.js --x", "/usr/bin/node hooks/a.js --x (/usr/bin/node22) 1=hooks/a.js"),
            (
                "node --import ./hooks/a.js hooks/d",
                "/usr/bin/node --import ./hooks/a.js hooks/d (/usr/bin/node22) 2=hooks/a.js +hooks/d",
            ),
            ("node -e 1 hooks/a.js", "/usr/bin/node -e 1 hooks/a.js (/usr/bin/node22) +hooks/a.js"),
            ("env A=1 node hooks/a.js", "/usr/bin/env A=1 node hooks/a.js (/usr/bin/env) 3=hooks/a.js"),
            ("./hooks/b.sh q", "/bin/sh -e hooks/b.sh q (/bin/sh) 2=hooks/b.sh"),
            ("hooks/c", "/usr/bin/node hooks/c (/usr/bin/node22) 1=hooks/c"),
            ("hooks/d hooks/a.js", "hooks/d hooks/a.js (hooks/d) 0=hooks/d"),
            ("eslint hooks/a.js", "/usr/bin/eslint hooks/a.js (/usr/bin/eslint)"),
            ("./venv x", "/usr/bin/python3 x (/usr/bin/python3)"),
            ("hooks/evil", "the interpreter of `hooks/evil` stands in the workspace itself; use one that is installed"),
            ("nothing", "there is no program `nothing`"),
            ("./nothing", "there is no program `./nothing`"),
        ] {
            assert_eq!(run(words, false), expected, "{words}");
        }
        assert_eq!(
            run("cd x && ./hooks/b.sh;node 'hooks/a.js'", true),
            "/bin/sh -c cd x && ./hooks/b.sh;node 'hooks/a.js' (/bin/sh) +hooks/b.sh +hooks/a.js"
        );
    }
}
