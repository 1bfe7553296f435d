use super::*;

fn real(world: &Memory, path: &str) -> Option<String> {
    world.inspect(&[Question::project(path)]).pop().unwrap().real_path
}

#[test]
fn links_are_walked_as_the_kernel_would() {
    let world = Memory::new();
    world.write("src/billing/sub/x", "");
    world.symlink("../billing/sub", "src/auth/lnk");
    world.symlink("/workspace/src/billing", "abs");
    world.symlink("loop", "loop");
    world.symlink("../new/file", "src/dangling");
    for (path, expected) in [
        ("src/auth/lnk/x", Some("src/billing/sub/x")),
        ("src/auth/lnk/../y", Some("src/billing/y")),
        ("abs/y", Some("src/billing/y")),
        ("loop", None),
        ("loop/x", None),
        ("src/dangling", Some("new/file")),
        ("src/billing/sub/x/y", None),
        ("..", Some("/")),
        ("../other", Some("/other")),
        (".", Some(".")),
        ("/workspace", Some(".")),
        ("/workspace-evil/x", Some("/workspace-evil/x")),
    ] {
        assert_eq!(real(&world, path).as_deref(), expected, "{path}");
    }
    let facts = world.inspect(&[Question::project("src/dangling")]).pop().unwrap();
    assert_eq!(facts.entry_path.as_deref(), Some("src/dangling"));
}

#[test]
fn links_say_what_is_written_in_them() {
    let world = Memory::new();
    world.write("a", "");
    world.hardlink("a", "d/b");
    world.symlink("../a", "d/l");
    world.symlink("loop", "loop");
    let link = |path: &str| world.inspect(&[Question::project(path)]).pop().unwrap().link;
    assert_eq!(["d/l", "loop", "a", "d/none"].map(link), [Some("../a".to_owned()), Some("loop".to_owned()), None, None]);
    let listing = world.list(Root::Project, "d", &ListingLimits { depth: 1, limit: 9, skip: Vec::new() }).unwrap();
    let told = |entry: &DirEntry| (entry.path.clone(), entry.link.clone(), entry.hard_links);
    let told: Vec<_> = listing.entries.iter().map(told).collect();
    assert_eq!(told, [("b".to_owned(), None, 2), ("l".to_owned(), Some("../a".to_owned()), 1)]);
}

#[test]
fn only_the_gates_own_folders_can_be_written() {
    let world = Memory::new();
    world.symlink("../src", ".tollgate/out");
    let write = |path| world.replace(Root::Project, path, b"x", Expectation::Anything);
    assert_eq!(write(".tollgate/a"), Ok(()));
    assert_eq!(write("src/a"), Err(FileFault::Denied));
    assert_eq!(write(".tollgate/../src/a"), Err(FileFault::Denied));
    assert_eq!(write(".tollgate/out/a"), Err(FileFault::Denied));
}
