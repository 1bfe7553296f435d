//! A program that is run for the gate: bounded in time and output, with a small environment, and gone with all its children
//! when its time is up, when it is canceled, and when it has ended itself.
//!
//! On Unix its children are those of its process group; one that leaves the group is on its own. On Windows only the program
//! itself is ended: what it started would take a job object, which the standard library does not have.

mod group;

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use group::kill;
use group::{kill_group, over, own_group, poll};

use crate::confine::Plan;

/// Of its output so much is kept where nobody says otherwise; the rest is read and dropped.
pub(crate) const MOST_OUTPUT: usize = 1 << 20;

/// How long output is waited for once the program has ended: somebody else may hold its pipes.
const STRAGGLERS: Duration = Duration::from_millis(100);

/// How long a killed program may take to go. Longer takes only one that the operating system itself does not let go.
const DYING: Duration = Duration::from_secs(5);

/// How often a program that was just written is tried again while somebody else's new process still holds it open.
const BUSY_TRIES: u32 = 50;

/// What to run, where, and with what. No shell: the words are the arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) argv: &'a [String],
    pub(crate) input: &'a [u8],
    pub(crate) folder: &'a Path,
    /// Names of variables that it inherits.
    pub(crate) inherit: &'a [&'a str],
    /// Variables that it is given.
    pub(crate) set: &'a [(&'a str, &'a str)],
    /// So much is kept of its output, and so much of its complaints.
    pub(crate) output_bytes: usize,
    /// What the kernel holds it to.
    pub(crate) plan: Option<&'a Plan>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// By itself: whether it succeeded, what it said, what it complained about, and whether that is not all.
    Ended { status: ExitStatus, output: Vec<u8>, complaint: Vec<u8>, truncated: bool },
    /// There is no such program.
    Missing,
    /// Its time was up.
    Late,
    /// Somebody called it off.
    Canceled,
    /// It could not be run.
    Failed(io::Error),
}

enum Signal {
    Cancel,
    /// The program has ended and waits to be reaped.
    Over,
    /// One of its two outputs has ended.
    Read,
}

/// Calls a run off, from any thread, at any time.
#[derive(Clone)]
pub(crate) struct Canceler(mpsc::Sender<Signal>);

impl Canceler {
    pub(crate) fn cancel(&self) {
        // Where the run is over there is nobody to hear it.
        let _ = self.0.send(Signal::Cancel);
    }
}

/// One run to come.
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

    /// Starts a program and waits for it, at most until the deadline.
    pub(crate) fn carry_out(self, program: &Program<'_>, deadline: Option<Instant>) -> Ending {
        let mut child = match start(program) {
            Ok(child) => child,
            Err(ending) => return ending,
        };
        if let Some(mut stdin) = child.stdin.take().filter(|_| !program.input.is_empty()) {
            let input = program.input.to_vec();
            // A program that does not read must not hold us up.
            thread::spawn(move || stdin.write_all(&input));
        }
        let output = self.read(child.stdout.take(), program.output_bytes);
        let complaint = self.read(child.stderr.take(), program.output_bytes);
        self.watch(&child);
        let mut reading = 2_u32;
        let ended = self.wait(&mut child, deadline, &mut reading);
        kill_group(&mut child);
        match ended {
            Ok(()) => self.rest(&mut reading),
            // What was killed is gone before anybody hears of it. It may be called off twice.
            Err(_) => {
                let until = Instant::now() + DYING;
                while let Err(Ending::Canceled) = self.wait(&mut child, Some(until), &mut reading) {}
            }
        }
        match (ended, reap(&mut child)) {
            (Err(ending), _) => ending,
            (Ok(()), Err(fault)) => Ending::Failed(fault),
            (Ok(()), Ok(status)) => {
                let (output, complaint) = (taken(&output), taken(&complaint));
                let truncated = output.truncated || complaint.truncated;
                Ending::Ended { status, output: output.bytes, complaint: complaint.bytes, truncated }
            }
        }
    }

    /// Waits until the program has ended; else says why it is waited for no longer.
    fn wait(&self, child: &mut Child, deadline: Option<Instant>, reading: &mut u32) -> Result<(), Ending> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if over(child) {
                return Ok(());
            }
            let signal = match poll(left) {
                Some(most) => self.signals.recv_timeout(most),
                None => self.signals.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            };
            match signal {
                Ok(Signal::Over) => return Ok(()),
                Ok(Signal::Cancel) => return Err(Ending::Canceled),
                Ok(Signal::Read) => *reading = reading.saturating_sub(1),
                Err(_) if left.is_some_and(|left| left.is_zero()) => return Err(Ending::Late),
                Err(_) => {}
            }
        }
    }

    /// Waits for what is still in the pipes.
    fn rest(&self, reading: &mut u32) {
        let until = Instant::now() + STRAGGLERS;
        while *reading > 0 {
            match self.signals.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Signal::Read) => *reading -= 1,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Reads to the end and keeps the beginning.
    fn read(&self, from: Option<impl Read + Send + 'static>, most: usize) -> Arc<Mutex<Kept>> {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (sender, keep) = (self.sender.clone(), Arc::clone(&kept));
        thread::spawn(move || {
            if let Some(mut from) = from {
                let mut piece = vec![0; 64 << 10];
                while let Some(piece) = read_piece(&mut from, &mut piece) {
                    let mut kept = locked(&keep);
                    let room = most.saturating_sub(kept.bytes.len()).min(piece.len());
                    kept.truncated |= room < piece.len();
                    kept.bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
                }
            }
            let _ = sender.send(Signal::Read);
        });
        kept
    }

    /// Says when the program has ended. It stays unreaped until then, so that its group's number is nobody else's.
    #[cfg(unix)]
    fn watch(&self, child: &Child) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let (sender, pid) = (self.sender.clone(), group::pid(child));
        thread::spawn(move || {
            if let Some(pid) = pid {
                let look = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
                while matches!(look(), Err(rustix::io::Errno::INTR)) {}
            }
            let _ = sender.send(Signal::Over);
        });
    }

    /// Elsewhere it is asked for now and then.
    #[cfg(not(unix))]
    fn watch(&self, _child: &Child) {}
}

/// Runs a program and waits for it, at most so long.
pub(crate) fn run(program: &Program<'_>, most: Duration) -> Ending {
    Run::new().carry_out(program, Some(Instant::now() + most))
}

/// A program in a group of its own, with pipes to it, and of the environment only the variables that it may inherit. No shell:
/// the words are the arguments.
pub(crate) fn command<S: AsRef<str>>(argv: &[String], inherit: &[S], folder: &Path) -> io::Result<Command> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    surround(&mut command, inherit, folder);
    Ok(command)
}

/// Gives a program its group, its pipes and its environment.
pub(crate) fn surround<S: AsRef<str>>(command: &mut Command, inherit: &[S], folder: &Path) {
    command.current_dir(folder).env_clear();
    command.envs(inherit.iter().filter_map(|name| Some((name.as_ref(), std::env::var_os(name.as_ref())?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    own_group(command);
}

fn start(program: &Program<'_>) -> Result<Child, Ending> {
    let started = match program.plan {
        None => command(program.argv, program.inherit, program.folder).and_then(|command| spawn(command, program)),
        Some(plan) => plan.start(program.argv, |mut command, temporary| {
            surround(&mut command, program.inherit, program.folder);
            command.envs(temporary.map(|folder| ("TMPDIR", folder)));
            spawn(command, program)
        }),
    };
    started.map_err(|fault| match fault.kind() {
        io::ErrorKind::NotFound => not_found(program.argv.first().map_or("", String::as_str), program.folder),
        _ => Ending::Failed(fault),
    })
}

fn spawn(mut command: Command, program: &Program<'_>) -> io::Result<Child> {
    command.envs(program.set.iter().copied());
    let mut tries = 0;
    loop {
        match command.spawn() {
            // A process that another thread is just starting still has our file open for writing, until it is started.
            Err(fault) if fault.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES => {
                tries += 1;
                thread::sleep(Duration::from_millis(2));
            }
            started => return started,
        }
    }
}

/// The operating system says the same of a program, of the folder to run it in and of the program that shall read a script.
fn not_found(name: &str, folder: &Path) -> Ending {
    let failed = |why: String| Ending::Failed(io::Error::new(io::ErrorKind::NotFound, why));
    if !folder.is_dir() {
        failed(format!("there is no folder `{}` to run it in", folder.display()))
    } else if Path::new(name).is_absolute() && Path::new(name).exists() {
        failed(format!("the interpreter that `{name}` names in its first line is not there"))
    } else {
        Ending::Missing
    }
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    truncated: bool,
}

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn taken(kept: &Mutex<Kept>) -> Kept {
    std::mem::take(&mut locked(kept))
}

/// None at the end, and where nothing more can be read.
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

/// The exit code; of a program that a signal ended, what a shell would say.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(-1)
}

fn reap(child: &mut Child) -> io::Result<ExitStatus> {
    // What has not gone by now never will, and nobody shall wait for it.
    child.try_wait()?.ok_or_else(|| io::Error::other("it does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program<'a>(argv: &'a [String], input: &'a [u8], folder: &'a Path) -> Program<'a> {
        Program { argv, input, folder, inherit: &["PATH"], set: &[("GIVEN", "yes")], output_bytes: 5_000, plan: None }
    }

    fn sh(script: &str, input: &[u8], millis: u64) -> Ending {
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&program(&argv, input, Path::new("/")), Duration::from_millis(millis))
    }

    fn said(ending: Ending) -> (i32, String, String, bool) {
        let Ending::Ended { status, output, complaint, truncated } = ending else { panic!("{ending:?}") };
        (exit_code(status), String::from_utf8(output).unwrap(), String::from_utf8(complaint).unwrap(), truncated)
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
            assert_eq!(said(sh(script, b"in ", 30_000)), expected, "{script}");
        }
    }

    #[test]
    fn its_environment_is_small() {
        let (_, out, _, _) = said(sh("env", b"", 5_000));
        assert!(!out.lines().any(|line| line.starts_with("CARGO")), "{out}");
        assert!(out.contains("PATH=") && out.contains("GIVEN=yes\n"), "{out}");
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let ending = |argv: &[&str], folder: &str| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            match run(&program(&argv, b"", Path::new(folder)), Duration::from_secs(5)) {
                Ending::Missing => "missing".to_owned(),
                Ending::Failed(fault) => fault.to_string(),
                ending => panic!("{ending:?}"),
            }
        };
        assert_eq!(ending(&["no-such-program-here"], "/"), "missing");
        assert_eq!(ending(&["/no/such/program"], "/"), "missing");
        assert_eq!(ending(&[], "/"), "no program is named");
        assert_eq!(ending(&["true"], "/no/such/folder"), "there is no folder `/no/such/folder` to run it in");
        assert!(ending(&[script.to_str().unwrap()], "/").starts_with("the interpreter that"));
    }

    /// It hangs, floods, does not read its input, or leaves children behind that keep its output open.
    #[test]
    fn nothing_takes_longer_than_it_may() {
        let start = Instant::now();
        for script in ["sleep 60", "yes", "trap '' TERM INT; sleep 60"] {
            assert!(matches!(sh(script, &vec![b'x'; 1 << 20], 50), Ending::Late), "{script}");
        }
        for script in ["sleep 60 & echo gone", "setsid sleep 60 & sleep 0.1; echo gone"] {
            assert_eq!(said(sh(script, b"", 50_000)).1, "gone\n", "{script}");
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
            let deadline = Instant::now() + Duration::from_millis(if canceled { 50_000 } else { 200 });
            let ending = run.carry_out(&program(&argv, b"", Path::new("/")), Some(deadline));
            match (number, ending) {
                (0, Ending::Late) | (1, Ending::Canceled) | (2, Ending::Ended { .. }) => {}
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
        assert!(matches!(run.carry_out(&program(&argv, b"", Path::new("/")), None), Ending::Canceled));
    }
}
