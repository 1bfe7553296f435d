//! Stores approved components and their native code in the user's home folder, never in a workspace.
//!
//! | path below `~/.tollgate/` | contents |
//! | --- | --- |
//! | `components/HEX.wasm` | an approved component, stored by the gate under its digest |
//! | `cache/VERSION-ARCH-OS/HEX.cwasm` | its native code |
//! | `cache/VERSION-ARCH-OS/HEX.failed` | why it could not be compiled |
//! | `cache/VERSION-ARCH-OS/HEX.lock` | locked by the process that compiles it; not empty if that process was ended early |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tollgate_guest::hooks::components::KEPT;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::runtime::VERSION;

/// The component folders of one user.
#[derive(Debug, Clone)]
pub struct Cache {
    home: PathBuf,
}

impl Cache {
    /// Uses the folders in a user's home folder. Nothing is created yet.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The path of the file with the approved bytes of a component.
    pub(super) fn component(&self, digest: &str) -> Result<PathBuf, String> {
        Ok(self.home.join(KEPT).join(format!("{}.wasm", hex(digest)?)))
    }

    /// The path of the file for the native code of a component.
    pub(super) fn code(&self, digest: &str) -> Result<PathBuf, String> {
        self.path(digest, "cwasm")
    }

    /// Loads the native code of a component; `None` if it has to be compiled first.
    pub(super) fn load(&self, engine: &Engine, digest: &str) -> Result<Option<Component>, String> {
        let path = self.path(digest, "cwasm")?;
        match open_private(&path) {
            Ok(_) => check_folder(&self.folder()).map_err(|why| format!("its native code cannot be used: {why}"))?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                return match fs::read_to_string(self.path(digest, "failed")?) {
                    Ok(why) => Err(format!("it could not be compiled: {why}")),
                    Err(_) => Ok(None),
                };
            }
            Err(why) => return Err(format!("its native code cannot be used: {why}")),
        }
        // Code for another processor or another engine is compiled again.
        Ok(deserialize_file(engine, &path).ok())
    }

    /// Whether there is native code for a component.
    pub fn is_compiled(&self, digest: &str) -> bool {
        self.path(digest, "cwasm").is_ok_and(|path| open_private(&path).is_ok())
    }

    /// Records why a component could not be compiled, and removes its native code if there is any.
    pub(super) fn keep_failure(&self, digest: &str, why: &str) -> Result<(), String> {
        let path = self.path(digest, "failed")?;
        let write = || -> io::Result<()> {
            let folder = self.make_folder()?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(why.as_bytes())?;
            file.persist(&path).map(drop).map_err(|fault| fault.error)
        };
        write().map_err(|why| format!("`{}` cannot be written: {why}", path.display()))?;
        let _ = fs::remove_file(self.code(digest)?);
        Ok(())
    }

    /// Removes the record that a component could not be compiled.
    pub(super) fn forget_failure(&self, digest: &str) {
        if let Ok(path) = self.path(digest, "failed") {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the mark that an earlier compilation of a component was ended early, unless a process is compiling it now.
    pub(super) fn forget_interruption(&self, digest: &str) {
        let lock = self
            .path(digest, "lock")
            .and_then(|path| OpenOptions::new().read(true).write(true).open(path).map_err(|why| why.to_string()));
        if let Ok(lock) = lock
            && lock.try_lock().is_ok()
        {
            let _ = lock.set_len(0);
        }
    }

    fn folder(&self) -> PathBuf {
        let engine = format!("{VERSION}-{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        self.home.join(".tollgate/cache").join(engine)
    }

    fn path(&self, digest: &str, kind: &str) -> Result<PathBuf, String> {
        Ok(self.folder().join(format!("{}.{kind}", hex(digest)?)))
    }

    /// Creates the folder, accessible only to the user: its contents are run as native code.
    pub(super) fn make_folder(&self) -> io::Result<PathBuf> {
        let folder = self.folder();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        Ok(folder)
    }
}

/// The hex digits of a digest, which are used as a file name.
fn hex(digest: &str) -> Result<&str, String> {
    let is_hex = |hex: &&str| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digest.strip_prefix("sha256:").filter(is_hex).ok_or_else(|| format!("`{digest}` is not a digest"))
}

/// Opens a file that belongs to the user, is not a link, and is not writable by others.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
        let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let file = options.custom_flags(nofollow).open(path)?;
        let found = file.metadata()?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_file() || !is_ours || found.mode() & 0o022 != 0 {
            return Err(io::Error::other(format!("`{}` could have been written by another user; remove it", path.display())));
        }
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// Refuses a folder that others can write to, because they could replace the native code in it.
fn check_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::symlink_metadata(folder)?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_dir() || !is_ours || found.mode() & 0o022 != 0 {
            return Err(io::Error::other(format!("`{}` could have been written by another user; remove it", folder.display())));
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Loads native code from a file.
#[allow(unsafe_code)]
fn deserialize_file(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file is in a folder that only the user may write to, and was written there by `tollgate-compiler`, which got
    // the bytes from wasmtime. A process that can change it can run programs as the user anyway. wasmtime refuses code of another
    // version or configuration.
    unsafe { Component::deserialize_file(engine, path) }
}
