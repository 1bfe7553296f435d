//! A program that is run for the gate: bounded in time and output, with a small environment, and gone with all its children
//! when its time is up.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Of its output so much is kept; the rest is read and dropped.
const MOST_OUTPUT: usize = 1 << 20;

/// How often a program that has closed its output is asked whether it has ended.
const POLL: Duration = Duration::from_millis(2);

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// By itself: whether it succeeded, what it said, what it complained about.
    Ended { status: ExitStatus, output: Vec<u8>, complaint: Vec<u8> },
    /// There is no such program.
    Missing,
    /// Its time was up.
    Late,
    /// It could not be run.
    Failed(io::Error),
}

/// A list of words in a request of the gate.
pub(crate) fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().into_iter().flatten();
    words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// A program in a group of its own, with pipes to it, and of the environment only the variables that it may inherit. No shell:
/// the words are the arguments.
pub(crate) fn command(argv: &[String], inherit: &[String], folder: &Path) -> io::Result<Command> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_clear();
    command.envs(inherit.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    own_group(&mut command);
    Ok(command)
}

/// Runs a program in a folder and waits for it, at most so long.
pub(crate) fn run(argv: &[String], input: &[u8], inherit: &[String], folder: &Path, most: Duration) -> Ending {
    let deadline = Instant::now() + most;
    let mut child = match command(argv, inherit, folder).and_then(|mut command| command.spawn()) {
        Ok(child) => child,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ending::Missing,
        Err(fault) => return Ending::Failed(fault),
    };
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read must not hold us up.
        thread::spawn(move || stdin.write_all(&input));
    }
    let (output, complaint) = (read(child.stdout.take()), read(child.stderr.take()));
    let ended = wait(&mut child, deadline);
    // Children that it left behind hold its output open.
    let ending = match ended {
        Ok(Some(status)) => match (output.recv_timeout(left(deadline)), complaint.recv_timeout(left(deadline))) {
            (Ok(output), Ok(complaint)) => Ending::Ended { status, output, complaint },
            _ => Ending::Late,
        },
        Ok(None) => Ending::Late,
        Err(fault) => Ending::Failed(fault),
    };
    kill_group(&mut child);
    ending
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(POLL.min(left(deadline)));
    }
}

/// Reads to the end and keeps the beginning.
fn read(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut from) = from {
            let _ = from.by_ref().take(MOST_OUTPUT as u64).read_to_end(&mut kept);
            let _ = io::copy(&mut from, &mut io::sink());
        }
        let _ = sender.send(kept);
    });
    receiver
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

fn kill_group(child: &mut Child) {
    kill(child.id());
    let _ = child.kill();
    let _ = child.wait();
}

/// Ends a group by the id of the program that it was made for.
#[cfg(unix)]
pub(crate) fn kill(program: u32) {
    if let Some(pid) = i32::try_from(program).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

/// Elsewhere only the program itself is ended, by whoever has it.
#[cfg(not(unix))]
pub(crate) fn kill(_program: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: &[u8], millis: u64) -> Ending {
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&argv, input, &["PATH".to_owned()], Path::new("/"), Duration::from_millis(millis))
    }

    fn said(ending: Ending) -> (bool, String, String) {
        let Ending::Ended { status, output, complaint } = ending else { panic!("{ending:?}") };
        (status.success(), String::from_utf8(output).unwrap(), String::from_utf8(complaint).unwrap())
    }

    #[test]
    fn what_it_says_comes_back() {
        assert_eq!(said(sh("cat; echo out; echo err >&2; exit 3", b"in ", 5_000)), (false, "in out\n".into(), "err\n".into()));
    }

    #[test]
    fn its_environment_is_small() {
        let (_, out, _) = said(sh("env", b"", 5_000));
        assert!(out.lines().all(|line| line.starts_with("CARGO").then_some(()).is_none()), "{out}");
        assert!(out.contains("PATH="));
    }

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        assert!(matches!(
            run(&["no-such-program-here".to_owned()], b"", &[], Path::new("/"), Duration::from_secs(1)),
            Ending::Missing
        ));
        assert!(matches!(run(&[], b"", &[], Path::new("/"), Duration::from_secs(1)), Ending::Failed(_)));
    }

    /// It hangs, floods, does not read its input, or leaves a child behind that keeps its output open.
    #[test]
    fn nothing_takes_longer_than_it_may() {
        let start = Instant::now();
        assert!(matches!(sh("sleep 60", b"", 50), Ending::Late));
        assert!(matches!(sh("sleep 60 & echo gone", b"", 100), Ending::Late));
        assert!(matches!(sh("yes", b"", 100), Ending::Late));
        assert!(matches!(sh("sleep 60", &vec![b'x'; 1 << 20], 50), Ending::Late));
        assert!(start.elapsed() < Duration::from_secs(30));
        let (_, out, _) = said(sh("head -c 5000000 /dev/zero", b"", 10_000));
        assert_eq!(out.len(), MOST_OUTPUT);
    }

    #[test]
    fn its_children_go_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alive");
        let script = format!("(sleep 1; touch {}) & sleep 60", file.display());
        assert!(matches!(sh(&script, b"", 50), Ending::Late));
        thread::sleep(Duration::from_millis(1_300));
        assert!(!file.exists());
    }
}
