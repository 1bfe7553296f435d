//! Programs that reach beyond the command: other users, schedulers, services, devices; and programs that only display something.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};

pub(super) const ROWS: &[ProgramSpec] = &[
    // Other users: the identity determines what is changed, but the command that they run is still analysed.
    ProgramSpec {
        flags: "AbEHikKnPS",
        valued: &[
            ("g", ArgumentRole::Text),
            ("h", ArgumentRole::Text),
            ("p", ArgumentRole::Text),
            ("u", ArgumentRole::Text),
            ("group", ArgumentRole::Text),
            ("user", ArgumentRole::Text),
        ],
        long: &["login", "non-interactive", "preserve-env", "set-home", "stdin"],
        ends_at_operand: true,
        operands: Operands::Rule,
        answers: &["--version", "-V", "-v", "-l"],
        rule: Some(as_user),
        ..ProgramSpec::new(&["sudo", "doas"])
    },
    ProgramSpec::refused(&["su", "runuser", "pkexec", "machinectl", "gosu", "su-exec"], "runs a program as another user"),
    // Later, or in another place.
    ProgramSpec { answers: &["-l"], ..ProgramSpec::refused(&["at"], LATER) },
    ProgramSpec { answers: &["-l"], ..ProgramSpec::refused(&["crontab"], LATER) },
    ProgramSpec::refused(&["batch", "anacron", "fcron"], LATER),
    ProgramSpec { answers: &[""], ..ProgramSpec::refused(&["atq"], LATER) },
    ProgramSpec::refused(&["systemd-run", "systemd-nspawn", "daemonize", "start-stop-daemon", "supervisorctl", "pm2"], LATER),
    ProgramSpec {
        answers: &[
            "--version",
            "status",
            "status *",
            "status * --no-pager",
            "--no-pager status *",
            "list-units",
            "is-active *",
            "is-enabled *",
            "show *",
            "cat *",
            "--failed",
        ],
        ..ProgramSpec::refused(&["systemctl", "service", "initctl"], "starts programs that outlive the command")
    },
    ProgramSpec { answers: &["list"], ..ProgramSpec::refused(&["launchctl"], "starts programs that outlive the command") },
    ProgramSpec { answers: &["ls", "-V", "list-sessions", "list-windows"], ..ProgramSpec::refused(&["tmux"], TERMINAL) },
    ProgramSpec { answers: &["-ls", "-list", "-v"], ..ProgramSpec::refused(&["screen"], TERMINAL) },
    ProgramSpec::refused(&["zellij", "byobu", "dtach", "abduco", "expect", "autoexpect"], TERMINAL),
    // Devices and file systems.
    ProgramSpec { answers: &["", "-l"], ..ProgramSpec::refused(&["mount"], DEVICES) },
    ProgramSpec::refused(
        &[
            "umount",
            "losetup",
            "mkfs",
            "mkfs.ext4",
            "mkfs.xfs",
            "mkfs.vfat",
            "mkswap",
            "fdisk",
            "parted",
            "fusermount",
            "diskutil",
            "hdiutil",
            "swapon",
            "swapoff",
            "insmod",
            "modprobe",
            "kexec",
            "bindfs",
            "sshfs",
            "overlayfs",
        ],
        DEVICES,
    ),
    ProgramSpec::refused(
        &[
            "chroot",
            "unshare",
            "nsenter",
            "setpriv",
            "setarch",
            "linux32",
            "linux64",
            "bwrap",
            "firejail",
            "proot",
            "fakeroot",
            "fakechroot",
        ],
        "runs a program in an environment of its own, whose paths are not those of the workspace",
    ),
    ProgramSpec::refused(&["gdb", "lldb"], "runs programs and commands of its own"),
    // Output for a person to look at or listen to.
    ProgramSpec::opaque(&[
        "open",
        "xdg-open",
        "code",
        "code-insiders",
        "cursor",
        "subl",
        "idea",
        "say",
        "pbcopy",
        "xclip",
        "xsel",
        "wl-copy",
        "wl-paste",
        "notify-send",
        "terminal-notifier",
        "reset",
        "clear-cache",
    ]),
];

const LATER: &str = "runs a program later, when its changes are no longer detected";
const TERMINAL: &str = "runs programs in another terminal";
const DEVICES: &str = "changes what paths lead to";

fn as_user(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    reader.add_unknown(format!("`{}` runs a program as another user", call.name));
    let argv: Vec<Arg> =
        parsed.operands.iter().skip_while(|arg| arg.text().is_some_and(is_assignment)).map(|arg| (*arg).clone()).collect();
    if !argv.is_empty() {
        reader.run_program(&argv, call.state, call.input);
    }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}
