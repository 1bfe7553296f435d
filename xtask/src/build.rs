//! `cargo xtask build`.

use std::fs;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::npm;
use crate::repository::{cargo, command, component, run};

/// Builds the commands, the component and the npm package.
pub(crate) fn build() -> Result<()> {
    host()?;
    // In a run of its own: together, cargo would build the command with the compiler's features.
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate-compiler"]))?;
    npm::build()
}

/// Builds the component and the npm package, without the command: that takes wasmtime and its compiler, which take longer than all
/// the rest.
pub(crate) fn npm_package() -> Result<()> {
    add_target()?;
    copy_component()?;
    npm::build()
}

/// Builds the `tollgate` command with the component in it, and copies the component next to it.
fn host() -> Result<()> {
    add_target()?;
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate"]))?;
    copy_component()
}

/// Builds the component, unless the command has been built with it, and copies it to its place in the target folder.
fn copy_component() -> Result<()> {
    let words = ["build", "--release", "--locked", "--package", "tollgate-component"];
    run(&mut cargo(&words))?;
    let built = out_folder(&words)?.join("tollgate.wasm");
    fs::copy(&built, component()).with_context(|| format!("copying {}", built.display()))?;
    Ok(())
}

/// The folder in which the build script left the component, according to cargo.
fn out_folder(words: &[&str]) -> Result<PathBuf> {
    let mut asked = cargo(words);
    let mut child = asked.args(["--quiet", "--message-format=json"]).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("cargo's messages")?;
    let mut folder = None;
    for message in serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>() {
        let message = message?;
        let field = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
        if field("reason") == "build-script-executed" && field("package_id").contains("host-test/component") {
            folder = Some(PathBuf::from(field("out_dir")));
        }
    }
    ensure!(child.wait()?.success(), "cargo failed");
    folder.context("cargo did not say where the component is")
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
