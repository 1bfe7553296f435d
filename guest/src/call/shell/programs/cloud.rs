//! Containers, clouds, forges and system package managers: recorded as run; files that they write on this machine by name are
//! judged as well.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::command_of;
use super::network::copy_to_last;
use super::spec::{ArgumentRole, Invocation, OperandOverride, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Access;

const RUN: ArgumentRole = ArgumentRole::Path(Access::Execute);
const TREE: ArgumentRole = ArgumentRole::Path(Access::WriteTree);
const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

pub(super) const ROWS: &[ProgramSpec] = &[
    ProgramSpec {
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
        ..ProgramSpec::opaque(&["docker", "podman", "nerdctl"])
    },
    ProgramSpec {
        answers: &["--version", "version", "ps", "logs", "config"],
        ..ProgramSpec::opaque(&["docker-compose", "podman-compose"])
    },
    ProgramSpec {
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
        ..ProgramSpec::opaque(&["kubectl", "oc"])
    },
    ProgramSpec {
        valued: &[("d", TREE), ("destination", TREE), ("output-dir", TREE), ("untardir", TREE)],
        answers: &["version", "list", "ls", "status *", "history *"],
        ..ProgramSpec::opaque(&["helm", "kustomize", "skaffold", "kind", "minikube", "k3d", "argocd", "flux"])
    },
    ProgramSpec {
        single_dash: true,
        valued: &[("chdir", RUN), ("out", WRITE), ("state-out", WRITE), ("state", WRITE), ("backup", WRITE)],
        answers: &["version", "--version", "-version", "-v"],
        rule: Some(|reader, call, _| read_command(reader, call, TERRAFORM)),
        ..ProgramSpec::opaque(&[
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
    ProgramSpec {
        answers: &["--version"],
        rule: Some(|reader, call, _| read_command(reader, call, CLOUD)),
        ..ProgramSpec::opaque(&[
            "aws", "gcloud", "gsutil", "az", "rclone", "mc", "s3cmd", "doctl", "heroku", "fly", "flyctl", "eksctl",
        ])
    },
    ProgramSpec {
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
        ..ProgramSpec::opaque(&["gh", "glab", "hub"])
    },
    ProgramSpec {
        answers: &["--version", "deps *", "info *", "list", "outdated", "search *"],
        ..ProgramSpec::opaque(&["brew", "port"])
    },
    ProgramSpec { answers: &["list *", "policy *", "search *", "show *"], ..ProgramSpec::opaque(&["apt", "apt-cache"]) },
    ProgramSpec::opaque(&[
        "apt-get", "dpkg", "dnf", "yum", "rpm", "apk", "pacman", "zypper", "snap", "flatpak", "choco", "winget", "scoop",
    ]),
];

const CONTAINERS: &[ProgramSpec] = &[
    ProgramSpec {
        flags: "aLq",
        operands: Operands::Rule,
        rule: Some(copy_to_last),
        ..ProgramSpec::opaque(&["cp", "container cp", "compose cp"])
    },
    ProgramSpec {
        valued: &[("o", WRITE), ("output", WRITE)],
        ..ProgramSpec::opaque(&["save", "export", "image save", "container export"])
    },
    ProgramSpec {
        valued: &[
            ("o", ArgumentRole::Text),
            ("output", ArgumentRole::Text),
            ("iidfile", WRITE),
            ("metadata-file", WRITE),
            ("f", ArgumentRole::Read),
            ("file", ArgumentRole::Read),
        ],
        rule: Some(image_output),
        ..ProgramSpec::opaque(&["build", "buildx build", "image build"])
    },
    ProgramSpec { valued: &[("cidfile", WRITE)], ends_at_operand: true, ..ProgramSpec::opaque(&["run", "create"]) },
];

const KUBECTL: &[ProgramSpec] = &[ProgramSpec {
    valued: &[
        ("c", ArgumentRole::Text),
        ("n", ArgumentRole::Text),
        ("container", ArgumentRole::Text),
        ("namespace", ArgumentRole::Text),
    ],
    operands: Operands::Rule,
    rule: Some(copy_to_last),
    ..ProgramSpec::opaque(&["cp"])
}];

const TERRAFORM: &[ProgramSpec] = &[ProgramSpec {
    single_dash: true,
    long: &["check", "diff", "recursive", "write"],
    operands: Operands::All(ArgumentRole::Rewrite),
    modes: &[OperandOverride { when: &["check"], operands: Operands::All(ArgumentRole::Text) }],
    ..ProgramSpec::opaque(&["fmt"])
}];

const CLOUD: &[ProgramSpec] = &[ProgramSpec {
    flags: "mr",
    valued: &[
        ("exclude", ArgumentRole::Text),
        ("include", ArgumentRole::Text),
        ("profile", ArgumentRole::Text),
        ("region", ArgumentRole::Text),
    ],
    operands: Operands::Rule,
    rule: Some(copy_to_last),
    ..ProgramSpec::opaque(&[
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

const HUB: &[ProgramSpec] = &[
    ProgramSpec::refused(&["pr checkout", "co"], "may change any file of the workspace"),
    ProgramSpec {
        valued: &[
            ("D", TREE),
            ("dir", TREE),
            ("O", WRITE),
            ("output", WRITE),
            ("n", ArgumentRole::Text),
            ("name", ArgumentRole::Text),
            ("p", ArgumentRole::Text),
            ("pattern", ArgumentRole::Text),
            ("R", ArgumentRole::Text),
            ("repo", ArgumentRole::Text),
        ],
        rule: Some(download),
        ..ProgramSpec::opaque(&["release download", "run download"])
    },
    ProgramSpec { operands: Operands::Rule, rule: Some(clone), ..ProgramSpec::opaque(&["repo clone", "gist clone"]) },
];

/// `--output type=local,dest=FOLDER`, or the folder itself.
fn image_output(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
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

/// Without a folder option, the names of the files are known only at run time.
fn download(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if !parsed.has(&["D", "dir", "O", "output"]) {
        reader.add_unknown(format!(
            "`{}` creates files whose names are only known when it runs; give it a folder with `--dir`",
            call.name
        ));
    }
}

fn clone(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    let folder = match parsed.operands.as_slice() {
        [_, folder, ..] => Some((*folder).clone()),
        [name] => name.text().and_then(|name| name.trim_end_matches(".git").rsplit('/').next()).map(Arg::known),
        [] => return,
    };
    match folder {
        Some(folder) => reader.touch(call.state, call.name, &folder, Access::WriteTree),
        None => reader.add_unknown(format!("`{}` creates a folder whose name cannot be determined", call.name)),
    }
}

/// Parses the command of a program with a table, if the table has a row for it.
fn read_command(reader: &mut ShellReader<'_>, call: &Invocation<'_>, table: &[ProgramSpec]) {
    command_of(reader, call, &[table]);
}
