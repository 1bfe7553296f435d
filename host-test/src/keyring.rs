//! Stores secrets in the system's keyring.
//!
//! | system | access |
//! | --- | --- |
//! | macOS, Windows | the system's own interface |
//! | Linux | `/usr/bin/secret-tool`, which desktops with a secret service have; without a session bus there is no keyring |
//!
//! The code for macOS and Windows has not been compiled or tested.

use std::io;

/// The keyring service that secrets are stored under.
#[cfg_attr(not(any(windows, target_os = "macos", target_os = "linux")), allow(dead_code))]
const SERVICE: &str = "tollgate";

/// Reads a secret. `None` if there is no such secret, or no keyring.
pub fn read(name: &str) -> Option<String> {
    system::read(name).ok().filter(|secret| !secret.is_empty())
}

/// Stores a secret under a name. An error means that this machine has no keyring, or that the keyring rejects the secret.
pub fn store(name: &str, secret: &str) -> io::Result<()> {
    system::store(name, secret)
}

/// Removes a secret.
pub fn remove(name: &str) -> io::Result<()> {
    system::remove(name)
}

#[cfg(any(windows, target_os = "macos"))]
mod system {
    use std::io;

    use super::SERVICE;

    fn entry(name: &str) -> io::Result<keyring::Entry> {
        keyring::Entry::new(SERVICE, name).map_err(io::Error::other)
    }

    pub(super) fn read(name: &str) -> io::Result<String> {
        entry(name)?.get_password().map_err(io::Error::other)
    }

    pub(super) fn store(name: &str, secret: &str) -> io::Result<()> {
        entry(name)?.set_password(secret).map_err(io::Error::other)
    }

    pub(super) fn remove(name: &str) -> io::Result<()> {
        entry(name)?.delete_credential().map_err(io::Error::other)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::io::{self, Read as _, Write as _};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::SERVICE;

    /// An absolute path, because the search path could lead to another program.
    const PROGRAM: &str = "/usr/bin/secret-tool";

    /// A locked keyring asks the person for a password; this is how long to wait for it.
    const TIMEOUT: Duration = Duration::from_secs(10);

    fn run(words: &[&str], input: &str) -> io::Result<String> {
        if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none_or(|address| address.is_empty()) {
            return Err(io::Error::other("there is no session bus, so there is no keyring"));
        }
        let mut command = Command::new(PROGRAM);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut output = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut output)?;
        }
        if status.success() { Ok(output) } else { Err(io::Error::other("the keyring does not have the secret, or rejects it")) }
    }

    pub(super) fn read(name: &str) -> io::Result<String> {
        run(&["lookup", "service", SERVICE, "account", name], "")
    }

    pub(super) fn store(name: &str, secret: &str) -> io::Result<()> {
        run(&["store", "--label", "Tollgate", "service", SERVICE, "account", name], secret).map(drop)
    }

    pub(super) fn remove(name: &str) -> io::Result<()> {
        run(&["clear", "service", SERVICE, "account", name], "").map(drop)
    }
}

#[cfg(not(any(windows, target_os = "macos", target_os = "linux")))]
mod system {
    use std::io;

    fn unsupported<T>() -> io::Result<T> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(super) fn read(_: &str) -> io::Result<String> {
        unsupported()
    }

    pub(super) fn store(_: &str, _: &str) -> io::Result<()> {
        unsupported()
    }

    pub(super) fn remove(_: &str) -> io::Result<()> {
        unsupported()
    }
}
