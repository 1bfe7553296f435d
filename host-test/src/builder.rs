//! Configures and opens a gate.

use std::path::PathBuf;
use std::time::Duration;

use crate::bindings::tollgate::hooks::log::Level;
use crate::error::Error;
use crate::files::{Files, states_folder};
use crate::gate::Tollgate;
use crate::imports::HostServices;
use crate::runtime::{Limits, Runtime};

/// Opens a [`Tollgate`] for a workspace.
pub struct Builder {
    workspace: PathBuf,
    home: Option<PathBuf>,
    state: Option<PathBuf>,
    runtime: Option<Runtime>,
    services: HostServices,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { workspace: PathBuf::from("."), home: None, state: None, runtime: None, services: HostServices::default() }
    }

    /// Sets the governed folder. Default: the current folder.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = folder.into();
        self
    }

    /// Sets the folder that contains the user's `.tollgate/`. Default: the user's home folder.
    #[must_use]
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// Sets the folder that contains the state folders of all workspaces. Default: `.local/state/tollgate` in the folder given as
    /// [`home`](Self::home), otherwise `$XDG_STATE_HOME/tollgate` or its equivalent on this system.
    #[must_use]
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state = Some(folder.into());
        self
    }

    /// Sets the engine, which can be shared with other workspaces. Default: a new engine for this gate.
    #[must_use]
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Sets the function that receives the gate's log: a level, a message, and details as JSON, which may be empty. Default: the
    /// log is dropped.
    #[must_use]
    pub fn log(mut self, log: impl FnMut(Level, &str, &str) + Send + 'static) -> Self {
        self.services.log = Box::new(log);
        self
    }

    /// Sets where the settings of extensions read environment variables from. Default: this process's environment.
    #[must_use]
    pub fn variables(mut self, value: impl Fn(&str) -> Option<String> + Send + 'static) -> Self {
        self.services.variables = Box::new(value);
        self
    }

    /// Sets the clock, which returns the time since 1970. For tests that need repeatable times.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + 'static) -> Self {
        self.services.clock = Box::new(clock);
        self
    }

    /// Sets the function that fills a slice with random bytes. For tests that need repeatable ids.
    #[must_use]
    pub fn random(mut self, mut fill: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.services.random = Box::new(move |bytes| {
            fill(bytes);
            Ok(())
        });
        self
    }

    /// Opens the gate. The component itself is started on the first call.
    pub fn open(self) -> Result<Tollgate, Error> {
        let state = states_folder(self.home.as_deref(), self.state.as_deref())?;
        let home = self.home.or_else(std::env::home_dir);
        let files = Files::open(&self.workspace, home.as_deref(), Some(&state))?;
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => Runtime::new(Limits { instances: 1, ..Limits::default() })?,
        };
        Ok(Tollgate::new(runtime, files, self.services))
    }
}
