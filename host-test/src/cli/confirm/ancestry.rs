//! Which processes stand above this one, and which variables are set: facts for the gate, which knows what they mean.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// How far up is looked. A longer line of processes is a circle.
const MAX_ABOVE: usize = 64;

/// The first words of a process; those behind say nothing about what it is.
const MAX_WORDS: usize = 8;

/// A word is cut here.
const MAX_CHARS: usize = 400;

/// A process, as far as it can be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    name: String,
    words: Vec<String>,
    /// The names of the variables that it was started with.
    variables: Vec<String>,
}

/// Who runs on this machine.
trait Processes {
    /// The process of a number; none where there is no such one, or where it cannot be seen.
    fn find(&self, id: u32) -> Option<Process>;

    /// The processes at the other end of this one's terminal: a terminal's window, or a program that plays one.
    fn at_other_end(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// The line for the gate: what stands above, and, where it matters, who stands at the other end of the terminal.
pub(crate) fn seen(with_terminal: bool) -> Value {
    #[cfg(target_os = "linux")]
    let processes = linux::Proc;
    #[cfg(not(target_os = "linux"))]
    let processes = listed::Listed::new();
    let own = std::process::id();
    let mut above = line_above(&processes, own);
    if with_terminal {
        for other in processes.at_other_end() {
            let line = processes.find(other).into_iter().chain(line_above(&processes, other));
            let known: BTreeSet<u32> = above.iter().map(|process| process.id).collect();
            above.extend(line.filter(|process| !known.contains(&process.id)));
        }
    }
    let mut variables: BTreeSet<String> = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    variables.extend(above.iter().flat_map(|process| process.variables.iter().cloned()));
    let shown = |process: &Process| json!({"id": process.id, "name": process.name, "words": process.words});
    json!({"op": "person", "above": above.iter().map(shown).collect::<Vec<_>>(), "variables": variables})
}

/// The processes above one, the nearest first.
fn line_above(processes: &dyn Processes, id: u32) -> Vec<Process> {
    let mut line: Vec<Process> = Vec::new();
    let mut next = processes.find(id).map_or(0, |process| process.parent);
    while next != 0 && line.len() < MAX_ABOVE && !line.iter().any(|process| process.id == next) {
        let Some(process) = processes.find(next) else { break };
        next = process.parent;
        line.push(process);
    }
    line
}

fn words<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    words.take(MAX_WORDS).map(|word| word.chars().take(MAX_CHARS).collect()).collect()
}

#[cfg(target_os = "linux")]
mod linux {
    //! `/proc`.

    use std::fs;
    use std::path::Path;

    use super::{Process, Processes, words};

    /// The first major number of pseudo-terminals.
    const PTS: u32 = 136;

    pub(crate) struct Proc;

    impl Processes for Proc {
        fn find(&self, id: u32) -> Option<Process> {
            let folder = format!("/proc/{id}");
            let read = |name: &str| fs::read(format!("{folder}/{name}")).unwrap_or_default();
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let (name, rest) = split_stat(&stat)?;
            let parent = rest.get(1)?.parse().ok()?;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            let (line, environment) = (text(read("cmdline")), text(read("environ")));
            let names = environment.split('\0').filter_map(|set| set.split_once('=')).map(|(name, _)| name.to_owned());
            Some(Process {
                id,
                parent,
                name: name.to_owned(),
                words: words(line.trim_end_matches('\0').split('\0')),
                variables: names.collect(),
            })
        }

        fn at_other_end(&self) -> Vec<u32> {
            let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
            let number = split_stat(&stat).and_then(|(_, rest)| rest.get(4)?.parse::<i64>().ok()).unwrap_or_default();
            let Some(index) = index_of(number) else { return Vec::new() };
            let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
            let ids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
            ids.filter(|id| holds(*id, index)).collect()
        }
    }

    /// The name, and the fields behind it. A name may hold anything, brackets included.
    fn split_stat(stat: &str) -> Option<(&str, Vec<&str>)> {
        let (_, rest) = stat.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        Some((name, rest.split_whitespace().collect()))
    }

    /// Which pseudo-terminal a device number stands for.
    fn index_of(number: i64) -> Option<u32> {
        let number = u32::try_from(number).ok()?;
        let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
        (major == PTS).then_some(minor)
    }

    /// Whether a process has the other end of a pseudo-terminal open.
    fn holds(id: u32, index: u32) -> bool {
        let Ok(folder) = fs::read_dir(format!("/proc/{id}/fd")) else { return false };
        folder.flatten().any(|entry| {
            let is_end = fs::read_link(entry.path()).is_ok_and(|to| to == Path::new("/dev/ptmx") || to.ends_with("pts/ptmx"));
            is_end && {
                let name = entry.file_name();
                let info = fs::read_to_string(format!("/proc/{id}/fdinfo/{}", name.display())).unwrap_or_default();
                let found = info.lines().find_map(|line| line.strip_prefix("tty-index:"));
                found.is_some_and(|found| found.trim() == index.to_string())
            }
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn names_that_hold_anything() {
            let (name, rest) = split_stat("7 (a) (b) S 1 7 7 34818 7").unwrap();
            assert_eq!((name, rest.get(1), rest.get(4)), ("a) (b", Some(&"1"), Some(&"34818")));
            assert!(split_stat("").is_none() && split_stat("7 (x").is_none());
        }

        #[test]
        fn terminals_by_number() {
            assert_eq!((index_of(34_818), index_of(0), index_of(1_024), index_of(-1)), (Some(2), None, None, None));
            // 136:300
            assert_eq!(index_of((136 << 8) | (300 & 0xff) | ((300 & 0xf_ff00) << 12)), Some(300));
        }

        #[test]
        fn this_process_is_seen() {
            let own = Proc.find(std::process::id()).unwrap();
            let parent = Proc.find(own.parent);
            assert!(parent.is_some_and(|parent| !parent.name.is_empty()));
            assert!(own.variables.iter().any(|name| name == "PATH"));
            assert_eq!(Proc.find(u32::MAX), None);
        }
    }
}

#[cfg(any(test, not(target_os = "linux")))]
mod listed {
    //! What the system's own list of processes says.

    use std::collections::BTreeMap;

    use super::{Process, Processes, words};

    pub(crate) struct Listed(BTreeMap<u32, Process>);

    impl Listed {
        /// The processes that run now.
        #[cfg(unix)]
        #[cfg_attr(target_os = "linux", allow(dead_code, reason = "for systems without /proc"))]
        pub(crate) fn new() -> Self {
            let mut command = std::process::Command::new("/bin/ps");
            command.args(["-axww", "-o", "pid=", "-o", "ppid=", "-o", "command="]).stdin(std::process::Stdio::null());
            let output = command.output().map(|output| output.stdout).unwrap_or_default();
            Self::parse(&String::from_utf8_lossy(&output))
        }

        /// The processes that run now.
        #[cfg(not(unix))]
        pub(crate) fn new() -> Self {
            const LIST: &str = "Get-CimInstance Win32_Process | ForEach-Object { \"$($_.ProcessId) $($_.ParentProcessId) $($_.Name) $($_.CommandLine)\" }";
            let mut command = std::process::Command::new("powershell.exe");
            command.args(["-NoProfile", "-NonInteractive", "-Command", LIST]).stdin(std::process::Stdio::null());
            let output = command.output().map(|output| output.stdout).unwrap_or_default();
            Self::parse(&String::from_utf8_lossy(&output))
        }

        /// Lines of a number, the parent's number, and the words.
        pub(crate) fn parse(text: &str) -> Self {
            let process = |line: &str| {
                let mut fields = line.split_whitespace();
                let (id, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
                let words = words(fields);
                let name = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or_default().to_owned();
                Some((id, Process { id, parent, name, words, variables: Vec::new() }))
            };
            Self(text.lines().filter_map(process).collect())
        }
    }

    impl Processes for Listed {
        fn find(&self, id: u32) -> Option<Process> {
            self.0.get(&id).cloned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_above_ends() {
        let list = "  1     0 /sbin/launchd\n 10 1 /usr/local/bin/claude -p hi\n 20 10 /bin/zsh -c x\n 30 20 tollgate init\n\
                    40 41 a\n 41 40 b\nnot a process\n 50 99 orphan\n";
        let processes = listed::Listed::parse(list);
        let names = |id| line_above(&processes, id).into_iter().map(|process| process.name).collect::<Vec<_>>();
        assert_eq!(names(30), ["zsh", "claude", "launchd"]);
        assert_eq!(names(40), ["b", "a"]);
        assert_eq!(names(50), Vec::<String>::new());
        assert_eq!(names(7), Vec::<String>::new());
    }
}
