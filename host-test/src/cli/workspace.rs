//! Which workspace a command is about, and in which form it answers.

use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tollgate::{Error, Tollgate};

use super::{Outcome, Stop, log, say};
use crate::cli::output::{Screen, colour};

/// What makes a folder a workspace. `.git` is a file where a repository has several work trees.
const MARKS: &[&str] = &[".orchestration", ".tollgate", ".git"];

const HEADING: &str = "Common options";

/// The options that every command but `eval` has.
#[derive(Args)]
pub(crate) struct Place {
    /// The governed folder [default: the nearest from here upwards with .orchestration/, .tollgate/ or .git]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    workspace: Option<PathBuf>,
    /// The folder with the user's own .tollgate/ [default: the user's home]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    home: Option<PathBuf>,
    /// The folder for what the gate keeps between calls [default: the user's, or in --home]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    state: Option<PathBuf>,
    /// Print the gate's answer as one JSON object, for programs
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) json: bool,
}

/// A gate, and the real path of the folder that it governs.
pub(crate) struct Opened {
    pub(crate) gate: Tollgate,
    pub(crate) root: PathBuf,
}

impl Place {
    /// Runs a command on a gate and turns what it came to into an exit code.
    pub(crate) fn run(&self, command: impl FnOnce(&mut Opened, &mut Screen<'_>) -> Result<Outcome, Stop>) -> ExitCode {
        self.run_in(|| self.open(), command)
    }

    /// The same for a command that needs something else than a gate.
    pub(crate) fn run_in<T>(
        &self,
        open: impl FnOnce() -> Result<T, Stop>,
        command: impl FnOnce(&mut T, &mut Screen<'_>) -> Result<Outcome, Stop>,
    ) -> ExitCode {
        let mut out = BufWriter::new(io::stdout().lock());
        let mut err = io::stderr();
        let colour = !self.json && colour(io::stdout().is_terminal());
        let result = open().and_then(|mut opened| {
            let result = command(&mut opened, &mut Screen { out: &mut out, err: &mut err, colour });
            if let (true, Err(Stop::Refused { answer, .. })) = (self.json, &result) {
                let _ = writeln!(out, "{answer}");
            }
            match (result, out.flush().map_err(Stop::from)) {
                // An answer holds, read or not.
                (Ok(outcome), Ok(()) | Err(Stop::Unread)) => Ok(outcome),
                (Ok(_), Err(stop)) => Err(stop),
                (stopped, _) => stopped,
            }
        });
        match result {
            Ok(Outcome::Done) => ExitCode::SUCCESS,
            Ok(Outcome::No) => ExitCode::from(1),
            Err(stop) => stop.exit(),
        }
    }

    /// The folder with the user's own `.tollgate/`.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.home.clone().or_else(std::env::home_dir)
    }

    /// The workspace and the home folder, for a command that sets them up: where there is no workspace yet, it is here.
    pub(crate) fn folders(&self) -> Result<Folders, Stop> {
        let home = self.home();
        let named = match &self.workspace {
            Some(named) => named.clone(),
            None => {
                let here = here()?;
                nearest(&here, home.as_deref()).unwrap_or(here)
            }
        };
        let root = named.canonicalize().map_err(|why| Stop::Fault(cannot_open(&named, &why)))?;
        Ok(Folders { root, home, home_named: self.home.clone(), state: self.state.clone() })
    }

    /// Opens the gate, for a command that prints by itself.
    pub(crate) fn open(&self) -> Result<Opened, Stop> {
        let home = self.home();
        let root = match &self.workspace {
            Some(named) => named.clone(),
            None => {
                let here = here()?;
                nearest(&here, home.as_deref()).ok_or_else(|| nowhere(&here))?
            }
        };
        let gate = open(&root, self.home.as_deref(), self.state.as_deref())?;
        if let Some(home) = self.home.as_deref().filter(|home| !home.is_dir()) {
            say(&format!("warn: there is no folder `{}`, so --home adds nothing", home.display()));
        }
        let root = root.canonicalize().map_err(|why| Stop::Fault(cannot_open(&root, &why)))?;
        Ok(Opened { gate, root })
    }
}

/// The folders that a command sets up.
pub(crate) struct Folders {
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// The same where it was named on the command line, and so stands for everything that is the user's.
    pub(crate) home_named: Option<PathBuf>,
    /// Where the state of all workspaces stands, as named on the command line.
    pub(crate) state: Option<PathBuf>,
}

impl Folders {
    /// How a gate onto them is opened.
    pub(crate) fn gate(&self) -> tollgate::Builder {
        builder(&self.root, self.home_named.as_deref(), self.state.as_deref())
    }

    /// The folder where a program would be started from here.
    pub(crate) fn start(&self) -> PathBuf {
        here().and_then(|here| here.canonicalize().map_err(Stop::fault)).unwrap_or_else(|_| self.root.clone())
    }

    /// The folder for what is kept of this workspace.
    pub(crate) fn state_folder(&self) -> Result<PathBuf, Stop> {
        tollgate::state_of(&self.root, self.home_named.as_deref(), self.state.as_deref()).map_err(Stop::fault)
    }

    /// Makes that folder, where nobody but the user may look.
    pub(crate) fn make_state_folder(&self) -> Result<(), Stop> {
        tollgate::make_state_of(&self.root, self.home_named.as_deref(), self.state.as_deref()).map_err(Stop::fault)
    }
}

fn here() -> Result<PathBuf, Stop> {
    std::env::current_dir()
        .map_err(|why| Stop::Fault(format!("the current folder is gone ({why}); name a folder with --workspace")))
}

/// Opens a gate whose log goes to standard error.
pub(crate) fn open(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<Tollgate, Stop> {
    builder(workspace, home, state).log(log).open().map_err(|fault| match fault {
        Error::Workspace { path, why } => Stop::Fault(cannot_open(&path, &why)),
        fault => Stop::fault(fault),
    })
}

fn builder(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> tollgate::Builder {
    let mut builder = Tollgate::builder().workspace(workspace);
    if let Some(home) = home {
        builder = builder.home(home);
    }
    if let Some(state) = state {
        builder = builder.state(state);
    }
    builder
}

fn cannot_open(path: &Path, why: &io::Error) -> String {
    format!("cannot open the workspace `{}`: {why}; name an existing folder with --workspace", path.display())
}

fn nowhere(here: &Path) -> Stop {
    Stop::Fault(format!(
        "neither `{}` nor a folder above it has .orchestration/, .tollgate/ or .git; name the workspace with --workspace DIR",
        here.display()
    ))
}

/// The nearest folder upwards that looks like a workspace.
fn nearest(here: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let (here, home) = (real(here), home.map(real));
    here.ancestors()
        .find(|folder| {
            // In the home folder, .tollgate/ is the user's own and governs nothing.
            let users_own = |mark: &&&str| **mark == ".tollgate" && home.as_deref() == Some(*folder);
            MARKS.iter().filter(|mark| !users_own(mark)).any(|mark| folder.join(mark).exists())
        })
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_with_a_mark_is_the_workspace() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for folder in
            [".tollgate", "work/.orchestration", "work/a/b", "work/sub/.git", "work/sub/c", "plain/d", "wt/e", "own/.git"]
        {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        std::fs::write(top.join("wt/.git"), "gitdir: elsewhere\n").unwrap();
        for (here, home, found) in [
            ("work/a/b", "nobody", Some("work")),
            ("work/.orchestration", "nobody", Some("work")),
            ("work/sub/c", "nobody", Some("work/sub")),
            ("wt/e", "nobody", Some("wt")),
            // What is the user's own is a workspace's only where it is not the home folder.
            ("plain/d", "nobody", Some("")),
            ("plain/d", "", None),
            ("own", "own", Some("own")),
        ] {
            let found = found.map(|found| if found.is_empty() { top.clone() } else { top.join(found) });
            // Above the temporary folder anything may stand, so nothing found means nothing found here.
            let nearest = nearest(&top.join(here), Some(&top.join(home))).filter(|nearest| nearest.starts_with(&top));
            assert_eq!(nearest, found, "{here} with home {home}");
        }
    }
}
