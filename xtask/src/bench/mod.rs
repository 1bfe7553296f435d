//! `cargo xtask bench`: measures how long operations take, each compared with a baseline that is measured in the same run.
//!
//! Absolute times depend on the machine, so every budget compares two alternating measurements: this project, and a baseline.
//! [`budget`] lists the rows with their budgets, and the known misses with their reasons. Other rows are shown without a budget.

mod budget;
mod measurement;
mod processes;
mod table;
mod workspace;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use self::measurement::Measurement;
use crate::build;
use crate::npm;
use crate::repository::{cargo, command_line, root, target};

/// The benchmarks of the host, natively and in wasmtime. Each prints a line of JSON for every row.
const BENCHES: &[&str] = &["budgets", "effects", "extensions", "governance", "hooks", "third_party"];

/// Builds, measures, prints a table, and writes it to `target/bench.json`. Fails if a row exceeds its budget and is not a known miss.
pub(crate) fn bench() -> Result<()> {
    build::build()?;
    let (mut measured, mut failed) = (Vec::new(), Vec::new());
    for bench in BENCHES {
        let mut command = cargo(&["bench", "--locked", "--package", "tollgate", "--bench", bench]);
        measured.extend(read(&mut command, &mut failed)?);
    }
    let baselines = npm::install_pinned("bench-baselines")?;
    for runtime in npm::runtimes()?.iter().filter(|runtime| matches!(runtime.name, "node" | "bun")) {
        for script in ["bench/budgets.mjs", "bench/augment.mjs"] {
            let mut command = Command::new(&runtime.program);
            command.arg(script).current_dir(root().join("npm-wrapper")).env("TOLLGATE_BASELINES", &baselines);
            let rows = read(&mut command, &mut failed)?;
            measured.extend(rows.into_iter().map(|row| Measurement { row: format!("{}/{}", runtime.name, row.row), ..row }));
        }
    }
    measured.extend(processes::measure(&baselines)?);
    finish(&measured, &target().join("bench.json"))?;
    ensure!(failed.is_empty(), "these benchmarks failed: {}", failed.join("; "));
    Ok(())
}

/// Prints and saves the rows, and fails if one is over budget.
fn finish(measured: &[Measurement], file: &Path) -> Result<()> {
    let judged = budget::judge(measured);
    print!("{}", table::text(&judged));
    fs::write(file, table::json(&judged)).with_context(|| format!("writing {}", file.display()))?;
    println!("\nwritten to {}", file.display());
    let over: Vec<&str> = judged.iter().filter(|row| row.fails()).map(|row| row.what.as_str()).collect();
    ensure!(over.is_empty(), "over budget, and not listed as a known miss in xtask/src/bench/budget.rs: {}", over.join("; "));
    let missing = budget::missing_rows(measured);
    ensure!(missing.is_empty(), "these rows have a budget and were not measured: {}", missing.join("; "));
    Ok(())
}

/// Runs a benchmark and reads its rows. One that fails is added to `failed`, so that the others are measured all the same.
fn read(command: &mut Command, failed: &mut Vec<String>) -> Result<Vec<Measurement>> {
    let what = command_line(command);
    println!("\n\u{25b8} {what}");
    let output = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).output().with_context(|| format!("running `{what}`"))?;
    let rows: Vec<Measurement> = String::from_utf8_lossy(&output.stdout).lines().filter_map(Measurement::read).collect();
    if !output.status.success() {
        failed.push(format!("`{what}` ({})", output.status));
    } else {
        ensure!(!rows.is_empty(), "`{what}` measured nothing");
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn row(row: &str, ours: f64, baseline: f64) -> Measurement {
        Measurement { row: row.to_owned(), ours, baseline, unit: "µs".to_owned() }
    }

    /// All rows that have a budget, within it.
    fn rows_within_budget() -> Vec<Measurement> {
        budget::BUDGETS.iter().map(|budget| row(budget.row, budget.plus.max(0.1) / 2.0, 100.0)).collect()
    }

    #[test]
    fn a_row_over_budget_fails_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench.json");
        let mut rows = rows_within_budget();
        finish(&rows, &file).unwrap();
        let strict = budget::BUDGETS.iter().find(|budget| budget.miss.is_none()).unwrap();
        assert_eq!(fault_of(&mut rows, row(strict.row, 1e9, 1.0), &file), Some(strict.what));
    }

    #[test]
    fn a_known_miss_that_gets_much_worse_fails() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench.json");
        let mut rows = rows_within_budget();
        for budget in budget::BUDGETS {
            let Some(known) = budget.miss else { continue };
            assert!(known.ceiling > budget.factor, "{}", budget.row);
            assert_eq!(fault_of(&mut rows, row(budget.row, known.ceiling * 99.0, 100.0), &file), None);
            assert_eq!(fault_of(&mut rows, row(budget.row, known.ceiling * 101.0, 100.0), &file), Some(budget.what));
            assert_eq!(fault_of(&mut rows, row(budget.row, budget.factor * 99.0, 100.0), &file), None);
        }
    }

    /// Replaces a row, and returns its description if that makes the whole fail.
    fn fault_of(rows: &mut Vec<Measurement>, new: Measurement, file: &Path) -> Option<&'static str> {
        let budget = budget::BUDGETS.iter().find(|budget| budget.row == new.row).unwrap();
        rows.retain(|row| row.row != new.row);
        rows.push(new);
        let fault = finish(rows, file).err()?.to_string();
        assert!(fault.contains(budget.what), "{fault}");
        Some(budget.what)
    }

    #[test]
    fn a_row_that_is_no_longer_measured_fails() {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = rows_within_budget();
        rows.pop();
        let fault = finish(&rows, &folder.path().join("bench.json")).unwrap_err().to_string();
        assert!(fault.contains("were not measured"), "{fault}");
    }
}
