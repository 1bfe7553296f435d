//! What cannot be written at first, to the ledger or to the state folder, is entered later, and once.

use crate::house::{House, LEDGER, UNKNOWN, entered, expect, shared, write};
use crate::interposed::Interposed;
use serde_json::{Value, json};
use tollgate_guest::inflight::pending;
use tollgate_guest::ports::memory::STATE;
use tollgate_guest::ports::{FileFault, ListingLimits, Root, Workspace};

/// A call that is denied and runs anyway.
fn run_denied(house: &mut House, call: &str) {
    expect(&house.pre(("s", call), "write", write("README.md")), "deny", "out_of_scope");
    house.world.write("README.md", "new");
}

/// The entry for it.
fn ran_anyway() -> (Value, Value, Value, Value) {
    (json!("README.md"), json!(true), json!("it was denied (out_of_scope) and ran anyway"), json!("FAIL"))
}

/// A call of another session, from beginning to end.
fn work(house: &mut House, call: &str) {
    expect(&house.pre(("t", call), "write", write("src/auth/b.ts")), "allow", "in_scope");
    house.world.write("src/auth/b.ts", call);
    house.post(("t", call), "write", write("src/auth/b.ts"));
}

/// Whatever happens next: the call is reported again, its session ends, or another process settles a call.
#[test]
fn a_call_that_ran_without_permission_is_entered_when_the_ledger_can_be_written_again() {
    for restarts in [false, true] {
        for next in ["reported again", "another call", "session end"] {
            let mut house = shared();
            let records = Interposed::under(&mut house);
            run_denied(&mut house, "1");
            records.limit_ledger(Some(0));
            let settled = house.post(("s", "1"), "write", write("README.md"));
            assert!(settled["notice"].as_str().unwrap().contains("will be retried"), "{settled}");
            let again = house.post(("s", "1"), "write", write("README.md"));
            assert_eq!(again["entries"], json!([]), "it waits: {again}");
            house.gate.retry_ledger();
            assert!(house.warned("will be recorded later") > 0 && entered(&house).is_empty());
            records.limit_ledger(None);
            if restarts {
                house.restart();
            }
            match next {
                "reported again" => drop(house.post(("s", "1"), "write", write("README.md"))),
                "another call" => work(&mut house, "2"),
                _ => drop(house.event("session_end", "s")),
            }
            house.post(("s", "1"), "write", write("README.md"));
            work(&mut house, "3");
            let all = entered(&house);
            assert_eq!(all.iter().filter(|entry| **entry == ran_anyway()).count(), 1, "{restarts} {next}: {all:?}");
            assert_eq!(house.world.count(&format!("{STATE}/calls")), 0, "{restarts} {next}");
        }
    }
}

/// However often that is tried: neither the records nor the work for each call grow.
#[test]
fn a_ledger_that_cannot_be_written_for_a_long_time_does_not_fill_the_state_folder() {
    let mut house = shared();
    let records = Interposed::under(&mut house);
    records.limit_ledger(Some(0));
    for call in 0..20 {
        let path = format!("src/auth/{call}");
        expect(&house.pre(("s", &call.to_string()), "write", write(&path)), "allow", "in_scope");
        house.world.write(&path, "new");
        house.post(("s", &call.to_string()), "write", write(&path));
    }
    let length = |house: &House| {
        let files = house.world.list(Root::State, "calls", &ListingLimits { depth: 1, limit: 100, skip: Vec::new() }).unwrap();
        files.entries.iter().map(|file| file.size).sum::<u64>()
    };
    let before = length(&house);
    for call in 0..100 {
        house.world.pass(10_000);
        house.pre(("t", "none"), "bash", json!({"command": "npm test"}));
        house.post(("t", "none"), "bash", json!({"command": "npm test"}));
        assert!(length(&house) < 2 * before, "{call}");
    }
    records.limit_ledger(None);
    work(&mut house, "1");
    assert_eq!(entered(&house).len(), 21);
}

/// A host without a timer retries at its next call, which may come after another process has found what was to be entered.
#[test]
fn what_another_process_entered_is_not_entered_by_a_late_retry() {
    let mut house = shared();
    let records = Interposed::under(&mut house);
    expect(&house.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.world.write("src/auth/a.ts", "new");
    records.limit_ledger(Some(0));
    house.post(("s", "1"), "write", write("src/auth/a.ts"));
    run_denied(&mut house, "2");
    house.post(("s", "2"), "write", write("README.md"));
    records.limit_ledger(None);
    house.world.pass(10_000);
    work(&mut House::over(house.world.clone()), "3");
    assert_eq!(entered(&house).len(), 3);
    house.gate.retry_ledger();
    work(&mut house, "4");
    assert_eq!(entered(&house).len(), 4);
}

/// With a full disk, nothing can be kept but in memory.
#[test]
fn a_call_that_ran_without_permission_is_entered_when_the_disk_is_no_longer_full() {
    let mut house = shared();
    run_denied(&mut house, "1");
    house.world.refuse_writes(Some(FileFault::Full));
    house.post(("s", "1"), "write", write("README.md"));
    house.gate.retry_ledger();
    house.world.refuse_writes(None);
    work(&mut house, "2");
    assert_eq!(entered(&house).iter().filter(|entry| **entry == ran_anyway()).count(), 1);
    house.post(("s", "1"), "write", write("README.md"));
    work(&mut house, "3");
    assert_eq!(entered(&house).len(), 3);
}

#[test]
fn a_rejected_call_is_entered_when_the_ledger_can_be_written_again() {
    let mut house = shared();
    house.world.write(".tollgate/config.json", r#"{"record": {"rejected": true}}"#);
    let records = Interposed::under(&mut house);
    records.limit_ledger(Some(0));
    for _ in 0..2 {
        expect(&house.pre(("s", "1"), "write", write("README.md")), "deny", "out_of_scope");
    }
    house.gate.retry_ledger();
    assert_eq!(entered(&house), []);
    records.limit_ledger(None);
    work(&mut house, "2");
    house.restart();
    work(&mut house, "3");
    let rejections = house.entries().iter().filter(|entry| entry["file"]["relative_path"] == "README.md").count();
    assert_eq!((rejections, entered(&house).len(), house.world.count(&format!("{STATE}/calls"))), (2, 4, 0));
    // If it runs all the same, that is another entry.
    house.world.write("README.md", "new");
    house.post(("s", "1"), "write", write("README.md"));
    assert_eq!(entered(&house)[4], ran_anyway());
}

/// Two hosts that run each other's hooks report the end of one call at the same time.
#[test]
fn a_call_that_ran_without_permission_is_entered_by_one_of_two_processes() {
    for folder in ["rulings/", "calls/", LEDGER] {
        for after in 0..4 {
            let mut house = shared();
            let records = Interposed::under(&mut house);
            run_denied(&mut house, "1");
            let mut other = House::over(house.world.clone());
            records.act_before_append(folder, after, move || drop(other.post(("s", "1"), "write", write("README.md"))));
            house.post(("s", "1"), "write", write("README.md"));
            assert_eq!(entered(&house), [ran_anyway()], "{folder} {after}");
            house.post(("s", "1"), "write", write("README.md"));
            assert_eq!(entered(&house).len(), 1, "{folder} {after}");
            assert!(after > 0 || !records.is_action_pending(), "{folder}");
        }
    }
}

/// More entries than fit into one write: the first are written, then the disk is full.
#[test]
fn what_was_entered_before_a_fault_is_not_entered_again() {
    for (restarts, is_state_full) in [(false, false), (true, false), (false, true)] {
        let mut house = shared();
        let records = Interposed::under(&mut house);
        let paths: Vec<String> = (0..200).map(|number| format!("src/auth/{number:03}")).collect();
        paths.iter().for_each(|path| house.world.write(path, "x"));
        let deletions: String = paths.iter().map(|path| format!("*** Delete File: {path}\n")).collect();
        let patch = json!({"patchText": format!("*** Begin Patch\n{deletions}*** End Patch")});
        expect(&house.pre(("s", "1"), "apply_patch", patch.clone()), "allow", "in_scope");
        paths.iter().for_each(|path| house.world.delete(path));
        records.limit_ledger(Some(1));
        records.fill_state(is_state_full);
        let first = house.post(("s", "1"), "apply_patch", patch.clone())["entries"].as_array().unwrap().len();
        assert!((1..200).contains(&first), "{first}");
        house.gate.retry_ledger();
        records.fill_state(false);
        records.limit_ledger(None);
        house.world.pass(10_000);
        if restarts {
            house.restart();
        }
        house.post(("s", "1"), "apply_patch", patch);
        let mut all: Vec<Value> = entered(&house).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(all.len(), 200, "{restarts} {is_state_full}");
        all.sort_by_key(Value::to_string);
        all.dedup();
        assert_eq!(all.len(), 200, "{restarts} {is_state_full}");
        assert!(entered(&house).iter().all(|(_, success, ..)| success == true));
    }
}

/// The state folder was full when the call was allowed, and its end is never reported.
#[test]
fn a_call_that_could_not_be_saved_is_entered_when_its_turn_or_session_ends() {
    for event in ["after_agent", "session_end"] {
        let mut house = shared();
        house.world.refuse_writes(Some(FileFault::Full));
        expect(&house.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
        house.world.refuse_writes(None);
        house.world.write("src/auth/a.ts", "new");
        house.event(event, "t");
        assert_eq!(entered(&house), [], "{event}");
        house.event(event, "s");
        assert_eq!(entered(&house), [(json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS"))], "{event}");
        house.post(("s", "1"), "write", write("src/auth/a.ts"));
        house.event(event, "s");
        assert_eq!(entered(&house).len(), 1, "{event}");
    }
}

/// Nor is its end reported again after it could not be entered.
#[test]
fn a_call_that_could_neither_be_saved_nor_entered_is_entered_with_the_next_call() {
    let mut house = shared();
    let records = Interposed::under(&mut house);
    records.fill_state(true);
    expect(&house.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    house.world.write("src/auth/a.ts", "new");
    records.limit_ledger(Some(0));
    house.post(("s", "1"), "write", write("src/auth/a.ts"));
    house.gate.retry_ledger();
    records.limit_ledger(None);
    house.pre(("t", "2"), "write", write("src/auth/b.ts"));
    house.world.write("src/auth/b.ts", "new");
    house.post(("t", "2"), "write", write("src/auth/b.ts"));
    let mut all = entered(&house);
    all.sort_by_key(|(path, ..)| path.to_string());
    let done = |path: &str| (json!(path), json!(true), json!(null), json!("PASS"));
    assert_eq!(all, [done("src/auth/a.ts"), done("src/auth/b.ts")]);
}

/// Two processes are told of one call, one of them could not save it, and only that one is told of its end.
#[test]
fn a_call_that_another_process_could_save_is_entered_by_the_one_that_could_not() {
    let mut house = shared();
    let mut other = House::over(house.world.clone());
    house.world.refuse_writes(Some(FileFault::Full));
    expect(&house.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    house.world.refuse_writes(None);
    expect(&other.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    house.world.write("src/auth/a.ts", "new");
    for entries in [1, 0] {
        let settled = house.post(("s", "1"), "write", write("src/auth/a.ts"));
        assert_eq!(settled["entries"].as_array().unwrap().len(), entries, "{settled}");
    }
    assert_eq!(house.world.count(&format!("{STATE}/calls")), 0);
}

/// An earlier call with the same id may have left a record.
#[test]
fn a_call_that_could_not_be_saved_is_not_taken_for_an_earlier_one() {
    let mut house = shared();
    expect(&house.pre(("s", "1"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    house.world.pass(600_000);
    house.world.refuse_writes(Some(FileFault::Full));
    expect(&house.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    house.world.refuse_writes(None);
    house.world.write("src/auth/a.ts", "new");
    house.post(("s", "1"), "write", write("src/auth/a.ts"));
    let paths: Vec<Value> = entered(&house).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["src/auth/a.ts"]);
}

/// A prompt comes in while another process settles a call of which nothing had been seen yet.
#[test]
fn a_call_that_is_settled_just_now_is_not_presumed_refused() {
    for after in 0..2 {
        let mut house = shared();
        let records = Interposed::under(&mut house);
        expect(&house.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
        let mut other = House::over(house.world.clone());
        records.act_before_append("calls/", after, move || {
            other.world.write("src/auth/a.ts", "new");
            other.post(("s", "1"), "write", write("src/auth/a.ts"));
        });
        house.event("before_agent", "s");
        assert!(after > 0 || !records.is_action_pending());
        house.world.write("src/auth/a.ts", "new");
        house.event("after_agent", "s");
        house.post(("s", "1"), "write", write("src/auth/a.ts"));
        assert_eq!(entered(&house).len(), 1, "{after}");
    }
}

/// A turn ends while another process settles a call that was presumed refused.
#[test]
fn a_call_that_is_settled_just_now_is_not_noted_as_unheard() {
    let mut house = shared();
    let records = Interposed::under(&mut house);
    // They are looked at in the order of their files.
    let mut calls = [("1", "src/auth/a.ts"), ("2", "src/auth/b.ts")];
    calls.sort_by_key(|(call, _)| pending::key("s", call));
    for (call, path) in calls {
        expect(&house.pre(("s", call), "write", write(path)), "allow", "in_scope");
    }
    house.event("before_agent", "s");
    let mut other = House::over(house.world.clone());
    let (call, path) = calls[1];
    records.act_before_append("rulings/", 0, move || {
        other.world.write(path, "new");
        other.post(("s", call), "write", write(path));
    });
    house.event("after_agent", "s");
    assert!(!records.is_action_pending());
    house.post(("s", call), "write", write(path));
    assert_eq!(entered(&house).len(), 1);
}
