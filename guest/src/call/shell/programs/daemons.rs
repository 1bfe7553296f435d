//! Programs that hand their work to something else: a daemon, a server, another terminal, a later time. The kernel confines a
//! command and everything that it starts, and none of these is started by the command.
//!
//! They are known by name, and by the sockets at which daemons listen. A program that reaches a daemon by a path which it puts
//! together when it runs is not seen here.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::spec::Invocation;
use crate::effects::Unconfinable::Elsewhere;

/// Who does the work instead, and who asks for it.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "a container engine",
        &[
            "docker",
            "docker-compose",
            "podman",
            "podman-compose",
            "nerdctl",
            "ctr",
            "crictl",
            "lxc",
            "incus",
            "limactl",
            "colima",
            "multipass",
            "vagrant",
            "minikube",
            "kind",
            "k3d",
            "act",
            "devcontainer",
            "virsh",
            "distrobox-host-exec",
            "host-spawn",
        ],
    ),
    (
        "the service manager",
        &[
            "systemd-run",
            "systemctl",
            "service",
            "initctl",
            "launchctl",
            "machinectl",
            "supervisorctl",
            "pm2",
            "rc-service",
            "snap",
            "flatpak",
            "flatpak-spawn",
            "brew",
        ],
    ),
    ("the scheduler, later,", &["at", "batch", "crontab", "anacron", "fcron", "fcrontab"]),
    (
        "another terminal",
        &[
            "tmux",
            "screen",
            "zellij",
            "byobu",
            "tmate",
            "tmuxp",
            "tmuxinator",
            "overmind",
            "dtach",
            "abduco",
            "gnome-terminal",
            "konsole",
            "kitten",
            "wezterm",
            "x-terminal-emulator",
            "xfce4-terminal",
            "osascript",
        ],
    ),
    ("a service on the message bus", &["dbus-send", "dbus-launch", "gdbus", "busctl", "qdbus", "gio", "gapplication"]),
    (
        "the program that has the keyboard focus, or the window manager,",
        &["xdotool", "xte", "ydotool", "wtype", "dotool", "i3-msg", "swaymsg", "hyprctl", "bspc", "awesome-client"],
    ),
    // Servers that change files or run programs for their clients.
    (
        "a server that may already be running",
        &["sccache", "watchman", "eslint_d", "prettierd", "spring", "bloop", "ng", "grenchman"],
    ),
    (
        "a program that is already open",
        &["emacsclient", "code", "code-insiders", "cursor", "subl", "idea", "gvim", "nvr", "open", "xdg-open", "start"],
    ),
    ("another machine, which may be this one,", &["ssh", "scp", "sftp", "mosh", "autossh", "sshpass"]),
    ("an agent program with its own permissions", &["claude", "codex", "gemini", "opencode", "cursor-agent", "copilot", "aider"]),
];

/// Commands that only ask a daemon how things are, by their first words. Nothing is done elsewhere for them.
const LOOKING: &[(&[&str], &[&[&str]])] = &[
    (
        &["docker", "podman", "nerdctl"],
        &[
            &["ps"],
            &["images"],
            &["logs"],
            &["inspect"],
            &["info"],
            &["version"],
            &["stats"],
            &["top"],
            &["port"],
            &["history"],
            &["container", "ls"],
            &["container", "logs"],
            &["container", "inspect"],
            &["image", "ls"],
            &["image", "inspect"],
            &["network", "ls"],
            &["network", "inspect"],
            &["volume", "ls"],
            &["volume", "inspect"],
            &["compose", "ps"],
            &["compose", "logs"],
            &["compose", "ls"],
            &["compose", "images"],
            &["compose", "top"],
            &["compose", "port"],
            &["compose", "config"],
            &["compose", "version"],
        ],
    ),
    (&["docker-compose", "podman-compose"], &[&["ps"], &["logs"], &["images"], &["top"], &["port"], &["config"], &["version"]]),
    (
        &["systemctl"],
        &[&["status"], &["show"], &["cat"], &["is-active"], &["is-enabled"], &["is-failed"], &["list-units"], &["list-timers"]],
    ),
];

/// Build tools whose daemon may run already, and what tells them to do without: the remedy.
const BUILD_DAEMONS: &[(&str, &str)] = &[
    ("gradle", "--no-daemon"),
    ("gradlew", "--no-daemon"),
    ("bazel", "--batch"),
    ("bazelisk", "--batch"),
    ("buck2", "--no-buckd"),
    ("pants", "--no-pantsd"),
    ("mvnd", "-Dmvnd.noDaemon=true"),
    ("dotnet", "--disable-build-servers"),
    ("sbtn", ""),
];

/// Parts of the paths at which daemons listen that do work for others.
const SOCKETS: &[&str] = &[
    "docker.sock",
    "podman.sock",
    "containerd.sock",
    "crio.sock",
    "buildkitd.sock",
    "snapd.socket",
    "/systemd/private",
    "/dbus/system_bus_socket",
    "/tmux-",
    "/.X11-unix",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "SSH_AUTH_SOCK",
];

/// Enters that a program hands its work to someone else, where it does.
pub(super) fn note(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    let name = call.name;
    let begins = |words: &&&[&str]| words.iter().zip(call.args).filter(|(word, arg)| arg.is(word)).count() == words.len();
    if LOOKING.iter().any(|(names, looks)| names.contains(&name) && looks.iter().any(|words| begins(&words))) {
        return;
    }
    if let Some((who, _)) = ELSEWHERE.iter().find(|(_, names)| names.contains(&name)) {
        return reader.add_unconfinable(Elsewhere(format!("`{name}` hands its work to {who} out of the kernel's reach")));
    }
    // The Windows Subsystem for Linux has them run by Windows, which reaches all files.
    if name.to_ascii_lowercase().ends_with(".exe") {
        return reader.add_unconfinable(Elsewhere(format!("`{name}` is run by Windows out of the kernel's reach")));
    }
    let is_remote =
        |arg: &Arg| arg.text().is_some_and(|text| text == "--server" || text.starts_with("--remote") || text == "--servername");
    if matches!(name, "vim" | "nvim" | "vi") && call.args.iter().any(is_remote) {
        return reader.add_unconfinable(Elsewhere(format!("`{name}` has its work done by an editor that is already open")));
    }
    if let Some((_, without)) = BUILD_DAEMONS.iter().find(|(daemon, _)| *daemon == name) {
        let is_without = !without.is_empty() && call.args.iter().any(|arg| arg.is(without));
        if !is_without {
            let remedy = if without.is_empty() { String::new() } else { format!("; `{name} {without}` does not") };
            return reader
                .add_unconfinable(Elsewhere(format!("`{name}` hands its work to a daemon that may already be running{remedy}")));
        }
    }
    if name == "rsync" && call.args.iter().filter_map(Arg::text).any(|text| !text.starts_with('-') && text.contains(':')) {
        reader.add_unconfinable(Elsewhere("`rsync` hands its work to another machine, which may be this one".to_owned()));
    }
}

/// Enters that a text names the socket of a daemon, where it does.
pub(in crate::call::shell) fn note_sockets(reader: &mut ShellReader<'_>, text: &str) {
    if let Some(socket) = SOCKETS.iter().find(|socket| text.contains(**socket)) {
        reader.add_unconfinable(Elsewhere(format!("the command names `{socket}`, through which a daemon can be given work")));
    }
}
