//! Build tools, compilers, test runners, containers, databases and cloud tools: they do more than their arguments say, and are
//! entered as run. Options and operands that name what they write are judged all the same.

use super::super::reader::Reader;
use super::super::reader::arg::Arg;
use super::super::reader::input::Input;
use super::network::copy_to_last;
use super::spec::{Call, Mode, Operands, Parsed, Program, Role};
use super::{command_of, enter};
use crate::call::effect::Deed;

const RUN: Role = Role::Path(Deed::Execute);
const TREE: Role = Role::Path(Deed::WriteTree);
const WRITE: Role = Role::Path(Deed::Write);

const OUTPUT: &[(&str, Role)] = &[("o", WRITE), ("output", WRITE)];

pub(super) const ROWS: &[Program] = &[
    // Compilers.
    Program {
        valued: &[("o", WRITE)],
        answers: &["--version", "-v", "-dumpversion", "-dumpmachine", "--help"],
        ..Program::opaque(&[
            "gcc",
            "g++",
            "cc",
            "c++",
            "clang",
            "clang++",
            "ld",
            "as",
            "nasm",
            "tcc",
            "gfortran",
            "ghc",
            "ocamlfind",
            "ocamlopt",
            "swiftc",
            "nim",
            "zig",
            "emcc",
        ])
    },
    Program {
        valued: &[("o", WRITE), ("emit", Role::Text), ("out-dir", TREE), ("print", Role::Text)],
        answers: &["--version", "-V", "-vV", "--help"],
        obeys: &["rust-toolchain.toml", "rust-toolchain"],
        rule: Some(rustc),
        ..Program::opaque(&["rustc", "rustdoc"])
    },
    Program {
        answers: &["show", "which *", "--version", "-V", "toolchain list", "target list"],
        obeys: &["rust-toolchain.toml", "rust-toolchain"],
        ..Program::opaque(&["rustup"])
    },
    Program {
        single_dash: true,
        valued: &[
            ("C", RUN),
            ("blockprofile", WRITE),
            ("coverprofile", WRITE),
            ("cpuprofile", WRITE),
            ("exec", Role::Code),
            ("memprofile", WRITE),
            ("mutexprofile", WRITE),
            ("o", TREE),
            ("outputdir", TREE),
            ("pkgdir", TREE),
            ("toolexec", Role::Code),
            ("trace", WRITE),
            ("vettool", Role::Script),
        ],
        ..Program::opaque(&["go"])
    },
    Program {
        single_dash: true,
        valued: &[("d", TREE), ("h", TREE), ("s", TREE)],
        answers: &["-version", "--version"],
        ..Program::opaque(&["javac", "kotlinc", "scalac", "groovyc"])
    },
    Program { answers: &["-version", "--version"], ..Program::opaque(&["java", "kotlin", "scala", "jar", "jshell"]) },
    Program {
        valued: &[
            ("outDir", TREE),
            ("outFile", WRITE),
            ("declarationDir", TREE),
            ("tsBuildInfoFile", WRITE),
            ("generateTrace", TREE),
            ("generateCpuProfile", WRITE),
            ("p", Role::Read),
            ("project", Role::Read),
        ],
        answers: &["--version", "-v"],
        ..Program::opaque(&["tsc", "vue-tsc"])
    },
    Program {
        valued: &[("outfile", WRITE), ("outdir", TREE), ("metafile", WRITE)],
        answers: &["--version"],
        ..Program::opaque(&["esbuild"])
    },
    Program { valued: &[("o", WRITE), ("file", WRITE), ("d", TREE), ("dir", TREE)], ..Program::opaque(&["rollup"]) },
    Program { valued: &[("o", TREE), ("output-path", TREE)], ..Program::opaque(&["webpack", "rspack"]) },
    Program {
        valued: &[("outDir", TREE), ("d", TREE), ("dist-dir", TREE), ("out-dir", TREE)],
        ..Program::opaque(&["vite", "parcel", "tsup", "wasm-pack", "tsdown"])
    },
    Program {
        valued: &[("o", WRITE), ("out-file", WRITE), ("d", TREE), ("out-dir", TREE)],
        ..Program::opaque(&["babel", "swc"])
    },
    Program { operands: Operands::Then(&[Role::Read], WRITE), ..Program::opaque(&["sass", "lessc"]) },
    Program {
        valued: &[("o", WRITE), ("output", WRITE), ("out", WRITE), ("d", TREE), ("dir", TREE)],
        ..Program::opaque(&[
            "postcss",
            "tailwindcss",
            "pandoc",
            "dot",
            "svgo",
            "typst",
            "asciidoctor",
            "mmdc",
            "openapi-generator",
            "swagger-codegen",
            "quicktype",
            "sphinx-build",
        ])
    },
    Program { rule: Some(protoc), ..Program::opaque(&["protoc", "buf"]) },
    // Build tools.
    Program {
        valued: &[
            ("C", RUN),
            ("f", Role::Script),
            ("directory", RUN),
            ("eval", Role::Code),
            ("file", Role::Script),
            ("makefile", Role::Script),
        ],
        answers: &["--version", "-v"],
        ..Program::opaque(&["make", "gmake"])
    },
    Program {
        valued: &[("B", TREE), ("install", Role::Text), ("prefix", TREE)],
        answers: &["--version"],
        rule: Some(cmake),
        ..Program::opaque(&["cmake"])
    },
    Program {
        valued: &[("C", RUN), ("f", Role::Script)],
        answers: &["--version"],
        ..Program::opaque(&["ninja", "samu", "just", "task", "invoke", "inv", "rake"])
    },
    Program {
        answers: &["--version", "-v"],
        ..Program::opaque(&[
            "gradle",
            "gradlew",
            "mvn",
            "mvnw",
            "ant",
            "sbt",
            "mill",
            "lein",
            "bazel",
            "bazelisk",
            "buck2",
            "pants",
            "meson",
            "scons",
            "dotnet",
            "msbuild",
            "nuget",
            "composer",
            "gem",
            "mix",
            "rebar3",
            "stack",
            "cabal",
            "swift",
            "xcodebuild",
            "xcrun",
            "pod",
            "fastlane",
            "flutter",
            "dart",
            "nx",
            "turbo",
            "lerna",
            "rush",
            "next",
            "nuxt",
            "astro",
            "remix",
            "gatsby",
            "ng",
            "expo",
            "react-native",
            "storybook",
            "husky",
            "lint-staged",
            "changeset",
            "semantic-release",
            "pre-commit",
            "rails",
            "rspec",
            "django-admin",
            "alembic",
            "celery",
            "uvicorn",
            "gunicorn",
            "flask",
            "streamlit",
            "jupyter",
            "tox",
            "nox",
            "nix",
            "nix-shell",
            "nix-build",
            "act",
            "forge",
            "hardhat",
            "anchor",
            "vercel",
            "netlify",
            "wrangler",
            "firebase",
            "supabase",
            "prisma",
            "drizzle-kit",
            "knex",
        ])
    },
    // Tests and checks.
    Program {
        valued: &[
            ("basetemp", Role::Path(Deed::DeleteTree)),
            ("html", WRITE),
            ("junit-xml", WRITE),
            ("junitxml", WRITE),
            ("log-file", WRITE),
            ("report-log", WRITE),
        ],
        answers: &["--version", "-V"],
        ..Program::opaque(&["pytest", "py.test"])
    },
    Program {
        valued: &[
            ("cache-dir", TREE),
            ("html-report", TREE),
            ("junit-xml", WRITE),
            ("xml-report", TREE),
            ("txt-report", TREE),
            ("python-executable", Role::Script),
        ],
        answers: &["--version", "-V"],
        ..Program::opaque(&["mypy", "dmypy"])
    },
    Program {
        valued: &[
            ("o", WRITE),
            ("d", TREE),
            ("output", WRITE),
            ("output-file", WRITE),
            ("directory", TREE),
            ("data-file", WRITE),
        ],
        ..Program::opaque(&[
            "coverage",
            "flake8",
            "pylint",
            "bandit",
            "pyright",
            "basedpyright",
            "ty",
            "semgrep",
            "codespell",
            "vulture",
            "pydocstyle",
        ])
    },
    Program {
        valued: &[("cacheDirectory", TREE), ("coverageDirectory", TREE), ("outputFile", WRITE)],
        answers: &["--version"],
        ..Program::opaque(&["jest", "vitest", "mocha", "ava", "tap", "karma", "c8", "nyc"])
    },
    Program {
        valued: &[("output", TREE)],
        ..Program::opaque(&[
            "playwright",
            "cypress",
            "wdio",
            "k6",
            "lighthouse",
            "depcheck",
            "knip",
            "madge",
            "golangci-lint",
            "staticcheck",
            "shellcheck",
            "hadolint",
            "actionlint",
            "yamllint",
            "markdownlint",
            "detekt",
            "ktlint",
            "checkstyle",
            "phpunit",
            "phpstan",
            "psalm",
            "pint",
            "cppcheck",
            "clang-tidy",
            "valgrind",
            "trivy",
            "snyk",
            "gitleaks",
            "commitlint",
        ])
    },
    // Containers and clouds.
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
        rule: Some(|reader, call, _| drop(command_of(reader, call, &[CONTAINERS]))),
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
        rule: Some(|reader, call, _| drop(command_of(reader, call, &[KUBECTL]))),
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
        rule: Some(|reader, call, _| drop(command_of(reader, call, &[TERRAFORM]))),
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
        rule: Some(|reader, call, _| drop(command_of(reader, call, &[CLOUD]))),
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
        rule: Some(|reader, call, _| drop(command_of(reader, call, &[HUB]))),
        ..Program::opaque(&["gh", "glab", "hub"])
    },
    Program { answers: &["--version", "deps *", "info *", "list", "outdated", "search *"], ..Program::opaque(&["brew", "port"]) },
    Program { answers: &["list *", "policy *", "search *", "show *"], ..Program::opaque(&["apt", "apt-cache"]) },
    Program::opaque(&[
        "apt-get", "dpkg", "dnf", "yum", "rpm", "apk", "pacman", "zypper", "snap", "flatpak", "choco", "winget", "scoop",
    ]),
    // Databases.
    Program {
        operands: Operands::Rule,
        single_dash: true,
        valued: SQLITE_VALUES,
        answers: &["--version", "-version"],
        rule: Some(sqlite),
        ..Program::opaque(&["sqlite3", "duckdb"])
    },
    Program {
        valued: &[
            ("c", Role::Text),
            ("command", Role::Text),
            ("f", Role::Script),
            ("file", Role::Script),
            ("L", WRITE),
            ("log-file", WRITE),
            ("o", WRITE),
            ("output", WRITE),
            ("e", Role::Text),
            ("execute", Role::Text),
            ("tee", WRITE),
        ],
        answers: &["--version", "-V"],
        rule: Some(sql_client),
        ..Program::opaque(&["psql", "mysql", "mariadb"])
    },
    Program {
        valued: &[("f", WRITE), ("file", WRITE), ("r", WRITE), ("result-file", WRITE), ("o", TREE), ("out", TREE)],
        ..Program::opaque(&["pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump"])
    },
    Program {
        answers: &["--version", "-v"],
        ..Program::opaque(&[
            "redis-cli",
            "redis-server",
            "mongosh",
            "mongo",
            "clickhouse-client",
            "pg_ctl",
            "createdb",
            "dropdb",
            "pg_restore",
        ])
    },
    // Media.
    Program {
        operands: Operands::Rule,
        answers: &["-version"],
        rule: Some(last_operand),
        ..Program::opaque(&[
            "ffmpeg",
            "convert",
            "magick",
            "pdftotext",
            "pdftoppm",
            "pdfunite",
            "qpdf",
            "rsvg-convert",
            "inkscape",
        ])
    },
    Program { operands: Operands::All(Role::Rewrite), ..Program::opaque(&["mogrify", "optipng", "jpegoptim"]) },
    Program { valued: OUTPUT, ..Program::opaque(&["cwebp", "pngquant", "avifenc"]) },
];

const CONTAINERS: &[Program] = &[
    Program {
        flags: "aLq",
        operands: Operands::Rule,
        rule: Some(copy_to_last),
        ..Program::opaque(&["cp", "container cp", "compose cp"])
    },
    Program { valued: OUTPUT, ..Program::opaque(&["save", "export", "image save", "container export"]) },
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

/// `--emit asm=FILE`, `--print cfg=FILE`.
fn rustc(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    for value in parsed.values(&["emit", "print"]).filter_map(Arg::text) {
        for file in value.split(',').filter_map(|part| part.split_once('=')).map(|(_, file)| file) {
            reader.touch(call.state, call.name, &Arg::known(file), Deed::Write);
        }
    }
}

/// `--go_out=plugins=grpc:FOLDER`.
fn protoc(reader: &mut Reader<'_>, call: &Call<'_>, _: &Parsed<'_>) {
    for text in call.args.iter().filter_map(Arg::text) {
        let Some((option, value)) = text.split_once('=') else { continue };
        if option.starts_with("--") && (option.ends_with("_out") || matches!(option, "--descriptor_set_out" | "--dependency_out"))
        {
            let folder = value.rsplit(':').next().unwrap_or_default();
            reader.touch(call.state, call.name, &Arg::known(folder), Deed::WriteTree);
        }
    }
}

/// `cmake -E COMMAND`: small programs of its own, such as `rm` and `copy`.
fn cmake(reader: &mut Reader<'_>, call: &Call<'_>, _: &Parsed<'_>) {
    if call.args.first().is_some_and(|arg| arg.is("-E")) {
        reader.unknown(format!("`{} -E` runs a command of its own", call.name));
    }
}

/// `--output type=local,dest=FOLDER`, or the folder itself.
fn image_output(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    for value in parsed.values(&["o", "output"]) {
        let Some(text) = value.text() else { continue };
        let named = text.split(',').find_map(|part| part.strip_prefix("dest="));
        match named {
            Some(folder) => reader.touch(call.state, call.name, &Arg::known(folder), Deed::WriteTree),
            None if text.contains('=') || text == "-" => {}
            None => reader.touch(call.state, call.name, value, Deed::WriteTree),
        }
    }
}

/// Without a folder the names are only known when it runs.
fn download(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    if !parsed.has(&["D", "dir", "O", "output"]) {
        reader.unknown(format!(
            "`{}` makes files whose names are only known when it runs; give it a folder with `--dir`",
            call.name
        ));
    }
}

fn clone(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    let folder = match parsed.operands.as_slice() {
        [_, folder, ..] => Some((*folder).clone()),
        [name] => name.text().and_then(|name| name.trim_end_matches(".git").rsplit('/').next()).map(Arg::known),
        [] => return,
    };
    match folder {
        Some(folder) => reader.touch(call.state, call.name, &folder, Deed::WriteTree),
        None => reader.unknown(format!("`{}` makes a folder whose name is not certain", call.name)),
    }
}

const SQLITE_VALUES: &[(&str, Role)] = &[
    ("cmd", Role::Text),
    ("init", Role::Script),
    ("separator", Role::Text),
    ("nullvalue", Role::Text),
    ("newline", Role::Text),
    ("c", Role::Text),
];

/// Commands of the SQLite shell that only show something.
const SQLITE_LOOKS: &[&str] = &[
    ".databases",
    ".dbinfo",
    ".dump",
    ".exit",
    ".fullschema",
    ".headers",
    ".indexes",
    ".indices",
    ".mode",
    ".quit",
    ".schema",
    ".show",
    ".tables",
    ".timeout",
    ".width",
];

/// Words in SQL that lead to other files.
const SQL_FILES: &[&str] = &[
    "attach",
    "copy ",
    "edit(",
    "fts3_tokenizer",
    "into outfile",
    "into dumpfile",
    "load_extension",
    "vacuum into",
    "writefile",
];

fn sqlite(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    let mut operands = parsed.operands.iter();
    if let Some(database) = operands.next().filter(|file| !file.is(":memory:")) {
        if !call.args.iter().any(|arg| arg.is("-readonly") || arg.is("--readonly")) {
            reader.touch(call.state, call.name, database, Deed::Write);
        }
    }
    let mut texts: Vec<&Arg> = operands.copied().collect();
    texts.extend(parsed.values(&["cmd", "c"]));
    for text in texts {
        judge_sql(reader, call, text.text());
    }
    if let Input::Text(text) = call.input {
        judge_sql(reader, call, Some(text));
    }
}

fn judge_sql(reader: &mut Reader<'_>, call: &Call<'_>, text: Option<&str>) {
    let is_plain = text.is_some_and(|text| {
        let lower = text.to_ascii_lowercase();
        let looks = |line: &str| {
            !line.starts_with('.') || line.split_whitespace().next().is_some_and(|word| SQLITE_LOOKS.contains(&word))
        };
        !SQL_FILES.iter().any(|word| lower.contains(word)) && lower.lines().map(str::trim_start).all(looks)
    });
    if !is_plain {
        let shown = text.map(|text| Arg::known(text).display()).unwrap_or_else(|| "…".to_owned());
        reader.unknown(format!("`{}` is given `{shown}`, which may write to other files or run programs", call.name));
    }
}

/// Commands of the client itself that write files or run programs: `\o`, `\!`, `\copy`, `system`, `tee`.
fn sql_client(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    const COMMANDS: &[&str] = &[
        "\\!",
        "\\copy",
        "\\g",
        "\\i",
        "\\o",
        "\\s ",
        "\\t ",
        "\\w",
        "system ",
        "tee ",
        "to program",
        "into outfile",
        "into dumpfile",
    ];
    for text in parsed.values(&["c", "command", "e", "execute"]) {
        if text.text().is_none_or(|text| COMMANDS.iter().any(|command| text.to_ascii_lowercase().contains(command))) {
            reader.unknown(format!("`{}` is given `{}`, which may write to files or run programs", call.name, text.display()));
        }
    }
}

/// The last operand is what is written.
fn last_operand(reader: &mut Reader<'_>, call: &Call<'_>, parsed: &Parsed<'_>) {
    if let Some(output) = parsed.operands.last().filter(|output| !output.is("-")) {
        enter(reader, call, WRITE, output);
    }
}
