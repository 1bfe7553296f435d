//! Tests whether the kernel really restricts commands: one tries to write outside its scope in a way that no parser can predict.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tollgate::Tollgate;
use tollgate::confine::Capability;

const SESSION: &str = "tollgate-doctor";

/// Writes inside the scope, and then outside of it, to a path that is only computed at run time.
const COMMAND: &str = r#"echo in > canary/in && name=$(printf '\143anary.out') && echo out > "$name""#;

/// The result of the test.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// The file in scope was written, the other one was not.
    Holds,
    /// The system does not support it, for this reason.
    Cannot(&'static str),
    /// The system supports it, but it does not work.
    Fails(String),
}

impl Confinement {
    /// A description for people.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Holds => "the kernel restricts commands to their scope".to_owned(),
            Self::Cannot(why) => format!("commands run unconfined: {why}"),
            Self::Fails(why) => format!("the kernel does NOT restrict commands to their scope: {why}"),
        }
    }
}

/// Runs the test in a governed workspace that has an intent `CANARY` with the scope `canary/**`.
pub(super) fn examine(root: &Path) -> Confinement {
    match Capability::of_this_system() {
        Capability::None(why) => Confinement::Cannot(why),
        _ => attempt(root).map_or_else(Confinement::Fails, |()| Confinement::Holds),
    }
}

fn attempt(root: &Path) -> Result<(), String> {
    let home = root.join("home");
    let cannot_prepare = |why: &dyn std::fmt::Display| format!("the test cannot be prepared: {why}");
    for folder in [&home, &root.join("canary")] {
        fs::create_dir_all(folder).map_err(|why| cannot_prepare(&why))?;
    }
    let mut gate = Tollgate::builder().workspace(root).home(&home).open().map_err(|why| cannot_prepare(&why))?;
    gate.select_intent(SESSION, "CANARY").map_err(|why| cannot_prepare(&why))?;
    let own = std::env::current_exe().map_err(|why| cannot_prepare(&why))?;
    let mut command = Command::new(own);
    command.args(["confine", "--session", SESSION, "--workspace"]).arg(root).arg("--home").arg(&home);
    command.args(["--", "sh", "-c", COMMAND]).current_dir(root).stdin(Stdio::null());
    let output = command.output().map_err(|why| cannot_prepare(&why))?;
    let stderr = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().chars().take(200).collect::<String>();
    if root.join("canary.out").exists() {
        return Err("a command wrote a file that its intent does not own".to_owned());
    }
    if !root.join("canary/in").exists() {
        return Err(format!("a command could not write a file that its intent owns: {stderr}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_holds() {
        assert!(Confinement::Holds.describe().contains("held"));
        assert!(Confinement::Cannot("x").describe().contains("unconfined: x"));
        assert!(Confinement::Fails("x".to_owned()).describe().contains("NOT"));
    }
}
