//! Programs that inspect the machine, its processes and its network, or send a signal: none changes a file.

use super::tollgate::control;
use super::{Invocation, Operands, Parsed, Program, Role};
use crate::call::shell::reader::ShellReader;
use crate::call::shell::reader::arg::Arg;

const fn texts(names: &'static [&'static str]) -> Program {
    Program { operands: Operands::All(Role::Text), ..Program::reader(names) }
}

const fn strict_texts(names: &'static [&'static str]) -> Program {
    Program { operands: Operands::All(Role::Text), ..Program::new(names) }
}

pub(super) const ROWS: &[Program] = &[
    texts(&["whoami", "id", "groups", "logname", "users", "who", "w", "last", "getent"]),
    texts(&["ps", "pgrep", "pidof", "pstree", "uptime", "free", "vmstat", "nproc", "lscpu", "lsblk", "netstat"]),
    texts(&["printenv", "locale", "getconf", "tty", "cal", "clear", "sync", "pbpaste"]),
    // A signal ends a process and leaves files as they are.
    Program { rule: Some(ends_tollgate), ..texts(&["kill", "pkill", "killall", "killall5", "skill", "fuser", "xkill"]) },
    texts(&["ping", "ping6", "dig", "host", "nslookup", "traceroute"]),
    // The programs below can set what they show, or write it down.
    Program {
        flags: "asnrvmpio",
        long: &["all", "kernel-name", "nodename", "kernel-release", "machine", "operating-system", "version"],
        ..Program::new(&["uname"])
    },
    Program {
        flags: "fsdiIAy",
        long: &["fqdn", "short", "ip-address", "all-ip-addresses", "version"],
        ..Program::new(&["hostname"])
    },
    Program::new(&["arch"]),
    Program {
        flags: "uRjn",
        long: &["utc", "universal", "rfc-email", "rfc-2822", "debug", "version"],
        valued: &[("d", Role::Text), ("date", Role::Text), ("r", Role::Text), ("reference", Role::Read), ("v", Role::Text)],
        attached: &[("I", Role::Text), ("iso-8601", Role::Text), ("rfc-3339", Role::Text)],
        operands: Operands::All(Role::Text),
        rule: Some(only_formats),
        ..Program::new(&["date"])
    },
    Program { valued: &[("T", Role::Text)], ..strict_texts(&["tput"]) },
    Program {
        flags: "ntPlbUR",
        valued: &[("p", Role::Text), ("u", Role::Text), ("c", Role::Text)],
        attached: &[("i", Role::Text), ("F", Role::Text)],
        operands: Operands::All(Role::Read),
        ..Program::new(&["lsof"])
    },
    Program {
        flags: "nraloempistudwx460bHO",
        long: &["numeric", "all", "listening", "processes", "tcp", "udp", "unix", "summary", "extended", "no-header"],
        ..strict_texts(&["ss"])
    },
    // Makes a folder for its settings in the user's home, whatever its options.
    Program::opaque(&["top", "htop", "btop"]),
    // A page that is a file of the workspace goes through formatters that obey it.
    Program {
        flags: "kfaw",
        operands: Operands::All(Role::Text),
        rule: Some(only_names),
        ..Program::new(&["man", "apropos", "whatis"])
    },
    // Their languages have no files; what is read as input is arithmetic.
    Program {
        flags: "lqsw",
        long: &["mathlib", "quiet", "version"],
        operands: Operands::All(Role::Read),
        ..Program::new(&["bc"])
    },
];

/// `pkill tollgate`, `kill $(pidof tollgate)`.
fn ends_tollgate(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &Parsed<'_>) {
    let is_named = |arg: &Arg| arg.text().is_some_and(|text| text.to_ascii_lowercase().contains("tollgate"));
    let is_uncertain = |arg: &Arg| !arg.is_certain();
    if call.args.iter().any(is_named) || (reader.names_tollgate && call.args.iter().any(is_uncertain)) {
        control(reader, call.state, format!("{} of Tollgate", call.name));
    }
}

/// `date +FORMAT` shows the time, any other operand sets it.
fn only_formats(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let is_format = |arg: &&&Arg| matches!(arg, Arg::Known(text) | Arg::One(text) if text.starts_with('+'));
    if let Some(other) = parsed.operands.iter().find(|arg| !is_format(arg)) {
        reader.unknown(format!("`{}` may set the clock to `{}`", call.name, other.display()));
    }
}

fn only_names(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let is_name = |arg: &&&Arg| arg.text().is_some_and(|text| !text.contains('/'));
    if let Some(other) = parsed.operands.iter().find(|arg| !is_name(arg)) {
        reader.unknown(format!("`{}` shows `{}`, which may be a file of its own", call.name, other.display()));
    }
}
