//! Programs that create keys and certificates: the files that their options name are written.

use super::super::reader::ShellReader;
use super::derived_paths::append_suffix;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Access;

const TREE: ArgumentRole = ArgumentRole::Path(Access::WriteTree);
const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

pub(super) const ROWS: &[ProgramSpec] = &[
    // Its options have one or two dashes.
    ProgramSpec {
        single_dash: true,
        valued: &[
            ("CAserial", WRITE),
            ("-CAserial", WRITE),
            ("certsout", WRITE),
            ("-certsout", WRITE),
            ("config", ArgumentRole::Script),
            ("-config", ArgumentRole::Script),
            ("crl_out", WRITE),
            ("-crl_out", WRITE),
            ("engine", ArgumentRole::Script),
            ("-engine", ArgumentRole::Script),
            ("keylogfile", WRITE),
            ("-keylogfile", WRITE),
            ("keyout", WRITE),
            ("-keyout", WRITE),
            ("out", WRITE),
            ("-out", WRITE),
            ("outdir", TREE),
            ("-outdir", TREE),
            ("respout", WRITE),
            ("-respout", WRITE),
            ("sess_out", WRITE),
            ("-sess_out", WRITE),
            ("sigout", WRITE),
            ("-sigout", WRITE),
            ("signer", ArgumentRole::Read),
            ("-signer", ArgumentRole::Read),
            ("writerand", WRITE),
            ("-writerand", WRITE),
        ],
        answers: &["version", "version -a", "list -commands", "ciphers", "help"],
        rule: Some(openssl),
        ..ProgramSpec::opaque(&["openssl"])
    },
    // An option that is not listed may name an output file.
    ProgramSpec {
        flags: "ABceghHiklLpqQuUvXy",
        valued: &[
            ("C", ArgumentRole::Text),
            ("E", ArgumentRole::Text),
            ("F", ArgumentRole::Text),
            ("I", ArgumentRole::Text),
            ("N", ArgumentRole::Text),
            ("P", ArgumentRole::Text),
            ("R", ArgumentRole::Text),
            ("V", ArgumentRole::Text),
            ("a", ArgumentRole::Text),
            ("b", ArgumentRole::Text),
            ("f", ArgumentRole::Text),
            ("m", ArgumentRole::Text),
            ("n", ArgumentRole::Text),
            ("t", ArgumentRole::Text),
            ("z", ArgumentRole::Text),
        ],
        operands: Operands::None,
        opaque: true,
        rule: Some(ssh_keygen),
        ..ProgramSpec::new(&["ssh-keygen"])
    },
    // It accepts any unambiguous prefix of an option, so only full names are known.
    ProgramSpec {
        flags: "abdesqv",
        long: &[
            "armor",
            "batch",
            "check-signatures",
            "clear-sign",
            "decrypt",
            "detach-sign",
            "encrypt",
            "export",
            "fingerprint",
            "list-keys",
            "list-secret-keys",
            "quiet",
            "sign",
            "verify",
            "yes",
        ],
        valued: &[
            ("o", WRITE),
            ("r", ArgumentRole::Text),
            ("u", ArgumentRole::Text),
            ("local-user", ArgumentRole::Text),
            ("output", WRITE),
            ("recipient", ArgumentRole::Text),
        ],
        operands: Operands::All(ArgumentRole::Read),
        opaque: true,
        answers: &["--version", "--list-keys", "-k", "--list-secret-keys", "-K"],
        rule: Some(gpg),
        ..ProgramSpec::new(&["gpg", "gpg2"])
    },
    ProgramSpec { valued: &[("o", WRITE), ("output", WRITE)], ..ProgramSpec::opaque(&["age", "age-keygen", "rage", "minisign"]) },
];

/// Without a command, some versions run commands from their input; `ca` writes wherever its settings say.
fn openssl(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    match parsed.operands.first() {
        None => reader.add_unknown(format!("`{}` may run commands that are typed into it", call.name)),
        Some(command) if command.is_text("ca") => {
            reader.add_unknown(format!("`{} ca` writes what its settings say", call.name));
        }
        Some(_) => {}
    }
}

/// If no output is named, the result is written beside its source.
fn gpg(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.has(&["o", "output"]) || parsed.has(&["verify", "export", "fingerprint", "check-signatures"]) {
        return;
    }
    for file in &parsed.operands {
        for suffix in [".asc", ".gpg", ".sig"] {
            reader.touch(call.state, call.name, &append_suffix(file, suffix), Access::Write);
        }
    }
}

/// The key that `-f` names, and the public key beside it. With certain options, the file is only read.
fn ssh_keygen(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let reads = parsed.has(&["B", "F", "l", "y", "e", "L"]);
    for file in parsed.values(&["f"]) {
        if reads {
            reader.touch(call.state, call.name, file, Access::Read);
            continue;
        }
        reader.touch(call.state, call.name, file, Access::Write);
        for suffix in [".pub", ".old"] {
            reader.touch(call.state, call.name, &append_suffix(file, suffix), Access::Write);
        }
    }
}
