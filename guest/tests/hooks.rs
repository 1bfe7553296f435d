//! Hooks under a virtual clock: what is declared, what runs, what is fed back. Nothing here sleeps.

use crate::virtual_host::Project;
use serde_json::{Value, json};

fn hook(id: &str, trigger: &str) -> Value {
    json!({"id": id, "trigger": trigger, "command": ["check", id]})
}

fn with(mut hook: Value, fields: Value) -> Value {
    for (key, value) in fields.as_object().unwrap() {
        hook[key] = value.clone();
    }
    hook
}

fn ok(answer: &str) -> Value {
    json!({"exit": 0, "stdout": answer, "stderr": ""})
}

#[test]
fn a_chain_runs_one_after_another_and_hands_data_on() {
    let mut project = Project::with_user_hooks(&[hook("a", "before_tool"), hook("b", "before_tool"), hook("c", "after_tool")]);
    let number = project.ask("before_tool", json!({"tool_name": "write", "args": {"path": "x"}}));
    let first = project.only_run();
    assert_eq!(first["argv"], json!(["check", "a"]));
    let stdin: Value = serde_json::from_str(first["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(
        stdin,
        json!({"event": "before_tool", "hook": "a", "session_id": "s1", "data": {"tool_name": "write", "args": {"path": "x"}}})
    );
    project.done(&first, ok(r#"{"continue": true, "systemMessage": "from a", "risk": 3}"#));
    let second = project.only_run();
    let stdin: Value = serde_json::from_str(second["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(stdin["data"]["risk"], 3, "a later hook sees what an earlier one added");
    project.done(&second, ok(r#"{"systemMessage": "from b", "risk": 4}"#));
    let answer = project.answer(number);
    assert_eq!(answer["continue"], true);
    assert_eq!(answer["system_message"], "from a\nfrom b");
    assert_eq!(answer["data"], json!({"tool_name": "write", "args": {"path": "x"}, "risk": 4}));
}

/// Every event in an agent's life reaches the hooks that wait for it, with its data; so do events with names of one's own.
#[test]
fn events_reach_their_hooks() {
    for (event, data) in [
        ("session_start", json!({"session_id": "s1"})),
        ("session_end", json!({"session_id": "s1", "messages": []})),
        ("before_agent", json!({"prompt": "p", "context": "c"})),
        ("after_agent", json!({"response": "r", "tool_calls": []})),
        ("before_model", json!({"messages": [], "model": "m"})),
        ("after_model", json!({"response": "r", "tokens": 3})),
        ("before_tool_selection", json!({"available_tools": ["write"]})),
        ("before_tool", json!({"tool_name": "write", "args": {}})),
        ("after_tool", json!({"tool_name": "write", "result": "ok"})),
        ("deploy_finished", json!({"where": "staging"})),
    ] {
        let mut project = Project::with_user_hooks(&[hook("other", "something_else"), hook("waits", event)]);
        let number = project.ask(event, data.clone());
        let run = project.only_run();
        let stdin: Value = serde_json::from_str(run["stdin"].as_str().unwrap()).unwrap();
        assert_eq!((&stdin["event"], &stdin["session_id"], &stdin["data"]), (&json!(event), &json!("s1"), &data));
        project.done(&run, ok(""));
        assert_eq!(project.answer(number), json!({"continue": true, "system_message": null, "data": data}));
    }
}

#[test]
fn an_operation_is_called_off() {
    let mut project = Project::with_user_hooks(&[hook("a", "before_tool"), hook("b", "before_tool")]);
    let number = project.ask("before_tool", json!({}));
    let first = project.only_run();
    project.done(&first, ok(r#"{"continue": false, "systemMessage": "not on a Friday"}"#));
    let answer = project.answer(number);
    assert_eq!((&answer["continue"], &answer["system_message"]), (&json!(false), &json!("not on a Friday")));
    assert_eq!(project.ended(), ["a success", "b skipped"]);
}

/// A hook that fails, prints garbage or takes too long is set aside, and the next one runs.
#[test]
fn a_failure_never_stops_the_next() {
    let mut project = Project::with_user_hooks(&[
        hook("fails", "before_model"),
        hook("garbage", "before_model"),
        hook("hangs", "before_model"),
        hook("gone", "before_model"),
        hook("last", "before_model"),
    ]);
    let number = project.ask("before_model", json!({"model": "m"}));
    let run = project.only_run();
    project.done(&run, json!({"exit": 3, "stdout": r#"{"continue": false}"#, "stderr": "no token=abcdef123456"}));
    let run = project.only_run();
    project.done(&run, ok("all good!"));
    let run = project.only_run();
    project.pass(29_999);
    assert_eq!(project.cancelled(), Vec::<u64>::new());
    project.pass(1);
    assert_eq!(project.cancelled(), [run["id"].as_u64().unwrap()], "the usual time for a lifecycle command is 30 seconds");
    project.done(&run, json!({"canceled": true}));
    let run = project.only_run();
    project.done(&run, json!({"missing": true}));
    let run = project.only_run();
    project.done(&run, ok(""));
    let answer = project.answer(number);
    assert_eq!(answer, json!({"continue": true, "system_message": null, "data": {"model": "m"}}));
    assert_eq!(project.ended(), ["fails failed", "garbage success", "hangs timeout", "gone failed", "last success"]);
    let log = project.log_text();
    assert!(log.contains("the hook `hangs` was stopped: it took longer than 30000 ms"), "{log}");
    assert!(log.contains("`garbage` printed something that is not a JSON object; it counts as `continue`"), "{log}");
    let record = project.records().into_iter().rfind(|record| record["hook"] == "fails").unwrap();
    assert_eq!((&record["exit_code"], &record["attempts"]), (&json!(3), &json!(1)));
    assert!(record["output"].as_str().unwrap().ends_with("no token=[REDACTED]"), "{record}");
}

#[test]
fn nobody_waits_where_no_hook_does() {
    let mut project = Project::with_user_hooks(&[with(hook("a", "before_tool"), json!({"pattern": "write*"}))]);
    for (event, data) in [("after_model", json!({"x": 1})), ("before_tool", json!({"tool_name": "read", "x": 1}))] {
        let answer = project.perform(&json!({"op": "event", "event": event, "session": "s1", "data": data}));
        assert_eq!((&answer["continue"], &answer["data"]["x"]), (&json!(true), &json!(1)), "{event}");
    }
    project.ask("before_tool", json!({"tool_name": "write_file"}));
    assert_eq!(project.only_run()["hook"], "a");
}

#[test]
fn a_hook_is_tried_again_after_growing_rests() {
    let retry = json!({"retry": {"count": 2, "backoffMs": 100, "backoffFactor": 3}, "timeoutMs": 5000});
    let mut project = Project::with_user_hooks(&[with(hook("a", "onDidSaveTextDocument"), retry)]);
    project.notify("onDidSaveTextDocument", json!({"file": "src/a.ts"}));
    for (rest, outcome) in [(100, json!({"exit": 1})), (300, json!({"failed": "no more processes"}))] {
        let run = project.only_run();
        project.done(&run, outcome);
        project.pass(rest - 1);
        assert_eq!(project.runs().len(), 0);
        project.pass(1);
    }
    let run = project.only_run();
    project.done(&run, ok("fine"));
    assert_eq!(project.ended(), ["a success"]);
    let record = &project.history()[0];
    assert_eq!((&record["attempts"], &record["status"], &record["file"]), (&json!(3), &json!("success"), &json!("src/a.ts")));
    assert_eq!(record["duration_ms"], 400);
    assert!(record["started"].as_str().unwrap() < record["ended"].as_str().unwrap() || record["started"] == record["ended"]);
}

#[test]
fn saves_that_come_fast_are_answered_once() {
    let mut project =
        Project::with_user_hooks(&[with(hook("a", "onDidSaveTextDocument"), json!({"debounceMs": 100, "pattern": "src/**"}))]);
    for at in 0..5 {
        project.notify("onDidSaveTextDocument", json!({"file": "src/a.ts", "at": at}));
        project.notify("onDidSaveTextDocument", json!({"file": "src/b.ts", "at": at}));
        project.notify("onDidSaveTextDocument", json!({"file": "docs/b.md", "at": at}));
        project.pass(60);
    }
    assert_eq!(project.runs().len(), 0);
    project.pass(40);
    let runs = project.runs();
    let files: Vec<Value> =
        runs.iter().map(|run| serde_json::from_str::<Value>(run["stdin"].as_str().unwrap()).unwrap()["data"].clone()).collect();
    assert_eq!(files, [json!({"file": "src/a.ts", "at": 4}), json!({"file": "src/b.ts", "at": 4})], "the newest event counts");
    for run in &runs {
        project.done(run, ok(""));
    }
    assert!(project.records().iter().filter(|record| record["status"] == "success").all(|record| record["events"] == 5));
    // A file that keeps changing is not waited for forever.
    for _ in 0..20 {
        project.notify("onDidSaveTextDocument", json!({"file": "src/c.ts"}));
        project.pass(60);
    }
    assert_eq!(project.runs().len(), 1);
}

#[test]
fn slots_and_the_queue_have_bounds() {
    for (policy, left_out) in [("refuse", ["f5", "f6"]), ("drop_oldest", ["f3", "f4"])] {
        let mut project = Project::with_user_hooks(&[with(hook("a", "onDidSaveTextDocument"), json!({"concurrency": 3}))]);
        project.world.write(".tollgate/config.json", json!({"hooks": {"queue": 2, "when_full": policy}}).to_string());
        for number in 0..7 {
            project.notify("onDidSaveTextDocument", json!({"file": format!("f{number}")}));
        }
        assert_eq!(project.runs().len(), 3);
        let skipped: Vec<Value> = project.records().into_iter().filter(|record| record["status"] == "skipped").collect();
        let files: Vec<&str> = skipped.iter().map(|record| record["file"].as_str().unwrap()).collect();
        assert_eq!(files, left_out, "{policy}");
        assert!(skipped[0]["reason"].as_str().unwrap().contains("hooks.queue"));
    }
    // In all hooks together: one slot is reserved for runs that somebody waits for.
    let mut hooks: Vec<Value> = (0..5).map(|at| hook(&format!("h{at}"), "onDidSaveTextDocument")).collect();
    hooks.push(hook("gate", "before_tool"));
    let mut project = Project::with_user_hooks(&hooks);
    project.world.write(".tollgate/config.json", r#"{"hooks": {"concurrency": 4}}"#);
    project.notify("onDidSaveTextDocument", json!({"file": "x"}));
    assert_eq!(project.runs().len(), 3);
    project.ask("before_tool", json!({}));
    assert_eq!(project.runs().len(), 4);
    assert_eq!(project.runs()[3]["hook"], "gate");
}

#[test]
fn a_run_is_called_off() {
    let mut project = Project::with_user_hooks(&[with(hook("a", "gitCommit"), json!({"allowGit": true, "repoRoot": "."}))]);
    project.notify("gitCommit", json!({"commit": "1", "repo_root": "sub"}));
    assert_eq!(project.runs().len(), 0, "another repository's commits are not its business");
    project.notify("gitCommit", json!({"commit": "1", "repo_root": "./"}));
    let run = project.only_run();
    project.input(json!({"type": "cancel", "run": run["run"]}));
    assert_eq!(project.cancelled().len(), 1);
    assert_eq!(project.ended(), Vec::<String>::new(), "it has not ended before the host says so");
    project.done(&run, json!({"canceled": true}));
    assert_eq!(project.ended(), ["a canceled"]);
    // A host that never confirms does not keep the slot forever.
    project.notify("gitCommit", json!({"commit": "2"}));
    let run = project.only_run();
    project.input(json!({"type": "cancel", "run": run["run"]}));
    project.pass(5_000);
    assert_eq!(project.ended().len(), 2);
    project.done(&run, json!({"canceled": true}));
    assert_eq!(project.ended().len(), 2, "and a late word changes nothing");
}

#[test]
fn shutting_down() {
    for drain in [true, false] {
        let quiet = with(hook("quiet", "onDidSaveTextDocument"), json!({"debounceMs": 60000}));
        let mut project =
            Project::with_user_hooks(&[quiet, with(hook("busy", "onDidSaveTextDocument"), json!({"concurrency": 1}))]);
        project.notify("onDidSaveTextDocument", json!({"file": "a"}));
        project.notify("onDidSaveTextDocument", json!({"file": "b"}));
        project.input(json!({"type": "shutdown", "drain": drain}));
        project.notify("onDidSaveTextDocument", json!({"file": "late"}));
        let mut rounds = 0;
        while !project.is_stopped() && rounds < 10 {
            rounds += 1;
            for run in project.runs() {
                project.done(&run, if drain { ok("") } else { json!({"canceled": true}) });
            }
        }
        assert!(project.is_stopped());
        let mut ended: Vec<String> =
            project.ended().iter().map(|ended| ended.split(' ').next_back().unwrap().to_owned()).collect();
        ended.sort();
        let expected = if drain {
            ["skipped", "skipped", "success", "success", "success", "success"]
        } else {
            ["canceled", "canceled", "canceled", "canceled", "skipped", "skipped"]
        };
        assert_eq!(ended, expected);
    }
}

#[test]
fn a_chain_does_not_go_on_when_everything_is_called_off() {
    let mut project = Project::with_user_hooks(&[hook("a", "before_tool"), hook("b", "before_tool")]);
    let number = project.ask("before_tool", json!({}));
    let run = project.only_run();
    project.input(json!({"type": "shutdown", "drain": false}));
    project.done(&run, json!({"canceled": true}));
    assert_eq!(project.ended(), ["a canceled", "b skipped"]);
    assert_eq!(project.answer(number)["continue"], true);
    assert!(project.is_stopped());
}

#[test]
fn a_listener_that_cannot_be_had_disables_its_hooks() {
    let mut project = Project::with_user_hooks(&[
        hook("a", "onDidSaveTextDocument"),
        hook("b", "onDidSaveTextDocument"),
        hook("c", "before_tool"),
    ]);
    assert_eq!(project.listening(), ["onDidSaveTextDocument"], "once for a trigger, and only where somebody must listen");
    project.input(json!({"type": "listening", "trigger": "onDidSaveTextDocument", "failed": "no watches left"}));
    let listed = project.perform(&json!({"op": "hooks", "do": "list"}));
    assert_eq!(listed["hooks"][0]["disabled_reason"], "`onDidSaveTextDocument` cannot be observed here: no watches left");
    assert_eq!(listed["hooks"][2]["enabled"], true);
    assert!(project.log_text().contains("the hook `b` does not run: `onDidSaveTextDocument` cannot be observed"));
    project.notify("onDidSaveTextDocument", json!({"file": "a"}));
    assert_eq!(project.runs().len(), 0);
}

/// Enabling, disabling, unregistering and registering by name.
#[test]
fn the_registry_is_changed_by_name() {
    let mut project =
        Project::with_user_hooks(&[hook("a", "before_tool"), with(hook("b", "before_tool"), json!({"enabled": false}))]);
    let runs = |project: &mut Project| -> Vec<String> {
        let mut seen = Vec::new();
        let answer = project.perform(&json!({"op": "event", "event": "before_tool", "session": "s1"}));
        if answer.get("waiting").is_some() {
            project.input(json!({"type": "reload"}));
            while let Some(run) = project.runs().first().cloned() {
                seen.push(run["hook"].as_str().unwrap().to_owned());
                project.done(&run, ok(""));
            }
        }
        seen
    };
    assert_eq!(runs(&mut project), ["a"]);
    project.perform(&json!({"op": "hooks", "do": "enable", "id": "b"}));
    assert_eq!(runs(&mut project), ["a", "b"]);
    project.perform(&json!({"op": "hooks", "do": "disable", "id": "a"}));
    assert_eq!(runs(&mut project), ["b"]);
    project.perform(&json!({"op": "hooks", "do": "unregister", "id": "b"}));
    assert_eq!(runs(&mut project), Vec::<String>::new());
    project.perform(&json!({"op": "hooks", "do": "register", "hook": hook("own", "before_tool")}));
    project.perform(&json!({"op": "hooks", "do": "enable", "id": "a"}));
    assert_eq!(runs(&mut project), ["own", "a"]);
    let fault = project.perform(&json!({"op": "hooks", "do": "register", "hook": {"id": 3}}));
    assert_eq!(fault["error"]["code"], "not_done", "{fault}");
    let fault = project.perform(&json!({"op": "hooks", "do": "disable", "id": "nobody"}));
    assert_eq!(fault["error"]["message"], "there is no hook `nobody`; declared hooks: own, a");
}

#[test]
fn a_workspaces_hook_runs_once_approved_and_no_longer_when_changed() {
    let mut project = Project::new();
    project.world.write("/usr/bin/node", "binary");
    project.world.write("hooks/check.js", "v1");
    project.world.write("hooks/lib/rules.js", "r1");
    let declared = json!({"hooks": [{"id": "w", "trigger": "before_tool", "command": ["node", "hooks/check.js"]}]});
    project.world.write(".tollgate/hooks.json", declared.to_string());
    project.hello();
    let runs = |project: &mut Project| {
        let number = project.ask("before_tool", json!({}));
        let run = project.runs().first().cloned();
        if let Some(run) = &run {
            project.done(run, ok(""));
        }
        assert_eq!(project.answer(number)["continue"], true);
        run
    };
    assert!(runs(&mut project).is_none());
    assert!(runs(&mut project).is_none());
    assert_eq!(project.approvals().len(), 1, "a person is asked once for each digest");
    assert_eq!(project.ended(), ["w skipped", "w skipped"]);
    let asked = project.approvals().remove(0);
    assert_eq!((&asked["why"], &asked["shows"]["runs"]), (&json!("new"), &json!(["/usr/bin/node", "hooks/check.js"])));
    let stale = project.perform(&json!({"op": "hooks", "do": "approve", "id": "w", "digest": "sha256:00"}));
    assert_eq!(stale["error"]["code"], "not_done");
    let approved = project.perform(&json!({"op": "hooks", "do": "approve", "id": "w", "digest": asked["digest"]}));
    assert_eq!(approved["digest"], asked["digest"]);

    let run = runs(&mut project).expect("it runs now");
    assert_eq!(run["copy"]["arguments"], json!([{"index": 1, "path": "hooks/check.js"}]));
    let copied: Vec<&Value> = run["copy"]["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(copied, ["hooks/check.js", "hooks/lib/rules.js"]);
    assert_eq!(run["copy"]["folders"], json!(["/home/user/.tollgate/run"]));

    // The host finds bytes other than those that were checked a moment ago.
    project.ask("before_tool", json!({}));
    let run = project.only_run();
    project.done(&run, json!({"changed": "hooks/check.js"}));
    assert_eq!(project.ended().last().unwrap(), "w skipped");

    // Another script, another declaration, another interpreter: approval is asked for again each time, with what changed.
    project.world.write("hooks/check.js", "v2");
    assert!(runs(&mut project).is_none());
    let asked = project.approvals().pop().unwrap();
    assert_eq!((&asked["why"], &asked["shows"]["before"]["script_text"]), (&json!("changed"), &json!("v1")));
    project.world.write("hooks/check.js", "v1");
    assert!(runs(&mut project).is_some(), "what was approved is approved");
    // The same goes for every file beside it, and for a new one.
    for (path, text) in [("hooks/lib/rules.js", "r2"), ("hooks/lib/new.js", "")] {
        project.world.write(path, text);
        assert!(runs(&mut project).is_none(), "{path}");
        let reason = project.records().last().unwrap()["reason"].clone();
        assert!(reason.as_str().unwrap().starts_with("it has changed since it was approved"), "{reason}");
    }
    let asked = project.approvals().pop().unwrap();
    assert_eq!(asked["shows"]["before"]["texts"], json!([["hooks/lib/rules.js", "r1"]]));
    assert_eq!(asked["shows"]["texts"], json!([["hooks/lib/new.js", ""], ["hooks/lib/rules.js", "r2"]]));
    project.world.write("hooks/lib/rules.js", "r1");
    project.world.delete("hooks/lib/new.js");
    assert!(runs(&mut project).is_some(), "what was approved is approved");
    project.world.write(".tollgate/hooks.json", declared.to_string().replace("\"node\"", "\"node\",\"--inspect\""));
    assert!(runs(&mut project).is_none());
    project.world.write(".tollgate/hooks.json", declared.to_string());
    project.world.delete("/usr/bin/node");
    project.world.write("/opt/node", "binary");
    project.world.symlink("/opt/node", "/usr/bin/node");
    assert!(runs(&mut project).is_none());
    project.world.delete("/usr/bin/node");
    project.world.write("/usr/bin/node", "binary");
    assert!(runs(&mut project).is_some());

    // Another workspace, the same words: not approved there.
    project.input(json!({"type": "machine", "workspace": "/elsewhere", "search_path": ["/usr/bin"]}));
    assert!(runs(&mut project).is_none());
    project.hello();
    assert_eq!(project.perform(&json!({"op": "hooks", "do": "revoke", "id": "w"}))["revoked"], true);
    assert!(runs(&mut project).is_none());
    assert_eq!(project.perform(&json!({"op": "hooks", "do": "revoke", "id": "w"}))["revoked"], false);
}

/// A workspace with one hook of its own, and what the gate says about it.
fn shown(command: &Value, files: &[(&str, &str)]) -> (Project, Value) {
    let mut project = Project::new();
    for path in ["/usr/bin/node", "/usr/bin/make", "/usr/bin/sh", "/usr/bin/env", "/usr/bin/python3"] {
        project.world.write(path, "binary");
    }
    for (path, text) in files {
        project.world.write(path, text);
    }
    let declared = with(json!({"id": "w", "trigger": "before_tool"}), command.clone());
    project.world.write(".tollgate/hooks.json", json!({"hooks": [declared]}).to_string());
    project.hello();
    let shown = project.perform(&json!({"op": "hooks", "do": "show", "id": "w"}));
    (project, shown)
}

/// What an approval covers is known exactly, and everything else is reported as not checked.
#[test]
fn what_is_not_checked_says_so() {
    let files = [("hooks/a.py", "a"), ("hooks/a.js", "a"), ("hooks/b.cjs", "b"), ("hooks/Makefile", "all:"), ("lib/x.py", "x")];
    for (command, unchecked, said) in [
        (json!({"command": ["node", "hooks/a.js"]}), false, "whatever else they open or start"),
        (json!({"command": ["node", "--require", "./hooks/b.cjs", "hooks/a.js"]}), false, "whatever else they open or start"),
        (json!({"command": ["node", "hooks/a.js", "lib/x.py"]}), true, "`lib/x.py` is read in place"),
        (json!({"command": ["make", "-f", "hooks/Makefile"]}), true, "`make` decides by itself"),
        (json!({"command": ["env", "PYTHONPATH=hooks/lib", "python3", "hooks/a.py"]}), true, "`env` decides by itself"),
        (json!({"command": "node hooks/a.js", "shell": true}), true, "a shell interprets the text"),
        (json!({"command": ["sh", "-c", "node hooks/a.js"]}), true, "what `-c` means to `sh` is not known"),
    ] {
        let (_, shown) = shown(&command, &files);
        assert_eq!(shown["shows"]["unchecked"], unchecked, "{shown}");
        let note = shown["shows"]["note"].as_str().unwrap();
        assert!(
            note.contains(said) && note.contains(if unchecked { "do not need a new approval" } else { "is not checked" }),
            "{note}"
        );
    }
}

#[test]
fn what_cannot_be_copied_is_a_problem_with_its_remedy() {
    let many: Vec<String> = (0..300).map(|at| format!("hooks/{at}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "")).chain([("hooks/a.js", "a")]).collect();
    let command = json!({"command": ["node", "hooks/a.js"]});
    let (mut project, refused) = shown(&command, &many);
    let problem = refused["problem"].as_str().unwrap();
    assert!(problem.contains("more than 256 files") && problem.contains("`files`"), "{problem}");
    project.ask("before_tool", json!({}));
    assert_eq!((project.runs().len(), project.ended()), (0, vec!["w failed".to_owned()]));
    // A link is neither followed nor left out.
    let (project, _) = shown(&command, &[("hooks/a.js", "a")]);
    project.world.symlink("/etc", "hooks/etc");
    let mut project = project;
    let refused = project.perform(&json!({"op": "hooks", "do": "show", "id": "w"}));
    assert!(refused["problem"].as_str().unwrap().starts_with("`hooks/etc` is a link"), "{refused}");
    // Files that are named are taken, and nothing else.
    let named = with(command, json!({"files": ["lib/*.js"]}));
    let (_, taken) = shown(&named, &[many.as_slice(), &[("lib/b.js", "b")]].concat());
    assert_eq!((&taken["problem"], &taken["shows"]["files"][0][0]), (&Value::Null, &json!("lib/b.js")));
    assert_eq!(taken["files"], json!(["lib/*.js"]));
}

/// Hooks that nobody has approved do not run, however many there are, and delay no others.
#[test]
fn a_flood_of_unapproved_hooks_holds_nobody_up() {
    let (mut project, _) = shown(&json!({"command": ["node", "hooks/a.js"]}), &[("hooks/a.js", "a")]);
    project.perform(&json!({"op": "hooks", "do": "approve", "id": "w"}));
    let script = |id: &str| json!({"id": id, "trigger": "before_tool", "command": ["node", "hooks/a.js"]});
    let mut hooks: Vec<Value> = (0..600).map(|at| script(&format!("n{at}"))).collect();
    hooks.push(script("w"));
    project.world.write(".tollgate/hooks.json", json!({"hooks": hooks}).to_string());
    project.ask("before_tool", json!({}));
    assert_eq!(project.only_run()["hook"], "w");
    assert_eq!(project.approvals().len(), 256);
    let skipped: Vec<Value> = project.records().into_iter().filter(|record| record["status"] == "skipped").collect();
    assert_eq!(skipped.len(), 600);
    assert!(skipped.iter().all(|record| record["reason"].as_str().unwrap().starts_with("it has not been approved yet")));
}

/// A hook approved when an approval covered one file: approval is asked for again, with the reason.
#[test]
fn an_approval_of_the_script_alone_is_asked_for_again() {
    let (mut project, _) = shown(&json!({"command": ["node", "hooks/a.js"]}), &[("hooks/a.js", "a")]);
    let before = json!({"declaration": {}, "runs": ["/usr/bin/node", "hooks/a.js"], "script": ["hooks/a.js", "sha256:1"], "script_text": "a"});
    let old = json!({"workspace": "/workspace", "hook": "w", "digest": "sha256:00", "shows": before});
    project.world.write_home(".tollgate/trusted-hooks.json", json!({"schemaVersion": 1, "approvals": [old]}).to_string());
    project.ask("before_tool", json!({}));
    assert_eq!(project.ended(), ["w skipped"]);
    let asked = project.approvals().pop().unwrap();
    assert_eq!((&asked["why"], &asked["shows"]["before"]), (&json!("changed"), &before));
    assert!(asked["notice"].as_str().unwrap().starts_with("it was approved when only the script itself was checked"), "{asked}");
    let shown = project.perform(&json!({"op": "hooks", "do": "show", "id": "w"}));
    assert_eq!(shown["notice"], asked["notice"]);
    project.perform(&json!({"op": "hooks", "do": "approve", "id": "w", "digest": shown["digest"]}));
    project.ask("before_tool", json!({}));
    project.only_run();
}

/// If the workspace is the home folder, whoever writes to the workspace wrote the user's files too.
#[test]
fn a_home_folder_that_is_a_workspace_is_a_workspace() {
    let mut project = Project::new();
    project.world.write("/usr/bin/check", "binary");
    // Approvals cannot be written through a link here, so the files are linked one by one.
    for name in ["hooks.json", "config.json", "run"] {
        project.world.symlink(&format!("/workspace/.tollgate/{name}"), &format!("/home/user/.tollgate/{name}"));
    }
    project.world.write(".tollgate/hooks.json", json!({"hooks": [hook("w", "before_tool")]}).to_string());
    project.world.write(".tollgate/config.json", json!({"hooks": {"prompt_runner": ["evil"], "timeout": 5000}}).to_string());
    project.hello();
    let listed = project.perform(&json!({"op": "hooks", "do": "list"}));
    let hooks = listed["hooks"].as_array().unwrap();
    assert_eq!((hooks.len(), &hooks[0]["source"], &hooks[0]["enabled"]), (1, &json!("workspace"), &json!(true)), "{listed}");
    project.ask("before_tool", json!({}));
    assert_eq!((project.runs().len(), project.approvals().len()), (0, 1));
    project.perform(&json!({"op": "hooks", "do": "approve", "id": "w"}));
    project.ask("before_tool", json!({}));
    let run = project.only_run();
    project.done(&run, ok(""));

    // There is no folder outside the workspace to which a script can be copied, until the host names one.
    project.world.write("/usr/bin/sh", "binary");
    project.world.write("hooks/a.sh", "true");
    let script = json!({"id": "s", "trigger": "after_tool", "command": ["sh", "hooks/a.sh"]});
    let prompt = json!({"id": "p", "trigger": "before_model", "prompt": "Look."});
    project.world.write(".tollgate/hooks.json", json!({"hooks": [script, prompt]}).to_string());
    for id in ["s", "p"] {
        project.perform(&json!({"op": "hooks", "do": "approve", "id": id}));
    }
    project.ask("after_tool", json!({}));
    assert_eq!(project.ended().last().unwrap(), "s failed");
    assert!(project.records().last().unwrap()["reason"].as_str().unwrap().contains("TMPDIR"));
    project.input(json!({"type": "machine", "workspace": "/workspace", "search_path": ["/usr/bin"], "temporary": "/tmp"}));
    project.ask("after_tool", json!({}));
    let run = project.only_run();
    assert_eq!(run["copy"]["folders"], json!(["/tmp"]));
    project.done(&run, ok(""));
    // Nor does the workspace say who answers prompts.
    project.ask("before_model", json!({}));
    assert_eq!(project.ended().last().unwrap(), "p failed");
}

/// The user's file may also be in the workspace by a link, as folders of settings are.
#[test]
fn a_file_of_the_user_that_lies_in_the_workspace_is_the_workspaces() {
    let mut project = Project::with_user_hooks(&[hook("mine", "before_tool")]);
    project.ask("before_tool", json!({}));
    let run = project.only_run();
    project.done(&run, ok(""));
    project.world.write("dotfiles/hooks.json", json!({"hooks": [hook("theirs", "before_tool")]}).to_string());
    project.world.write("/usr/bin/check", "binary");
    project.world.delete("/home/user/.tollgate/hooks.json");
    project.world.symlink("/workspace/dotfiles/hooks.json", "/home/user/.tollgate/hooks.json");
    project.ask("before_tool", json!({}));
    // A host does not expose a file of the workspace as the user's, so the last good version stays, and no longer runs without
    // approval.
    assert_eq!((project.runs().len(), project.ended().last().unwrap().as_str()), (0, "mine skipped"));
}

#[test]
fn approvals_are_changed_by_one_at_a_time() {
    let mut project = Project::new();
    project.world.write(".tollgate/hooks.json", json!({"hooks": [{"id": "p", "trigger": "t", "prompt": "Look."}]}).to_string());
    project.hello();
    let approve = json!({"op": "hooks", "do": "approve", "id": "p"});
    project.world.write_home(".tollgate/trusted-hooks.lock", project.wall_ms().to_string());
    let refused = project.perform(&approve);
    assert!(refused["error"]["message"].as_str().unwrap().contains("is being changed by another process"), "{refused}");
    // Whoever held the lock was killed.
    project.world.pass(11_000);
    assert!(project.perform(&approve)["digest"].is_string());
    assert_eq!(project.world.content("/home/user/.tollgate/trusted-hooks.lock"), None);
    project.world.write_home(".tollgate/trusted-hooks.json", "{ not json");
    let refused = project.perform(&approve);
    assert!(refused["error"]["message"].as_str().unwrap().contains("is not valid JSON, so it is left alone"), "{refused}");
    project.ask("t", json!({}));
    assert_eq!(project.runs().len(), 0, "what cannot be read approves nothing");
}

#[test]
fn prompts_are_redacted_and_go_to_the_users_own_runner() {
    let declared =
        json!({"id": "p", "trigger": "onDidSaveTextDocument", "prompt": "Review ACME-42.", "secretPatterns": ["ACME-\\d+"]});
    let mut project = Project::with_user_hooks(&[declared]);
    project.notify("onDidSaveTextDocument", json!({"file": "a", "text": "password=hunter2hunter2"}));
    assert_eq!(project.ended(), ["p failed"]);
    project.world.write(".tollgate/config.json", r#"{"hooks": {"prompt_runner": ["evil"]}}"#);
    project.notify("onDidSaveTextDocument", json!({"file": "a"}));
    assert_eq!(project.ended().len(), 2, "a workspace does not name who answers prompts");
    project.world.write_home(".tollgate/config.json", r#"{"hooks": {"prompt_runner": ["agent", "--print"]}}"#);
    project.notify("onDidSaveTextDocument", json!({"file": "a", "text": "password=hunter2hunter2"}));
    let run = project.only_run();
    let prompt = run["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("Review [REDACTED].\n") && !prompt.contains("hunter2"), "{prompt}");
    assert_eq!((&run["type"], &run["argv"]), (&json!("prompt"), &json!(["agent", "--print"])));
    project.pass(59_999);
    assert_eq!(project.cancelled().len(), 0);
    project.pass(1);
    assert_eq!(project.cancelled().len(), 1, "prompts have a minute");
    // A host with a model of its own needs no runner.
    project.input(json!({"type": "machine", "workspace": "/workspace", "search_path": [], "runs_prompts": true}));
    project.notify("onDidSaveTextDocument", json!({"file": "b"}));
    assert_eq!(project.runs().last().unwrap()["argv"], json!([]));
}

/// The files that a workspace links to, its settings and the names of its hooks do not affect the user's own hooks.
#[test]
fn a_workspace_does_not_reach_the_users_hooks() {
    let mut project = Project::with_user_hooks(&[hook("guard", "before_tool")]);
    let before = project.world.content("/home/user/.tollgate/hooks.json").unwrap();
    for link in [".tollgate/state/good/.tollgate-hooks.json", ".tollgate/logs/hooks.log", ".tollgate/state/good/config.json"] {
        project.world.symlink("/home/user/.tollgate/hooks.json", link);
    }
    let evil = json!({"hooks": [{"id": "guard", "trigger": "before_tool", "command": ["evil"]}]});
    project.world.write(".tollgate/hooks.json", evil.to_string());
    project.world.write(".tollgate/config.json", r#"{"hooks": {"timeout": 1000}, "secretPatterns": ["_", "="]}"#);
    let number = project.ask("before_tool", json!({}));
    let run = project.only_run();
    assert_eq!(run["argv"], json!(["check", "guard"]));
    assert_eq!(run["set"]["PATH"], "/usr/bin:/bin", "programs are not looked for in the workspace");
    project.done(&run, ok(r#"{"continue": false, "systemMessage": "no: ghp_0123456789abcdef0123456789"}"#));
    assert_eq!(project.answer(number)["system_message"], "no: [REDACTED]", "patterns of its own do not disable the usual ones");
    assert_eq!(project.world.content("/home/user/.tollgate/hooks.json").unwrap(), before);
}

/// A waiting run takes over the newer version of the event's hook, with where that version was declared.
#[test]
fn a_run_that_waits_does_not_keep_the_trust_of_another_hook() {
    let save = |command: &str| json!({"id": "fmt", "trigger": "onDidSaveTextDocument", "command": [command], "debounceMs": 100});
    let mut project = Project::with_user_hooks(&[save("mine")]);
    project.world.write(".tollgate/hooks.json", json!({"hooks": [save("evil")]}).to_string());
    project.world.write("/usr/bin/evil", "binary");
    project.notify("onDidSaveTextDocument", json!({"file": "a"}));
    project.world.write_home(".tollgate/hooks.json", r#"{"hooks": []}"#);
    project.notify("onDidSaveTextDocument", json!({"file": "a"}));
    project.pass(100);
    assert_eq!(project.runs().len(), 0);
    assert_eq!(project.ended(), ["fmt skipped"]);
}

#[test]
fn events_of_one_hook_are_answered_in_their_order() {
    let mut project = Project::with_user_hooks(&[with(hook("one", "before_tool"), json!({"concurrency": 1}))]);
    let asked: Vec<u64> = (0..4).map(|at| project.ask("before_tool", json!({"at": at}))).collect();
    for number in asked {
        let run = project.only_run();
        project.done(&run, ok(""));
        project.answer(number);
    }
}

#[test]
fn a_drain_does_not_wait_for_rests() {
    let retry = json!({"retry": {"count": 5, "backoffMs": 86_400_000}});
    let mut project = Project::with_user_hooks(&[with(hook("a", "onDidSaveTextDocument"), retry)]);
    project.notify("onDidSaveTextDocument", json!({"file": "a"}));
    let run = project.only_run();
    project.done(&run, json!({"exit": 1}));
    project.input(json!({"type": "shutdown", "drain": true}));
    let run = project.only_run();
    project.done(&run, json!({"exit": 1}));
    assert!(project.is_stopped());
    assert_eq!(project.ended(), ["a failed"]);
}

#[test]
fn what_the_events_say_is_redacted_as_it_is_meant() {
    let declared = json!({"id": "p", "trigger": "onDidSaveTextDocument", "prompt": "Look.", "secretPatterns": ["\\bACME-\\d+", "key \"\\d+\""]});
    let mut project = Project::with_user_hooks(&[declared]);
    project.input(json!({"type": "machine", "workspace": "/workspace", "search_path": [], "runs_prompts": true}));
    project
        .notify("onDidSaveTextDocument", json!({"file": "ghp_0123456789abcdef0123456789", "text": "x\nACME-22222 key \"77\""}));
    let run = project.only_run();
    let prompt = run["prompt"].as_str().unwrap();
    assert!(!prompt.contains("22222") && !prompt.contains("77") && !prompt.contains("ghp_"), "{prompt}");
    project.done(&run, ok(""));
    assert!(project.records().iter().all(|record| record["file"] == "[REDACTED]"));
}

/// The timeout in the settings applies to all hooks without their own, and a hook's own to itself.
#[test]
fn times() {
    let own = with(hook("own", "before_tool"), json!({"timeoutMs": 2000}));
    let mut project = Project::with_user_hooks(&[own, hook("usual", "after_tool"), hook("save", "onDidSaveTextDocument")]);
    // A workspace cannot shorten the time of the user's hooks.
    project.world.write(".tollgate/config.json", r#"{"hooks": {"timeout": 1000}}"#);
    project.world.write_home(".tollgate/config.json", r#"{"hooks": {"timeout": 7000}}"#);
    project.ask("before_tool", json!({}));
    project.ask("after_tool", json!({}));
    project.notify("onDidSaveTextDocument", json!({"file": "a"}));
    let ids: Vec<u64> = project.runs().iter().map(|run| run["id"].as_u64().unwrap()).collect();
    project.pass(2_000);
    assert_eq!(project.cancelled(), ids[..1]);
    project.pass(5_000);
    assert_eq!(project.cancelled(), ids);
}

#[test]
fn the_log_turns_over() {
    let mut project = Project::with_user_hooks(&[hook("a", "onDidCreateFiles")]);
    for _ in 0..200 {
        project.notify("onDidCreateFiles", json!({}));
        let run = project.only_run();
        project.done(&run, ok(&"x y ".repeat(2_000)));
    }
    let log = project.world.content(".tollgate/logs/hooks.log").unwrap();
    let before = project.world.content(".tollgate/logs/hooks.log.1").unwrap();
    assert!(log.len() < 1 << 20 && before.len() < 1 << 20);
    assert_eq!(project.perform(&json!({"op": "hooks", "do": "history", "limit": 150}))["records"].as_array().unwrap().len(), 150);
    let stats = project.perform(&json!({"op": "hooks", "do": "stats"}));
    assert_eq!((&stats["success"], &stats["queued"], &stats["running"]), (&json!(200), &json!(0), &json!(0)));
}

#[test]
fn bad_input_is_named() {
    let mut project = Project::new();
    project.hello();
    for (line, said) in [
        (json!({"op": "hooks"}), "the field `do` is missing"),
        (json!({"op": "hooks", "do": "fly"}), "must be one of list, show"),
        (json!({"op": "hooks", "do": "show"}), "the field `id` is missing"),
        (json!({"op": "hooks", "do": "show", "id": "x"}), "there is no hook `x`; declared hooks: none"),
        (json!({"op": "event", "session": "s"}), "the field `event` is missing"),
        (json!({"op": "event", "event": "e", "session": "s", "data": 3}), "must be an object"),
    ] {
        let answer = project.perform(&line);
        assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{line}: {answer}");
    }
    for input in [
        json!(null),
        json!({"type": "fly"}),
        json!({"type": "ended", "command": 77}),
        json!({"type": "ended"}),
        json!({"type": "cancel"}),
    ] {
        project.input(input);
    }
    assert!(project.log_text().contains("the host reported `fly`"));
}
