//! How often a check asks the host: crossings cost more than anything else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::ports::{Facts, FileFault, Listing, ListingLimits, Question, Root, Tail, Workspace};

/// A workspace that counts what it is asked.
struct Counted {
    world: Rc<Memory>,
    asked: RefCell<Vec<&'static str>>,
    listed: RefCell<Vec<String>>,
    /// How often links were followed, not hashed.
    followed: Cell<usize>,
}

impl Counted {
    fn count(&self, what: &'static str) {
        self.asked.borrow_mut().push(what);
    }
}

impl Workspace for Counted {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        self.count("inspect");
        if questions.iter().any(|question| question.path.starts_with("src/links/") && !question.digest) {
            self.followed.set(self.followed.get() + 1);
        }
        self.world.inspect(questions)
    }

    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.count("read");
        self.world.read(root, path, limit_bytes)
    }

    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.count("read_range");
        self.world.read_range(root, path, offset, limit_bytes)
    }

    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        self.count("read_tail");
        self.world.read_tail(root, path, limit_bytes)
    }

    fn list(&self, root: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault> {
        self.count("list");
        self.listed.borrow_mut().push(directory.to_owned());
        self.world.list(root, directory, reach)
    }
}

/// A second call of each kind, with everything that can be kept in memory.
#[test]
fn a_call_crosses_as_often_as_it_must() {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    world.write(".tollgate/config.json", r#"{"unknown": "deny"}"#);
    world.write("src/a", "a");
    world.write("src/b", "b");
    let counted = Rc::new(Counted {
        world: world.clone(),
        asked: RefCell::default(),
        listed: RefCell::default(),
        followed: Cell::default(),
    });
    let mut ports = world.ports();
    ports.workspace = counted.clone();
    let mut gate = Gate::new(ports);
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"I"}"#);
    for (call, expected) in [
        // Look at everything; read what the session saw and who holds the file; look again, now that nobody else may write;
        // read what stands there.
        (r#""tool":"write","args":{"filePath":"src/a"}"#, &["inspect", "read", "read", "inspect", "read"][..]),
        // Look at everything; hash what is read.
        (r#""tool":"read","args":{"filePath":"src/a"}"#, &["inspect", "inspect"]),
        // Look whether the user trusts the server; look at everything.
        (r#""tool":"mcp__x__y","args":{}"#, &["inspect", "inspect"]),
        // The same, and whether Claude Code may call it unasked. What is no server's, nobody looks up.
        (r#""tool":"mcp__x__y","args":{},"host":"claude-code""#, &["inspect", "inspect", "inspect"]),
        (r#""tool":"frobnicate","args":{}"#, &["inspect"]),
        (
            r#""tool":"apply_patch","args":{"patchText":"*** Begin Patch\n*** Delete File: src/a\n*** Delete File: src/b\n*** End Patch"}"#,
            &["inspect", "read", "read", "read", "inspect"],
        ),
        (r#""tool":"Delete","args":{"path":"src"}"#, &["inspect", "list", "read", "read", "read", "inspect"]),
    ] {
        let line = format!(r#"{{"op":"pre-tool","session":"s","call":"c",{call}}}"#);
        perform(&mut gate, line.as_bytes());
        counted.asked.borrow_mut().clear();
        perform(&mut gate, line.as_bytes());
        assert_eq!(*counted.asked.borrow(), expected, "{call}");
    }
}

/// Without a folder of extensions nothing is read or listed for them; with a hundred of them, each manifest is read once, and a call
/// asks two questions more.
#[test]
fn extensions_are_read_once() {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    world.write_home(".tollgate/config.json", r#"{"extensions": {"autoEnable": true}}"#);
    world.write("src/a", "a");
    let counted = Rc::new(Counted {
        world: world.clone(),
        asked: RefCell::default(),
        listed: RefCell::default(),
        followed: Cell::default(),
    });
    let mut ports = world.ports();
    ports.workspace = counted.clone();
    let mut gate = Gate::new(ports);
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"I"}"#);
    let asked = |gate: &mut Gate| {
        counted.asked.borrow_mut().clear();
        perform(gate, br#"{"op":"pre-tool","session":"s","call":"c","tool":"read","args":{"filePath":"src/a"}}"#);
        let asked = counted.asked.borrow();
        ["inspect", "list", "read"].map(|what| asked.iter().filter(|other| **other == what).count())
    };
    asked(&mut gate);
    assert_eq!(asked(&mut gate), [2, 0, 0], "there are none");
    for at in 0..100 {
        let skills: Vec<_> =
            (0..10).map(|skill| serde_json::json!({"name": format!("s{skill}"), "description": "d", "prompt": "p"})).collect();
        let hooks = serde_json::json!([{"name": "h", "event": "after_agent", "prompt": "p"}]);
        let manifest = serde_json::json!({"name": format!("e{at}"), "version": "1", "skills": skills, "hooks": hooks});
        world.write_home(&format!(".tollgate/extensions/e{at}/manifest.json"), manifest.to_string());
    }
    let [_, listed, read] = asked(&mut gate);
    // The user's settings are read for them as well.
    assert_eq!((listed, read), (1, 101), "all are found");
    assert_eq!(asked(&mut gate), [3, 1, 0], "and kept");
    world.write_home(".tollgate/extensions/e7/manifest.json", r#"{"name": "e7", "version": "2"}"#);
    assert_eq!(asked(&mut gate)[2], 1, "what has changed is read again, alone");
}

/// A tree is listed once, however much is in it and however often it is written to, and its links are followed all at once.
#[test]
fn a_tree_is_listed_once() {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    for number in 0..10_000 {
        world.write(&format!("src/{}/{number}", number % 100), "x");
    }
    for number in 0..100 {
        world.symlink("../1/1", &format!("src/links/{number}"));
    }
    world.write("new/x", "x");
    let counted = Rc::new(Counted {
        world: world.clone(),
        asked: RefCell::default(),
        listed: RefCell::default(),
        followed: Cell::default(),
    });
    let mut ports = world.ports();
    ports.workspace = counted.clone();
    let mut gate = Gate::new(ports);
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"I"}"#);
    for (command, listed, verdict) in [
        ("echo x > src/1/1", 0, "allow"),
        ("rm src/1/1", 0, "allow"),
        ("chmod u+x src/1", 0, "allow"),
        ("mv src/1/1 src/1/1b", 0, "allow"),
        ("tar xf x.tar -C src", 1, "allow"),
        ("rm -rf src/2; tar xf x.tar -C src/1; tar xf z.tar -C src/3; tar xf y.tar -C src", 1, "allow"),
        ("mv src/1 src/one", 1, "allow"),
        ("tar xf x.tar -C new", 0, "deny"),
    ] {
        let call =
            serde_json::json!({"op": "pre-tool", "session": "s", "call": "c", "tool": "bash", "args": {"command": command}});
        counted.listed.borrow_mut().clear();
        let answer = perform(&mut gate, call.to_string().as_bytes());
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["verdict"], verdict, "{command}: {answer}");
        let trees: Vec<String> = counted.listed.borrow().iter().filter(|folder| folder.starts_with("src")).cloned().collect();
        assert_eq!(trees.len(), listed, "{command}: {trees:?}");
        assert!(counted.followed.take() <= 1, "{command}");
    }
}

/// Settings that stop parsing leave the last good ones in force, and say so; without the file there are none.
#[test]
fn settings_change_between_calls() {
    let world = Memory::new();
    world.write(".orchestration/active_intents.yaml", "[{id: I, name: I, status: IN_PROGRESS, owned_scope: ['src/**']}]");
    let mut gate = Gate::new(world.ports());
    perform(&mut gate, br#"{"op":"select-intent","session":"s","intent":"I"}"#);
    let mut verdict = || {
        let answer = perform(&mut gate, br#"{"op":"pre-tool","session":"s","call":"c","tool":"mcp__x__y","args":{}}"#);
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(), "ask");
    world.write(".tollgate/config.json", r#"{"unknown": "deny"}"#);
    assert_eq!(verdict(), "deny");
    world.write(".tollgate/config.json", "{\n\"unknown\": }");
    assert_eq!(verdict(), "deny");
    assert!(world.logged().iter().any(|(_, line)| line.contains("`.tollgate/config.json`") && line.contains("line 2")));
    world.delete(".tollgate/config.json");
    assert_eq!(verdict(), "ask");
}
