//! Programs that fetch, send and mirror.

use super::super::flags::{Flags, Spec};
use super::super::trace::{Folder, Trace};
use super::super::value::Arg;
use super::{Call, copy};
use crate::call::effect::Deed;

pub(super) fn run(trace: &mut Trace<'_>, call: &Call<'_>) -> bool {
    match call.name {
        "curl" => curl(trace, call),
        "wget" => wget(trace, call),
        "rsync" => rsync(trace, call),
        "scp" => scp(trace, call),
        "aria2c" | "axel" | "yt-dlp" => trace.touch_path(call.world, call.name, ".", Deed::WriteTree),
        _ => return false,
    }
    true
}

fn curl(trace: &mut Trace<'_>, call: &Call<'_>) {
    let spec = Spec::new(
        "oDcbdXHuAeFTmKwxrzCEtUyYPQ",
        &[
            "output",
            "dump-header",
            "cookie-jar",
            "cookie",
            "data",
            "request",
            "header",
            "user",
            "user-agent",
            "referer",
            "form",
            "upload-file",
            "max-time",
            "config",
            "write-out",
            "proxy",
            "range",
            "time-cond",
            "continue-at",
            "cert",
            "output-dir",
            "data-raw",
            "data-binary",
            "data-urlencode",
            "connect-timeout",
            "retry",
            "retry-delay",
            "trace",
            "trace-ascii",
            "stderr",
            "etag-save",
            "hsts",
            "alt-svc",
            "libcurl",
            "json",
            "url",
            "cacert",
            "key",
            "resolve",
            "max-redirs",
            "limit-rate",
        ],
    );
    let flags = Flags::parse(call.args, spec);
    let folder = flags.value(&["output-dir"]);
    let placed = |arg: &Arg| match folder {
        Some(folder) => Arg::plain(format!("{}/{}", folder.text, arg.text)),
        None => arg.clone(),
    };
    for output in flags.values(&["o", "output"]) {
        if output.text != "-" {
            trace.touch(call.world, call.name, &placed(output), Deed::Write);
        }
    }
    for output in flags.values(&[
        "D",
        "dump-header",
        "c",
        "cookie-jar",
        "trace",
        "trace-ascii",
        "stderr",
        "etag-save",
        "hsts",
        "alt-svc",
        "libcurl",
    ]) {
        trace.touch(call.world, call.name, output, Deed::Write);
    }
    if flags.has(&["K", "config"]) {
        trace.unknown(format!("`{}` takes its options from a file", call.shown()));
    }
    if flags.has(&["O", "remote-name", "remote-name-all", "J", "remote-header-name"]) {
        for url in flags.operands.iter().chain(flags.values(&["url"])) {
            let name = remote_name(&url.text);
            if flags.has(&["J", "remote-header-name"]) || name.is_empty() || !url.is_known() {
                let folder = folder.cloned().unwrap_or_else(|| Arg::plain("."));
                trace.touch(call.world, call.name, &folder, Deed::WriteTree);
            } else {
                trace.touch(call.world, call.name, &placed(&Arg::plain(name)), Deed::Write);
            }
        }
    }
}

/// The file name at the end of an address.
fn remote_name(url: &str) -> &str {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split_once('/').map_or("", |(_, path)| path.rsplit('/').next().unwrap_or_default())
}

fn wget(trace: &mut Trace<'_>, call: &Call<'_>) {
    let spec = Spec::new(
        "OoaPieUtTwQABIRDl",
        &[
            "output-document",
            "output-file",
            "append-output",
            "directory-prefix",
            "input-file",
            "execute",
            "user-agent",
            "header",
            "tries",
            "timeout",
            "wait",
            "post-data",
            "post-file",
            "method",
            "body-data",
            "save-cookies",
            "load-cookies",
            "warc-file",
            "user",
            "password",
        ],
    );
    let flags = Flags::parse(call.args, spec);
    for log in flags.values(&["o", "output-file", "a", "append-output", "save-cookies", "warc-file"]) {
        trace.touch(call.world, call.name, log, Deed::Write);
    }
    if flags.has(&["e", "execute", "use-askpass"]) {
        trace.unknown(format!("`{}` runs a command of its own", call.shown()));
    }
    if flags.has(&["spider"]) {
        return;
    }
    if let Some(output) = flags.value(&["O", "output-document"]) {
        return trace.touch(call.world, call.name, output, Deed::Write);
    }
    let folder = flags.value(&["P", "directory-prefix"]).cloned();
    let whole = flags.has(&[
        "r",
        "recursive",
        "m",
        "mirror",
        "p",
        "page-requisites",
        "i",
        "input-file",
        "x",
        "force-directories",
        "content-disposition",
    ]);
    for url in &flags.operands {
        let name = remote_name(&url.text);
        let name = if name.is_empty() { "index.html" } else { name };
        match (&folder, whole || !url.is_known()) {
            (folder, true) => {
                trace.touch(call.world, call.name, &folder.clone().unwrap_or_else(|| Arg::plain(".")), Deed::WriteTree)
            }
            (Some(folder), false) => {
                trace.touch(call.world, call.name, &Arg::plain(format!("{}/{name}", folder.text)), Deed::Write)
            }
            (None, false) => trace.touch(call.world, call.name, &Arg::plain(name), Deed::Write),
        }
    }
    if whole && flags.operands.is_empty() {
        trace.touch(call.world, call.name, &folder.unwrap_or_else(|| Arg::plain(".")), Deed::WriteTree);
    }
}

/// `host:path`, and addresses.
fn is_remote(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'))
}

fn rsync(trace: &mut Trace<'_>, call: &Call<'_>) {
    let spec = Spec::new(
        "efTBM",
        &[
            "rsh",
            "exclude",
            "include",
            "exclude-from",
            "include-from",
            "files-from",
            "filter",
            "log-file",
            "backup-dir",
            "suffix",
            "temp-dir",
            "partial-dir",
            "compare-dest",
            "copy-dest",
            "link-dest",
            "chmod",
            "chown",
            "bwlimit",
            "timeout",
            "port",
            "rsync-path",
            "max-size",
            "min-size",
            "write-batch",
            "only-write-batch",
            "info",
            "out-format",
        ],
    );
    let flags = Flags::parse(call.args, spec);
    for file in flags.values(&["log-file", "write-batch", "only-write-batch"]) {
        trace.touch(call.world, call.name, file, Deed::Write);
    }
    if flags.has(&["n", "dry-run", "list-only"]) {
        return;
    }
    if flags.has(&["e", "rsh", "rsync-path"]) {
        trace.execute(call.world, None);
    }
    let Some((target, sources)) = flags.operands.split_last() else { return };
    if sources.is_empty() {
        return;
    }
    if flags.has(&["remove-source-files"]) {
        trace.touch_all(call, sources, Deed::DeleteTree);
    }
    for folder in flags.values(&["backup-dir"]) {
        trace.touch(call.world, call.name, folder, Deed::WriteTree);
    }
    if is_remote(&target.text) {
        return trace.execute(call.world, None);
    }
    if flags.has(&["delete", "delete-before", "delete-during", "delete-after", "delete-excluded", "del"]) {
        trace.touch(call.world, call.name, target, Deed::DeleteTree);
    }
    let single_file = sources.len() == 1
        && sources.first().is_some_and(|source| {
            source.is_known()
                && source.pattern.is_none()
                && !source.text.ends_with('/')
                && trace.folder(call.world, &source.text) == Folder::No
                && !is_remote(&source.text)
        });
    if single_file && target.is_known() && !target.text.ends_with('/') && trace.folder(call.world, &target.text) == Folder::No {
        return trace.touch(call.world, call.name, target, Deed::Write);
    }
    // Without a trailing slash a source folder keeps its name in the target.
    for source in sources {
        let named = source.is_known()
            && source.pattern.is_none()
            && !source.text.ends_with('/')
            && !matches!(copy::base_name(&source.text), "." | "..");
        if named && target.is_known() && !flags.has(&["delete", "R", "relative"]) {
            let inside = format!("{}/{}", target.text.trim_end_matches('/'), copy::base_name(&source.text));
            trace.touch(call.world, call.name, &Arg::plain(inside), Deed::WriteTree);
            trace.touch(call.world, call.name, target, Deed::MakeFolder);
        } else {
            trace.touch(call.world, call.name, target, Deed::WriteTree);
        }
    }
}

fn scp(trace: &mut Trace<'_>, call: &Call<'_>) {
    let flags = Flags::parse(call.args, Spec::new("cFiJloPSX", &[]));
    let Some((target, sources)) = flags.operands.split_last() else { return };
    if flags.has(&["S", "o", "F"]) || is_remote(&target.text) {
        trace.execute(call.world, None);
    }
    if is_remote(&target.text) {
        return;
    }
    let inside = sources.len() > 1 || trace.folder(call.world, &target.text) != Folder::No;
    trace.touch(call.world, call.name, target, if inside || flags.has(&["r"]) { Deed::WriteTree } else { Deed::Write });
}
