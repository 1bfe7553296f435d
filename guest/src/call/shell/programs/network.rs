//! Programs that download and upload.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::spec::{Invocation, Operands, Parsed, Program, Role};
use crate::effects::Access;
use crate::ports::FileKind;

const WRITE: Role = Role::Path(Access::Write);

pub(super) const ROWS: &[Program] = &[
    Program {
        flags: "fgiknqsvGILNSZ#01246",
        long: &[
            "basic",
            "compressed",
            "digest",
            "fail",
            "fail-early",
            "fail-with-body",
            "get",
            "globoff",
            "head",
            "http1.0",
            "http1.1",
            "http2",
            "http2-prior-knowledge",
            "http3",
            "include",
            "insecure",
            "ipv4",
            "ipv6",
            "location",
            "location-trusted",
            "negotiate",
            "netrc",
            "no-buffer",
            "no-keepalive",
            "no-progress-meter",
            "no-sessionid",
            "ntlm",
            "parallel",
            "path-as-is",
            "post301",
            "post302",
            "post303",
            "progress-bar",
            "raw",
            "retry-all-errors",
            "retry-connrefused",
            "show-error",
            "show-headers",
            "silent",
            "ssl-reqd",
            "tcp-nodelay",
            "tlsv1.2",
            "tlsv1.3",
            "verbose",
        ],
        valued: &[
            ("b", Role::Text),
            ("c", WRITE),
            ("d", Role::Text),
            ("e", Role::Text),
            ("m", Role::Text),
            ("o", Role::Text),
            ("r", Role::Text),
            ("u", Role::Text),
            ("w", Role::Text),
            ("x", Role::Text),
            ("A", Role::Text),
            ("D", WRITE),
            ("E", Role::Text),
            ("F", Role::Text),
            ("H", Role::Text),
            ("X", Role::Text),
            ("cacert", Role::Read),
            ("cert", Role::Text),
            ("connect-timeout", Role::Text),
            ("connect-to", Role::Text),
            ("cookie", Role::Text),
            ("cookie-jar", WRITE),
            ("data", Role::Text),
            ("data-ascii", Role::Text),
            ("data-binary", Role::Text),
            ("data-raw", Role::Text),
            ("data-urlencode", Role::Text),
            ("dump-header", WRITE),
            ("form", Role::Text),
            ("form-string", Role::Text),
            ("header", Role::Text),
            ("json", Role::Text),
            ("key", Role::Read),
            ("limit-rate", Role::Text),
            ("max-filesize", Role::Text),
            ("max-redirs", Role::Text),
            ("max-time", Role::Text),
            ("noproxy", Role::Text),
            ("oauth2-bearer", Role::Text),
            ("output", Role::Text),
            ("proxy", Role::Text),
            ("range", Role::Text),
            ("referer", Role::Text),
            ("request", Role::Text),
            ("resolve", Role::Text),
            ("retry", Role::Text),
            ("retry-delay", Role::Text),
            ("retry-max-time", Role::Text),
            ("stderr", WRITE),
            ("trace", WRITE),
            ("trace-ascii", WRITE),
            ("url", Role::Text),
            ("url-query", Role::Text),
            ("user", Role::Text),
            ("user-agent", Role::Text),
            ("write-out", Role::Text),
        ],
        operands: Operands::Rule,
        answers: &["--version", "-V", "--help", "-h"],
        rule: Some(curl),
        ..Program::new(&["curl"])
    },
    Program {
        flags: "dqvS46",
        long: &[
            "content-on-error",
            "inet4-only",
            "inet6-only",
            "no-cache",
            "no-check-certificate",
            "no-cookies",
            "no-hsts",
            "no-proxy",
            "no-verbose",
            "quiet",
            "server-response",
            "show-progress",
            "spider",
            "verbose",
        ],
        valued: &[
            ("t", Role::Text),
            ("T", Role::Text),
            ("U", Role::Text),
            ("O", Role::Text),
            ("body-data", Role::Text),
            ("connect-timeout", Role::Text),
            ("header", Role::Text),
            ("max-redirect", Role::Text),
            ("method", Role::Text),
            ("output-document", Role::Text),
            ("password", Role::Text),
            ("post-data", Role::Text),
            ("read-timeout", Role::Text),
            ("referer", Role::Text),
            ("timeout", Role::Text),
            ("tries", Role::Text),
            ("user", Role::Text),
            ("user-agent", Role::Text),
            ("wait", Role::Text),
        ],
        operands: Operands::Rule,
        answers: &["--version", "--help"],
        rule: Some(wget),
        ..Program::new(&["wget"])
    },
    Program {
        valued: &[
            ("c", Role::Text),
            ("D", Role::Text),
            ("F", Role::Script),
            ("J", Role::Text),
            ("P", Role::Text),
            ("S", Role::Script),
            ("X", Role::Text),
            ("i", Role::Read),
            ("l", Role::Text),
            ("o", Role::Text),
        ],
        flags: "346ABCOTpqrRsv",
        operands: Operands::Rule,
        rule: Some(scp),
        ..Program::opaque(&["scp"])
    },
    Program {
        flags: "1246AaCfGgKkMNnqsTtVvXxYy",
        valued: &[
            ("b", Role::Text),
            ("c", Role::Text),
            ("D", Role::Text),
            ("e", Role::Text),
            ("E", WRITE),
            ("F", Role::Script),
            ("i", Role::Read),
            ("I", Role::Text),
            ("J", Role::Text),
            ("L", Role::Text),
            ("l", Role::Text),
            ("m", Role::Text),
            ("o", Role::Text),
            ("O", Role::Text),
            ("p", Role::Text),
            ("Q", Role::Text),
            ("R", Role::Text),
            ("S", WRITE),
            ("W", Role::Text),
            ("w", Role::Text),
        ],
        ends_at_operand: true,
        rule: Some(ssh_options),
        ..Program::opaque(&["ssh"])
    },
    Program {
        valued: &[("o", WRITE), ("output", WRITE)],
        ..Program::opaque(&["http", "https", "httpie", "xh", "xhs", "grpcurl", "websocat", "ngrok"])
    },
    Program {
        valued: &[("d", Role::Path(Access::WriteTree)), ("dir", Role::Path(Access::WriteTree)), ("l", WRITE), ("log", WRITE)],
        ..Program::opaque(&["aria2c"])
    },
    Program { valued: &[("o", WRITE), ("output", WRITE)], ..Program::opaque(&["axel", "yt-dlp", "youtube-dl"]) },
    Program {
        // Whether a port is open, and nothing else.
        answers: &["-z * *", "-zv * *", "-vz * *", "-z -v * *", "-z -w1 * *", "-zw1 * *"],
        ..Program::refused(&["nc", "ncat", "netcat"], MOVES_DATA)
    },
    Program::refused(&["socat", "telnet", "ftp", "sftp", "lftp", "tftp"], MOVES_DATA),
];

const MOVES_DATA: &str = "moves data to and from files and programs in ways that its arguments do not show";

fn curl(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    for output in parsed.values(&["o", "output"]) {
        // `#1` stands for a piece of the address.
        if output.text().is_none_or(|text| text.contains('#')) && !output.is_certain()
            || output.text().is_some_and(|text| text.contains('#'))
        {
            reader.unknown(format!("`{}` writes to `{}`, a name that is only known when it runs", call.name, output.display()));
        } else if !output.is("-") {
            reader.touch(call.state, call.name, output, Access::Write);
        }
    }
    for format in parsed.values(&["w", "write-out"]) {
        if format.text().is_none_or(|text| text.contains("%output{") || text.starts_with('@')) {
            reader.unknown(format!("`{}` has the format `{}`, which may write to a file", call.name, format.display()));
        }
    }
    for sent in parsed.values(&["d", "data", "data-ascii", "data-binary", "json"]) {
        if let Some(file) = sent.text().and_then(|text| text.strip_prefix('@')).filter(|file| *file != "-") {
            reader.touch(call.state, call.name, &Arg::known(file), Access::Read);
        }
    }
    for address in parsed.operands.iter().copied().chain(parsed.values(&["url"])) {
        if !is_web_address(address) {
            reader.unknown(format!("`{}` is given `{}`, which is not a web address", call.name, address.display()));
        }
    }
}

/// `http://…`, `https://…`, or a host's name.
fn is_web_address(arg: &Arg) -> bool {
    let (text, whole) = match arg {
        Arg::Known(text) => (text, true),
        Arg::One(start) => (start, false),
        Arg::Below(..) | Arg::Many(_) => return false,
    };
    match text.split_once("://") {
        Some((scheme, _)) => matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https"),
        None => {
            // What is not certain must not be able to change the scheme.
            let host = text.split(['/', ':', '?']).next().unwrap_or_default();
            let is_ended = whole || host.len() < text.len();
            let guessed = ["ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3."];
            is_ended
                && !host.is_empty()
                && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
                && !guessed.iter().any(|guess| host.to_ascii_lowercase().starts_with(guess))
                && !matches!(host.to_ascii_lowercase().as_str(), "file" | "ftp" | "scp" | "sftp" | "smb" | "telnet")
        }
    }
}

fn wget(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let outputs: Vec<&Arg> = parsed.values(&["O", "output-document"]).collect();
    if outputs.is_empty() && !parsed.has(&["spider"]) {
        reader.unknown(format!("`{}` makes a file whose name is only known when it runs; name it with `-O`", call.name));
    }
    for output in outputs {
        if !output.is("-") {
            reader.touch(call.state, call.name, output, Access::Write);
        }
    }
    for address in &parsed.operands {
        if !is_web_address(address) {
            reader.unknown(format!("`{}` is given `{}`, which is not a web address", call.name, address.display()));
        }
    }
}

/// `host:path`, and addresses.
pub(super) fn is_remote(arg: &Arg) -> bool {
    let (Arg::Known(text) | Arg::One(text)) = arg else { return false };
    text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

/// Enters the last operand as what files are copied to, unless it is on another machine.
pub(super) fn copy_to_last(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let Some((target, sources)) = parsed.operands.split_last() else { return };
    if sources.is_empty() || is_remote(target) || target.is("-") {
        return;
    }
    let is_file = reader.kind(call.state, target) == Some(FileKind::File);
    reader.touch(call.state, call.name, target, if is_file { Access::Write } else { Access::WriteTree });
}

fn scp(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    ssh_options(reader, call, parsed);
    let many = parsed.operands.len() > 2 || parsed.has(&["r"]);
    match parsed.operands.as_slice() {
        [_, target] if !many && !is_remote(target) && reader.kind(call.state, target) != Some(FileKind::Directory) => {
            reader.touch(call.state, call.name, target, Access::Write);
        }
        _ => copy_to_last(reader, call, parsed),
    }
}

/// Settings of `ssh` that run a program on this machine.
fn ssh_options(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    const COMMANDS: [&str; 6] =
        ["include", "knownhostscommand", "localcommand", "pkcs11provider", "proxycommand", "securitykeyprovider"];
    for option in parsed.values(&["o"]) {
        let text = option.text().map(str::to_ascii_lowercase);
        if text.is_none_or(|text| COMMANDS.iter().any(|command| text.trim_start().starts_with(command))) {
            reader.unknown(format!("`{}` has the setting `{}`, which may run a program", call.name, option.display()));
        }
    }
}
