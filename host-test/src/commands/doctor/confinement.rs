//! Whether the kernel really holds a command: one tries to write out of scope by a way that no reader sees.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tollgate::Tollgate;
use tollgate::confine::Capability;

const SESSION: &str = "tollgate-doctor";

/// Writes in scope, and then beside it, to a path that is put together when it runs.
const COMMAND: &str = r#"echo in > canary/in && name=$(printf '\143anary.out') && echo out > "$name""#;

/// What was found out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// What is in scope was written, what is not was not.
    Holds,
    /// The system cannot, and why.
    Cannot(&'static str),
    /// The system should, and does not.
    Fails(String),
}

impl Confinement {
    /// For people.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Holds => "commands are held to their scope by the kernel".to_owned(),
            Self::Cannot(why) => format!("commands run unconfined: {why}"),
            Self::Fails(why) => format!("commands are NOT held to their scope: {why}"),
        }
    }
}

/// Tries it in a governed workspace that has an intent `CANARY` with the scope `canary/**`.
pub(super) fn examine(root: &Path) -> Confinement {
    match Capability::of_this_system() {
        Capability::None(why) => Confinement::Cannot(why),
        _ => attempt(root).map_or_else(Confinement::Fails, |()| Confinement::Holds),
    }
}

fn attempt(root: &Path) -> Result<(), String> {
    let home = root.join("home");
    let told = |why: &dyn std::fmt::Display| format!("the trial cannot be prepared: {why}");
    for folder in [&home, &root.join("canary")] {
        fs::create_dir_all(folder).map_err(|why| told(&why))?;
    }
    let mut gate = Tollgate::builder().workspace(root).home(&home).open().map_err(|why| told(&why))?;
    gate.select_intent(SESSION, "CANARY").map_err(|why| told(&why))?;
    let own = std::env::current_exe().map_err(|why| told(&why))?;
    let mut command = Command::new(own);
    command.args(["confine", "--session", SESSION, "--workspace"]).arg(root).arg("--home").arg(&home);
    command.args(["--", "sh", "-c", COMMAND]).current_dir(root).stdin(Stdio::null());
    let output = command.output().map_err(|why| told(&why))?;
    let said = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().chars().take(200).collect::<String>();
    if root.join("canary.out").exists() {
        return Err("a command wrote a file that its intent does not own".to_owned());
    }
    if !root.join("canary/in").exists() {
        return Err(format!("a command could not write a file that its intent owns: {said}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_holds() {
        assert!(Confinement::Holds.words().contains("held"));
        assert!(Confinement::Cannot("x").words().contains("unconfined: x"));
        assert!(Confinement::Fails("x".to_owned()).words().contains("NOT"));
    }
}
