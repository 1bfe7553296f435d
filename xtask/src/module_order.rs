//! The order of the guest's modules: its `lib.rs` lists them from top to bottom, and none may use one above it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::repository::root;

/// Checks every source file of the guest, tests aside, against the table of modules in `guest/src/lib.rs`.
pub(crate) fn check() -> Result<()> {
    let sources = root().join("guest/src");
    let lib = fs::read_to_string(sources.join("lib.rs")).context("reading guest/src/lib.rs")?;
    let order = order(&lib);
    let mut faults = missing(&lib, &order);
    let mut uses = 0;
    for (path, text) in files(&sources)? {
        let Some(module) = path.split('/').next().map(|name| name.trim_end_matches(".rs")) else { continue };
        for used in used_modules(&text) {
            uses += 1;
            if let (Some(here), Some(there)) = (order.get(module), order.get(used.as_str()))
                && there < here
            {
                faults.push(format!("{path} uses `{used}`, which is listed above `{module}`"));
            }
        }
    }
    ensure!(uses > 100, "only {uses} uses of other modules were found; this check would pass anything");
    faults.dedup();
    ensure!(faults.is_empty(), "order of modules in guest/src/lib.rs:\n  {}", faults.join("\n  "));
    println!("modules: {} in order", order.len());
    Ok(())
}

/// The position of each module in the table, the top first.
fn order(lib: &str) -> BTreeMap<&str, usize> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | "));
    let names = rows.filter_map(|row| row.trim_start_matches('[').strip_prefix('`')?.split_once('`').map(|(name, _)| name));
    names.enumerate().map(|(position, name)| (name, position)).collect()
}

/// The modules that are declared and not in the table.
fn missing(lib: &str, order: &BTreeMap<&str, usize>) -> Vec<String> {
    let declared = lib.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    declared.filter(|name| !order.contains_key(name)).map(|name| format!("`{name}` is not in the table")).collect()
}

/// The modules of the crate that a file uses outside of comments and tests.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    lines.join("\n").split("crate::").skip(1).flat_map(first_names).collect()
}

/// The first name of a path; of a group in braces, the first name of each path in it.
fn first_names(path: &str) -> Vec<String> {
    let name = |path: &str| path.trim_start().split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().map(str::to_owned);
    let Some(group) = path.strip_prefix('{') else { return name(path).into_iter().collect() };
    let mut names = Vec::from_iter(name(group));
    let mut depth = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.extend(group.get(at + 1..).and_then(name)),
            _ => {}
        }
    }
    names
}

/// The source files below a folder that are not tests, by their path relative to it.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("listing {}", next.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "tests" {
                    open.push(path);
                }
            } else if name.ends_with(".rs") && name != "tests.rs" && name != "lib.rs" {
                let relative = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
                found.push((relative, fs::read_to_string(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "//! | module | what |\n//! | --- | --- |\n//! | [`gate`] | a |\n//! | `call` | b |\npub mod gate;\nmod call;\nmod glob;\n";

    #[test]
    fn the_table_is_read_and_must_be_complete() {
        let order = order(LIB);
        assert_eq!(order, BTreeMap::from([("gate", 0), ("call", 1)]));
        assert_eq!(missing(LIB, &order), ["`glob` is not in the table"]);
    }

    #[test]
    fn comments_and_tests_do_not_count() {
        let text =
            "use crate::call::Call;\n// crate::gate\nfn f() { crate::glob::g() }\n#[cfg(test)]\nmod tests {\nuse crate::gate;\n}";
        assert_eq!(used_modules(text), BTreeSet::from(["call", "glob"].map(str::to_owned)));
    }

    #[test]
    fn groups_count() {
        let text = "use crate::{ledger::{Entry, entry::{a, b}}, glob,\n    json};\nuse crate::{call};";
        let used = used_modules(text);
        let used: Vec<&str> = used.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        assert_eq!(used, ["call", "glob", "json", "ledger"]);
    }
}
