//! Compilers, build tools, test runners: they do more than their arguments say, and are recorded as run. Options and operands
//! that name output files are still judged.

use super::super::reader::ShellReader;
use super::super::reader::arg::Arg;
use super::record_argument;
use super::spec::{ArgumentRole, Invocation, Operands, ParsedArguments, ProgramSpec};
use crate::effects::Access;

const RUN: ArgumentRole = ArgumentRole::Path(Access::Execute);
const TREE: ArgumentRole = ArgumentRole::Path(Access::WriteTree);
const WRITE: ArgumentRole = ArgumentRole::Path(Access::Write);

const OUTPUT: &[(&str, ArgumentRole)] = &[("o", WRITE), ("output", WRITE)];

pub(super) const ROWS: &[ProgramSpec] = &[
    // The output is written to the second file, or to the first file itself.
    ProgramSpec { operands: Operands::All(WRITE), ..ProgramSpec::opaque(&["objcopy", "strip", "install_name_tool", "patchelf"]) },
    ProgramSpec { operands: Operands::Then(&[WRITE], ArgumentRole::Text), ..ProgramSpec::opaque(&["logsave"]) },
    // Compilers.
    ProgramSpec {
        operands: Operands::Rule,
        answers: &["--version", "-v", "-dumpversion", "-dumpmachine", "--help"],
        rule: Some(compiler),
        ..ProgramSpec::opaque(&[
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
    ProgramSpec {
        valued: &[("o", WRITE), ("emit", ArgumentRole::Text), ("out-dir", TREE), ("print", ArgumentRole::Text)],
        answers: &["--version", "-V", "-vV", "--help"],
        obeys: &["rust-toolchain.toml", "rust-toolchain"],
        rule: Some(rustc),
        ..ProgramSpec::opaque(&["rustc", "rustdoc"])
    },
    ProgramSpec {
        answers: &["show", "which *", "--version", "-V", "toolchain list", "target list"],
        obeys: &["rust-toolchain.toml", "rust-toolchain"],
        ..ProgramSpec::opaque(&["rustup"])
    },
    ProgramSpec {
        single_dash: true,
        valued: &[
            ("C", RUN),
            ("blockprofile", WRITE),
            ("coverprofile", WRITE),
            ("cpuprofile", WRITE),
            ("exec", ArgumentRole::Code),
            ("memprofile", WRITE),
            ("mutexprofile", WRITE),
            ("o", TREE),
            ("outputdir", TREE),
            ("pkgdir", TREE),
            ("toolexec", ArgumentRole::Code),
            ("trace", WRITE),
            ("vettool", ArgumentRole::Script),
        ],
        ..ProgramSpec::opaque(&["go"])
    },
    ProgramSpec {
        single_dash: true,
        valued: &[("d", TREE), ("h", TREE), ("s", TREE)],
        answers: &["-version", "--version"],
        ..ProgramSpec::opaque(&["javac", "kotlinc", "scalac", "groovyc"])
    },
    ProgramSpec { answers: &["-version", "--version"], ..ProgramSpec::opaque(&["java", "jar"]) },
    ProgramSpec {
        valued: &[
            ("outDir", TREE),
            ("outFile", WRITE),
            ("declarationDir", TREE),
            ("tsBuildInfoFile", WRITE),
            ("generateTrace", TREE),
            ("generateCpuProfile", WRITE),
            ("p", ArgumentRole::Read),
            ("project", ArgumentRole::Read),
        ],
        answers: &["--version", "-v"],
        ..ProgramSpec::opaque(&["tsc", "vue-tsc"])
    },
    ProgramSpec {
        valued: &[("outfile", WRITE), ("outdir", TREE), ("metafile", WRITE)],
        answers: &["--version"],
        ..ProgramSpec::opaque(&["esbuild"])
    },
    ProgramSpec { valued: &[("o", WRITE), ("file", WRITE), ("d", TREE), ("dir", TREE)], ..ProgramSpec::opaque(&["rollup"]) },
    ProgramSpec { valued: &[("o", TREE), ("output-path", TREE)], ..ProgramSpec::opaque(&["webpack", "rspack"]) },
    ProgramSpec {
        valued: &[("outDir", TREE), ("d", TREE), ("dist-dir", TREE), ("out-dir", TREE)],
        ..ProgramSpec::opaque(&["vite", "parcel", "tsup", "wasm-pack", "tsdown"])
    },
    ProgramSpec {
        valued: &[("o", WRITE), ("out-file", WRITE), ("d", TREE), ("out-dir", TREE)],
        ..ProgramSpec::opaque(&["babel", "swc"])
    },
    ProgramSpec { operands: Operands::Then(&[ArgumentRole::Read], WRITE), ..ProgramSpec::opaque(&["sass", "lessc"]) },
    ProgramSpec {
        valued: &[("o", WRITE), ("output", WRITE), ("out", WRITE), ("d", TREE), ("dir", TREE)],
        ..ProgramSpec::opaque(&[
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
    ProgramSpec { rule: Some(protoc), ..ProgramSpec::opaque(&["protoc", "buf"]) },
    // Build tools.
    ProgramSpec {
        valued: &[
            ("C", RUN),
            ("f", ArgumentRole::Script),
            ("directory", RUN),
            ("eval", ArgumentRole::Code),
            ("file", ArgumentRole::Script),
            ("makefile", ArgumentRole::Script),
        ],
        answers: &["--version", "-v"],
        scripts: &["GNUmakefile", "Makefile", "makefile"],
        rule: Some(makefile),
        ..ProgramSpec::opaque(&["make", "gmake"])
    },
    ProgramSpec {
        // Its build folder is not judged, as with any build tool.
        valued: &[("B", ArgumentRole::Text), ("install", ArgumentRole::Text), ("prefix", TREE)],
        answers: &["--version"],
        rule: Some(cmake),
        ..ProgramSpec::opaque(&["cmake"])
    },
    ProgramSpec {
        valued: &[("C", RUN), ("f", ArgumentRole::Script)],
        answers: &["--version"],
        scripts: &["build.ninja", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", "tasks.py", "Rakefile"],
        ..ProgramSpec::opaque(&["ninja", "samu", "just", "task", "invoke", "inv", "rake"])
    },
    ProgramSpec {
        answers: &["--version", "-v"],
        ..ProgramSpec::opaque(&[
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
    ProgramSpec {
        valued: &[
            ("basetemp", ArgumentRole::Path(Access::DeleteTree)),
            ("html", WRITE),
            ("junit-xml", WRITE),
            ("junitxml", WRITE),
            ("log-file", WRITE),
            ("report-log", WRITE),
        ],
        answers: &["--version", "-V"],
        ..ProgramSpec::opaque(&["pytest", "py.test"])
    },
    ProgramSpec {
        valued: &[
            ("cache-dir", TREE),
            ("html-report", TREE),
            ("junit-xml", WRITE),
            ("xml-report", TREE),
            ("txt-report", TREE),
            ("python-executable", ArgumentRole::Script),
        ],
        answers: &["--version", "-V"],
        ..ProgramSpec::opaque(&["mypy", "dmypy"])
    },
    ProgramSpec {
        valued: &[
            ("o", WRITE),
            ("d", TREE),
            ("output", WRITE),
            ("output-file", WRITE),
            ("directory", TREE),
            ("data-file", WRITE),
        ],
        ..ProgramSpec::opaque(&[
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
    ProgramSpec {
        valued: &[("cacheDirectory", TREE), ("coverageDirectory", TREE), ("outputFile", WRITE)],
        answers: &["--version"],
        ..ProgramSpec::opaque(&["jest", "vitest", "mocha", "ava", "tap", "karma", "c8", "nyc"])
    },
    ProgramSpec {
        valued: &[("output", TREE)],
        ..ProgramSpec::opaque(&[
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
            "trivy",
            "snyk",
            "gitleaks",
            "commitlint",
        ])
    },
    ProgramSpec {
        valued: &[("log-file", WRITE), ("xml-file", WRITE), ("massif-out-file", WRITE), ("callgrind-out-file", WRITE)],
        answers: &["--version"],
        rule: Some(valgrind),
        ..ProgramSpec::opaque(&["valgrind"])
    },
    // The index is in the working directory, unless an option says otherwise.
    ProgramSpec { valued: &[("f", WRITE), ("o", WRITE)], rule: Some(index), ..ProgramSpec::opaque(&["ctags", "etags"]) },
    // Media.
    ProgramSpec {
        operands: Operands::Rule,
        answers: &["-version"],
        rule: Some(last_operand),
        ..ProgramSpec::opaque(&[
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
    ProgramSpec { operands: Operands::All(ArgumentRole::Rewrite), ..ProgramSpec::opaque(&["mogrify", "optipng", "jpegoptim"]) },
    ProgramSpec { valued: OUTPUT, ..ProgramSpec::opaque(&["cwebp", "pngquant", "avifenc"]) },
];

/// `--emit asm=FILE`, `--print cfg=FILE`.
fn rustc(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    for value in parsed.values(&["emit", "print"]).filter_map(Arg::text) {
        for file in value.split(',').filter_map(|part| part.split_once('=')).map(|(_, file)| file) {
            reader.touch(call.state, call.name, &Arg::known(file), Access::Write);
        }
    }
}

/// `--go_out=plugins=grpc:FOLDER`.
fn protoc(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    for text in call.args.iter().filter_map(Arg::text) {
        let Some((option, value)) = text.split_once('=') else { continue };
        if option.starts_with("--") && (option.ends_with("_out") || matches!(option, "--descriptor_set_out" | "--dependency_out"))
        {
            let folder = value.rsplit(':').next().unwrap_or_default();
            reader.touch(call.state, call.name, &Arg::known(folder), Access::WriteTree);
        }
    }
}

/// Compiler options whose next word is an output file.
const COMPILER_OUTPUTS: &[&str] = &["-MF", "-MJ", "-Map", "-aux-info", "-o", "-odir", "-ohi", "-outputdir", "--output"];

/// Those of these options whose value may also be in the same word.
const ATTACHED_OUTPUTS: &[&str] = &["-MF", "-MJ", "-o"];

/// The output files of a compiler. Its options have a single dash, whatever their length.
fn compiler(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    for (nth, arg) in call.args.iter().enumerate() {
        let (Arg::Known(text) | Arg::One(text)) = arg else { continue };
        if text.starts_with('@') {
            reader.add_unknown(format!("`{}` takes its arguments from `{}`", call.name, arg.display()));
        } else if let Some(passed) = ["-Wa,", "-Wl,", "-Wp,"].iter().find_map(|prefix| text.strip_prefix(prefix)) {
            // `-Wp,-MD,FILE`, `-Wl,-Map=FILE`.
            let words: Vec<&str> = passed.split([',', '=']).collect();
            for pair in words.windows(2) {
                if let [option, file] = pair
                    && (COMPILER_OUTPUTS.contains(option) || ["-MD", "-MMD", "--Map"].contains(option))
                {
                    record_argument(reader, call, WRITE, &Arg::known(*file));
                }
            }
        } else if COMPILER_OUTPUTS.contains(&text.as_str()) {
            if let Some(file) = call.args.get(nth + 1) {
                record_argument(reader, call, WRITE, file);
            }
        } else if let Some(file) = ATTACHED_OUTPUTS.iter().find_map(|option| text.strip_prefix(option)) {
            let file = if arg.is_certain() { Arg::known(file) } else { Arg::One(file.to_owned()) };
            record_argument(reader, call, WRITE, &file);
        }
    }
}

/// `valgrind PROGRAM`: the program is analysed as well.
fn valgrind(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    let at = call.args.iter().position(|arg| !arg.may_be_option());
    if let Some(program) = at.and_then(|at| call.args.get(at..)) {
        reader.run_program(program, call.state, call.input);
    }
}

fn index(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if !parsed.has(&["f", "o"]) {
        let name = if call.name == "etags" { "TAGS" } else { "tags" };
        record_argument(reader, call, WRITE, &Arg::known(name));
    }
}

/// A makefile on standard input is text that is executed.
fn makefile(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if parsed.values(&["f", "file", "makefile"]).any(|file| file.is_text("-") || !file.is_certain()) {
        reader.add_unknown(format!("`{}` runs text that it reads when it runs", call.name));
    }
}

/// `cmake -E COMMAND`: small built-in programs, such as `rm` and `copy`.
fn cmake(reader: &mut ShellReader<'_>, call: &Invocation<'_>, _: &ParsedArguments<'_>) {
    if call.args.first().is_some_and(|arg| arg.is_text("-E")) {
        reader.add_unknown(format!("`{} -E` runs a command of its own", call.name));
    }
}

/// Records the last operand as written.
fn last_operand(reader: &mut ShellReader<'_>, call: &Invocation<'_>, parsed: &ParsedArguments<'_>) {
    if let Some(output) = parsed.operands.last().filter(|output| !output.is_text("-")) {
        record_argument(reader, call, WRITE, output);
    }
}
