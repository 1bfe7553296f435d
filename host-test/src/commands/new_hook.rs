//! `tollgate new-hook NAME --lang LANGUAGE`: creates a hook project that builds and passes its own test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::cli::{fail, print_message};

const CONTRACT: &str = include_str!("../../../wit/hook/hook.wit");

/// A file of a project: its path, and its text with the placeholders `NAME` and `SNAKE`.
type File = (&'static str, &'static str);

const RUST: &[File] = &[
    ("Cargo.toml", include_str!("../../templates/rust/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("../../templates/rust/src/lib.rs.txt")),
    ("manifest.json", include_str!("../../templates/manifest.json")),
    ("cases.jsonl", include_str!("../../templates/cases.jsonl")),
    ("README.md", include_str!("../../templates/rust/README.md.txt")),
    (".gitignore", "target/\n*.wasm\n"),
];

const JS: &[File] = &[
    ("package.json", include_str!("../../templates/js/package.json.txt")),
    ("build.mjs", include_str!("../../templates/js/build.mjs.txt")),
    ("hook.js", include_str!("../../templates/js/hook.js.txt")),
    ("manifest.json", include_str!("../../templates/manifest.json")),
    ("cases.jsonl", include_str!("../../templates/cases.jsonl")),
    ("README.md", include_str!("../../templates/js/README.md.txt")),
    (".gitignore", "node_modules/\n*.wasm\n"),
];

const PYTHON: &[File] = &[
    ("hook.py", include_str!("../../templates/python/hook.py.txt")),
    ("requirements.txt", include_str!("../../templates/python/requirements.txt")),
    ("manifest.json", include_str!("../../templates/manifest.json")),
    ("cases.jsonl", include_str!("../../templates/cases.jsonl")),
    ("README.md", include_str!("../../templates/python/README.md.txt")),
    (".gitignore", "__pycache__/\n.venv/\nbindings/\n*.wasm\n"),
];

/// The language that a hook is written in.
#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Rust,
    Js,
    Python,
}

/// The options of `tollgate new-hook`.
#[derive(Args)]
pub(crate) struct Options {
    /// The name of the hook and of its new folder: lower-case letters, digits and hyphens
    #[arg(value_name = "NAME")]
    name: String,
    /// The programming language
    #[arg(long, value_enum)]
    lang: Language,
    /// The folder in which the project's folder is created
    #[arg(long, value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Creates the project.
pub(crate) fn run(options: &Options) -> ExitCode {
    match write(options) {
        Ok(folder) => {
            print_message(&format!("`{}` is ready; its README.md says how to build and try it", folder.display()));
            ExitCode::SUCCESS
        }
        Err(why) => fail(&why),
    }
}

fn write(options: &Options) -> Result<PathBuf, String> {
    let name = options.name.as_str();
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if !begins || name.len() > 64 || !name.bytes().all(fits) {
        return Err(format!(
            "`{name}` cannot be the name of a hook; use lower-case letters, digits and hyphens, and begin with a letter"
        ));
    }
    let folder = options.directory.join(name);
    fs::create_dir(&folder).map_err(|why| format!("`{}` cannot be created: {why}", folder.display()))?;
    let files = match options.lang {
        Language::Rust => RUST,
        Language::Js => JS,
        Language::Python => PYTHON,
    };
    let snake = name.replace('-', "_");
    for (path, text) in files {
        write_file(&folder, path, &text.replace("SNAKE", &snake).replace("NAME", name))?;
    }
    write_file(&folder, "wit/hook.wit", CONTRACT)?;
    Ok(folder)
}

fn write_file(folder: &Path, path: &str, text: &str) -> Result<(), String> {
    let path = folder.join(path);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
    written.map_err(|why| format!("`{}` cannot be written: {why}", path.display()))
}
