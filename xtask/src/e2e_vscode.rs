//! The VS Code extension in the real editor: VS Code's server from npm, driven in Chromium.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::e2e;
use crate::house::{command, house, run};
use crate::npm;

/// Installs the editor and tries the extension in it. What is missing on this machine is said.
pub(crate) fn test() -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("\nskipped: the VS Code extension in the editor; its server comes as a package for Linux on x86-64 only");
        return Ok(());
    }
    let Some(chromium) = chromium() else {
        println!(
            "\nskipped: the VS Code extension in the editor; `chromium` is not on the PATH (Debian: apt-get install chromium)"
        );
        return Ok(());
    };
    let editor = editor()?;
    println!("\nthe VS Code extension in the editor");
    let mut test = e2e::alone();
    test.args(["node", "--test", "e2e/vscode/editor.test.mjs"]).current_dir(house().join("npm-wrapper"));
    let shots = editor.with_file_name("vscode");
    e2e::twice_at_most(test.env("TOLLGATE_EDITOR", editor).env("TOLLGATE_CHROMIUM", chromium).env("TOLLGATE_SHOTS", shots))
}

/// The browser.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|program| program.is_file())
}

/// The editor, installed below the target folder. Its own lock files pin what its parts need; none of it is compiled.
fn editor() -> Result<PathBuf> {
    let folder = npm::pinned("e2e/editor")?.canonicalize()?;
    let server = folder.join("node_modules/code-server/lib/vscode");
    for part in [server.clone(), server.join("extensions")] {
        install_part(&part)?;
    }
    Ok(folder)
}

/// A part of the editor that npm does not install along with it, unless it has been.
fn install_part(part: &Path) -> Result<()> {
    let mark = part.join("node_modules/.installed");
    if mark.is_file() {
        return Ok(());
    }
    let words = ["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(command("npm", &words).current_dir(part))?;
    Ok(fs::write(mark, "")?)
}
