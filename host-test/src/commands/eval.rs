//! `tollgate eval`: JSON lines in, JSON lines out. The guest answers; this carries lines.

use std::io::{self, BufRead, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use tollgate::{Error, Tollgate};

use super::place::open;
use super::{failed, say};

/// What a line is answered with when the guest failed on it.
const TRAPPED: &str =
    r#"{"error":{"code":"guest_trap","message":"the gate failed on this line and was restarted; the next line works"}}"#;

/// The options of `tollgate eval`.
#[derive(Args)]
pub(crate) struct Options {
    /// The governed folder
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The folder with the user's own .tollgate/ [default: the user's home]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
}

/// Answers every line in order, to the end of input.
pub(crate) fn run(options: &Options) -> ExitCode {
    let mut gate = match open(&options.workspace, options.home.as_deref()) {
        Ok(gate) => gate,
        Err(stop) => return stop.exit(),
    };
    match answer_all(&mut gate, io::stdin().lock(), BufWriter::new(io::stdout().lock())) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever asked has gone.
        Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(fault) => failed(&fault.to_string()),
    }
}

fn answer_all(gate: &mut Tollgate, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut longest = None;
    let mut line = Vec::new();
    while !input.fill_buf()?.is_empty() {
        // The guest says how long a line may be, so it is asked only once there is one.
        let limit = match longest {
            Some(limit) => limit,
            None => *longest.insert(gate.longest_line().map_err(io::Error::other)?),
        };
        read_line(&mut input, limit.saturating_add(1), &mut line)?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match gate.perform(&line) {
            Ok(answer) => output.write_all(&answer)?,
            Err(fault) => {
                say(&format!("error: {fault}"));
                output.write_all(TRAPPED.as_bytes())?;
            }
        }
        output.write_all(b"\n")?;
        // A peer may wait for this answer before it sends the next line.
        output.flush()?;
    }
    if longest.is_some() { finish(gate).map_err(io::Error::other) } else { Ok(()) }
}

/// Waits for what the gate wants to try again.
pub(super) fn finish(gate: &mut Tollgate) -> Result<(), Error> {
    let start = Instant::now();
    let now = || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    while let Some(deadline) = gate.step(now(), &[])?.next_deadline_ms {
        thread::sleep(Duration::from_millis(deadline.saturating_sub(now())));
    }
    Ok(())
}

/// Reads up to the end of a line and keeps at most `limit` bytes of it.
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
