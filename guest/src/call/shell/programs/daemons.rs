//! Programs that delegate their work: to a daemon, a server, another terminal, or a later time. The kernel confines a command and
//! everything that the command starts, and none of these delegates is started by the command.
//!
//! They are recognised by name, and by the sockets on which daemons listen. A program that connects to a daemon by a path
//! constructed at run time is not detected here.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::spec::Invocation;
use crate::effects::Unconfinable::Elsewhere;

/// What does the work, with the programs that delegate to it.
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
    ("the scheduler, which runs it later", &["at", "batch", "crontab", "anacron", "fcron", "fcrontab"]),
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
        "the program that has the keyboard focus or to the window manager",
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
    ("another machine, which may be this one", &["ssh", "scp", "sftp", "mosh", "autossh", "sshpass"]),
    ("an agent program with its own permissions", &["claude", "codex", "gemini", "opencode", "cursor-agent", "copilot", "aider"]),
];

/// Commands that only query a daemon, by their first words. They do not delegate any work.
const DAEMON_QUERIES: &[(&[&str], &[&[&str]])] = &[
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

/// Build tools whose daemon may already be running, each with the option that avoids the daemon: the remedy.
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

/// Parts of the paths of sockets on which such daemons listen.
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

/// Records that a program delegates its work, if it does.
pub(super) fn note(reader: &mut ShellReader<'_>, call: &Invocation<'_>) {
    let name = call.name;
    let begins = |words: &&&[&str]| words.iter().zip(call.args).filter(|(word, arg)| arg.is_text(word)).count() == words.len();
    if DAEMON_QUERIES.iter().any(|(names, looks)| names.contains(&name) && looks.iter().any(|words| begins(&words))) {
        return;
    }
    if let Some((who, _)) = ELSEWHERE.iter().find(|(_, names)| names.contains(&name)) {
        return reader.add_unconfinable(Elsewhere(format!("`{name}` delegates its work to {who}, where it is not confined")));
    }
    // The Windows Subsystem for Linux has Windows run these, and Windows has access to all files.
    if name.to_ascii_lowercase().ends_with(".exe") {
        return reader.add_unconfinable(Elsewhere(format!("`{name}` is run by Windows, where it is not confined")));
    }
    let is_remote =
        |arg: &Arg| arg.text().is_some_and(|text| text == "--server" || text.starts_with("--remote") || text == "--servername");
    if matches!(name, "vim" | "nvim" | "vi") && call.args.iter().any(is_remote) {
        return reader.add_unconfinable(Elsewhere(format!("`{name}` delegates its work to an editor that is already open")));
    }
    if let Some((_, without)) = BUILD_DAEMONS.iter().find(|(daemon, _)| *daemon == name) {
        let is_without = !without.is_empty() && call.args.iter().any(|arg| arg.is_text(without));
        if !is_without {
            let remedy = if without.is_empty() { String::new() } else { format!("; `{name} {without}` does not") };
            return reader.add_unconfinable(Elsewhere(format!(
                "`{name}` delegates its work to a daemon that may already be running{remedy}"
            )));
        }
    }
    if name == "rsync" && call.args.iter().filter_map(Arg::text).any(|text| !text.starts_with('-') && text.contains(':')) {
        reader.add_unconfinable(Elsewhere("`rsync` delegates its work to another machine, which may be this one".to_owned()));
    }
}

/// Records that a text names the socket of a daemon, if it does.
pub(in crate::call::shell) fn note_sockets(reader: &mut ShellReader<'_>, text: &str) {
    if let Some(socket) = SOCKETS.iter().find(|socket| text.contains(**socket)) {
        reader.add_unconfinable(Elsewhere(format!(
            "the command names `{socket}`, through which it can delegate work to a daemon that is not confined"
        )));
    }
}
