//! End-to-end tests: sessions in the real agent programs.

mod result;
mod vscode;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::jobs::{Job, run_jobs};
use crate::npm;
use crate::repository::{root, tollgate};
use crate::skips;
use result::{Ending, SessionResult};

/// Arguments for `unshare` that run a command in a network namespace with nothing but loopback. The first variant works for root,
/// the second for other users if the system allows it.
const NO_NETWORK: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];

/// Loopback is down in a new network namespace.
const LOOPBACK: &str = r#"ip link set lo up && exec "$@""#;

/// An agent program in which sessions run with a scripted model.
struct Program {
    /// The name for people.
    title: &'static str,
    /// The name that `tollgate hook` uses, and the folder below `xtask/e2e` that pins its packages.
    name: &'static str,
    /// The package whose version the summary shows.
    package: &'static str,
    /// The executable, below `node_modules`. It may be missing: npm leaves out packages that do not fit the system, such as those
    /// for another C library.
    binary: &'static str,
    /// The folder of its tests, below `npm-wrapper/e2e`.
    tests: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program {
        title: "OpenCode",
        name: "opencode",
        package: "opencode-linux-x64-baseline",
        binary: "opencode-linux-x64-baseline/bin/opencode",
        tests: "opencode",
    },
    Program {
        title: "Claude Code",
        name: "claude-code",
        package: "@anthropic-ai/claude-code",
        binary: "@anthropic-ai/claude-code-linux-x64/claude",
        tests: "claude",
    },
    Program {
        title: "Codex",
        name: "codex",
        package: "@openai/codex",
        binary: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        tests: "codex",
    },
    Program {
        title: "Gemini CLI",
        name: "gemini",
        package: "@google/gemini-cli",
        binary: "@google/gemini-cli/bundle/gemini.js",
        tests: "gemini",
    },
    Program {
        title: "Copilot",
        name: "copilot",
        package: "@github/copilot",
        binary: "@github/copilot-linux-x64/copilot",
        tests: "copilot",
    },
];

/// Installs all programs.
pub(crate) fn install() -> Result<()> {
    let programs = PROGRAMS.iter().map(|program| npm::install_pinned(&format!("e2e/{}", program.name)).map(drop));
    programs.chain([vscode::install()]).collect()
}

/// Runs the sessions in these programs, or in all of them. Sessions that cannot run here are reported as skipped, and the summary
/// has a line for each program.
pub(crate) fn test(names: &[&str]) -> Result<()> {
    let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).chain([vscode::NAME]).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        bail!("there are no sessions for `{name}`; use one of: {}", known.join(", "));
    }
    let is_wanted = |name: &str| names.is_empty() || names.contains(&name);
    // One of the sessions has an MCP server behind the proxy.
    npm::mcp_servers()?;
    // Programs wait for each other's answers, for timers and for npm more than half of the time.
    let mut sessions: Vec<Job<Result<SessionResult>>> = Vec::new();
    if is_wanted(vscode::NAME) {
        sessions.push(Box::new(vscode::test));
    }
    sessions
        .extend(PROGRAMS.iter().filter(|program| is_wanted(program.name)).map(|program| Box::new(|| play(program)) as Job<_>));
    let (played, faults): (Vec<_>, Vec<_>) = run_jobs(sessions)?.into_iter().partition(Result::is_ok);
    let played: Vec<SessionResult> = played.into_iter().flatten().collect();
    played.iter().filter_map(SessionResult::skipped).for_each(|what| skips::report(&what));
    println!("\nsessions in the real programs");
    played.iter().for_each(|played| println!("{}", played.line()));
    if let Some(fault) = faults.into_iter().find_map(Result::err) {
        return Err(fault);
    }
    let failed: Vec<&str> = played.iter().filter(|played| played.has_failed()).map(|played| played.program).collect();
    ensure!(failed.is_empty(), "sessions failed in: {}", failed.join(", "));
    Ok(())
}

/// Installs a program and runs its sessions.
fn play(program: &Program) -> Result<SessionResult> {
    let version = pinned_version(program.name, program.package)?;
    let skipped = |why: String| SessionResult::new(program.name, &version, Ending::Skipped(why));
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(skipped("the sessions run only on Linux on x86-64".to_owned()));
    }
    let folder = match npm::install_pinned(&format!("e2e/{}", program.name)) {
        Ok(folder) => folder.canonicalize()?,
        Err(fault) => return Ok(skipped(format!("npm could not install it: {fault:#}"))),
    };
    if !folder.join("node_modules").join(program.binary).exists() {
        return Ok(skipped(format!("npm did not install `{}`", program.binary)));
    }
    println!("\n{}: whole sessions with a scripted model", program.title);
    let files = test_files(program.tests)?;
    let tollgate = tollgate().canonicalize().context("the command is not built; run `cargo xtask build`")?;
    Ok(SessionResult::measure(program.name, &version, || {
        let mut test = sessions(&["--test-concurrency=1"]);
        test.args(&files).env("TOLLGATE_E2E", &folder).env("TOLLGATE", &tollgate);
        test
    }))
}

/// A command that runs tests of `npm-wrapper/` in Node, without network access, and counts what they skip.
fn sessions(words: &[&str]) -> Command {
    const REPORTERS: [&str; 4] = [
        "--test-reporter=tap",
        "--test-reporter-destination=stdout",
        "--test-reporter=./test/skip_reporter.mjs",
        "--test-reporter-destination=stderr",
    ];
    let mut test = without_network();
    test.args(["node", "--test"]).args(REPORTERS).args(words).current_dir(root().join("npm-wrapper"));
    skips::tell_tests(&mut test, false);
    test
}

/// The test files in a folder below `npm-wrapper/e2e`.
fn test_files(folder: &str) -> Result<Vec<String>> {
    let place = Path::new("e2e").join(folder);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("npm-wrapper").join(&place))? {
        let name = entry?.file_name();
        if name.to_string_lossy().contains(".test.") {
            files.push(place.join(name).to_string_lossy().into_owned());
        }
    }
    ensure!(!files.is_empty(), "there are no tests in npm-wrapper/{}", place.display());
    files.sort();
    Ok(files)
}

/// The version of a package that is pinned in a folder below `xtask/e2e`.
fn pinned_version(folder: &str, package: &str) -> Result<String> {
    let path = root().join("xtask/e2e").join(folder).join("package.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let manifest: Value = serde_json::from_str(&text)?;
    let version = manifest.get("dependencies").and_then(|all| all.get(package)).and_then(Value::as_str);
    Ok(version.with_context(|| format!("{} does not pin `{package}`", path.display()))?.to_owned())
}

/// A command prefix that runs a command without network access, if the system supports that.
fn without_network() -> Command {
    let wrapped = |flags: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(flags).args(["--", "sh", "-c", LOOPBACK, "sh"]);
        unshare
    };
    for flags in NO_NETWORK {
        let tried = wrapped(flags).arg("true").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if tried.is_ok_and(|status| status.success()) {
            return wrapped(flags);
        }
    }
    static REPORTED: Once = Once::new();
    REPORTED.call_once(|| skips::report("without `unshare` (util-linux) and `ip` (iproute2) the sessions have network access"));
    Command::new("env")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_program_has_tests_and_a_pinned_version() {
        for program in PROGRAMS {
            assert!(!test_files(program.tests).unwrap().is_empty(), "{}", program.name);
            let version = pinned_version(program.name, program.package).unwrap();
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{}: {version}", program.name);
            // The list of its tools must be of the same version.
            let path = root().join("fixtures/tools").join(program.name).with_extension("json");
            let list: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            assert_eq!(list.get("version").and_then(Value::as_str), Some(version.as_str()), "{}", program.name);
        }
    }
}
