//! Hooks through the library: real programs, run as the gate schedules them.

#![cfg(unix)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tollgate::hooks::{Answer, HookRecord, Hooks, Options, PromptOutput, RunStatus};

use crate::place::{LONG, Place, sh, wait_for_exit, wait_until, with_fields};

/// The reported records, in order.
#[derive(Clone, Default)]
struct Reported(Arc<Mutex<Vec<Value>>>);

impl Reported {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn callback<T: Serialize>(&self) -> impl FnMut(&T) + Send + 'static + use<T> {
        let reported = self.clone();
        move |value| reported.0.lock().unwrap().push(json!(value))
    }
}

fn status(record: &Value) -> &str {
    record["status"].as_str().unwrap()
}

#[test]
fn how_a_run_ends() {
    for (what, script, more, expected, attempts, output) in [
        ("succeeds", "echo fine", json!({}), "success", 1, "fine"),
        ("fails", "echo why >&2; exit 3", json!({}), "failed", 1, "why"),
        (
            "fails twice, then succeeds",
            "echo x >>tries; test $(wc -l <tries) = 3",
            json!({"retry": {"count": 2, "backoffMs": 20}}),
            "success",
            3,
            "",
        ),
        ("keeps failing", "exit 1", json!({"retry": {"count": 1, "backoffMs": 20}}), "failed", 2, ""),
        ("prints bytes that are no text", r"printf '\377\376\000ok'", json!({}), "success", 1, "ok"),
        ("ends by a signal", "kill -9 $$", json!({}), "failed", 1, ""),
    ] {
        let place = Place::new(&[with_fields(sh("a", "before_tool", script), &more)]);
        let record = place.hooks(Options::new(), &["a"]).run("a", None).map(|record| json!(record)).unwrap();
        assert_eq!((status(&record), &record["attempts"]), (expected, &json!(attempts)), "{what}: {record}");
        assert!(record["output"].as_str().unwrap_or_default().contains(output), "{what}: {record}");
    }
}

#[test]
fn what_hangs_is_ended_with_its_children() {
    let script = "sleep 300 & echo $! >child; echo $$ >parent; trap '' TERM; sleep 300";
    // On a busy machine, the script needs a while until it hangs.
    let place = Place::new(&[with_fields(sh("a", "before_tool", script), &json!({"timeoutMs": 5000}))]);
    let start = Instant::now();
    let record = place.hooks(Options::new(), &["a"]).run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!(status(&record), "timeout", "{record}");
    assert!(start.elapsed() < LONG);
    wait_for_exit(&place.wait_for("child"));
    wait_for_exit(&place.wait_for("parent"));
}

#[test]
fn what_outlives_its_hook_is_ended_and_not_waited_for() {
    let script = "sleep 300 & echo $! >child; echo '{\"systemMessage\":\"done\"}'";
    let place = Place::new(&[sh("a", "before_tool", script)]);
    let mut hooks = place.hooks(Options::new(), &["a"]);
    let start = Instant::now();
    let answer = hooks.event("before_tool", "s", &json!({})).unwrap();
    assert_eq!(answer.system_message.as_deref(), Some("done"));
    assert!(start.elapsed() < LONG);
    wait_for_exit(&place.wait_for("child"));
}

#[test]
fn a_flood_is_bounded() {
    let place = Place::new(&[sh("a", "before_tool", "head -c 100000000 /dev/zero | tr '\\0' x; echo end >&2")]);
    let record = place.hooks(Options::new(), &["a"]).run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!(status(&record), "success", "{}", record["status"]);
    assert!(record.to_string().len() < 100_000, "{}", record.to_string().len());
    assert!(place.read(".tollgate/logs/hooks.log").unwrap().len() < 100_000);
}

#[test]
fn garbage_is_no_answer() {
    for output in ["not json", "[1,2]", "\\377\\376", "{", "{\"continue\":"] {
        let place = Place::new(&[sh("a", "before_tool", &format!("printf '{output}'"))]);
        let answer = place.hooks(Options::new(), &["a"]).event("before_tool", "s", &json!({"x": 1})).unwrap();
        assert_eq!(answer, Answer { proceed: true, system_message: None, data: json!({"x": 1}) }, "{output}");
    }
}

#[test]
fn a_chain_passes_data_on_and_can_stop() {
    let place = Place::new(&[
        sh("first", "before_tool", "echo '{\"added\":1,\"systemMessage\":\"one\"}'"),
        sh("second", "before_tool", "cat >seen; echo '{\"continue\":false,\"systemMessage\":\"two\"}'"),
        sh("third", "before_tool", "touch third"),
        sh("other", "after_tool", "touch other"),
    ]);
    let reported = Reported::default();
    let mut hooks = place.hooks(Options::new().on_record(reported.callback()), &["first", "second", "third", "other"]);
    let answer = hooks.event("before_tool", "s1", &json!({"tool_name": "bash"})).unwrap();
    assert!(!answer.proceed);
    assert_eq!(answer.system_message.as_deref(), Some("one\ntwo"));
    assert_eq!((&answer.data["tool_name"], &answer.data["added"]), (&json!("bash"), &json!(1)));
    let seen: Value = serde_json::from_str(&place.read("seen").unwrap()).unwrap();
    assert_eq!((&seen["event"], &seen["session_id"], &seen["data"]["added"]), (&json!("before_tool"), &json!("s1"), &json!(1)));
    assert_eq!((place.read("third"), place.read("other")), (None, None));
    let ends: Vec<(String, String)> = reported
        .take()
        .iter()
        .filter(|record| record.get("ended").is_some())
        .map(|record| (record["hook"].as_str().unwrap().to_owned(), status(record).to_owned()))
        .collect();
    let expected = [("first", "success"), ("second", "success"), ("third", "skipped")];
    assert_eq!(ends, expected.map(|(hook, status)| (hook.to_owned(), status.to_owned())));
    // An event without hooks is answered immediately.
    let data = json!({"x": [1, 2.5]});
    assert_eq!(hooks.event("before_model", "s1", &data).unwrap(), Answer { proceed: true, system_message: None, data });
}

#[test]
fn a_workspaces_hook_runs_only_as_it_was_approved() {
    let hook = json!({"id": "a", "trigger": "before_tool", "command": ["sh", "hooks/a.sh"]});
    let place = Place::new(&[hook]);
    place.write("hooks/a.sh", "touch ran-1\n");
    let asked = Reported::default();
    let mut hooks = place.hooks(Options::new().on_approval(asked.callback()), &[]);
    for _ in 0..2 {
        let record = hooks.run("a", None).map(|record| json!(record)).unwrap();
        assert_eq!(status(&record), "skipped", "{record}");
    }
    assert_eq!(asked.take().iter().map(|asked| asked["why"].clone()).collect::<Vec<_>>(), ["new"]);
    assert_eq!(place.read("ran-1"), None);

    hooks.perform(br#"{"op":"hooks","do":"approve","id":"a"}"#).unwrap();
    assert_eq!(status(&hooks.run("a", None).map(|record| json!(record)).unwrap()), "success");
    assert!(place.read("ran-1").is_some());

    place.write("hooks/a.sh", "touch ran-2\n");
    let record = hooks.run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!(status(&record), "skipped", "{record}");
    assert!(record["reason"].as_str().unwrap().contains("tollgate hooks approve a"), "{record}");
    let asked = asked.take();
    assert_eq!((asked.len(), &asked[0]["why"], &asked[0]["hook"]), (1, &json!("changed"), &json!("a")));
    assert_eq!(asked[0]["shows"]["before"]["script_text"], json!("touch ran-1\n"));
    assert_eq!(place.read("ran-2"), None);
}

/// Files of a workspace: paths and texts.
type Texts = &'static [(&'static str, &'static str)];

/// What a script imports relative to itself comes from its copy, in every language.
#[test]
fn a_script_finds_the_files_beside_it() {
    let rows: [(Value, Texts); 4] = [
        (
            json!({"command": ["bash", "hooks/a.sh"]}),
            &[("hooks/a.sh", "source \"$(dirname \"$0\")/lib.sh\"\nsay\n"), ("hooks/lib.sh", "say() { echo found; pwd; }\n")],
        ),
        (
            json!({"command": ["node", "hooks/a.cjs"]}),
            &[
                ("hooks/a.cjs", "require('./lib');\nconsole.log(process.cwd());\n"),
                ("hooks/lib/index.js", "console.log('found');\n"),
            ],
        ),
        (
            json!({"command": ["python3", "hooks/a.py"]}),
            &[("hooks/a.py", "import os, lib\nprint(os.getcwd())\n"), ("hooks/lib.py", "print('found')\n")],
        ),
        (
            json!({"command": ["hooks/a.sh"], "files": ["shared/*.sh"]}),
            &[("hooks/a.sh", "#!/bin/sh\n. \"${0%/*}/../shared/lib.sh\"\npwd\n"), ("shared/lib.sh", "echo found\n")],
        ),
    ];
    for (command, files) in rows {
        let place = Place::new(&[with_fields(json!({"id": "a", "trigger": "before_tool"}), &command)]);
        for (path, text) in files {
            std::fs::create_dir_all(place.root().join(path).parent().unwrap()).unwrap();
            place.write(path, text);
        }
        let mut hooks = place.hooks(Options::new(), &["a"]);
        let record = hooks.run("a", None).map(|record| json!(record)).unwrap();
        let real = place.root().canonicalize().unwrap();
        assert_eq!(
            (status(&record), record["output"].as_str()),
            ("success", Some(&*format!("found\n{}", real.display()))),
            "{record}"
        );
        assert_eq!(std::fs::read_dir(place.home().join(".tollgate/run")).unwrap().count(), 0, "the copy is gone");

        // All of them are part of the approval.
        let (beside, _) = files[1];
        place.write(beside, "echo other\n");
        let record = hooks.run("a", None).map(|record| json!(record)).unwrap();
        assert_eq!(status(&record), "skipped", "{record}");
        assert!(record["reason"].as_str().unwrap().starts_with("it has changed since it was approved"), "{record}");
    }
}

/// A file is replaced after the gate has checked it and before the program runs. The order is deterministic: the run is reported
/// after the check and before it is started.
#[test]
fn no_file_can_be_exchanged_between_the_look_and_the_run() {
    for (command, exchanged) in [
        (json!(["node", "--require", "./hooks/b.cjs", "hooks/a.cjs"]), "hooks/b.cjs"),
        (json!(["node", "--require", "./hooks/b.cjs", "hooks/a.cjs"]), "hooks/a.cjs"),
        (json!(["sh", "hooks/a.sh"]), "hooks/lib.sh"),
    ] {
        let place = Place::new(&[json!({"id": "a", "trigger": "before_tool", "command": command})]);
        place.write("hooks/a.cjs", "");
        place.write("hooks/b.cjs", "");
        place.write("hooks/a.sh", ". \"${0%/*}/lib.sh\"\n");
        place.write("hooks/lib.sh", "");
        let target = place.root().join(exchanged);
        let evil = if exchanged.ends_with("cjs") { "require('fs').writeFileSync('evil', '')" } else { "touch evil" };
        let exchange = move |record: &HookRecord| {
            if record.status == RunStatus::Queued {
                std::fs::write(&target, evil).unwrap();
            }
        };
        let record = place.hooks(Options::new().on_record(exchange), &["a"]).run("a", None).map(|record| json!(record)).unwrap();
        assert_eq!(status(&record), "skipped", "{record}");
        assert!(record["reason"].as_str().unwrap().starts_with(&format!("`{exchanged}` has changed")), "{record}");
        assert_eq!(place.read("evil"), None, "{exchanged}");
    }
}

/// The same while the program is running: it reads the copy.
#[test]
fn a_file_that_is_exchanged_during_the_run_is_not_read() {
    let script = "echo 'echo evil' >hooks/lib.sh\n. \"${0%/*}/lib.sh\"\n";
    let place = Place::new(&[sh("a", "before_tool", script)]);
    place.write("hooks/lib.sh", "echo good\n");
    let record = place.hooks(Options::new(), &["a"]).run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!((status(&record), record["output"].as_str()), ("success", Some("good")), "{record}");
    assert_eq!(place.read("hooks/lib.sh").unwrap(), "echo evil\n");
}

/// A script that cannot be copied does not run, and the message says what to do.
#[test]
fn folders_that_cannot_be_copied_are_refused() {
    for what in ["many", "large", "link out", "link in", "pipe"] {
        let place = Place::new(&[sh("a", "before_tool", "touch ran")]);
        let below = |name: &str| place.root().join("hooks").join(name);
        match what {
            "many" => (0..300).for_each(|at| place.write(&format!("hooks/{at}"), "")),
            "large" => std::fs::File::create(below("large")).unwrap().set_len(17 << 20).unwrap(),
            "link out" => std::os::unix::fs::symlink("/etc/passwd", below("x")).unwrap(),
            "link in" => std::os::unix::fs::symlink("a.sh", below("x")).unwrap(),
            _ => assert!(std::process::Command::new("mkfifo").arg(below("x")).status().unwrap().success()),
        }
        let mut hooks = place.hooks(Options::new(), &[]);
        let refused = hooks.perform(br#"{"op":"hooks","do":"approve","id":"a"}"#).unwrap();
        let refused = String::from_utf8(refused).unwrap();
        assert!(refused.contains("`files`") && refused.contains("not_done"), "{what}: {refused}");
        assert_eq!(status(&hooks.run("a", None).map(|record| json!(record)).unwrap()), "failed", "{what}");
        assert_eq!(place.read("ran"), None, "{what}");
    }
}

/// If the home folder is the workspace, no hooks run without approval, and there is no folder for a copy.
#[test]
fn a_home_folder_that_is_a_workspace_is_a_workspace() {
    let place = Place::new(&[sh("a", "before_tool", "echo \"$0\"")]);
    let gate = tollgate::Tollgate::builder().workspace(place.root()).home(place.root()).open().unwrap();
    let asked = Reported::default();
    let mut hooks = Hooks::new(gate, Options::new().on_approval(asked.callback()));
    assert_eq!(status(&hooks.run("a", None).map(|record| json!(record)).unwrap()), "skipped");
    assert_eq!(asked.take().len(), 1);
    let listed = hooks.perform(br#"{"op":"hooks","do":"list"}"#).unwrap();
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    assert_eq!(listed["hooks"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&listed["hooks"][0]["source"], &listed["hooks"][0]["trust"]), (&json!("workspace"), &json!("new")));
    hooks.perform(br#"{"op":"hooks","do":"approve","id":"a"}"#).unwrap();
    let record = hooks.run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!(status(&record), "success", "{record}");
    let copy = record["output"].as_str().unwrap();
    assert!(!std::path::Path::new(copy).starts_with(place.root().canonicalize().unwrap()), "{copy}");
}

#[test]
fn a_users_hook_needs_no_approval() {
    let place = Place::new(&[]);
    place.declare_for_user(&[sh("mine", "before_tool", "echo \"$TOLLGATE_EVENT ${CARGO_MANIFEST_DIR-none}\" >ran")]);
    let record = place.hooks(Options::new(), &[]).run("mine", None).map(|record| json!(record)).unwrap();
    assert_eq!(status(&record), "success", "{record}");
    // In the workspace, with its variables and little else of the environment.
    assert_eq!(place.read("ran").unwrap(), "before_tool none\n");
}

#[test]
fn background_runs_go_on_while_somebody_works() {
    let place =
        Place::new(&[with_fields(sh("a", "onDidSaveTextDocument", "cat >>saved; echo >>saved"), &json!({"pattern": "src/**"}))]);
    let reported = Reported::default();
    let mut hooks = place.hooks(Options::new().on_record(reported.callback()), &["a"]);
    for file in ["src/a.ts", "docs/b.md", "src/c.ts"] {
        hooks.notify("onDidSaveTextDocument", None, &json!({"file": file})).unwrap();
    }
    hooks.shutdown(true).unwrap();
    let saved = place.read("saved").unwrap();
    assert!(saved.contains("src/a.ts") && saved.contains("src/c.ts") && !saved.contains("docs/b.md"), "{saved}");
    let ended = reported.take().into_iter().filter(|record| record.get("ended").is_some()).count();
    assert_eq!(ended, 2);
}

#[test]
fn what_is_canceled_is_gone() {
    let script = "sleep 300 & echo $! >child; sleep 300";
    let started = |reported: &Reported, hooks: &mut Hooks, place: &Place| {
        hooks.notify("onDidSaveTextDocument", None, &json!({"file": "x"})).unwrap();
        let running = |reported: &Reported| reported.take().into_iter().find(|record| status(record) == "running");
        let record = wait_until(
            || {
                hooks.work(Duration::from_millis(10)).unwrap();
                running(reported)
            },
            "a run",
        );
        (record["id"].as_str().unwrap().to_owned(), place.wait_for("child"))
    };
    for way in ["cancel", "shutdown", "drop"] {
        let place = Place::new(&[sh("a", "onDidSaveTextDocument", script)]);
        let reported = Reported::default();
        let mut hooks = place.hooks(Options::new().on_record(reported.callback()), &["a"]);
        let (run, child) = started(&reported, &mut hooks, &place);
        match way {
            "cancel" => {
                hooks.cancel(&run).unwrap();
                while !hooks.is_idle() {
                    hooks.work(LONG).unwrap();
                }
            }
            "shutdown" => hooks.shutdown(false).unwrap(),
            _ => drop(hooks),
        }
        wait_for_exit(&child);
        if way != "drop" {
            let ends: Vec<Value> = reported.take().into_iter().filter(|record| record.get("ended").is_some()).collect();
            assert_eq!(ends.iter().map(status).collect::<Vec<_>>(), ["canceled"], "{way}");
        }
    }
}

#[test]
fn prompts_are_run_by_a_function() {
    for (what, expected, timeout_ms) in
        [("answers", "success", 60_000), ("fails", "failed", 60_000), ("panics", "failed", 60_000), ("hangs", "timeout", 1_000)]
    {
        let hook = json!({"id": "a", "trigger": "before_tool", "prompt": "Look at it.", "timeoutMs": timeout_ms});
        let place = Place::new(&[hook]);
        let options = Options::new().prompt(move |prompt| {
            assert!(prompt.text.starts_with("Look at it.") && prompt.hook == "a");
            match what {
                "fails" => return Err("no model".to_owned()),
                "panics" => std::panic::resume_unwind(Box::new(())),
                "hangs" => {
                    while !prompt.is_canceled() {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
                _ => {}
            }
            Ok(PromptOutput { stdout: "fine".to_owned(), ..PromptOutput::default() })
        });
        let record = place.hooks(options, &["a"]).run("a", None).map(|record| json!(record)).unwrap();
        assert_eq!(status(&record), expected, "{what}: {record}");
    }
}

#[test]
fn prompts_are_run_by_the_users_command_or_by_nobody() {
    let hook = json!({"id": "a", "trigger": "before_tool", "prompt": "Look at it."});
    let place = Place::new(&[hook]);
    let record = place.hooks(Options::new(), &["a"]).run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!(status(&record), "failed", "{record}");
    let runner = json!({"hooks": {"prompt_runner": ["sh", "-c", "cat >asked; echo yes"]}});
    std::fs::write(place.home().join(".tollgate/config.json"), runner.to_string()).unwrap();
    let record = place.hooks(Options::new(), &[]).run("a", None).map(|record| json!(record)).unwrap();
    assert_eq!((status(&record), record["output"].as_str()), ("success", Some("yes")), "{record}");
    assert!(place.read("asked").unwrap().starts_with("Look at it."));
}

#[test]
fn what_cannot_be_listened_to_is_told_to_the_gate() {
    let place = Place::new(&[sh("a", "onDidSaveTextDocument", "true"), sh("b", "onDidDeleteFiles", "true")]);
    let listened = Reported::default();
    let mut tell = listened.callback();
    let options = Options::new().on_listen(move |trigger, on| {
        tell(&json!([trigger, on]));
        if trigger == "onDidDeleteFiles" { Err("no such thing here".to_owned()) } else { Ok(()) }
    });
    let mut hooks = place.hooks(options, &[]);
    hooks.work(Duration::ZERO).unwrap();
    hooks.work(Duration::ZERO).unwrap();
    assert_eq!(listened.take(), [json!(["onDidSaveTextDocument", true]), json!(["onDidDeleteFiles", true])]);
    let answer = hooks.perform(br#"{"op":"hooks","do":"list"}"#).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let of = |id: &str| answer["hooks"].as_array().unwrap().iter().find(|hook| hook["id"] == id).unwrap().clone();
    assert_eq!((&of("a")["enabled"], &of("b")["enabled"]), (&json!(true), &json!(false)));
    assert!(of("b")["disabled_reason"].as_str().unwrap().contains("no such thing here"));
    place.declare(&[]);
    hooks.remote().reload();
    hooks.work(LONG).unwrap();
    assert!(listened.take().contains(&json!(["onDidSaveTextDocument", false])));
}

#[test]
fn an_unknown_hook_is_refused_by_name() {
    let place = Place::new(&[sh("a", "before_tool", "true")]);
    let fault = place.hooks(Options::new(), &[]).run("nope", None).unwrap_err().to_string();
    assert!(fault.contains("`nope`") && fault.contains('a'), "{fault}");
}
