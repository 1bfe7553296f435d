//! Resolves what a hook really runs: the program behind a name, the script with the files beside it, and its
//! interpreter.

use serde_json::Value;

use super::bundle::{self, Checked, FilePattern};
use super::interpreter::{self, Interpretation};
use super::machine::Machine;
use crate::json;
use crate::ports::{Facts, FileKind, Ports, Question, Root};

/// Maximum size of a script; a longer one is a mistake.
const MAX_SCRIPT: u64 = 16 << 20;

/// Maximum number of words in a command; more are a mistake.
const MAX_WORDS: usize = 256;

/// The note about a command whose files run from a copy and whose words are known exactly.
const CHECKED: &str = "only these files are checked, and they run from a private copy; whatever else they open or start, in the workspace or elsewhere, is not checked";

/// The note about any other command, after the reason.
const UNASKED: &str = "changes to what is not checked do not need a new approval";

/// The first bytes of programs that need no interpreter.
const NATIVE: &[&[u8]] = &[b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];

/// The files that are copied before the program runs, and run from the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The script, by its path in the workspace.
    pub script: String,
    /// All files, the script among them, sorted by path.
    pub files: Vec<Checked>,
    /// The words that name files of the copy: the index of each, and the file.
    pub words: Vec<(usize, String)>,
}

/// What really runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedProgram {
    /// The words that the host is given.
    pub argv: Vec<String>,
    /// Where the program is, with every link followed.
    pub real: String,
    /// The script and the files beside it.
    pub copied: Option<Copied>,
    /// Other files of the workspace that the words name. Their changes are noticed, but they are read where they are.
    pub in_place: Vec<Checked>,
    /// Why an approval cannot cover everything that it reads and runs, if so.
    pub unchecked: Option<String>,
}

impl ResolvedProgram {
    /// The program as it is hashed and shown.
    pub fn to_json(&self) -> Value {
        let file = |(path, digest): &Checked| Value::from(vec![path.clone(), digest.to_string()]);
        let of_script = |copied: &&Copied| copied.files.iter().find(|(path, _)| *path == copied.script).map(file);
        let beside =
            |copied: &Copied| -> Value { copied.files.iter().filter(|(path, _)| *path != copied.script).map(file).collect() };
        json::object(&mut [
            ("format", FORMAT.into()),
            ("runs", self.argv.clone().into()),
            ("interpreter", self.real.as_str().into()),
            ("script", self.copied.as_ref().and_then(|copied| of_script(&copied)).unwrap_or_default()),
            ("files", self.copied.as_ref().map_or_else(|| Value::Array(Vec::new()), beside)),
            ("in_place", self.in_place.iter().map(file).collect()),
            ("unchecked", self.unchecked.is_some().into()),
        ])
    }

    /// What a person should know about what is checked and what is not.
    pub fn note(&self) -> String {
        match &self.unchecked {
            Some(why) => format!("{why}; {UNASKED}"),
            None => CHECKED.to_owned(),
        }
    }
}

/// The version of what an approval of a command covers; it goes up when that becomes more, so that older ones are asked for
/// again.
pub const FORMAT: u64 = 2;

/// Finds out what a command's words run, or why that is not known.
pub fn find(command: &DeclaredCommand<'_>, machine: &Machine, ports: &Ports) -> Result<ResolvedProgram, String> {
    let finder = Finder { files: command.files, machine, ports };
    if command.shell {
        let found = locate("sh", machine, ports)?;
        let argv = [&[found.runs, "-c".to_owned()], command.words].concat();
        let why = "a shell interprets the text, and the files that it names run as they are at that time".to_owned();
        return Ok(ResolvedProgram {
            argv,
            real: found.real,
            copied: None,
            in_place: finder.check_declared_files()?,
            unchecked: Some(why),
        });
    }
    let (name, arguments) = command.words.split_first().ok_or("the command is empty")?;
    let found = locate(name, machine, ports)?;
    if found.is_own { finder.own_program(name, &found.real, arguments) } else { finder.installed_program(found, arguments) }
}

/// A declared command.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredCommand<'h> {
    /// Its words; a shell command is a single one.
    pub words: &'h [String],
    /// Whether a shell runs them.
    pub shell: bool,
    /// The files that it declares, if it does.
    pub files: Option<&'h [FilePattern]>,
}

struct Finder<'f> {
    files: Option<&'f [FilePattern]>,
    machine: &'f Machine,
    ports: &'f Ports,
}

impl Finder<'_> {
    /// A program that is in the workspace: a script with its interpreter, or a native one.
    fn own_program(&self, name: &str, script: &str, arguments: &[String]) -> Result<ResolvedProgram, String> {
        if self.file(script)?.is_none() {
            return Err(format!("`{name}` cannot be read"));
        }
        let head = self.ports.workspace.read_range(Root::Project, script, 0, 256).unwrap_or_default();
        let mut argv = Vec::new();
        let mut real = script.to_owned();
        let mut unchecked = None;
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
            let mut said = line.split_whitespace();
            let mut interpreter = said.next().unwrap_or_default();
            if interpreter.rsplit('/').next() == Some("env") {
                interpreter = said.find(|word| *word != "-S").unwrap_or_default();
            }
            let interpreter = locate(interpreter, self.machine, self.ports)?;
            if interpreter.is_own {
                return Err(format!("the interpreter of `{name}` is in the workspace itself; use an installed one"));
            }
            let options: Vec<String> = said.map(str::to_owned).collect();
            unchecked = match interpreter::read(&interpreter.runs, &interpreter.real, &options) {
                Interpretation::Options => None,
                Interpretation::Script { .. } => Some(format!("the first line of `{name}` names more than its interpreter")),
                Interpretation::Launcher(why) | Interpretation::Unknown(why) => Some(why),
            };
            real = interpreter.real;
            argv.push(interpreter.runs);
            argv.extend(options);
        } else if !NATIVE.iter().any(|magic| head.starts_with(magic)) {
            unchecked = Some(format!("the first line of `{name}` does not name an interpreter"));
        }
        let words = vec![(argv.len(), script.to_owned())];
        argv.push(script.to_owned());
        argv.extend_from_slice(arguments);
        let copied = self.copy_script(script, words)?;
        self.with_named_files(ResolvedProgram { argv, real, copied: Some(copied), in_place: Vec::new(), unchecked }, arguments)
    }

    /// A program that is installed, with the files of the workspace that it is told to run.
    fn installed_program(&self, found: Executable, arguments: &[String]) -> Result<ResolvedProgram, String> {
        let reading = interpreter::read(&found.runs, &found.real, arguments);
        let mut argv = vec![found.runs];
        argv.extend_from_slice(arguments);
        let mut program = ResolvedProgram { argv, real: found.real, copied: None, in_place: Vec::new(), unchecked: None };
        match reading {
            Interpretation::Script { at, loads } => self.run_script(program, arguments, at, &loads),
            Interpretation::Launcher(why) => {
                program.unchecked = Some(why);
                // The first file is most likely the one that runs, so at least that one cannot be exchanged.
                let mut script = None;
                for (at, word) in arguments.iter().enumerate().take(MAX_WORDS) {
                    if interpreter::is_inline(word) {
                        break;
                    }
                    script = self.file(word)?.map(|path| (at + 1, path));
                    if script.is_some() {
                        break;
                    }
                }
                if let Some((at, path)) = script {
                    program.copied = Some(self.copy_script(&path, vec![(at, path.clone())])?);
                } else {
                    program.in_place = self.check_declared_files()?;
                }
                self.with_named_files(program, arguments)
            }
            Interpretation::Options | Interpretation::Unknown(_) => {
                program.unchecked = Some(match reading {
                    Interpretation::Unknown(why) => why,
                    _ => "what it runs is not among its arguments".to_owned(),
                });
                program.in_place = self.check_declared_files()?;
                Ok(program)
            }
        }
    }

    /// A program whose interpreter is known: the argument at `at` is the script.
    fn run_script(
        &self,
        mut program: ResolvedProgram,
        arguments: &[String],
        at: usize,
        loads: &[usize],
    ) -> Result<ResolvedProgram, String> {
        let word = arguments.get(at).map(String::as_str).unwrap_or_default();
        let Some(script) = self.file(word)? else {
            program.unchecked = Some(format!("`{word}` is not a file of the workspace"));
            program.in_place = self.check_declared_files()?;
            return self.with_named_files(program, arguments);
        };
        let mut copied = self.copy_script(&script, vec![(at + 1, script.clone())])?;
        for at in loads {
            let word = arguments.get(*at).map(String::as_str).unwrap_or_default();
            let path = self.file(word)?;
            match path.filter(|path| copied.files.iter().any(|(known, _)| known == path)) {
                Some(path) => copied.words.push((at + 1, path)),
                None => {
                    program.unchecked = Some(format!("`{word}` is not one of the files that are copied, and is read in place"))
                }
            }
        }
        copied.words.sort_unstable();
        program.copied = Some(copied);
        self.with_named_files(program, arguments)
    }

    /// Adds the other files that the words name: they are read in place, so the approval does not cover them.
    fn with_named_files(&self, mut program: ResolvedProgram, arguments: &[String]) -> Result<ResolvedProgram, String> {
        if arguments.len() > MAX_WORDS {
            return Err(format!("it has more than {MAX_WORDS} words; put them into a script"));
        }
        let offset = program.argv.len() - arguments.len();
        let mut named = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let replaced = |copied: &Copied| copied.words.iter().any(|(word, _)| *word == at + offset);
            if program.copied.as_ref().is_some_and(replaced) {
                continue;
            }
            let value = argument.split_once('=').map(|(_, value)| value);
            for word in std::iter::once(argument.as_str()).chain(value) {
                match self.kind_named_by(word) {
                    Some(FileKind::File) => {
                        let Some(path) = self.file(word)? else { continue };
                        if !named.contains(&path) {
                            named.push(path);
                        }
                    }
                    Some(FileKind::Directory) => {}
                    _ => continue,
                }
                let why = || format!("`{word}` is read in place");
                program.unchecked.get_or_insert_with(why);
            }
        }
        for path in named {
            let known = program.in_place.iter().any(|(known, _)| *known == path);
            if !known {
                program.in_place.extend(bundle::check_file(&path, self.ports)?);
            }
        }
        program.in_place.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(program)
    }

    fn copy_script(&self, script: &str, words: Vec<(usize, String)>) -> Result<Copied, String> {
        let files = bundle::of_script(script, self.files, &self.machine.digests, self.ports)?;
        Ok(Copied { script: script.to_owned(), files, words })
    }

    /// The files that the declaration names, if nothing is copied.
    fn check_declared_files(&self) -> Result<Vec<Checked>, String> {
        self.files.map_or(Ok(Vec::new()), |patterns| bundle::check_matching(patterns, self.ports))
    }

    /// What a word names in the workspace.
    fn kind_named_by(&self, word: &str) -> Option<FileKind> {
        if word.is_empty() || word.len() >= 1_000 {
            return None;
        }
        let facts = self.ports.workspace.inspect(&[Question::project(word)]).into_iter().next()?;
        let is_own = |path: &Option<String>| path.as_deref().is_some_and(|path| !self.machine.is_absolute(path));
        (is_own(&facts.real_path) || is_own(&facts.entry_path)).then_some(facts.kind)
    }

    /// The file of the workspace that a word names, with every link followed; `None` if there is none. A file that nobody can
    /// vouch for is refused.
    fn file(&self, word: &str) -> Result<Option<String>, String> {
        if word.is_empty() || word.len() >= 1_000 {
            return Ok(None);
        }
        let facts = self.ports.workspace.inspect(&[Question::project(word)]).into_iter().next();
        let Some(facts) = facts.filter(|facts| facts.kind == FileKind::File) else { return Ok(None) };
        let (Some(real), Some(entry)) = (facts.real_path, facts.entry_path) else { return Ok(None) };
        match (self.machine.is_absolute(&real), self.machine.is_absolute(&entry)) {
            (true, true) => Ok(None),
            (true, false) => Err(format!("`{word}` leads out of the workspace, so it cannot be checked")),
            (false, _) if facts.size > MAX_SCRIPT => Err(format!("`{word}` is larger than {} MiB", MAX_SCRIPT >> 20)),
            (false, _) => Ok(Some(real)),
        }
    }
}

struct Executable {
    /// The path that is run.
    runs: String,
    /// Where that path leads.
    real: String,
    /// Whether it is in the workspace.
    is_own: bool,
}

/// Finds a program by its name, as the operating system would.
fn locate(name: &str, machine: &Machine, ports: &Ports) -> Result<Executable, String> {
    let candidates: Vec<String> = if name.contains('/') {
        vec![name.to_owned()]
    } else {
        machine.path.iter().map(|folder| format!("{folder}/{name}")).collect()
    };
    let questions: Vec<Question> = candidates.iter().map(Question::project).collect();
    let is_file = |(_, facts): &(String, Facts)| facts.kind == FileKind::File;
    let (written, facts) = candidates.into_iter().zip(ports.workspace.inspect(&questions)).find(is_file).ok_or_else(|| {
        if machine.path.is_empty() {
            "the host did not say where programs are".to_owned()
        } else {
            format!("there is no program `{name}`")
        }
    })?;
    let real = facts.real_path.unwrap_or_default();
    let entry = facts.entry_path.unwrap_or_default();
    // Environments of a language are links; a link in the workspace is the workspace's word, so it is not used.
    let outside = machine.is_absolute(&entry) && machine.is_absolute(&written);
    let runs = if outside { written } else { real.clone() };
    Ok(Executable { runs, is_own: !machine.is_absolute(&real), real })
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
        for outside in ["/usr/bin/node22", "/bin/sh", "/usr/bin/env", "/usr/bin/eslint", "/usr/bin/python3", "/usr/bin/make"] {
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
        world.write("x:/run", "\u{7f}ELF");
        world.write("hooks/odd", "echo");
        world.write("hooks/run.mk", "#!/usr/bin/make -f\n");
        world.symlink("/usr/bin/eslint", "out.sh");
        let machine = Machine::new("/w", ["hooks", "/w/bin", "/bin", "/usr/bin"].into_iter().map(str::to_owned));
        assert_eq!(machine.path, ["/bin", "/usr/bin"]);
        let run = |words: &str, shell: bool, files: Option<&[FilePattern]>| {
            let words: Vec<String> = if shell { vec![words.to_owned()] } else { words.split(' ').map(str::to_owned).collect() };
            match find(&DeclaredCommand { words: &words, shell, files }, &machine, &ports) {
                Ok(ResolvedProgram { argv, real, copied, in_place, unchecked }) => {
                    let copied = copied.map_or(String::new(), |Copied { files, words, .. }| {
                        let words: String = words.iter().map(|(at, path)| format!(" {at}={path}")).collect();
                        format!("{words} [{}]", files.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(" "))
                    });
                    let in_place: String = in_place.iter().map(|(path, _)| format!(" +{path}")).collect();
                    let unchecked = unchecked.map_or(String::new(), |why| format!(" ? {why}"));
                    format!("{} ({real}){copied}{in_place}{unchecked}", argv.join(" "))
                }
                Err(why) => why,
            }
        };
        let all = "[hooks/a.js hooks/b.sh hooks/c hooks/d hooks/evil hooks/odd hooks/run.mk]";
        for (words, expected) in [
            ("node hooks/a.js --x", "/usr/bin/node hooks/a.js --x (/usr/bin/node22) 1=hooks/a.js ALL"),
            (
                "node --import ./hooks/a.js hooks/d",
                "/usr/bin/node --import ./hooks/a.js hooks/d (/usr/bin/node22) 2=hooks/a.js 3=hooks/d ALL",
            ),
            (
                "node --import ./c:x.sh hooks/d",
                "/usr/bin/node --import ./c:x.sh hooks/d (/usr/bin/node22) 3=hooks/d ALL +c:x.sh ? `./c:x.sh` is not one of the files that are copied, and is read in place",
            ),
            (
                "node hooks/a.js hooks/d",
                "/usr/bin/node hooks/a.js hooks/d (/usr/bin/node22) 1=hooks/a.js ALL +hooks/d ? `hooks/d` is read in place",
            ),
            (
                "node hooks/a.js --data=c:x.sh",
                "/usr/bin/node hooks/a.js --data=c:x.sh (/usr/bin/node22) 1=hooks/a.js ALL +c:x.sh ? `c:x.sh` is read in place",
            ),
            ("node hooks/a.js .", "/usr/bin/node hooks/a.js . (/usr/bin/node22) 1=hooks/a.js ALL ? `.` is read in place"),
            (
                "node -e 1 hooks/a.js",
                "/usr/bin/node -e 1 hooks/a.js (/usr/bin/node22) +hooks/a.js ? what `-e` means to `node` is not known here",
            ),
            (
                "env PYTHONPATH=hooks node hooks/a.js",
                "/usr/bin/env PYTHONPATH=hooks node hooks/a.js (/usr/bin/env) 3=hooks/a.js ALL ? `env` decides by itself what it reads and runs",
            ),
            (
                "make -f hooks/run.mk",
                "/usr/bin/make -f hooks/run.mk (/usr/bin/make) 2=hooks/run.mk ALL ? `make` decides by itself what it reads and runs",
            ),
            ("./hooks/b.sh q", "/bin/sh -e hooks/b.sh q (/bin/sh) 2=hooks/b.sh ALL"),
            ("hooks/c", "/usr/bin/node hooks/c (/usr/bin/node22) 1=hooks/c ALL"),
            (
                "hooks/run.mk",
                "/usr/bin/make -f hooks/run.mk (/usr/bin/make) 2=hooks/run.mk ALL ? `make` decides by itself what it reads and runs",
            ),
            ("hooks/d", "hooks/d (hooks/d) 0=hooks/d ALL"),
            ("hooks/odd", "hooks/odd (hooks/odd) 0=hooks/odd ALL ? the first line of `hooks/odd` does not name an interpreter"),
            (
                "eslint hooks/a.js",
                "/usr/bin/eslint hooks/a.js (/usr/bin/eslint) ? `eslint` decides by itself what it reads and runs",
            ),
            ("./venv x", "/usr/bin/python3 x (/usr/bin/python3) ? `x` is not a file of the workspace"),
            ("hooks/evil", "the interpreter of `hooks/evil` is in the workspace itself; use an installed one"),
            ("./py hooks/a.js", "/usr/bin/python3 hooks/a.js (/usr/bin/python3) 1=hooks/a.js ALL"),
            ("sh c:x.sh", "/bin/sh c:x.sh (/bin/sh) 1=c:x.sh [c:x.sh]"),
            ("./x:/run", "x:/run (x:/run) 0=x:/run [x:/run]"),
            ("sh out.sh", "`out.sh` leads out of the workspace, so it cannot be checked"),
            (
                "node hooks/without",
                "/usr/bin/node hooks/without (/usr/bin/node22) ? `hooks/without` is not a file of the workspace",
            ),
            ("node", "/usr/bin/node (/usr/bin/node22) ? what it runs is not among its arguments"),
            ("nothing", "there is no program `nothing`"),
            ("./nothing", "there is no program `./nothing`"),
        ] {
            assert_eq!(run(words, false, None), expected.replace("ALL", all), "{words}");
        }
        let files = ["c:x.sh", "hooks/a.*"].map(|written| FilePattern::compile(written).unwrap());
        let named = "/usr/bin/node --import ./c:x.sh hooks/d (/usr/bin/node22) 2=c:x.sh 3=hooks/d [c:x.sh hooks/a.js hooks/d]";
        assert_eq!(run("node --import ./c:x.sh hooks/d", false, Some(&files)), named);
        // Text for a shell is not searched for files; those that are declared are noticed when they change.
        let text = "cd x && ./hooks/b.sh;node 'hooks/a.js'";
        let unread = format!(
            "/bin/sh -c {text} (/bin/sh) ? a shell interprets the text, and the files that it names run as they are at that time"
        );
        assert_eq!(run(text, true, None), unread);
        assert_eq!(run(text, true, Some(&files)), unread.replace(" ?", " +c:x.sh +hooks/a.js ?"));
    }
}
