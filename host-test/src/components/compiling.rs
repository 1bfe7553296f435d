//! Compiles components in a separate process, because compiling even a small one can take minutes and gigabytes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::cache::Cache;
use super::compiler_limits::{BUSY, MAX_COMPONENT_BYTES, MAX_ELAPSED};
use super::engine::HookEngine;

/// The program that compiles components. It limits itself.
const PROGRAM: &str = "tollgate-compiler";

/// The compiler accepts every component that the gate lets a person approve.
const _: () = assert!(MAX_COMPONENT_BYTES == tollgate_guest::hooks::components::MAX_COMPONENT_BYTES);

/// How often progress is reported to a caller that waits.
const PROGRESS: Duration = Duration::from_millis(500);

/// Why a component was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The compiler is not installed.
    #[error(
        "there is no `tollgate-compiler`, neither beside this program nor in `PATH`; install it, or, in a program that embeds the gate, name it with `hooks::Options::compiler`"
    )]
    NoCompiler,
    /// The component cannot be compiled, or compiling it took too much time or memory.
    #[error("it cannot be compiled: {0}")]
    Failed(String),
    /// Another process is compiling it.
    #[error("it is being compiled by another process")]
    Busy,
}

/// Compiles an approved component and waits for the result. `waiting` is called regularly with the time that has passed.
pub fn compile_now(
    cache: &Cache,
    digest: &str,
    compiler: Option<&Path>,
    mut waiting: impl FnMut(Duration),
) -> Result<(), CompileError> {
    if cache.is_compiled(digest) {
        return Ok(());
    }
    let compiler = find(compiler).ok_or(CompileError::NoCompiler)?;
    cache.forget_interruption(digest);
    cache.forget_failure(digest);
    let compiled = run(cache, digest, &compiler, MAX_ELAPSED, &mut waiting)
        .and_then(|()| HookEngine::check(cache, digest).map_err(CompileError::Failed));
    if let Err(CompileError::Failed(why)) = &compiled {
        // This process knows why the compiler ended, and records the reason itself.
        cache.forget_interruption(digest);
        let _ = cache.keep_failure(digest, why);
    }
    compiled
}

fn run(
    cache: &Cache,
    digest: &str,
    compiler: &Path,
    limit: Duration,
    waiting: &mut dyn FnMut(Duration),
) -> Result<(), CompileError> {
    let failed = |why: String| CompileError::Failed(why);
    let mut child = spawn(cache, digest, compiler, Stdio::piped()).map_err(failed)?;
    let start = Instant::now();
    let mut reported_at = Duration::ZERO;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("it took longer than {} seconds", limit.as_secs())));
            }
            Ok(None) => thread::sleep(Duration::from_millis(10)),
            Err(why) => return Err(failed(why.to_string())),
        }
        if start.elapsed() >= reported_at + PROGRESS {
            reported_at = start.elapsed();
            waiting(reported_at);
        }
    };
    match status.code() {
        Some(0) => return Ok(()),
        Some(code) if code == i32::from(BUSY) => return Err(CompileError::Busy),
        _ => {}
    }
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut std::io::Read::take(&mut stderr, 4_096), &mut said);
    }
    let said = said.trim().to_owned();
    // A compiler that runs out of memory or time ends without a message.
    let is_killed = said.is_empty() || said.contains("memory allocation");
    Err(failed(if is_killed { "compiling it takes more time or memory than is allowed".to_owned() } else { said }))
}

/// Compiles a component in a process that is not waited for. That process exits at once if another one is already compiling the
/// component.
pub fn compile_in_background(cache: &Cache, digest: &str, compiler: Option<&Path>) -> Result<(), String> {
    let Some(compiler) = find(compiler) else { return Err(CompileError::NoCompiler.to_string()) };
    let mut child = spawn(cache, digest, &compiler, Stdio::null())?;
    // Reaps the compiler if this process lives long enough.
    let _ = thread::Builder::new().name("tollgate-compiling".to_owned()).spawn(move || child.wait());
    Ok(())
}

fn spawn(cache: &Cache, digest: &str, compiler: &Path, stderr: Stdio) -> Result<Child, String> {
    let folder = cache.make_folder();
    folder.map_err(|why| format!("the folder for native code cannot be created: {why}"))?;
    let mut command = Command::new(compiler);
    command.arg(cache.component(digest)?).arg(digest).arg(cache.code(digest)?);
    // The compiler needs no environment variables.
    command.env_clear().current_dir(cache.home()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    command.spawn().map_err(|why| format!("`{}` cannot be started: {why}", compiler.display()))
}

/// Finds the compiler: the given path, the program next to this one, or the one in `PATH`.
fn find(named: Option<&Path>) -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = || {
        let program = std::env::current_exe().ok()?.parent()?.join(&name);
        program.is_file().then_some(program)
    };
    named.map(Path::to_owned).or_else(beside).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&name))
            .find(|program| program.is_file())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// `yes` writes its arguments until it is killed.
    #[test]
    fn a_compiler_that_does_not_end_is_ended() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path());
        let digest = format!("sha256:{}", "0".repeat(64));
        let error = run(&cache, &digest, Path::new("/usr/bin/yes"), Duration::from_millis(300), &mut |_| {}).unwrap_err();
        assert_eq!(error, CompileError::Failed("it took longer than 0 seconds".to_owned()));
    }
}
