//! Calls whose end the gate never learns of, or on which it fails: what they changed is entered all the same.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::house::{House, LEDGER, UNKNOWN, entered, expect, shared, write};
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

/// A session that selects nothing clears them away when it takes the only open intent by itself.
#[test]
fn what_dead_sessions_left_is_cleared_away_where_sessions_take_an_intent_by_themselves() {
    const INTENT: &str = "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]";
    let mut house = House::with(INTENT, &[(".tollgate/config.json", r#"{"select": "single"}"#)], &[]);
    for number in 0..300 {
        let path = format!("src/auth/{number}");
        expect(&house.call("pre-tool", ("s", &number.to_string()), "write", write(&path)), "allow", "in_scope");
    }
    let leases = |house: &House| house.world.count(&format!("{STATE}/leases"));
    house.world.pass(3_600_001);
    house.call("pre-tool", ("s", "again"), "read", json!({"filePath": "src/auth/0"}));
    assert_eq!(leases(&house), 300, "the session has its intent");
    house.call("pre-tool", ("t", "first"), "read", json!({"filePath": "src/auth/0"}));
    assert_eq!(leases(&house), 0);
}

/// Sessions that take an intent by themselves never select one, which is when long journals of calls are cut down otherwise.
#[test]
fn long_journals_are_cut_down_where_sessions_take_an_intent_by_themselves() {
    const INTENT: &str = "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]";
    let mut house = House::with(INTENT, &[(".tollgate/config.json", r#"{"select": "single"}"#)], &[]);
    let journal = format!("{STATE}/rulings/long.json");
    house.world.write(&journal, "{}\n".repeat(1 << 20));
    house.world.pass(60_000);
    house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert!(house.world.content(&journal).unwrap().len() < 1 << 20);
}

/// Two processes are told of one call, as happens with hosts that run each other's hooks, and one of the two could not save it.
#[test]
fn a_call_that_another_process_could_save_is_settled_once() {
    for ours_is_first in [true, false] {
        let mut house = shared();
        let mut other = House::over(house.world.clone());
        house.world.refuse_writes(Some(FileFault::Full));
        expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
        house.world.refuse_writes(None);
        expect(&other.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
        house.world.write("src/auth/a.ts", "new");
        let mut both = [&mut house, &mut other];
        if !ours_is_first {
            both.reverse();
        }
        let settled = both.map(|house| house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts")));
        let entries: usize = settled.iter().map(|settled| settled["entries"].as_array().unwrap().len()).sum();
        assert_eq!((entries, entered(&house).len()), (1, 1), "ours is first: {ours_is_first}");
    }
}

/// An earlier call with the same id, settled by another process, is not taken for one that could not be saved.
#[test]
fn a_call_that_could_not_be_saved_is_settled_though_its_id_was_used_before() {
    let mut house = shared();
    let mut other = House::over(house.world.clone());
    expect(&other.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.world.write("src/auth/a.ts", "new");
    other.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    house.world.pass(1_000);
    house.world.refuse_writes(Some(FileFault::Full));
    expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/b.ts")), "ask", "gate_fault");
    house.world.refuse_writes(None);
    house.world.write("src/auth/b.ts", "new");
    house.call("post-tool", ("s", "1"), "write", write("src/auth/b.ts"));
    let paths: Vec<_> = entered(&house).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["src/auth/a.ts", "src/auth/b.ts"]);
}

/// The state and the ledger may be on different disks: what one process could neither save nor enter at first is entered once the
/// ledger can be written.
#[test]
fn a_call_that_could_neither_be_saved_nor_entered_is_entered_when_it_is_reported_again() {
    let mut house = shared();
    house.world.refuse_writes(Some(FileFault::Full));
    expect(&house.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    house.world.refuse_writes(None);
    house.world.write("src/auth/a.ts", "new");
    let folder = format!("{LEDGER}/file");
    house.world.write(&folder, "");
    let settled = house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(settled["entries"], json!([]), "{settled}");
    house.gate.retry_ledger();
    assert_eq!(house.gate.retry_due_in(), None);
    house.world.delete(&folder);
    house.world.delete(LEDGER);
    house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&house).len(), 1);
    house.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&house).len(), 1);
}

/// A full disk is reported once, not once for every call that it concerns.
#[test]
fn a_fault_that_several_calls_meet_is_told_once() {
    let mut house = shared();
    for name in ["x", "y", "z"] {
        let path = format!("src/auth/{name}");
        house.call("pre-tool", ("s", name), "write", write(&path));
        house.world.write(&path, "new");
    }
    house.world.refuse_writes(Some(FileFault::Full));
    house.restart();
    let said = house.event("session_end", "s");
    assert_eq!(said.matches("cannot be written").count(), 1, "{said}");
    house.world.refuse_writes(None);
    house.restart();
    house.event("session_end", "s");
    assert_eq!(entered(&house).len(), 3);
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

/// Settles a call with a gate that traps when it inspects what changed.
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
    // Whoever began to settle it may still be doing so.
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
    // A host that reports the call once more has nothing to add.
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

/// When a session ends, nobody will report any more how its calls ended.
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

/// The changes of a program whose end nobody reported are found by the snapshot, as always.
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
