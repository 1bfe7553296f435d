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

/// So are longer commands.
const MOST_WORDS: usize = 256;

/// What the host said about the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Where the workspace stands.
    pub workspace: String,
    /// Where programs are looked for.
    pub path: Vec<String>,
}

impl Machine {
    /// What the host says. Programs are looked for neither in the workspace nor wherever one happens to be.
    pub fn new(workspace: &str, path: impl Iterator<Item = String>) -> Self {
        let mut machine = Self { workspace: workspace.trim_end_matches('/').to_owned(), path: Vec::new() };
        let installed = |folder: &String| {
            let below = folder.strip_prefix(machine.workspace.as_str());
            let within =
                !machine.workspace.is_empty() && below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
            machine.is_absolute(folder) && !within
        };
        let path = path.filter(installed).collect();
        machine.path = path;
        machine
    }

    /// The folders of programs as a variable of the environment.
    pub fn path_variable(&self) -> String {
        self.path.join(if self.has_drives() { ";" } else { ":" })
    }

    fn has_drives(&self) -> bool {
        self.workspace.get(1..2) == Some(":")
    }

    fn is_absolute(&self, path: &str) -> bool {
        path.starts_with('/') || self.has_drives() && path.get(1..2) == Some(":")
    }
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
    /// Whether it decides when it runs what else it reads and runs, so that nobody can vouch for it.
    pub is_unchecked: bool,
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
            ("unchecked", self.is_unchecked.into()),
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
        return with_files(found, arguments, machine, ports);
    }
    let (_, digest) = file(&found.real, machine, ports)?.ok_or_else(|| format!("`{name}` cannot be read"))?;
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
    Ok(Program { argv, real, script: Some((at, found.real, digest)), files: Vec::new(), is_unchecked: false })
}

/// A script's text, if it can be shown and is what was hashed.
pub fn script_text(path: &str, digest: Digest, ports: &Ports) -> Option<String> {
    const SHOWN: u64 = 16 << 10;
    let bytes = ports.workspace.read(Root::Project, path, SHOWN).ok()?;
    String::from_utf8(bytes).ok().filter(|text| Digest::of(text.as_bytes()) == digest)
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
        machine.path.iter().map(|folder| format!("{folder}/{name}")).collect()
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
    let outside = machine.is_absolute(&entry) && machine.is_absolute(&written);
    let runs = if outside { written } else { real.clone() };
    Ok(Found { runs, is_own: !machine.is_absolute(&real), real })
}

/// A program that is installed, with the files of the workspace that it is told to run.
fn with_files(found: Found, arguments: &[String], machine: &Machine, ports: &Ports) -> Result<Program, String> {
    let base = |path: &str| {
        let base = path.rsplit('/').next().unwrap_or(path);
        base.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.').to_owned()
    };
    // Whatever a link calls it, it is what it leads to.
    let names = [base(&found.runs), base(&found.real)];
    let is_interpreter = INTERPRETERS.iter().any(|known| names.contains(&base(known)));
    let mut argv = vec![found.runs];
    argv.extend_from_slice(arguments);
    let mut program = Program { argv, real: found.real, script: None, files: Vec::new(), is_unchecked: true };
    if !is_interpreter {
        return Ok(program);
    }
    let (mut inline, mut looked_at) = (false, 0);
    for (at, argument) in arguments.iter().enumerate() {
        inline |= INLINE.contains(&argument.as_str());
        // A text for a shell may name files anywhere; what is no file is no file, and what it writes it does not run.
        let separates = |part: char| part.is_whitespace() || "=;&|<>()'\"`$".contains(part);
        let mut written = false;
        for piece in argument.split_inclusive(separates) {
            let part = piece.trim_end_matches(separates);
            let is_target = written && !part.is_empty();
            written = piece.ends_with('>') || written && part.is_empty();
            if part.is_empty() || is_target || part.len() >= 1_000 {
                continue;
            }
            looked_at += 1;
            if looked_at > MOST_WORDS {
                return Err(format!("it has more than {MOST_WORDS} words; put them into a script"));
            }
            let Some((path, digest)) = file(part, machine, ports)? else { continue };
            if !inline && program.script.is_none() && part == argument {
                program.script = Some((at + 1, path, digest));
                program.is_unchecked = false;
            } else if !program.files.iter().any(|(known, _)| *known == path) {
                program.files.push((path, digest));
            }
        }
    }
    Ok(program)
}

/// A file of the workspace; none where there is none. What nobody can vouch for is refused.
fn file(path: &str, machine: &Machine, ports: &Ports) -> Result<Option<(String, Digest)>, String> {
    let look = |digest| {
        let question = Question { root: Root::Project, path: path.to_owned(), digest };
        ports.workspace.inspect(&[question]).into_iter().next()
    };
    // A large file is not hashed only to be refused.
    let Some(facts) = look(false).filter(|facts| facts.kind == Kind::File) else { return Ok(None) };
    let (Some(real), Some(entry)) = (facts.real_path, facts.entry_path) else { return Ok(None) };
    match (machine.is_absolute(&real), machine.is_absolute(&entry)) {
        (true, true) => return Ok(None),
        (true, false) => return Err(format!("`{path}` leads out of the workspace, so nobody can vouch for it")),
        (false, _) if facts.size > MOST_SCRIPT => return Err(format!("`{path}` is larger than {} MiB", MOST_SCRIPT >> 20)),
        (false, _) => {}
    }
    let digest = look(true).and_then(|facts| facts.digest).ok_or_else(|| format!("`{path}` cannot be read"))?;
    Ok(Some((real, digest)))
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
        world.symlink("/usr/bin/python3", "py");
        world.write("c:x.sh", "x");
        world.write("x:/run", "x");
        world.symlink("/usr/bin/eslint", "hooks/out.sh");
        let machine = Machine::new("/w", ["hooks", "/w/bin", "/bin", "/usr/bin"].into_iter().map(str::to_owned));
        assert_eq!(machine.path, ["/bin", "/usr/bin"]);
        let run = |words: &str, shell: bool| {
            let words: Vec<String> = if shell { vec![words.to_owned()] } else { words.split(' ').map(str::to_owned).collect() };
            match find(&words, shell, &machine, &ports) {
                Ok(Program { argv, real, script, files, is_unchecked }) => {
                    let script = script.map_or(String::new(), |(at, path, _)| format!(" {at}={path}"));
                    let files: String = files.iter().map(|(path, _)| format!(" +{path}")).collect();
                    format!("{} ({real}){script}{files}{}", argv.join(" "), if is_unchecked { " ?" } else { "" })
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
            ("node -e 1 hooks/a.js", "/usr/bin/node -e 1 hooks/a.js (/usr/bin/node22) +hooks/a.js ?"),
            ("env A=1 node hooks/a.js", "/usr/bin/env A=1 node hooks/a.js (/usr/bin/env) 3=hooks/a.js"),
            ("./hooks/b.sh q", "/bin/sh -e hooks/b.sh q (/bin/sh) 2=hooks/b.sh"),
            ("hooks/c", "/usr/bin/node hooks/c (/usr/bin/node22) 1=hooks/c"),
            ("hooks/d hooks/a.js", "hooks/d hooks/a.js (hooks/d) 0=hooks/d"),
            ("eslint hooks/a.js", "/usr/bin/eslint hooks/a.js (/usr/bin/eslint) ?"),
            ("./venv x", "/usr/bin/python3 x (/usr/bin/python3) ?"),
            ("hooks/evil", "the interpreter of `hooks/evil` stands in the workspace itself; use one that is installed"),
            ("./py hooks/a.js", "/usr/bin/python3 hooks/a.js (/usr/bin/python3) 1=hooks/a.js"),
            ("sh c:x.sh", "/bin/sh c:x.sh (/bin/sh) 1=c:x.sh"),
            ("./x:/run", "x:/run (x:/run) 0=x:/run"),
            ("sh hooks/out.sh", "`hooks/out.sh` leads out of the workspace, so nobody can vouch for it"),
            ("node hooks/without", "/usr/bin/node hooks/without (/usr/bin/node22) ?"),
            ("nothing", "there is no program `nothing`"),
            ("./nothing", "there is no program `./nothing`"),
        ] {
            assert_eq!(run(words, false), expected, "{words}");
        }
        let writes = "./hooks/b.sh > hooks/a.js 2>>hooks/d";
        assert_eq!(run(writes, true), format!("/bin/sh -c {writes} (/bin/sh) +hooks/b.sh ?"));
        assert_eq!(
            run("cd x && ./hooks/b.sh;node 'hooks/a.js'", true),
            "/bin/sh -c cd x && ./hooks/b.sh;node 'hooks/a.js' (/bin/sh) +hooks/b.sh +hooks/a.js ?"
        );
    }
}
