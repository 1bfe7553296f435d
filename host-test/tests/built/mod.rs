//! Builds hooks from source, in every language: the samples, and projects created by `tollgate new-hook`.

#![allow(dead_code, reason = "every test uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The folder in which hooks are built. They share it, so that their dependencies are built and installed once.
pub(crate) fn target() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hooks");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The language that a hook is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Js,
    Python,
}

/// The samples, each with its name and language.
pub(crate) const SAMPLES: [(&str, Language); 4] = [
    ("command-guard", Language::Rust),
    ("licence-header", Language::Rust),
    ("commit-rules", Language::Js),
    ("injection-scan", Language::Python),
];

/// Runs shell commands with `tollgate` in `PATH`.
pub(crate) fn sh(lines: &str, folder: &Path) -> Output {
    let path = std::env::var("PATH").unwrap();
    let command = Path::new(env!("CARGO_BIN_EXE_tollgate"));
    let path = format!("{}:{path}", command.parent().unwrap().display());
    let mut command = Command::new("sh");
    command.args(["-e", "-u", "-c", lines]).current_dir(folder).env("PATH", path).env("CARGO_TARGET_DIR", target());
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

/// The output of a command.
pub(crate) fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Installs the tools of a language, once for all hooks. The error says why they are not available.
pub(crate) fn tools(language: Language) -> Result<(), String> {
    let lines = match language {
        Language::Rust => return Ok(()),
        Language::Js => {
            fs::copy(repository().join("examples/commit-rules/package.json"), target().join("package.json")).unwrap();
            "test -d node_modules/componentize-qjs || npm install --no-audit --no-fund --no-package-lock"
        }
        Language::Python => {
            fs::copy(repository().join("examples/injection-scan/requirements.txt"), target().join("requirements.txt")).unwrap();
            "test -x .venv/bin/componentize-py || { python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt; }"
        }
    };
    let output = sh(lines, &target());
    if output.status.success() { Ok(()) } else { Err(output_text(&output)) }
}

/// Builds a project into a component without its manifest.
pub(crate) fn build(project: &Path, language: Language, name: &str) -> Result<PathBuf, String> {
    let contract = if project.join("wit").exists() { project.join("wit") } else { repository().join("wit/hook") };
    let (contract, built) = (contract.display(), target().join(format!("{name}.wasm")));
    let tools = target();
    let tools = tools.display();
    let world = if fs::read_to_string(project.join("hook.py")).is_ok_and(|text| text.contains("PostTool")) {
        "watcher"
    } else {
        "checker"
    };
    let lines = match language {
        Language::Rust => format!(
            "cargo build --release --target wasm32-wasip2\ncp {tools}/wasm32-wasip2/release/{}.wasm {}",
            name.replace('-', "_"),
            built.display()
        ),
        // Built in a folder next to the tools, so that nothing is installed in the source folder.
        Language::Js => format!(
            "rm -rf {tools}/js/{name} && mkdir -p {tools}/js/x/x && cp -R . {tools}/js/{name}\n\
             cd {tools}/js/{name} && sed -i.bak \"s|witPath: '[^']*'|witPath: '{contract}'|\" build.mjs && node build.mjs\n\
             mv {name}.wasm {}",
            built.display()
        ),
        Language::Python => format!(
            "{tools}/.venv/bin/componentize-py -d {contract} -w {world} componentize --stub-wasi hook -o {}",
            built.display()
        ),
    };
    let output = sh(&lines, project);
    if output.status.success() { Ok(built) } else { Err(output_text(&output)) }
}

/// Builds a sample, with its manifest.
pub(crate) fn sample(name: &str, language: Language) -> Result<PathBuf, String> {
    let project = repository().join("examples").join(name);
    let built = build(&project, language, name)?;
    pack(&built, &project)?;
    Ok(built)
}

/// Embeds a project's manifest in its component.
pub(crate) fn pack(built: &Path, project: &Path) -> Result<(), String> {
    let output = sh(&format!("tollgate pack-hook {} manifest.json", built.display()), project);
    if output.status.success() { Ok(()) } else { Err(output_text(&output)) }
}
