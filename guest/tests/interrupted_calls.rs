//! Calls whose end the gate never learns, or on which it fails: what they changed is entered all the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod house;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use house::{House, UNKNOWN, entered, expect, shared, write};
use serde_json::json;
use tollgate_guest::engine::Input;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{Facts, FileFault, Listing, ListingLimits, Question, Root, Tail, Workspace};

/// Three hundred calls that nobody ever settled are forgotten after a day, and the journals of their leases after an hour.
#[test]
fn what_dead_sessions_left_is_cleared_away() {
    let mut house = shared();
    for number in 0..300 {
        house.call("pre-tool", ("s", &number.to_string()), "write", write(&format!("src/auth/{number}")));
    }
    let left = |house: &House, folder: &str| house.world.count(&format!("{STATE}/{folder}"));
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!((left(&house, "calls"), left(&house, "leases")), (300, 300));
    house.world.pass(3_600_000);
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!((left(&house, "calls"), left(&house, "leases")), (300, 0));
    house.world.pass(86_400_000);
    house.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!(left(&house, "calls"), 0);
}

/// A workspace that fails the gate in the middle of its work, as a trap does.
struct Trapping {
    world: Rc<Memory>,
    traps: Cell<bool>,
}

impl Workspace for Trapping {
    fn inspect(&self, questions: &[Question]) -> Vec<Facts> {
        assert!(!self.traps.get() || questions.iter().all(|question| !question.digest), "trap");
        self.world.inspect(questions)
    }

    fn read(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.world.read(root, path, limit_bytes)
    }

    fn read_range(&self, root: Root, path: &str, offset: u64, limit_bytes: u64) -> Result<Vec<u8>, FileFault> {
        self.world.read_range(root, path, offset, limit_bytes)
    }

    fn read_tail(&self, root: Root, path: &str, limit_bytes: u64) -> Result<Tail, FileFault> {
        self.world.read_tail(root, path, limit_bytes)
    }

    fn list(&self, root: Root, directory: &str, reach: &ListingLimits) -> Result<Listing, FileFault> {
        self.world.list(root, directory, reach)
    }
}

/// Settles a call with a gate that traps when it looks at what changed.
fn settle_and_trap(house: &mut House, call: &str, path: &str) {
    let trapping = Rc::new(Trapping { world: house.world.clone(), traps: Cell::new(true) });
    let mut ports = house.world.ports();
    ports.workspace = trapping;
    let op = json!({"op": "post-tool", "session": "s", "call": call, "tool": "write", "args": write(path), "success": true});
    let mut gate = Gate::new(ports);
    let trapped = catch_unwind(AssertUnwindSafe(|| perform(&mut gate, op.to_string().as_bytes())));
    assert!(trapped.is_err());
    house.restart();
}

/// A gate that fails after a tool loses nothing: what it left is entered when the next call has ended.
#[test]
fn what_a_trap_left_is_entered_by_the_next_call() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "new");
    settle_and_trap(&mut house, "1", "src/auth/a.ts");
    assert_eq!(entered(&house), []);
    // Whoever began may still be at it.
    house.call("pre-tool", ("t", "2"), "write", write("src/auth/b.ts"));
    house.world.write("src/auth/b.ts", "new");
    house.call("post-tool", ("t", "2"), "write", write("src/auth/b.ts"));
    assert_eq!(entered(&house).len(), 1);
    house.world.pass(10_000);
    house.call("pre-tool", ("t", "3"), "write", write("src/auth/b.ts"));
    house.world.write("src/auth/b.ts", "newer");
    house.call("post-tool", ("t", "3"), "write", write("src/auth/b.ts"));
    let entries = entered(&house);
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert_eq!(entries[2], (json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS")));
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 0);
    // A host that tells once more has nothing to add.
    assert_eq!(house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"))["entries"], json!([]));
}

/// A call on which the gate fails every time does not keep the others from being entered.
#[test]
fn a_call_that_traps_again_and_again_is_given_up() {
    let mut house = shared();
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    house.world.write("src/auth/a.ts", "new");
    for _ in 0..3 {
        settle_and_trap(&mut house, "1", "src/auth/a.ts");
        house.world.pass(10_000);
    }
    let settled = house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert!(settled["notice"].as_str().unwrap().contains("the gate failed 3 times"), "{settled}");
    let entries = entered(&house);
    assert_eq!((entries.len(), &entries[0].0, &entries[0].3), (1, &json!(null), &json!("FAIL")));
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 0);
}

/// When a session ends, nobody will tell any more how its calls did.
#[test]
fn a_session_that_ends_leaves_nothing_unentered() {
    let mut house = shared();
    for (session, call, path) in [("s", "1", "src/auth/a.ts"), ("s", "2", "src/auth/new.ts"), ("t", "3", "src/auth/b.ts")] {
        expect(&house.call("pre-tool", (session, call), "write", write(path)), "allow", "in_scope");
    }
    house.world.write("src/auth/a.ts", "new");
    house.world.write("src/auth/b.ts", "new");
    house.restart();
    let input = json!({"type": "event", "event": "session_end", "session": "s", "data": {}});
    house.gate.step(0, &[Input::from_json(&input)]);
    assert_eq!(entered(&house), [(json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS"))]);
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 1, "the other session is still at work");
}

/// What a program changed that nobody told the end of is found by the snapshot, as it always is.
#[test]
fn a_program_whose_end_nobody_told_is_looked_after() {
    let mut house = shared();
    expect(&house.call("pre-tool", ("s", "1"), "bash", json!({"command": "npm test"})), "allow", "in_scope");
    house.world.write("README.md", "changed");
    house.restart();
    house.ask(json!({"op": "event", "event": "session_end", "session": "s", "data": {}}));
    let entries = entered(&house);
    assert_eq!((entries.len(), &entries[0].0, &entries[0].3), (1, &json!("README.md"), &json!("FAIL")));
}
