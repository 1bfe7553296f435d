use std::rc::Rc;

use super::*;
use crate::call::shell;
use crate::config::confine::ConfineSettings;
use crate::ports::memory::{HOME, Memory};
use serde_json::json;

/// The grants of a command in a world, as `kind path`, with a sign for grants that are made (+) or widened (~); without devices
/// and the session's temporary folder.
fn granted(world: &Rc<Memory>, scope: &[&str], command: &str, capability: Capability) -> Vec<String> {
    let all = all(world, scope, command, capability, &json!({}));
    let shown = all.list.iter().filter(|grant| !grant.path.starts_with("/dev/") && !grant.path.starts_with("/tmp/tollgate-"));
    shown.map(show).collect()
}

fn show(grant: &Grant) -> String {
    let kind = if grant.kind == GrantKind::File { "file" } else { "tree" };
    let signs = format!("{}{}", if grant.make { "+" } else { "" }, if grant.widened { "~" } else { "" });
    format!("{kind}{signs} {}", grant.path)
}

fn all(world: &Rc<Memory>, scope: &[&str], command: &str, capability: Capability, settings: &serde_json::Value) -> Grants {
    let ports = world.ports();
    let mut guarded = GuardedFiles::default();
    guarded.look_up(&ports);
    let scope = Scope::compile(scope.iter().map(|&pattern| pattern.to_owned()).collect());
    let settings = Confinement::new(&ConfineSettings::parse(settings).unwrap(), &ConfineSettings::default());
    let footprint = shell::footprint(command, "", &*ports.workspace);
    grants(&Context {
        session: "s1",
        scope: Some(&scope),
        settings: &settings,
        guarded: &guarded,
        scratch: &[],
        footprint: &footprint,
        capability,
        ports: &ports,
    })
}

fn workspace() -> Rc<Memory> {
    let world = Memory::new();
    for path in [
        ".orchestration/active_intents.yaml",
        ".tollgate/config.json",
        ".git/HEAD",
        ".git/config",
        ".github/hooks/x.json",
        ".github/workflows/ci.yml",
        "README.md",
        "Cargo.toml",
        "src/auth/login.ts",
        "src/auth/deep/a.ts",
        "src/billing/pay.ts",
        "docs/auth.md",
        "docs/other.md",
        "docs/deep/c.md",
        "packages/a/src/x.ts",
        "packages/b/src/x.ts",
        "packages/c/lib/x.ts",
        "vendor/lib/.git/config",
        "vendor/lib/x.c",
        "target/debug/x",
        "dist/x.js",
    ] {
        world.write(path, path);
    }
    world.write(".gitignore", "/target\ndist/\n.env\n.claude/\n");
    world.symlink("../billing", "src/link");
    world.mkdir("/tmp");
    world
}

const BUILT: [&str; 2] = ["tree target", "tree dist"];

#[test]
fn scopes() {
    let world = workspace();
    for (scope, expected) in [
        (&["src/auth/**"][..], &["tree src/auth"][..]),
        (&["src/auth/"], &["tree src/auth"]),
        (&["src/auth/**", "src/auth/deep/**"], &["tree src/auth"]),
        (&["docs/auth.md"], &["tree~ docs"]),
        (&["docs/*.md"], &["tree~ docs"]),
        (&["src/**/*.ts"], &["tree~ src"]),
        (&["packages/*/src/**"], &["tree packages/a/src", "tree packages/b/src"]),
        (&["packages/*/src/x.ts"], &["tree~ packages/a/src", "tree~ packages/b/src"]),
        (&["**/src/**"], &["tree src", "tree packages/a/src", "tree packages/b/src"]),
        (&["{src/auth,docs}/**"], &["tree src/auth", "tree docs"]),
        // A folder that does not exist yet is made, and nothing else.
        (&["src/new/**"], &["tree+ src/new"]),
        (&["src/new/deep/a.ts"], &["tree+~ src/new/deep"]),
        // At the root only existing files, because control files are beside them.
        (&["README.md"], &["file README.md"]),
        (&["*.md"], &["file README.md"]),
        (&["NEW.md"], &[]),
        (&["**/*.md"], &["file README.md", "file docs/auth.md", "file docs/deep/c.md", "file docs/other.md"]),
        (&[".github/**"], &["tree .github/workflows"]),
        // A repository within the scope keeps its `.git` closed.
        (&["vendor/lib/**"], &["file vendor/lib/x.c"]),
        // Control files are never granted, not even if a pattern names them.
        (&[".orchestration/active_intents.yaml", ".tollgate/**", ".git/**", ".git/config"], &[]),
        // A link is judged by where it leads.
        (&["src/link/**", "src/link"], &[]),
        (&["README.md/**"], &[]),
        (&[], &[]),
    ] {
        let mut expected: Vec<String> = expected.iter().map(|&grant| grant.to_owned()).collect();
        expected.extend(BUILT.map(str::to_owned));
        let mut found = granted(&world, scope, "make", Capability::Trees);
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{scope:?}");
    }
    let mut found = granted(&world, &["**"], "make", Capability::Trees);
    found.sort();
    assert_eq!(
        found,
        [
            "file .gitignore",
            "file Cargo.toml",
            "file README.md",
            "tree .github/workflows",
            "tree dist",
            "tree docs",
            "tree packages",
            "tree src",
            "tree target",
            "tree vendor",
        ]
    );
}

#[test]
fn a_command_that_only_reads_creates_no_folders() {
    let world = workspace();
    assert_eq!(granted(&world, &["src/new/**"], "ls src | wc -l", Capability::Trees), BUILT);
}

#[test]
fn exceptions_where_the_system_can_make_them() {
    let world = workspace();
    let all = all(&world, &["**"], "make; git commit -m x", Capability::Exceptions, &json!({}));
    let root = all.list.iter().find(|grant| grant.path == ".").unwrap();
    for closed in [".orchestration", ".tollgate", ".git", ".github/hooks", ".claude/settings.json", "opencode.json"] {
        assert!(root.except.iter().any(|path| path == closed), "{closed}");
    }
    assert!(all.reaches("NEW.md") && all.opens("NEW.md") && !all.reaches(".tollgate/config.json"));
    assert!(all.reaches(".git/index.lock") && !all.reaches(".git/hooks/pre-commit") && !all.reaches(".git/config"));
}

#[test]
fn git_is_open_to_git_alone() {
    let world = workspace();
    let scope = ["src/auth/**"];
    for (command, open) in [
        ("git add -A && git commit -m 'x y'", true),
        ("cd src && git add .", true),
        ("rm src/auth/login.ts && git commit -am x", true),
        ("git status", false),
        ("npm test && git commit -am x", false),
        ("python3 x.py", false),
        ("eval \"$x\"; git add .", false),
        ("GIT_EDITOR=./x git commit", false),
        ("git -c core.hooksPath=src/auth commit -m x", false),
    ] {
        let all = all(&world, &scope, command, Capability::Trees, &json!({}));
        assert_eq!(all.list.iter().any(|grant| grant.path == ".git"), open, "{command}");
        assert_eq!(all.opens_repository(), open, "{command}");
    }
    let footprint = shell::footprint("npm test && git commit -am x", "", &*world);
    let all = all(&world, &scope, "npm test && git commit -am x", Capability::Trees, &json!({}));
    assert_eq!(missing_grant(&[], &footprint, &all), Some(MissingGrant::Git));
}

#[test]
fn a_work_tree_has_its_locks_elsewhere() {
    let world = Memory::new();
    world.write(".git", "gitdir: /repo/.git/worktrees/one\n");
    for path in ["worktrees/one/HEAD", "objects/x", "refs/heads/main", "logs/HEAD", "config", "hooks/pre-commit"] {
        world.write(&format!("/repo/.git/{path}"), "x");
    }
    let found = granted(&world, &["src/**"], "make; git push", Capability::Trees);
    assert_eq!(
        found,
        ["tree+ src", "tree /repo/.git/worktrees/one", "tree /repo/.git/objects", "tree /repo/.git/refs", "tree /repo/.git/logs"]
    );
    // Settings of the work tree itself name programs.
    world.write("/repo/.git/worktrees/one/config.worktree", "x");
    assert!(!granted(&world, &["src/**"], "git add .", Capability::Trees).iter().any(|grant| grant.contains("worktrees")));
}

#[test]
fn what_is_outside() {
    let world = workspace();
    world.write_home(".cache/pip/x", "x");
    world.write_home(".cargo/registry/x", "x");
    world.write_home(".cargo/.package-cache", "");
    world.write_home(".cargo/bin/cargo", "x");
    world.write_home(".claude/settings.json", "{}");
    world.write("/data/x", "x");
    let settings =
        json!({"writable": ["/data", "~/.claude", "~", "/", "/workspace/..", "gen/**", "/missing", "~/.cargo/bin/cargo"]});
    let all = all(&world, &["src/auth/**"], "cargo build && npm ci", Capability::Trees, &settings);
    let shown: Vec<String> = all.list.iter().map(show).collect();
    for expected in [
        "tree+ gen",
        "tree /data",
        "tree /home/user/.cache",
        "tree /home/user/.cargo/registry",
        "tree+ /home/user/.cargo/git",
        "tree+ /home/user/.npm",
        "file /home/user/.cargo/.package-cache",
        "file /home/user/.cargo/bin/cargo",
        "tree+ node_modules",
        "file /dev/null",
        "tree /dev/pts",
    ] {
        assert!(shown.iter().any(|grant| grant == expected), "{expected} in {shown:#?}");
    }
    let closed = ["tree /home/user", "tree /", "tree /home/user/.claude", "tree /home/user/go/pkg"];
    assert!(!shown.iter().any(|grant| closed.contains(&grant.as_str())), "{shown:#?}");
    assert_eq!(all.notes.len(), 4, "{:#?}", all.notes);
    let all = self::all(&world, &["src/auth/**"], "cargo build", Capability::Trees, &json!({"caches": false}));
    assert!(!all.list.iter().any(|grant| grant.path.starts_with(HOME)));
}

/// A git index, version 2, with these names.
fn git_index(names: &[&str]) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(2_u32.to_be_bytes());
    bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
    for name in names {
        let start = bytes.len();
        bytes.extend([0; 62]);
        bytes.extend(name.as_bytes());
        let length = (bytes.len() - start + 8) & !7;
        bytes.resize(start + length, 0);
    }
    bytes
}

#[test]
fn a_folder_is_not_opened_by_naming_it_in_gitignore() {
    let world = workspace();
    world.write(".gitignore", "/src\n/src/billing\ndist/\nlogs/\ntarget/\n");
    for path in ["dist/out.js", "logs/a.log", "target/x", "src/billing/pay.ts"] {
        world.write(path, "x");
    }
    let opened = |index: Vec<u8>| {
        world.write(".git/index", index);
        let all = all(&world, &[".gitignore"], "make", Capability::Trees, &json!({}));
        let trees = all.list.iter().filter(|grant| grant.why.contains("git ignores it"));
        let mut trees: Vec<String> = trees.map(|grant| grant.path.clone()).collect();
        trees.sort_unstable();
        trees
    };
    assert_eq!(opened(git_index(&["README.md", "src/billing/pay.ts"])), ["dist", "logs", "target"]);
    // Tracked files are someone's work, whatever the folder is called.
    assert_eq!(opened(git_index(&["dist/out.js", "src/billing/pay.ts"])), ["logs", "target"]);
    // If it is unknown what is tracked, only folders that tools are known to fill are opened.
    assert_eq!(opened(b"DIRC is not an index".to_vec()), ["dist", "target"]);
}

#[test]
fn an_agents_own_folder_in_the_cache_is_kept() {
    let world = workspace();
    world.write_home(".cache/pip/x", "x");
    world.write_home(".cache/opencode/node_modules/x", "x");
    let found = granted(&world, &[], "make", Capability::Trees);
    assert_eq!(found.iter().filter(|grant| grant.contains(".cache")).collect::<Vec<_>>(), ["tree /home/user/.cache/pip"]);
}

#[test]
fn files_that_a_command_makes() {
    let world = workspace();
    world.write("/tmp/there", "x");
    for (command, expected) in [
        ("npm test > out.txt", Some("file+ out.txt")),
        ("npm test > src/auth/out.txt", None),
        ("npm test > src/billing/out.txt", None),
        ("npm test > .git/out.txt", None),
        ("npm test > /tmp/out.txt", Some("file+ /tmp/out.txt")),
        ("npm test > /tmp/there", None),
        ("npm test > /tmp/deep/out.txt", None),
        ("npm test > /etc/out.txt", None),
    ] {
        let found = granted(&world, &["src/auth/**", "out.txt"], command, Capability::Trees);
        let made: Vec<&String> = found.iter().filter(|grant| grant.starts_with("file+")).collect();
        assert_eq!(made, expected.iter().collect::<Vec<_>>(), "{command}");
    }
}

#[test]
fn many_files_are_few_grants() {
    let world = workspace();
    (0..10_000).for_each(|n| world.write(&format!("src/auth/{}/{n}.ts", n % 100), ""));
    assert_eq!(granted(&world, &["src/auth/**"], "make", Capability::Trees).len(), 3);
    (0..2_000).for_each(|n| world.write(&format!("{n}.txt"), ""));
    let all = all(&world, &["**"], "make", Capability::Trees, &json!({}));
    assert!(all.list.len() <= 1_000 && all.notes.iter().any(|note| note.contains("only 1000")), "{:?}", all.notes);
    let patterns: Vec<String> = (0..600).map(|n| format!("p{n}/**")).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let all = self::all(&world, &patterns, "make", Capability::Trees, &json!({}));
    assert!(all.list.len() <= 600 && all.notes.iter().any(|note| note.contains("first 500")), "{:?}", all.notes);
}
