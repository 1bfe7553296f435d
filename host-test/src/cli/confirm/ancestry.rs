//! Describes the parent processes and environment variables for the gate, which decides what they mean.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// At most this many parents are followed; a longer chain must be a cycle.
const MAX_ANCESTORS: usize = 64;

/// At most this many arguments of a process are reported; later ones do not identify it.
const MAX_WORDS: usize = 8;

/// Arguments are truncated to this length.
const MAX_CHARS: usize = 400;

/// A process, as far as it is visible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Process {
    id: u32,
    parent: u32,
    name: String,
    words: Vec<String>,
    /// The names of the variables in its environment.
    variables: Vec<String>,
}

/// The processes of this machine.
trait Processes {
    /// The process with this id, if it exists and is visible.
    fn find(&self, id: u32) -> Option<Process>;

    /// The processes that hold the other end of the terminal: a terminal emulator, or a program that simulates one.
    fn terminal_owners(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// The request that describes the parent processes and, if `with_terminal` is set, the processes at the other end of the
/// terminal.
pub(crate) fn describe(with_terminal: bool) -> Value {
    #[cfg(target_os = "linux")]
    let processes = linux::Proc;
    #[cfg(not(target_os = "linux"))]
    let processes = listed::Listed::new();
    let own = std::process::id();
    let mut above = ancestors_of(&processes, own);
    if with_terminal {
        for other in processes.terminal_owners() {
            let line = processes.find(other).into_iter().chain(ancestors_of(&processes, other));
            let known: BTreeSet<u32> = above.iter().map(|process| process.id).collect();
            above.extend(line.filter(|process| !known.contains(&process.id)));
        }
    }
    let mut variables: BTreeSet<String> = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    variables.extend(above.iter().flat_map(|process| process.variables.iter().cloned()));
    let shown = |process: &Process| json!({"id": process.id, "name": process.name, "words": process.words});
    json!({"op": "person", "above": above.iter().map(shown).collect::<Vec<_>>(), "variables": variables})
}

/// The parents of a process, nearest first.
fn ancestors_of(processes: &dyn Processes, id: u32) -> Vec<Process> {
    let mut line: Vec<Process> = Vec::new();
    let mut next = processes.find(id).map_or(0, |process| process.parent);
    while next != 0 && line.len() < MAX_ANCESTORS && !line.iter().any(|process| process.id == next) {
        let Some(process) = processes.find(next) else { break };
        next = process.parent;
        line.push(process);
    }
    line
}

fn truncate_words<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    words.take(MAX_WORDS).map(|word| word.chars().take(MAX_CHARS).collect()).collect()
}

#[cfg(target_os = "linux")]
mod linux {
    //! Reads `/proc`.

    use std::fs;
    use std::path::Path;

    use super::{Process, Processes, truncate_words};

    /// The first major device number of pseudo-terminals.
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
                words: truncate_words(line.trim_end_matches('\0').split('\0')),
                variables: names.collect(),
            })
        }

        fn terminal_owners(&self) -> Vec<u32> {
            let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
            let number = split_stat(&stat).and_then(|(_, rest)| rest.get(4)?.parse::<i64>().ok()).unwrap_or_default();
            let Some(index) = terminal_index(number) else { return Vec::new() };
            let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
            let ids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
            ids.filter(|id| owns_terminal(*id, index)).collect()
        }
    }

    /// The name and the fields after it. A name can contain any character, including parentheses.
    fn split_stat(stat: &str) -> Option<(&str, Vec<&str>)> {
        let (_, rest) = stat.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        Some((name, rest.split_whitespace().collect()))
    }

    /// The index of the pseudo-terminal with this device number.
    fn terminal_index(number: i64) -> Option<u32> {
        let number = u32::try_from(number).ok()?;
        let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
        (major == PTS).then_some(minor)
    }

    /// Whether a process has the controlling end of a pseudo-terminal open.
    fn owns_terminal(id: u32, index: u32) -> bool {
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
            assert_eq!(
                (terminal_index(34_818), terminal_index(0), terminal_index(1_024), terminal_index(-1)),
                (Some(2), None, None, None)
            );
            // 136:300
            assert_eq!(terminal_index((136 << 8) | (300 & 0xff) | ((300 & 0xf_ff00) << 12)), Some(300));
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
    //! Reads the process list of the system.

    use std::collections::BTreeMap;

    use super::{Process, Processes, truncate_words};

    pub(crate) struct Listed(BTreeMap<u32, Process>);

    impl Listed {
        /// The running processes.
        #[cfg(unix)]
        #[cfg_attr(target_os = "linux", allow(dead_code, reason = "for systems without /proc"))]
        pub(crate) fn new() -> Self {
            let mut command = std::process::Command::new("/bin/ps");
            command.args(["-axww", "-o", "pid=", "-o", "ppid=", "-o", "command="]).stdin(std::process::Stdio::null());
            let output = command.output().map(|output| output.stdout).unwrap_or_default();
            Self::parse(&String::from_utf8_lossy(&output))
        }

        /// The running processes.
        #[cfg(not(unix))]
        pub(crate) fn new() -> Self {
            const LIST: &str = "Get-CimInstance Win32_Process | ForEach-Object { \"$($_.ProcessId) $($_.ParentProcessId) $($_.Name) $($_.CommandLine)\" }";
            let mut command = std::process::Command::new("powershell.exe");
            command.args(["-NoProfile", "-NonInteractive", "-Command", LIST]).stdin(std::process::Stdio::null());
            let output = command.output().map(|output| output.stdout).unwrap_or_default();
            Self::parse(&String::from_utf8_lossy(&output))
        }

        /// Parses lines with the process id, the parent's id, and the arguments.
        pub(crate) fn parse(text: &str) -> Self {
            let process = |line: &str| {
                let mut fields = line.split_whitespace();
                let (id, parent) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
                let words = truncate_words(fields);
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
        let names = |id| ancestors_of(&processes, id).into_iter().map(|process| process.name).collect::<Vec<_>>();
        assert_eq!(names(30), ["zsh", "claude", "launchd"]);
        assert_eq!(names(40), ["b", "a"]);
        assert_eq!(names(50), Vec::<String>::new());
        assert_eq!(names(7), Vec::<String>::new());
    }
}
