//! Tests that cannot run on this machine. Harnesses hide what a passing test prints, so tests report to a file what they skip.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::repository::{root, target, tollgate};

/// The file to which tests add a line for everything that they skip: why it cannot run here.
fn file() -> PathBuf {
    root().join(target()).join("skips.txt")
}

/// Forgets what was skipped in an earlier run.
pub(crate) fn forget() -> Result<()> {
    fs::write(file(), "").context("emptying the list of skipped tests")
}

/// Reports what cannot run here, now and at the end.
pub(crate) fn report(why: &str) {
    println!("\nSKIPPED: {why}");
    let line = format!("{}\n", why.replace('\n', " "));
    let file = fs::OpenOptions::new().append(true).create(true).open(file());
    if let Err(fault) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        println!("it will not be counted: {fault}");
    }
}

/// How much was skipped, and how often for which reason.
pub(crate) fn list() -> Result<String> {
    Ok(count(&fs::read_to_string(file()).context("reading the list of skipped tests")?))
}

/// Tells tests where to report what they skip, and whether confinement is part of what they must test.
pub(crate) fn tell_tests(command: &mut Command, confines: bool) -> &mut Command {
    if confines {
        command.env("TOLLGATE_CONFINE", "1");
    }
    command.env("TOLLGATE_SKIPS", file())
}

/// Whether commands can be confined here, so that no test may skip it. The kernel is asked without the gate where that is possible:
/// otherwise a fault in the gate's own answer would skip the tests of it.
pub(crate) fn must_confine() -> Result<bool> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    if has_landlock(&read("/sys/kernel/security/lsm"), &read("/proc/sys/kernel/osrelease")) {
        return Ok(true);
    }
    let check = Command::new(tollgate()).args(["confine", "--check"]).output().context("asking for confinement")?;
    Ok(check.status.success())
}

/// Whether a kernel with these security modules and this release has a Landlock that confines commands: that of Linux 6.2.
fn has_landlock(modules: &str, release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    modules.trim().split(',').any(|module| module == "landlock") && (numbers.next(), numbers.next()) >= (Some(6), Some(2))
}

fn count(skipped: &str) -> String {
    let mut reasons = BTreeMap::<&str, usize>::new();
    skipped.lines().for_each(|why| *reasons.entry(why).or_default() += 1);
    let mut lines = vec![format!("skipped: {}", skipped.lines().count())];
    lines.extend(reasons.iter().map(|(why, times)| format!("{times:>6} times  {why}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_counted_by_reason() {
        assert_eq!(count(""), "skipped: 0");
        assert_eq!(count("no npm\nno cc\nno npm\n"), "skipped: 3\n     1 times  no cc\n     2 times  no npm");
    }

    #[test]
    fn kernels_with_landlock() {
        for (modules, release, expected) in [
            ("lockdown,capability,landlock,yama\n", "6.2.0-1-generic\n", true),
            ("landlock", "7.0.1", true),
            ("landlock", "6.1.0-13-amd64", false),
            ("landlock", "5.15.90", false),
            ("landlock", "", false),
            ("capability,yama", "6.12.1", false),
            ("", "6.12.1", false),
        ] {
            assert_eq!(has_landlock(modules, release), expected, "{modules} {release}");
        }
    }
}
