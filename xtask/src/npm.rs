//! The npm package, and the runtimes that it is tested in.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};

use crate::repository::{command, component, root, run, target};

/// An npm command.
pub(crate) fn npm(words: &[&str]) -> Command {
    command(if cfg!(windows) { "npm.cmd" } else { "npm" }, words)
}

/// Installs the build dependencies of the package, if its lock file has changed.
pub(crate) fn install() -> Result<()> {
    install_in(&root().join("npm-wrapper"), &["install", "--no-save"])
}

/// Builds `npm-wrapper/dist/` from the component.
pub(crate) fn build() -> Result<()> {
    install()?;
    let mut build = command("node", &["build.mjs", "--component"]);
    run(build.arg(component()).current_dir(root().join("npm-wrapper")))
}

/// The command that runs the tests of the package.
pub(crate) fn test() -> Command {
    let mut tests = npm(&["test", "--silent"]);
    tests.current_dir(root().join("npm-wrapper"));
    tests
}

/// A JavaScript runtime by name.
pub(crate) struct Runtime {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
}

/// The installed Node, Node 22 and 24, and Bun, as far as they are available on this machine.
pub(crate) fn runtimes() -> Result<Vec<Runtime>> {
    let mut runtimes = vec![Runtime { name: "node", program: PathBuf::from("node") }];
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(runtimes);
    }
    let folder = install_pinned("runtimes")?;
    for (name, program) in [
        ("node22", "node_modules/node22/bin/node"),
        ("node24", "node_modules/node24/bin/node"),
        ("bun", "node_modules/@oven/bun-linux-x64-baseline/bin/bun"),
    ] {
        runtimes.push(Runtime { name, program: folder.join(program) });
    }
    Ok(runtimes)
}

/// Installs the MCP servers for tests below the target folder.
pub(crate) fn mcp_servers() -> Result<()> {
    install_pinned("mcp-servers").map(drop)
}

/// Installs what the tests need, without saying whether that succeeded.
pub(crate) fn install_for_tests() -> Result<()> {
    let installed = [mcp_servers(), runtimes().map(drop)];
    installed.into_iter().collect()
}

/// Installs the packages pinned in a folder of this crate below the target folder, and returns that folder.
pub(crate) fn install_pinned(name: &str) -> Result<PathBuf> {
    let folder = target().join(name);
    fs::create_dir_all(&folder)?;
    for file in [".npmrc", "package.json", "package-lock.json"] {
        let from = root().join("xtask").join(name).join(file);
        fs::copy(&from, folder.join(file)).with_context(|| format!("copying {}", from.display()))?;
    }
    install_in(&folder, &["install", "--no-save"])?;
    Ok(folder)
}

/// While something is being installed. Another thread that needs the same finds it installed afterwards.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installing takes time, so it is skipped if the lock file has not changed. `npm ci` is not used because it requires the
/// packages of all other platforms as well.
fn install_in(folder: &std::path::Path, words: &[&str]) -> Result<()> {
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let lock = fs::read(folder.join("package-lock.json")).context("reading package-lock.json")?;
    let mark = folder.join("node_modules/.installed-from");
    if fs::read(&mark).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run(npm(words).args(["--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder))?;
    Ok(fs::write(mark, lock)?)
}
