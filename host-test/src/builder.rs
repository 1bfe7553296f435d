//! How a gate is opened.

use std::path::PathBuf;
use std::time::Duration;

use crate::bindings::tollgate::hooks::log::Level;
use crate::error::Error;
use crate::files::Files;
use crate::gate::Tollgate;
use crate::imports::World;
use crate::runtime::{Limits, Runtime};

/// Opens a [`Tollgate`] onto a workspace.
pub struct Builder {
    workspace: PathBuf,
    home: Option<PathBuf>,
    runtime: Option<Runtime>,
    world: World,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { workspace: PathBuf::from("."), home: std::env::home_dir(), runtime: None, world: World::default() }
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
        let files = Files::open(&self.workspace, self.home.as_deref())?;
        let runtime = match self.runtime {
            Some(runtime) => runtime,
            None => Runtime::new(Limits { instances: 1, ..Limits::default() })?,
        };
        Ok(Tollgate::new(runtime, files, self.world))
    }
}
