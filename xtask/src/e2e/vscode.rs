//! Tests the VS Code extension in the real editor: the VS Code server from npm, driven with Chromium.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::result::{Ending, SessionResult};
use crate::npm;
use crate::repository::run;

/// The name in the summary.
pub(super) const NAME: &str = "vscode";

/// Installs the editor and tests the extension in it. If something is missing on this machine, the test is reported as skipped.
pub(super) fn test() -> Result<SessionResult> {
    let version = super::pinned_version("editor", "code-server")?;
    let skipped = |why: &str| Ok(SessionResult::new(NAME, &version, Ending::Skipped(why.to_owned())));
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return skipped("the editor's server comes as a package for Linux on x86-64 only");
    }
    let Some(chromium) = chromium() else {
        return skipped("`chromium` is not on the PATH (Debian: apt-get install chromium)");
    };
    let editor = match editor() {
        Ok(editor) => editor,
        Err(fault) => return skipped(&format!("npm could not install the editor: {fault:#}")),
    };
    println!("\nthe VS Code extension in the editor");
    let shots = editor.with_file_name("vscode");
    Ok(SessionResult::measure(NAME, &version, || {
        let mut test = super::sessions(&["e2e/vscode/editor.test.mjs"]);
        test.env("TOLLGATE_EDITOR", &editor).env("TOLLGATE_CHROMIUM", &chromium).env("TOLLGATE_SHOTS", &shots);
        test
    }))
}

/// Installs the editor, if it is of any use on this machine.
pub(super) fn install() -> Result<()> {
    if chromium().is_some() { editor().map(drop) } else { Ok(()) }
}

/// The path of Chromium.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|program| program.is_file())
}

/// The editor, installed below the target folder. Its own lock files pin the dependencies of its parts; nothing is compiled.
fn editor() -> Result<PathBuf> {
    let folder = npm::install_pinned("e2e/editor")?.canonicalize()?;
    let server = folder.join("node_modules/code-server/lib/vscode");
    for part in [server.clone(), server.join("extensions")] {
        install_part(&part)?;
    }
    Ok(folder)
}

/// Installs a part of the editor that npm does not install with it, if it is missing.
fn install_part(part: &Path) -> Result<()> {
    let mark = part.join("node_modules/.installed");
    if mark.is_file() {
        return Ok(());
    }
    let words = ["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(npm::npm(&words).current_dir(part))?;
    Ok(fs::write(mark, "")?)
}
