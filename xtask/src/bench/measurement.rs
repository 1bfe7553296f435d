//! One measured row.

use serde_json::Value;

/// The cost of one operation and of its baseline, in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    /// The name of the row.
    pub(crate) row: String,
    /// This project.
    pub(crate) ours: f64,
    /// What it is compared with; 0 if it is compared with nothing.
    pub(crate) baseline: f64,
    /// `µs`, `ms`, `MB` or `×`.
    pub(crate) unit: String,
}

impl Measurement {
    /// Reads a row from a line that a benchmark printed. Other lines are not rows.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line.trim()).ok()?;
        let text = |name: &str| line.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| line.get(name)?.as_f64();
        Some(Self { row: text("row")?, ours: number("ours")?, baseline: number("baseline")?, unit: text("unit")? })
    }

    /// This project divided by the baseline.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.baseline > 0.0).then(|| self.ours / self.baseline)
    }
}
