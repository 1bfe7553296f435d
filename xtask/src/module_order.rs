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
        for used in used_modules(&path, &text) {
            uses += 1;
            if used == "*" {
                faults.push(format!("{path} uses every module; name those that it needs"));
            }
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

/// The modules of the crate that a file uses outside of comments and tests: those that follow `crate::`, or as many `super::` as lead
/// out of the top module that the file belongs to.
fn used_modules(path: &str, text: &str) -> BTreeSet<String> {
    let code = without_tests(text);
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    let mut used: BTreeSet<String> = code.split("crate::").skip(1).flat_map(first_names).collect();
    let depth = depth(path);
    for (at, _) in code.match_indices(SUPER) {
        let is_begin = code.get(..at).is_some_and(|before| !before.ends_with(SUPER) && !before.ends_with(is_name_character));
        if let (true, Some(path)) = (is_begin, code.get(at..)) {
            used.extend(names_outside(path, depth));
        }
    }
    used
}

const SUPER: &str = "super::";

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// How many `super::` lead from a file to the crate's root.
fn depth(path: &str) -> usize {
    path.trim_end_matches(".rs").split('/').filter(|name| *name != "mod").count()
}

/// The code without the module of tests. The module ends with the first brace that is not indented.
fn without_tests(text: &str) -> String {
    let mut pieces = text.split("#[cfg(test)]\nmod tests {");
    let first = pieces.next().unwrap_or_default();
    let rests = pieces.map(|piece| piece.split_once("\n}\n").map_or("", |(_, rest)| rest));
    std::iter::once(first).chain(rests).collect()
}

/// The first names of a path that begins with `super::`, if so many of these lead to the crate's root.
fn names_outside(path: &str, depth: usize) -> Vec<String> {
    let (mut path, mut depth) = (path, depth);
    while let Some(rest) = path.strip_prefix(SUPER) {
        (path, depth) = (rest, depth.saturating_sub(1));
    }
    match path.strip_prefix('{') {
        _ if depth == 0 => first_names(path),
        Some(group) => paths_of_group(group).into_iter().flat_map(|path| names_outside(path, depth)).collect(),
        None => Vec::new(),
    }
}

/// The first name of a path, or `*`; of a group in braces, the first name of each path in it.
fn first_names(path: &str) -> Vec<String> {
    let paths = path.strip_prefix('{').map_or_else(|| vec![path], paths_of_group);
    let name = |path: &str| match path.strip_prefix('*') {
        Some(_) => "*".to_owned(),
        None => path.split(|c| !is_name_character(c)).next().unwrap_or_default().to_owned(),
    };
    paths.into_iter().map(name).collect()
}

/// The paths in a group, given the text after its opening brace. The last one may be followed by more text.
fn paths_of_group(group: &str) -> Vec<&str> {
    let mut paths = vec![group.trim_start()];
    let mut depth = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => paths.extend(group.get(at + 1..).map(str::trim_start)),
            _ => {}
        }
    }
    paths
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

    fn used_module_names(path: &str, text: &str) -> Vec<String> {
        used_modules(path, text).into_iter().filter(|name| !name.is_empty()).collect()
    }

    #[test]
    fn comments_and_tests_do_not_count() {
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::gate;\n    use super::super::gate;\n}\n";
        let before = "use crate::call::Call;\n// crate::gate\nfn f() { crate::glob::g() }\n";
        assert_eq!(used_module_names("hooks.rs", &format!("{before}{tests}")), ["call", "glob"]);
    }

    #[test]
    fn code_below_tests_counts() {
        let tests = "#[cfg(test)]\nmod tests {\n    fn f() {\n        crate::gate::g();\n    }\n}\n";
        assert_eq!(
            used_module_names("hooks.rs", &format!("{tests}\nfn f() {{ crate::glob::g() }}\n{tests}use super::json;\n")),
            ["glob", "json"]
        );
    }

    #[test]
    fn groups_count() {
        let text = "use crate::{ledger::{Entry, entry::{a, b}}, glob,\n    json};\nuse crate::{call};";
        assert_eq!(used_module_names("hooks.rs", text), ["call", "glob", "json", "ledger"]);
    }

    #[test]
    fn paths_to_the_root_count() {
        for (path, text, expected) in [
            ("gate.rs", "use super::hooks;", vec!["hooks"]),
            ("gate/mod.rs", "fn f() { super::hooks::g() }", vec!["hooks"]),
            ("gate.rs", "pub(super) fn f() { my_super::json() }", vec![]),
            ("gate.rs", "use super::*;", vec!["*"]),
            ("gate/check.rs", "use super::*;", vec![]),
            ("gate/check.rs", "use super::hooks;", vec![]),
            ("gate/check.rs", "use super::super::hooks;", vec!["hooks"]),
            ("gate/check.rs", "use self::super::super::{hooks, json::{a, b}};", vec!["hooks", "json"]),
            ("gate/check.rs", "use super::{ledger, super::{hooks,\n    json::Value}, call};", vec!["hooks", "json"]),
            ("call/shell/mod.rs", "use super::super::super::hooks;", vec!["hooks"]),
            ("call/shell/words.rs", "use super::super::hooks;", vec![]),
            ("call/shell/words.rs", "use super::{super::{super::hooks, json}, glob};", vec!["hooks"]),
        ] {
            assert_eq!(used_module_names(path, text), expected, "{path}: {text}");
        }
    }
}
