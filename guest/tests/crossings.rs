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
