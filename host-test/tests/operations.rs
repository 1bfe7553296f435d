//! The page about operations is complete.

use std::collections::BTreeSet;
use std::fs;

use tollgate_guest::operations::OPS;

#[test]
fn the_page_has_every_operation_and_no_other() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md")).unwrap();
    let cell = |line: &str| line.strip_prefix("| `").and_then(|rest| rest.split_once('`')).map(|(op, _)| op.to_owned());
    let mut documented = BTreeSet::new();
    let mut is_table_of_ops = false;
    for line in page.lines() {
        if line.starts_with("| op |") {
            is_table_of_ops = true;
        } else if !line.starts_with('|') {
            is_table_of_ops = false;
        } else if is_table_of_ops {
            documented.extend(cell(line));
        }
    }
    let known: BTreeSet<String> = OPS.iter().map(|op| (*op).to_owned()).collect();
    assert_eq!(documented, known);
}
