//! `cargo xtask build`.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

#[path = "../../host-test/compiler-build/src/folder.rs"]
mod compiler_folder;
#[path = "../../host-test/nested_cargo/target_folder.rs"]
mod target_folder;

use target_folder::target_folder;

use crate::npm;
use crate::repository::{cargo, command, component, run, target};

/// Builds the commands, the component and the npm package.
pub(crate) fn build() -> Result<()> {
    host()?;
    npm::build()
}

/// Builds the component and the npm package without the command, which needs wasmtime and its compiler; compiling those takes
/// longer than everything else.
pub(crate) fn npm_package() -> Result<()> {
    add_target()?;
    copy_component()?;
    npm::build()
}

/// Builds the `tollgate` command with the component in it, and copies the component and `tollgate-compiler`, which were built for that,
/// next to it.
fn host() -> Result<()> {
    add_target()?;
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate"]))?;
    let name = format!("tollgate-compiler{EXE_SUFFIX}");
    let built = compiler_target()?.join("release").join(&name);
    let release = target().join("release");
    // The old one may be running, and it may be a hard link.
    let fresh = release.join(format!("{name}.tmp"));
    let remedy = "if it is missing, `cargo clean --release --package tollgate-compiler-build` makes cargo build it again";
    fs::copy(&built, &fresh).with_context(|| format!("cannot copy {}; {remedy}", built.display()))?;
    fs::rename(&fresh, release.join(&name)).with_context(|| format!("replacing {name}"))?;
    copy_component()
}

/// The target folder of the separate cargo process that builds `tollgate-compiler`; see `host-test/compiler-build`.
pub(crate) fn compiler_target() -> Result<PathBuf> {
    let words = ["build", "--release", "--locked", "--package", "tollgate-compiler-build"];
    let out = out_folder(&words, "host-test/compiler-build")?;
    Ok(target_folder(&out).context("build scripts write to the target folder")?.join(compiler_folder::FOLDER))
}

/// Builds the component, unless the command has been built with it, and copies it to its place in the target folder.
fn copy_component() -> Result<()> {
    let words = ["build", "--release", "--locked", "--package", "tollgate-component"];
    run(&mut cargo(&words))?;
    let built = out_folder(&words, "host-test/component")?.join("tollgate.wasm");
    fs::copy(&built, component()).with_context(|| format!("copying {}", built.display()))?;
    Ok(())
}

/// Builds a package and returns the folder in which its build script left its files, according to cargo.
fn out_folder(words: &[&str], package: &str) -> Result<PathBuf> {
    let mut asked = cargo(words);
    let mut child = asked.args(["--quiet", "--message-format=json"]).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("cargo's messages")?;
    let mut folder = None;
    for message in serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>() {
        let message = message?;
        let field = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
        if field("reason") == "build-script-executed" && field("package_id").contains(package) {
            folder = Some(PathBuf::from(field("out_dir")));
        }
    }
    ensure!(child.wait()?.success(), "cargo failed");
    folder.with_context(|| format!("cargo did not say where the build script of {package} left its files"))
}

/// Adds the WebAssembly target with rustup; without rustup, it must have been installed with Rust.
pub(crate) fn add_target() -> Result<()> {
    let rustup = command("rustup", &["target", "add", "wasm32-wasip2"]).stderr(Stdio::null()).status();
    match rustup {
        Ok(status) => ensure!(status.success(), "`rustup target add wasm32-wasip2` failed; is there a network connection?"),
        Err(_) => println!("rustup is not installed; make sure that this Rust has the target wasm32-wasip2"),
    }
    Ok(())
}
