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

/// Builds the `tollgate` command, and copies the component that it embeds next to it.
pub(crate) fn host() -> Result<()> {
    add_target()?;
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate"]))?;
    let built = out_folder()?.join("tollgate.wasm");
    fs::copy(&built, component()).with_context(|| format!("copying {}", built.display()))?;
    Ok(())
}

/// The folder in which the host's build script left the component, according to cargo.
fn out_folder() -> Result<PathBuf> {
    let mut asked = cargo(&["build", "--release", "--locked", "--package", "tollgate", "--quiet", "--message-format=json"]);
    let mut child = asked.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("cargo's messages")?;
    let mut folder = None;
    for message in serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>() {
        let message = message?;
        let field = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
        if field("reason") == "build-script-executed" && field("package_id").contains("host-test") {
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
