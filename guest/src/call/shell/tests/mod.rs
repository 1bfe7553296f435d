//! A row per command: what it does, or that it cannot be known.
//!
//! The second column lists touches as `deed:path`, in any order, reads left out: `w` write, `W` write below, `m` make a
//! folder, `t` attributes, `d` delete, `D` delete with everything in it, `a` alias, `x` execute. `?` stands for one or more
//! unknowns.

mod grammar;
mod harmless;
mod hostile;
mod programs;
mod reach;

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{footprint, footprint_of_words};
use crate::call::effect::{Deed, Footprint};
use crate::ports::memory::Memory;

/// The workspace that the rows speak of.
pub(super) fn workspace() -> Rc<Memory> {
    let world = Memory::new();
    for path in [
        "src/auth/login.ts",
        "src/auth/a.ts",
        "src/billing/pay.ts",
        "tests/billing/pay.ts",
        "docs/auth.md",
        "README.md",
        ".env",
        "package.json",
    ] {
        world.write(path, "text\n");
    }
    world.mkdir(".git");
    world.write("fix.patch", "--- a/src/auth/a.ts\n+++ b/src/auth/a.ts\n@@ -1 +1 @@\n-a\n+b\n");
    world.symlink("../billing", "src/auth/lnk");
    world
}

fn letter(deed: Deed) -> Option<char> {
    Some(match deed {
        Deed::Read => return None,
        Deed::Write => 'w',
        Deed::WriteTree => 'W',
        Deed::MakeFolder => 'm',
        Deed::Touch => 't',
        Deed::Delete => 'd',
        Deed::DeleteTree => 'D',
        Deed::Alias => 'a',
        Deed::Execute => 'x',
    })
}

/// A footprint as the rows write it.
pub(super) fn spelled(footprint: &Footprint) -> BTreeSet<String> {
    let mut out: BTreeSet<String> =
        footprint.touches.iter().filter_map(|touch| Some(format!("{}:{}", letter(touch.deed)?, touch.path))).collect();
    if !footprint.unknowns.is_empty() {
        out.insert("?".to_owned());
    }
    out
}

/// Compares every row, and says all that differ.
pub(super) fn check(rows: &[(&str, &str)]) {
    let world = workspace();
    let mut wrong = Vec::new();
    for (command, expected) in rows {
        let found = footprint(command, "", &*world);
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        if spelled(&found) != expected {
            wrong.push(format!("{command}\n  expected {expected:?}\n  found    {:?} {:?}", spelled(&found), found.unknowns));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows differ\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn reasons_name_the_piece_in_backticks() {
    let world = workspace();
    for command in [
        "eval \"$X\"",
        "curl x | sh",
        "echo > \"$X/y\"",
        "echo 'x",
        "python -c 'x'",
        "$CMD a",
        "xargs rm",
        "(((((",
        "cd $X; rm y",
    ] {
        let found = footprint(command, "", &*world);
        assert!(!found.unknowns.is_empty(), "{command}");
        for why in &found.unknowns {
            assert_eq!(why.matches('`').count() % 2, 0, "{why}");
            assert!(why.contains('`'), "{why}");
            assert!(why.starts_with(|c: char| c == '`' || c.is_lowercase()), "{why}");
        }
    }
}

#[test]
fn the_calls_own_working_directory_counts() {
    let world = workspace();
    for (command, cwd, expected) in [
        ("echo x > pay.ts", "src/billing", "w:src/billing/pay.ts"),
        ("echo x > ../auth/a.ts", "src/billing", "w:src/billing/../auth/a.ts"),
        ("echo x > f", "/elsewhere", "w:/elsewhere/f"),
        ("echo x > /abs", "src", "w:/abs"),
        ("rm *.ts", "src/auth", "d:src/auth/a.ts d:src/auth/login.ts"),
        ("npm test", "src/auth", "x:src/auth/."),
        ("cd .. && touch new", "src/auth", "w:src/new"),
        ("cd - && touch new", "src/auth", "?"),
        ("touch $PWD/new", "src/auth", "w:src/auth/new"),
    ] {
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(spelled(&footprint(command, cwd, &*world)), expected, "{command}");
    }
}

#[test]
fn a_command_may_be_a_list() {
    let world = workspace();
    for (argv, expected) in [
        (vec!["bash", "-lc", "echo x > src/billing/pay.ts"], "w:src/billing/pay.ts"),
        (vec!["rm", "-rf", "src/*"], "D:src/*"),
        (vec!["echo", "x", ">", "y"], ""),
        (vec!["apply_something"], "x:."),
        (vec!["git", "commit", "-m", "rm -rf /"], "x:."),
        (vec!["sh", "-c", "rm $1", "sh", "a b"], "d:a d:b"),
        (vec!["sh", "-c", "rm \"$1\"", "sh", "a b"], "d:a\u{20}b"),
        (vec![], ""),
        (vec!["cat", "a;rm b"], ""),
    ] {
        let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
        let expected: BTreeSet<String> = expected.split([' ']).filter(|row| !row.is_empty()).map(str::to_owned).collect();
        let found: BTreeSet<String> = spelled(&footprint_of_words(&argv, "", &*world))
            .iter()
            .flat_map(|row| row.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        assert_eq!(found, expected, "{argv:?}");
    }
}
