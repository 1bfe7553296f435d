//! Programs that download and upload.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Access;
use crate::ports::FileKind;

const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
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
            ("b", ArgumentRole::Text),
            ("c", WRITE),
            ("d", ArgumentRole::Text),
            ("e", ArgumentRole::Text),
            ("m", ArgumentRole::Text),
            ("o", ArgumentRole::Text),
            ("r", ArgumentRole::Text),
            ("u", ArgumentRole::Text),
            ("w", ArgumentRole::Text),
            ("x", ArgumentRole::Text),
            ("A", ArgumentRole::Text),
            ("D", WRITE),
            ("E", ArgumentRole::Text),
            ("F", ArgumentRole::Text),
            ("H", ArgumentRole::Text),
            ("X", ArgumentRole::Text),
            ("cacert", ArgumentRole::Read),
            ("cert", ArgumentRole::Text),
            ("connect-timeout", ArgumentRole::Text),
            ("connect-to", ArgumentRole::Text),
            ("cookie", ArgumentRole::Text),
            ("cookie-jar", WRITE),
            ("data", ArgumentRole::Text),
            ("data-ascii", ArgumentRole::Text),
            ("data-binary", ArgumentRole::Text),
            ("data-raw", ArgumentRole::Text),
            ("data-urlencode", ArgumentRole::Text),
            ("dump-header", WRITE),
            ("form", ArgumentRole::Text),
            ("form-string", ArgumentRole::Text),
            ("header", ArgumentRole::Text),
            ("json", ArgumentRole::Text),
            ("key", ArgumentRole::Read),
            ("limit-rate", ArgumentRole::Text),
            ("max-filesize", ArgumentRole::Text),
            ("max-redirs", ArgumentRole::Text),
            ("max-time", ArgumentRole::Text),
            ("noproxy", ArgumentRole::Text),
            ("oauth2-bearer", ArgumentRole::Text),
            ("output", ArgumentRole::Text),
            ("proxy", ArgumentRole::Text),
            ("range", ArgumentRole::Text),
            ("referer", ArgumentRole::Text),
            ("request", ArgumentRole::Text),
            ("resolve", ArgumentRole::Text),
            ("retry", ArgumentRole::Text),
            ("retry-delay", ArgumentRole::Text),
            ("retry-max-time", ArgumentRole::Text),
            ("stderr", WRITE),
            ("trace", WRITE),
            ("trace-ascii", WRITE),
            ("url", ArgumentRole::Text),
            ("url-query", ArgumentRole::Text),
            ("user", ArgumentRole::Text),
            ("user-agent", ArgumentRole::Text),
            ("write-out", ArgumentRole::Text),
        ],
        operands: Operands::Rule,
        answers: &["--version", "-V", "--help", "-h"],
        rule: Some(curl),
        ..ProgramSpec::new(&["curl"])
    },
    ProgramSpec {
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
            ("t", ArgumentRole::Text),
            ("T", ArgumentRole::Text),
            ("U", ArgumentRole::Text),
            ("O", ArgumentRole::Text),
            ("body-data", ArgumentRole::Text),
            ("connect-timeout", ArgumentRole::Text),
            ("header", ArgumentRole::Text),
            ("max-redirect", ArgumentRole::Text),
            ("method", ArgumentRole::Text),
            ("output-document", ArgumentRole::Text),
            ("password", ArgumentRole::Text),
            ("post-data", ArgumentRole::Text),
            ("read-timeout", ArgumentRole::Text),
            ("referer", ArgumentRole::Text),
            ("timeout", ArgumentRole::Text),
            ("tries", ArgumentRole::Text),
            ("user", ArgumentRole::Text),
            ("user-agent", ArgumentRole::Text),
            ("wait", ArgumentRole::Text),
        ],
        operands: Operands::Rule,
        answers: &["--version", "--help"],
        rule: Some(wget),
        ..ProgramSpec::new(&["wget"])
    },
    ProgramSpec {
        valued: &[
            ("c", ArgumentRole::Text),
            ("D", ArgumentRole::Text),
            ("F", ArgumentRole::Script),
            ("J", ArgumentRole::Text),
            ("P", ArgumentRole::Text),
            ("S", ArgumentRole::Script),
            ("X", ArgumentRole::Text),
            ("i", ArgumentRole::Read),
            ("l", ArgumentRole::Text),
            ("o", ArgumentRole::Text),
        ],
        flags: "346ABCOTpqrRsv",
        operands: Operands::Rule,
        rule: Some(scp),
        ..ProgramSpec::opaque(&["scp"])
    },
    ProgramSpec {
        flags: "1246AaCfGgKkMNnqsTtVvXxYy",
        valued: &[
            ("b", ArgumentRole::Text),
            ("c", ArgumentRole::Text),
            ("D", ArgumentRole::Text),
            ("e", ArgumentRole::Text),
            ("E", WRITE),
            ("F", ArgumentRole::Script),
            ("i", ArgumentRole::Read),
            ("I", ArgumentRole::Text),
            ("J", ArgumentRole::Text),
            ("L", ArgumentRole::Text),
            ("l", ArgumentRole::Text),
            ("m", ArgumentRole::Text),
            ("o", ArgumentRole::Text),
            ("O", ArgumentRole::Text),
            ("p", ArgumentRole::Text),
            ("Q", ArgumentRole::Text),
            ("R", ArgumentRole::Text),
            ("S", WRITE),
            ("W", ArgumentRole::Text),
            ("w", ArgumentRole::Text),
        ],
        ends_at_operand: true,
        rule: Some(ssh_options),
        ..ProgramSpec::opaque(&["ssh"])
    },
    ProgramSpec {
        valued: &[("o", WRITE), ("output", WRITE)],
        ..ProgramSpec::opaque(&["http", "https", "httpie", "xh", "xhs", "grpcurl", "websocat", "ngrok"])
    },
    ProgramSpec {
        valued: &[
            ("d", ArgumentRole::Path(Access::WriteTree)),
            ("dir", ArgumentRole::Path(Access::WriteTree)),
            ("l", WRITE),
            ("log", WRITE),
        ],
        ..ProgramSpec::opaque(&["aria2c"])
    },
    ProgramSpec { valued: &[("o", WRITE), ("output", WRITE)], ..ProgramSpec::opaque(&["axel", "yt-dlp", "youtube-dl"]) },
    ProgramSpec {
        // Only checks whether a port is open.
        answers: &["-z * *", "-zv * *", "-vz * *", "-z -v * *", "-z -w1 * *", "-zw1 * *"],
        ..ProgramSpec::refused(&["nc", "ncat", "netcat"], MOVES_DATA)
    },
    ProgramSpec::refused(&["socat", "telnet", "ftp", "sftp", "lftp", "tftp"], MOVES_DATA),
];

const MOVES_DATA: &str = "moves data to and from files and programs in ways that its arguments do not show";

fn curl(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    for output in parsed.values(&["o", "output"]) {
        // `#1` stands for a part of the URL.
        if output.text().is_none_or(|text| text.contains('#')) && !output.is_certain()
            || output.text().is_some_and(|text| text.contains('#'))
        {
            reader.add_unknown(format!(
                "`{}` writes to `{}`, a name that is only known when it runs",
                call.name,
                output.display()
            ));
        } else if !output.is_text("-") {
            reader.touch(call.state, call.name, output, Access::Write);
        }
    }
    for format in parsed.values(&["w", "write-out"]) {
        if format.text().is_none_or(|text| text.contains("%output{") || text.starts_with('@')) {
            reader.add_unknown(format!("`{}` has the format `{}`, which may write to a file", call.name, format.display()));
        }
    }
    for sent in parsed.values(&["d", "data", "data-ascii", "data-binary", "json"]) {
        if let Some(file) = sent.text().and_then(|text| text.strip_prefix('@')).filter(|file| *file != "-") {
            reader.touch(call.state, call.name, &Arg::known(file), Access::Read);
        }
    }
    for address in parsed.operands.iter().copied().chain(parsed.values(&["url"])) {
        if !is_web_address(address) {
            reader.add_unknown(format!("`{}` is given `{}`, which is not a web address", call.name, address.display()));
        }
    }
}

/// `http://…`, `https://…`, or a host name.
fn is_web_address(arg: &Arg) -> bool {
    let (text, whole) = match arg {
        Arg::Known(text) => (text, true),
        Arg::One(start) => (start, false),
        Arg::Below(..) | Arg::Many(_) => return false,
    };
    match text.split_once("://") {
        Some((scheme, _)) => matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https"),
        None => {
            // The uncertain part must not be able to change the scheme.
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

fn wget(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let outputs: Vec<&Arg> = parsed.values(&["O", "output-document"]).collect();
    if outputs.is_empty() && !parsed.has(&["spider"]) {
        reader.add_unknown(format!("`{}` creates a file whose name is only known when it runs; name it with `-O`", call.name));
    }
    for output in outputs {
        if !output.is_text("-") {
            reader.touch(call.state, call.name, output, Access::Write);
        }
    }
    for address in &parsed.operands {
        if !is_web_address(address) {
            reader.add_unknown(format!("`{}` is given `{}`, which is not a web address", call.name, address.display()));
        }
    }
}

/// `host:path`, and URLs.
pub(super) fn is_remote(arg: &Arg) -> bool {
    let (Arg::Known(text) | Arg::One(text)) = arg else { return false };
    text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

/// Records the last operand as the destination of copied files, unless it is on another machine.
pub(super) fn copy_to_last(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let Some((target, sources)) = parsed.operands.split_last() else { return };
    if sources.is_empty() || is_remote(target) || target.is_text("-") {
        return;
    }
    let is_file = reader.kind(call.state, target) == Some(FileKind::File);
    reader.touch(call.state, call.name, target, if is_file { Access::Write } else { Access::WriteTree });
}

fn scp(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    ssh_options(reader, call, parsed);
    let many = parsed.operands.len() > 2 || parsed.has(&["r"]);
    match parsed.operands.as_slice() {
        [_, target] if !many && !is_remote(target) && reader.kind(call.state, target) != Some(FileKind::Directory) => {
            reader.touch(call.state, call.name, target, Access::Write);
        }
        _ => copy_to_last(reader, call, parsed),
    }
}

/// Options of `ssh` that run a program on this machine.
fn ssh_options(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    const COMMANDS: [&str; 6] =
        ["include", "knownhostscommand", "localcommand", "pkcs11provider", "proxycommand", "securitykeyprovider"];
    for option in parsed.values(&["o"]) {
        let text = option.text().map(str::to_ascii_lowercase);
        if text.is_none_or(|text| COMMANDS.iter().any(|command| text.trim_start().starts_with(command))) {
            reader.add_unknown(format!("`{}` has the setting `{}`, which may run a program", call.name, option.display()));
        }
    }
}
