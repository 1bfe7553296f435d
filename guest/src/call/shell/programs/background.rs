//! Programs that leave something running after the command, and programs that read text typed into them later.

use super::super::reader::ShellReader;
use super::super::reader::input::StandardInput;
use super::Invocation;
use crate::effects::Persistence;

/// Programs that start something without waiting for it.
const DETACHING: &[&str] = &[
    "abduco",
    "anacron",
    "at",
    "batch",
    "byobu",
    "crontab",
    "daemonize",
    "dtach",
    "fcron",
    "forever",
    "initctl",
    "launchctl",
    "nohup",
    "pm2",
    "screen",
    "service",
    "setsid",
    "start-stop-daemon",
    "supervisorctl",
    "systemctl",
    "systemd-run",
    "tmux",
    "zellij",
];

/// Options with which programs of all kinds move to the background.
const OPTIONS: &[&str] = &["--background", "--daemon", "--daemonize", "--detach", "--detached"];

/// Programs that run containers, which may have access to folders of the workspace.
const CONTAINERS: &[&str] = &["docker", "docker-compose", "nerdctl", "podman", "podman-compose"];

/// Records that a program may keep running after the command, as far as its name and its options show that.
pub(super) fn note(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    let mut words = call.args.iter().filter_map(|arg| arg.text());
    let is_container = CONTAINERS.contains(&call.name);
    let detaches = DETACHING.contains(&call.name)
        || words.any(|word| OPTIONS.contains(&word) || is_container && (is_detach(word) || ["start", "restart"].contains(&word)));
    if detaches {
        reader.record_persistence(Persistence::Detached);
    }
}

/// `-d`, also combined with `-i` and `-t`.
fn is_detach(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| letters.contains('d') && letters.chars().all(|letter| "dit".contains(letter)))
}

/// Records that a program executes text that it reads while it runs, and that someone may type that text later.
pub(super) fn read_as_it_runs(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    if *call.input == StandardInput::Inherited {
        reader.record_persistence(Persistence::Interactive);
    }
    reader.add_unknown(format!("`{}` runs text that it reads when it runs", call.name));
}
