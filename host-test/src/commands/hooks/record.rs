//! Formats runs of hooks.

use serde_json::Value;

use crate::cli::client::{number, text};
use crate::cli::output::{Cell, Output, Style, escape};

/// A run as a row: time, status, hook, file, duration and error.
pub(in crate::commands) fn row(record: &Value) -> Vec<Cell> {
    let when = match text(record, "/ended") {
        "" => text(record, "/started"),
        ended => ended,
    };
    let status = text(record, "/status");
    let style = match status {
        "success" => Style::Green,
        "failed" | "timeout" => Style::Red,
        "skipped" | "canceled" => Style::Yellow,
        _ => Style::Dim,
    };
    let took = record.get("duration_ms").map(|_| duration(number(record, "duration_ms"))).unwrap_or_default();
    vec![
        Cell::styled(clock(when), Style::Dim),
        Cell::styled(status, style),
        Cell::styled(text(record, "/hook"), Style::Bold),
        Cell::new(text(record, "/file")),
        Cell::new(took),
        Cell::new(if status == "success" { String::new() } else { complaint(record) }),
    ]
}

/// A run as a line whose columns do not depend on other lines.
pub(in crate::commands) fn line(record: &Value, output: &Output<'_>) -> String {
    let mut row = row(record);
    let status = text(record, "/status");
    if let Some(cell) = row.get_mut(1) {
        cell.pad(STATUS_WIDTH.saturating_sub(status.len()));
    }
    output.rows(&[row]).concat()
}

/// The length of `canceled`.
const STATUS_WIDTH: usize = 8;

/// Whether the status is final.
pub(in crate::commands) fn is_over(record: &Value) -> bool {
    !matches!(text(record, "/status"), "queued" | "running")
}

/// Why it did not succeed, and the first line of its output.
fn complaint(record: &Value) -> String {
    let first = text(record, "/output").lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let parts = [text(record, "/reason"), first.trim()];
    let said: Vec<String> = parts.iter().filter(|part| !part.is_empty()).map(|part| escape(part)).collect();
    said.join(": ")
}

/// The time of day in a timestamp such as `2026-11-16T09:30:00.000Z`.
fn clock(timestamp: &str) -> &str {
    timestamp.split_once('T').and_then(|(_, time)| time.get(..8)).unwrap_or(timestamp)
}

fn duration(millis: u64) -> String {
    if millis < 10_000 { format!("{millis} ms") } else { format!("{}.{} s", millis / 1_000, millis % 1_000 / 100) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::output::tests::capture;

    #[test]
    fn a_run_is_one_line() {
        for (record, expected) in [
            (
                json!({"hook": "lint", "status": "success", "ended": "2026-11-16T09:30:00.000Z", "file": "src/a.ts", "duration_ms": 12, "output": "fine"}),
                "09:30:00  success   lint  src/a.ts  12 ms",
            ),
            (
                json!({"hook": "lint", "status": "failed", "ended": "2026-11-16T09:30:00.000Z", "duration_ms": 12345, "reason": "exit code 1", "output": "\n  a\u{7}b\nmore"}),
                "09:30:00  failed    lint  12.3 s  exit code 1: a\\u{7}b",
            ),
            (json!({"hook": "lint", "status": "running", "started": "2026-11-16T09:30:01.000Z"}), "09:30:01  running   lint"),
        ] {
            let (shown, _, _) = capture(|output| line(&record, output));
            assert_eq!(shown, expected);
        }
    }
}
