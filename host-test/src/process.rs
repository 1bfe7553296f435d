//! Runs a program for the gate, with limits on time and output and a small environment. When its time is up, when it is canceled,
//! and when it has exited, the program is ended together with all of its children.
//!
//! Its children are those in its process group on Unix, and in its job object on Windows. A child that leaves the process group
//! is not ended.

mod tree;

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::ChildWrapper;

pub(crate) use tree::in_tokio as wrap_tokio;
use tree::{has_exited, poll_interval, wrap};

use crate::confine::Plan;

/// The default limit for each output stream; the rest is discarded.
pub(crate) const MAX_OUTPUT: usize = 1 << 20;

/// How long to wait for output after the program has exited: another process may hold its pipes.
const OUTPUT_GRACE: Duration = Duration::from_millis(100);

/// How long to wait for a killed program to go away. It takes longer only if the operating system cannot end it.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often to retry starting a file that was just written, while another new process still holds it open.
const MAX_BUSY_RETRIES: u32 = 50;
const BUSY_RETRY: Duration = Duration::from_millis(2);

/// At most this many characters of a program's error output become part of a message.
const MAX_COMPLAINT_CHARS: usize = 200;

/// A program to run, without a shell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) input: &'a [u8],
    pub(crate) folder: &'a Path,
    /// The names of inherited variables.
    pub(crate) inherit: &'a [&'a str],
    /// Additional variables.
    pub(crate) set: &'a [(&'a str, &'a str)],
    /// The limit for each output stream.
    pub(crate) output_bytes: usize,
    /// What it may change, if it is confined.
    pub(crate) plan: Option<&'a Plan>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The program exited.
    Exited { status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8>, truncated: bool },
    /// There is no such program.
    NotFound,
    /// It exceeded its time limit.
    TimedOut,
    /// It was canceled.
    Canceled,
    /// It could not be run.
    Failed(io::Error),
}

enum Signal {
    Cancel,
    /// The program has exited and waits to be reaped. Only Unix reports that.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nothing watches for it"))]
    Exited,
    /// One of its two output streams has ended.
    OutputEnded,
}

/// Cancels a run, from any thread, at any time.
#[derive(Clone)]
pub(crate) struct Canceler(mpsc::Sender<Signal>);

impl Canceler {
    pub(crate) fn cancel(&self) {
        // If the run has ended, the signal is dropped.
        let _ = self.0.send(Signal::Cancel);
    }
}

/// A run that has not been started yet.
pub(crate) struct Run {
    sender: mpsc::Sender<Signal>,
    signals: mpsc::Receiver<Signal>,
}

impl Run {
    pub(crate) fn new() -> Self {
        let (sender, signals) = mpsc::channel();
        Self { sender, signals }
    }

    pub(crate) fn canceler(&self) -> Canceler {
        Canceler(self.sender.clone())
    }

    /// Runs a program until it exits, at most until the deadline.
    pub(crate) fn run(self, program: &Program<'_>, deadline: Option<Instant>) -> Ending {
        let mut child = match start(program) {
            Ok(child) => child,
            Err(ending) => return ending,
        };
        if let Some(mut stdin) = child.stdin().take().filter(|_| !program.input.is_empty()) {
            let input = program.input.to_vec();
            // In a thread, because the program may not read its input.
            thread::spawn(move || stdin.write_all(&input));
        }
        let stdout = self.read(child.stdout().take(), program.output_bytes);
        let stderr = self.read(child.stderr().take(), program.output_bytes);
        self.watch(child.id());
        let mut open_streams = 2_u32;
        let ended = self.wait(&mut *child, deadline, &mut open_streams);
        // Ends the children, even if the program itself has exited. It has not been reaped yet, so its process group cannot have
        // been reused.
        let _ = child.start_kill();
        match ended {
            Ok(()) => self.wait_for_output(&mut open_streams),
            // Report only when the killed program is gone. It may be canceled more than once.
            Err(_) => {
                let until = Instant::now() + KILL_TIMEOUT;
                while let Err(Ending::Canceled) = self.wait(&mut *child, Some(until), &mut open_streams) {}
            }
        }
        match (ended, reap(&mut *child)) {
            (Err(ending), _) => ending,
            (Ok(()), Err(fault)) => Ending::Failed(fault),
            (Ok(()), Ok(status)) => {
                let (stdout, stderr) = (take_captured(&stdout), take_captured(&stderr));
                let truncated = stdout.truncated || stderr.truncated;
                Ending::Exited { status, stdout: stdout.bytes, stderr: stderr.bytes, truncated }
            }
        }
    }

    /// Waits until the program has exited, or returns why it was not waited for any longer.
    fn wait(&self, child: &mut dyn ChildWrapper, deadline: Option<Instant>, open_streams: &mut u32) -> Result<(), Ending> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if has_exited(child) {
                return Ok(());
            }
            let signal = match poll_interval(left) {
                Some(timeout) => self.signals.recv_timeout(timeout),
                None => self.signals.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            };
            match signal {
                Ok(Signal::Exited) => return Ok(()),
                Ok(Signal::Cancel) => return Err(Ending::Canceled),
                Ok(Signal::OutputEnded) => *open_streams = open_streams.saturating_sub(1),
                Err(_) if left.is_some_and(|left| left.is_zero()) => return Err(Ending::TimedOut),
                Err(_) => {}
            }
        }
    }

    /// Waits for output that is still in the pipes.
    fn wait_for_output(&self, open_streams: &mut u32) {
        let until = Instant::now() + OUTPUT_GRACE;
        while *open_streams > 0 {
            match self.signals.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Signal::OutputEnded) => *open_streams -= 1,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads a stream to its end and keeps the beginning.
    fn read(&self, from: Option<impl Read + Send + 'static>, limit: usize) -> Arc<Mutex<Captured>> {
        let captured = Arc::new(Mutex::new(Captured::default()));
        let (sender, target) = (self.sender.clone(), Arc::clone(&captured));
        thread::spawn(move || {
            if let Some(mut from) = from {
                let mut piece = vec![0; 64 << 10];
                while let Some(piece) = read_piece(&mut from, &mut piece) {
                    let mut captured = lock(&target);
                    let room = limit.saturating_sub(captured.bytes.len()).min(piece.len());
                    captured.truncated |= room < piece.len();
                    captured.bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
                }
            }
            let _ = sender.send(Signal::OutputEnded);
        });
        captured
    }

    /// Signals when the program has exited, without reaping it: until then, no other process group can get its number.
    #[cfg(unix)]
    fn watch(&self, id: u32) {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let (sender, pid) = (self.sender.clone(), i32::try_from(id).ok().and_then(Pid::from_raw));
        thread::spawn(move || {
            if let Some(pid) = pid {
                let wait = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
                while matches!(wait(), Err(rustix::io::Errno::INTR)) {}
            }
            let _ = sender.send(Signal::Exited);
        });
    }

    /// On other systems, `wait` polls.
    #[cfg(not(unix))]
    fn watch(&self, _id: u32) {}
}

/// Runs a program with a time limit.
pub(crate) fn run(program: &Program<'_>, timeout: Duration) -> Ending {
    Run::new().run(program, Some(Instant::now() + timeout))
}

/// A command with pipes, and only these variables of the environment. There is no shell.
pub(crate) fn command<S: AsRef<str>>(argv: &[String], inherit: &[S], folder: &Path) -> io::Result<Command> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is given"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    configure_command(&mut command, inherit, folder);
    Ok(command)
}

/// Sets the pipes, the working directory and the environment of a command.
pub(crate) fn configure_command<S: AsRef<str>>(command: &mut Command, inherit: &[S], folder: &Path) {
    command.current_dir(folder).env_clear();
    command.envs(inherit.iter().filter_map(|name| Some((name.as_ref(), std::env::var_os(name.as_ref())?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

fn start(program: &Program<'_>) -> Result<Box<dyn ChildWrapper>, Ending> {
    let started = match program.plan {
        None => command(program.argv, program.inherit, program.folder).and_then(|command| spawn(command, program)),
        Some(plan) => plan.start(program.argv, |mut command, temporary| {
            configure_command(&mut command, program.inherit, program.folder);
            command.envs(temporary.map(|folder| ("TMPDIR", folder)));
            spawn(command, program)
        }),
    };
    started.map_err(|fault| match fault.kind() {
        io::ErrorKind::NotFound => not_found(program.argv.first().map_or("", String::as_str), program.folder),
        _ => Ending::Failed(fault),
    })
}

fn spawn(mut command: Command, program: &Program<'_>) -> io::Result<Box<dyn ChildWrapper>> {
    command.envs(program.set.iter().copied());
    let mut command = wrap(command);
    retry_while_busy(|| command.spawn())
}

/// Starts a program, and tries again for a moment while its file is open for writing: a process that another thread is starting
/// inherits the open file until it executes its own program.
pub fn retry_while_busy<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut retries = 0;
    loop {
        match start() {
            Err(fault) if fault.kind() == io::ErrorKind::ExecutableFileBusy && retries < MAX_BUSY_RETRIES => {
                retries += 1;
                thread::sleep(BUSY_RETRY);
            }
            started => return started,
        }
    }
}

/// The operating system reports the same error for a missing program, folder and interpreter.
fn not_found(name: &str, folder: &Path) -> Ending {
    let failed = |why: String| Ending::Failed(io::Error::new(io::ErrorKind::NotFound, why));
    if !folder.is_dir() {
        failed(format!("there is no folder `{}` to run it in", folder.display()))
    } else if Path::new(name).is_absolute() && Path::new(name).exists() {
        failed(format!("the interpreter that `{name}` names in its first line does not exist"))
    } else {
        Ending::NotFound
    }
}

#[derive(Debug, Default)]
struct Captured {
    bytes: Vec<u8>,
    truncated: bool,
}

fn lock(captured: &Mutex<Captured>) -> MutexGuard<'_, Captured> {
    captured.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take_captured(captured: &Mutex<Captured>) -> Captured {
    std::mem::take(&mut lock(captured))
}

/// `None` at the end of the stream, or if it cannot be read.
fn read_piece<'a>(from: &mut impl Read, piece: &'a mut [u8]) -> Option<&'a [u8]> {
    loop {
        match from.read(piece) {
            Ok(0) => return None,
            Ok(length) => return piece.get(..length),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// The first line of error output that is not blank, shortened.
pub(crate) fn first_complaint(stderr: &str) -> String {
    let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(MAX_COMPLAINT_CHARS).collect()
}

/// The exit code, as a shell reports it for a program that was ended by a signal.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(-1)
}

/// Reaps the program itself; its children belong to other parents.
fn reap(child: &mut dyn ChildWrapper) -> io::Result<ExitStatus> {
    // A program that has not ended by now never will, and must not block the caller.
    child.inner_mut().try_wait()?.ok_or_else(|| io::Error::other("it does not end"))
}

#[cfg(all(test, unix))]
#[path = "../tests/program_copy/mod.rs"]
mod program_copy;

// They run shells.
#[cfg(all(test, unix))]
mod tests {
    use super::program_copy::write_script;
    use super::*;

    fn program<'a>(argv: &'a [String], input: &'a [u8], folder: &'a Path) -> Program<'a> {
        Program { argv, input, folder, inherit: &["PATH"], set: &[("GIVEN", "yes")], output_bytes: 5_000, plan: None }
    }

    fn sh(script: &str, input: &[u8], millis: u64) -> Ending {
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&program(&argv, input, Path::new("/")), Duration::from_millis(millis))
    }

    fn unwrap_exited(ending: Ending) -> (i32, String, String, bool) {
        let Ending::Exited { status, stdout, stderr, truncated } = ending else { panic!("{ending:?}") };
        (exit_code(status), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), truncated)
    }

    #[test]
    fn what_it_says_comes_back() {
        for (script, expected) in [
            ("cat; echo out; echo err >&2; exit 3", (3, "in out\n".to_owned(), "err\n".to_owned(), false)),
            ("exec 1>&- 2>&-; cat >/dev/null; exit 7", (7, String::new(), String::new(), false)),
            ("kill -9 $$", (137, String::new(), String::new(), false)),
            ("yes | head -c 100000000", (0, "y\n".repeat(2_500), String::new(), true)),
            ("yes | head -c 5000", (0, "y\n".repeat(2_500), String::new(), false)),
        ] {
            assert_eq!(unwrap_exited(sh(script, b"in ", 30_000)), expected, "{script}");
        }
    }

    /// Another thread that starts a process passes the open file on, until that process runs its own program.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_another_process_still_writes_to_is_started_when_it_is_free() {
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("script");
        write_script(&script, "#!/bin/sh\necho free\n");
        let argv = [script.to_str().unwrap().to_owned()];
        let start = || run(&program(&argv, b"", Path::new("/")), Duration::from_secs(30));
        let open = std::fs::OpenOptions::new().append(true).open(&script).unwrap();
        let Ending::Failed(fault) = start() else { panic!("a file that stays open for writing was run") };
        assert_eq!(fault.kind(), io::ErrorKind::ExecutableFileBusy);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            drop(open);
        });
        assert_eq!(unwrap_exited(start()).1, "free\n");
    }

    #[test]
    fn its_environment_is_small() {
        let (_, out, _, _) = unwrap_exited(sh("env", b"", 5_000));
        assert!(!out.lines().any(|line| line.starts_with("CARGO")), "{out}");
        assert!(out.contains("PATH=") && out.contains("GIVEN=yes\n"), "{out}");
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("script");
        write_script(&script, "#!/no/such/interpreter\n");
        let ending = |argv: &[&str], folder: &str| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            match run(&program(&argv, b"", Path::new(folder)), Duration::from_secs(5)) {
                Ending::NotFound => "missing".to_owned(),
                Ending::Failed(fault) => fault.to_string(),
                ending => panic!("{ending:?}"),
            }
        };
        assert_eq!(ending(&["no-such-program-here"], "/"), "missing");
        assert_eq!(ending(&["/no/such/program"], "/"), "missing");
        assert_eq!(ending(&[], "/"), "no program is given");
        assert_eq!(ending(&["true"], "/no/such/folder"), "there is no folder `/no/such/folder` to run it in");
        assert!(ending(&[script.to_str().unwrap()], "/").starts_with("the interpreter that"));
    }

    /// It hangs, floods, does not read its input, or leaves children behind that keep its output open.
    #[test]
    fn nothing_takes_longer_than_it_may() {
        let start = Instant::now();
        for script in ["sleep 60", "yes", "trap '' TERM INT; sleep 60"] {
            assert!(matches!(sh(script, &vec![b'x'; 1 << 20], 50), Ending::TimedOut), "{script}");
        }
        for script in ["sleep 60 & echo gone", "setsid sleep 60 & sleep 0.1; echo gone"] {
            assert_eq!(unwrap_exited(sh(script, b"", 50_000)).1, "gone\n", "{script}");
        }
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn its_children_go_with_it() {
        let folder = tempfile::tempdir().unwrap();
        for (number, (script, canceled)) in [("sleep 60", false), ("sleep 60", true), ("exit 0", false)].into_iter().enumerate() {
            let file = folder.path().join(number.to_string());
            let argv = ["sh", "-c", &format!("(sleep 1; touch {}) & {script}", file.display())].map(str::to_owned);
            let run = Run::new();
            let canceler = run.canceler();
            if canceled {
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(50));
                    canceler.cancel();
                });
            }
            // Only the first one is to run out of time.
            let deadline = Instant::now() + Duration::from_millis(if number == 0 { 200 } else { 50_000 });
            let ending = run.run(&program(&argv, b"", Path::new("/")), Some(deadline));
            match (number, ending) {
                (0, Ending::TimedOut) | (1, Ending::Canceled) | (2, Ending::Exited { .. }) => {}
                (_, ending) => panic!("{number}: {ending:?}"),
            }
        }
        thread::sleep(Duration::from_millis(1_300));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_canceled_before_it_starts_does_not_stay() {
        let run = Run::new();
        run.canceler().cancel();
        let argv = ["sleep", "60"].map(str::to_owned);
        assert!(matches!(run.run(&program(&argv, b"", Path::new("/")), None), Ending::Canceled));
    }
}
