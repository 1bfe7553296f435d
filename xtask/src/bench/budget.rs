//! The budget of each row, and which rows are known to exceed theirs.

use super::measurement::Measurement;

/// The maximum of a row: a multiple of its baseline, plus a constant.
pub(crate) struct Budget {
    /// The name of the row.
    pub(crate) row: &'static str,
    /// Its description.
    pub(crate) what: &'static str,
    /// The multiple of the baseline.
    pub(crate) factor: f64,
    /// The constant, in the row's unit.
    pub(crate) plus: f64,
    /// Whether it is known to exceed its budget. Such a row is listed with the reason, and fails only if it gets much worse.
    pub(crate) miss: Option<KnownMiss>,
}

/// A row that exceeds its budget.
#[derive(Clone, Copy)]
pub(crate) struct KnownMiss {
    /// The multiple of the baseline that it must not exceed: what was measured, and a quarter more.
    pub(crate) ceiling: f64,
    /// The reason.
    pub(crate) why: &'static str,
}

const fn row_budget(row: &'static str, what: &'static str, factor: f64) -> Budget {
    Budget { row, what, factor, plus: 0.0, miss: None }
}

impl Budget {
    const fn plus(self, plus: f64) -> Self {
        Self { plus, ..self }
    }

    const fn with_known_miss(self, ceiling: f64, why: &'static str) -> Self {
        Self { miss: Some(KnownMiss { ceiling, why }), ..self }
    }

    /// The budget as text.
    fn text(&self) -> String {
        match (self.factor, self.plus) {
            (factor, 0.0) => format!("≤ {factor}"),
            (0.0, plus) => format!("≤ {plus} in total"),
            (factor, plus) => format!("≤ {factor} × + {plus}"),
        }
    }
}

/// 1.32 to 1.37.
const COMPILED: &str =
    "20 µs more than natively: texts are copied into the component's memory and back, and Cranelift's code is not LLVM's";

/// 4 in scope, 8 otherwise.
const LOOKS: &str = "the gate looks at 13 paths that decide about a call and records its ruling; plain JS looks at one or two files and records nothing";

/// Some 80.
const RECORDS: &str = "a call that is allowed is recorded so that a process that dies loses nothing: eight lines in seven files, one of \
                       which is new and then removed; the baseline appends one line, and opens its files by any path";

/// 5.5 to 6.
const NODE_LOOKS: &str =
    "`lstat` takes 2.6 µs in Node, for every file before and after the call; git looks once, with several threads";

/// 1.05 to 1.25.
const CACHES: &str = "the kernel's own caches miss more often with 100,000 files; why that costs git less is not known";

/// All rows with a budget.
pub(crate) const BUDGETS: &[Budget] = &[
    row_budget("wasmtime/check/in-scope", "wasmtime / native: check of a write in scope", 1.3),
    row_budget("wasmtime/check/out-of-scope", "wasmtime / native: check of a write out of scope", 1.3)
        .with_known_miss(1.7, COMPILED),
    row_budget("wasmtime/check/shell", "wasmtime / native: check of a shell command", 1.3).with_known_miss(1.7, COMPILED),
    row_budget("node/check/in-scope", "Node / plain JS: check of a write in scope", 2.0).with_known_miss(5.6, LOOKS),
    row_budget("node/check/out-of-scope", "Node / plain JS: check of a write out of scope", 2.0).with_known_miss(8.8, LOOKS),
    row_budget("node/check/shell", "Node / plain JS: check of a shell command", 2.0).with_known_miss(8.0, LOOKS),
    row_budget("node/check/patterns", "Node / plain JS: check against 10,000 scope patterns", 0.2),
    row_budget("wasmtime/settle/unavoidable", "check and settle of a write / stat, hash and append", 4.0)
        .with_known_miss(100.0, RECORDS),
    row_budget("process/deny", "tollgate hook, a denied shell command, 10 intents / true", 3.0).plus(1.0),
    row_budget("process/deny/intents", "the same with 1,000 intents / with 10", 1.5),
    row_budget("process/deny/hooks", "the same with 1,000 hooks / with none", 1.5),
    row_budget("process/deny/notes", "the same with 50,000 notes / with none", 1.5),
    row_budget("process/deny/ledger", "the same with a ledger of a million lines / without", 1.5),
    row_budget("wasmtime/program/15000", "wasmtime: a program call in 15,000 files / git status", 3.0),
    row_budget("node/program/15000", "Node: a program call in 15,000 files / git status", 3.0).with_known_miss(7.6, NODE_LOOKS),
    row_budget("wasmtime/program/growth", "wasmtime: growth from 15,000 to 100,000 files / of git status", 1.0)
        .with_known_miss(1.6, CACHES),
    row_budget("node/program/growth", "Node: growth from 15,000 to 100,000 files / of git status", 1.0)
        .with_known_miss(1.6, CACHES),
    // The promise was at most 60 ms more than an empty script, which took 64 ms. A constant would be a different promise on
    // another machine.
    row_budget("node/load", "Node: load and first check / an empty script", 1.94),
    row_budget("wasmtime/session/memory", "wasmtime: memory of one more session", 0.0).plus(2.0),
    row_budget("wasmtime/sessions", "wasmtime: a call of one in 10,000 sessions / of one session", 1.5),
    // When 25 µs, 250 µs and 2 ms were promised, five programs took 5 ms.
    row_budget("third-party/rust", "five third-party hooks in Rust / five programs (`cat`)", 0.005),
    row_budget("third-party/js", "five third-party hooks in JavaScript / five programs (`cat`)", 0.05),
    row_budget("third-party/rust/load", "loading a third-party hook in Rust / five programs (`cat`)", 0.4),
    row_budget("third-party/js/load", "loading a third-party hook in JavaScript / five programs (`cat`)", 0.4),
];

/// A row with its budget.
pub(crate) struct JudgedRow {
    /// Its description.
    pub(crate) what: String,
    /// The measurement.
    pub(crate) measured: Measurement,
    /// The budget as text, if the row has one.
    pub(crate) budget: Option<String>,
    /// The maximum.
    max: f64,
    /// The maximum at which a known miss is still one.
    ceiling: f64,
    /// Why it is known to exceed its budget.
    pub(crate) miss: Option<&'static str>,
}

impl JudgedRow {
    /// Whether it is within its budget.
    pub(crate) fn is_within(&self) -> bool {
        self.measured.ours <= self.max
    }

    /// Whether it exceeds its budget and is not a known miss, or is much worse than the known one.
    pub(crate) fn fails(&self) -> bool {
        self.measured.ours > self.ceiling
    }
}

/// Combines rows with their budgets, in the order of the budgets. Rows without one come last.
pub(crate) fn judge(measured: &[Measurement]) -> Vec<JudgedRow> {
    let found = |budget: &Budget| measured.iter().find(|row| row.row == budget.row).cloned();
    let with = BUDGETS.iter().filter_map(|budget| {
        let measured = found(budget)?;
        let max = budget.factor * measured.baseline + budget.plus;
        let ceiling = budget.miss.map_or(max, |miss| miss.ceiling * measured.baseline);
        let miss = budget.miss.map(|miss| miss.why);
        Some(JudgedRow { what: budget.what.to_owned(), measured, budget: Some(budget.text()), max, ceiling, miss })
    });
    let is_listed = |row: &Measurement| BUDGETS.iter().any(|budget| budget.row == row.row);
    let without = measured.iter().filter(|row| !is_listed(row)).map(|row| JudgedRow {
        what: row.row.clone(),
        measured: row.clone(),
        budget: None,
        max: f64::INFINITY,
        ceiling: f64::INFINITY,
        miss: None,
    });
    with.chain(without).collect()
}

/// The rows that have a budget and were not measured.
pub(crate) fn missing_rows(measured: &[Measurement]) -> Vec<&'static str> {
    let is_measured = |budget: &&Budget| measured.iter().any(|row| row.row == budget.row);
    BUDGETS.iter().filter(|budget| !is_measured(budget)).map(|budget| budget.row).collect()
}
