//! Options that choose the workspace, and opening its gate.

use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tollgate::{Error, Tollgate, command_workspace};

use super::{CommandError, CommandResult, Outcome, log, print_message};
use crate::cli::output::{Output, colour};

const HEADING: &str = "Common options";

/// The options that every command except `eval` has.
#[derive(Args)]
pub(crate) struct WorkspaceArgs {
    /// The governed folder [default: the nearest parent folder with .orchestration/, .tollgate/ or .git]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    workspace: Option<PathBuf>,
    /// The folder that contains the user's .tollgate/ [default: the home folder]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    home: Option<PathBuf>,
    /// The folder for state that the gate keeps between calls [default: the user's state folder, or below --home]
    #[arg(long, value_name = "DIR", global = true, help_heading = HEADING)]
    state: Option<PathBuf>,
    /// Print the gate's answer as one JSON object, for programs
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) json: bool,
}

/// The options of a command that only has subcommands.
#[derive(Args)]
pub(crate) struct WithSubcommand<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
}

/// An open gate and the canonical path of its workspace.
pub(crate) struct OpenGate {
    pub(crate) gate: Tollgate,
    pub(crate) root: PathBuf,
}

impl WorkspaceArgs {
    /// Opens the gate, runs a command and returns the exit code.
    pub(crate) fn run(&self, command: impl FnOnce(&mut OpenGate, &mut Output<'_>) -> CommandResult) -> ExitCode {
        self.run_in(|| self.open(), command)
    }

    /// Like [`run`](Self::run), for a command that needs something other than an open gate.
    pub(crate) fn run_in<T>(
        &self,
        open: impl FnOnce() -> Result<T, CommandError>,
        command: impl FnOnce(&mut T, &mut Output<'_>) -> CommandResult,
    ) -> ExitCode {
        let mut out = BufWriter::new(io::stdout().lock());
        let mut err = io::stderr();
        let colour = !self.json && colour(io::stdout().is_terminal());
        let result = open().and_then(|mut opened| {
            let result = command(&mut opened, &mut Output { out: &mut out, err: &mut err, colour });
            if let (true, Err(CommandError::Refused { answer, .. })) = (self.json, &result) {
                let _ = writeln!(out, "{answer}");
            }
            match (result, out.flush().map_err(CommandError::from)) {
                // The result counts even if the output is not read.
                (Ok(outcome), Ok(()) | Err(CommandError::OutputClosed)) => Ok(outcome),
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

    /// The folder that contains the user's `.tollgate/`.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.home.clone().or_else(std::env::home_dir)
    }

    /// The folders for a command that sets up a workspace; without one, the current folder becomes the workspace.
    pub(crate) fn folders(&self) -> Result<Folders, CommandError> {
        let home = self.home();
        let named = match &self.workspace {
            Some(named) => named.clone(),
            None => {
                let here = current_folder()?;
                command_workspace(&here, home.as_deref()).unwrap_or(here)
            }
        };
        let root = named.canonicalize().map_err(|why| CommandError::Failed(cannot_open(&named, &why)))?;
        Ok(Folders { root, home, home_named: self.home.clone(), state: self.state.clone() })
    }

    /// Opens the gate for a command that handles its own output.
    pub(crate) fn open(&self) -> Result<OpenGate, CommandError> {
        let root = match &self.workspace {
            Some(named) => named.clone(),
            None => command_workspace(&current_folder()?, self.home().as_deref()).map_err(CommandError::Failed)?,
        };
        let gate = open(&root, self.home.as_deref(), self.state.as_deref())?;
        if let Some(home) = self.home.as_deref().filter(|home| !home.is_dir()) {
            print_message(&format!("warn: there is no folder `{}`, so --home adds nothing", home.display()));
        }
        let root = root.canonicalize().map_err(|why| CommandError::Failed(cannot_open(&root, &why)))?;
        Ok(OpenGate { gate, root })
    }
}

/// The folders that a setup command works with.
pub(crate) struct Folders {
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// The home folder if it was given on the command line; all user files are then looked for in it.
    pub(crate) home_named: Option<PathBuf>,
    /// The folder for the state of all workspaces, if it was given on the command line.
    pub(crate) state: Option<PathBuf>,
}

impl Folders {
    /// A builder for a gate on these folders.
    pub(crate) fn gate(&self) -> tollgate::Builder {
        builder(&self.root, self.home_named.as_deref(), self.state.as_deref())
    }

    /// The folder in which a program would be started.
    pub(crate) fn start(&self) -> PathBuf {
        current_folder().and_then(|here| here.canonicalize().map_err(CommandError::failed)).unwrap_or_else(|_| self.root.clone())
    }

    /// The state folder of this workspace.
    pub(crate) fn state_folder(&self) -> Result<PathBuf, CommandError> {
        tollgate::state_folder(&self.root, self.home_named.as_deref(), self.state.as_deref()).map_err(CommandError::failed)
    }

    /// Creates the state folder, accessible only to the user.
    pub(crate) fn create_state_folder(&self) -> Result<(), CommandError> {
        tollgate::create_state_folder(&self.root, self.home_named.as_deref(), self.state.as_deref()).map_err(CommandError::failed)
    }
}

fn current_folder() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|why| {
        CommandError::Failed(format!("the current folder no longer exists ({why}); name a folder with --workspace"))
    })
}

/// Opens a gate whose log goes to standard error.
pub(crate) fn open(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Result<Tollgate, CommandError> {
    builder(workspace, home, state).log(log).open().map_err(|fault| match fault {
        Error::Workspace { path, why } => CommandError::Failed(cannot_open(&path, &why)),
        fault => CommandError::failed(fault),
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
