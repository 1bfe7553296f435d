//! Commands that the kernel restricts to what the gate grants.
//!
//! The gate determines what a command may change ([`Tollgate::perform`](crate::Tollgate::perform) with `{"op":"grants"}`); this
//! module creates missing folders, restricts the calling thread, and leaves it to the caller to execute the command. Restrictions
//! cannot be lifted and are inherited by all child processes.
//!
//! | system | how |
//! | --- | --- |
//! | Linux | [Landlock](https://landlock.io), from kernel 6.2; older kernels restrict less and are not supported |
//! | macOS | a Seatbelt profile for `sandbox-exec`; only its text is tested |
//! | others | not supported |

mod launch;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod opened;
mod prepared;
pub mod seatbelt;
#[cfg(target_os = "linux")]
mod terminal;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use launch::Launch;
pub use prepared::Prepared;
use serde_json::Value;

/// What this system can restrict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Nothing, for this reason.
    None(&'static str),
    /// Files and whole folders.
    Trees,
    /// Also folders with exceptions.
    Exceptions,
}

impl Capability {
    /// The capability of this system.
    pub fn of_this_system() -> Self {
        #[cfg(target_os = "linux")]
        return linux::capability();
        #[cfg(target_os = "macos")]
        return seatbelt::capability();
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        Self::None("confinement is not supported on this system")
    }

    /// Whether commands cannot be confined here.
    pub fn is_none(self) -> bool {
        matches!(self, Self::None(_))
    }

    /// The fields `confinable` and `why` of a request.
    pub fn fields(self) -> (Value, Option<&'static str>) {
        match self {
            Self::None(why) => (false.into(), Some(why)),
            Self::Trees => (true.into(), None),
            Self::Exceptions => ("exceptions".into(), None),
        }
    }
}

/// Whether a grant is for a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The content of a file.
    File,
    /// A folder with everything in it.
    Tree,
}

/// Something that a command may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// An absolute path.
    pub path: PathBuf,
    /// A file, or a folder with everything in it.
    pub kind: Kind,
    /// Whether it is created if it does not exist.
    pub make: bool,
    /// Absolute paths in it that are not granted. Only on systems that support exceptions.
    pub except: Vec<PathBuf>,
}

/// What the gate grants to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it may change.
    pub grants: Vec<Grant>,
    /// Whether it may open TCP connections and listen.
    pub network: bool,
    /// The folder for temporary files.
    pub temporary: Option<PathBuf>,
}

impl Plan {
    /// Reads an answer to `{"op":"grants"}`; `None` if it is invalid. `root` is the canonical path of the workspace.
    pub fn read(answer: &Value, root: &Path) -> Option<Self> {
        let grant = |grant: &Value| {
            let kind = match grant.get("kind")?.as_str()? {
                "file" => Kind::File,
                "tree" => Kind::Tree,
                _ => return None,
            };
            let path = |value: &Value| Some(root.join(value.as_str()?));
            let except = grant.get("except").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            Some(Grant {
                path: path(grant.get("path")?)?,
                kind,
                make: grant.get("make").and_then(Value::as_bool).unwrap_or_default(),
                except: except.iter().map(path).collect::<Option<_>>()?,
            })
        };
        Some(Self {
            grants: answer.get("grants")?.as_array()?.iter().map(grant).collect::<Option<_>>()?,
            network: answer.get("network")?.as_bool()?,
            temporary: answer.pointer("/env/TMPDIR").and_then(Value::as_str).map(PathBuf::from),
        })
    }

    /// Restricts the calling thread, and with it the command that it executes. Returns the command.
    ///
    /// After an error, the command must not be run, because the thread may be restricted partially.
    pub fn confine(&self, words: &[OsString]) -> io::Result<Command> {
        let (mut command, temporary) = self.restrict(words)?;
        command.envs(temporary.map(|folder| ("TMPDIR", folder)));
        Ok(command)
    }

    /// Starts a confined command without restricting the calling thread. `start` gets the command and the folder for its
    /// temporary files.
    pub(crate) fn start<T: Send>(
        &self,
        words: &[String],
        start: impl FnOnce(Command, Option<PathBuf>) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        // Restrictions apply to a thread and its children, so a separate thread starts the command.
        std::thread::scope(|scope| {
            let started = std::thread::Builder::new().name("tollgate-confine".to_owned()).spawn_scoped(scope, || {
                let (command, temporary) = self.restrict(&words)?;
                start(command, temporary)
            })?;
            started.join().unwrap_or_else(|_| Err(io::Error::other("the thread that confines it failed")))
        })
    }

    /// Restricts the calling thread. Returns the command, and the folder for its temporary files.
    fn restrict(&self, words: &[OsString]) -> io::Result<(Command, Option<PathBuf>)> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command to run"));
        };
        #[cfg(target_os = "linux")]
        return {
            let temporary = linux::restrict(self)?;
            let mut command = Command::new(program);
            command.args(arguments);
            Ok((command, temporary))
        };
        #[cfg(target_os = "macos")]
        return {
            let temporary = opened::make(self);
            let mut command = Command::new(seatbelt::PROGRAM);
            command.arg("-p").arg(seatbelt::profile(self)).arg(program).args(arguments);
            Ok((command, temporary))
        };
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        {
            let _ = (program, arguments);
            Err(io::Error::new(io::ErrorKind::Unsupported, "this system cannot confine a command"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_read() {
        let answer = json!({
            "run": "confined", "network": false, "env": {"TMPDIR": "/tmp/x"},
            "grants": [
                {"path": "src/auth", "kind": "tree", "why": "y", "make": true},
                {"path": "/dev/null", "kind": "file", "why": "y"},
                {"path": ".", "kind": "tree", "why": "y", "except": [".git"]},
            ],
        });
        let plan = Plan::read(&answer, Path::new("/ws")).unwrap();
        let tree = |path: &str, make, except: &[&str]| Grant {
            path: path.into(),
            kind: Kind::Tree,
            make,
            except: except.iter().map(PathBuf::from).collect(),
        };
        assert_eq!(plan.grants[0], tree("/ws/src/auth", true, &[]));
        assert_eq!((plan.grants[1].path.to_str(), plan.grants[1].kind), (Some("/dev/null"), Kind::File));
        assert_eq!(plan.grants[2], tree("/ws/.", false, &["/ws/.git"]));
        assert_eq!((plan.network, plan.temporary.as_deref()), (false, Some(Path::new("/tmp/x"))));
        for wrong in [
            json!({}),
            json!({"grants": [{}], "network": true}),
            json!({"grants": [{"path": "x", "kind": "y"}], "network": true}),
        ] {
            assert_eq!(Plan::read(&wrong, Path::new("/ws")), None, "{wrong}");
        }
    }
}
