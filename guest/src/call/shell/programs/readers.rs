//! Programs that look and do not touch, but for the file that an option or a last operand names.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Input, Trace};
use super::super::value::{Arg, UNKNOWN};
use super::{Call, tools};
use crate::call::effect::Deed;

/// Programs that change no file, whatever their arguments; sorted.
pub(super) const READERS: &[&str] = &[
    "[",
    "ack",
    "actionlint",
    "ag",
    "apropos",
    "arch",
    "b2sum",
    "base32",
    "basenc",
    "bat",
    "batcat",
    "bc",
    "bzcat",
    "bzgrep",
    "c++filt",
    "cal",
    "cksum",
    "clear",
    "cloc",
    "cmp",
    "col",
    "colordiff",
    "colrm",
    "column",
    "comm",
    "cowsay",
    "cut",
    "date",
    "dc",
    "delta",
    "df",
    "diff",
    "diff3",
    "diffstat",
    "difft",
    "dig",
    "dir",
    "dircolors",
    "dmesg",
    "du",
    "egrep",
    "errno",
    "exa",
    "expand",
    "expr",
    "eza",
    "factor",
    "fgrep",
    "figlet",
    "file",
    "fmt",
    "fold",
    "free",
    "fuser",
    "fzf",
    "getconf",
    "getent",
    "getfacl",
    "glow",
    "grep",
    "gron",
    "groups",
    "hadolint",
    "hd",
    "hexdump",
    "hexyl",
    "host",
    "hostname",
    "hostnamectl",
    "htop",
    "icdiff",
    "id",
    "ifconfig",
    "info",
    "iostat",
    "ip",
    "jobs",
    "join",
    "jq",
    "kill",
    "killall",
    "last",
    "ldd",
    "locale",
    "logger",
    "logname",
    "lolcat",
    "look",
    "ls",
    "lsattr",
    "lsb_release",
    "lsblk",
    "lscpu",
    "lsd",
    "lsof",
    "lspci",
    "lsusb",
    "lz4cat",
    "man",
    "md5",
    "md5sum",
    "mdcat",
    "netstat",
    "nl",
    "nm",
    "nproc",
    "nslookup",
    "numfmt",
    "objdump",
    "od",
    "otool",
    "paste",
    "pbcopy",
    "pbpaste",
    "pgrep",
    "pidof",
    "ping",
    "pkill",
    "pr",
    "printenv",
    "procs",
    "ps",
    "pstree",
    "pygmentize",
    "readelf",
    "readlink",
    "realpath",
    "rev",
    "rg",
    "ripgrep",
    "scc",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shellcheck",
    "size",
    "sleep",
    "ss",
    "stat",
    "strings",
    "stty",
    "sum",
    "sync",
    "tac",
    "tail",
    "tailspin",
    "test",
    "tldr",
    "tokei",
    "top",
    "tput",
    "tr",
    "traceroute",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uptime",
    "users",
    "vdir",
    "vmstat",
    "w",
    "wc",
    "whatis",
    "whereis",
    "which",
    "who",
    "whoami",
    "wl-copy",
    "wl-paste",
    "xclip",
    "xsel",
    "xzcat",
    "yes",
    "zcat",
    "zdiff",
    "zgrep",
    "zless",
    "zmore",
    "zstdcat",
];

/// Programs that read, and write what one of these options names: letters that take values, long names that take values,
/// those among them that name an output.
const WITH_OUTPUT: &[(&str, Spec, &[&str])] = &[
    (
        "sort",
        Spec::new("oktST", &["output", "key", "field-separator", "buffer-size", "temporary-directory", "parallel"]),
        &["o", "output"],
    ),
    ("shuf", Spec::new("oin", &["output", "input-range", "head-count"]), &["o", "output"]),
    ("less", Spec::new("oObhjkpPtTxyz", &["log-file", "LOG-FILE"]), &["o", "O", "log-file", "LOG-FILE"]),
    ("sdiff", Spec::new("o", &["output"]), &["o", "output"]),
    ("iconv", Spec::new("oft", &["output", "from-code", "to-code"]), &["o", "output"]),
    ("tree", Spec::new("oPILH", &["filelimit", "charset", "gitfile"]), &["o"]),
    ("xmllint", Spec::new("o", &["output", "xpath", "schema"]), &["o", "output"]),
    ("base64", Spec::new("owiD", &["output", "wrap", "input"]), &["o", "output"]),
    ("gpg", Spec::new("oru", &["output", "recipient", "local-user"]), &["o", "output"]),
    ("pandoc", Spec::new("ofwtr", &["output", "from", "to"]), &["o", "output"]),
];

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    trace.said = printed(call);
    if READERS.binary_search(&call.name).is_ok() {
        if call.name == "tail" || call.name == "nl" || call.name == "tac" {
            reads(trace, call, Spec::new("nc", &["lines", "bytes"]));
        }
        return true;
    }
    if let Some((_, spec, outputs)) = WITH_OUTPUT.iter().find(|(name, ..)| *name == call.name) {
        let flags = Flags::parse(call.args, *spec);
        for output in flags.values(outputs) {
            trace.touch(call.world, call.name, output, Deed::Write);
        }
        // Some of them take options from elsewhere; `sort --compress-program` runs one.
        if call.name == "sort" && flags.has(&["compress-program"]) {
            trace.execute(call.world, None);
        }
        if call.name == "gpg" && !flags.has(&["o", "output", "verify", "list-keys", "list-secret-keys", "k", "K"]) {
            trace.execute(call.world, None);
        }
        return true;
    }
    match call.name {
        "cat" | "head" | "more" | "most" => {
            reads(trace, call, Spec::new("nc", &["lines", "bytes"]));
            true
        }
        // The second operand is the output.
        "uniq" => second(trace, call, Spec::new("fsw", &["skip-fields", "skip-chars", "check-chars"])),
        "xxd" => second(trace, call, Spec::new("clogs", &["cols", "len", "seek"])),
        "ptx" => second(trace, call, Spec::default()),
        "fd" | "fdfind" => {
            let flags = Flags::parse(call.args, Spec::new("etdEjScS", &["extension", "type", "max-depth", "exclude"]));
            if flags.has(&["x", "exec", "X", "exec-batch"]) {
                let at = call.args.iter().position(|arg| matches!(arg.text.as_str(), "-x" | "--exec" | "-X" | "--exec-batch"));
                let mut command: Vec<Arg> = call.args.iter().skip(at.map_or(0, |at| at + 1)).cloned().collect();
                command.iter_mut().for_each(|arg| arg.text = arg.text.replace("{}", &UNKNOWN.to_string()));
                command.push(Arg::unknown());
                trace.run_command(call, &command);
            }
            true
        }
        "openssl" => {
            let outputs = call.args.windows(2).filter_map(|pair| match pair {
                [option, file] if matches!(option.text.as_str(), "-out" | "-keyout" | "-CAserial" | "-writerand") => Some(file),
                _ => None,
            });
            for file in outputs {
                trace.touch(call.world, call.name, file, Deed::Write);
            }
            true
        }
        "mktemp" => {
            // Without a template it makes a file in the folder for such files, which is nobody's work.
            let flags = Flags::parse(call.args, Spec::new("p", &["tmpdir", "suffix"]));
            if !flags.has(&["t", "u", "dry-run"]) && flags.value(&["p", "tmpdir"]).is_none() {
                for template in flags.operands.iter().filter(|template| !template.text.starts_with("/tmp/")) {
                    trace.touch(call.world, call.name, template, Deed::Write);
                }
            }
            if let Some(folder) = flags.value(&["p", "tmpdir"]).filter(|folder| !folder.text.starts_with("/tmp")) {
                trace.touch(call.world, call.name, folder, Deed::WriteTree);
            }
            true
        }
        "dirname" | "basename" => true,
        _ => tools::looks(call),
    }
}

/// What a reader prints, where that is certain.
fn printed(call: &Call<'_>) -> Option<String> {
    let known = call.args.iter().all(|arg| arg.pattern.is_none() && arg.is_known() && !arg.text.starts_with('-'));
    match (call.name, call.args) {
        ("cat", []) => match call.input {
            Input::Text(text) => Some(text.clone()),
            _ => None,
        },
        ("mktemp", []) => Some("/tmp/tmp.XXXXXXXXXX".to_owned()),
        ("mktemp", [flag]) if flag.text == "-d" => Some("/tmp/tmp.XXXXXXXXXX".to_owned()),
        ("dirname", [path]) if known => {
            let path = path.text.trim_end_matches('/');
            Some(path.rsplit_once('/').map_or(".", |(folder, _)| if folder.is_empty() { "/" } else { folder }).to_owned())
        }
        ("basename", [path, rest @ ..]) if known => {
            let path = path.text.trim_end_matches('/');
            let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
            let suffix = rest.first().map_or("", |suffix| suffix.text.as_str());
            let name = name.strip_suffix(suffix).filter(|name| !name.is_empty()).unwrap_or(name);
            (!super::super::value::holds_marks(name)).then(|| name.to_owned())
        }
        ("seq", [last]) if known => Some((1..=last.text.parse::<u8>().ok()?).map(|n| format!("{n}\n")).collect()),
        ("seq", [first, last]) if known => {
            Some((first.text.parse::<u8>().ok()?..=last.text.parse::<u8>().ok()?).map(|n| format!("{n}\n")).collect())
        }
        _ => None,
    }
}

fn reads(trace: &mut Trace<'_>, call: &Call<'_>, spec: Spec) {
    for file in Flags::parse(call.args, spec).operands.iter().filter(|file| file.pattern.is_none()) {
        trace.touch(call.world, call.name, file, Deed::Read);
    }
}

fn second(trace: &mut Trace<'_>, call: &Call<'_>, spec: Spec) -> bool {
    if let Some(output) = Flags::parse(call.args, spec).operands.get(1) {
        trace.touch(call.world, call.name, output, Deed::Write);
    }
    true
}

#[cfg(test)]
mod tests {
    #[test]
    fn readers_can_be_searched() {
        assert!(super::READERS.is_sorted());
    }
}
