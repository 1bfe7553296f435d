//! Programs that make keys and certificates: the files that their options name are written.

use super::super::reader::ShellReader;
use super::place::suffixed;
use super::spec::{Invocation, Operands, Parsed, Program, Role};
use crate::effects::Access;

const TREE: Role = Role::Path(Access::WriteTree);
const WRITE: Role = Role::Path(Access::Write);

pub(super) const ROWS: &[Program] = &[
    // Its options have one dash or two.
    Program {
        single_dash: true,
        valued: &[
            ("CAserial", WRITE),
            ("-CAserial", WRITE),
            ("certsout", WRITE),
            ("-certsout", WRITE),
            ("config", Role::Script),
            ("-config", Role::Script),
            ("crl_out", WRITE),
            ("-crl_out", WRITE),
            ("engine", Role::Script),
            ("-engine", Role::Script),
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
            ("signer", Role::Read),
            ("-signer", Role::Read),
            ("writerand", WRITE),
            ("-writerand", WRITE),
        ],
        answers: &["version", "version -a", "list -commands", "ciphers", "help"],
        rule: Some(openssl),
        ..Program::opaque(&["openssl"])
    },
    // What is not listed may name a file that is written.
    Program {
        flags: "ABceghHiklLpqQuUvXy",
        valued: &[
            ("C", Role::Text),
            ("E", Role::Text),
            ("F", Role::Text),
            ("I", Role::Text),
            ("N", Role::Text),
            ("P", Role::Text),
            ("R", Role::Text),
            ("V", Role::Text),
            ("a", Role::Text),
            ("b", Role::Text),
            ("f", Role::Text),
            ("m", Role::Text),
            ("n", Role::Text),
            ("t", Role::Text),
            ("z", Role::Text),
        ],
        operands: Operands::None,
        opaque: true,
        rule: Some(ssh_keygen),
        ..Program::new(&["ssh-keygen"])
    },
    // It takes any beginning of an option for the option, so that only whole ones are known.
    Program {
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
            ("r", Role::Text),
            ("u", Role::Text),
            ("local-user", Role::Text),
            ("output", WRITE),
            ("recipient", Role::Text),
        ],
        operands: Operands::All(Role::Read),
        opaque: true,
        answers: &["--version", "--list-keys", "-k", "--list-secret-keys", "-K"],
        rule: Some(gpg),
        ..Program::new(&["gpg", "gpg2"])
    },
    Program { valued: &[("o", WRITE), ("output", WRITE)], ..Program::opaque(&["age", "age-keygen", "rage", "minisign"]) },
];

/// Without a command some versions run what they read, and `ca` writes wherever its settings say.
fn openssl(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    match parsed.operands.first() {
        None => reader.unknown(format!("`{}` may run commands that are typed into it", call.name)),
        Some(command) if command.is("ca") => {
            reader.unknown(format!("`{} ca` writes what its settings say", call.name));
        }
        Some(_) => {}
    }
}

/// Without a name for it, the result stands beside its source.
fn gpg(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    if parsed.has(&["o", "output"]) || parsed.has(&["verify", "export", "fingerprint", "check-signatures"]) {
        return;
    }
    for file in &parsed.operands {
        for suffix in [".asc", ".gpg", ".sig"] {
            reader.touch(call.state, call.name, &suffixed(file, suffix), Access::Write);
        }
    }
}

/// The key that `-f` names, and the public one beside it. With one of a few options the file is only read.
fn ssh_keygen(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let reads = parsed.has(&["B", "F", "l", "y", "e", "L"]);
    for file in parsed.values(&["f"]) {
        if reads {
            reader.touch(call.state, call.name, file, Access::Read);
            continue;
        }
        reader.touch(call.state, call.name, file, Access::Write);
        for suffix in [".pub", ".old"] {
            reader.touch(call.state, call.name, &suffixed(file, suffix), Access::Write);
        }
    }
}
