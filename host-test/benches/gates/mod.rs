//! A workspace and a home folder in a temporary folder, and the gate on both, natively and as the component.

use std::fs;
use std::path::PathBuf;

use tollgate::native::NativeGate;
use tollgate::{Limits, Runtime, Tollgate};

/// Where a benchmark runs.
pub(crate) struct Folders {
    folder: tempfile::TempDir,
    runtime: Runtime,
}

impl Folders {
    /// Creates these folders.
    pub(crate) fn new(folders: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for part in ["workspace", "home"].iter().chain(folders) {
            fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        Self { folder, runtime: Runtime::new(Limits::default()).unwrap() }
    }

    /// The workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("workspace")
    }

    /// The user's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Anything else.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The gate's logic without the component.
    pub(crate) fn native(&self) -> NativeGate {
        NativeGate::open(&self.root(), &self.home()).unwrap()
    }

    /// The gate.
    pub(crate) fn component(&self) -> Tollgate {
        Tollgate::builder().workspace(self.root()).home(self.home()).runtime(self.runtime.clone()).open().unwrap()
    }
}
