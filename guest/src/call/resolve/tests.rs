//! Footprints of all kinds, resolved with an in-memory host.

use super::*;
use crate::effects::Origin;
use crate::intents::scope::{Reach, Scope};
use crate::ports::memory::Memory;
use crate::ports::{FileFault, Listing, Tail};
use serde_json::Value;

fn call() -> ToolCall {
    ToolCall {
        session: "s".to_owned(),
        agent: None,
        call: "c".to_owned(),
        host: None,
        tool: "bash".to_owned(),
        server: None,
        args: Value::Null,
        cwd: None,
    }
}

/// The result of a footprint under an intent that owns `own/**`: the ways out with what leads there, and the unknowns.
fn escapes(workspace: &dyn Workspace, footprint: &Footprint) -> (Vec<String>, Vec<String>) {
    let scope = Scope::compile(vec!["own/**".to_owned()]);
    let owns = |path: &WorkspacePath, extent: Extent| scope.reach_of(path, extent) == Reach::Within;
    let facts = workspace.inspect(&footprint.touches.iter().map(question).collect::<Vec<_>>());
    let effects = effects(&call(), footprint, &facts, workspace, &owns).unwrap();
    let shown = |effect: &Effect| format!("{} -> {}", effect.via.as_deref().unwrap_or("?"), effect.location.as_str());
    let out = |effect: &&Effect| match &effect.location {
        Location::Inside(path) => effect.mutates() && !owns(path, effect.extent),
        Location::Outside(_) => effect.mutates(),
    };
    (effects.known.iter().filter(out).map(shown).collect(), effects.unknowns)
}

fn touch(path: &str, access: Access) -> Footprint {
    let mut footprint = Footprint::default();
    footprint.touch(path, access);
    footprint
}

/// A workspace that hides something.
struct Closed<'a>(&'a Memory);

impl Workspace for Closed<'_> {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        self.0.inspect(questions)
    }
    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.0.read(root, path, limit_bytes)
    }
    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.0.read_range(root, path, offset, limit_bytes)
    }
    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        self.0.read_tail(root, path, limit_bytes)
    }
    fn list(&self, root: Root, directory: &str, reach: &crate::ports::ListingLimits) -> Result<Listing, FileFault> {
        let listing = self.0.list(root, directory, reach)?;
        Ok(Listing { unseen: Some("closed/".to_owned()), ..listing })
    }
}

#[test]
fn what_cannot_be_seen_is_a_doubt_only_where_something_may_be_written_through_it() {
    let world = Memory::new();
    world.write("own/a", "x");
    let closed = Closed(&world);
    for (access, expected) in [
        (Access::WriteTree, Some("`own/closed/` cannot be inspected, and a link in it may lead anywhere")),
        (Access::DeleteTree, None),
        (Access::Attributes, None),
        (Access::MakeFolder, None),
    ] {
        let (out, doubts) = escapes(&closed, &touch("own", access));
        assert_eq!(doubts.first().map(String::as_str), expected, "{access:?}");
        assert!(out.is_empty(), "{access:?}: {out:?}");
    }
}

#[test]
fn a_tree_that_is_too_large_is_a_doubt() {
    let world = Memory::new();
    for number in 0..50_001 {
        world.write(&format!("own/{number}"), "");
    }
    let (out, doubts) = escapes(&*world, &touch("own", Access::WriteTree));
    assert_eq!(doubts, ["there is more in `own` than can be searched, and a link in it may lead anywhere"]);
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(escapes(&*world, &touch("own", Access::DeleteTree)), (Vec::new(), Vec::new()));
}

#[test]
fn a_tree_that_is_too_deep_is_a_doubt() {
    let world = Memory::new();
    world.mkdir(&format!("own{}", "/d".repeat(70)));
    let (_, doubts) = escapes(&*world, &touch("own", Access::WriteTree));
    assert!(doubts.first().is_some_and(|why| why.contains("nested too deeply")), "{doubts:?}");
}

#[test]
fn many_ways_out_are_a_few() {
    let world = Memory::new();
    for number in 0..1_000 {
        world.symlink(&format!("../other/{number}"), &format!("own/{number}"));
    }
    let (out, doubts) = escapes(&*world, &touch("own", Access::WriteTree));
    assert_eq!((out.len(), doubts.len()), (100, 0));
    assert_eq!(out.first().map(String::as_str), Some("own/0 -> other/0"));
}

#[test]
fn folders_that_links_lead_to_are_searched_up_to_a_number() {
    let world = Memory::new();
    let scope: Vec<String> = (0..30).map(|number| format!("own{number}/**")).chain(["own/**".to_owned()]).collect();
    for number in 0..30 {
        world.write(&format!("own{number}/x"), "");
        world.symlink(&format!("../own{number}"), &format!("own/{number:02}"));
    }
    let scope = Scope::compile(scope);
    let owns = |path: &WorkspacePath, extent: Extent| scope.reach_of(path, extent) == Reach::Within;
    let footprint = touch("own", Access::WriteTree);
    let facts = world.inspect(&[question(footprint.touches.first().unwrap())]);
    let effects = effects(&call(), &footprint, &facts, &*world, &owns).unwrap();
    assert_eq!(effects.unknowns, ["the links in `own` lead to more folders than can be searched"]);
}

/// Every access that changes a file changes it under all its names; removing one of the names does not.
#[test]
fn all_names_of_a_file() {
    let world = Memory::new();
    world.write("other/f", "x");
    world.hardlink("other/f", "own/f");
    for (access, expected) in [
        (Access::Write, &["? -> other/f"][..]),
        (Access::WriteTree, &["? -> other/f"]),
        (Access::Attributes, &["? -> other/f"]),
        (Access::Alias, &["? -> other/f"]),
        (Access::Delete, &[]),
        (Access::DeleteTree, &[]),
        (Access::Read, &[]),
    ] {
        let (out, doubts) = escapes(&*world, &touch("own/f", access));
        assert_eq!((out.as_slice(), doubts.len()), (expected.map_owned().as_slice(), 0), "{access:?}");
    }
    let (out, _) = escapes(&*world, &touch("own", Access::WriteTree));
    assert_eq!(out, ["own/f -> other/f"]);
}

trait MapOwned {
    fn map_owned(&self) -> Vec<String>;
}

impl MapOwned for [&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

/// What is put where, what is written in addition, where that leads, and whether something is unknown.
#[test]
fn placements() {
    let world = Memory::new();
    world.mkdir("own/other");
    world.symlink("../other", "own/sub/l");
    world.symlink("loop", "own/loop");
    world.write("own/plain/x", "x");
    world.write("/elsewhere/tree/x", "x");
    let link = |text: &str| Origin::Link(text.to_owned());
    let same = |path: &str| Origin::Same(path.to_owned());
    let copy = |path: &str| Origin::Copy(path.to_owned());
    for (placements, also, out, doubtful) in [
        (vec![("own/l", link("../other"))], "", &["own/l -> other"][..], false),
        (vec![("own/l", link("other"))], "", &[], false),
        (vec![("own/l", link("/etc/passwd"))], "", &["own/l -> /etc/passwd"], false),
        (vec![("own/zz", same("own/sub/l"))], "", &["own/zz -> other"], false),
        (vec![("own/zz", copy("own/sub/l"))], "", &["own/zz -> other"], false),
        (vec![("own/x/zz", same("own/sub/l"))], "", &[], false),
        (vec![("own/moved", same("own/sub"))], "", &[], false),
        (vec![("own/a/moved", same("own/sub"))], "", &[], false),
        (vec![("own/zz", same("own/loop"))], "", &[], true),
        (vec![("own/zz", same("own/plain"))], "own/zz/x", &[], false),
        (vec![("own/zz", copy("/elsewhere/tree"))], "", &[], false),
        (vec![("own/zz", copy("/elsewhere/tree"))], "own/zz/x", &[], true),
        (vec![("own/a/l", link("../other")), ("own/b", same("own/a/l"))], "", &["own/b -> other"], false),
        (vec![("own/a/l", link("other")), ("own/b", same("own/a"))], "own/b/l/x", &[], true),
        (vec![("own/a", link("other")), ("own/b", same("own/a/x"))], "", &[], true),
        (vec![("own/a", link("b")), ("own/b", link("a"))], "", &[], false),
        (vec![("own/a", same("own/b")), ("own/b", same("own/a"))], "", &[], false),
        (vec![("own/l", link("other"))], "own/l/x", &[], true),
        (vec![("own/l", link("other"))], "own/l", &[], false),
        (vec![("own/l", link("other"))], "own/l/../x", &[], true),
        // What is not owned is denied because of its own touch.
        (vec![("other/l", link("../own"))], "", &[], false),
    ] {
        let mut footprint = Footprint::default();
        if !also.is_empty() {
            footprint.touch(also, Access::Write);
        }
        for (at, origin) in placements {
            footprint.place(at, origin);
        }
        let (found, doubts) = escapes(&*world, &footprint);
        assert_eq!((found.as_slice(), !doubts.is_empty()), (out.map_owned().as_slice(), doubtful), "{footprint:?} {doubts:?}");
    }
}

/// If a folder with a link in it is copied into itself, the link would appear again and again, one folder deeper each time.
#[test]
fn a_folder_that_is_copied_into_itself_has_an_end() {
    let world = Memory::new();
    world.write("own/a", "x");
    world.symlink("a", "own/l");
    let mut footprint = touch("own/deep", Access::WriteTree);
    footprint.place("own/deep", Origin::Copy("own".to_owned()));
    let (_, doubts) = escapes(&*world, &footprint);
    assert!(doubts.iter().any(|doubt| doubt.contains("more links than can be followed")), "{doubts:?}");
}
