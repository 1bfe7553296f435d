//! The rules, grouped by what they check: the words of a command, a path, or the text of a call.

use crate::tollgate::hook::types::Operation;

/// A rule that a call breaks.
pub struct Finding {
    pub rule: &'static str,
    /// How strict it is unless the settings say otherwise.
    pub usual: &'static str,
    pub reason: String,
}

fn deny(rule: &'static str, reason: impl Into<String>) -> Option<Finding> {
    Some(Finding { rule, usual: "deny", reason: reason.into() })
}

fn ask(rule: &'static str, reason: impl Into<String>) -> Option<Finding> {
    Some(Finding { rule, usual: "ask", reason: reason.into() })
}

/// Files that contain keys and credentials.
const SECRETS: &[&str] =
    &[".ssh/", ".aws/", ".gnupg/", ".kube/config", ".netrc", ".npmrc", ".pypirc", ".docker/config.json", "id_rsa", "id_ed25519", ".env"];

/// Examples of such files, which are meant to be shared.
const EXAMPLES: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Programs that send data to other machines.
const SENDERS: &[&str] = &["curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "rsync", "ftp", "sftp", "telnet"];

/// Prefixes of access tokens.
const TOKENS: &[&str] = &["ghp_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-ant-", "sk-proj-", "akia", "aiza"];

/// Addresses from which cloud machines get their credentials.
const METADATA: &[&str] = &["169.254.169.254", "metadata.google.internal", "100.100.100.200"];

/// Branches that others build on.
const SHARED_BRANCHES: &[&str] = &["main", "master", "trunk", "develop"];

/// Checks the words of one program.
pub fn of_command(words: &[&str]) -> Option<Finding> {
    let (program, args) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let has = |flag: &str| args.contains(&flag);
    let has_letter = |letter: char| args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter));
    let names_secret = args.iter().find(|arg| is_secret(arg));
    match name {
        "rm" => {
            let is_recursive = has_letter('r') || has_letter('R') || has("--recursive");
            let target = args.iter().find(|arg| is_vital(arg));
            match target {
                Some(target) if is_recursive => deny("delete_all", format!("`rm` of `{target}` deletes far more than a task needs; name the files")),
                _ if has("--no-preserve-root") => deny("delete_all", "`--no-preserve-root` is never needed here"),
                _ => None,
            }
        }
        "dd" if args.iter().any(|arg| arg.starts_with("of=/dev/")) => deny("write_device", "writing to a device destroys what is on it"),
        "shred" | "wipefs" => deny("write_device", format!("`{name}` destroys data beyond recovery")),
        _ if name == "mkfs" || name.starts_with("mkfs.") => deny("write_device", "making a file system destroys what is on the device"),
        "shutdown" | "reboot" | "halt" | "poweroff" => deny("stop_machine", "only a person may shut down or restart the machine"),
        "chmod" if has_letter('R') && args.iter().any(|arg| matches!(*arg, "777" | "a+rwx" | "0777")) => {
            deny("open_permissions", "world-writable permissions are never needed; change the mode of the file in question")
        }
        "chown" | "chmod" | "chgrp" if (has_letter('R') || has("--recursive")) && args.iter().any(|arg| is_vital(arg)) => {
            deny("open_permissions", "changing owner or mode of a whole system breaks it")
        }
        "git" => of_git(args),
        "curl" | "wget" if names_secret.is_some() || sends_file(args) => {
            deny("exfiltrate", format!("`{name}` would send a file of this machine elsewhere; a person has to do that"))
        }
        "nc" | "ncat" | "netcat" | "socat" if has_letter('e') || has("--exec") || args.iter().any(|arg| arg.starts_with("EXEC:")) => {
            deny("reverse_shell", format!("`{name}` would open a shell on this machine to another machine"))
        }
        "scp" | "rsync" | "sftp" if args.iter().any(|arg| is_remote(arg)) => {
            ask("exfiltrate", format!("`{name}` copies to or from another machine; a person should decide"))
        }
        "crontab" if !has("-l") => ask("persist", "a changed crontab runs commands unattended"),
        "systemctl" if has("enable") || has("mask") || has("stop") || has("disable") => ask("persist", "a person should decide about changes to system services"),
        "iptables" | "ufw" | "nft" if !args.is_empty() => ask("firewall", "a person should decide about changes to the firewall"),
        "terraform" | "tofu" | "pulumi" if has("destroy") => deny("destroy_cloud", format!("`{name} destroy` destroys infrastructure that others use")),
        "kubectl" if has("delete") => ask("destroy_cloud", "`kubectl delete` deletes resources that others may use"),
        "aws" if has("rm") && has("--recursive") || has("delete-bucket") || has("terminate-instances") => {
            deny("destroy_cloud", "this deletes data or machines in the cloud")
        }
        "gcloud" | "az" if has("delete") => ask("destroy_cloud", format!("`{name}` deletes something in the cloud")),
        "dropdb" => deny("drop_database", "`dropdb` deletes a database"),
        "npm" | "pnpm" | "yarn" | "cargo" | "twine" if has("publish") || has("upload") => ask("publish", format!("`{name}` would publish a package")),
        "gh" if names_secret.is_some() => deny("exfiltrate", "`gh` would publish a file with secrets"),
        "docker" | "podman" if args.iter().any(|arg| arg.starts_with("--ssh") || arg.starts_with("--secret")) => {
            ask("lend_secret", format!("`{name}` would give the build access to keys of this machine"))
        }
        "docker" | "podman" if has("prune") && (has_letter('a') || has("--volumes") || has("--all")) => {
            ask("delete_all", format!("`{name} prune` deletes what other work may need"))
        }
        _ if SENDERS.contains(&name) && names_secret.is_some() => deny("exfiltrate", format!("`{name}` is given a secret")),
        "cat" | "head" | "tail" | "less" | "more" | "base64" | "xxd" | "strings" | "cp" if names_secret.is_some() => {
            ask("read_secret", format!("`{}` holds secrets; a person should decide whether they are read", names_secret.unwrap_or(&"")))
        }
        _ => None,
    }
}

fn of_git(args: &[&str]) -> Option<Finding> {
    let has = |flag: &str| args.contains(&flag);
    let is_shared = |arg: &&&str| SHARED_BRANCHES.contains(&arg.rsplit([':', '/']).next().unwrap_or(arg));
    if has("push") && args.iter().any(|arg| arg.starts_with("--force-with-lease")) && args.iter().any(|arg| is_shared(&arg)) {
        return deny("force_push", "a forced push to a branch that others build on can destroy their work, even with `--force-with-lease`; push to a branch of your own");
    }
    let is_force = args.iter().any(|arg| matches!(*arg, "--force" | "-f") || arg.starts_with('+') && arg.len() > 1);
    if has("push") && is_force && !has("--force-with-lease") {
        return deny("force_push", "a forced push can destroy the work of others; use `--force-with-lease`, or ask a person");
    }
    if has("push") && (has("--mirror") || has("--delete")) {
        return ask("force_push", "this push may delete branches on the remote");
    }
    if has("reset") && has("--hard") {
        return ask("discard_work", "`git reset --hard` discards changes that exist nowhere else");
    }
    if has("clean") && args.iter().any(|arg| arg.starts_with('-') && arg.contains('f')) {
        return ask("discard_work", "`git clean` deletes files that exist nowhere else");
    }
    if has("filter-branch") || has("filter-repo") || has("update-ref") && has("-d") {
        return ask("discard_work", "this rewrites history");
    }
    None
}

/// Checks one path and what would be done to it.
pub fn of_effect(path: &str, operation: Operation) -> Option<Finding> {
    let changes = matches!(operation, Operation::Create | Operation::Modify | Operation::Delete);
    let is_secret = is_secret(path);
    match operation {
        Operation::Read if is_secret && !path.ends_with(".env") => ask("read_secret", format!("`{path}` holds secrets; a person should decide whether they are read")),
        _ if changes && [".github/workflows/", ".gitlab-ci.yml", ".circleci/"].iter().any(|place| path.starts_with(place)) => {
            ask("change_ci", format!("`{path}` runs elsewhere with the project's secrets; a person should look at it"))
        }
        _ if changes && path.starts_with("/dev/") && !matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") => {
            deny("write_device", format!("writing to `{path}` destroys what is on it"))
        }
        _ if changes && ["/etc/", "/boot/", "/usr/", "/bin/", "/sbin/", "/lib/", "/System/"].iter().any(|folder| path.starts_with(folder)) => {
            deny("change_system", format!("`{path}` belongs to the system, and no task of an agent needs to change it"))
        }
        _ if changes && [".bashrc", ".profile", ".zshrc", ".bash_profile", "authorized_keys", "crontab"].iter().any(|name| path.ends_with(name)) && path.starts_with(['/', '~']) => {
            deny("persist", format!("`{path}` runs commands unattended"))
        }
        _ => None,
    }
}

/// Checks the text of a call that the gate cannot parse as shell commands: other languages, other shells, databases.
pub fn of_text(text: &str) -> Option<Finding> {
    let lower = text.to_lowercase();
    let has = |part: &str| lower.contains(part);
    if has(":(){") || has(":() {") {
        return deny("fork_bomb", "this brings the machine to a halt");
    }
    if has("/dev/tcp/") || has("/dev/udp/") {
        return deny("reverse_shell", "a connection through the shell would give others control of this machine");
    }
    if (has("curl ") || has("wget ")) && [" | sh", "|sh", " | bash", "|bash", " | sudo", "| python", "|python"].iter().any(|pipe| has(pipe)) {
        return deny("run_download", "running what was just downloaded gives the machine to whoever serves it; download it, read it, then run it");
    }
    if METADATA.iter().any(|host| has(host)) {
        return deny("exfiltrate", "this address hands out the credentials of a cloud machine");
    }
    if names_sender(&lower) && carries_token(&lower) {
        return deny("exfiltrate", "a token would be sent elsewhere; a person has to do that");
    }
    if names_sender(&lower) && names_secret(&lower) {
        return deny("exfiltrate", "the text names a program that sends data and a file with secrets; a person has to run it");
    }
    if ["drop table", "drop database", "truncate table", "drop schema"].iter().any(|words| has(words)) {
        return ask("drop_database", "this deletes data from a database");
    }
    if has("delete from ") && !has(" where ") {
        return ask("drop_database", "`DELETE` without `WHERE` deletes every row");
    }
    if (has("base64 -d") || has("base64 --decode")) && [" | sh", "|sh", " | bash", "|bash"].iter().any(|pipe| has(pipe)) {
        return deny("run_hidden", "decoded text that is run immediately cannot be reviewed first");
    }
    None
}

/// Whether a text names a program that sends data, as a word of its own.
fn names_sender(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| SENDERS.contains(&word))
}

/// Whether a path names a file with secrets.
fn is_secret(path: &str) -> bool {
    SECRETS.iter().any(|secret| path.contains(secret)) && !EXAMPLES.iter().any(|example| path.ends_with(example))
}

/// Whether a text contains an access token, or a variable that is named like one.
fn carries_token(text: &str) -> bool {
    let variables = text.split('$').skip(1).map(|rest| {
        let rest = rest.trim_start_matches('{');
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
    });
    let is_token = |name: &str| ["token", "secret", "password", "api_key", "apikey", "access_key"].iter().any(|part| name.contains(part));
    variables.into_iter().any(is_token) || TOKENS.iter().any(|begin| text.match_indices(begin).any(|(at, _)| is_long(&text[at..])))
}

/// Whether a word is as long as an access token.
fn is_long(word: &str) -> bool {
    word.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).count() >= 20
}

/// Whether a text names a file with secrets; `process.env` is not one.
fn names_secret(text: &str) -> bool {
    let begins = |at: usize| text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && !matches!(before, ')' | ']'));
    SECRETS.iter().any(|secret| text.match_indices(secret).any(|(at, _)| begins(at)))
}

/// Whether a path is so important that no task could require deleting it.
fn is_vital(path: &str) -> bool {
    let plain = path.trim_end_matches(['/', '*']);
    matches!(path, "/" | "/*" | "~" | "~/" | "~/*" | "." | "./" | "./*" | "*" | ".." | "../")
        || plain.is_empty() && path.starts_with('/')
        || ["/etc", "/usr", "/var", "/home", "/root", "/boot", "/bin", "/lib", "/opt", "/System", "/Users"].contains(&plain)
}

fn is_remote(arg: &str) -> bool {
    !arg.starts_with('-') && !arg.starts_with(['.', '/']) && arg.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.is_empty())
}

/// Whether `curl` or `wget` is told to send a file.
fn sends_file(args: &[&str]) -> bool {
    let is_sender = |arg: &&&str| matches!(**arg, "-T" | "--upload-file") || arg.starts_with("--post-file") || arg.starts_with("--body-file");
    let is_data = |pair: &[&str]| match pair {
        [flag, value] => matches!(*flag, "-d" | "--data" | "--data-binary" | "--data-raw" | "-F" | "--form") && value.contains('@'),
        _ => false,
    };
    args.iter().any(|arg| is_sender(&arg)) || args.windows(2).any(is_data)
}
