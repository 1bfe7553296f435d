//! PowerShell and `cmd`, which are not analysed. A short list of read-only commands is recognised by exact words; everything else
//! is unknown.

use super::super::shell;
use crate::effects::{Footprint, Persistence};

/// Commands that only read, whatever plain words follow them.
const READ_ONLY_COMMANDS: &[&str] = &[
    "cat",
    "dir",
    "gc",
    "gci",
    "get-childitem",
    "get-content",
    "get-date",
    "get-item",
    "get-location",
    "gl",
    "ls",
    "pwd",
    "resolve-path",
    "test-path",
    "type",
];

/// The switches that may be used with them.
const SWITCHES: &[&str] =
    &["-directory", "-file", "-filter", "-force", "-literalpath", "-name", "-path", "-raw", "-recurse", "-tail", "-totalcount"];

/// Built-in commands of `cmd` that only read; `cmd` would search for other commands in its current folder.
const CMD_LOOKS: &[&str] = &["cd", "dir", "type", "ver", "vol"];

/// What a PowerShell command does.
pub(super) fn footprint(command: &str) -> Footprint {
    if only_reads(command, READ_ONLY_COMMANDS, SWITCHES) {
        return Footprint::default();
    }
    let lower = command.to_ascii_lowercase();
    let outlasts = ["start-process", "start-job", "start-threadjob", "register-scheduledtask", "schtasks"]
        .iter()
        .any(|word| lower.contains(word))
        || lower.trim_end().ends_with('&');
    let persistence = if outlasts { Persistence::Detached } else { Persistence::Ends };
    let why = "PowerShell commands are not analysed, except for a few that only read, so what it does is not known";
    let mut found = Footprint { persistence, ..Footprint::unknown(why) };
    found.controls.extend(shell::control_in(command));
    found
}

/// What a list of words does if it starts PowerShell or `cmd`; `None` if it starts something else.
pub(super) fn footprint_of_words(words: &[String]) -> Option<Footprint> {
    let (program, rest) = words.split_first()?;
    let lower = program.to_ascii_lowercase();
    let name = lower.rsplit(['/', '\\']).next().unwrap_or(&lower);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let is_bare = !lower.contains(['/', '\\']);
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match (name, rest.as_slice()) {
        ("powershell" | "pwsh", [before @ .., flag, command])
            if is_bare
                && ["-command", "-c"].contains(&flag.to_ascii_lowercase().as_str())
                && before.iter().all(|flag| ["-noprofile", "-nologo"].contains(&flag.to_ascii_lowercase().as_str())) =>
        {
            Some(footprint(command))
        }
        ("cmd", ["/c" | "/C", command]) if is_bare && only_reads(command, CMD_LOOKS, &[]) => Some(Footprint::default()),
        ("powershell" | "pwsh" | "cmd", _) => {
            let mut found = Footprint::unknown(format!("the arguments of `{name}` are not analysed, so its effects are unknown"));
            found.controls.extend(shell::control_in(&rest.join(" ")));
            Some(found)
        }
        _ => None,
    }
}

fn only_reads(command: &str, known: &[&str], switches: &[&str]) -> bool {
    let is_in = |word: &str, list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/\\:* ".contains(&byte);
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    command.bytes().all(plain)
        && words.next().is_some_and(|name| is_in(name, known))
        && words.all(|word| !word.starts_with('-') || is_in(word, switches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        for (command, known) in [
            ("Get-Location", true),
            ("get-childitem -Path src -Recurse", true),
            ("dir src\\auth", true),
            ("Get-Content README.md -Tail 5", true),
            ("where x", false),
            ("echo [IO.File]::Delete", false),
            ("echo x > y", false),
            ("ls; rm x", false),
            ("ls | rm", false),
            ("ls $(rm x)", false),
            ("ls\nrm x", false),
            ("Get-Content x -OutVariable y", false),
            ("& rm x", false),
            (".\\ls", false),
            ("", false),
        ] {
            assert_eq!(footprint(command).unknowns.is_empty(), known, "{command}");
        }
    }

    #[test]
    fn words() {
        for (words, expected) in [
            (&["pwsh", "-NoProfile", "-Command", "ls"][..], Some(true)),
            (&["powershell.exe", "-c", "rm x"], Some(false)),
            (&["pwsh", "-File", "x.ps1"], Some(false)),
            (&["cmd.exe", "/c", "dir src"], Some(true)),
            (&["cmd", "/c", "del x"], Some(false)),
            (&["cmd", "/c", "dir & del x"], Some(false)),
            (&["src/auth/pwsh", "-c", "ls"], Some(false)),
            (&["pwsh"], Some(false)),
            (&["ls"], None),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(footprint_of_words(&words).map(|found| found.unknowns.is_empty()), expected, "{words:?}");
        }
    }
}
