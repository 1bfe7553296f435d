//! Calls whose end the gate never learns of, or on which it fails: what they changed is entered all the same.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::project::{LEDGER, Project, UNKNOWN, entered, expect, shared, write};
use serde_json::json;
use tollgate_guest::engine::Input;
use tollgate_guest::gate::Gate;
use tollgate_guest::operations::perform;
use tollgate_guest::ports::memory::{Memory, STATE};
use tollgate_guest::ports::{Facts, FileFault, Listing, ListingLimits, Question, Root, Tail, Workspace};

/// Three hundred calls that nobody ever settled are forgotten after a day, and the journals of their leases after an hour.
#[test]
fn what_dead_sessions_left_is_cleared_away() {
    let mut project = shared();
    for number in 0..300 {
        project.call("pre-tool", ("s", &number.to_string()), "write", write(&format!("src/auth/{number}")));
    }
    let left = |project: &Project, folder: &str| project.world.count(&format!("{STATE}/{folder}"));
    project.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!((left(&project, "calls"), left(&project, "leases")), (300, 300));
    project.world.pass(3_600_000);
    project.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!((left(&project, "calls"), left(&project, "leases")), (300, 0));
    project.world.pass(86_400_000);
    project.ask(json!({"op": "select-intent", "session": "t", "intent": "LOGIN"}));
    assert_eq!(left(&project, "calls"), 0);
}

/// A session that selects nothing clears them away when it takes the only open intent by itself.
#[test]
fn what_dead_sessions_left_is_cleared_away_where_sessions_take_an_intent_by_themselves() {
    const INTENT: &str = "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]";
    let mut project = Project::with(INTENT, &[(".tollgate/config.json", r#"{"select": "single"}"#)], &[]);
    for number in 0..300 {
        let path = format!("src/auth/{number}");
        expect(&project.call("pre-tool", ("s", &number.to_string()), "write", write(&path)), "allow", "in_scope");
    }
    let leases = |project: &Project| project.world.count(&format!("{STATE}/leases"));
    project.world.pass(3_600_001);
    project.call("pre-tool", ("s", "again"), "read", json!({"filePath": "src/auth/0"}));
    assert_eq!(leases(&project), 300, "the session has its intent");
    project.call("pre-tool", ("t", "first"), "read", json!({"filePath": "src/auth/0"}));
    assert_eq!(leases(&project), 0);
}

/// Sessions that take an intent by themselves never select one, which is when long journals of calls are cut down otherwise.
#[test]
fn long_journals_are_cut_down_where_sessions_take_an_intent_by_themselves() {
    const INTENT: &str = "[{id: LOGIN, name: Login, status: IN_PROGRESS, owned_scope: ['src/auth/**']}]";
    let mut project = Project::with(INTENT, &[(".tollgate/config.json", r#"{"select": "single"}"#)], &[]);
    let journal = format!("{STATE}/rulings/long.json");
    project.world.write(&journal, "{}\n".repeat(1 << 20));
    project.world.pass(60_000);
    project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert!(project.world.content(&journal).unwrap().len() < 1 << 20);
}

/// Two processes are told of one call, as happens with hosts that run each other's hooks, and one of the two could not save it.
#[test]
fn a_call_that_another_process_could_save_is_settled_once() {
    for ours_is_first in [true, false] {
        let mut project = shared();
        let mut other = Project::over(project.world.clone());
        project.world.refuse_writes(Some(FileFault::Full));
        expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
        project.world.refuse_writes(None);
        expect(&other.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
        project.world.write("src/auth/a.ts", "new");
        let mut both = [&mut project, &mut other];
        if !ours_is_first {
            both.reverse();
        }
        let settled = both.map(|project| project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts")));
        let entries: usize = settled.iter().map(|settled| settled["entries"].as_array().unwrap().len()).sum();
        assert_eq!((entries, entered(&project).len()), (1, 1), "ours is first: {ours_is_first}");
    }
}

/// An earlier call with the same id, settled by another process, is not taken for one that could not be saved.
#[test]
fn a_call_that_could_not_be_saved_is_settled_though_its_id_was_used_before() {
    let mut project = shared();
    let mut other = Project::over(project.world.clone());
    expect(&other.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.world.write("src/auth/a.ts", "new");
    other.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    project.world.pass(1_000);
    project.world.refuse_writes(Some(FileFault::Full));
    expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/b.ts")), "ask", "gate_fault");
    project.world.refuse_writes(None);
    project.world.write("src/auth/b.ts", "new");
    project.call("post-tool", ("s", "1"), "write", write("src/auth/b.ts"));
    let paths: Vec<_> = entered(&project).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["src/auth/a.ts", "src/auth/b.ts"]);
}

/// The state and the ledger may be on different disks: what one process could neither save nor enter at first is entered once the
/// ledger can be written.
#[test]
fn a_call_that_could_neither_be_saved_nor_entered_is_entered_when_it_is_reported_again() {
    let mut project = shared();
    project.world.refuse_writes(Some(FileFault::Full));
    expect(&project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    project.world.refuse_writes(None);
    project.world.write("src/auth/a.ts", "new");
    let folder = format!("{LEDGER}/file");
    project.world.write(&folder, "");
    let settled = project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(settled["entries"], json!([]), "{settled}");
    project.gate.retry_ledger();
    assert_eq!(project.gate.retry_due_in(), None);
    project.world.delete(&folder);
    project.world.delete(LEDGER);
    project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&project).len(), 1);
    project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&project).len(), 1);
}

/// A full disk is reported once, not once for every call that it concerns.
#[test]
fn a_fault_that_several_calls_meet_is_told_once() {
    let mut project = shared();
    for name in ["x", "y", "z"] {
        let path = format!("src/auth/{name}");
        project.call("pre-tool", ("s", name), "write", write(&path));
        project.world.write(&path, "new");
    }
    project.world.refuse_writes(Some(FileFault::Full));
    project.restart();
    let said = project.event("session_end", "s");
    assert_eq!(said.matches("cannot be written").count(), 1, "{said}");
    project.world.refuse_writes(None);
    project.restart();
    project.event("session_end", "s");
    assert_eq!(entered(&project).len(), 3);
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
fn settle_and_trap(project: &mut Project, call: &str, path: &str) {
    let trapping = Rc::new(Trapping { world: project.world.clone(), traps: Cell::new(true) });
    let mut ports = project.world.ports();
    ports.workspace = trapping;
    let op = json!({"op": "post-tool", "session": "s", "call": call, "tool": "write", "args": write(path), "success": true});
    let mut gate = Gate::new(ports);
    let trapped = catch_unwind(AssertUnwindSafe(|| perform(&mut gate, op.to_string().as_bytes())));
    assert!(trapped.is_err());
    project.restart();
}

/// A gate that fails after a tool loses nothing: what it left is entered when the next call has ended.
#[test]
fn what_a_trap_left_is_entered_by_the_next_call() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "new");
    settle_and_trap(&mut project, "1", "src/auth/a.ts");
    assert_eq!(entered(&project), []);
    // Whoever began to settle it may still be doing so.
    project.call("pre-tool", ("t", "2"), "write", write("src/auth/b.ts"));
    project.world.write("src/auth/b.ts", "new");
    project.call("post-tool", ("t", "2"), "write", write("src/auth/b.ts"));
    assert_eq!(entered(&project).len(), 1);
    project.world.pass(10_000);
    project.call("pre-tool", ("t", "3"), "write", write("src/auth/b.ts"));
    project.world.write("src/auth/b.ts", "newer");
    project.call("post-tool", ("t", "3"), "write", write("src/auth/b.ts"));
    let entries = entered(&project);
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert_eq!(entries[2], (json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS")));
    assert_eq!(project.world.count(&format!("{STATE}/calls")), 0);
    // A host that reports the call once more has nothing to add.
    assert_eq!(project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"))["entries"], json!([]));
}

/// A call on which the gate fails every time does not keep the others from being entered.
#[test]
fn a_call_that_traps_again_and_again_is_given_up() {
    let mut project = shared();
    project.call("pre-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    project.world.write("src/auth/a.ts", "new");
    for _ in 0..3 {
        settle_and_trap(&mut project, "1", "src/auth/a.ts");
        project.world.pass(10_000);
    }
    let settled = project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert!(settled["notice"].as_str().unwrap().contains("the gate failed 3 times"), "{settled}");
    let entries = entered(&project);
    assert_eq!((entries.len(), &entries[0].0, &entries[0].3), (1, &json!(null), &json!("FAIL")));
    assert_eq!(project.world.count(&format!("{STATE}/calls")), 0);
    // It is over: reported again, it is not one that was never allowed, and others may change its file.
    project.call("post-tool", ("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&project).len(), 1);
    expect(&project.call("pre-tool", ("t", "2"), "write", write("src/auth/a.ts")), "allow", "in_scope");
}

/// When a session ends, nobody will report any more how its calls ended.
#[test]
fn a_session_that_ends_leaves_nothing_unentered() {
    let mut project = shared();
    for (session, call, path) in [("s", "1", "src/auth/a.ts"), ("s", "2", "src/auth/new.ts"), ("t", "3", "src/auth/b.ts")] {
        expect(&project.call("pre-tool", (session, call), "write", write(path)), "allow", "in_scope");
    }
    project.world.write("src/auth/a.ts", "new");
    project.world.write("src/auth/b.ts", "new");
    project.restart();
    let input = json!({"type": "event", "event": "session_end", "session": "s", "data": {}});
    project.gate.step(0, &[Input::from_json(&input)]);
    assert_eq!(entered(&project), [(json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS"))]);
    assert_eq!(project.world.count(&format!("{STATE}/calls")), 1, "the other session is still at work");
}

/// The changes of a program whose end nobody reported are found by the snapshot, as always.
#[test]
fn a_program_whose_end_nobody_told_is_looked_after() {
    let mut project = shared();
    expect(&project.call("pre-tool", ("s", "1"), "bash", json!({"command": "npm test"})), "allow", "in_scope");
    project.world.write("README.md", "changed");
    project.restart();
    project.ask(json!({"op": "event", "event": "session_end", "session": "s", "data": {}}));
    let entries = entered(&project);
    assert_eq!((entries.len(), &entries[0].0, &entries[0].3), (1, &json!("README.md"), &json!("FAIL")));
}
