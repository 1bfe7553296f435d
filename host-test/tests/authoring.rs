//! An author's way, from the first command to a denial: the commands of `docs/third-party-hooks.md` are run as they stand there, and
//! the examples pass their own cases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![cfg(all(unix, feature = "compiler"))]

mod hostile;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use hostile::{House, compiler};

fn house() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Where hooks are built, so that what they need is built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("hooks")
}

/// Runs lines of a shell with the command in its path.
fn sh(lines: &str, folder: &Path) -> Output {
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", compiler().parent().unwrap().display());
    let mut command = Command::new("sh");
    command.args(["-e", "-u", "-c", lines]).current_dir(folder).env("PATH", path).env("CARGO_TARGET_DIR", target());
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_page_leads_to_a_denial() {
    let page = fs::read_to_string(house().join("docs/third-party-hooks.md")).unwrap();
    let commands = page.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    // Everything is built in one folder, so the built file is found there.
    let commands = commands.replace("target/wasm32-wasip2", &format!("{}/wasm32-wasip2", target().display()));
    let folder = tempfile::tempdir().unwrap();
    let output = sh(&commands, folder.path());
    assert!(output.status.success(), "{}", said(&output));
    let told = said(&output);
    assert!(told.contains("exports   pre-tool") && told.contains("ok") && !told.contains("FAILED"), "{told}");
    let bytes = fs::read(folder.path().join("no-vendor/no-vendor.wasm")).unwrap();
    let mut house = House::try_new(&bytes, json!({"settings": {"prefixes": ["src/vendor/"]}})).unwrap();
    let (answer, _) = house.write("src/vendor/a.js");
    assert_eq!((&answer["verdict"], &answer["code"]), (&json!("deny"), &json!("h/protected")), "{answer}");
    assert_eq!(house.write("src/a.js").0["verdict"], "allow");
}

#[test]
fn the_examples_pass_their_cases() {
    for name in ["command-guard", "licence-header"] {
        let folder = house().join("examples").join(name);
        let packed = target().join(format!("{name}.wasm"));
        let commands = format!(
            "cargo build --release --target wasm32-wasip2\n\
             tollgate pack-hook {built}/{snake}.wasm manifest.json --output {packed}\n\
             tollgate test-hook {packed} cases.jsonl",
            built = target().join("wasm32-wasip2/release").display(),
            snake = name.replace('-', "_"),
            packed = packed.display(),
        );
        let output = sh(&commands, &folder);
        assert!(output.status.success(), "{name}: {}", said(&output));
    }
}
