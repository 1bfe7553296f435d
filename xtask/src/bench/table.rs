//! The rows as a table and as JSON.

use serde_json::json;

use super::budget::JudgedRow;

/// The width of the first column.
const WIDTH: usize = 66;

/// A table, rows with a budget first, followed by the reasons of known misses.
pub(crate) fn text(rows: &[JudgedRow]) -> String {
    let mut text = format!("\n{:<WIDTH$} {:>11} {:>11} {:>7}  {}\n", "", "this", "baseline", "ratio", "budget");
    let (with, without): (Vec<&JudgedRow>, Vec<&JudgedRow>) = rows.iter().partition(|row| row.budget.is_some());
    for row in &with {
        text.push_str(&line(row));
    }
    let missed: Vec<&&JudgedRow> = with.iter().filter(|row| !row.is_within()).collect();
    if !missed.is_empty() {
        text.push_str("\nover budget\n");
        for row in missed {
            let why = row.miss.unwrap_or("not a known miss");
            text.push_str(&format!("  {}: {why}\n", row.what));
        }
    }
    if !without.is_empty() {
        text.push_str("\nwithout a budget\n");
        for row in &without {
            text.push_str(&line(row));
        }
    }
    text
}

fn line(row: &JudgedRow) -> String {
    let unit = &row.measured.unit;
    let number = |value: f64| if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.2} {unit}") };
    let baseline = if row.measured.baseline > 0.0 { number(row.measured.baseline) } else { String::new() };
    let ratio = row.measured.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let budget = match (&row.budget, row.is_within()) {
        (None, _) => String::new(),
        (Some(budget), true) => budget.clone(),
        (Some(budget), false) => format!("{budget}  OVER"),
    };
    let line = format!("{:<WIDTH$} {:>11} {baseline:>11} {ratio:>7}  {budget}", row.what, number(row.measured.ours));
    format!("{}\n", line.trim_end())
}

/// The same as JSON.
pub(crate) fn json(rows: &[JudgedRow]) -> String {
    let row = |row: &JudgedRow| {
        json!({
            "row": row.measured.row,
            "what": row.what,
            "this": row.measured.ours,
            "baseline": row.measured.baseline,
            "unit": row.measured.unit,
            "ratio": row.measured.ratio(),
            "budget": row.budget,
            "within": row.is_within(),
            "known_miss": row.miss,
        })
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    format!("{:#}\n", json!({ "rows": rows }))
}
