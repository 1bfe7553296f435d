//! Compiling in a process of its own, because a small component can take minutes and gigabytes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::cache::Cache;

/// What the `tollgate` command is told to compile with; hidden from its users.
const COMMAND: &str = "compile-hook";

/// How long compiling may take in all.
const MAX_ELAPSED: Duration = Duration::from_secs(150);
/// Processor time and memory that it may take.
#[cfg(all(unix, feature = "compiler"))]
const MAX_CPU_SECONDS: u64 = 120;
#[cfg(all(unix, feature = "compiler"))]
const MAX_MEMORY_BYTES: u64 = 1 << 30;
/// How often somebody who waits is told so.
const PROGRESS: Duration = Duration::from_millis(500);

/// Why a component was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// There is no command that could do it.
    #[error("there is no `tollgate` command to compile it with; install it, or name it with `Options::compiler`")]
    NoCompiler,
    /// The component cannot be compiled, or took too much.
    #[error("it cannot be compiled: {0}")]
    Failed(String),
    /// Somebody else compiles it now.
    #[error("it is being compiled by another process")]
    Busy,
}

/// Compiles an approved component and waits for it; `waiting` is told now and then how long it has taken.
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
    cache.forget_stale(digest);
    cache.forget_failure(digest);
    if !cache.take_turn(digest).map_err(CompileError::Failed)? {
        return Err(CompileError::Busy);
    }
    let compiled = run(cache, digest, &compiler, &mut waiting);
    cache.end_turn(digest);
    if let Err(CompileError::Failed(why)) = &compiled {
        let _ = cache.keep(digest, Err(why));
    }
    compiled
}

fn run(cache: &Cache, digest: &str, compiler: &Path, waiting: &mut dyn FnMut(Duration)) -> Result<(), CompileError> {
    let failed = |why: String| CompileError::Failed(why);
    let mut child = spawn(cache, digest, compiler, Stdio::piped()).map_err(failed)?;
    let start = Instant::now();
    let mut told = Duration::ZERO;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() > MAX_ELAPSED => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!("it took longer than {} seconds", MAX_ELAPSED.as_secs())));
            }
            Ok(None) => thread::sleep(Duration::from_millis(10)),
            Err(why) => return Err(failed(why.to_string())),
        }
        if start.elapsed() >= told + PROGRESS {
            told = start.elapsed();
            waiting(told);
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut std::io::Read::take(&mut stderr, 4_096), &mut said);
    }
    let said = said.trim().trim_start_matches("tollgate: ").to_owned();
    // Out of memory and out of time end it without a word of its own.
    let is_killed = said.is_empty() || said.contains("memory allocation");
    Err(failed(if is_killed { "it takes more time or memory than compiling a hook may take".to_owned() } else { said }))
}

/// Has a component compiled by a process that goes on by itself.
pub fn compile_in_background(cache: &Cache, digest: &str, compiler: Option<&Path>) -> Result<(), String> {
    let Some(compiler) = find(compiler) else { return Err(CompileError::NoCompiler.to_string()) };
    if !cache.take_turn(digest)? {
        return Ok(());
    }
    let spawned = spawn(cache, digest, &compiler, Stdio::null());
    match spawned {
        Ok(mut child) => {
            // Whoever lives long enough reaps it.
            let _ = thread::Builder::new().name("tollgate-compiling".to_owned()).spawn(move || child.wait());
            Ok(())
        }
        Err(why) => {
            cache.end_turn(digest);
            Err(why)
        }
    }
}

fn spawn(cache: &Cache, digest: &str, compiler: &Path, stderr: Stdio) -> Result<Child, String> {
    let mut command = Command::new(compiler);
    command.arg(COMMAND).arg(digest).arg("--home").arg(cache.home());
    // Nothing of the environment has to do with it.
    command.env_clear().current_dir(cache.home()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    command.spawn().map_err(|why| format!("`{}` cannot be started: {why}", compiler.display()))
}

/// The command that compiles: the one that is named, this program, or the one in `PATH`.
fn find(named: Option<&Path>) -> Option<PathBuf> {
    let is_command = |program: &PathBuf| program.file_stem().is_some_and(|name| name == "tollgate");
    named.map(Path::to_owned).or_else(|| std::env::current_exe().ok().filter(is_command)).or_else(|| {
        let path = std::env::var_os("PATH")?;
        let name = format!("tollgate{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&name))
            .find(|program| program.is_file())
    })
}

/// Compiles an approved component in this process, within limits that hold for the whole process: for a command that does nothing else.
#[cfg(feature = "compiler")]
pub fn compile_here(cache: &Cache, digest: &str) -> Result<(), String> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let most = |limit: u64| Rlimit { current: Some(limit), maximum: Some(limit) };
        for (resource, limit) in [(Resource::Cpu, MAX_CPU_SECONDS), (Resource::As, MAX_MEMORY_BYTES), (Resource::Core, 0)] {
            setrlimit(resource, most(limit)).map_err(|why| format!("the limits of this process cannot be set: {why}"))?;
        }
    }
    let bytes = cache.bytes(digest)?;
    let compiled = compile(&bytes);
    cache.keep(digest, compiled.as_deref().map_err(String::as_str))?;
    cache.end_turn(digest);
    compiled.map(drop)
}

#[cfg(feature = "compiler")]
fn compile(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let engine = wasmtime::Engine::new(&super::engine::config()).map_err(|fault| format!("{fault:#}"))?;
    let compiled = engine.precompile_component(bytes).map_err(|fault| format!("{fault:#}"))?;
    super::engine::check(&engine, &compiled)?;
    Ok(compiled)
}
