//! One row as it was measured.

use serde_json::Value;

/// What one thing takes, and what its baseline takes, in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    /// Which row it is.
    pub(crate) row: String,
    /// This project.
    pub(crate) ours: f64,
    /// What it is compared with; 0 where it is compared with nothing.
    pub(crate) baseline: f64,
    /// `µs`, `ms`, `MB` or `×`.
    pub(crate) unit: String,
}

impl Measurement {
    /// A row from a line that a benchmark printed; none for lines that are for people.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line.trim()).ok()?;
        let text = |name: &str| line.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| line.get(name)?.as_f64();
        Some(Self { row: text("row")?, ours: number("ours")?, baseline: number("baseline")?, unit: text("unit")? })
    }

    /// How much longer this project takes.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.baseline > 0.0).then(|| self.ours / self.baseline)
    }
}
