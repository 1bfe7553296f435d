//! Programs that inspect the machine, its processes and its network, or send a signal: none of them changes a file.

use super::tollgate::control;
use super::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;

const fn texts(names: &'static [&'static str]) -> ProgramSpec {
    ProgramSpec { operands: Operands::All(ArgumentRole::Text), ..ProgramSpec::reader(names) }
}

const fn strict_texts(names: &'static [&'static str]) -> ProgramSpec {
    ProgramSpec { operands: Operands::All(ArgumentRole::Text), ..ProgramSpec::new(names) }
}

pub(super) const ROWS: &[ProgramSpec] = &[
    texts(&["whoami", "id", "groups", "logname", "users", "who", "w", "last", "getent"]),
    texts(&["ps", "pgrep", "pidof", "pstree", "uptime", "free", "vmstat", "nproc", "lscpu", "lsblk", "netstat"]),
    texts(&["printenv", "locale", "getconf", "tty", "cal", "clear", "sync", "pbpaste"]),
    // A signal ends a process and does not change any files.
    ProgramSpec { rule: Some(ends_tollgate), ..texts(&["kill", "pkill", "killall", "killall5", "skill", "fuser", "xkill"]) },
    texts(&["ping", "ping6", "dig", "host", "nslookup", "traceroute"]),
    // The programs below can also set what they show, or write it to a file.
    ProgramSpec {
        flags: "asnrvmpio",
        long: &["all", "kernel-name", "nodename", "kernel-release", "machine", "operating-system", "version"],
        ..ProgramSpec::new(&["uname"])
    },
    ProgramSpec {
        flags: "fsdiIAy",
        long: &["fqdn", "short", "ip-address", "all-ip-addresses", "version"],
        ..ProgramSpec::new(&["hostname"])
    },
    ProgramSpec::new(&["arch"]),
    ProgramSpec {
        flags: "uRjn",
        long: &["utc", "universal", "rfc-email", "rfc-2822", "debug", "version"],
        valued: &[
            ("d", ArgumentRole::Text),
            ("date", ArgumentRole::Text),
            ("r", ArgumentRole::Text),
            ("reference", ArgumentRole::Read),
            ("v", ArgumentRole::Text),
        ],
        attached: &[("I", ArgumentRole::Text), ("iso-8601", ArgumentRole::Text), ("rfc-3339", ArgumentRole::Text)],
        operands: Operands::All(ArgumentRole::Text),
        rule: Some(only_formats),
        ..ProgramSpec::new(&["date"])
    },
    ProgramSpec { valued: &[("T", ArgumentRole::Text)], ..strict_texts(&["tput"]) },
    ProgramSpec {
        flags: "ntPlbUR",
        valued: &[("p", ArgumentRole::Text), ("u", ArgumentRole::Text), ("c", ArgumentRole::Text)],
        attached: &[("i", ArgumentRole::Text), ("F", ArgumentRole::Text)],
        operands: Operands::All(ArgumentRole::Read),
        ..ProgramSpec::new(&["lsof"])
    },
    ProgramSpec {
        flags: "nraloempistudwx460bHO",
        long: &["numeric", "all", "listening", "processes", "tcp", "udp", "unix", "summary", "extended", "no-header"],
        ..strict_texts(&["ss"])
    },
    // These create a folder for their settings in the user's home, whatever the options.
    ProgramSpec::opaque(&["top", "htop", "btop"]),
    // A page from a file of the workspace is processed by formatters that obey instructions in it.
    ProgramSpec {
        flags: "kfaw",
        operands: Operands::All(ArgumentRole::Text),
        rule: Some(only_names),
        ..ProgramSpec::new(&["man", "apropos", "whatis"])
    },
    // Their languages have no file access; what they read as input is arithmetic.
    ProgramSpec {
        flags: "lqsw",
        long: &["mathlib", "quiet", "version"],
        operands: Operands::All(ArgumentRole::Read),
        ..ProgramSpec::new(&["bc"])
    },
];

/// `pkill tollgate`, `kill $(pidof tollgate)`.
fn ends_tollgate(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let is_named = |arg: &Arg| arg.text().is_some_and(|text| text.to_ascii_lowercase().contains("tollgate"));
    let is_uncertain = |arg: &Arg| !arg.is_certain();
    if call.args.iter().any(is_named) || (reader.names_tollgate && call.args.iter().any(is_uncertain)) {
        control(reader, call.state, format!("{} of Tollgate", call.name));
    }
}

/// `date +FORMAT` shows the time; any other operand sets it.
fn only_formats(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let is_format = |arg: &&&Arg| matches!(arg, Arg::Known(text) | Arg::One(text) if text.starts_with('+'));
    if let Some(other) = parsed.operands.iter().find(|arg| !is_format(arg)) {
        reader.add_unknown(format!("`{}` may set the clock to `{}`", call.name, other.display()));
    }
}

fn only_names(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let is_name = |arg: &&&Arg| arg.text().is_some_and(|text| !text.contains('/'));
    if let Some(other) = parsed.operands.iter().find(|arg| !is_name(arg)) {
        reader.add_unknown(format!("`{}` shows `{}`, which may be a file of its own", call.name, other.display()));
    }
}
