//! `tollgate-compiler COMPONENT DIGEST CODE`: compiles an approved hook to native code, which `tollgate` loads.
//!
//! `DIGEST` is the SHA-256 of the component, and `CODE` the file to write, in a folder that belongs to the user alone. Why a component
//! could not be compiled is written beside it (`.failed`); at the end the mark that somebody compiles it (`.lock`) is removed.
//!
//! A component of 430 KB can take Cranelift seven seconds and 2.5 GB, so this process limits itself before it reads anything. Nothing
//! that it is given runs here.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sha2::{Digest as _, Sha256};

#[path = "../../src/engine_config.rs"]
mod engine_config;

/// Processor time and memory that compiling may take.
#[cfg(unix)]
const MAX_CPU_SECONDS: u64 = 120;
#[cfg(unix)]
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// A longer component is refused; the gate has the same limit.
const MAX_COMPONENT_BYTES: u64 = 32 << 20;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [component, digest, code] = words.as_slice() else {
        eprintln!("this program is run by `tollgate`: tollgate-compiler COMPONENT DIGEST CODE");
        return ExitCode::from(2);
    };
    let code = PathBuf::from(code);
    let compiled = compile(Path::new(component), &digest.to_string_lossy());
    let kept = match &compiled {
        Ok(bytes) => write(&code, bytes),
        Err(why) => write(&code.with_extension("failed"), why.as_bytes()),
    };
    let _ = fs::remove_file(code.with_extension("lock"));
    let cannot_keep = kept.err().map(|why| format!("`{}` cannot be written: {why}", code.display()));
    match compiled.err().or(cannot_keep) {
        None => ExitCode::SUCCESS,
        Some(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn compile(component: &Path, digest: &str) -> Result<Vec<u8>, String> {
    limit().map_err(|why| format!("the limits of this process cannot be set: {why}"))?;
    let bytes = read(component).map_err(|why| format!("its approved bytes cannot be read: {why}; approve it again"))?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(format!("it is longer than {} MiB", MAX_COMPONENT_BYTES >> 20));
    }
    if digest_of(&bytes) != digest {
        return Err("its kept bytes are not the approved ones; approve it again".to_owned());
    }
    let engine = wasmtime::Engine::new(&engine_config::engine_config(cfg!(windows))).map_err(|fault| format!("{fault:#}"))?;
    engine.precompile_component(&bytes).map_err(|fault| format!("{fault:#}"))
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

/// Writes a file that appears whole or not at all, and that nobody else can read or write.
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

/// Limits this process for good.
#[cfg(unix)]
fn limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
    for (resource, limit) in [(Resource::Cpu, MAX_CPU_SECONDS), (Resource::As, MAX_MEMORY_BYTES), (Resource::Core, 0)] {
        setrlimit(resource, most(limit))?;
    }
    Ok(())
}

/// Elsewhere, whoever waits for this process ends it when it takes too long.
#[cfg(not(unix))]
fn limit() -> io::Result<()> {
    Ok(())
}
