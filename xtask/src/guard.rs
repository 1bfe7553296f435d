//! `cargo xtask guard`: the cost of hot paths, counted instead of timed, so that other load on the machine makes no difference.
//!
//! Valgrind counts instructions and system calls, `host-test/examples/hot_paths.rs` counts calls to the host. `xtask/guard.json`
//! contains the accepted counts; `cargo xtask guard --renew` writes it.
//!
//! System calls that manage memory and threads are not counted. Their number depends on the allocator, which requests memory at
//! different moments when a neighbouring allocation moves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::jobs::{Job, run_jobs};
use crate::repository::{cargo, command, component, root, run, target};
use crate::skips;

/// The paths, each with the number of repetitions in the shorter run and in the longer one.
const ROWS: &[(&str, usize, usize)] = &[
    ("check-in-scope", 20, 60),
    ("check-out-of-scope", 20, 60),
    ("check-read", 20, 60),
    ("check-shell", 20, 60),
    ("check-shell-reading", 20, 60),
    ("first-check-1000-intents", 2, 6),
    ("first-event-1000-hooks", 2, 6),
    ("program-call-1000-files", 2, 6),
];

/// By how much instructions may grow: hash maps are seeded in every process, and a compiler inlines differently when neighbouring
/// code changes.
const TOLERANCE: f64 = 0.10;

/// By how much system calls may grow: how many it takes to list a folder depends on the file system.
const SYSTEM_CALL_TOLERANCE: f64 = 0.01;

/// System calls that only manage memory and threads, by the names under which Valgrind reports them.
const UNCOUNTED: &[&str] = &[
    "sys_brk",
    "sys_mmap",
    "sys_munmap",
    "sys_mremap",
    "sys_mprotect",
    "sys_madvise",
    "sys_futex",
    "sys_sched_yield",
    "sys_sched_getaffinity",
    "sys_clone",
    "sys_clone3",
    "sys_set_robust_list",
    "sys_rseq",
    "sys_rt_sigprocmask",
    "sys_rt_sigaction",
    "sys_sigaltstack",
    "sys_getrandom",
];

/// By how much the component may grow.
const SIZE_TOLERANCE: f64 = 0.05;

/// The costs of all paths.
#[derive(Debug)]
struct Costs {
    /// The version of the compiler; other versions produce other instructions.
    rustc: String,
    /// The size of the component.
    component_bytes: usize,
    rows: BTreeMap<String, Cost>,
}

/// The cost of one path.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    /// `None` if Valgrind is not installed.
    instructions: Option<u64>,
    system_calls: Option<u64>,
    crossings: u64,
}

impl Costs {
    fn to_json(&self) -> Value {
        let cost = |cost: &Cost| json!({"instructions": cost.instructions, "system_calls": cost.system_calls, "crossings": cost.crossings});
        let rows: serde_json::Map<String, Value> = self.rows.iter().map(|(row, of)| (row.clone(), cost(of))).collect();
        json!({"rustc": self.rustc, "component_bytes": self.component_bytes, "rows": rows})
    }

    fn from_json(costs: &Value) -> Option<Self> {
        let cost = |cost: &Value| {
            Some(Cost {
                instructions: cost.get("instructions")?.as_u64(),
                system_calls: cost.get("system_calls")?.as_u64(),
                crossings: cost.get("crossings")?.as_u64()?,
            })
        };
        let rows = costs.get("rows")?.as_object()?.iter().map(|(row, of)| Some((row.clone(), cost(of)?)));
        Some(Self {
            rustc: costs.get("rustc")?.as_str()?.to_owned(),
            component_bytes: usize::try_from(costs.get("component_bytes")?.as_u64()?).ok()?,
            rows: rows.collect::<Option<_>>()?,
        })
    }
}

/// Counts, and compares with the accepted counts or replaces them.
pub(crate) fn guard(renew: bool) -> Result<()> {
    // In the profile of the tests, so that no dependency is compiled again.
    run(&mut cargo(&["build", "--release", "--locked", "--package", "tollgate", "--example", "hot_paths"]))?;
    let counts = valgrind().is_some();
    if !counts {
        ensure!(!renew, "valgrind is not installed, so the counts cannot be renewed");
        skips::report("instructions and system calls are not counted: valgrind is not installed");
    }
    let count = |(row, few, many): &'static (&str, usize, usize)| {
        Box::new(move || Ok(((*row).to_owned(), cost(row, *few, *many, counts)?))) as Job<Result<(String, Cost)>>
    };
    let rows: BTreeMap<String, Cost> = run_jobs(ROWS.iter().map(count).collect())?.into_iter().collect::<Result<_>>()?;
    let component_bytes = fs::metadata(component()).map_or(0, |file| usize::try_from(file.len()).unwrap_or(usize::MAX));
    let now = Costs { rustc: rustc()?, component_bytes, rows };
    if renew {
        fs::write(file(), format!("{:#}\n", now.to_json()))?;
        println!("written to {}", file().display());
        return Ok(());
    }
    let text =
        fs::read(file()).with_context(|| format!("cannot read {}; `cargo xtask guard --renew` writes it", file().display()))?;
    let before: Value = serde_json::from_slice(&text).with_context(|| format!("reading {}", file().display()))?;
    let before = Costs::from_json(&before).with_context(|| format!("{} is not what `--renew` writes", file().display()))?;
    if before.rustc != now.rustc {
        skips::report(&format!("instructions are not compared: they were counted with {}, this is {}", before.rustc, now.rustc));
    }
    let faults = compare(&before, &now);
    ensure!(
        faults.is_empty(),
        "hot paths cost more than before:\n  {}\nmake them cheaper, or run `cargo xtask guard --renew` and explain it in the commit",
        faults.join("\n  ")
    );
    Ok(())
}

fn file() -> PathBuf {
    root().join("xtask/guard.json")
}

fn rustc() -> Result<String> {
    let said = Command::new("rustc").arg("--version").output().context("running rustc")?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn valgrind() -> Option<()> {
    Command::new("valgrind").arg("--version").output().ok().filter(|said| said.status.success()).map(drop)
}

/// Prints all costs, and returns those that grew.
fn compare(before: &Costs, now: &Costs) -> Vec<String> {
    let mut faults = Vec::new();
    let same_compiler = before.rustc == now.rustc;
    println!("\n{:<28} {:>14} {:>14} {:>13} {:>10}", "", "instructions", "before", "system calls", "crossings");
    for (row, now) in &now.rows {
        let Some(before) = before.rows.get(row) else {
            faults.push(format!("{row} is missing"));
            continue;
        };
        let shown = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        println!(
            "{row:<28} {:>14} {:>14} {:>13} {:>10}",
            shown(now.instructions),
            shown(before.instructions),
            shown(now.system_calls),
            now.crossings
        );
        if let (true, Some(now), Some(before)) = (same_compiler, now.instructions, before.instructions)
            && now as f64 > before as f64 * (1.0 + TOLERANCE)
        {
            faults.push(format!("{row}: {now} instructions instead of {before}"));
        }
        if let (Some(now), Some(before)) = (now.system_calls, before.system_calls)
            && now as f64 > before as f64 * (1.0 + SYSTEM_CALL_TOLERANCE)
        {
            faults.push(format!("{row}: {now} system calls instead of {before}"));
        }
        if now.crossings > before.crossings {
            faults.push(format!("{row}: {} calls to the host instead of {}", now.crossings, before.crossings));
        }
    }
    println!("{:<28} {:>14} {:>14}", "component, bytes", now.component_bytes, before.component_bytes);
    if now.component_bytes as f64 > before.component_bytes as f64 * (1.0 + SIZE_TOLERANCE) {
        faults.push(format!("the component: {} bytes instead of {}", now.component_bytes, before.component_bytes));
    }
    faults
}

/// Counts one path: the difference between the longer and the shorter run.
fn cost(row: &str, few: usize, many: usize, counts: bool) -> Result<Cost> {
    let each = |few_count: u64, many_count: u64| many_count.saturating_sub(few_count) / (many - few) as u64;
    let crossings = count_run(row, many, None)?.crossings / many as u64;
    if !counts {
        return Ok(Cost { instructions: None, system_calls: None, crossings });
    }
    let (less, more) = (count_run(row, few, Some("callgrind"))?, count_run(row, many, Some("callgrind"))?);
    let instructions = Some(each(less.instructions, more.instructions));
    let system_calls = Some(each(less.system_calls, more.system_calls));
    Ok(Cost { instructions, system_calls, crossings })
}

/// The counts of one run.
#[derive(Default)]
struct RunCounts {
    instructions: u64,
    system_calls: u64,
    crossings: u64,
}

fn count_run(row: &str, count: usize, tool: Option<&str>) -> Result<RunCounts> {
    // A name of the same length for every run, so that paths in it cost the same.
    let folder = tempfile::Builder::new().prefix("guard-").rand_bytes(6).tempdir()?;
    let program = target().join("release/examples/hot_paths");
    let (out, log) = (folder.path().join("counts"), folder.path().join("log"));
    let work = folder.path().join("work");
    fs::create_dir(&work)?;
    let mut command = match tool {
        None => command(&program, &[]),
        Some(tool) => {
            let mut valgrind = command("valgrind", &["--trace-syscalls=yes"]);
            valgrind.arg(format!("--tool={tool}")).arg(format!("--log-file={}", log.display()));
            valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(&program);
            valgrind
        }
    };
    let output = command.arg(row).arg(count.to_string()).arg(&work).output().context("running hot_paths")?;
    ensure!(output.status.success(), "{row}: {}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).context("reading the answer of hot_paths")?;
    let crossings = said.get("crossings").and_then(Value::as_u64).context("hot_paths did not count calls to the host")?;
    if tool.is_none() {
        return Ok(RunCounts { crossings, ..RunCounts::default() });
    }
    let log = fs::read(&log).context("Valgrind wrote no log")?;
    Ok(RunCounts {
        instructions: read_instructions(&out)?,
        system_calls: count_system_calls(&String::from_utf8_lossy(&log)),
        crossings,
    })
}

/// Reads the sum at the end of a callgrind file.
fn read_instructions(file: &Path) -> Result<u64> {
    let text = fs::read_to_string(file).context("Valgrind wrote no counts")?;
    let line = |name: &str| text.lines().rev().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let events = line("events:").context("no events were counted")?;
    let at = events.split(' ').position(|event| event == "Ir").context("instructions were not counted")?;
    let sums = line("totals:").or_else(|| line("summary:")).context("the counts have no sums")?;
    let sum = sums.split(' ').nth(at).and_then(|sum| sum.parse().ok());
    sum.context("instructions have no sum")
}

/// Counts the system calls in a log of Valgrind, of which each begins with a line like `SYSCALL[7,1](257) sys_openat ( … )`.
fn count_system_calls(log: &str) -> u64 {
    let name = |line: &str| {
        let call = line.strip_prefix("SYSCALL[")?.split_once(") ")?.1;
        // The second line of a call that took time.
        (!call.starts_with("...")).then(|| call.split([' ', '(']).next().unwrap_or_default().to_owned())
    };
    log.lines().filter_map(name).filter(|name| !UNCOUNTED.contains(&name.as_str())).count() as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    fn costs(instructions: u64, system_calls: u64, crossings: u64, bytes: usize) -> Costs {
        let cost = Cost { instructions: Some(instructions), system_calls: Some(system_calls), crossings };
        Costs { rustc: "x".to_owned(), component_bytes: bytes, rows: [("row".to_owned(), cost)].into() }
    }

    #[test]
    fn higher_costs_are_named() {
        let before = costs(1_000, 10, 5, 100);
        for (now, said) in [
            (costs(1_000, 10, 5, 100), ""),
            (costs(1_099, 10, 5, 100), ""),
            (costs(500, 9, 4, 90), ""),
            (costs(1_101, 10, 5, 100), "row: 1101 instructions"),
            (costs(1_000, 11, 5, 100), "row: 11 system calls"),
            (costs(1_000, 10, 6, 100), "row: 6 calls to the host"),
            (costs(1_000, 10, 5, 106), "the component: 106 bytes"),
        ] {
            assert!(compare(&before, &now).join(";").starts_with(said), "{said}");
            assert_eq!(compare(&before, &now).is_empty(), said.is_empty(), "{said}");
        }
    }

    #[test]
    fn costs_are_read_as_they_were_written() {
        let costs = costs(1_000, 10, 5, 100);
        let back = Costs::from_json(&costs.to_json()).unwrap_or_else(|| panic!("{:#}", costs.to_json()));
        assert_eq!((back.rows, back.rustc, back.component_bytes), (costs.rows, costs.rustc, costs.component_bytes));
    }

    #[test]
    fn counts_of_another_compiler_are_not_compared() {
        let other = Costs { rustc: "y".to_owned(), ..costs(9_999, 10, 5, 100) };
        assert!(compare(&costs(1_000, 10, 5, 100), &other).is_empty());
    }

    #[test]
    fn sums_are_read() {
        let folder = tempfile::tempdir().unwrap_or_else(|why| panic!("{why}"));
        let file = folder.path().join("counts");
        assert!(fs::write(&file, "version: 1\nevents: sysCount Ir sysTime\nfn=x\n1 2\ntotals: 7 100 3\n").is_ok());
        assert_eq!(read_instructions(&file).unwrap_or_else(|why| panic!("{why}")), 100);
    }

    #[test]
    fn system_calls_on_files_are_counted() {
        let log = "==7== Callgrind\n\
            SYSCALL[7,1](257) sys_openat ( -100, 0x40(/etc/x), 524288 ) --> [async] ... \n\
            SYSCALL[7,1](257) ... [async] --> Success(0x3) \n\
            SYSCALL[7,1](9) sys_mmap ( 0x0, 15763, 1, 2, 3, 0 ) --> [pre-success] Success(0x48) \n\
            SYSCALL[7,2](202) sys_futex ( 0x40, 128, 2 ) --> [async] ... \n\
            SYSCALL[7,1](3) sys_close ( 3 )[sync] --> Success(0x0) \n\
            SYSCALL[7,1](231) exit_group( 0 ) --> [pre-success] Success(0x0) \n";
        assert_eq!(count_system_calls(log), 3);
    }
}
