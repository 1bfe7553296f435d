//! Containers, clouds, forges and system package managers: recorded as run; files that they write here by name are judged as
//! well.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::command_of;
use super::network::copy_to_last;
use super::spec::{Invocation, Mode, Operands, Parsed, Program, Role};
use crate::effects::Access;

const RUN: Role = Role::Path(Access::Execute);
const TREE: Role = Role::Path(Access::WriteTree);
const WRITE: Role = Role::Path(Access::Write);

pub(super) const ROWS: &[Program] = &[
    Program {
        answers: &[
            "--version",
            "version",
            "info",
            "ps",
            "ps -a",
            "images",
            "compose ps",
            "compose logs",
            "compose config",
            "logs *",
            "inspect *",
            "port *",
            "stats --no-stream",
            "top *",
            "volume ls",
            "network ls",
            "context ls",
        ],
        rule: Some(|reader, call, _| read_command(reader, call, CONTAINERS)),
        ..Program::opaque(&["docker", "podman", "nerdctl"])
    },
    Program {
        answers: &["--version", "version", "ps", "logs", "config"],
        ..Program::opaque(&["docker-compose", "podman-compose"])
    },
    Program {
        answers: &[
            "get *",
            "get * *",
            "describe * *",
            "logs *",
            "cluster-info",
            "api-resources",
            "explain *",
            "config get-contexts",
            "config current-context",
        ],
        rule: Some(|reader, call, _| read_command(reader, call, KUBECTL)),
        ..Program::opaque(&["kubectl", "oc"])
    },
    Program {
        valued: &[("d", TREE), ("destination", TREE), ("output-dir", TREE), ("untardir", TREE)],
        answers: &["version", "list", "ls", "status *", "history *"],
        ..Program::opaque(&["helm", "kustomize", "skaffold", "kind", "minikube", "k3d", "argocd", "flux"])
    },
    Program {
        single_dash: true,
        valued: &[("chdir", RUN), ("out", WRITE), ("state-out", WRITE), ("state", WRITE), ("backup", WRITE)],
        answers: &["version", "--version", "-version", "-v"],
        rule: Some(|reader, call, _| read_command(reader, call, TERRAFORM)),
        ..Program::opaque(&[
            "terraform",
            "tofu",
            "terragrunt",
            "packer",
            "vagrant",
            "ansible",
            "ansible-playbook",
            "pulumi",
            "cdk",
            "sam",
            "serverless",
        ])
    },
    Program {
        answers: &["--version"],
        rule: Some(|reader, call, _| read_command(reader, call, CLOUD)),
        ..Program::opaque(&[
            "aws", "gcloud", "gsutil", "az", "rclone", "mc", "s3cmd", "doctl", "heroku", "fly", "flyctl", "eksctl",
        ])
    },
    Program {
        answers: &[
            "--version",
            "auth status",
            "issue list",
            "issue status",
            "issue view *",
            "pr checks",
            "pr checks *",
            "pr diff",
            "pr diff *",
            "pr list",
            "pr status",
            "pr view",
            "pr view *",
            "release list",
            "release view *",
            "repo view",
            "repo view *",
            "run list",
            "run view *",
            "workflow list",
        ],
        rule: Some(|reader, call, _| read_command(reader, call, HUB)),
        ..Program::opaque(&["gh", "glab", "hub"])
    },
    Program { answers: &["--version", "deps *", "info *", "list", "outdated", "search *"], ..Program::opaque(&["brew", "port"]) },
    Program { answers: &["list *", "policy *", "search *", "show *"], ..Program::opaque(&["apt", "apt-cache"]) },
    Program::opaque(&[
        "apt-get", "dpkg", "dnf", "yum", "rpm", "apk", "pacman", "zypper", "snap", "flatpak", "choco", "winget", "scoop",
    ]),
];

const CONTAINERS: &[Program] = &[
    Program {
        flags: "aLq",
        operands: Operands::Rule,
        rule: Some(copy_to_last),
        ..Program::opaque(&["cp", "container cp", "compose cp"])
    },
    Program {
        valued: &[("o", WRITE), ("output", WRITE)],
        ..Program::opaque(&["save", "export", "image save", "container export"])
    },
    Program {
        valued: &[
            ("o", Role::Text),
            ("output", Role::Text),
            ("iidfile", WRITE),
            ("metadata-file", WRITE),
            ("f", Role::Read),
            ("file", Role::Read),
        ],
        rule: Some(image_output),
        ..Program::opaque(&["build", "buildx build", "image build"])
    },
    Program { valued: &[("cidfile", WRITE)], ends_at_operand: true, ..Program::opaque(&["run", "create"]) },
];

const KUBECTL: &[Program] = &[Program {
    valued: &[("c", Role::Text), ("n", Role::Text), ("container", Role::Text), ("namespace", Role::Text)],
    operands: Operands::Rule,
    rule: Some(copy_to_last),
    ..Program::opaque(&["cp"])
}];

const TERRAFORM: &[Program] = &[Program {
    single_dash: true,
    long: &["check", "diff", "recursive", "write"],
    operands: Operands::All(Role::Rewrite),
    modes: &[Mode { when: &["check"], operands: Operands::All(Role::Text) }],
    ..Program::opaque(&["fmt"])
}];

const CLOUD: &[Program] = &[Program {
    flags: "mr",
    valued: &[("exclude", Role::Text), ("include", Role::Text), ("profile", Role::Text), ("region", Role::Text)],
    operands: Operands::Rule,
    rule: Some(copy_to_last),
    ..Program::opaque(&[
        "s3 cp",
        "s3 mv",
        "s3 sync",
        "storage cp",
        "storage rsync",
        "cp",
        "rsync",
        "mv",
        "copy",
        "sync",
        "copyto",
        "move",
    ])
}];

const HUB: &[Program] = &[
    Program::refused(&["pr checkout", "co"], "may change any file of the workspace"),
    Program {
        valued: &[
            ("D", TREE),
            ("dir", TREE),
            ("O", WRITE),
            ("output", WRITE),
            ("n", Role::Text),
            ("name", Role::Text),
            ("p", Role::Text),
            ("pattern", Role::Text),
            ("R", Role::Text),
            ("repo", Role::Text),
        ],
        rule: Some(download),
        ..Program::opaque(&["release download", "run download"])
    },
    Program { operands: Operands::Rule, rule: Some(clone), ..Program::opaque(&["repo clone", "gist clone"]) },
];

/// `--output type=local,dest=FOLDER`, or the folder itself.
fn image_output(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    for value in parsed.values(&["o", "output"]) {
        let Some(text) = value.text() else { continue };
        let named = text.split(',').find_map(|part| part.strip_prefix("dest="));
        match named {
            Some(folder) => reader.touch(call.state, call.name, &Arg::known(folder), Access::WriteTree),
            None if text.contains('=') || text == "-" => {}
            None => reader.touch(call.state, call.name, value, Access::WriteTree),
        }
    }
}

/// Without a folder the names are known only at run time.
fn download(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    if !parsed.has(&["D", "dir", "O", "output"]) {
        reader.unknown(format!(
            "`{}` makes files whose names are only known when it runs; give it a folder with `--dir`",
            call.name
        ));
    }
}

fn clone(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &Parsed<'_>) {
    let folder = match parsed.operands.as_slice() {
        [_, folder, ..] => Some((*folder).clone()),
        [name] => name.text().and_then(|name| name.trim_end_matches(".git").rsplit('/').next()).map(Arg::known),
        [] => return,
    };
    match folder {
        Some(folder) => reader.touch(call.state, call.name, &folder, Access::WriteTree),
        None => reader.unknown(format!("`{}` makes a folder whose name is not certain", call.name)),
    }
}

/// Reads the command of a program by a table, where that has it.
fn read_command(reader: &mut ShellReader<'_>, call: &Invocation<'_>, table: &[Program]) {
    command_of(reader, call, &[table]);
}
