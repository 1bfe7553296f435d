//! How often a check asks the host: crossings cost more than anything else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::cell::RefCell;
use std::rc::Rc;

use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::Memory;
use tollgate_guest::ports::{Facts, FileFault, Listing, Question, Reach, Root, Tail, Workspace};

/// A workspace that counts what it is asked.
struct Counted {
    world: Rc<Memory>,
    asked: RefCell<Vec<&'static str>>,
}

impl Counted {
    fn count(&self, what: &'static str) {
        self.asked.borrow_mut().push(what);
    }
}

impl Workspace for Counted {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        self.count("inspect");
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

    fn list(&self, root: Root, directory: &str, reach: &Reach) -> Result<Listing, FileFault> {
        self.count("list");
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
    let counted = Rc::new(Counted { world: world.clone(), asked: RefCell::default() });
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
        (r#""tool":"mcp__x__y","args":{}"#, &["inspect"]),
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
