//! `tollgate eval`: answers JSON lines. The guest answers them; this command passes them on, and runs the hooks that events
//! trigger.

use std::io::{self, BufRead, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tollgate::hooks::{Hooks, Options as HookOptions, Remote};
use tollgate::{Error, Tollgate};

use crate::cli::confirm;
use crate::cli::interrupt::on_interrupt;
use crate::cli::workspace::open;
use crate::cli::{fail, print_message};

/// The answer to a line on which the guest failed.
const TRAPPED: &str =
    r#"{"error":{"code":"guest_trap","message":"the gate failed on this line and was restarted; the next line works"}}"#;

/// How often a wait for the next line looks for Ctrl-C.
const INTERRUPT_CHECK: Duration = Duration::from_millis(100);

/// The exit code for a program that was ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The options of `tollgate eval`.
#[derive(Args)]
pub(crate) struct Options {
    /// The governed folder
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The folder that contains the user's .tollgate/ [default: the home folder]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// The folder for state that the gate keeps between calls [default: the user's state folder, or below --home]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Answers every line in order until the input ends.
pub(crate) fn run(options: &Options) -> ExitCode {
    let mut gate = match open(&options.workspace, options.home.as_deref(), options.state.as_deref()) {
        Ok(gate) => gate,
        Err(stop) => return stop.exit(),
    };
    // This protocol is for host programs and cannot ask a person; but an agent could use it as well.
    if let Err(stop) = confirm::report_ancestry(&mut gate) {
        return stop.exit();
    }
    let mut eval = Eval { hooks: Hooks::new(&mut gate, HookOptions::new()), interrupted: None, is_stepped_by_caller: false };
    match eval.answer_all(BufWriter::new(io::stdout().lock())) {
        Ok(()) if eval.is_interrupted() => ExitCode::from(INTERRUPTED),
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output is gone.
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(fault) => fail(&fault.to_string()),
    }
}

struct Eval<'a> {
    hooks: Hooks<&'a mut Tollgate>,
    /// Whether Ctrl-C was pressed; `None` until a line may have started programs.
    interrupted: Option<Arc<AtomicBool>>,
    /// Whether a line was a step: whoever takes steps runs the hooks, and keeps the time.
    is_stepped_by_caller: bool,
}

impl Eval<'_> {
    fn answer_all(&mut self, mut output: impl Write) -> io::Result<()> {
        let mut lines = Lines::Direct;
        let mut line = Vec::new();
        // Only the guest knows the length limit, so it is asked once there is a line.
        let mut longest = None;
        while self.next(&mut lines, &mut line, &mut longest)? {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let op = hook_op(&line);
            self.is_stepped_by_caller |= op == Some(HookOp::Step);
            let runs_hooks = op == Some(HookOp::Run) && !self.is_stepped_by_caller;
            let answered = if self.is_stepped_by_caller {
                self.hooks.gate().perform(&line)
            } else if runs_hooks {
                self.hooks().perform(&line)
            } else {
                self.hooks.perform(&line)
            };
            match answered {
                Ok(answer) => output.write_all(&answer)?,
                Err(fault) => {
                    output.write_all(TRAPPED.as_bytes())?;
                    self.report_failure(&fault)?;
                }
            }
            output.write_all(b"\n")?;
            // The peer may wait for this answer before it sends the next line.
            output.flush()?;
            if let (true, Lines::Direct, Some(longest)) = (runs_hooks, &lines, longest) {
                lines = Lines::in_thread(longest, self.hooks.remote())?;
            }
        }
        if longest.is_some() { self.finish().map_err(io::Error::other) } else { Ok(()) }
    }

    /// Waits for the next line while background hooks progress.
    fn next(&mut self, lines: &mut Lines, line: &mut Vec<u8>, longest: &mut Option<u64>) -> io::Result<bool> {
        let Lines::Thread(apart) = lines else {
            let mut input = io::stdin().lock();
            if input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let limit = match longest {
                Some(limit) => *limit,
                None => *longest.insert(self.hooks.gate().longest_line().map_err(io::Error::other)?),
            };
            read_line(&mut input, limit.saturating_add(1), line)?;
            return Ok(true);
        };
        loop {
            if self.is_interrupted() {
                return Ok(false);
            }
            match apart.try_recv() {
                Ok(next) => {
                    *line = next?;
                    return Ok(true);
                }
                Err(mpsc::TryRecvError::Disconnected) => return Ok(false),
                Err(mpsc::TryRecvError::Empty) if self.is_stepped_by_caller => match apart.recv_timeout(INTERRUPT_CHECK) {
                    Ok(next) => {
                        *line = next?;
                        return Ok(true);
                    }
                    Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(false),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                },
                Err(mpsc::TryRecvError::Empty) => {
                    if let Err(fault) = self.hooks.work(Duration::from_secs(60)) {
                        self.report_failure(&fault)?;
                    }
                }
            }
        }
    }

    /// Reports a failure of the gate, and tells its new instance which processes started this one.
    fn report_failure(&mut self, fault: &tollgate::Error) -> io::Result<()> {
        print_message(&format!("error: {fault}"));
        confirm::report_ancestry(self.hooks.gate()).map_err(|_| io::Error::other("the gate no longer answers"))
    }

    /// The hooks, for a line that may start programs, which must not outlive this process.
    fn hooks(&mut self) -> &mut Hooks<impl std::borrow::BorrowMut<Tollgate>> {
        if self.interrupted.is_none() {
            let (interrupted, remote) = (Arc::new(AtomicBool::new(false)), self.hooks.remote());
            self.interrupted = Some(Arc::clone(&interrupted));
            on_interrupt(move |_| {
                interrupted.store(true, Ordering::Relaxed);
                remote.shutdown(false);
            });
        }
        &mut self.hooks
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.as_ref().is_some_and(|interrupted| interrupted.load(Ordering::Relaxed))
    }

    /// Waits for background hooks, and until the gate has retried what it could not do at first. A caller that takes steps has
    /// done that.
    fn finish(&mut self) -> Result<(), Error> {
        if self.is_stepped_by_caller {
            return Ok(());
        }
        if self.interrupted.is_some() {
            self.hooks.shutdown(!self.is_interrupted())?;
            while !self.hooks.is_idle() {
                self.hooks.work(Duration::from_secs(60))?;
            }
            return Ok(());
        }
        let start = std::time::Instant::now();
        let now = || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        while let Some(deadline) = self.hooks.gate().step(now(), &[])?.next_deadline_ms {
            thread::sleep(Duration::from_millis(deadline.saturating_sub(now())));
        }
        Ok(())
    }
}

/// How lines are read.
enum Lines {
    /// By the main thread, at no extra cost.
    Direct,
    /// By a thread of its own, so that hooks progress between lines.
    Thread(mpsc::Receiver<io::Result<Vec<u8>>>),
}

impl Lines {
    fn in_thread(longest: u64, remote: Remote) -> io::Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let read = move || {
            // Buffered input belongs to the standard input handle, so nothing is lost in the switch.
            let mut input = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                let next = match input.fill_buf() {
                    Ok([]) => break,
                    Ok(_) => read_line(&mut input, longest.saturating_add(1), &mut line).map(|()| line),
                    Err(fault) => Err(fault),
                };
                let failed = next.is_err();
                if sender.send(next).is_err() || failed {
                    break;
                }
                remote.wake();
            }
            drop(sender);
            remote.wake();
        };
        thread::Builder::new().name("tollgate-lines".to_owned()).spawn(read)?;
        Ok(Self::Thread(receiver))
    }
}

/// What a line does with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookOp {
    /// It may start programs of hooks, which may still be running when it has been answered.
    Run,
    /// It takes a step for a host that runs hooks itself.
    Step,
}

/// What a line does with hooks, if anything. Most lines can be ruled out without parsing.
fn hook_op(line: &[u8]) -> Option<HookOp> {
    let mentions = |word: &[u8]| line.windows(word.len()).any(|at| at == word);
    if !(mentions(b"\"event\"") || mentions(b"\"hooks\"") || mentions(b"\"step\"") || mentions(b"\\u")) {
        return None;
    }
    let line: Value = serde_json::from_slice(line).unwrap_or_default();
    match line.get("op").and_then(Value::as_str) {
        Some("event" | "hooks") => Some(HookOp::Run),
        Some("step") => Some(HookOp::Step),
        _ => None,
    }
}

/// Reads to the end of a line and keeps at most `limit` bytes of it.
fn read_line(input: &mut impl BufRead, limit: u64, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    loop {
        let buffered = input.fill_buf()?;
        if buffered.is_empty() {
            return Ok(());
        }
        let end = buffered.iter().position(|byte| *byte == b'\n');
        let piece = buffered.get(..end.unwrap_or(buffered.len())).unwrap_or_default();
        let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(line.len());
        line.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_manual_runs_start_programs() {
        for (line, expected) in [
            (r#"{"op":"event","event":"before_tool","session":"s"}"#, Some(HookOp::Run)),
            (r#"{"op":"\u0065vent"}"#, Some(HookOp::Run)),
            (r#"{"op":"hooks","do":"list"}"#, Some(HookOp::Run)),
            (r#"{"op":"step","now_ms":0}"#, Some(HookOp::Step)),
            (r#"{"op":"person","step":"look"}"#, None),
            (r#"{"op":"context","session":"events of hooks"}"#, None),
            ("event hooks", None),
            ("", None),
        ] {
            assert_eq!(hook_op(line.as_bytes()), expected, "{line}");
        }
    }
}
