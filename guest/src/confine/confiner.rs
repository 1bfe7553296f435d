//! Finds the program that runs commands confined: the native `tollgate` on the search path.
//!
//! A wrapped command names the program by its absolute path, because a shell may search for programs elsewhere than the host
//! does, and a folder of the workspace on the search path must not be able to replace the program. Some agent programs ask a
//! person about every path outside the workspace; for these, the name alone is used, provided that nothing in the workspace could
//! be run instead. A small file of the same name is the script of the npm package, which cannot confine.

use std::cell::OnceCell;

use super::wrapping::PROGRAM;
use crate::effects::path::Location;
use crate::engine;
use crate::hooks::machine::Machine;
use crate::ports::{Facts, FileKind, Ports, Question};

/// The program's file names; the second is for Windows.
const NAMES: [&str; 2] = ["tollgate", "tollgate.exe"];

/// The native program is larger than this; the npm package's script is not.
const MIN_BYTES: u64 = 1 << 20;

/// The most folders that are searched.
const MAX_FOLDERS: usize = 100;

/// Finds the program, and remembers where it is.
#[derive(Debug, Default)]
pub struct Confiner {
    /// The workspace's absolute path.
    pub workspace: String,
    folders: Vec<String>,
    /// Whether no folder of the search path lies in the workspace.
    is_path_safe: bool,
    found: OnceCell<Option<ProgramLocation>>,
    can_confine: bool,
}

/// Where the program was found.
#[derive(Debug)]
struct ProgramLocation {
    path: String,
    /// Whether no other file of that name comes before it on the search path.
    is_first: bool,
}

impl Confiner {
    /// Takes what a host reports about its machine. A host that cannot confine needs no program.
    pub fn new(told: &engine::MachineReport) -> Self {
        if !told.confines {
            return Self::default();
        }
        let machine = Machine::new(&told.workspace, told.search_path.iter().take(MAX_FOLDERS).cloned());
        let is_path_safe = machine.path.len() == told.search_path.len();
        Self { workspace: machine.workspace, folders: machine.path, is_path_safe, found: OnceCell::new(), can_confine: true }
    }

    /// Whether the host can confine.
    pub fn can_confine(&self) -> bool {
        self.can_confine
    }

    /// The program to start a command with, so that it runs confined; `None` if the host cannot confine. If the program is
    /// missing, the host restricts processes itself, and the name only marks the command as confined.
    pub fn command(&self, ports: &Ports) -> Option<&str> {
        self.can_confine.then(|| self.program(ports).unwrap_or(PROGRAM))
    }

    /// The program's path; `None` if the host cannot confine, or the program is missing.
    pub fn program(&self, ports: &Ports) -> Option<&str> {
        self.location(ports).map(|found| found.path.as_str())
    }

    /// The name by which a shell finds the program; `None` if a shell may find a different one.
    pub fn name(&self, ports: &Ports) -> Option<&str> {
        self.location(ports).filter(|found| found.is_first && self.is_path_safe).map(|_| PROGRAM)
    }

    fn location(&self, ports: &Ports) -> Option<&ProgramLocation> {
        self.found.get_or_init(|| find(&self.folders, ports)).as_ref()
    }

    /// Whether a program named in settings is one that runs commands confined here.
    pub fn is_confiner(&self, path: &str, ports: &Ports) -> bool {
        self.can_confine
            && is_confiner_name(path)
            && ports.workspace.inspect(&[Question::project(path)]).first().is_some_and(is_native)
    }
}

/// Whether a path may be that of the program, judging by its file name.
pub fn is_confiner_name(path: &str) -> bool {
    let is_absolute = path.starts_with('/') || path.get(1..2) == Some(":");
    is_absolute && path.rsplit(['/', '\\']).next().is_some_and(|name| NAMES.contains(&name))
}

/// Whether a file is the native program and is outside the workspace.
fn is_native(facts: &Facts) -> bool {
    let is_outside = |real: &String| matches!(Location::from_host(real), Location::Outside(_));
    facts.kind == FileKind::File && facts.size >= MIN_BYTES && facts.real_path.as_ref().is_some_and(is_outside)
}

fn find(folders: &[String], ports: &Ports) -> Option<ProgramLocation> {
    let paths: Vec<String> =
        folders.iter().flat_map(|folder| NAMES.map(|name| format!("{}/{name}", folder.trim_end_matches(['/', '\\'])))).collect();
    if paths.is_empty() {
        return None;
    }
    let facts = ports.workspace.inspect(&paths.iter().map(Question::project).collect::<Vec<_>>());
    let mut existing = paths.into_iter().zip(facts).filter(|(_, facts)| facts.kind != FileKind::Missing).enumerate();
    let (at, (path, _)) = existing.find(|(_, (_, facts))| is_native(facts))?;
    Some(ProgramLocation { path, is_first: at == 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::{Memory, PROJECT};

    fn machine(confines: bool, search_path: &[&str]) -> engine::MachineReport {
        let search_path = search_path.iter().map(|folder| (*folder).to_owned()).collect();
        engine::MachineReport { workspace: PROJECT.to_owned(), search_path, confines, ..engine::MachineReport::default() }
    }

    #[test]
    fn the_native_program_is_found() {
        let world = Memory::new();
        let native = "x".repeat(2 << 20);
        for (path, text) in [
            ("bin/tollgate", native.as_str()),
            ("/npm/tollgate", "#!/usr/bin/env node\n"),
            ("/opt/tollgate", &native),
            ("/usr/bin/tollgate", &native),
        ] {
            world.write(path, text);
        }
        world.symlink("/workspace/bin/tollgate", "/linked/tollgate");
        let ports = world.ports();
        let found = |confines: bool, search_path: &[&str]| {
            Confiner::new(&machine(confines, search_path)).program(&ports).map(str::to_owned)
        };
        let all = ["/workspace/bin", "bin", "/linked", "/npm", "/missing", "/opt/", "/usr/bin"];
        assert_eq!(found(true, &all).as_deref(), Some("/opt/tollgate"));
        assert_eq!(found(false, &all), None);
        assert_eq!(found(true, &all[..5]), None);
        assert_eq!(found(true, &[]), None);
        let named = |search_path: &[&str]| Confiner::new(&machine(true, search_path)).name(&ports).is_some();
        assert!(named(&["/missing", "/opt", "/npm"]));
        // A different file would be found first, or could be put in front of it.
        for search_path in
            [&["/npm", "/opt"], &["/linked", "/opt"], &["/workspace/tools", "/opt"], &[".", "/opt"], &["/opt", "tools"]]
        {
            assert!(!named(search_path), "{search_path:?}");
        }
        for (path, expected) in [
            ("/opt/tollgate", true),
            ("/npm/tollgate", false),
            ("/linked/tollgate", false),
            ("/workspace/bin/tollgate", false),
            ("bin/tollgate", false),
            ("/opt/../opt/other", false),
        ] {
            assert_eq!(Confiner::new(&machine(true, &[])).is_confiner(path, &ports), expected, "{path}");
            assert!(!Confiner::new(&machine(false, &[])).is_confiner(path, &ports), "{path}");
        }
    }
}
