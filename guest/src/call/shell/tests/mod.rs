//! A row per command: what it does, or that this cannot be known.
//!
//! The second column lists touches as `access:path`, in any order, without reads: `w` write, `W` write below, `m` make a folder,
//! `t` attributes, `d` delete, `D` delete with everything in it, `a` alias, `x` execute. `?` stands for one or more unknowns, `!`
//! for one or more commands that only a person may run.

mod background;
mod language;
mod programs_files;
mod programs_git;
mod programs_tools;

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{footprint, footprint_of_words};
use crate::effects::{Access, Footprint};
use crate::ports::memory::Memory;

/// The workspace that the rows refer to.
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

fn letter(access: Access) -> Option<char> {
    Some(match access {
        Access::Read => return None,
        Access::Write => 'w',
        Access::WriteTree => 'W',
        Access::MakeFolder => 'm',
        Access::Attributes => 't',
        Access::Delete => 'd',
        Access::DeleteTree => 'D',
        Access::Alias => 'a',
        Access::Execute => 'x',
    })
}

/// A footprint in the notation of the rows.
pub(super) fn spelled(footprint: &Footprint) -> BTreeSet<String> {
    let mut out: BTreeSet<String> =
        footprint.touches.iter().filter_map(|touch| Some(format!("{}:{}", letter(touch.access)?, touch.path))).collect();
    if !footprint.unknowns.is_empty() {
        out.insert("?".to_owned());
    }
    if !footprint.controls.is_empty() {
        out.insert("!".to_owned());
    }
    out
}

/// Compares rows of the table of programs, whose commands are words separated by blanks, without a shell.
pub(super) fn check_words(rows: &[(&str, &str)]) {
    let world = workspace();
    let mut wrong = Vec::new();
    for (command, expected) in rows {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let found = footprint_of_words(&argv, "", &*world);
        let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        if spelled(&found) != expected {
            wrong.push(format!("{command}\n  expected {expected:?}\n  found    {:?} {:?}", spelled(&found), found.unknowns));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows differ\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Compares all rows, and reports all that differ.
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
