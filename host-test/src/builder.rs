//! How a gate is opened.

use std::path::PathBuf;
use std::time::Duration;

use crate::bindings::tollgate::hooks::log::Level;
use crate::error::Error;
use crate::files::{Files, state_folder};
use crate::gate::Tollgate;
use crate::imports::World;
use crate::runtime::{Limits, Runtime};

/// Opens a [`Tollgate`] onto a workspace.
pub struct Builder {
    workspace: PathBuf,
    home: Option<PathBuf>,
    state: Option<PathBuf>,
    runtime: Option<Runtime>,
    world: World,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { workspace: PathBuf::from("."), home: None, state: None, runtime: None, world: World::default() }
    }

    /// The folder that is governed; the current one where none is named.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = folder.into();
        self
    }

    /// The folder with `.tollgate/` for all workspaces of a user; the user's home where none is named.
    #[must_use]
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// The folder in which every workspace has a folder for what the gate keeps between calls. Where none is named, it is
    /// `.local/state/tollgate` in the folder given as [`home`](Self::home), else where the user keeps such things:
    /// `$XDG_STATE_HOME/tollgate`, or what stands for it on this system.
    #[must_use]
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state = Some(folder.into());
        self
    }

    /// An engine that other workspaces use too. Without it, the gate sets up one of its own.
    #[must_use]
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Where the gate's log goes: its level, a message and details as JSON, which may be empty. Without it, nowhere.
    #[must_use]
    pub fn log(mut self, log: impl FnMut(Level, &str, &str) + Send + 'static) -> Self {
        self.world.log = Box::new(log);
        self
    }

    /// The variables of the environment that settings of extensions may be read from, by name; those of this process where nothing
    /// is said.
    #[must_use]
    pub fn variables(mut self, value: impl Fn(&str) -> Option<String> + Send + 'static) -> Self {
        self.world.variables = Box::new(value);
        self
    }

    /// The time of day, since 1970. For tests that want the same times twice.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + 'static) -> Self {
        self.world.clock = Box::new(clock);
        self
    }

    /// Random bytes. For tests that want the same ids twice.
    #[must_use]
    pub fn random(mut self, mut fill: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.world.random = Box::new(move |bytes| {
            fill(bytes);
            Ok(())
        });
        self
    }

    /// Opens the gate. The component itself is started by the first call.
    pub fn open(self) -> Result<Tollgate, Error> {
        let state = state_folder(self.home.as_deref(), self.state.as_deref())?;
        let home = self.home.or_else(std::env::home_dir);
        let files = Files::open(&self.workspace, home.as_deref(), Some(&state))?;
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => Runtime::new(Limits { instances: 1, ..Limits::default() })?,
        };
        Ok(Tollgate::new(runtime, files, self.world))
    }
}
