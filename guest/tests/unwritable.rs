//! What cannot be written at first, to the ledger or to the state folder, is entered later, and once.

use crate::failing_writes::FailingWrites;
use crate::project::{LEDGER, Project, UNKNOWN, entered, expect, shared, write};
use serde_json::{Value, json};
use tollgate_guest::inflight::pending;
use tollgate_guest::ports::memory::STATE;
use tollgate_guest::ports::{FileFault, ListingLimits, Root, Workspace};

/// A call that is denied and runs anyway.
fn run_denied(project: &mut Project, call: &str) {
    expect(&project.pre(("s", call), "write", write("README.md")), "deny", "out_of_scope");
    project.world.write("README.md", "new");
}

/// A call that is allowed and has changed its file; its end is still to come.
fn change_login(project: &mut Project) {
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.world.write("src/auth/a.ts", "new");
}

/// The entry for a call that was denied and ran.
fn ran_anyway() -> (Value, Value, Value, Value) {
    (json!("README.md"), json!(true), json!("it was denied (out_of_scope) and ran anyway"), json!("FAIL"))
}

/// A call of another session, from beginning to end.
fn work(project: &mut Project, call: &str) {
    expect(&project.pre(("t", call), "write", write("src/auth/b.ts")), "allow", "in_scope");
    project.world.write("src/auth/b.ts", call);
    project.post(("t", call), "write", write("src/auth/b.ts"));
}

/// Whatever happens next: the call is reported again, its session ends, or another process settles a call.
#[test]
fn a_call_that_ran_without_permission_is_entered_when_the_ledger_can_be_written_again() {
    for restarts in [false, true] {
        for next in ["reported again", "another call", "session end"] {
            let mut project = shared();
            let records = FailingWrites::under(&mut project);
            run_denied(&mut project, "1");
            records.limit_ledger(Some(0));
            let settled = project.post(("s", "1"), "write", write("README.md"));
            assert!(settled["notice"].as_str().unwrap().contains("will be retried"), "{settled}");
            let again = project.post(("s", "1"), "write", write("README.md"));
            assert_eq!(again["entries"], json!([]), "it waits: {again}");
            project.gate.retry_ledger();
            assert!(project.warned("will be recorded later") > 0 && entered(&project).is_empty());
            records.limit_ledger(None);
            if restarts {
                project.restart();
            }
            match next {
                "reported again" => drop(project.post(("s", "1"), "write", write("README.md"))),
                "another call" => work(&mut project, "2"),
                _ => drop(project.event("session_end", "s")),
            }
            project.post(("s", "1"), "write", write("README.md"));
            work(&mut project, "3");
            let all = entered(&project);
            assert_eq!(all.iter().filter(|entry| **entry == ran_anyway()).count(), 1, "{restarts} {next}: {all:?}");
            assert_eq!(project.world.count(&format!("{STATE}/calls")), 0, "{restarts} {next}");
        }
    }
}

/// However often that is tried: neither the records nor the work for each call grow.
#[test]
fn a_ledger_that_cannot_be_written_for_a_long_time_does_not_fill_the_state_folder() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    records.limit_ledger(Some(0));
    for call in 0..20 {
        let path = format!("src/auth/{call}");
        expect(&project.pre(("s", &call.to_string()), "write", write(&path)), "allow", "in_scope");
        project.world.write(&path, "new");
        project.post(("s", &call.to_string()), "write", write(&path));
    }
    let length = |project: &Project| {
        let files = project.world.list(Root::State, "calls", &ListingLimits { depth: 1, limit: 100, skip: Vec::new() }).unwrap();
        files.entries.iter().map(|file| file.size).sum::<u64>()
    };
    let before = length(&project);
    for call in 0..100 {
        project.world.pass(10_000);
        project.pre(("t", "none"), "bash", json!({"command": "npm test"}));
        project.post(("t", "none"), "bash", json!({"command": "npm test"}));
        assert!(length(&project) < 2 * before, "{call}");
    }
    records.limit_ledger(None);
    work(&mut project, "1");
    assert_eq!(entered(&project).len(), 21);
}

/// A host without a timer retries at its next call, which may come after another process has found what was to be entered.
#[test]
fn what_another_process_entered_is_not_entered_by_a_late_retry() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    change_login(&mut project);
    records.limit_ledger(Some(0));
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    run_denied(&mut project, "2");
    project.post(("s", "2"), "write", write("README.md"));
    records.limit_ledger(None);
    project.world.pass(10_000);
    work(&mut Project::over(project.world.clone()), "3");
    assert_eq!(entered(&project).len(), 3);
    project.gate.retry_ledger();
    work(&mut project, "4");
    assert_eq!(entered(&project).len(), 4);
}

/// With a full disk, nothing can be kept but in memory.
#[test]
fn a_call_that_ran_without_permission_is_entered_when_the_disk_is_no_longer_full() {
    let mut project = shared();
    run_denied(&mut project, "1");
    project.world.refuse_writes(Some(FileFault::Full));
    project.post(("s", "1"), "write", write("README.md"));
    project.gate.retry_ledger();
    project.world.refuse_writes(None);
    work(&mut project, "2");
    assert_eq!(entered(&project).iter().filter(|entry| **entry == ran_anyway()).count(), 1);
    project.post(("s", "1"), "write", write("README.md"));
    work(&mut project, "3");
    assert_eq!(entered(&project).len(), 3);
}

#[test]
fn a_rejected_call_is_entered_when_the_ledger_can_be_written_again() {
    let mut project = shared();
    project.world.write(".tollgate/config.json", r#"{"record": {"rejected": true}}"#);
    let records = FailingWrites::under(&mut project);
    records.limit_ledger(Some(0));
    for _ in 0..2 {
        expect(&project.pre(("s", "1"), "write", write("README.md")), "deny", "out_of_scope");
    }
    project.gate.retry_ledger();
    assert_eq!(entered(&project), []);
    records.limit_ledger(None);
    work(&mut project, "2");
    project.restart();
    work(&mut project, "3");
    let rejections = project.entries().iter().filter(|entry| entry["file"]["relative_path"] == "README.md").count();
    assert_eq!((rejections, entered(&project).len(), project.world.count(&format!("{STATE}/calls"))), (2, 4, 0));
    // If it runs all the same, that is another entry.
    project.world.write("README.md", "new");
    project.post(("s", "1"), "write", write("README.md"));
    assert_eq!(entered(&project)[4], ran_anyway());
}

/// Two hosts that run each other's hooks report the end of one call at the same time.
#[test]
fn a_call_that_ran_without_permission_is_entered_by_one_of_two_processes() {
    for folder in ["rulings/", "calls/", LEDGER] {
        for after in 0..4 {
            let mut project = shared();
            let records = FailingWrites::under(&mut project);
            run_denied(&mut project, "1");
            let mut other = Project::over(project.world.clone());
            records.act_before_append(folder, after, move || drop(other.post(("s", "1"), "write", write("README.md"))));
            project.post(("s", "1"), "write", write("README.md"));
            assert_eq!(entered(&project), [ran_anyway()], "{folder} {after}");
            project.post(("s", "1"), "write", write("README.md"));
            assert_eq!(entered(&project).len(), 1, "{folder} {after}");
            assert!(after > 0 || !records.is_action_pending(), "{folder}");
        }
    }
}

/// More entries than fit into one write: the first are written, then the disk is full.
#[test]
fn what_was_entered_before_a_fault_is_not_entered_again() {
    for (restarts, is_state_full) in [(false, false), (true, false), (false, true)] {
        let mut project = shared();
        let records = FailingWrites::under(&mut project);
        let paths: Vec<String> = (0..200).map(|number| format!("src/auth/{number:03}")).collect();
        paths.iter().for_each(|path| project.world.write(path, "x"));
        let deletions: String = paths.iter().map(|path| format!("*** Delete File: {path}\n")).collect();
        let patch = json!({"patchText": format!("*** Begin Patch\n{deletions}*** End Patch")});
        expect(&project.pre(("s", "1"), "apply_patch", patch.clone()), "allow", "in_scope");
        paths.iter().for_each(|path| project.world.delete(path));
        records.limit_ledger(Some(1));
        records.fill_state(is_state_full);
        let first = project.post(("s", "1"), "apply_patch", patch.clone())["entries"].as_array().unwrap().len();
        assert!((1..200).contains(&first), "{first}");
        project.gate.retry_ledger();
        records.fill_state(false);
        records.limit_ledger(None);
        project.world.pass(10_000);
        if restarts {
            project.restart();
        }
        project.post(("s", "1"), "apply_patch", patch);
        let mut all: Vec<Value> = entered(&project).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(all.len(), 200, "{restarts} {is_state_full}");
        all.sort_by_key(Value::to_string);
        all.dedup();
        assert_eq!(all.len(), 200, "{restarts} {is_state_full}");
        assert!(entered(&project).iter().all(|(_, success, ..)| success == true));
    }
}

/// The state folder was full when the call was allowed, and its end is never reported.
#[test]
fn a_call_that_could_not_be_saved_is_entered_when_its_turn_or_session_ends() {
    for event in ["after_agent", "session_end"] {
        let mut project = shared();
        project.world.refuse_writes(Some(FileFault::Full));
        expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
        project.world.refuse_writes(None);
        project.world.write("src/auth/a.ts", "new");
        project.event(event, "t");
        assert_eq!(entered(&project), [], "{event}");
        project.event(event, "s");
        assert_eq!(entered(&project), [(json!("src/auth/a.ts"), json!(false), json!(UNKNOWN), json!("PASS"))], "{event}");
        project.post(("s", "1"), "write", write("src/auth/a.ts"));
        project.event(event, "s");
        assert_eq!(entered(&project).len(), 1, "{event}");
    }
}

/// Nor is its end reported again after it could not be entered.
#[test]
fn a_call_that_could_neither_be_saved_nor_entered_is_entered_with_the_next_call() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    records.fill_state(true);
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    project.world.write("src/auth/a.ts", "new");
    records.limit_ledger(Some(0));
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    project.gate.retry_ledger();
    records.limit_ledger(None);
    project.pre(("t", "2"), "write", write("src/auth/b.ts"));
    project.world.write("src/auth/b.ts", "new");
    project.post(("t", "2"), "write", write("src/auth/b.ts"));
    let mut all = entered(&project);
    all.sort_by_key(|(path, ..)| path.to_string());
    let done = |path: &str| (json!(path), json!(true), json!(null), json!("PASS"));
    assert_eq!(all, [done("src/auth/a.ts"), done("src/auth/b.ts")]);
}

/// Two processes are told of one call, one of them could not save it, and only that one is told of its end.
#[test]
fn a_call_that_another_process_could_save_is_entered_by_the_one_that_could_not() {
    let mut project = shared();
    let mut other = Project::over(project.world.clone());
    project.world.refuse_writes(Some(FileFault::Full));
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    project.world.refuse_writes(None);
    expect(&other.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.world.write("src/auth/a.ts", "new");
    for entries in [1, 0] {
        let settled = project.post(("s", "1"), "write", write("src/auth/a.ts"));
        assert_eq!(settled["entries"].as_array().unwrap().len(), entries, "{settled}");
    }
    assert_eq!(project.world.count(&format!("{STATE}/calls")), 0);
}

/// An earlier call with the same id may have left a record.
#[test]
fn a_call_that_could_not_be_saved_is_not_taken_for_an_earlier_one() {
    let mut project = shared();
    expect(&project.pre(("s", "1"), "write", write("src/auth/b.ts")), "allow", "in_scope");
    project.world.pass(600_000);
    project.world.refuse_writes(Some(FileFault::Full));
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    project.world.refuse_writes(None);
    project.world.write("src/auth/a.ts", "new");
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    let paths: Vec<Value> = entered(&project).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["src/auth/a.ts"]);
}

/// A prompt comes in while another process settles a call of which nothing had been seen yet.
#[test]
fn a_call_that_is_settled_just_now_is_not_presumed_refused() {
    for after in 0..2 {
        let mut project = shared();
        let records = FailingWrites::under(&mut project);
        expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
        let mut other = Project::over(project.world.clone());
        records.act_before_append("calls/", after, move || {
            other.world.write("src/auth/a.ts", "new");
            other.post(("s", "1"), "write", write("src/auth/a.ts"));
        });
        project.event("before_agent", "s");
        assert!(after > 0 || !records.is_action_pending());
        project.world.write("src/auth/a.ts", "new");
        project.event("after_agent", "s");
        project.post(("s", "1"), "write", write("src/auth/a.ts"));
        assert_eq!(entered(&project).len(), 1, "{after}");
    }
}

/// A turn ends while another process settles a call that was presumed refused.
#[test]
fn a_call_that_is_settled_just_now_is_not_noted_as_unheard() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    // They are looked at in the order of their files.
    let mut calls = [("1", "src/auth/a.ts"), ("2", "src/auth/b.ts")];
    calls.sort_by_key(|(call, _)| pending::key("s", call));
    for (call, path) in calls {
        expect(&project.pre(("s", call), "write", write(path)), "allow", "in_scope");
    }
    project.event("before_agent", "s");
    let mut other = Project::over(project.world.clone());
    let (call, path) = calls[1];
    records.act_before_append("rulings/", 0, move || {
        other.world.write(path, "new");
        other.post(("s", call), "write", write(path));
    });
    project.event("after_agent", "s");
    assert!(!records.is_action_pending());
    project.post(("s", call), "write", write(path));
    assert_eq!(entered(&project).len(), 1);
}

/// Some programs give a call no id, so the gate derives one, and the same command has the same id again.
#[test]
fn a_call_that_is_made_again_does_not_take_the_place_of_what_is_still_to_be_entered() {
    for is_state_full in [false, true] {
        for waits in [false, true] {
            let mut project = shared();
            let records = FailingWrites::under(&mut project);
            expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
            project.world.write("src/auth/a.ts", "first");
            records.limit_ledger(Some(0));
            records.fill_state(is_state_full);
            project.post(("s", "1"), "write", write("src/auth/a.ts"));
            if waits {
                project.gate.retry_ledger();
            }
            records.fill_state(false);
            expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
            project.world.write("src/auth/a.ts", "second");
            records.limit_ledger(None);
            project.post(("s", "1"), "write", write("src/auth/a.ts"));
            project.world.pass(1_000);
            work(&mut project, "2");
            let entries = project.entries();
            let all = entries.iter().filter(|entry| entry["file"]["relative_path"] == "src/auth/a.ts").count();
            assert_eq!((all, entries.len()), (2, 3), "{is_state_full} {waits}: {entries:#?}");
        }
    }
}

/// Nor does one that is denied the second time.
#[test]
fn a_denied_call_that_is_made_again_and_runs_is_entered_too() {
    for is_state_full in [false, true] {
        let mut project = shared();
        let records = FailingWrites::under(&mut project);
        records.limit_ledger(Some(0));
        run_denied(&mut project, "1");
        records.fill_state(is_state_full);
        project.post(("s", "1"), "write", write("README.md"));
        records.fill_state(false);
        expect(&project.pre(("s", "1"), "write", write("README.md")), "deny", "out_of_scope");
        project.world.write("README.md", "newer");
        records.limit_ledger(None);
        project.post(("s", "1"), "write", write("README.md"));
        project.world.pass(1_000);
        work(&mut project, "2");
        let all = entered(&project);
        assert_eq!(all.iter().filter(|entry| **entry == ran_anyway()).count(), 2, "{is_state_full}: {all:#?}");
    }
}

/// A turn ends while another process settles a call that was presumed refused and has just been claimed.
#[test]
fn a_call_whose_end_has_just_been_reported_is_not_forgotten_when_its_turn_ends() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.event("before_agent", "s");
    project.world.write("src/auth/a.ts", "new");
    let mut other = Project::over(project.world.clone());
    records.act_before_append("calls/", 0, move || drop(other.event("after_agent", "s")));
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    assert!(!records.is_action_pending());
    assert_eq!(entered(&project).len(), 1);
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&project).len(), 1);
}

/// With nowhere to write, the calls that are kept in memory are limited, and what is given up is logged.
#[test]
fn a_call_that_cannot_be_kept_is_reported() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    for call in 0..66 {
        let path = format!("src/auth/{call}");
        expect(&project.pre(("s", &call.to_string()), "write", write(&path)), "allow", "in_scope");
        project.world.write(&path, "new");
    }
    records.limit_ledger(Some(0));
    records.fill_state(true);
    for call in 0..66 {
        project.post(("s", &call.to_string()), "write", write(&format!("src/auth/{call}")));
        project.gate.retry_ledger();
    }
    assert_eq!(project.warned("may not be recorded"), 2);
}

/// An agent that keeps being denied does not fill the state folder.
#[test]
fn rejected_calls_that_cannot_be_entered_are_limited() {
    let mut project = shared();
    project.world.write(".tollgate/config.json", r#"{"record": {"rejected": true}}"#);
    let records = FailingWrites::under(&mut project);
    records.limit_ledger(Some(0));
    for call in 0..1_100 {
        expect(&project.pre(("s", &call.to_string()), "write", write("README.md")), "deny", "out_of_scope");
    }
    assert_eq!(project.world.count(&format!("{STATE}/calls")), 1_000);
    assert!(project.warned("will not be recorded") > 0);
    // A call under way is still found among them.
    expect(&project.pre(("t", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    assert_eq!(pending::calls_under_way(&project.world.ports()).len(), 1);
}

/// Two processes are told of the end of one turn.
#[test]
fn a_call_that_both_of_two_processes_take_for_unheard_is_still_to_come() {
    for (tool, args) in [("write", write("src/auth/a.ts")), ("bash", json!({"command": "npm test"}))] {
        let mut project = shared();
        let records = FailingWrites::under(&mut project);
        expect(&project.pre(("s", "1"), tool, args.clone()), "allow", "in_scope");
        let mut other = Project::over(project.world.clone());
        records.act_before_append("calls/", 0, move || drop(other.event("after_agent", "s")));
        project.event("after_agent", "s");
        assert!(!records.is_action_pending());
        assert_eq!(entered(&project), [], "{tool}");
        project.world.write("src/auth/a.ts", "new");
        project.post(("s", "1"), tool, args);
        assert_eq!(entered(&project).len(), 1, "{tool}");
    }
}

/// A turn ends, and while the call is noted as unheard, another process is told of its end.
#[test]
fn a_call_that_ends_while_it_is_taken_for_unheard_is_entered() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "allow", "in_scope");
    project.event("before_agent", "s");
    let mut other = Project::over(project.world.clone());
    records.act_before_append("rulings/", 0, move || {
        other.world.write("src/auth/a.ts", "new");
        other.post(("s", "1"), "write", write("src/auth/a.ts"));
    });
    project.event("after_agent", "s");
    work(&mut project, "2");
    assert_eq!(entered(&project).len(), 2);
    // Hosts that run each other's hooks report it twice.
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    assert_eq!(entered(&project).len(), 2);
}

/// While a turn's calls are looked through, one of them is made again.
#[test]
fn a_call_that_is_made_again_while_it_is_taken_for_unheard_keeps_its_record() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    let mut calls = ["1", "2"];
    calls.sort_by_key(|call| pending::key("s", call));
    let command = json!({"command": "npm test"});
    for call in calls {
        expect(&project.pre(("s", call), "bash", command.clone()), "allow", "in_scope");
    }
    project.event("before_agent", "s");
    let mut other = Project::over(project.world.clone());
    let again = command.clone();
    records.act_before_append("rulings/", 0, move || drop(other.pre(("s", calls[1]), "bash", again)));
    project.event("after_agent", "s");
    assert!(!records.is_action_pending());
    project.world.write("src/auth/a.ts", "new");
    project.post(("s", calls[1]), "bash", command);
    assert_eq!(entered(&project), [(json!("src/auth/a.ts"), json!(true), json!(null), json!("PASS"))]);
}

/// What could only be kept in memory is saved before the record that could be is forgotten.
#[test]
fn a_call_that_is_denied_the_second_time_is_saved_first() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    change_login(&mut project);
    records.limit_ledger(Some(0));
    records.fill_state(true);
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    records.fill_state(false);
    expect(&project.pre(("s", "1"), "write", write("README.md")), "deny", "out_of_scope");
    project.restart();
    project.world.pass(20_000);
    work(&mut project, "2");
    project.event("session_end", "s");
    let done = (json!("src/auth/a.ts"), json!(true), json!(null), json!("PASS"));
    assert_eq!(entered(&project).iter().filter(|entry| **entry == done).count(), 1, "{:#?}", entered(&project));
    assert_eq!(entered(&project).len(), 2);
}

/// The state folder gets full too, and the host has no timer: the next call comes much later.
#[test]
fn what_is_kept_in_memory_is_entered_as_it_was_by_a_late_call() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    change_login(&mut project);
    records.limit_ledger(Some(0));
    let full = records.clone();
    records.act_before_append("calls/", 1, move || full.fill_state(true));
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    assert!(!records.is_action_pending());
    records.fill_state(false);
    records.limit_ledger(None);
    project.world.pass(10_000);
    work(&mut project, "2");
    let done = (json!("src/auth/a.ts"), json!(true), json!(null), json!("PASS"));
    assert_eq!(entered(&project).iter().filter(|entry| **entry == done).count(), 1, "{:#?}", entered(&project));
    project.event("session_end", "s");
    assert_eq!(entered(&project).len(), 2);
}

/// The process is killed at any moment while it puts the entries aside.
#[test]
fn entries_that_are_put_aside_by_a_process_that_dies_are_entered_once() {
    for after in 1..5 {
        let mut project = shared();
        let records = FailingWrites::under(&mut project);
        change_login(&mut project);
        records.limit_ledger(Some(0));
        records.act_before_append("calls/", after, || std::panic::panic_any("killed"));
        let post = std::panic::AssertUnwindSafe(|| drop(project.post(("s", "1"), "write", write("src/auth/a.ts"))));
        let was_killed = std::panic::catch_unwind(post).is_err();
        assert_eq!(was_killed, after < 4, "{after}");
        project.restart();
        project.world.pass(20_000);
        work(&mut project, "2");
        project.event("session_end", "s");
        let all = entered(&project).into_iter().filter(|(path, ..)| path == "src/auth/a.ts").count();
        assert_eq!(all, 1, "{after}: {:#?}", entered(&project));
    }
}

/// A call that could only be kept in memory is made again, is denied, and runs.
#[test]
fn a_call_that_is_denied_the_second_time_keeps_its_denial() {
    let mut project = shared();
    let records = FailingWrites::under(&mut project);
    change_login(&mut project);
    records.limit_ledger(Some(0));
    records.fill_state(true);
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    records.fill_state(false);
    project.gate.retry_ledger();
    run_denied(&mut project, "1");
    records.limit_ledger(None);
    project.world.pass(1_000);
    work(&mut project, "2");
    project.post(("s", "1"), "write", write("README.md"));
    let all = entered(&project);
    assert_eq!(all.iter().filter(|(path, ..)| path == "src/auth/a.ts").count(), 1, "{all:#?}");
    assert_eq!(all.iter().filter(|entry| **entry == ran_anyway()).count(), 1, "{all:#?}");
}

/// With nowhere to write, denials do not push out a call that is under way.
#[test]
fn denied_calls_do_not_take_the_place_of_one_under_way() {
    let mut project = shared();
    project.world.write(".tollgate/config.json", r#"{"record": {"rejected": true}}"#);
    let records = FailingWrites::under(&mut project);
    records.fill_state(true);
    expect(&project.pre(("s", "1"), "write", write("src/auth/a.ts")), "ask", "gate_fault");
    records.limit_ledger(Some(0));
    for call in 0..70 {
        expect(&project.pre(("t", &call.to_string()), "write", write("README.md")), "deny", "out_of_scope");
    }
    records.fill_state(false);
    records.limit_ledger(None);
    project.world.write("src/auth/a.ts", "new");
    project.post(("s", "1"), "write", write("src/auth/a.ts"));
    let done = (json!("src/auth/a.ts"), json!(true), json!(null), json!("PASS"));
    assert!(entered(&project).contains(&done), "{:#?}", entered(&project));
}
