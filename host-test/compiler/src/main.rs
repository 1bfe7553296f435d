//! `tollgate-compiler COMPONENT DIGEST CODE`: compiles an approved hook to native code, which `tollgate` loads.
//!
//! `DIGEST` is the SHA-256 of the component, and `CODE` is the file to write, in a folder that only the user can access. If
//! compiling fails, the reason is written to a file next to it (`.failed`). A lock on a third file (`.lock`) keeps other
//! processes from compiling the same component; the operating system releases the lock when this process ends. The lock file is
//! not empty while a component is being compiled. If it is neither empty nor locked, the process that was compiling was ended
//! early, and compiling must not be retried unless a person asks for it.
//!
//! Cranelift can take seven seconds and 2.5 GB for a component of 430 KB, so this process limits itself before it reads anything.
//! The component's code is never run here.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

#[path = "../../src/components/compiler_limits.rs"]
mod compiler_limits;

use compiler_limits::{BUSY, MAX_COMPONENT_BYTES, MAX_ELAPSED};

/// Limits on the processor time and memory of compiling.
#[cfg(unix)]
const MAX_CPU_SECONDS: u64 = 120;
#[cfg(unix)]
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// The reason recorded for a component if the process that was compiling it was ended early.
const INTERRUPTED: &str = "the process that was compiling it was killed, as happens when it takes too much time or memory; approve the hook again to retry";

/// The reason recorded for a component if another process has been compiling it for too long.
const STUCK: &str =
    "the process that is compiling it does not exit; stop `tollgate-compiler`, then approve the hook again to retry";

/// A process that is still compiling after this time has been stopped, or its own limit does not work.
const STUCK_AFTER: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [component, digest, code] = words.as_slice() else {
        eprintln!("this program is run by `tollgate`: tollgate-compiler COMPONENT DIGEST CODE");
        return ExitCode::from(2);
    };
    let code = PathBuf::from(code);
    let turn = match take_turn(&code.with_extension("lock")) {
        Ok(Some(turn)) => turn,
        Ok(None) => {
            let lock = code.with_extension("lock");
            if age_of(&lock).is_some_and(|age| age > STUCK_AFTER) {
                let _ = write(&code.with_extension("failed"), STUCK.as_bytes());
            }
            return ExitCode::from(BUSY);
        }
        Err(why) => {
            eprintln!("`{}` cannot be written: {why}", code.with_extension("lock").display());
            return ExitCode::FAILURE;
        }
    };
    end_after(MAX_ELAPSED, code.with_extension("failed"));
    let compiled = if turn.was_interrupted {
        Err(INTERRUPTED.to_owned())
    } else {
        compile_approved(Path::new(component), &digest.to_string_lossy())
    };
    let kept = match &compiled {
        Ok(bytes) => write(&code, bytes),
        Err(why) => write(&code.with_extension("failed"), why.as_bytes()),
    };
    let _ = turn.lock.set_len(0);
    let cannot_keep = kept.err().map(|why| format!("`{}` cannot be written: {why}", code.display()));
    match compiled.err().or(cannot_keep) {
        None => ExitCode::SUCCESS,
        Some(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The time since a file was last written.
fn age_of(file: &Path) -> Option<Duration> {
    file.metadata().ok()?.modified().ok()?.elapsed().ok()
}

/// Ends this process if it takes too long, and records the reason.
fn end_after(limit: Duration, failed: PathBuf) {
    // If no thread can be started, only the operating system's limits apply.
    let _ = thread::Builder::new().spawn(move || {
        thread::sleep(limit);
        let why = format!("it took longer than {} seconds", limit.as_secs());
        let _ = write(&failed, why.as_bytes());
        eprintln!("{why}");
        std::process::exit(1);
    });
}

/// Permission to compile a component: the lock that keeps other processes from compiling it.
struct Turn {
    lock: File,
    /// Whether the last process that compiled the component was ended before it could record a reason.
    was_interrupted: bool,
}

/// Locks a component for compiling; `None` if another process holds the lock.
fn take_turn(path: &Path) -> io::Result<Option<Turn>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut lock = options.open(path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        // If files cannot be locked, two processes may do the same work.
        Err(TryLockError::Error(_)) => return Ok(Some(Turn { lock, was_interrupted: false })),
    }
    let was_interrupted = lock.metadata()?.len() > 0;
    lock.write_all(b"compiling\n")?;
    Ok(Some(Turn { lock, was_interrupted }))
}

fn compile_approved(component: &Path, digest: &str) -> Result<Vec<u8>, String> {
    limit().map_err(|why| format!("the limits of this process cannot be set: {why}"))?;
    let bytes = read(component).map_err(|why| format!("its stored copy cannot be read: {why}; approve it again"))?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(format!("it is longer than {} MiB", MAX_COMPONENT_BYTES >> 20));
    }
    if digest_of(&bytes) != digest {
        return Err("its stored copy is not what was approved; approve it again".to_owned());
    }
    tollgate_compiler::compile(&bytes, None)
}

fn read(component: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(component)?.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes a file atomically, accessible only to the user.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&temporary).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Permanently limits this process.
#[cfg(unix)]
fn limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
    for (resource, limit) in [(Resource::Cpu, MAX_CPU_SECONDS), (Resource::As, MAX_MEMORY_BYTES), (Resource::Core, 0)] {
        setrlimit(resource, most(limit))?;
    }
    Ok(())
}

/// On other systems, the process that waits for this one ends it if it takes too long.
#[cfg(not(unix))]
fn limit() -> io::Result<()> {
    Ok(())
}
